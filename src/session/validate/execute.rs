//! One gate in the validation worktree.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::running::Scratch;
use super::gpu::{Observed, Taken, Use};
use super::machine::Found;
use super::{Job, Progress, Run, Session, kinds};
use crate::git::program::scrubbed_environment;
use crate::git::worktree::{Freshness, ValidationWorktree};
use crate::model::status::Verdict;
use crate::model::{Error, Result, Timestamp};
use crate::runner::{self, HangKind};
use crate::validate::gate::{self, End, Limit};

/// The most output of a gate that is kept, in bytes.
const MOST_OUTPUT: u64 = 8 << 20;

/// The most commands that a record names.
const MOST_COMMANDS: usize = 64;

/// How many trees keep their build and JIT caches.
const CACHES_KEPT: usize = 8;

/// The worktree's name.
const NAME: &str = "validate";

/// What came of it.
#[expect(clippy::large_enum_variant, reason = "one at a time, and nearly always the large one")]
pub(super) enum Executed {
    Ran(Ran),
    /// The connection would be held open too long; nothing of the gate runs any more.
    OutOfTime,
    /// Another process has the worktree, and a connection is held open.
    Busy,
}

/// A gate's runs.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) verdict: Verdict,
    pub(super) reason: String,
    pub(super) exit: Option<i64>,
    pub(super) runs: u32,
    pub(super) passes: u32,
    pub(super) millis: u64,
    pub(super) fresh: bool,
    pub(super) output: Vec<u8>,
    pub(super) hung: bool,
    /// What the kind found, for the record.
    pub(super) details: Value,
    /// The same for people.
    pub(super) lines: Vec<String>,
    /// When it began.
    pub(super) started: Timestamp,
    /// Every command that ran, in order.
    pub(super) commands: Vec<String>,
    /// What was seen of its GPUs, for the record.
    pub(super) gpu: Value,
    /// A process of it that is still on a GPU.
    pub(super) left: String,
}

/// `/bin/sh -c`, with nothing to read: a gate that asks must not wait for an answer.
pub(super) fn shell(command: &str) -> [OsString; 3] {
    ["/bin/sh".into(), "-c".into(), format!("exec </dev/null\n{command}").into()]
}

/// The environment without what ties git to a repository.
pub(super) fn scrubbed() -> Vec<(OsString, Option<OsString>)> {
    let mut env: Vec<(OsString, Option<OsString>)> =
        scrubbed_environment().iter().map(|name| (OsString::from(*name), None)).collect();
    // A gate that commits somewhere must not open the editor of the commit that runs it.
    env.push(("GIT_EDITOR".into(), None));
    env
}

impl Session {
    /// A new and empty directory, outside of the repository.
    pub(super) fn scratch(&self, purpose: &str) -> Result<tempfile::TempDir> {
        let parent = self.cache_dir()?.join("scratch");
        let make = || {
            std::fs::create_dir_all(&parent)?;
            tempfile::Builder::new().prefix(&format!("{purpose}-")).tempdir_in(&parent)
        };
        make().map_err(|e: std::io::Error| {
            Error::refused(format!("{} cannot be written", parent.display()))
                .because(e)
                .hint("see who owns it, or set XDG_CACHE_HOME")
        })
    }
}

