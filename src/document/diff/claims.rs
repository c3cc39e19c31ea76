//! Whether a statement says more than it said before.
//!
//! Only in sections that claim something (summary, cause, fix, validation, impact): a number in a timeline is a fact,
//! not a claim. The signs are those that reviewers look for: higher counts of what was covered, words of
//! universality, hedges and limits that are gone, a device more, a stronger verb.

use crate::document::pattern::constant as regex;
use std::sync::LazyLock;

use regex::Regex;

use super::facts::{self, Category, Fact};

/// The sections whose statements are claims, by words that their titles hold.
const CLAIMING: [&str; 18] = [
    "summary",
    "overview",
    "tl;dr",
    "cause",
    "symptom",
    "impact",
    "fix",
    "resolution",
    "remediation",
    "solution",
    "mitigation",
    "validation",
    "verification",
    "testing",
    "test plan",
    "tested",
    "result",
    "why it",
];

/// The sections that say what was run.
const VALIDATING: [&str; 6] = ["validation", "verification", "testing", "test plan", "tested", "result"];

/// What coverage is counted in.
const COVERAGE: [&str; 36] = [
    "run",
    "time",
    "pass",
    "gpu",
    "node",
    "host",
    "machine",
    "hour",
    "h",
    "minute",
    "min",
    "day",
    "configuration",
    "config",
    "model",
    "workload",
    "seed",
    "shape",
    "case",
    "device",
    "iteration",
    "step",
    "test",
    "cluster",
    "region",
    "release",
    "version",
    "soak",
    "sample",
    "trial",
    "epoch",
    "rank",
    "batch",
    "consecutive",
    "successful",
    "clean",
];

static UNIVERSAL: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)(?:\b(?:all|every|any|always|never|no longer|fully|completely|entirely|everywhere|none|no other|guarantee[sd]?|cannot|impossible)\b|\b100 ?%)",
    )
});

static HEDGE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(likely|may|might|could|probably|possibly|perhaps|seems?|appears?|apparently|believed?|suspect(?:ed|s)?|presumably|partial(?:ly)?|partly|mostly|usually|often|sometimes|in some|some|about|roughly|only|just|at least|so far|for now|except|as far as|we think|should|tentative(?:ly)?|untested|unverified)\b",
    )
});

static LIMIT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(not (?:yet )?(?:been )?(?:re-?)?(?:tested|run|validated|verified|checked|covered|measured|reproduced|exercised|tried)|un(?:tested|verified|validated)|only (?:tested|validated|verified|run|ran|checked|on|with|for)|limited to|limitations?|does not cover|outside (?:the|of)|remains? (?:unknown|open|untested)|no (?:test|run|gate|data) (?:of|on|for)|out of scope)\b",
    )
});

/// Verbs of rising strength.
static STRENGTH: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        regex(
            r"(?i)\b(mitigat(?:e[sd]?|ion)|work(?:s|ed)? ?-?around|reduc(?:e[sd]?|ing)|hid(?:e|es|den)|masks?|inconclusive|not run|not-run|failed|fails|unclear|suspected|suggests?)\b",
        ),
        regex(r"(?i)\b(fix(?:es|ed)?|resolv(?:e[sd]?)|pass(?:es|ed)?|green|works?|confirmed|shows?)\b"),
        regex(
            r"(?i)\b(prov(?:e[sdn]?|en)|eliminat(?:e[sd]?)|guarantee[sd]?|rules? out|ruled out|certain(?:ly)?)\b",
        ),
    ]
});

/// Whether statements in a section of this title are claims.
pub(super) fn claims(title: &str) -> bool {
    let title = title.to_lowercase();
    CLAIMING.iter().any(|word| title.contains(word))
}

/// Whether a section of this title says what was run.
pub(super) fn validates(title: &str) -> bool {
    let title = title.to_lowercase();
    VALIDATING.iter().any(|word| title.contains(word))
}

/// Whether a sentence names a limit of what was shown.
pub(super) fn limits(text: &str) -> bool {
    LIMIT.is_match(text)
}

fn covers(fact: &Fact) -> bool {
    COVERAGE.contains(&fact.unit.as_str())
}

fn words(pattern: &Regex, text: &str) -> Vec<String> {
    pattern.find_iter(text).map(|m| m.as_str().to_lowercase()).collect()
}

fn extra(these: Vec<String>, mut those: Vec<String>) -> Vec<String> {
    these
        .into_iter()
        .filter(|word| match those.iter().position(|w| w == word) {
            Some(at) => {
                those.swap_remove(at);
                false
            }
            None => true,
        })
        .collect()
}

fn strength(text: &str) -> Option<usize> {
    STRENGTH.iter().rposition(|level| level.is_match(text))
}

