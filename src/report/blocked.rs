//! Giving up: which of the policy's requirements are met by recorded evidence.
//!
//! The seed of this rule is a long experience with "fundamental limitations" that were none: whoever gives up
//! shows measurements, sizes, several really different approaches, both sides, the code and the arithmetic.

use std::collections::HashSet;

use crate::model::incident::{Incident, Note};
use crate::model::time::human_duration;

/// The requirements this knows, by the words of the configuration.
pub const REQUIREMENTS: [&str; 7] =
    ["profile", "sizes", "approaches", "host-and-device", "code", "arithmetic", "minutes"];

/// One requirement, held against the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// Its word in the configuration.
    pub name: &'static str,
    /// What it asks for, in a sentence.
    pub asks: String,
    /// What meets it; `None` when nothing does.
    pub met_by: Option<String>,
    /// The command that would meet it.
    pub remedy: &'static str,
}

/// How much is asked.
#[derive(Debug, Clone, Copy)]
pub struct Thresholds {
    /// Different approaches.
    pub approaches: u32,
    /// Minutes of recorded work.
    pub minutes: u32,
}

/// Two hypotheses that share more of their words than this are one approach.
const SAME_APPROACH: f64 = 0.6;

/// Holds the required words against an incident; words it does not know are passed over.
///
/// `cites_code` says whether a text names a file of the repository with a line.
pub fn requirements(
    incident: &Incident,
    require: &[&str],
    thresholds: Thresholds,
    cites_code: &dyn Fn(&str) -> bool,
) -> Vec<Requirement> {
    REQUIREMENTS
        .iter()
        .filter(|name| require.contains(name))
        .map(|name| {
            let (asks, met_by, remedy) = match *name {
                "profile" => (
                    "profile data: where the time goes, measured".to_owned(),
                    evidence_of(incident, "profile").or_else(|| note_about(incident, "profile", &has_measure)),
                    "git incident evidence add --kind profile FILE",
                ),
                "sizes" => (
                    "logged data sizes: bytes, shapes, counts as they really are".to_owned(),
                    evidence_of(incident, "sizes").or_else(|| note_about(incident, "sizes", &has_number)),
                    "git incident attempt note --about sizes \"9.27 MB in 1159 chunks of 8 KiB\"",
                ),
                "approaches" => {
                    let n = different_approaches(incident);
                    (
                        format!("{} really different approaches, each ended with why it failed", thresholds.approaches),
                        (n >= thresholds.approaches as usize).then(|| format!("{n} attempts")),
                        "git incident attempt start -H \"…\", then attempt end --failed -m \"why\"",
                    )
                }
                "host-and-device" => {
                    let host = note_about(incident, "host", &|_| true);
                    let device = note_about(incident, "device", &|_| true);
                    (
                        "host side and device side both looked at".to_owned(),
                        host.zip(device).map(|(h, d)| format!("{h} and {d}")),
                        "git incident attempt note --about host \"…\" and --about device \"…\"",
                    )
                }
                "code" => (
                    "the code that cannot be changed, cited as path:line".to_owned(),
                    first_text(incident, cites_code),
                    "git incident attempt note --about code \"src/queue.hpp:130 must wait because …\"",
                ),
                "arithmetic" => (
                    "the arithmetic of measured against theoretical".to_owned(),
                    evidence_of(incident, "arithmetic").or_else(|| note_about(incident, "arithmetic", &|t| numbers(t) >= 2)),
                    "git incident attempt note --about arithmetic \"1.22 MB/s measured, 4 GB/s theoretical: 3000 times less\"",
                ),
                _ => {
                    let millis = incident.worked_millis();
                    (
                        format!("{} minutes of recorded work", thresholds.minutes),
                        (millis >= u64::from(thresholds.minutes) * 60_000).then(|| human_duration(millis)),
                        "git incident try …, or git incident budget spend --minutes N -m \"on what\"",
                    )
                }
            };
            Requirement { name, asks, met_by, remedy }
        })
        .collect()
}

fn notes(incident: &Incident) -> impl Iterator<Item = (&Note, String)> {
    let of_attempts = incident
        .attempts
        .iter()
        .flat_map(|a| a.notes.iter().map(move |n| (n, format!("a note on attempt {}", a.ordinal))));
    of_attempts.chain(incident.notes.iter().map(|n| (n, "a note on the incident".to_owned())))
}

fn note_about(incident: &Incident, about: &str, says: &dyn Fn(&str) -> bool) -> Option<String> {
    notes(incident).find(|(n, _)| n.about.iter().any(|a| a == about) && says(&n.text)).map(|(_, place)| place)
}

fn evidence_of(incident: &Incident, kind: &str) -> Option<String> {
    incident
        .evidence
        .iter()
        .find(|e| e.kind == kind && !e.erased && e.bytes > 0)
        .map(|e| format!("evidence {}", e.name))
}

