//! Launches somebody's kernel and watches what it does. It runs in a child process of ours and nowhere else: what breaks
//! here breaks the child.
//!
//! | file | what it knows |
//! |---|---|
//! | `code` | from a source to functions that can be launched |
//! | `files` | sources, inputs, references |
//! | `launching` | one launch among guarded, poisoned buffers |
//! | `comparing` | the outputs against the reference |
//!
//! The candidate runs before the reference, at each case and seed: nothing that is right lies about in freed memory.

mod code;
mod comparing;
mod files;
mod launching;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::model::canonical::sha256_hex;
use crate::model::{Error, Result};
use crate::validate::kernel::{
    Argument, Content, DeviceSeen, Finding, FindingKind, Launch, Output, Phase, Progress, Report, Request,
    Role, Run, Stage, Trouble, TroubleKind, What, differing, fill, unwritten,
};
use crate::validate::tensor::Declared;

use super::cuda::{CudaError, Gpu, nvrtc};
use code::{Modules, Wrong, first_line};
use comparing::Judge;
use launching::{Buffers, Launched};

/// More findings than this are not looked for.
const ENOUGH: usize = 20;

/// Which of the two processes this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// Launches several times, looks at everything, and compares.
    First,
    /// Launches once at each case and seed: other bytes than the first had are a finding.
    Second,
}

impl Process {
    /// Its name in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Second => "second",
        }
    }
}

/// Where a gate's own process finds and leaves its files.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The checked-out tree.
    pub worktree: &'a Path,
    /// `$GATE_OUT`.
    pub out: &'a Path,
}

/// The folder below `$GATE_OUT` where reports and progress lie.
pub const FOLDER: &str = "git-incident-kernel";

/// What a run ends with.
enum Stop {
    /// The candidate made going on impossible.
    Finding(Box<Finding>),
    /// Something else did.
    Trouble(TroubleKind, String),
}

/// Runs a request and leaves the report. Says what its exit status should be: 0, 4 with findings, 5 with trouble.
///
/// # Errors
/// `$GATE_OUT` cannot be written.
pub fn run(request: &Request, place: Place<'_>, process: Process) -> Result<i32> {
    let folder = place.out.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let progress = folder.join(format!("{}.at", process.word()));
    let mut child = Child {
        request,
        place,
        process,
        report: Report::new(),
        modules: Modules::default(),
        judge: Judge::new(&request.judging),
        progress: &progress,
    };
    match child.all() {
        Ok(()) => child.report.complete = child.report.findings.is_empty(),
        Err(Stop::Finding(finding)) => child.report.findings.push(*finding),
        Err(Stop::Trouble(kind, what)) => child.report.trouble = Some(Trouble { kind, what }),
    }
    let report = child.report;
    let bytes = serde_json::to_vec(&report).map_err(|e| Error::bug("the report is no JSON").because(e))?;
    fs::write(folder.join(format!("{}.json", process.word())), bytes)?;
    Ok(match (report.findings.is_empty(), report.complete) {
        (false, _) => 4,
        (true, true) => 0,
        (true, false) => 5,
    })
}

/// Writes the inputs of every case and seed below `$GATE_OUT/inputs`, for a command that computes the reference.
///
/// # Errors
/// A file of the gate cannot be read; `$GATE_OUT` cannot be written.
pub fn write_inputs(request: &Request, place: Place<'_>) -> Result<()> {
    for run in &request.runs {
        for &seed in &run.seeds {
            let folder = place.out.join("inputs").join(format!("{}-{seed}", run.case));
            fs::create_dir_all(&folder)?;
            fs::create_dir_all(place.out.join("reference").join(format!("{}-{seed}", run.case)))?;
            let mut scalars = serde_json::Map::new();
            for argument in &run.arguments {
                match (&argument.what, argument.dtype()) {
                    (What::Tensor { shape, content: Some(_), .. }, Some(dtype)) => {
                        let bytes = content(argument, seed, place.worktree).map_err(Error::refused)?;
                        let file = files::npy(dtype, shape, &bytes);
                        fs::write(folder.join(format!("{}.npy", argument.name)), file)?;
                    }
                    (What::Tensor { .. }, _) | (What::Scalar(_), None) => {}
                    (What::Scalar(bytes), Some(dtype)) => {
                        let file = files::npy(dtype, &[], bytes);
                        fs::write(folder.join(format!("{}.npy", argument.name)), file)?;
                        scalars.insert(argument.name.clone(), json!(argument.dtype));
                    }
                }
            }
            let about = json!({"case": run.case, "seed": seed, "sizes": run.sizes, "scalars": scalars});
            fs::write(folder.join("sizes.json"), about.to_string())?;
        }
    }
    Ok(())
}

