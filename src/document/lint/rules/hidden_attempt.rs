//! Attempts that failed and that the document does not speak of.

use std::collections::BTreeSet;

use crate::document::lint::blocks::Block;
use crate::document::lint::{Document, Facts, FailedAttempt, Findings, Known, Ledger, Rule, Severity};

/// The rule.
pub const RULE: Rule = Rule {
    name: "hidden-attempt",
    severity: Severity::Error,
    elsewhere: Some(Severity::Warning),
    about: "the ledger has a failed attempt that the document does not mention",
    docs: "What was tried and did not help is what the next debugger needs most. An attempt counts as mentioned when the \
           document has its number (`attempt 2`, `attempts 1 to 3`), its id, one of its commits or pull requests, or says \
           most words of what it was about in one paragraph. Failed are attempts after which the bug remained, and \
           commits linked as failed, partial or reverted.",
    bad: "## How it was found\n\nForcing two streams made the hang disappear.\n",
    good: "## How it was found\n\nClamping the output of softmax did not help: the NaN stands there before it. Forcing \
           two streams made the hang disappear.\n",
    facts: || {
        let ledger = Ledger {
            incident: "0123456789ab".to_owned(),
            failed: vec![FailedAttempt {
                name: "attempt 1".to_owned(),
                ordinal: 1,
                event: "4e8369c0bba64e8369c0bba64e8369c0bba6".to_owned(),
                headline: "clamp the softmax output".to_owned(),
                texts: vec!["clamp the softmax output".to_owned()],
                ..FailedAttempt::default()
            }],
            ..Ledger::default()
        };
        (Known::default(), Some(ledger))
    },
    check,
};

fn check(document: &Document<'_>, facts: &Facts<'_>, findings: &mut Findings) {
    let Some(ledger) = facts.ledger.filter(|l| !l.failed.is_empty()) else { return };
    let paragraphs: Vec<BTreeSet<String>> = paragraphs(document);
    let lower = document.page.text.to_lowercase();
    let numbers = numbers(&lower);
    let hidden: Vec<&FailedAttempt> =
        ledger.failed.iter().filter(|f| !mentioned(f, &lower, &numbers, &paragraphs)).collect();
    let place = [Block::Found, Block::Fix].into_iter().find(|b| document.has(*b));
    for attempt in hidden {
        let about: String = attempt.headline.chars().take(120).collect();
        findings
            .add(document.place_of(place), format!("{} failed and is not mentioned: {about:?}", attempt.name))
            .help(format!("say what it was and why it did not help (git incident show {})", ledger.incident));
    }
}

fn mentioned(
    failed: &FailedAttempt,
    text: &str,
    numbers: &BTreeSet<usize>,
    paragraphs: &[BTreeSet<String>],
) -> bool {
    let id = |full: &str| full.len() >= 7 && text.contains(&full[..7].to_lowercase());
    if failed.ordinal > 0 && numbers.contains(&failed.ordinal) {
        return true;
    }
    let ascii = |s: &String| s.is_ascii();
    if id(Some(&failed.event).filter(|s| ascii(s)).map_or("", String::as_str))
        || failed.commits.iter().filter(|c| ascii(c)).any(|c| id(c))
        || failed.pulls.iter().any(|p| p.len() >= 2 && text.contains(&p.to_lowercase()))
    {
        return true;
    }
    failed.texts.iter().any(|about| {
        let words = content(about);
        // Three of four words in one paragraph; short descriptions must be there whole.
        let needed = if words.len() <= 3 { words.len() } else { words.len() * 3 / 5 };
        needed > 0 && paragraphs.iter().any(|p| words.iter().filter(|w| p.contains(*w)).count() >= needed)
    })
}

/// `attempt 2`, `attempts 1, 2 and 4`, `attempts 1 to 3`, `#attempt-2`.
fn numbers(text: &str) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for (at, word) in text.match_indices("attempt") {
        let rest = text[at + word.len()..].trim_start_matches('s');
        let mut last: Option<usize> = None;
        let mut range = false;
        let mut rest = rest.trim_start_matches([' ', '-', '#', '\u{a0}', '\n', '*', '`']);
        for _ in 0..60 {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let Some(n) = rest.get(..digits).and_then(|d| d.parse::<usize>().ok()).filter(|n| *n < 10_000)
            else {
                break;
            };
            let from = if range { last.unwrap_or(n) } else { n };
            found.extend(from.min(n)..=n);
            last = Some(n);
            rest = rest[digits..].trim_start();
            let joins = [
                ("to ", true),
                ("through ", true),
                ("–", true),
                ("-", true),
                ("and ", false),
                (", and ", false),
                (",", false),
                ("&", false),
            ];
            let Some((join, is_range)) = joins.into_iter().find(|(join, _)| rest.starts_with(join)) else {
                break;
            };
            range = is_range;
            rest = rest[join.len()..].trim_start().trim_start_matches('#');
        }
    }
    found
}

fn paragraphs(document: &Document<'_>) -> Vec<BTreeSet<String>> {
    document.page.leaves.iter().map(|l| content(&l.prose.text)).collect()
}

/// The words that carry meaning, cut to their stems.
fn content(text: &str) -> BTreeSet<String> {
    const EMPTY: [&str; 24] = [
        "that", "this", "with", "from", "have", "were", "when", "then", "than", "they", "them", "into",
        "only", "because", "should", "would", "could", "does", "still", "what", "which", "there", "their",
        "made",
    ];
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|w| w.len() >= 4 && !EMPTY.contains(w))
        .map(|w| {
            let stem = ["ings", "ing", "edly", "ed", "es", "s", "e"]
                .iter()
                .find_map(|end| w.strip_suffix(end).filter(|s| s.len() >= 3));
            let stem = stem.unwrap_or(w);
            // `clamped` and `clamping`, `running` and `run`: a doubled consonant is one.
            let bytes = stem.as_bytes();
            let doubled = bytes.len() > 3 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
            if doubled && stem.is_ascii() { stem[..stem.len() - 1].to_owned() } else { stem.to_owned() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_attempts_are_read_as_people_write_them() {
        let all = |text: &str| numbers(text).into_iter().collect::<Vec<_>>();
        assert_eq!(all("attempt 2 and attempts 4 to 6; [x](#attempt-9)"), [2, 4, 5, 6, 9]);
        assert_eq!(all("attempts 1, 3 and #7 failed"), [1, 3, 7]);
        assert_eq!(all("### attempt 12"), [12]);
        assert!(all("several attempts failed; attempt x").is_empty());
    }
}
