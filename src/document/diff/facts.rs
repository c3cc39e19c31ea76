//! The facts in a sentence that a reviewer would check: numbers, dates, commits, tickets, devices, owners, statuses.

use crate::document::pattern::constant as regex;
use std::sync::LazyLock;

use regex::Regex;

/// What kind of fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Category {
    /// A number with the word behind it.
    Number,
    /// A date or a time of day.
    Time,
    /// The name of a commit or of a stored object.
    Commit,
    /// A ticket, pull request or issue.
    Ticket,
    /// A device or an architecture.
    Device,
    /// Who owns something.
    Owner,
    /// How far something is.
    Status,
    /// A code span.
    Identifier,
}

impl Category {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Time => "time",
            Self::Commit => "commit",
            Self::Ticket => "ticket",
            Self::Device => "device",
            Self::Owner => "owner",
            Self::Status => "status",
            Self::Identifier => "identifier",
        }
    }
}

/// A fact.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fact {
    pub(super) category: Category,
    /// What is compared: of a number its digits, of a name the name in lower case.
    pub(super) value: String,
    /// Of a number: the word behind it, without a plural's `s`.
    pub(super) unit: String,
    /// As it is written.
    pub(super) shown: String,
}

impl Fact {
    /// The number, if it is one.
    pub(super) fn number(&self) -> Option<f64> {
        (self.category == Category::Number).then(|| self.value.parse().ok()).flatten()
    }
}

/// Everything but numbers and code spans; the first group is the value.
static PATTERNS: LazyLock<[(Category, Regex); 6]> = LazyLock::new(|| {
    [
        (
            Category::Time,
            regex(
                r"\b(\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?)?|\d{1,2}:\d{2}(?::\d{2})?)(?: ?(?:Z|UTC|[A-Z]{2,4}T)\b|[+-]\d{2}:?\d{2}\b)?",
            ),
        ),
        (
            Category::Ticket,
            regex(
                r"(?:\b((?:PR|MR|pull request|issue) ?#?\d+)\b|((?:[\w.-]+/[\w.-]+)?#\d+)\b|\b([A-Z][A-Z0-9]{1,9}-\d+)\b)",
            ),
        ),
        (Category::Commit, regex(r"\b([0-9a-f]{7,64})\b")),
        (
            Category::Device,
            regex(
                r"\b((?:RTX |GTX |Tesla |Instinct )?(?:GB|GH|MI|[ABHLPTV])\d{1,4}[A-Za-z]{0,2}|RTX \d{4}|sm_\d{2,3}a?|gfx\d{3,4}[a-z]?|TPU v\d\w?)\b",
            ),
        ),
        (
            Category::Owner,
            regex(
                r"(?i:\bowner|\bowned by|\bassignee|\bassigned to):? +(@?[\p{L}][\w.-]*)|(@[A-Za-z][\w-]*)",
            ),
        ),
        (
            Category::Status,
            regex(
                r"(?i)\b(open|closed|done|fixed|merged|landed|shipped|deployed|reverted|rolled back|resolved|unresolved|mitigated|pending|planned|in progress|blocked|wont-?fix|won't fix|not run|not-run|passed|passes|failed|fails|inconclusive|green|red)\b",
            ),
        ),
    ]
});

static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(\d[\d,_']*(?:\.\d+)?(?:e[+-]?\d+)?)(?:[\s-]*(%|×|x\b|[µu]s\b|[\p{L}]+)(?:[ -]([\p{L}]+))?)?")
});