impl Run<'_> {
    /// Checks the commit out and runs the gate.
    pub(super) fn execute(&mut self, job: &Job, found: &Found) -> Result<Executed> {
        if !self.take_worktree()? {
            return Ok(Executed::Busy);
        }
        let taken = Use::take(self.session, job, found, self.options.deadline, &mut |whom| {
            (self.watch)(Progress::WaitingForGpu(job, whom));
        })?;
        let mut device = match taken {
            Taken::NotNeeded => None,
            Taken::Ours(device) => Some(device),
            Taken::Busy => return Ok(Executed::Busy),
        };
        let Some(worktree) = &self.worktree else {
            return Err(Error::bug("the worktree was taken and is not there"));
        };
        let caches: Vec<&str> =
            if job.fresh { Vec::new() } else { job.gate.cache.iter().map(String::as_str).collect() };
        let checkout = worktree.checkout(job.commit.as_str(), &caches)?;
        let mut ran = Ran {
            verdict: Verdict::NotRun,
            reason: String::new(),
            exit: None,
            runs: 0,
            passes: 0,
            millis: 0,
            fresh: checkout.freshness == Freshness::Fresh,
            output: Vec::new(),
            hung: false,
            details: Value::Null,
            lines: Vec::new(),
            started: self.session.now(),
            commands: Vec::new(),
            gpu: Value::Null,
            left: String::new(),
        };
        if !checkout.missing.is_empty() {
            ran.reason = checkout.missing.join("; ");
            return Ok(Executed::Ran(ran));
        }
        if let Some(commit) = &job.oracle_from {
            judge_by(worktree, commit.as_str(), &job.gate.oracle)?;
        }
        let scratch = self.session.scratch("gate")?;
        let out = scratch.path().join("out");
        std::fs::create_dir(&out)?;
        let since = std::fs::metadata(&out)?.modified()?;
        let mut env = self.environment(job, &out)?;
        env.extend(device.as_ref().map(|device| device.env()).unwrap_or_default());
        let captures = match self.session.config_at(&job.config_from) {
            Ok(config) => config.on_hang.capture,
            Err(_) => Vec::new(),
        };

        let once = |command: &str, ran: &mut Ran| -> Result<Option<End>> {
            let shown = without_places(command, &[(scratch.path(), "$GATE_OUT/.."), (&checkout.path, ".")]);
            if ran.commands.len() < MOST_COMMANDS && ran.commands.last() != Some(&shown) {
                ran.commands.push(shown);
            }
            let memory = Scratch::new()?;
            let log = memory.path();
            let mut prepared = runner::Command::new(shell(command), &log);
            prepared.cwd = Some(checkout.path.clone());
            prepared.env.clone_from(&env);
            prepared.stream = runner::Stream::Quiet;
            prepared.max_output = MOST_OUTPUT;
            prepared.idle = job.gate.idle;
            let left = self.options.deadline.map(|at| at.saturating_duration_since(Instant::now()));
            // When the limit is the connection's, the command does not hang, and nothing looks at it.
            let ours = left.filter(|left| job.gate.timeout.is_none_or(|limit| *left < limit));
            prepared.timeout = ours.map(|left| left.max(Duration::from_millis(1))).or(job.gate.timeout);
            if ours.is_none() {
                prepared.on_hang.clone_from(&captures);
            }
            let outcome = match runner::run(&prepared) {
                Ok(outcome) => outcome,
                Err(failure) => return Ok(Some(End::NotStarted(failure.error.to_string()))),
            };
            ran.millis += outcome.duration.as_millis() as u64;
            ran.exit = Some(i64::from(outcome.end.exit_code()));
            keep(&mut ran.output, command, &log, &outcome);
            Ok(Some(match outcome.end {
                runner::End::Hang(HangKind::Timeout) if ours.is_some() => return Ok(None),
                runner::End::Hang(kind) => {
                    ran.hung = true;
                    End::Hang(if kind == HangKind::Timeout { Limit::Time } else { Limit::Silence })
                }
                runner::End::Interrupted => {
                    self.interrupted.set(true);
                    return Err(Error::refused("interrupted: the gate was ended, and nothing was recorded"));
                }
                runner::End::Exited(status) => End::Exit(status),
                runner::End::Signalled(number) => End::Signal(number),
            }))
        };

        if let Some(prepare) = &job.gate.prepare {
            let Some(end) = once(prepare, &mut ran)? else {
                return Ok(Executed::OutOfTime);
            };
            if let Some(judged) = gate::prepared(&end) {
                (ran.verdict, ran.reason) = (judged.verdict, judged.reason);
                return Ok(Executed::Ran(ran));
            }
        }
        let Some(kind) = kinds::of(job.gate.kind) else {
            return Err(Error::bug(format!("a gate of kind {} cannot run", job.gate.kind.word())));
        };
        let site = kinds::Site { job, out: &out, since };
        let steps = kind.steps(&site)?;
        let mut ends = Vec::new();
        if let Some(device) = &mut device {
            device.begin();
        }
        for (number, step) in steps.iter().enumerate() {
            (self.watch)(Progress::Run(job, number as u32 + 1, steps.len() as u32));
            let Some(end) = once(&step.command, &mut ran)? else {
                return Ok(Executed::OutOfTime);
            };
            let passed = end == End::Exit(0);
            ran.runs += 1;
            ran.passes += u32::from(passed);
            ends.push(end);
            if !passed && !step.go_on {
                break;
            }
        }
        // What judges may use the device as well, and must not be taken for the gate.
        let observed = device.map(|mut device| device.end(&out));
        let judged = kind.judge(&site, &ends, &ran.output)?;
        (ran.verdict, ran.reason) = (judged.verdict, judged.reason);
        (ran.details, ran.lines) = (judged.details, judged.lines);
        if let Some(Observed { gpu, doubt, left }) = observed {
            if ran.verdict == Verdict::Pass && !doubt.is_empty() {
                (ran.verdict, ran.reason) = (Verdict::Inconclusive, doubt);
            }
            (ran.gpu, ran.left) = (gpu, left);
        }
        if ran.verdict == Verdict::Pass && job.fresh && !ran.fresh {
            ran.verdict = Verdict::Inconclusive;
            ran.reason = "the worktree held files from before, and protected refs need a fresh one".into();
        }
        Ok(Executed::Ran(ran))
    }

    /// Takes the worktree, waiting for it only when nobody holds a connection open for us.
    fn take_worktree(&mut self) -> Result<bool> {
        if self.worktree.is_some() {
            return Ok(true);
        }
        let (common, cache) = (self.session.repo.common_dir(), self.session.cache_dir()?);
        self.worktree = ValidationWorktree::try_open(common, &cache, NAME)?;
        if self.worktree.is_none() {
            if self.options.deadline.is_some() {
                return Ok(false);
            }
            (self.watch)(Progress::Waiting);
            self.worktree = Some(ValidationWorktree::open(common, &cache, NAME)?);
        }
        Ok(true)
    }

    fn environment(&self, job: &Job, out: &Path) -> Result<Vec<(OsString, Option<OsString>)>> {
        let caches = self.session.cache_dir()?.join("trees");
        let tree = caches.join(job.tree.as_str());
        let mut env = scrubbed();
        env.push(("GATE_OUT".into(), Some(out.into())));
        for (name, folder) in [
            ("TORCH_EXTENSIONS_DIR", "torch-extensions"),
            ("TRITON_CACHE_DIR", "triton"),
            ("TORCHINDUCTOR_CACHE_DIR", "torchinductor"),
        ] {
            let path = tree.join(folder);
            std::fs::create_dir_all(&path)?;
            env.push((name.into(), Some(path.into())));
        }
        forget_old(&caches, &tree);
        Ok(env)
    }
}

