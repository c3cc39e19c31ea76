//! Runs the gates that are due for a commit, and finds the records of those that ran before.
//!
//! | file | what it knows |
//! |---|---|
//! | `subject` | what is judged, and what is due for it |
//! | `range` | the commits on the way, their incidents, the merge base |
//! | `machine` | the device a gate needs, its class, the environment's digest |
//! | `execute` | one gate in the validation worktree |
//! | `gpu` | the GPUs of a run: locked, watched, described |
//! | `elsewhere` | records of devices that are not here |
//! | `kinds` | what each kind of gate runs and how it is judged, one file each |
//! | `remember` | records, ledger events, durations |
//! | `proof` | what is known of a gate without running it |
//! | `pending` | gates that wait for a device |
//! | `background` | a validation that outlives the push that asked for it |

mod background;
mod elsewhere;
mod execute;
mod gpu;
mod kinds;
mod machine;
mod pending;
mod proof;
mod range;
mod remember;
mod subject;

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::config::{PushMode, Unavailable};
use crate::model::status::Verdict;
use crate::model::{Error, Oid, Result};
use crate::validate::plan::Change;
use crate::validate::verdict;

use super::Session;
use super::trust::Trust;
use machine::{Found, Machine, Presence};

pub use background::Waited;
pub use pending::Pending;
pub use proof::Known;
pub use subject::{Examination, Job, PushPolicy, Subject};

/// How hard to try.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// When a connection is held open: nothing runs beyond this moment.
    pub deadline: Option<Instant>,
    /// A failure that was recorded stands, too; without it only passes do, and the rest runs again.
    pub failures_stand: bool,
}

/// What happens, for those who watch.
#[derive(Debug, Clone)]
pub enum Progress<'a> {
    /// Another process has the validation worktree.
    Waiting,
    /// Others have the GPUs that a gate needs.
    WaitingForGpu(&'a Job, &'a str),
    /// A gate starts.
    Started(&'a Job, Place),
    /// One more run of its command.
    Run(&'a Job, u32, u32),
    /// It has its verdict.
    Ended(&'a GateResult),
}

/// Where a gate stands among those of its commit.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Its number, from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    /// How long it took when it last ran here, on any tree.
    pub expected: Option<Duration>,
}

/// What a gate said of a commit.
#[derive(Debug, Clone)]
pub struct GateResult {
    /// Its id.
    pub gate: String,
    /// What it said.
    pub verdict: Verdict,
    /// Why, in one line.
    pub reason: String,
    /// Why it was due.
    pub because: String,
    /// The device class.
    pub device: String,
    /// The commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The record's descriptor, when there is a record.
    pub record: Option<Oid>,
    /// Whether the record was there before.
    pub cached: bool,
    /// Time of all its runs in milliseconds.
    pub millis: u64,
    /// What it runs.
    pub command: String,
    /// What a person types in the commit's tree to see the same: preparation and command on one line; empty where
    /// there is no such line.
    pub by_hand: String,
    /// The command that judges the same again.
    pub again: String,
    /// The end of its output, when it did not pass.
    pub output: String,
    /// What its kind found, canonical JSON; null when the verdict says it all.
    pub details: serde_json::Value,
    /// The same in lines for people.
    pub lines: Vec<String>,
    /// What has to be said of it whatever the verdict: a throttled GPU, one that others used.
    pub notes: Vec<String>,
    /// Who signed the record: an allowed signer's name, or the key's fingerprint for a record made here.
    pub signed_by: Option<String>,
    /// Not run for want of a device, which the policy allows here.
    pub deferred: bool,
}

/// The results for one subject.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was judged.
    pub subject: Subject,
    /// How strict a push of it is.
    pub mode: PushMode,
    /// Whether it goes to a protected ref.
    pub protected: bool,
    /// Whether its configuration has any gates.
    pub configured: bool,
    /// One for each due gate.
    pub results: Vec<GateResult>,
    /// What the push does to the protected branch's gates.
    pub changes: Vec<(String, Change)>,
    /// Gates that have to run in the background first.
    pub handed_over: bool,
    /// What else to say.
    pub remarks: Vec<String>,
}

impl Report {
    /// The verdict over all its gates; a deferred one does not count against it.
    pub fn verdict(&self) -> Verdict {
        verdict::combine(self.results.iter().filter(|r| !r.deferred).map(|r| r.verdict))
    }
}

impl Session {
    /// Judges subjects: finds records, and runs what has none.
    ///
    /// Each subject has its own result. An error says: the configuration is wrong or not trusted; git or the
    /// machine is in trouble; an interruption (then nothing else runs).
    pub fn validate(
        &self,
        subjects: &[Subject],
        options: Options,
        watch: &mut dyn FnMut(Progress<'_>),
    ) -> Vec<Result<Report>> {
        let mut run = Run {
            session: self,
            options,
            watch,
            machine: Machine::default(),
            worktree: None,
            interrupted: Cell::new(false),
        };
        subjects.iter().map(|subject| run.subject(subject)).collect()
    }
}

struct Run<'s> {
    session: &'s Session,
    options: Options,
    watch: &'s mut dyn FnMut(Progress<'_>),
    machine: Machine,
    worktree: Option<crate::git::worktree::ValidationWorktree>,
    interrupted: Cell<bool>,
}

