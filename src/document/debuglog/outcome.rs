//! What an attempt's own words say about its outcome.
//!
//! The rules are few and careful: a log that does not say is [`Hypothesis::Undecided`] or
//! [`Bug::Unknown`], and an explicit `**Outcome:** supported; bug remains` always wins over them.
//! Words inside code are not read.
//!
//! The hypothesis:
//!
//! 1. The conclusion decides if it confirms or refutes (see `SUPPORTS` and `REFUTES`); both at once,
//!    or a word of doubt, is undecided.
//! 2. Else the result decides by its words of success and failure, if only one kind occurs and the
//!    hypothesis did not itself predict a failure.
//!
//! The bug:
//!
//! 1. An attempt without result and conclusion is unknown.
//! 2. In a resolved incident the last attempt that worked fixed the bug. Before it the bug remained;
//!    after it, nothing is known. If none reads as if it worked, the last one is unknown.
//! 3. In any other incident the bug remains, except that an attempt which claims a fix is unknown:
//!    either the claim or the status is stale.

use crate::model::outcome::{Bug, Hypothesis};
use crate::model::status::Status;

use super::LoggedAttempt;

const SUPPORTS: [&str; 17] = [
    "confirms",
    "confirmed",
    "hypothesis correct",
    "hypothesis was correct",
    "hypothesis is correct",
    "hypothesis supported",
    "supports the hypothesis",
    "as predicted",
    "proves",
    "proved",
    "root cause found",
    "this is the root cause",
    "is the cause",
    "was the cause",
    "was the root cause",
    "is the root cause",
    "hypothesis holds",
];

const REFUTES: [&str; 40] = [
    "not a",
    "not an",
    "rules out",
    "ruled out",
    "not the cause",
    "not the root cause",
    "not the problem",
    "not the issue",
    "not sufficient",
    "not enough",
    "not related",
    "unrelated",
    "independent of",
    "refutes",
    "refuted",
    "disproves",
    "disproved",
    "hypothesis wrong",
    "hypothesis was wrong",
    "hypothesis is wrong",
    "hypothesis incorrect",
    "red herring",
    "not viable",
    "no effect",
    "no difference",
    "does not help",
    "did not help",
    "does not matter",
    "did not matter",
    "does not work",
    "did not work",
    "is not due to",
    "not caused by",
    "not confirmed",
    "does not confirm",
    "did not confirm",
    "not responsible",
    "dead end",
    "not because",
    "is not it",
];

const DOUBTS: [&str; 11] = [
    "inconclusive",
    "unclear",
    "not sure",
    "unsure",
    "cannot tell",
    "can not tell",
    "may be",
    "maybe",
    "might be",
    "undecided",
    "needs more",
];

/// A bare "pass" or "passes" is not among them: tools make passes that succeed or not.
const SUCCESS: [&str; 19] = [
    "works",
    "worked",
    "fixed",
    "fixes",
    "fixes the",
    "tests pass",
    "test passes",
    "passed",
    "all pass",
    "no longer",
    "resolved",
    "resolves",
    "success",
    "succeeded",
    "succeeds",
    "bug is gone",
    "hang is gone",
    "does not hang",
    "does not crash",
];

const FAILURE: [&str; 31] = [
    "hangs",
    "hung",
    "still",
    "fails",
    "failed",
    "fail",
    "failure",
    "error",
    "errors",
    "crash",
    "crashes",
    "crashed",
    "does not work",
    "did not work",
    "not work",
    "does not help",
    "did not help",
    "no change",
    "no effect",
    "no difference",
    "same hang",
    "same error",
    "same result",
    "deadlocks",
    "deadlocked",
    "times out",
    "timed out",
    "refuses",
    "segfaults",
    "worse",
    "not fixed",
];

const FIX_CLAIMS: [&str; 8] = [
    "fixed",
    "fixes the",
    "bug is gone",
    "hang is gone",
    "problem is gone",
    "issue is gone",
    "resolved",
    "resolves the",
];