/// Puts the protected branch's version of the files that judge into the worktree.
fn judge_by(worktree: &ValidationWorktree, commit: &str, oracle: &[String]) -> Result<()> {
    for path in oracle {
        let literal = format!(":(literal,top){path}");
        let there = worktree.git().call(["ls-tree", "--name-only", commit, "--", path]).text()?;
        let call = if there.is_empty() {
            worktree.git().call(["rm", "-rfq", "--ignore-unmatch", "--", &literal])
        } else {
            worktree.git().call(["checkout", "-q", commit, "--", &literal])
        };
        call.writes().run()?;
    }
    Ok(())
}

/// A command as a record holds it: what a kind adds to it names places of this machine, which say nothing elsewhere.
fn without_places(command: &str, places: &[(&Path, &str)]) -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let program = [(program.as_path(), "git-incident")];
    let known = places.iter().chain(&program).filter(|(place, _)| place.is_absolute());
    known.fold(command.to_owned(), |text, (place, name)| text.replace(&*place.to_string_lossy(), name))
}

/// Adds what a command said, and what was seen of a hang, to the output.
fn keep(output: &mut Vec<u8>, command: &str, log: &Path, outcome: &runner::Outcome) {
    output.extend_from_slice(format!("$ {command}\n").as_bytes());
    output.extend_from_slice(&std::fs::read(log).unwrap_or_default());
    if !output.ends_with(b"\n") {
        output.push(b'\n');
    }
    for capture in &outcome.captures {
        output.extend_from_slice(format!("$ {}   (on-hang)\n", capture.command).as_bytes());
        output.extend_from_slice(&capture.output);
        output.push(b'\n');
    }
    if output.len() as u64 > MOST_OUTPUT {
        let cut = output.len() - MOST_OUTPUT as usize;
        output.drain(..cut);
    }
}

/// Keeps the caches of the trees that were used last.
fn forget_old(caches: &Path, current: &Path) {
    let Ok(entries) = std::fs::read_dir(caches) else {
        return;
    };
    let mut known: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.path() != current)
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    known.sort();
    for (_, path) in known.iter().rev().skip(CACHES_KEPT) {
        let _ = std::fs::remove_dir_all(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_no_place_of_this_machine() {
        let own = std::env::current_exe().unwrap();
        let command =
            format!("exec {} launch first /scratch/x/request.json --out \"$GATE_OUT\"", own.display());
        let places = [(Path::new("/scratch/x"), "$GATE_OUT/.."), (Path::new("/tree"), ".")];
        assert_eq!(
            without_places(&command, &places),
            "exec git-incident launch first $GATE_OUT/../request.json --out \"$GATE_OUT\""
        );
        assert_eq!(without_places("make -C bench", &places), "make -C bench");
    }
}
