//! What a document says of each thing that a brief speaks of, sentence by sentence.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::page::{Kind, Leaf, Page, Section, Start};
use super::super::render::index::{Card, card};
use super::plain::{holds_code, plain};

/// What a section speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Summary,
    Impact,
    Symptom,
    Cause,
    Mechanism,
    Fix,
    Slipped,
    Validation,
    Actions,
    Risk,
    Workaround,
}

/// Words in titles, and what such sections speak of; the first that fits counts.
const TITLES: &[(&str, Role)] = &[
    ("workaround", Role::Workaround),
    ("work-around", Role::Workaround),
    ("why it produced", Role::Mechanism),
    ("slipped", Role::Slipped),
    ("trigger", Role::Slipped),
    ("why now", Role::Slipped),
    ("contributing", Role::Slipped),
    ("root cause", Role::Cause),
    ("summary", Role::Summary),
    ("overview", Role::Summary),
    ("tl;dr", Role::Summary),
    ("what happened", Role::Summary),
    ("impact", Role::Impact),
    ("symptom", Role::Symptom),
    ("what went wrong", Role::Cause),
    ("cause", Role::Cause),
    ("action", Role::Actions),
    ("follow-up", Role::Actions),
    ("follow up", Role::Actions),
    ("next steps", Role::Actions),
    ("validation", Role::Validation),
    ("verification", Role::Validation),
    ("risk", Role::Risk),
    ("open question", Role::Risk),
    ("fix", Role::Fix),
    ("resolution", Role::Fix),
    ("remediation", Role::Fix),
    ("mitigation", Role::Fix),
    ("recovery", Role::Fix),
];

/// Sections whose sentences are for other readers.
const OTHERS: &[&str] =
    &["timeline", "how it was found", "detection", "lessons", "background", "appendix", "evidence"];

/// Bytes of a paragraph that may be a statement; whatever is longer is a dump.
const MOST_LEAF: usize = 20_000;

/// A sentence, or an item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// Its line in the document, from 1.
    pub(super) line: usize,
    /// Its words without code; `None` when they cannot be had.
    pub(super) words: Option<String>,
}

/// A document, sorted for a brief.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots {
    pub(super) title: Option<String>,
    pub(super) card: Card,
    said: BTreeMap<Role, Vec<Said>>,
}

impl Slots {
    pub(super) fn read(markdown: &str) -> Self {
        let page = Page::parse(markdown);
        let mut card = card(markdown, "", "");
        // The card is made for pages, where code may stand.
        for fact in [&mut card.status, &mut card.owner, &mut card.ticket] {
            if holds_code(fact) || in_code(&page, fact) {
                fact.clear();
            }
        }
        let title = page.leaves.is_empty().then(String::new).or_else(|| title(&page));
        let mut slots = Self { title: title.filter(|t| !t.is_empty()), card, said: BTreeMap::new() };
        let mut around: Vec<(u8, Option<Role>)> = Vec::new();
        let firsts = page.sections.iter().filter(|s| s.level == 1).count();
        for section in &page.sections {
            around.retain(|(level, _)| *level < section.level);
            let inherited = around.last().and_then(|(_, role)| *role);
            let is_title = section.level == 1 && section.start == Start::Heading && firsts == 1;
            let lower = section.title.to_lowercase();
            let role = if is_title || section.level == 0 {
                // What stands above all sections sums them up, where no section does.
                Some(Role::Summary).filter(|_| {
                    !page.sections.iter().any(|s| s.level > 0 && role_of(&s.title) == Some(Role::Summary))
                })
            } else if OTHERS.iter().any(|o| lower.contains(o)) {
                None
            } else {
                role_of(&section.title).or(inherited)
            };
            around.push((section.level, role.filter(|_| !is_title && section.level > 0)));
            if let Some(role) = role {
                slots.take(&page, section, role);
            }
        }
        slots.scan(
            Role::Workaround,
            &["workaround", "work-around", "work around"],
            &[Role::Summary, Role::Impact, Role::Symptom, Role::Fix],
        );
        slots.scan(
            Role::Risk,
            &[
                "not tested",
                "not retested",
                "not validated",
                "not run",
                "not covered",
                "untested",
                "only on",
                "risk",
            ],
            &[Role::Validation, Role::Fix],
        );
        if slots.card.owner.is_empty() {
            slots.card.owner =
                slots.of(Role::Summary).iter().find_map(|s| owner(s.words.as_deref()?)).unwrap_or_default();
        }
        slots
    }