/// What turns the phrase after it into its opposite.
const DENIALS: [&str; 5] = [" not ", " never ", " no ", " without ", " no longer "];

/// The words of a text, lower-case, single-spaced, contractions spelled out, code left out.
struct Words(String);

impl Words {
    fn new(text: &str) -> Self {
        let mut plain = String::with_capacity(text.len());
        let mut code = false;
        for c in text.chars() {
            match c {
                '`' => {
                    code = !code;
                    plain.push(' ');
                }
                _ if code => {}
                '\u{2019}' => plain.push('\''),
                _ if c.is_alphanumeric() || c == '\'' => plain.extend(c.to_lowercase()),
                _ => plain.push(' '),
            }
        }
        let mut words = String::with_capacity(plain.len() + 2);
        words.push(' ');
        for word in plain.split(' ').map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty()) {
            match word.strip_suffix("n't") {
                Some("ca") => words.push_str("can not"),
                Some("wo") => words.push_str("will not"),
                Some(stem) => {
                    words.push_str(stem);
                    words.push_str(" not");
                }
                None => words.push_str(word),
            }
            words.push(' ');
        }
        Self(words)
    }

    /// Whether any of the phrases occurs as whole words and is not denied just before.
    fn has(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| {
            self.0.match_indices(phrase).any(|(at, _)| {
                let before = &self.0[..at];
                let whole = before.ends_with(' ') && self.0[at + phrase.len()..].starts_with(' ');
                whole && !DENIALS.iter().any(|denial| before.ends_with(denial))
            })
        })
    }

    fn says_nothing(&self) -> bool {
        self.0.len() <= 1
    }
}

/// What an explicit line says of the hypothesis and of the bug.
pub(super) type Said = (Option<Hypothesis>, Option<Bug>);

/// Reads `supported; bug remains`, with either side left out.
pub(super) fn explicit(text: &str) -> Option<Said> {
    let text = text.trim_matches([' ', '\t', '\n', '.']).to_ascii_lowercase();
    let (mut hypothesis, mut bug) = (None, None);
    for side in text.split([';', ',']).map(str::trim) {
        if let Some(word) = side.strip_prefix("bug ") {
            bug = Some(word.trim().parse().ok()?);
        } else {
            hypothesis = Some(side.strip_prefix("hypothesis ").unwrap_or(side).trim().parse().ok()?);
        }
    }
    Some((hypothesis, bug))
}

/// The outcomes of all attempts of an incident, in their order.
pub(super) fn infer(status: Status, attempts: &[LoggedAttempt]) -> Vec<(Hypothesis, Bug)> {
    let read: Vec<Read> = attempts.iter().map(Read::new).collect();
    let fix = (status == Status::Resolved).then(|| read.iter().rposition(|attempt| attempt.worked)).flatten();
    let last = read.len().saturating_sub(1);
    read.iter()
        .enumerate()
        .map(|(at, attempt)| {
            let bug = match (status, fix) {
                _ if attempt.silent => Bug::Unknown,
                (Status::Resolved, Some(fix)) if at == fix => Bug::Fixed,
                (Status::Resolved, Some(fix)) if at > fix => Bug::Unknown,
                (Status::Resolved, None) if at == last => Bug::Unknown,
                (Status::Resolved, _) => Bug::Remains,
                _ if attempt.claims_fix => Bug::Unknown,
                _ => Bug::Remains,
            };
            (attempt.hypothesis, bug)
        })
        .collect()
}

struct Read {
    hypothesis: Hypothesis,
    /// It reads as if its change made the bug go away.
    worked: bool,
    claims_fix: bool,
    silent: bool,
}