/// Why the new wording of a statement claims more than the old one; nothing when it does not.
pub(super) fn widened(
    title: &str,
    old: &str,
    old_facts: &[Fact],
    new: &str,
    new_facts: &[Fact],
) -> Vec<String> {
    let mut why = Vec::new();
    if validates(title) || covers_in(old_facts) {
        why.extend(counts_raised(old_facts, new_facts));
    }
    for word in extra(words(&UNIVERSAL, new), words(&UNIVERSAL, old)) {
        why.push(format!("\"{word}\" is new"));
    }
    for word in extra(words(&HEDGE, old), words(&HEDGE, new)) {
        why.push(format!("\"{word}\" is gone"));
    }
    if limits(old) && !limits(new) {
        why.push("a limit is gone".to_owned());
    }
    if validates(title) {
        let names = |facts: &[Fact]| -> Vec<String> {
            facts.iter().filter(|f| f.category == Category::Device).map(|f| f.value.clone()).collect()
        };
        let had = names(old_facts);
        for fact in new_facts.iter().filter(|f| f.category == Category::Device && !had.contains(&f.value)) {
            why.push(format!("{} is new", fact.shown));
        }
    }
    if let (Some(before), Some(after)) = (strength(old), strength(new))
        && after > before
    {
        let stronger = STRENGTH[after].find(new).map_or("", |m| m.as_str());
        let weaker = STRENGTH[before].find(old).map_or("", |m| m.as_str());
        why.push(format!("\"{weaker}\" became \"{stronger}\""));
    }
    why
}

fn covers_in(facts: &[Fact]) -> bool {
    facts.iter().any(covers)
}

fn counts_raised(old: &[Fact], new: &[Fact]) -> Vec<String> {
    let of = |facts: &[Fact]| -> Vec<(String, f64, String)> {
        facts
            .iter()
            .filter(|f| covers(f))
            .filter_map(|f| Some((f.unit.clone(), f.number()?, f.shown.clone())))
            .collect()
    };
    let mut before = of(old);
    let mut raised = Vec::new();
    for (unit, value, shown) in of(new) {
        match before.iter().position(|(u, ..)| *u == unit) {
            Some(at) => {
                let (_, was, was_shown) = before.remove(at);
                if value > was {
                    raised.push(format!("{was_shown} → {shown}"));
                }
            }
            None => raised.push(format!("{shown} is new")),
        }
    }
    raised
}

/// Why a sentence that is new in a section claims something that was not claimed before.
pub(super) fn added(title: &str, text: &str) -> Vec<String> {
    if !validates(title) || limits(text) {
        return Vec::new();
    }
    let facts = facts::of(text, &[]);
    let mut why = counts_raised(&[], &facts);
    why.extend(words(&UNIVERSAL, text).into_iter().map(|w| format!("\"{w}\" is new")));
    why.extend(
        facts.iter().filter(|f| f.category == Category::Device).map(|f| format!("{} is new", f.shown)),
    );
    if why.is_empty() && strength(text).is_some_and(|s| s > 0) {
        why.push("a new statement of success".to_owned());
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(title: &str, old: &str, new: &str) -> Vec<String> {
        widened(title, old, &facts::of(old, &[]), new, &facts::of(new, &[]))
    }

    #[test]
    fn more_is_seen_and_less_is_not() {
        for (old, new) in [
            ("It passed 3 runs.", "It passed 30 runs."),
            ("It passed on one configuration.", "It passed on all configurations."),
            ("It likely passes.", "It passes."),
            ("Only tested on A100.", "Tested on A100."),
            ("Tested on A100.", "Tested on A100 and H100."),
            ("The change mitigates it.", "The change fixes it."),
            ("3 runs passed, not retested on other models.", "3 runs passed."),
        ] {
            assert!(!why("Validation", old, new).is_empty(), "{old} → {new}");
            assert_eq!(why("Validation", old, old), [""; 0]);
            assert_eq!(why("Validation", new, new), [""; 0]);
        }
        for (old, new) in [
            ("It passed 30 runs.", "It passed 3 runs."),
            ("It passes.", "It likely passes."),
            ("Tested on A100 and H100.", "Only tested on A100."),
            ("The change fixes it.", "The change mitigates it."),
            ("The runs were clean.", "The runs went clean."),
        ] {
            assert_eq!(why("Validation", old, new), [""; 0], "{old} → {new}");
        }
    }

    #[test]
    fn sections_that_only_tell_do_not_claim() {
        assert!(
            claims("Root cause") && claims("2. Why it produced the symptom") && validates("How we tested")
        );
        assert!(!claims("Timeline") && !claims("Action items") && !claims("How it was found"));
    }

    #[test]
    fn a_new_sentence_in_validation_claims() {
        assert!(!added("Validation", "Passed on 8 GPUs.").is_empty());
        assert_eq!(added("Validation", "Not tested on 8 GPUs."), [""; 0]);
        assert_eq!(added("Timeline", "Passed on 8 GPUs."), [""; 0]);
    }
}
