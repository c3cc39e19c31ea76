//! Running the repro command: how often it shows the bug, here or on another commit.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use super::Session;
use super::running::{Ran, RunRequest};
use crate::event::{Data, ReproRan};
use crate::git::lock;
use crate::git::program::scrubbed_environment;
use crate::git::snapshot::Snapshot;
use crate::git::worktree::ValidationWorktree;
use crate::model::incident::{Incident, Repro};
use crate::model::status::FailsWhen;
use crate::model::{Error, EventId, Oid, Result, command_line};
use crate::runner::{End, Stream};

/// The file of the local state that names the `repro.set` events whose commands may run here.
const APPROVED: &str = "repro-approved";

/// What one run said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// The bug.
    Bug,
    /// No bug.
    Nothing,
}

/// A series of runs.
#[derive(Debug)]
pub struct Series {
    /// How often it ran.
    pub runs: u32,
    /// In how many of them the bug was seen.
    pub failures: u32,
    /// What happened in each run, in one line.
    pub lines: Vec<String>,
    /// The commit, when the runs were made on one.
    pub commit: Option<Oid>,
}

/// How to run a series.
pub struct SeriesRequest<'a> {
    /// How often.
    pub runs: u32,
    /// On that commit, in the validation worktree; in the working tree when absent.
    pub at: Option<&'a str>,
    /// Where the output goes.
    pub stream: Stream,
    /// Tools whose versions matter.
    pub tools: Vec<String>,
    /// Whether the person approves of a command that was set in another clone.
    pub approved: bool,
    /// Called after each run with its number.
    pub progress: &'a dyn Fn(u32, Seen, &str),
}

impl Session {
    /// Runs the repro command of an incident and records the series.
    ///
    /// # Errors
    /// No command is set; it could not be run (the caller exits with 125).
    pub fn run_repro(
        &mut self,
        id: &Oid,
        incident: &Incident,
        request: &SeriesRequest<'_>,
    ) -> Result<Series> {
        let repro = incident.repro.clone();
        let Some(repro_event) = repro.set_by.filter(|_| !repro.command.is_empty()) else {
            return Err(Error::refused("no repro command is set").hint("git incident repro set -- COMMAND…"));
        };
        if request.approved {
            self.approve_repro(repro_event)?;
        } else if !self.is_approved(repro_event) {
            return Err(Error::refused(
                "the repro command was set in another clone, and nobody approved of it here",
            )
            .because(format!("it would run: {}", command_line::join(&repro.command)))
            .hint("read it; if you would type it yourself: git incident repro run --approve"));
        }
        let place = self.prepare_place(request.at, &repro.directory)?;
        let attempt = self.active_attempt(id);
        let mut series =
            Series { runs: 0, failures: 0, lines: Vec::new(), commit: place.snapshot.commit.clone() };
        let mut kept = Vec::new();
        let mut millis = 0;
        for n in 1..=request.runs {
            let ran = self.one_run(&repro, &place, request)?;
            millis += ran.outcome.duration.as_millis() as u64;
            let seen = judge(&repro, &ran)?;
            let line = line_of(&ran);
            (request.progress)(n, seen, &line);
            series.runs += 1;
            series.failures += u32::from(seen == Seen::Bug);
            series.lines.push(line);
            // One output of each kind tells the story; the counts tell the rest.
            let first_of_kind = (seen == Seen::Bug && series.failures == 1)
                || (seen == Seen::Nothing && series.runs - series.failures == 1);
            if first_of_kind && !ran.output.is_empty() {
                let name = if seen == Seen::Bug { "repro-bug.log" } else { "repro-pass.log" };
                kept.push(self.keep(name, "log", &ran.output, attempt, &[])?);
            }
            if ran.outcome.end == End::Interrupted {
                break;
            }
        }
        kept.extend(self.keep_dirty(&place.snapshot, attempt)?);
        let oids: Vec<Oid> = kept.iter().filter_map(|k| k.event.oid.clone()).collect();
        self.remarks.extend(kept.iter().filter_map(|k| k.remark.clone()));
        let environment = serde_json::to_value(self.environment(&request.tools)).unwrap_or_default();
        let ran = ReproRan {
            repro: repro_event,
            runs: series.runs,
            failures: series.failures,
            commit: place.snapshot.commit.clone(),
            tree: place.snapshot.tree.clone(),
            dirty: place.snapshot.dirty,
            millis,
            environment,
            evidence: oids.clone(),
        };
        self.append(id, &oids, |draft| {
            for file in &kept {
                draft.add(file.event.clone())?;
            }
            draft.add(Data::from(ran))
        })?;
        Ok(series)
    }