/// What stands in a buffer before a launch.
fn content(argument: &Argument, seed: u32, worktree: &Path) -> std::result::Result<Vec<u8>, String> {
    let (What::Tensor { shape, content, .. }, Some(dtype)) = (&argument.what, argument.dtype()) else {
        return Err(format!("{} is no buffer", argument.name));
    };
    let elements: u64 = shape.iter().product();
    match content {
        None => Ok(Vec::new()),
        Some(Content::Fill(with)) => Ok(fill(with, dtype, seed, &argument.name, elements)),
        Some(Content::File(path)) => {
            let said = |why: &str| format!("{}: {why}", argument.name);
            let bytes = files::tensor(worktree, path).map_err(|why| said(&why))?;
            let declared = Declared { dtype: Some(dtype), shape: None };
            let unfit = |e: Error| said(&format!("{path}: {}", one_line(&e)));
            let file = crate::validate::tensor::File::open(path, &bytes, &declared).map_err(unfit)?;
            let tensor = file.tensor(None).map_err(unfit)?;
            if tensor.dtype != dtype || tensor.shape != *shape {
                return Err(format!(
                    "{path} holds {} {:?}, and {} is declared {} {shape:?}",
                    tensor.dtype.name(),
                    tensor.shape,
                    argument.name,
                    dtype.name()
                ));
            }
            tensor.plain().map(<[u8]>::to_vec).ok_or_else(|| {
                format!("{path} is not in C order and little-endian: save it with numpy.ascontiguousarray")
            })
        }
    }
}

fn one_line(error: &Error) -> String {
    std::iter::once(error.what())
        .chain(error.causes().iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join(": ")
}

/// One process at work.
struct Child<'a> {
    request: &'a Request,
    place: Place<'a>,
    process: Process,
    report: Report,
    modules: Modules,
    judge: Judge,
    progress: &'a Path,
}

