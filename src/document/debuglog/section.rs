//! Cuts the inside of one section into its labelled texts.

use std::ops::Range;

use super::classify::{self, Field};
use super::lines::{self, Place};
use super::outline::Outline;
use super::parts;

/// How the labels of one section are written. People keep to one way within a section, so the first
/// that fits decides, and the others are text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Style {
    /// `**Result:** text`
    Bold,
    /// `- **Result:** text`
    BoldBullet,
    /// `Result: text`
    Plain,
    /// `- Result: text`
    PlainBullet,
}

impl Style {
    const ALL: [Self; 4] = [Self::Bold, Self::BoldBullet, Self::Plain, Self::PlainBullet];

    /// The label at the start of a line, what follows it, and how far lines below it are indented.
    fn label(self, line: &str) -> Option<(&str, &str, usize)> {
        let (text, offset) = match self {
            Self::Bold | Self::Plain => (line, 0),
            Self::BoldBullet | Self::PlainBullet => {
                let item = lines::item(line).filter(|item| item.indent == 0)?;
                (item.text, item.offset)
            }
        };
        let (label, rest) = match self {
            Self::Bold | Self::BoldBullet => classify::bold_label(text)?,
            Self::Plain | Self::PlainBullet => classify::plain_label(text)?,
        };
        Some((label, rest, offset))
    }
}

type Known = fn(&str) -> Option<Field>;

fn style(outline: &Outline<'_>, body: Range<usize>, known: Known) -> Option<Style> {
    let mut best: Option<Style> = None;
    for line in body.filter(|&line| !outline.covered[line]) {
        let found = Style::ALL.into_iter().find(|style| {
            style.label(outline.lines[line]).is_some_and(|(label, _, _)| known(label).is_some())
        });
        best = match (best, found) {
            (Some(best), Some(found)) => Some(best.min(found)),
            (best, found) => best.or(found),
        };
        if best == Some(Style::Bold) {
            break;
        }
    }
    best
}

/// What a labelled text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Text before the first label.
    Loose,
    Known(Field),
    /// A bold label of no known meaning.
    Unknown(&'a str),
}

/// A labelled text: its lines as they stand, the rest of the label's line first.
pub(super) struct Segment<'a> {
    pub(super) part: Part<'a>,
    /// Index of the line it starts on.
    pub(super) line: usize,
    pub(super) lines: Vec<&'a str>,
}

impl Segment<'_> {
    fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| lines::is_blank(line))
    }

    /// The text, its backslashes read.
    pub(super) fn text(&self, place: Place) -> String {
        text(&self.lines, place)
    }
}

/// The lines without blank lines at both ends and rules at the end, and with their backslashes read.
pub(super) fn text(lines: &[&str], place: Place) -> String {
    let idle = |line: &&str| lines::is_blank(line) || lines::is_rule(line);
    let end = lines.iter().rposition(|line| !idle(line)).map_or(0, |at| at + 1);
    let start = lines.iter().position(|line| !lines::is_blank(line)).unwrap_or(end).min(end);
    lines::unescape(&lines[start..end].join("\n"), place)
}

/// Splits the text before the first section of an incident.
pub(super) fn split_head<'a>(outline: &Outline<'a>, body: Range<usize>) -> Vec<Segment<'a>> {
    let style = style(outline, body.clone(), Field::of_head);
    let mut segments = vec![Segment { part: Part::Loose, line: body.start, lines: Vec::new() }];
    let mut offset = 0;
    for line in body {
        let text = outline.lines[line];
        let label = style.filter(|_| !outline.covered[line]).and_then(|style| style.label(text));
        let current = segments.last_mut().expect("starts with one segment");
        let part = label.and_then(|(label, ..)| match Field::of_head(label) {
            Some(field) => Some(Part::Known(field)),
            None if style != Some(Style::Bold) => None,
            None => {
                // Within a text, a bold word and a colon are a label only at the start of a paragraph.
                let one_liner = matches!(
                    current.part,
                    Part::Loose
                        | Part::Unknown(_)
                        | Part::Known(Field::Status | Field::Ticket | Field::Issue | Field::Files)
                );
                let apart = line > 0 && lines::is_blank(outline.lines[line - 1]) && !current.is_empty();
                (one_liner || apart).then_some(Part::Unknown(label))
            }
        });
        match (part, label) {
            (Some(part), Some((_, rest, indent))) => {
                offset = indent;
                segments.push(Segment { part, line, lines: vec![rest] });
            }
            _ => current.lines.push(lines::dedent(text, offset)),
        }
    }
    segments
}

/// Splits an attempt. `headings` are the lines that are headings of a part, with the line below each.
pub(super) fn split_attempt<'a>(
    outline: &Outline<'a>,
    body: Range<usize>,
    headings: &[(usize, usize, Field)],
) -> Vec<Segment<'a>> {
    let style = style(outline, body.clone(), Field::of_attempt);
    let mut segments = vec![Segment { part: Part::Loose, line: body.start, lines: Vec::new() }];
    let mut headings = headings.iter().peekable();
    let mut offset = 0;
    let mut line = body.start;
    while line < body.end {
        let text = outline.lines[line];
        if let Some(&&(_, below, field)) = headings.peek().filter(|heading| heading.0 == line) {
            headings.next();
            offset = 0;
            segments.push(Segment { part: Part::Known(field), line, lines: Vec::new() });
            line = below;
            continue;
        }
        let label = style.filter(|_| !outline.covered[line]).and_then(|style| style.label(text));
        match label.and_then(|(label, rest, indent)| Some((Field::of_attempt(label)?, rest, indent))) {
            Some((field, rest, indent)) => {
                offset = indent;
                segments.push(Segment { part: Part::Known(field), line, lines: vec![rest] });
            }
            None => {
                segments.last_mut().expect("starts with one segment").lines.push(lines::dedent(text, offset));
            }
        }
        line += 1;
    }
    segments
}

/// Whether a text names a symptom, or a status with a word that is one.
pub(super) fn has_head(outline: &Outline<'_>, body: Range<usize>) -> bool {
    let Some(style) = style(outline, body.clone(), Field::of_head) else {
        return false;
    };
    body.filter(|&line| !outline.covered[line]).any(|line| {
        style.label(outline.lines[line]).is_some_and(|(label, rest, _)| match Field::of_head(label) {
            Some(Field::Symptom) => true,
            Some(Field::Status) => parts::status(rest).2 || matches!(style, Style::Bold | Style::BoldBullet),
            _ => false,
        })
    })
}
