//! Kind `build`.

use super::left::{self, Left};
use super::{Kind, Site, Step, own_command};
use crate::model::Result;
use crate::model::status::Verdict;
use crate::validate::gate::build::{self, Limits, Report, report};
use crate::validate::gate::{End, Judged};

/// The longest log that is read, in bytes.
const MOST_LOG: u64 = 256 << 20;

/// What the assembler leaves below `$GATE_OUT`, for an architecture.
fn assembled(arch: &str, ending: &str) -> String {
    format!("git-incident-{arch}.{ending}")
}

/// A compiler's report, held against limits.
pub(super) struct Build;

impl Kind for Build {
    fn steps(&self, site: &Site<'_>) -> Result<Vec<Step>> {
        let gate = &site.job.gate;
        let mut steps = Vec::new();
        if gate.run.is_some() {
            steps.push(own_command(site));
        }
        if let Some(ptx) = &gate.build.ptx {
            steps.extend(
                gate.build.arch.iter().map(|arch| Step { command: assemble(ptx, arch), go_on: false }),
            );
        }
        Ok(steps)
    }

    fn judge(&self, site: &Site<'_>, ends: &[End], output: &[u8]) -> Result<Judged> {
        let gate = &site.job.gate;
        let wanted = &gate.build;
        let own = usize::from(gate.run.is_some());
        if let Some(mut judged) = build::ended(ends) {
            if ends.len() > own && judged.verdict == Verdict::NotRun {
                judged.reason = "ptxas is not installed here, and \"ptx\" needs it".into();
            } else if ends.len() > own && judged.verdict == Verdict::Fail {
                judged.reason = format!(
                    "ptxas does not take {} for {}: {}",
                    wanted.ptx.as_deref().unwrap_or_default(),
                    wanted.arch.get(ends.len() - own - 1).map_or("", String::as_str),
                    judged.reason
                );
            }
            return Ok(judged);
        }
        let limits = Limits {
            kernels: wanted.kernels.clone(),
            arch: wanted.arch.clone(),
            registers: wanted.max_registers,
            spills: wanted.max_spills,
            stack: wanted.max_stack,
            shared: wanted.max_shared,
            binary: wanted.max_binary,
        };
        let mut binaries = Vec::new();
        let mut names: Vec<String> = wanted.binary.iter().cloned().collect();
        if wanted.ptx.is_some() && names.is_empty() {
            names.extend(wanted.arch.iter().map(|arch| assembled(arch, "cubin")));
        }
        for name in names {
            match left::size(site.out, &name)? {
                Ok(bytes) => binaries.push((name, bytes)),
                Err(left) => return Ok(not_there("binary", &name, &left)),
            }
        }
        let mut found = Report::default();
        if let Some(log) = &wanted.log {
            match left::read(site.out, log, MOST_LOG)? {
                Left::File(bytes) => found = report::read(&bytes),
                left => return Ok(not_there("log", log, &left)),
            }
        } else if wanted.ptx.is_some() {
            for arch in &wanted.arch {
                let name = assembled(arch, "log");
                match left::read(site.out, &name, MOST_LOG)? {
                    Left::File(bytes) => {
                        let one = report::read(&bytes);
                        found.functions.extend(one.functions);
                        found.stray |= one.stray;
                    }
                    left => return Ok(not_there("log", &name, &left)),
                }
            }
        } else {
            found = report::read(output);
        }
        Ok(build::judge(wanted.needs_report().then_some(&found), &binaries, &limits))
    }
}

/// A file that the gate names and the command did not leave: the command is wrong, so it fails.
fn not_there(key: &str, name: &str, left: &Left) -> Judged {
    let why = match left {
        Left::Unfit(why) => why,
        _ => "was not written below $GATE_OUT",
    };
    Judged::new(Verdict::Fail, format!("{key}: {name} {why}"))
}

/// Assembles PTX. What ptxas says goes into a file of its own, so that nothing else is taken for it.
fn assemble(ptx: &str, arch: &str) -> String {
    let ptx = ptx.replace('\'', r"'\''");
    let (cubin, log) = (assembled(arch, "cubin"), assembled(arch, "log"));
    format!(
        "PATH=\"$PATH:${{CUDA_HOME:-/usr/local/cuda}}/bin\"\n\
         ptxas -v -arch={arch} -o \"$GATE_OUT/{cubin}\" \"$GATE_OUT\"/'{ptx}' >\"$GATE_OUT/{log}\" 2>&1\n\
         status=$?\ncat \"$GATE_OUT/{log}\"\nexit $status"
    )
}