    /// Tickets and pull requests that the summary names, each once.
    pub(super) fn references(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for words in self.of(Role::Summary).iter().filter_map(|s| s.words.as_deref()) {
            let mut before = "";
            for word in words.split([' ', ',', ';', '(', ')']) {
                let word = word.trim_end_matches(['.', ':', '!', '?']);
                let pull = matches!(before, "PR" | "MR");
                let one = match word {
                    _ if is_pull(word) && pull => format!("{before} {word}"),
                    _ if is_pull(word) || is_ticket(word) => word.to_owned(),
                    _ => String::new(),
                };
                if !one.is_empty() && !found.contains(&one) && found.len() < MOST_REFERENCES {
                    found.push(one);
                }
                before = word;
            }
        }
        found
    }

    /// What is said of something; nothing when the document does not speak of it.
    pub(super) fn of(&self, role: Role) -> &[Said] {
        self.said.get(&role).map_or(&[], Vec::as_slice)
    }

    /// The sentence that says where it stands, when one does in so many words: any other would be a guess.
    pub(super) fn standing(&self) -> Option<&str> {
        const STARTS: &[&str] = &[
            "fixed",
            "resolved",
            "mitigated",
            "closed",
            "ongoing",
            "rolled back",
            "monitoring",
            "the fix is",
            "not fixed",
        ];
        [Role::Summary, Role::Fix, Role::Impact].into_iter().flat_map(|r| self.of(r)).find_map(|said| {
            let words = said.words.as_deref()?;
            let lower = words.to_lowercase();
            STARTS.iter().any(|s| lower.starts_with(s)).then_some(words)
        })
    }

    fn take(&mut self, page: &Page<'_>, section: &Section, role: Role) {
        let mut listing = Listing::No;
        for leaf in page.leaves_within(&(section.heading.start..section.own.end)) {
            listing = listing.next(leaf);
            if listing == Listing::Within {
                continue;
            }
            let skipped = leaf.prose.text.len() > MOST_LEAF
                || matches!(leaf.kind, Kind::Code(_) | Kind::Row { .. })
                || matches!(leaf.kind, Kind::Item { task: Some(true) })
                || leaf.prose.text.trim_start().starts_with("Gap:")
                || is_fact(&leaf.prose.text);
            if skipped {
                continue;
            }
            let whole = role == Role::Actions && matches!(leaf.kind, Kind::Item { .. });
            let all = 0..leaf.prose.text.len();
            let sentences = if whole { std::iter::once(all).collect() } else { leaf.prose.sentences() };
            for sentence in sentences {
                let Some(range) = behind(leaf, sentence, section.heading.end) else { continue };
                let text = leaf.prose.text[range.clone()].trim();
                // Lead-ins of lists and notes of sources are no statements.
                if text.is_empty() || text.ends_with(':') || text.starts_with("Source:") {
                    continue;
                }
                let line = page.lines.place(page.text, leaf.prose.source(&range).start).line;
                let words = plain(&leaf.prose, range.clone());
                if words.is_none() && !is_statement(leaf, &range) {
                    continue;
                }
                self.said.entry(role).or_default().push(Said { line, words });
            }
        }
    }

    /// Sentences of other sections that speak of something, where no section does.
    fn scan(&mut self, role: Role, names: &[&str], within: &[Role]) {
        if !self.of(role).is_empty() {
            return;
        }
        let found: Vec<Said> = within
            .iter()
            .flat_map(|r| self.of(*r))
            .filter(|s| s.words.as_ref().is_some_and(|w| names.iter().any(|n| w.to_lowercase().contains(n))))
            .cloned()
            .collect();
        if !found.is_empty() {
            self.said.insert(role, found);
        }
    }
}

/// Tickets and pull requests that a brief names besides, at most.
const MOST_REFERENCES: usize = 4;

/// `#12`, `org/repo#12`.
fn is_pull(word: &str) -> bool {
    let number = |w: &str| !w.is_empty() && w.len() <= 9 && w.bytes().all(|b| b.is_ascii_digit());
    word.split_once('#').is_some_and(|(_, issue)| number(issue)) && !holds_code(word)
}

