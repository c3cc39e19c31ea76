//! An incident as a fold of its ledger shows it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::object::object_only;
use super::outcome::{Bug, Outcome};
use super::register::{Register, Rivals};
use super::status::{CauseState, FailsWhen, NextState, Role, Status, Verdict};
use super::{EventId, Oid, Timestamp};

object_only!(FileRef, RunRecord, Account, Redaction, DraftedBlock);

/// Who did something: a person, and the agent that acted for them, if one did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Author {
    /// The program that acted for the person; empty when none did.
    #[serde(default)]
    pub agent: String,
    /// E-mail address.
    #[serde(default)]
    pub email: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Random hexadecimal digits, so that an erased author cannot be guessed from the digest.
    #[serde(default)]
    pub salt: String,
}

/// When, by whom and in which event something was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The event.
    pub event: EventId,
    /// Its time.
    pub at: Timestamp,
    /// Who said it; `None` when the person was erased.
    pub by: Option<Author>,
}

/// A file that has to do with an incident.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct FileRef {
    /// Path from the top of the repository, with `/`.
    pub path: String,
    /// What it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A bug under investigation: everything its ledger says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Incident {
    /// The anchor; empty only before the opening event was applied.
    pub id: Option<Oid>,
    /// The opening event.
    pub opened: Option<Stamp>,
    /// The newest event.
    pub last_at: Timestamp,
    /// What the incident is called.
    pub title: Register<String>,
    /// The tracker's key, such as `GPU-123` or `#45`; empty when there is none.
    pub ticket: Register<String>,
    /// What was observed.
    pub symptom: Register<String>,
    /// Where it was observed: hardware, versions.
    pub environment: Register<String>,
    /// Files it has to do with.
    pub files: Register<Vec<FileRef>>,
    /// Labels.
    pub labels: Register<Vec<String>>,
    /// Where it stands.
    pub status: Register<Status>,
    /// What was said when it was closed or reopened, or beside the status in an imported log.
    pub status_note: Register<String>,
    /// What was not met when it was given up.
    pub gaps: Vec<String>,
    /// Attempts in the order of the ledger.
    pub attempts: Vec<Attempt>,
    /// Notes that belong to no attempt.
    pub notes: Vec<Note>,
    /// What the working case is called, in the table of differences.
    pub working_case: Register<String>,
    /// What the broken case is called.
    pub broken_case: Register<String>,
    /// Factors that separate a working case from a broken one.
    pub differences: Vec<Difference>,
    /// What stands before the list of ideas.
    pub next_preface: Register<String>,
    /// Ideas not tried yet, and those that were.
    pub next: Vec<Next>,
    /// Root causes, proposed, rejected, confirmed.
    pub causes: Vec<Cause>,
    /// The command that shows the bug.
    pub repro: Repro,
    /// Commits.
    pub links: Vec<Link>,
    /// Rewrites that were recorded: the former name of a commit, and the new one.
    pub rewrites: Vec<(Oid, Oid)>,
    /// Stored files.
    pub evidence: Vec<Evidence>,
    /// Blobs that were erased for good, whenever they are or were added.
    pub erased_blobs: BTreeSet<Oid>,
    /// Results of gates.
    pub gates: Vec<GateResult>,
    /// What was spent outside of recorded attempts and runs.
    pub spent: Spent,
    /// Post-mortems drafted: path and digest of what was written.
    pub postmortems: Vec<Drafted>,
    /// What was said for the post-mortem beside the investigation, in the order of the ledger.
    pub review: Vec<ReviewNote>,
    /// When it was closed, reopened, and its cause confirmed.
    pub milestones: Vec<Milestone>,
    /// Pull request texts drafted.
    pub pull_requests: Vec<Drafted>,
    /// Lines that could not be read, with the reason; they are kept as they are.
    pub damaged: Vec<String>,
    /// Events of types or versions this program does not know.
    pub unknown: Vec<String>,
}

impl Incident {
    /// The cause that stands: the confirmed one, else the newest proposed one, else the newest rejected one.
    pub fn cause(&self) -> Option<&Cause> {
        let newest = |state| self.causes.iter().rev().find(|c| c.state == state);
        newest(CauseState::Confirmed)
            .or_else(|| newest(CauseState::Proposed))
            .or_else(|| newest(CauseState::Rejected))
    }