impl Read {
    fn new(attempt: &LoggedAttempt) -> Self {
        let conclusion = Words::new(&attempt.conclusion);
        let result = Words::new(&attempt.result);
        let (success, failure) = (result.has(&SUCCESS), result.has(&FAILURE));
        let (supports, refutes) = (conclusion.has(&SUPPORTS), conclusion.has(&REFUTES));
        let hypothesis = match (supports, refutes) {
            _ if conclusion.has(&DOUBTS) => Hypothesis::Undecided,
            (true, false) => Hypothesis::Supported,
            (false, true) => Hypothesis::Refuted,
            (true, true) => Hypothesis::Undecided,
            (false, false) => match (success, failure) {
                _ if Words::new(&attempt.hypothesis).has(&FAILURE) => Hypothesis::Undecided,
                (true, false) => Hypothesis::Supported,
                (false, true) => Hypothesis::Refuted,
                _ => Hypothesis::Undecided,
            },
        };
        let claims_fix = conclusion.has(&FIX_CLAIMS) || result.has(&FIX_CLAIMS);
        let worked = (success || conclusion.has(&SUCCESS)) && !failure && !refutes;
        Self { hypothesis, worked, claims_fix, silent: conclusion.says_nothing() && result.says_nothing() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(hypothesis: &str, result: &str, conclusion: &str) -> LoggedAttempt {
        LoggedAttempt {
            hypothesis: hypothesis.into(),
            result: result.into(),
            conclusion: conclusion.into(),
            ..LoggedAttempt::default()
        }
    }

    fn one(status: Status, result: &str, conclusion: &str) -> (Hypothesis, Bug) {
        infer(status, &[attempt("The cache is stale.", result, conclusion)])[0]
    }

    #[test]
    fn the_conclusion_decides_first() {
        use {Bug::*, Hypothesis::*};
        assert_eq!(one(Status::Open, "**Works.**", "Not a cache problem."), (Refuted, Remains));
        assert_eq!(one(Status::Open, "Still hangs.", "Confirms the lock order."), (Supported, Remains));
        assert_eq!(one(Status::Open, "Still hangs.", "This isn't confirmed yet."), (Refuted, Remains));
        assert_eq!(one(Status::Open, "", "Confirmed that it does not work."), (Undecided, Remains));
        assert_eq!(one(Status::Open, "Works.", "It may be the cache."), (Undecided, Remains));
    }

    #[test]
    fn then_the_result() {
        use {Bug::*, Hypothesis::*};
        assert_eq!(one(Status::Open, "Errors at once.", ""), (Refuted, Remains));
        assert_eq!(one(Status::Open, "Sometimes works, sometimes hangs.", ""), (Undecided, Remains));
        assert_eq!(one(Status::Open, "`works`", ""), (Undecided, Unknown));
        assert_eq!(one(Status::Open, "Hangs in the first pass.", ""), (Refuted, Remains));
        assert_eq!(one(Status::Open, "", ""), (Undecided, Unknown));
        assert_eq!(one(Status::Open, "Fixed!", ""), (Supported, Unknown));
        let predicted = attempt("It crashes without the flag.", "It crashes.", "");
        assert_eq!(infer(Status::Open, &[predicted])[0], (Undecided, Remains));
    }

    #[test]
    fn the_last_attempt_that_worked_fixed_it() {
        let attempts = [
            attempt("", "Still hangs.", ""),
            attempt("", "Works.", ""),
            attempt("", "The hang is gone.", ""),
            attempt("", "A smaller patch fails.", ""),
        ];
        let bugs: Vec<Bug> = infer(Status::Resolved, &attempts).into_iter().map(|(_, bug)| bug).collect();
        assert_eq!(bugs, [Bug::Remains, Bug::Remains, Bug::Fixed, Bug::Unknown]);
    }

    #[test]
    fn explicit_lines() {
        use {Bug::*, Hypothesis::*};
        assert_eq!(explicit("supported; bug remains"), Some((Some(Supported), Some(Remains))));
        assert_eq!(explicit("Bug fixed."), Some((None, Some(Fixed))));
        assert_eq!(explicit("It crashed"), None);
    }
}