/// `SHOP-77`. Standards and models are spelled alike.
fn is_ticket(word: &str) -> bool {
    const NONE: &[&str] =
        &["AES", "COVID", "GPT", "IEEE", "ISO", "LLM", "MD", "RFC", "RSA", "SHA", "UTC", "UTF"];
    word.split_once('-').is_some_and(|(key, number)| {
        (2..=12).contains(&key.len())
            && key.starts_with(|c: char| c.is_ascii_uppercase())
            && key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
            && !NONE.contains(&key)
            && (1..=9).contains(&number.len())
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Who a sentence says is the owner: `owner Alex (Tada team)`, `Owner: Ana Ruiz`.
fn owner(sentence: &str) -> Option<String> {
    const LONGEST: usize = 60;
    let at = sentence.match_indices("wner").find_map(|(at, found)| {
        let start = sentence[..at].ends_with(['o', 'O'])
            && !sentence[..at - 1].ends_with(|c: char| c.is_alphanumeric() || c == '-');
        start.then_some(at + found.len())
    })?;
    let rest = sentence[at..].strip_prefix(':').unwrap_or(&sentence[at..]).strip_prefix(' ')?;
    let rest = rest.strip_prefix("is ").unwrap_or(rest);
    let name = rest.split([',', ';']).next()?.trim().trim_end_matches('.');
    let named = name.starts_with(|c: char| c.is_uppercase() || c == '@');
    (named && name.chars().count() <= LONGEST).then(|| name.to_owned())
}

/// Lists that the draft makes of a record: sources and places, for those who follow them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listing {
    No,
    /// The line that leads to one.
    Lead,
    Within,
}

impl Listing {
    fn next(self, leaf: &Leaf) -> Self {
        const LEADS: &[&str] = &[
            "Where it was observed",
            "Stored:",
            "Files it has to do with",
            "Brought by:",
            "Changed files",
            "Earlier changes that did not fix it",
            "What separates",
            "Runs of the repro",
            "Gates:",
        ];
        let text = leaf.prose.text.trim();
        let item = matches!(leaf.kind, Kind::Item { .. });
        if text.ends_with(':') && LEADS.iter().any(|l| text.starts_with(l)) {
            return Self::Lead;
        }
        match self {
            Self::Lead => Self::Within,
            Self::Within if item => Self::Within,
            _ => Self::No,
        }
    }
}

/// Whether a sentence says something beside its code: a name alone is nothing that a writer could put into words.
fn is_statement(leaf: &Leaf, sentence: &Range<usize>) -> bool {
    let words = leaf.prose.words_only();
    let text = words.get(sentence.clone()).unwrap_or_default();
    let spoken = text.split_whitespace().filter(|w| w.chars().filter(|c| c.is_alphabetic()).count() > 1);
    spoken.filter(|w| !holds_code(w)).count() >= 2
}

fn role_of(title: &str) -> Option<Role> {
    let lower = title.to_lowercase();
    TITLES.iter().find(|(word, _)| lower.contains(word)).map(|(_, role)| *role)
}

/// The title without what every post-mortem is called; nothing when it holds code.
fn title(page: &Page<'_>) -> Option<String> {
    let title = page.title()?;
    let lower = title.to_lowercase();
    let short = ["post-mortem:", "postmortem:", "post mortem:", "incident report:"]
        .iter()
        .find(|p| lower.starts_with(**p))
        .map_or(title, |p| title.get(p.len()..).unwrap_or(title))
        .trim();
    let clean = !short.is_empty() && !holds_code(short) && !in_code(page, short) && !heading_has_code(page);
    clean.then(|| super::super::render::tree::tame(short))
}

fn heading_has_code(page: &Page<'_>) -> bool {
    page.sections
        .iter()
        .find(|s| s.level == 1 && s.start == Start::Heading)
        .is_some_and(|s| page.text[s.heading.clone()].contains('`'))
}

/// Whether a text stands in a code span of the document.
fn in_code(page: &Page<'_>, text: &str) -> bool {
    use super::super::page::SpanKind;
    !text.is_empty()
        && page.leaves.iter().take(200).any(|leaf| {
            leaf.prose.spans.iter().filter(|s| s.kind == SpanKind::Code).any(|s| {
                let code = leaf.prose.text[s.plain.clone()].trim();
                code.len() > 2 && text.contains(code)
            })
        })
}

/// `Owner: …` and the like: facts that stand elsewhere in a brief.
fn is_fact(text: &str) -> bool {
    let Some((label, _)) = text.split_once(':') else {
        return false;
    };
    let label = label.trim().to_lowercase();
    [
        "incident",
        "ticket",
        "pull request",
        "owner",
        "owners",
        "author",
        "authors",
        "status",
        "date",
        "stored",
        "source",
    ]
    .contains(&label.as_str())
}

/// The part of a sentence that stands behind an offset of the source: behind the lead that starts its section.
fn behind(leaf: &Leaf, sentence: Range<usize>, offset: usize) -> Option<Range<usize>> {
    if leaf.prose.source(&sentence).start >= offset {
        return Some(sentence);
    }
    let start = leaf.prose.spans.iter().find_map(|span| {
        if span.source.start >= offset {
            Some(span.plain.start)
        } else if span.source.end > offset && span.source.len() == span.plain.len() {
            Some(span.plain.start + offset - span.source.start)
        } else {
            None
        }
    })?;
    let start = start.max(sentence.start);
    (start < sentence.end).then_some(start..sentence.end)
}
