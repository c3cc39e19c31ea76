//! Sections, from headings or from the bold words that stand for one: `**Root cause.** The gate …`.

use std::ops::Range;

use super::leaves::{Heading, Kind, Leaf};
use super::prose::SpanKind;

/// The nine blocks of a post-mortem, in their order.
pub const BLOCKS: [&str; 9] = [
    "Summary",
    "Symptom",
    "Root cause",
    "Why it produced the symptom",
    "Fix",
    "How it was found",
    "Why it slipped through",
    "Validation",
    "Action items",
];

/// What the profile `incident` has besides.
pub const INCIDENT_BLOCKS: [&str; 5] = ["Impact", "Detection", "Timeline", "Lessons", "Open questions"];

/// How a section starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At the top of the document, without a heading.
    Top,
    /// With a heading.
    Heading,
    /// With the name of a block at the start of a paragraph, in bold or followed by a full stop or colon.
    Lead,
}

/// A section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// 1 to 6; 0 at the top; one more than the section around it where a lead starts it.
    pub level: u8,
    /// Its title in plain text, without a closing full stop or colon.
    pub title: String,
    /// How it starts.
    pub start: Start,
    /// The heading or lead; empty at the top.
    pub heading: Range<usize>,
    /// From behind the heading to the next section of any level.
    pub own: Range<usize>,
    /// From behind the heading to the next section of this or a higher level (its subsections included).
    pub whole: Range<usize>,
}

/// Whether two titles mean the same section: case, punctuation, white space and a number before it do not count.
pub fn same_title(a: &str, b: &str) -> bool {
    let words = |title: &str| -> Vec<String> {
        let title =
            title.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' ' | '#'));
        title
            .split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’'))
            .filter(|w| !w.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let (a, b) = (words(a), words(b));
    !a.is_empty() && a == b
}

/// The sections of a document.
pub(super) fn of(text: &str, headings: &[Heading], leaves: &[Leaf]) -> Vec<Section> {
    let mut starts: Vec<(u8, String, Start, Range<usize>)> = headings
        .iter()
        .filter(|h| !h.nested)
        .map(|h| (h.level, title(&h.prose.text), Start::Heading, h.range.clone()))
        .collect();
    // Leads stand for headings only where no heading names a block: elsewhere `**Fix:** …` is a bold word.
    if !starts.iter().any(|(_, title, ..)| BLOCKS.iter().any(|b| same_title(title, b))) {
        let leads: Vec<(String, Range<usize>)> = leaves.iter().filter_map(|leaf| lead(text, leaf)).collect();
        for (title, range) in leads {
            let around =
                starts.iter().filter(|s| s.2 == Start::Heading && s.3.start < range.start).map(|s| s.0);
            let level = around.max_by_key(|_| 0).unwrap_or(0) + 1;
            starts.push((level, title, Start::Lead, range));
        }
        starts.sort_by_key(|s| s.3.start);
    }
    let top = (0, String::new(), Start::Top, 0..0);
    let all: Vec<_> = std::iter::once(top).chain(starts).collect();
    (0..all.len())
        .map(|at| {
            let (level, title, start, heading) = all[at].clone();
            let next =
                |found: Option<&(u8, String, Start, Range<usize>)>| found.map_or(text.len(), |s| s.3.start);
            let own = heading.end..next(all.get(at + 1));
            let whole = heading.end..next(all[at + 1..].iter().find(|s| s.0 <= level));
            Section { level, title, start, heading, own, whole }
        })
        .collect()
}

fn title(text: &str) -> String {
    text.trim().trim_end_matches(['.', ':']).trim_end().to_owned()
}

/// The block's name that a paragraph starts with, and where it stands.
fn lead(text: &str, leaf: &Leaf) -> Option<(String, Range<usize>)> {
    if leaf.kind != Kind::Paragraph {
        return None;
    }
    let prose = &leaf.prose;
    let plain = prose.text.trim_start();
    let skipped = prose.text.len() - plain.len();
    let name = BLOCKS.iter().chain(&INCIDENT_BLOCKS).find(|name| {
        plain.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
            && !plain[name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-')
    })?;
    let first = prose.spans.first().filter(|s| s.kind == SpanKind::Text)?;
    let bold = text[leaf.range.start..first.source.start].contains(['*', '_']);
    let rest = &plain[name.len()..];
    let punctuated = rest.starts_with(['.', ':']);
    if !(punctuated || bold && (rest.is_empty() || first.plain.end == skipped + name.len())) {
        return None;
    }
    let plain_end = skipped + name.len() + usize::from(punctuated);
    let mut end = prose.source(&(skipped..plain_end)).end;
    // The closing asterisks, and a stop behind them, belong to the lead.
    if bold {
        end += text[end..leaf.range.end].len()
            - text[end..leaf.range.end].trim_start_matches(['*', '_', '.', ':']).len();
    }
    Some((title(&plain[..name.len()]), leaf.range.start..end.min(leaf.range.end)))
}