impl Child<'_> {
    fn all(&mut self) -> std::result::Result<(), Stop> {
        self.at(Stage::Open, "", None, 0)?;
        let gpu = Gpu::open(0).map_err(|error| Stop::Trouble(TroubleKind::Device, first_line(&error)))?;
        let info = gpu.info();
        self.report.device = Some(DeviceSeen {
            name: info.name.clone(),
            uuid: info.uuid.clone(),
            capability: format!("{}.{}", info.capability / 10, info.capability % 10),
            driver: format!("{}.{}", info.driver / 1000, info.driver % 1000 / 10),
            nvrtc: nvrtc::version().ok().map(|(major, minor)| format!("{major}.{minor}")),
            emulated: info.emulated,
            guarded: info.virtual_memory,
        });
        if info.emulated != self.request.emulated {
            // Who asked for the other one hears it from who judges: nothing runs on the wrong device.
            return Err(Stop::Trouble(TroubleKind::Device, format!("the device here is \"{}\"", info.name)));
        }
        self.say_device(&gpu)?;
        for run in &self.request.runs {
            self.case(&gpu, run)?;
            if self.report.findings.len() >= ENOUGH {
                break;
            }
        }
        if self.process == Process::First && self.report.findings.is_empty() {
            self.report.loose = self.judge.loose.take().or_else(|| self.judge.only_zeros.take());
            self.report.mutants = self.judge.caught;
        }
        Ok(())
    }

    fn case(&mut self, gpu: &Gpu, run: &Run) -> std::result::Result<(), Stop> {
        self.at(Stage::Compile, &run.case, None, 0)?;
        let sizes = launching::parameter_sizes(run, &run.candidate);
        let function = self
            .modules
            .function(gpu, self.place.worktree, &run.candidate, &sizes)
            .map_err(|wrong| candidate_is(wrong, &run.case))?;
        self.at(Stage::Prepare, &run.case, None, 0)?;
        let buffers = Buffers::new(gpu, run).map_err(|what| Stop::Trouble(TroubleKind::Machine, what))?;
        for &seed in &run.seeds {
            let contents: Vec<Vec<u8>> = run
                .arguments
                .iter()
                .map(|argument| match argument.what {
                    What::Tensor { .. } => content(argument, seed, self.place.worktree),
                    What::Scalar(_) => Ok(Vec::new()),
                })
                .collect::<std::result::Result<_, _>>()
                .map_err(|what| Stop::Trouble(TroubleKind::Gate, what))?;
            let times = if self.process == Process::First { self.request.launches } else { 1 };
            let mut launches: Vec<Launched> = Vec::new();
            for number in 0..times {
                self.at(Stage::Prepare, &run.case, Some(seed), number + 1)?;
                let phase = Phase(number);
                let launch = &run.candidate;
                let parameters = buffers
                    .prepare(run, launch, &contents, phase)
                    .map_err(|error| Stop::Trouble(TroubleKind::Machine, first_line(&error)))?;
                self.at(Stage::Launch, &run.case, Some(seed), number + 1)?;
                let at = Spot { case: &run.case, seed, launch: number + 1 };
                launching::launch(gpu, &function, launch, &parameters)
                    .and_then(|()| buffers.collect(run, launch, &contents, phase))
                    .map(|launched| launches.push(launched))
                    .map_err(|error| Stop::Finding(Box::new(at.broken(launch, &error))))?;
                let strays: Vec<Finding> = launches.last().map(|l| at.strays(run, l)).unwrap_or_default();
                if !strays.is_empty() {
                    self.report.findings.extend(strays);
                    break;
                }
            }
            self.look(run, seed, &launches);
            if self.process == Process::First {
                self.at(Stage::Reference, &run.case, Some(seed), 0)?;
                let right =
                    comparing::reference(gpu, &mut self.modules, &buffers, run, seed, &contents, self.place)
                        .map_err(|what| Stop::Trouble(TroubleKind::Reference, what))?;
                self.at(Stage::Compare, &run.case, Some(seed), 0)?;
                // Launches that have to agree were held against each other; else each has to be right by itself.
                let judged = if self.request.deterministic { 1 } else { launches.len() };
                let clean = self.report.findings.is_empty();
                for launched in launches.iter().take(judged) {
                    let found = self.judge.compare(run, seed, launched, &right, clean);
                    let (outputs, findings) =
                        found.map_err(|what| Stop::Trouble(TroubleKind::Machine, what))?;
                    self.keep(outputs);
                    self.report.findings.extend(findings);
                }
            } else if let Some(launched) = launches.first() {
                let outputs = digests(run, seed, launched);
                self.report.outputs.extend(outputs);
            }
            if self.report.findings.len() >= ENOUGH {
                break;
            }
        }
        Ok(())
    }

    /// Of several launches' outputs the first stays, unless a later one does not match.
    fn keep(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            let same =
                |o: &&mut Output| o.case == output.case && o.seed == output.seed && o.name == output.name;
            match self.report.outputs.iter_mut().find(same) {
                Some(known) if output.matches == Some(false) => *known = output,
                Some(_) => {}
                None => self.report.outputs.push(output),
            }
        }
    }

    /// What the launches say together: elements that were never written, bytes that change.
    fn look(&mut self, run: &Run, seed: u32, launches: &[Launched]) {
        for (at, argument) in run.arguments.iter().enumerate() {
            let (What::Tensor { role, shape, .. }, Some(dtype)) = (&argument.what, argument.dtype()) else {
                continue;
            };
            if !role.is_compared() {
                continue;
            }
            let finding = |kind, what: String, first: u64, count: u64| Finding {
                kind,
                case: run.case.clone(),
                seed: Some(seed),
                argument: Some(argument.name.clone()),
                what,
                lines: Vec::new(),
                details: json!({"first": index(shape, first), "count": count}),
            };
            let elements: u64 = shape.iter().product();
            let bytes: Vec<(Phase, &[u8])> =
                launches.iter().map(|l| (l.phase, l.contents[at].as_slice())).collect();
            if *role == Role::Out
                && let Some((count, first)) = unwritten(dtype, &bytes)
            {
                let what = format!(
                    "{count} of {elements} elements of {} were not written, the first at {:?}",
                    argument.name,
                    index(shape, first)
                );
                self.report.findings.push(finding(FindingKind::Unwritten, what, first, count));
            }
            if !self.request.deterministic {
                continue;
            }
            for (number, (_, other)) in bytes.iter().enumerate().skip(1) {
                if let Some((count, first)) = differing(dtype, bytes[0].1, other) {
                    // What was not written differs by our own poison: that is said already.
                    let said = self.report.findings.iter().any(|f| {
                        f.kind == FindingKind::Unwritten
                            && f.seed == Some(seed)
                            && f.case == run.case
                            && f.argument.as_ref() == Some(&argument.name)
                    });
                    if said {
                        break;
                    }
                    let what = format!(
                        "{count} of {elements} elements of {} differ between launches 1 and {}, the first at {:?}",
                        argument.name,
                        number + 1,
                        index(shape, first)
                    );
                    self.report.findings.push(finding(FindingKind::Nondeterministic, what, first, count));
                    break;
                }
            }
        }
    }

    /// Which device really ran, for whoever watches the gate.
    fn say_device(&self, gpu: &Gpu) -> std::result::Result<(), Stop> {
        let seen = gpu.info();
        let backend = if seen.emulated { "emulated" } else { "cuda" };
        let about =
            json!({"pid": std::process::id(), "uuid": seen.uuid, "name": seen.name, "backend": backend});
        fs::write(self.place.out.join("git-incident-device.json"), about.to_string()).map_err(written)
    }

    /// Leaves word of how far it has come.
    fn at(&self, stage: Stage, case: &str, seed: Option<u32>, launch: u32) -> std::result::Result<(), Stop> {
        let progress = Progress { stage, case: case.to_owned(), seed, launch };
        let bytes = serde_json::to_vec(&progress).unwrap_or_default();
        fs::write(self.progress, bytes).map_err(written)
    }
}

