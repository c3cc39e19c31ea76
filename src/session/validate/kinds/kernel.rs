//! Kind `kernel`: our own process launches the candidate, twice over, and says what it saw.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::{Kind, Site, Step};
use crate::config::gate::kernel::{self as config, Argument, Code, Distribution, Role, Sizes, is_float};
use crate::config::{Device, Gate, Policy};
use crate::device::kernel::{FOLDER, Process};
use crate::model::{Error, Result};
use crate::validate::gate::{End, Judged};
use crate::validate::kernel::{self as plan, Left, Progress, Report, Request};

/// The largest report that is read, in bytes.
const LARGEST: u64 = 9 << 20;

/// How many of the worst elements are named when the gate does not say.
const WORST: u32 = 5;

/// Launches a kernel among guarded buffers and holds it against a reference.
pub(super) struct Kernel;

impl Kind for Kernel {
    fn steps(&self, site: &Site<'_>) -> Result<Vec<Step>> {
        let gate = &site.job.gate;
        let request = request(gate)?;
        // Beside `$GATE_OUT`, where no command of the gate is told to write.
        let path = site.out.with_file_name("kernel-request.json");
        let bytes =
            serde_json::to_vec(&request).map_err(|e| Error::bug("a request is no JSON").because(e))?;
        fs::write(&path, bytes)?;
        let own = |what: &str| own_command(&path, what).map(|command| Step { command, go_on: false });
        let mut steps = Vec::new();
        if let Some(command) = gate.kernel.command() {
            steps.push(own("inputs")?);
            steps.push(Step { command: command.to_owned(), go_on: false });
        }
        steps.push(own(Process::First.word())?);
        steps.push(own(Process::Second.word())?);
        Ok(steps)
    }

    fn judge(&self, site: &Site<'_>, ends: &[End], _output: &[u8]) -> Result<Judged> {
        let gate = &site.job.gate;
        let before = if gate.kernel.command().is_some() { 2 } else { 0 };
        for (end, what) in ends.iter().zip(["writing the inputs", "the reference's command"]).take(before) {
            if *end != End::Exit(0) {
                return Ok(plan::not_prepared(what, end));
            }
        }
        let left = |process: Process, at: usize| Left {
            end: ends.get(before + at).cloned(),
            report: read(&site.out.join(FOLDER).join(format!("{}.json", process.word())))
                .and_then(|bytes| Report::read(&bytes)),
            progress: read(&site.out.join(FOLDER).join(format!("{}.at", process.word())))
                .ok()
                .and_then(|bytes| Progress::read(&bytes)),
        };
        Ok(plan::judge(&request(gate)?, &left(Process::First, 0), &left(Process::Second, 1)))
    }
}

/// Our own program, to be run by a shell.
fn own_command(request: &Path, what: &str) -> Result<String> {
    let program = std::env::current_exe()?;
    let quoted = |text: &OsStr| -> Result<String> {
        let text = text.to_str().ok_or_else(|| Error::refused("a path of this program is no text"))?;
        shlex::try_quote(text)
            .map(std::borrow::Cow::into_owned)
            .map_err(|e| Error::refused("a path holds a NUL").because(e))
    };
    Ok(format!(
        "exec {} launch {what} {} --out \"$GATE_OUT\"",
        quoted(program.as_os_str())?,
        quoted(request.as_os_str())?
    ))
}