    /// Remembers that a person at this clone set, or approved of, the command of a `repro.set`: ledgers come from
    /// strangers, and what stands in one runs only after somebody here has seen it.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn approve_repro(&self, set: EventId) -> Result<()> {
        if self.is_approved(set) {
            return Ok(());
        }
        let path = lock::state_dir(&self.repo)?.join(APPROVED);
        let line = format!("{set}\n");
        let written = std::fs::OpenOptions::new().append(true).create(true).open(&path);
        written.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|e| {
            Error::refused(format!("{} cannot be written", path.display()))
                .because(e)
                .hint("check that the repository is writable and the disk is not full")
        })
    }

    fn is_approved(&self, set: EventId) -> bool {
        let path = self.repo.common_dir().join("incident").join(APPROVED);
        let known = std::fs::read_to_string(path).unwrap_or_default();
        known.lines().any(|line| EventId::parse(line.trim()) == Some(set))
    }

    fn one_run(&mut self, repro: &Repro, place: &Place, request: &SeriesRequest<'_>) -> Result<Ran> {
        let command = RunRequest {
            argv: repro.command.iter().map(OsString::from).collect(),
            cwd: place.directory.clone(),
            env: place.env.clone(),
            timeout: (repro.timeout_millis > 0).then(|| Duration::from_millis(repro.timeout_millis)),
            idle: None,
            stream: request.stream,
            tools: Vec::new(),
        };
        self.run_command(&command)
            .map_err(|failure| failure.error.while_doing("the repro command could not be run"))
    }

    /// Where the runs happen: the working tree as it is, or a commit in the validation worktree.
    fn prepare_place(&self, at: Option<&str>, below: &str) -> Result<Place> {
        let Some(revision) = at else {
            let directory = self.repo.workdir().map(|top| top.join(below));
            if let Some(missing) = directory.as_ref().filter(|d| !d.is_dir()) {
                return Err(
                    Error::refused("the repro command's directory is not there").because(missing.display())
                );
            }
            return Ok(Place { directory, env: Vec::new(), snapshot: self.snapshot()?, _worktree: None });
        };
        let commit = self.repo.resolve_commit(revision)?;
        let tree = self.repo.tree_of(&commit)?;
        let worktree = ValidationWorktree::open(self.repo.common_dir(), &self.cache_dir()?, "repro")?;
        let checkout = worktree.checkout(commit.as_str(), &[])?;
        if !checkout.missing.is_empty() {
            return Err(Error::refused(format!("commit {} cannot be checked out whole", commit.short()))
                .because(checkout.missing.join("; ")));
        }
        let directory = checkout.path.join(below);
        if !directory.is_dir() {
            return Err(Error::refused(format!(
                "commit {} has no directory {below:?} to run in",
                commit.short()
            )));
        }
        // A hook's variables would tie every git below the command to the user's own repository.
        let env = scrubbed_environment().iter().map(|name| (OsString::from(name), None)).collect();
        let snapshot = Snapshot { commit: Some(commit), tree: Some(tree), ..Snapshot::default() };
        Ok(Place { directory: Some(directory), env, snapshot, _worktree: Some(worktree) })
    }
}

struct Place {
    directory: Option<PathBuf>,
    env: Vec<(OsString, Option<OsString>)>,
    snapshot: Snapshot,
    _worktree: Option<ValidationWorktree>,
}

/// Whether a run showed the bug.
///
/// # Errors
/// It decided nothing: interrupted, a hang where only an exit status counts and no limit was set, exit 125 to 127,
/// or no verdict line where one is needed.
fn judge(repro: &Repro, ran: &Ran) -> Result<Seen> {
    let could_not = |why: &str| Error::refused("the repro command could not be run").because(why.to_owned());
    let seen = |bug: bool| if bug { Seen::Bug } else { Seen::Nothing };
    match ran.outcome.end {
        End::Interrupted => return Err(Error::refused("interrupted; nothing was recorded")),
        // git bisect run's convention: these say "cannot be tested", not "bad".
        End::Exited(status @ 125..=127) => {
            return Err(could_not(&format!("exit status {status}, which means that it could not be tested")));
        }
        _ => {}
    }
    match repro.fails_when {
        FailsWhen::Exit => Ok(seen(ran.outcome.end.exit_code() != 0)),
        FailsWhen::Timeout => Ok(seen(ran.hang().is_some())),
        FailsWhen::Output => {
            let text = String::from_utf8_lossy(&ran.output);
            Ok(seen(text.contains(&repro.pattern)))
        }
        FailsWhen::Verdict => {
            let text = String::from_utf8_lossy(&ran.output);
            let last = text.lines().rev().find_map(|l| {
                l.trim().to_ascii_lowercase().strip_prefix("verdict:").map(|v| v.trim().to_owned())
            });
            match last.as_deref() {
                Some("fail") => Ok(Seen::Bug),
                Some("pass") => Ok(Seen::Nothing),
                _ if ran.hang().is_some() => Ok(Seen::Bug),
                Some(other) => {
                    Err(could_not(&format!("its verdict line says {other:?}, neither pass nor fail")))
                }
                None => Err(could_not("it printed no line `VERDICT: pass` or `VERDICT: fail`")),
            }
        }
    }
}

fn line_of(ran: &Ran) -> String {
    let time = crate::model::time::human_duration(ran.outcome.duration.as_millis() as u64);
    match ran.hang() {
        Some(kind) => format!("hang ({kind}) after {time}"),
        None => format!("exit {} after {time}", ran.outcome.end.exit_code()),
    }
}