fn written(error: std::io::Error) -> Stop {
    Stop::Trouble(TroubleKind::Machine, format!("$GATE_OUT cannot be written: {error}"))
}

/// A launch, for findings.
struct Spot<'a> {
    case: &'a str,
    seed: u32,
    launch: u32,
}

impl Spot<'_> {
    fn finding(&self, kind: FindingKind, argument: Option<&str>, what: String, details: Value) -> Finding {
        Finding {
            kind,
            case: self.case.to_owned(),
            seed: Some(self.seed),
            argument: argument.map(str::to_owned),
            what,
            lines: Vec::new(),
            details,
        }
    }

    /// A launch that the driver says failed.
    fn broken(&self, launch: &Launch, error: &CudaError) -> Finding {
        let kind = match error.name.as_str() {
            "CUDA_ERROR_ILLEGAL_ADDRESS"
            | "CUDA_ERROR_MISALIGNED_ADDRESS"
            | "CUDA_ERROR_INVALID_ADDRESS_SPACE" => FindingKind::IllegalAddress,
            "CUDA_ERROR_LAUNCH_TIMEOUT" => FindingKind::Hang,
            _ => FindingKind::Launch,
        };
        let mut what = format!("launch {}: {}", self.launch, first_line(error));
        if !error.is_lost() {
            // It was refused, not broken by what it did: mostly for its geometry.
            let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| format!("({x}, {y}, {z})"));
            what.push_str(&format!(": grid {grid}, block {block}, {} bytes of shared memory", launch.shared));
        }
        let details = json!({
            "error": error.name, "grid": launch.grid, "block": launch.block, "shared": launch.shared,
        });
        self.finding(kind, None, what, details)
    }

    /// What a launch left outside of its buffers, and did to its inputs.
    fn strays(&self, run: &Run, launched: &Launched) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (at, strays) in &launched.strays {
            let argument = &run.arguments[*at];
            let size = argument.dtype().map_or(1, crate::validate::tensor::Dtype::size) as i64;
            let length = argument.bytes().unwrap_or(0) as i64;
            let place = if strays.first < 0 {
                format!("{} bytes before its beginning", -strays.first)
            } else {
                let behind = strays.first - length;
                format!("{behind} bytes behind its end (where element {} would be)", strays.first / size)
            };
            let what = format!(
                "launch {} wrote outside of {}: {} byte(s), the first {place}",
                self.launch, argument.name, strays.count
            );
            let details = json!({"offset": strays.first, "count": strays.count, "bytes": length});
            findings.push(self.finding(FindingKind::Margin, Some(&argument.name), what, details));
        }
        for (at, count, first) in &launched.changed {
            let argument = &run.arguments[*at];
            let shape = match &argument.what {
                What::Tensor { shape, .. } => shape.as_slice(),
                What::Scalar(_) => &[],
            };
            let first = index(shape, *first);
            let what = format!(
                "launch {} changed {count} elements of its input {}, the first at {first:?}",
                self.launch, argument.name
            );
            let details = json!({"first": first, "count": count});
            findings.push(self.finding(FindingKind::InputChanged, Some(&argument.name), what, details));
        }
        findings
    }
}