/// A file that our own process left: no link, no pipe, bounded.
fn read(path: &PathBuf) -> std::result::Result<Vec<u8>, String> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let open = fs::OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let file = open.map_err(|e| e.to_string())?;
    if !file.metadata().is_ok_and(|data| data.is_file()) {
        return Err("it is no regular file".into());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// The gate with every size worked out. The configuration has checked that it can be.
fn request(gate: &Gate) -> Result<Request> {
    let kernel = &gate.kernel;
    let number =
        |decimal: &Option<crate::config::Decimal>| decimal.as_ref().map(crate::config::Decimal::canonical);
    let runs =
        kernel.case_list().iter().map(|case| run(kernel, case)).collect::<std::result::Result<_, String>>();
    Ok(Request {
        v: Request::VERSION,
        emulated: gate.device == Device::Emulated,
        launches: kernel.launch_count(),
        deterministic: kernel.deterministic.unwrap_or(true),
        judging: plan::Judging {
            bitwise: gate.compare.policy == Some(Policy::Bitwise),
            atol: number(&gate.compare.atol),
            rtol: number(&gate.compare.rtol),
            norm: number(&gate.compare.norm),
            equal_nan: gate.compare.equal_nan.unwrap_or(false),
            worst: gate.compare.worst.unwrap_or(WORST) as usize,
        },
        runs: runs.map_err(|why| Error::usage(format!("gate {}: {why}", gate.id)))?,
    })
}

fn run(kernel: &config::Kernel, case: &config::Case) -> std::result::Result<plan::Run, String> {
    let sizes = &case.sizes;
    let every: Vec<usize> = (0..kernel.arguments.len()).collect();
    let label = case.label();
    let reference = match &kernel.reference {
        Some(config::Reference::Kernel(code, names)) if names.is_empty() => {
            plan::Reference::Kernel(launch(code, sizes, every.clone())?)
        }
        Some(config::Reference::Kernel(code, names)) => {
            let place = |name: &String| kernel.arguments.iter().position(|argument| argument.name == *name);
            let some: Option<Vec<usize>> = names.iter().map(place).collect();
            plan::Reference::Kernel(launch(code, sizes, some.ok_or("the reference names no argument")?)?)
        }
        Some(config::Reference::File(file)) => plan::Reference::File(file.replace("{case}", &label)),
        Some(config::Reference::Command(_)) => plan::Reference::Written,
        None => return Err("there is no reference".into()),
    };
    Ok(plan::Run {
        case: label,
        sizes: sizes.clone(),
        seeds: kernel.seed_list(),
        candidate: launch(&kernel.code, sizes, every)?,
        reference,
        arguments: kernel
            .arguments
            .iter()
            .map(|argument| resolved(argument, sizes))
            .collect::<std::result::Result<_, String>>()?,
    })
}

fn launch(code: &Code, sizes: &Sizes, arguments: Vec<usize>) -> std::result::Result<plan::Launch, String> {
    let three = |list: &[config::Expression]| -> std::result::Result<[u32; 3], String> {
        let mut lengths = [1; 3];
        for (length, axis) in lengths.iter_mut().zip(list) {
            *length = u32::try_from(axis.whole(sizes)?).map_err(|_| format!("{axis} is too large"))?;
        }
        Ok(lengths)
    };
    let shared = code.shared.as_ref().map_or(Ok(0), |shared| shared.whole(sizes))?;
    Ok(plan::Launch {
        source: code.source.clone().unwrap_or_default(),
        entry: code.entry.clone().unwrap_or_default(),
        options: code.resolved_options(sizes)?,
        include: code.include.clone(),
        grid: three(&code.grid)?,
        block: three(&code.block)?,
        shared: u32::try_from(shared).map_err(|_| "too much shared memory")?,
        arguments,
    })
}

fn resolved(argument: &Argument, sizes: &Sizes) -> std::result::Result<plan::Argument, String> {
    let dtype = argument.dtype;
    let what = match &argument.what {
        config::What::Scalar(value) if is_float(dtype) => {
            let mut bytes = Vec::new();
            plan::encode(dtype, value.value(sizes)?.to_f64(), &mut bytes);
            plan::What::Scalar(bytes)
        }
        config::What::Scalar(value) => {
            let whole = value.whole(sizes)?;
            let bytes = plan::encode_whole(dtype, whole);
            plan::What::Scalar(
                bytes.ok_or_else(|| format!("{} is {whole}, which no {} is", argument.name, dtype.name()))?,
            )
        }
        config::What::Tensor { shape, role, fill, file } => {
            let lengths = shape
                .iter()
                .map(|axis| {
                    axis.whole(sizes)
                        .and_then(|n| u64::try_from(n).map_err(|_| format!("{axis} is negative")))
                })
                .collect::<std::result::Result<_, String>>()?;
            let content = match (fill, file) {
                (Some(fill), _) => Some(plan::Content::Fill(filled(fill))),
                (None, Some(file)) => Some(plan::Content::File(file.clone())),
                (None, None) => None,
            };
            let role = match role {
                Role::In => plan::Role::In,
                Role::Out => plan::Role::Out,
                Role::InOut => plan::Role::InOut,
                Role::Scratch => plan::Role::Scratch,
            };
            plan::What::Tensor { shape: lengths, role, content }
        }
    };
    Ok(plan::Argument { name: argument.name.clone(), dtype: dtype.name().to_owned(), what })
}

fn filled(fill: &config::Fill) -> plan::Fill {
    let parameter =
        |at: usize| fill.parameters.get(at).map_or_else(|| "0".to_owned(), crate::config::Decimal::canonical);
    match fill.distribution {
        Distribution::Uniform => plan::Fill::Uniform(parameter(0), parameter(1)),
        Distribution::Normal => plan::Fill::Normal(parameter(0), parameter(1)),
        Distribution::Integers => plan::Fill::Integers(parameter(0), parameter(1)),
        Distribution::Constant => plan::Fill::Constant(parameter(0)),
        Distribution::Sequence => plan::Fill::Sequence(parameter(0), parameter(1)),
    }
}
