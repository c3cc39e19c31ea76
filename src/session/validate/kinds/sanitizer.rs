//! Kind `sanitizer`.

use super::left::{self, Left};
use super::{Kind, Site, Step};
use crate::model::Result;
use crate::validate::gate::sanitizer::{self, FOUND, Ran};
use crate::validate::gate::{End, Judged};

/// The longest log or report that is read, in bytes.
const MOST: u64 = 64 << 20;

/// The command under each tool of compute-sanitizer.
pub(super) struct Sanitizer;

impl Kind for Sanitizer {
    fn steps(&self, site: &Site<'_>) -> Result<Vec<Step>> {
        let gate = &site.job.gate;
        let run = gate.run.as_deref().unwrap_or_default();
        Ok(gate
            .sanitizer
            .tools()
            .into_iter()
            .map(|tool| Step { command: command(tool, run), go_on: true })
            .collect())
    }

    fn judge(&self, site: &Site<'_>, ends: &[End], _output: &[u8]) -> Result<Judged> {
        let tools = site.job.gate.sanitizer.tools();
        let mut files = Vec::new();
        for tool in &tools {
            files.push([left(site, tool, "log")?, left(site, tool, "xml")?]);
        }
        let ran: Vec<Ran<'_>> = tools
            .iter()
            .zip(&files)
            .enumerate()
            .map(|(at, (tool, [log, xml]))| Ran {
                tool,
                end: ends.get(at),
                log: bytes(log),
                xml: bytes(xml),
                unfit: unfit("log", log).or_else(|| unfit("XML report", xml)),
            })
            .collect();
        Ok(sanitizer::judge(&ran))
    }
}

fn left(site: &Site<'_>, tool: &str, ending: &str) -> Result<Left> {
    left::read(site.out, &format!("git-incident-{tool}.{ending}"), MOST)
}

fn bytes(left: &Left) -> Option<&[u8]> {
    match left {
        Left::File(bytes) => Some(bytes),
        _ => None,
    }
}

fn unfit(what: &str, left: &Left) -> Option<String> {
    match left {
        Left::Unfit(why) => Some(format!("its {what} {why}")),
        _ => None,
    }
}

/// The command under one tool. In the names of its files the tool reads `%` as its own, so a `%` of the folder is
/// doubled. The log is printed as well, so that it is kept with the gate's output.
fn command(tool: &str, run: &str) -> String {
    let run = run.replace('\'', r"'\''");
    format!(
        "PATH=\"$PATH:${{CUDA_HOME:-/usr/local/cuda}}/bin\"\n\
         out=$(printf %s \"$GATE_OUT\" | sed 's/%/%%/g')/git-incident-{tool}\n\
         compute-sanitizer --tool {tool} --xml --save \"$out.xml\" --log-file \"$out.log\" \
         --error-exitcode {FOUND} --print-limit 0 --target-processes all /bin/sh -c '{run}'\n\
         status=$?\ncat \"$GATE_OUT/git-incident-{tool}.log\" 2>/dev/null\nexit $status"
    )
}