    /// An attempt by its event.
    pub fn attempt(&self, event: EventId) -> Option<&Attempt> {
        self.attempts.iter().find(|a| a.started.event == event)
    }

    /// Links in force with a role, newest last.
    pub fn links_as(&self, role: Role) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(move |l| l.role == role && !l.unlinked)
    }

    /// What stands for a block of the post-mortem, oldest first.
    pub fn review_of(&self, block: &str) -> impl Iterator<Item = &ReviewNote> {
        self.review.iter().filter(move |n| n.block == block && n.withdrawn.is_none())
    }

    /// Milliseconds of recorded work: the time between the start and the end of each attempt, runs
    /// and series of the repro, without counting an instant twice, and what was declared with `budget`. Numbers come from ledgers, that is from
    /// anybody: what does not fit stays at the most that does.
    pub fn worked_millis(&self) -> u64 {
        let attempts = self
            .attempts
            .iter()
            .filter_map(|a| a.ended.as_ref().map(|e| (a.started.at.millis(), e.at.millis())));
        let noted = self.attempts.iter().flat_map(|a| &a.notes).chain(&self.notes);
        let runs = noted.filter_map(|n| {
            let end = n.stamp.at.millis();
            let length = i64::try_from(n.run.as_ref()?.millis).unwrap_or(i64::MAX);
            Some((end.saturating_sub(length), end))
        });
        let series = self.repro.runs.iter().map(|r| {
            let end = r.stamp.at.millis();
            (end.saturating_sub(i64::try_from(r.millis).unwrap_or(i64::MAX)), end)
        });
        let mut spans: Vec<(i64, i64)> = attempts.chain(runs).chain(series).collect();
        spans.sort_unstable();
        let mut total = 0_u64;
        let mut reached = i64::MIN;
        for (start, end) in spans {
            let new = end.saturating_sub(start.max(reached));
            total = total.saturating_add(u64::try_from(new).unwrap_or_default());
            reached = reached.max(end);
        }
        total.saturating_add(self.spent.minutes.saturating_mul(60_000))
    }
}

/// One try at the bug.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// Position in the ledger, from 1.
    pub ordinal: usize,
    /// The starting event: the attempt's identity.
    pub started: Stamp,
    /// Short description.
    pub title: String,
    /// Why it might work.
    pub hypothesis: String,
    /// What would disprove the hypothesis.
    pub disproof: String,
    /// What was done.
    pub action: String,
    /// What happened.
    pub result: String,
    /// What it tells.
    pub conclusion: String,
    /// What it rules out.
    pub rules_out: Vec<String>,
    /// Both sides of the outcome.
    pub outcome: Outcome,
    /// The ending event, if it has ended.
    pub ended: Option<Stamp>,
    /// Outcomes and conclusions that others recorded without knowing of this one.
    pub rivals: Rivals<(Outcome, String)>,
    /// The commit that undid its fix, which is why the bug counts as remaining although it was recorded as fixed.
    pub reverted: Option<Oid>,
    /// Notes and runs.
    pub notes: Vec<Note>,
}

impl Attempt {
    /// The commands that were run in it.
    pub fn runs(&self) -> impl Iterator<Item = &RunRecord> {
        self.notes.iter().filter_map(|n| n.run.as_ref())
    }

    /// Whether its disproof was stated and the attempt ended with a decision, which is what running the
    /// disproof means.
    pub fn disproof_was_run(&self) -> bool {
        use super::outcome::Hypothesis::Undecided;
        !self.disproof.is_empty() && self.ended.is_some() && self.outcome.hypothesis != Undecided
    }

    /// The first line of what describes it best.
    pub fn headline(&self) -> &str {
        let text = [&self.title, &self.hypothesis, &self.action].into_iter().find(|t| !t.is_empty());
        text.map_or("(no description)", |t| t.lines().next().unwrap_or_default())
    }

    /// Whether it ended without fixing the bug.
    pub fn failed(&self) -> bool {
        self.ended.is_some() && self.outcome.bug == Bug::Remains
    }
}