/// What is wrong with the candidate's code, before anything runs.
fn candidate_is(wrong: Wrong, case: &str) -> Stop {
    let finding = |kind, what, lines, details| {
        Stop::Finding(Box::new(Finding {
            kind,
            case: case.to_owned(),
            seed: None,
            argument: None,
            what,
            lines,
            details,
        }))
    };
    match wrong {
        Wrong::Code(what, lines) => finding(FindingKind::Compile, what, lines, Value::Null),
        Wrong::Driver(error) => {
            finding(FindingKind::Launch, first_line(&error), Vec::new(), json!({"error": error.name}))
        }
        Wrong::Compiler(what) => Stop::Trouble(TroubleKind::Compiler, what),
        Wrong::Gate(what) => Stop::Trouble(TroubleKind::Gate, what),
    }
}

/// The outputs of a launch without a comparison.
fn digests(run: &Run, seed: u32, launched: &Launched) -> Vec<Output> {
    let compared = |(_, argument): &(usize, &Argument)| matches!(&argument.what, What::Tensor { role, .. } if role.is_compared());
    run.arguments
        .iter()
        .enumerate()
        .filter(compared)
        .map(|(at, argument)| Output {
            case: run.case.clone(),
            seed,
            name: argument.name.clone(),
            sha256: sha256_hex(&launched.contents[at]),
            matches: None,
            comparison: Value::Null,
        })
        .collect()
}

/// The index into a shape of an element counted in C order.
fn index(shape: &[u64], position: u64) -> Vec<u64> {
    let mut rest = position;
    let mut index = Vec::with_capacity(shape.len());
    for length in shape.iter().rev() {
        index.push(rest % (*length).max(1));
        rest /= (*length).max(1);
    }
    index.reverse();
    index
}
