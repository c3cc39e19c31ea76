//! Running a command and keeping everything that is needed to understand the run later.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::Session;
use super::keep::Kept;
use super::trust::Trust;
use crate::device;
use crate::git::snapshot::{self, Snapshot};
use crate::model::incident::RunRecord;
use crate::model::{EventId, Oid, Result};
use crate::redact;
use crate::runner::{self, End, Failure, HangKind, Outcome, Stream};

/// What to run, and how.
pub struct RunRequest {
    /// The command and its arguments.
    pub argv: Vec<OsString>,
    /// Where; the current directory when absent.
    pub cwd: Option<PathBuf>,
    /// Changes to the environment; `None` removes a variable.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How long it may be silent.
    pub idle: Option<Duration>,
    /// Where its output goes beside the evidence.
    pub stream: Stream,
    /// Tools whose versions matter.
    pub tools: Vec<String>,
}

/// A command that ran, and its output.
pub struct Ran {
    /// How it ended.
    pub outcome: Outcome,
    /// What it printed, cut in the middle if it was too much.
    pub output: Vec<u8>,
}

impl Ran {
    /// `timeout` or `idle` when it was ended as a hang.
    pub fn hang(&self) -> Option<&'static str> {
        match self.outcome.end {
            End::Hang(HangKind::Timeout) => Some("timeout"),
            End::Hang(HangKind::Idle) => Some("idle"),
            _ => None,
        }
    }
}

/// Where a command's output stands until its secrets are cut out of it: in memory, under a name in `/proc`, so that
/// whatever happens to us no file holds it. Where that does not exist, a private directory that is removed.
pub(super) enum Scratch {
    /// A file that has no place in any file system.
    Memory(std::os::fd::OwnedFd),
    /// A directory.
    Directory(tempfile::TempDir),
}

impl Scratch {
    pub(super) fn new() -> std::io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Ok(file) = rustix::fs::memfd_create("git-incident-output", rustix::fs::MemfdFlags::CLOEXEC) {
            let memory = Self::Memory(file);
            if memory.path().exists() {
                return Ok(memory);
            }
        }
        tempfile::tempdir().map(Self::Directory)
    }

    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Memory(file) => {
                let number = std::os::fd::AsRawFd::as_raw_fd(file);
                PathBuf::from(format!("/proc/{}/fd/{number}", std::process::id()))
            }
            Self::Directory(directory) => directory.path().join("output"),
        }
    }
}

impl Session {
    /// Runs a command, streaming as asked. The on-hang captures of the configuration run only when trusted.
    ///
    /// # Errors
    /// The command could not be started; the failure carries the status a shell would give.
    pub fn run_command(&mut self, request: &RunRequest) -> Result<Ran, Failure> {
        let trouble = |error: crate::model::Error| Failure { status: 125, error };
        let scratch = Scratch::new().map_err(|e| trouble(e.into()))?;
        let output = scratch.path();
        let mut command = runner::Command::new(request.argv.clone(), &output);
        command.cwd.clone_from(&request.cwd);
        command.env.clone_from(&request.env);
        command.timeout = request.timeout;
        command.idle = request.idle;
        command.stream = request.stream;
        // Room for the marker of what was cut, below the hard limit of what may be stored.
        command.max_output = self.evidence_policy().map_err(trouble)?.max.min(8 << 20);
        if request.timeout.is_some() || request.idle.is_some() {
            command.on_hang = self.captures_allowed();
        }
        let outcome = runner::run(&command)?;
        let bytes = std::fs::read(&output).map_err(|e| trouble(e.into()))?;
        Ok(Ran { outcome, output: bytes })
    }

    /// The on-hang captures, if the user has trusted them; else none, and a remark.
    fn captures_allowed(&mut self) -> Vec<String> {
        match self.trusted_captures() {
            Ok(captures) => captures,
            Err(error) => {
                self.remarks.push(format!("the [on-hang] captures do not run: {error}"));
                Vec::new()
            }
        }
    }