/// Something written down during an attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// When and by whom.
    pub stamp: Stamp,
    /// The text.
    pub text: String,
    /// Aspects it speaks of: `profile`, `sizes`, `host`, `device`, `code`, `arithmetic`.
    pub about: Vec<String>,
    /// Whether it belongs on a timeline.
    pub important: bool,
    /// The command that was run, when the note is about one.
    pub run: Option<RunRecord>,
}

/// A command that was run and recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[serde(remote = "Self")]
pub struct RunRecord {
    /// The command and its arguments.
    #[serde(default)]
    pub argv: Vec<String>,
    /// Exit status, 128 + n for signal n, 124 for a hang; `None` when it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
    /// Elapsed time on the monotonic clock, in milliseconds.
    #[serde(default)]
    pub millis: u64,
    /// `timeout` or `idle` when it was ended as a hang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hang: Option<String>,
    /// HEAD's commit, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// The tree that ran: HEAD's, or that of the dirty working tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// Whether the working tree differed from HEAD.
    #[serde(default)]
    pub dirty: bool,
    /// Where it ran, and with what.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub environment: serde_json::Value,
    /// Evidence stored with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Oid>,
}

/// A factor of the table of key differences.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// What is compared.
    pub factor: String,
    /// Its value in the working case.
    pub working: String,
    /// Its value in the broken case.
    pub broken: String,
    /// Whether it was shown not to matter.
    pub eliminated: bool,
    /// The setting event.
    pub set_by: EventId,
    /// Values set elsewhere at the same time: working, broken, eliminated.
    pub rivals: Rivals<(String, String, bool)>,
}

/// An idea for an attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    /// The adding event: the idea's identity.
    pub added: Stamp,
    /// The idea.
    pub text: String,
    /// What became of it.
    pub state: NextState,
    /// Why it was dropped, or where it led.
    pub remark: String,
}

/// A root cause somebody named.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// The proposing event: the cause's identity.
    pub proposed: Stamp,
    /// The mechanism.
    pub text: String,
    /// How it leads to the symptom.
    pub mechanism: String,
    /// Whether it stands.
    pub state: CauseState,
    /// Why it was rejected.
    pub reason: String,
    /// How it accounts for each attempt, from the confirmation.
    pub accounts: Vec<Account>,
    /// The attempt whose disproof was run, from the confirmation.
    pub disproof: Option<EventId>,
    /// Verdicts others gave at the same time.
    pub rivals: Rivals<CauseState>,
    /// The event that set the state.
    pub state_by: Option<EventId>,
}

/// How a cause accounts for an attempt's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Account {
    /// The attempt.
    pub attempt: EventId,
    /// The explanation.
    pub how: String,
}

/// The command that shows the bug, and what its runs said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Repro {
    /// The command; empty when none is set.
    pub command: Vec<String>,
    /// When a run counts as having shown the bug.
    pub fails_when: FailsWhen,
    /// The text that output must hold, for [`FailsWhen::Output`].
    pub pattern: String,
    /// Limit of one run in milliseconds; 0 for none.
    pub timeout_millis: u64,
    /// Where it runs, from the top of the working tree; empty for the top itself.
    pub directory: String,
    /// The setting event.
    pub set_by: Option<EventId>,
    /// Runs of the command in force.
    pub runs: Vec<ReproRun>,
}

/// A series of runs of the repro command on one tree.
#[derive(Debug, Clone, PartialEq)]
pub struct ReproRun {
    /// When and by whom.
    pub stamp: Stamp,
    /// How often it ran.
    pub runs: u32,
    /// In how many of them the bug was seen.
    pub failures: u32,
    /// The commit it ran on, when there was one.
    pub commit: Option<Oid>,
    /// The tree it ran on (of the dirty working tree when it was dirty).
    pub tree: Option<Oid>,
    /// Whether the working tree differed from the commit.
    pub dirty: bool,
    /// Total time in milliseconds.
    pub millis: u64,
    /// Where it ran.
    pub environment: serde_json::Value,
    /// Outputs.
    pub evidence: Vec<Oid>,
}

