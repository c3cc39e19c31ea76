//! What the results of a gate's runs mean, one file per kind.
//!
//! To add a kind: write its file with a function that judges, give it a way to run in `session::validate::kinds`, and
//! name it in `KINDS`.

use serde_json::Value;

use crate::model::status::Verdict;

pub mod build;
pub mod command;
pub mod compare;
pub mod repeat;
pub mod sanitizer;

/// Which limit a run met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// It took too long in all.
    Time,
    /// It was silent too long.
    Silence,
}

/// How one run of a gate's command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With this exit status.
    Exit(i32),
    /// By a signal of this number.
    Signal(i32),
    /// At a limit.
    Hang(Limit),
    /// It did not start, for this reason.
    NotStarted(String),
}

/// What a gate says, and why in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Why; empty for a plain pass.
    pub reason: String,
    /// What was found, for the record and for `--json`: canonical JSON, so decimals are strings. Null when the verdict
    /// says it all.
    pub details: Value,
    /// What was found, in lines for people.
    pub lines: Vec<String>,
}

impl Judged {
    /// A verdict with its reason, and nothing else to say.
    pub fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: reason.into(), details: Value::Null, lines: Vec::new() }
    }
}

/// The kinds that this version runs, by their word in the configuration.
const KINDS: [&str; 6] = ["command", "repeat", "compare", "kernel", "sanitizer", "build"];

/// Why a kind cannot be run; `None` when it can.
pub fn unsupported(kind: &str) -> Option<Judged> {
    (!KINDS.contains(&kind)).then(|| {
        let reason = format!(
            "this version runs gates of the kinds {}; kind {kind} comes with a later one",
            KINDS.join(", ")
        );
        Judged::new(Verdict::NotRun, reason)
    })
}

/// What the preparation's end means; `None` when the gate may go on.
pub fn prepared(end: &End) -> Option<Judged> {
    let judged = one(end);
    (judged.verdict != Verdict::Pass)
        .then(|| Judged::new(judged.verdict, format!("prepare: {}", judged.reason)))
}

/// What one run says by itself.
pub fn one(end: &End) -> Judged {
    match end {
        End::Exit(0) => Judged::new(Verdict::Pass, ""),
        End::Exit(125) => {
            Judged::new(Verdict::Inconclusive, "the command says it cannot decide (exit status 125)")
        }
        End::Exit(126) => Judged::new(Verdict::NotRun, "a program cannot be executed (exit status 126)"),
        End::Exit(127) => Judged::new(Verdict::NotRun, "a program is not installed here (exit status 127)"),
        End::Exit(status) => Judged::new(Verdict::Fail, format!("exit status {status}")),
        // SIGHUP, SIGINT and SIGTERM come from outside: they say nothing about the commit.
        End::Signal(number @ (1 | 2 | 15)) => {
            Judged::new(Verdict::Inconclusive, format!("ended from outside by signal {number}"))
        }
        End::Signal(number) => Judged::new(Verdict::Fail, format!("ended by signal {number}")),
        End::Hang(Limit::Time) => Judged::new(Verdict::Fail, "hang: it ran longer than its timeout"),
        End::Hang(Limit::Silence) => {
            Judged::new(Verdict::Fail, "hang: it was silent longer than its idle limit")
        }
        End::NotStarted(why) => Judged::new(Verdict::NotRun, why.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_later_versions_never_pass() {
        for kind in ["perf", "nonsense"] {
            let judged = unsupported(kind).unwrap();
            assert_eq!(judged.verdict, Verdict::NotRun, "{kind}");
            assert!(judged.reason.contains(kind));
        }
        assert_eq!(unsupported("command"), None);
    }

    #[test]
    fn a_preparation_that_fails_ends_the_gate() {
        assert_eq!(prepared(&End::Exit(0)), None);
        let judged = prepared(&End::Exit(2)).unwrap();
        assert_eq!((judged.verdict, judged.reason.as_str()), (Verdict::Fail, "prepare: exit status 2"));
        assert_eq!(prepared(&End::Exit(127)).unwrap().verdict, Verdict::NotRun);
    }
}