    /// The working tree now; nothing in a bare repository.
    ///
    /// # Errors
    /// git fails.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let head = self.repo.head_commit()?;
        let tree = head.as_ref().map(|h| self.repo.tree_of(h)).transpose()?;
        if self.repo.workdir().is_none() {
            return Ok(Snapshot { commit: head, tree, ..Snapshot::default() });
        }
        snapshot::take(&self.git(), head, tree)
    }

    /// The machine, with the versions of the tools that are asked for here or in the configuration.
    ///
    /// Tools named by the configuration are only asked when the configuration is trusted: asking runs them.
    pub fn environment(&self, tools: &[String]) -> device::Environment {
        let mut tools = tools.to_vec();
        if let Ok(config) = self.config()
            && !config.environment.tools.is_empty()
            && matches!(self.working_trust(), Ok(Trust::Given))
        {
            tools.extend(config.environment.tools.iter().cloned());
        }
        tools.sort();
        tools.dedup();
        device::probe(&tools)
    }

    /// Stores what a run left: the output, the captures, the dirty state it ran on.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn keep_run(&mut self, ran: &Ran, before: &Snapshot, attempt: Option<EventId>) -> Result<Vec<Kept>> {
        let mut kept = Vec::new();
        if !ran.output.is_empty() {
            kept.push(self.keep("output.log", "log", &ran.output, attempt, &[])?);
        }
        for (i, capture) in ran.outcome.captures.iter().enumerate() {
            let status = capture.exit.map_or_else(|| "did not end".to_owned(), |s| format!("exit {s}"));
            let mut text = format!("$ {}\n# {status}\n", capture.command).into_bytes();
            text.extend_from_slice(&capture.output);
            kept.push(self.keep(&format!("on-hang-{}.txt", i + 1), "capture", &text, attempt, &[])?);
        }
        kept.extend(self.keep_dirty(before, attempt)?);
        Ok(kept)
    }

    /// Stores what differed from HEAD: the diff, and the files git does not know.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn keep_dirty(&mut self, before: &Snapshot, attempt: Option<EventId>) -> Result<Vec<Kept>> {
        let mut kept = Vec::new();
        if !before.diff.is_empty() {
            match self.keep("dirty.diff", "diff", &before.diff, attempt, &[]) {
                Ok(diff) => kept.push(diff),
                // A huge diff must not lose the run: say so in its place.
                Err(error) => self.remarks.push(format!("the diff against HEAD was not stored: {error}")),
            }
        }
        let top = if before.untracked.is_empty() { PathBuf::new() } else { self.workdir()? };
        for (path, size) in &before.untracked {
            let limit = self.evidence_policy()?.max;
            let stored = crate::store::evidence::read_file(&top.join(path), limit)
                .and_then(|bytes| self.keep(path, "untracked", &bytes, attempt, &[]));
            match stored {
                Ok(file) => kept.push(file),
                Err(error) => self
                    .remarks
                    .push(format!("the untracked file {path} ({size} bytes) was not stored: {error}")),
            }
        }
        if before.left_out > 0 {
            self.remarks.push(format!(
                "{} untracked paths were not stored (links, devices, repositories, names that are not UTF-8, or too many)",
                before.left_out
            ));
        }
        Ok(kept)
    }

    /// The record of a run.
    ///
    /// # Errors
    /// The environment cannot be written as JSON.
    pub fn run_record(
        &self,
        argv: &[OsString],
        ran: &Ran,
        before: &Snapshot,
        tools: &[String],
        evidence: &[Oid],
    ) -> Result<RunRecord> {
        let environment = serde_json::to_value(self.environment(tools))
            .map_err(|e| crate::model::Error::bug("an environment cannot be written as JSON").because(e))?;
        Ok(RunRecord {
            argv: redact::cut_words(
                &argv.iter().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>(),
            ),
            exit: Some(i64::from(ran.outcome.end.exit_code())),
            millis: ran.outcome.duration.as_millis() as u64,
            hang: ran.hang().map(str::to_owned),
            commit: before.commit.clone(),
            tree: before.tree.clone(),
            dirty: before.dirty,
            environment,
            evidence: evidence.to_vec(),
        })
    }
}