/// The facts of a sentence, in the order of their categories, then of the text.
pub(super) fn of(text: &str, code: &[String]) -> Vec<Fact> {
    let mut facts = Vec::new();
    // What one kind has taken is no number besides.
    let mut taken = Vec::new();
    let mut from = 0;
    for span in code {
        if let Some(at) = text[from..].find(span.as_str()) {
            taken.push(from + at..from + at + span.len());
            from += at + span.len();
        }
    }
    let mut rest = blanked(text, &taken, b'_');
    for (category, pattern) in PATTERNS.iter() {
        let mut taken = Vec::new();
        for found in pattern.captures_iter(&rest) {
            let Some(value) = found.iter().skip(1).flatten().next() else { continue };
            let word = value.as_str();
            if *category == Category::Commit && (!is_name(word) || is_fraction(&rest, value.range())) {
                continue;
            }
            facts.push(Fact {
                category: *category,
                value: word.trim_end_matches('.').to_lowercase().replace(' ', ""),
                unit: String::new(),
                shown: found.get(0).map_or(word, |m| m.as_str()).trim().trim_end_matches('.').to_owned(),
            });
            if *category != Category::Status {
                taken.push(value.range());
            }
        }
        rest = blanked(&rest, &taken, b' ');
    }
    let devices = facts.iter().any(|f| f.category == Category::Device);
    for found in NUMBER_WORD.captures_iter(&rest) {
        let (Some(word), Some(unit)) = (found.get(1), found.get(3).or(found.get(2))) else { continue };
        facts.push(Fact {
            category: Category::Number,
            value: number_of(&word.as_str().to_lowercase()).to_string(),
            unit: singular(&unit.as_str().to_lowercase()),
            shown: found.get(0).map_or("", |m| m.as_str()).to_owned(),
        });
    }
    for found in NUMBER.captures_iter(&rest) {
        let Some(digits) = found.get(1) else { continue };
        // `v2`, `fp16`, `x86_64`: part of a name.
        let before = rest[..digits.start()].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
            continue;
        }
        let unit = found.get(2).map_or("", |m| m.as_str());
        let second = found.get(3).map_or("", |m| m.as_str());
        let passes_by = COUNTED_BY.contains(&unit.to_lowercase().as_str()) && !second.is_empty();
        let unit = if passes_by { second } else { unit };
        // `8 × A100` counts devices.
        let unit = if devices && matches!(unit, "×" | "x") { "gpu" } else { unit };
        let value: String = digits.as_str().chars().filter(|c| !matches!(c, ',' | '_' | '\'')).collect();
        let shown = if unit.is_empty()
            || unit == "gpu" && !rest[digits.end()..].trim_start().starts_with("gpu")
        {
            digits.as_str().to_owned()
        } else {
            rest[digits.start()..digits.start() + rest[digits.start()..].find(unit).unwrap_or(0) + unit.len()]
                .to_owned()
        };
        facts.push(Fact {
            category: Category::Number,
            value: canonical(&value),
            unit: singular(&unit.to_lowercase()),
            shown,
        });
    }
    facts.extend(code.iter().map(|span| Fact {
        category: if is_name(span) { Category::Commit } else { Category::Identifier },
        value: span.clone(),
        unit: String::new(),
        shown: format!("`{span}`"),
    }));
    facts
}

static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"\b([0-9a-f]{7,64})\b"));

/// The names of commits and objects in a text, in code or not.
pub(super) fn names(text: &str) -> Vec<String> {
    NAME.find_iter(text)
        .filter(|m| is_name(m.as_str()) && !is_fraction(text, m.range()))
        .map(|m| m.as_str().to_owned())
        .collect()
}

/// The text with ranges of it overwritten.
fn blanked(text: &str, ranges: &[std::ops::Range<usize>], with: u8) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for range in ranges {
        bytes[range.clone()].fill(with);
    }
    // Whole matches are overwritten, so what is left is whole characters.
    String::from_utf8(bytes).unwrap_or_default()
}

/// Whether hexadecimal digits belong to a number with a point or an exponent, such as 3.205860328008e-02.
fn is_fraction(text: &str, range: std::ops::Range<usize>) -> bool {
    let exponent = text[range.end..]
        .strip_prefix(['-', '+'])
        .is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
    text[..range.start].ends_with('.') || exponent
}

/// Numbers in words, with what they count.
static NUMBER_WORD: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand)\b(?: of (?:the )?[\p{L}]+| ([\p{L}]+))(?: (runs?|times?|passes|gpus?|nodes?|machines?|hours?|iterations?))?",
    )
});

fn number_of(word: &str) -> u32 {
    match word {
        "two" => 2,
        "three" => 3,
        "four" => 4,
        "five" => 5,
        "six" => 6,
        "seven" => 7,
        "eight" => 8,
        "nine" => 9,
        "ten" => 10,
        "eleven" => 11,
        "twelve" => 12,
        "fifteen" => 15,
        "twenty" => 20,
        "thirty" => 30,
        "forty" => 40,
        "fifty" => 50,
        "sixty" => 60,
        "seventy" => 70,
        "eighty" => 80,
        "ninety" => 90,
        "hundred" => 100,
        _ => 1000,
    }
}

/// Whether this is the hexadecimal name of a commit or an object: digits alone are a number, letters alone a word.
pub(super) fn is_name(word: &str) -> bool {
    (7..=64).contains(&word.len())
        && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Words between a number and what it counts.
const COUNTED_BY: [&str; 9] =
    ["consecutive", "successful", "clean", "more", "different", "full", "passing", "failed", "of"];

/// `03.50` and `3.5` are the same number.
fn canonical(digits: &str) -> String {
    let digits = digits.trim_start_matches('0');
    let digits = if digits.contains('.') && !digits.contains('e') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    if digits.is_empty() || digits.starts_with(['.', 'e']) { format!("0{digits}") } else { digits.to_owned() }
}

fn singular(unit: &str) -> String {
    let plural = unit.len() > 3 && unit.ends_with('s') && !unit.ends_with("ss");
    if plural { unit[..unit.len() - 1].to_owned() } else { unit.to_owned() }
}

/// A fact that is another one now, or gone, or new.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FactChange {
    pub(super) category: Category,
    pub(super) old: Option<Fact>,
    pub(super) new: Option<Fact>,
}