/// A commit that has to do with an incident.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// When and by whom.
    pub stamp: Stamp,
    /// The commit, after the rewrites the ledger knows of.
    pub commit: Oid,
    /// What it is to the incident.
    pub role: Role,
    /// The attempt it belongs to.
    pub attempt: Option<EventId>,
    /// Its patch-id, to find it again after a rewrite.
    pub patch_id: String,
    /// Its tree.
    pub tree: Option<Oid>,
    /// Its subject.
    pub subject: String,
    /// Its pull request.
    pub pr: String,
    /// How it was found when no person made the link; empty when one did.
    pub how: String,
    /// Commits it undoes, as its message or a person names them.
    pub reverts: Vec<Oid>,
    /// The names its commit had before rewrites, each with the event that says so.
    pub former: Vec<(Oid, EventId)>,
    /// The commit that undoes it and stands; see [`super::reverts`].
    pub reverted_by: Option<Oid>,
    /// Whether the link was taken back.
    pub unlinked: bool,
}

/// A stored file.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// When and by whom.
    pub stamp: Stamp,
    /// The blob; `None` when the file stays outside of the repository.
    pub oid: Option<Oid>,
    /// SHA-256 of what was stored.
    pub sha256: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its name.
    pub name: String,
    /// `log`, `diff`, `untracked`, `profile`, `sizes`, `tensor`, `samples`, `capture`, `record`, `file`.
    pub kind: String,
    /// The attempt it belongs to.
    pub attempt: Option<EventId>,
    /// Where it stands when it stays outside.
    pub location: String,
    /// Secrets cut out before it was stored: rule, line.
    pub redacted: Vec<Redaction>,
    /// Whether it was erased for good.
    pub erased: bool,
}

/// A secret that was cut out of a stored file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Redaction {
    /// The rule that found it.
    pub rule: String,
    /// The line, from 1.
    pub line: u32,
}

/// A gate's result, as the ledger of an incident mentions it.
#[derive(Debug, Clone, PartialEq)]
pub struct GateResult {
    /// When and by whom.
    pub stamp: Stamp,
    /// The gate's id in the configuration.
    pub gate: String,
    /// What it said.
    pub verdict: Verdict,
    /// The tree it judged.
    pub tree: Option<Oid>,
    /// The device it ran on.
    pub device: String,
    /// The record's descriptor.
    pub descriptor: Option<Oid>,
}

/// What was spent beside recorded attempts and runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spent {
    /// Minutes.
    pub minutes: u64,
    /// Millionths of the currency unit.
    pub micros: u64,
}

/// Something said for one block of the post-mortem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewNote {
    /// When and by whom.
    pub stamp: Stamp,
    /// `impact`, `detection`, `timeline`, `slipped`, `lesson`, `question`, `action`, `owner`.
    pub block: String,
    /// What is said.
    pub text: String,
    /// Why it slipped through, in one word: `ci-gap`, `latent-code`, …; empty for the other blocks.
    pub reason: String,
    /// Who owns an action item.
    pub owner: String,
    /// Where an action item is tracked.
    pub link: String,
    /// When it happened, if that was not when it was written.
    pub happened: Option<Timestamp>,
    /// It says that there is nothing to say, and why.
    pub none: bool,
    /// Why it was taken back, if it was.
    pub withdrawn: Option<String>,
}

/// A turn of an investigation that belongs on every timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Milestone {
    /// When and by whom.
    pub stamp: Stamp,
    /// What happened.
    pub what: Turn,
}

/// What a milestone is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// The root cause with this proposing event was confirmed.
    CauseConfirmed(EventId),
    /// The incident was closed, or reopened.
    Status(Status),
}

/// A block of a drafted document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct DraftedBlock {
    /// Its heading; empty for what stands before the first block.
    pub title: String,
    /// SHA-256 of what was written.
    pub sha256: String,
}

/// A document that was made from the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Drafted {
    /// When and by whom.
    pub stamp: Stamp,
    /// Where it was written (a path), or its title.
    pub place: String,
    /// SHA-256 of what was written.
    pub sha256: String,
    /// The page it was put on; empty when there is none.
    pub url: String,
    /// Its blocks that nobody had edited; empty where they were not recorded.
    pub blocks: Vec<DraftedBlock>,
}
