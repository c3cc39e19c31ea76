//! Where an incident stands, and what role a commit or a cause plays in it.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::outcome::word_enum;

word_enum! {
    /// Where an incident stands.
    Status {
        /// Under investigation.
        Open = "open",
        /// Closed with a fix.
        Resolved = "resolved",
        /// Given up, with what stands in the way.
        Blocked = "blocked",
        /// Closed on purpose without a fix.
        WontFix = "wont-fix",
    } default Open
}

word_enum! {
    /// What a commit is to an incident.
    Role {
        /// It tried to fix the bug and did not.
        Failed = "failed",
        /// It fixes the bug.
        Fix = "fix",
        /// It fixes a part, or some cases.
        Partial = "partial",
        /// It brought the bug.
        Offending = "offending",
        /// It undoes another linked commit.
        Revert = "revert",
        /// It has to do with it.
        Related = "related",
    } default Related
}

word_enum! {
    /// How far a root cause has come.
    CauseState {
        /// Nobody has said anything.
        None = "none",
        /// Somebody believes it.
        Proposed = "proposed",
        /// It did not hold against the evidence.
        Rejected = "rejected",
        /// It accounts for every attempt, and a disproof was tried.
        Confirmed = "confirmed",
    } default None
}

word_enum! {
    /// What has become of an idea for the next attempt.
    NextState {
        /// Not tried yet.
        Open = "open",
        /// Tried.
        Done = "done",
        /// Thrown away.
        Dropped = "dropped",
    } default Open
}

word_enum! {
    /// What a gate said.
    Verdict {
        /// The check was made and holds.
        Pass = "pass",
        /// The check was made and does not hold.
        Fail = "fail",
        /// The check was made and decides nothing; the reason says why.
        Inconclusive = "inconclusive",
        /// The check could not be made here; the reason says what is missing.
        NotRun = "not-run",
    } default NotRun
}

word_enum! {
    /// When a run of the repro command counts as having shown the bug.
    FailsWhen {
        /// Its exit status is not 0.
        Exit = "exit",
        /// It did not end within its limit.
        Timeout = "timeout",
        /// Its output holds a given text.
        Output = "output",
        /// It prints `VERDICT: fail` on a line of its own (`VERDICT: pass` means the bug was not seen).
        Verdict = "verdict",
    } default Exit
}