impl Run<'_> {
    fn subject(&mut self, subject: &Subject) -> Result<Report> {
        if self.interrupted.get() {
            return Err(Error::refused("interrupted before this was judged"));
        }
        let examined = self.session.examine(subject)?;
        let mut report = Report {
            subject: subject.clone(),
            mode: examined.mode,
            protected: examined.protected,
            configured: examined.configured,
            results: Vec::new(),
            changes: examined.changes.clone(),
            handed_over: false,
            remarks: examined.remarks.clone(),
        };
        if examined.mode == PushMode::Off && subject.target.is_some() {
            return Ok(report);
        }
        self.demand_trust(&examined)?;
        for (index, job) in examined.jobs.iter().enumerate() {
            let place = Place { number: index + 1, of: examined.jobs.len(), expected: None };
            let result = self.job(&examined, job, place, &mut report)?;
            (self.watch)(Progress::Ended(&result));
            report.results.push(result);
        }
        Ok(report)
    }

    /// No command of a configuration runs, and no protected gate changes, before a person has approved it.
    fn demand_trust(&self, examined: &Examination) -> Result<()> {
        let mut sources: Vec<&Oid> = examined.jobs.iter().map(|job| &job.config_from).collect();
        if !examined.changes.is_empty() {
            sources.push(&examined.commit);
        }
        sources.sort_unstable();
        sources.dedup();
        for commit in sources {
            if let Trust::Missing(reason) = self.session.commit_trust(commit)? {
                let mut error = Error::refused(format!(
                    "the gates of {} may not run before a person has approved them",
                    commit.short()
                ))
                .because(reason);
                for (gate, change) in &examined.changes {
                    error = error.because(format!("this push {} the protected gate {gate}", change.word()));
                }
                return Err(error
                    .hint(format!("look at them and approve them: git incident trust {}", commit.short())));
            }
        }
        Ok(())
    }

    fn job(
        &mut self,
        examined: &Examination,
        job: &Job,
        place: Place,
        report: &mut Report,
    ) -> Result<GateResult> {
        if let Some(judged) = crate::validate::gate::unsupported(job.gate.kind.word()) {
            return Ok(job.result(judged.verdict, judged.reason));
        }
        let found = match self.machine.look(self.session, &job.gate)? {
            Presence::Here(found) => found,
            Presence::Missing(reason) => {
                if let Some(result) = self.recorded_elsewhere(job, report)? {
                    return Ok(result);
                }
                return self.unavailable(examined, job, reason);
            }
        };
        let descriptor = job.descriptor(&found);
        if let Some(result) = self.recorded(job, &found, &descriptor, report)? {
            return Ok(result);
        }
        if report.handed_over || self.must_hand_over(job, &found)? {
            report.handed_over = true;
            return Ok(job.result(Verdict::NotRun, "it runs in the background"));
        }
        let expected = self.session.expected_duration(&job.gate.id, &found.class)?;
        (self.watch)(Progress::Started(job, Place { expected, ..place }));
        let ran = match self.execute(job, &found)? {
            execute::Executed::Ran(ran) => ran,
            execute::Executed::OutOfTime | execute::Executed::Busy => {
                report.handed_over = true;
                return Ok(job.result(Verdict::NotRun, "it runs in the background"));
            }
        };
        if ran.hung {
            // A hang may have taken the device with it: look again before the next gate.
            if found.cards.is_empty() {
                self.machine.forget();
            } else {
                self.machine.look_again(&job.gate.device, &ran.left);
            }
        }
        self.remember(examined, job, &found, &descriptor, &ran, report)
    }

    /// A device that is not here: pending where the policy allows it.
    fn unavailable(&self, examined: &Examination, job: &Job, reason: String) -> Result<GateResult> {
        let deferred = !examined.protected && !examined.strict && examined.unavailable == Unavailable::Defer;
        let mut result = job.result(Verdict::NotRun, reason);
        if deferred {
            self.session.add_pending(&Pending::of(&result, job.target.as_deref()))?;
        }
        // Only a push is allowed by deferring; whoever asks for a validation hears that it was not made.
        result.deferred = deferred && job.target.is_some();
        result.lines.push(format!(
            "where that device is: git incident validate {} && git incident sync; then here: git incident sync",
            job.commit.short()
        ));
        Ok(result)
    }

    fn must_hand_over(&self, job: &Job, found: &Found) -> Result<bool> {
        let Some(deadline) = self.options.deadline else {
            return Ok(false);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(true);
        }
        let expected = self.session.expected_duration(&job.gate.id, &found.class)?;
        Ok(expected.is_some_and(|expected| expected > left))
    }
}