fn first_text(incident: &Incident, says: &dyn Fn(&str) -> bool) -> Option<String> {
    notes(incident).find(|(n, _)| says(&n.text)).map(|(_, place)| place).or_else(|| {
        let attempt =
            incident.attempts.iter().find(|a| says(&a.conclusion) || says(&a.result) || says(&a.action))?;
        Some(format!("attempt {}", attempt.ordinal))
    })
}

fn numbers(text: &str) -> usize {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','))
        .filter(|w| w.chars().any(|c| c.is_ascii_digit()))
        .count()
}

fn has_number(text: &str) -> bool {
    numbers(text) >= 1
}

/// A number with something after it that measures: a unit or a share.
fn has_measure(text: &str) -> bool {
    const UNITS: [&str; 12] =
        ["ms", "us", "µs", "ns", "s", "sec", "min", "%", "seconds", "cycles", "samples", "gb/s"];
    let lower = text.to_lowercase();
    lower
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | ':'))
        .collect::<Vec<_>>()
        .windows(2)
        .any(|pair| {
            let value = pair[0].chars().next().is_some_and(|c| c.is_ascii_digit());
            value && UNITS.contains(&pair[1])
        })
        || lower.split_whitespace().any(|w| {
            let digits = w.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            digits.len() < w.len() && UNITS.contains(&digits.trim_end_matches([',', ';', ')', '.']))
        })
}

/// Ended attempts that did not fix the bug and say why, counted once where their hypotheses are the same.
fn different_approaches(incident: &Incident) -> usize {
    let mut kept: Vec<HashSet<String>> = Vec::new();
    for attempt in incident.attempts.iter().filter(|a| a.failed() && !a.conclusion.trim().is_empty()) {
        let text = format!("{} {} {}", attempt.title, attempt.hypothesis, attempt.action).to_lowercase();
        let words: HashSet<String> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2).map(str::to_owned).collect();
        if words.is_empty() {
            continue;
        }
        let same = |other: &HashSet<String>| {
            let shared = other.intersection(&words).count() as f64;
            shared / (other.len() + words.len()) as f64 * 2.0 > SAME_APPROACH
        };
        if !kept.iter().any(same) {
            kept.push(words);
        }
    }
    kept.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::{fold, id};
    use crate::event::{AttemptEnded, AttemptNoted, AttemptStarted, BudgetSpent, Data};
    use crate::model::outcome::{Bug, Hypothesis, Outcome};

    fn check(events: Vec<Data>) -> Vec<&'static str> {
        let incident = fold(events);
        requirements(&incident, &REQUIREMENTS, Thresholds { approaches: 2, minutes: 20 }, &|t| {
            t.contains("a.cu:7")
        })
        .into_iter()
        .filter(|r| r.met_by.is_some())
        .map(|r| r.name)
        .collect()
    }

    fn note(about: &str, text: &str) -> Data {
        AttemptNoted { about: vec![about.into()], text: text.into(), ..Default::default() }.into()
    }

    fn failed(at: usize, hypothesis: &str) -> [Data; 2] {
        let outcome = Outcome { hypothesis: Hypothesis::Refuted, bug: Bug::Remains };
        [
            AttemptStarted { hypothesis: hypothesis.into(), ..Default::default() }.into(),
            AttemptEnded {
                attempt: id(at),
                outcome,
                action: String::new(),
                result: String::new(),
                conclusion: "no".into(),
                rules_out: vec![],
            }
            .into(),
        ]
    }

    #[test]
    fn nothing_is_met_by_nothing() {
        assert!(check(vec![]).is_empty());
        assert!(
            check(vec![note("profile", "it is slow"), note("sizes", "big"), note("host", "x")]).is_empty()
        );
    }

    #[test]
    fn recorded_evidence_meets_each() {
        let met = check(vec![
            note("profile", "to_torch: 8.62s (99.2%)"),
            note("sizes", "9.27 MB"),
            note("host", "the queue is idle"),
            note("device", "the writer waits"),
            note("code", "a.cu:7 must wait"),
            note("arithmetic", "1.22 MB/s of 4 GB/s"),
            BudgetSpent { minutes: 20, ..Default::default() }.into(),
        ]);
        assert_eq!(met, ["profile", "sizes", "host-and-device", "code", "arithmetic", "minutes"]);
    }

    #[test]
    fn the_same_approach_twice_is_one() {
        let mut events: Vec<Data> = failed(0, "reduce the polling sleep to 1 ms").into();
        events.extend(failed(2, "reduce the polling sleep to 10 ms"));
        assert!(check(events.clone()).is_empty());
        events.extend(failed(4, "batch the writes in groups of eight"));
        assert_eq!(check(events), ["approaches"]);
    }
}