impl FactChange {
    /// `3 runs → 30 runs`, `added device H100`, `removed ticket JIRA-7`.
    pub(super) fn to_text(&self) -> String {
        let shown = |fact: &Option<Fact>| fact.as_ref().map_or_else(String::new, |f| f.shown.clone());
        match (&self.old, &self.new) {
            (Some(_), Some(_)) => format!("{} → {}", shown(&self.old), shown(&self.new)),
            (Some(_), None) => format!("removed {} {}", self.category.word(), shown(&self.old)),
            _ => format!("added {} {}", self.category.word(), shown(&self.new)),
        }
    }
}

/// How the facts of an aligned pair differ.
pub(super) fn changes(old: &[Fact], new: &[Fact]) -> Vec<FactChange> {
    let same = |a: &Fact, b: &Fact| a.category == b.category && a.value == b.value && a.unit == b.unit;
    let gone = without(old, new, same);
    let mut come: Vec<Option<&Fact>> = without(new, old, same).into_iter().map(Some).collect();
    let mut found = Vec::new();
    for fact in gone {
        let like = |other: &Fact| {
            other.category == fact.category && (fact.category != Category::Number || other.unit == fact.unit)
        };
        let twin = come.iter_mut().find(|c| c.is_some_and(like)).and_then(Option::take);
        found.push(FactChange { category: fact.category, old: Some(fact.clone()), new: twin.cloned() });
    }
    for fact in come.into_iter().flatten() {
        found.push(FactChange { category: fact.category, old: None, new: Some(fact.clone()) });
    }
    found
}

/// The facts of `these` that `those` do not have, each of those standing for one.
fn without<'a>(these: &'a [Fact], those: &[Fact], same: impl Fn(&Fact, &Fact) -> bool) -> Vec<&'a Fact> {
    let mut used = vec![false; those.len()];
    these
        .iter()
        .filter(|fact| {
            let twin = (0..those.len()).find(|at| !used[*at] && same(fact, &those[*at]));
            if let Some(at) = twin {
                used[at] = true;
            }
            twin.is_none()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(Category, String, String)> {
        of(text, &[]).into_iter().map(|f| (f.category, f.value, f.unit)).collect()
    }

    #[test]
    fn facts_are_what_a_reviewer_would_check() {
        use Category::{Commit, Device, Number, Owner, Status, Ticket, Time};
        type Expected = Vec<(Category, &'static str, &'static str)>;
        let cases: [(&str, Expected); 9] = [
            ("3 consecutive 2-hour runs", vec![(Number, "3", "consecutive"), (Number, "2", "hour")]),
            (
                "took 1,300.50 ms, 99.9% of 8 GPUs",
                vec![(Number, "1300.5", "ms"), (Number, "99.9", "%"), (Number, "8", "gpu")],
            ),
            ("at 2026-03-01 10:30 UTC and 14:05Z", vec![(Time, "2026-03-0110:30", ""), (Time, "14:05", "")]),
            (
                "PR #5751, JIRA-12345 and org/platform#9",
                vec![(Ticket, "pr#5751", ""), (Ticket, "jira-12345", ""), (Ticket, "org/platform#9", "")],
            ),
            (
                "commit 1a2b3c4d, not deadbeef or 1234567",
                vec![(Commit, "1a2b3c4d", ""), (Number, "1234567", "")],
            ),
            (
                "on H100, MI300X and sm_90",
                vec![(Device, "h100", ""), (Device, "mi300x", ""), (Device, "sm_90", "")],
            ),
            ("owner Alex, then @kim-2", vec![(Owner, "alex", ""), (Owner, "@kim-2", "")]),
            ("it is merged, not pending", vec![(Status, "merged", ""), (Status, "pending", "")]),
            ("fp16 and v2 are names", vec![]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> =
                expected.into_iter().map(|(c, v, u)| (c, v.to_owned(), u.to_owned())).collect();
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn changes_pair_what_counts_the_same() {
        let said = |old: &str, new: &str| {
            changes(&of(old, &[]), &of(new, &[])).iter().map(FactChange::to_text).collect::<Vec<_>>()
        };
        assert_eq!(said("3 runs on 8 GPUs", "30 runs on 8 GPUs"), ["3 runs → 30 runs"]);
        assert_eq!(said("on A100", "on H100 and A100"), ["added device H100"]);
        assert_eq!(said("see JIRA-7", "see"), ["removed ticket JIRA-7"]);
        assert_eq!(said("03 runs", "3.0 run"), [""; 0]);
    }
}
