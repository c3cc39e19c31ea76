//! The repository's own template: kept byte for byte, filled where its headings match, with our block where
//! nothing swallows it.
//!
//! Shapes that were looked at: a line that asks to read on "before submitting", below which a bot deletes
//! everything (our block goes above it); fenced `release-note` blocks, which a bot reads; headings with comments
//! that explain them; checklists, which only a person may tick; details that fold half of the template away. A
//! template may name the place itself, by a comment `<!-- git-incident -->` on a line of its own.

mod html;
mod outline;
pub mod places;
mod topic;

use super::markers;
use outline::{Block, Kind};
pub use topic::Topic;

/// A larger template leaves no room for what is to be said.
pub const LARGEST: usize = 24_000;

/// Names the place of our block.
const SLOT: &str = "<!-- git-incident -->";

/// What a bot deletes everything from.
const CUT: &str = "before submitting";

/// Why a template is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// It is larger than [`LARGEST`] bytes.
    TooLarge,
    /// It holds our own markers, so that a description made of it would have two blocks.
    HoldsMarkers,
    /// It says nothing.
    Empty,
}

impl Unusable {
    /// Why, for people.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::TooLarge => "it is larger than 24,000 bytes, which leaves no room for a description",
            Self::HoldsMarkers => {
                "it holds the markers of a generated block; to name the block's place, write <!-- git-incident -->"
            }
            Self::Empty => "it is empty",
        }
    }
}

/// A template that was read.
#[derive(Debug, Clone)]
pub struct Template<'a> {
    source: &'a str,
    /// Headings that we fill: what they ask for, and where text goes.
    headings: Vec<(Topic, usize)>,
    /// Where the text of empty `release-note` blocks goes.
    notes: Vec<usize>,
    /// Where our block goes.
    place: usize,
    /// Whether everything below our block will be deleted.
    deleted_below: bool,
}

/// What is put under a heading, or into a release note.
#[derive(Debug, Clone, Default)]
pub(super) struct Fills {
    /// One for each topic.
    pub(super) topics: Vec<(Topic, String)>,
    /// The release note, one line or more, without fences.
    pub(super) note: String,
    /// The trailer that is to survive a deletion of everything below our block.
    pub(super) trailer: String,
}

impl<'a> Template<'a> {
    /// Reads a template.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn read(source: &'a str) -> Result<Self, Unusable> {
        // A mark of the byte order would hide the first heading, and a description needs none.
        let source = source.strip_prefix('\u{feff}').unwrap_or(source);
        if source.trim().is_empty() {
            return Err(Unusable::Empty);
        }
        if source.len() > LARGEST {
            return Err(Unusable::TooLarge);
        }
        if markers::find(source) != Err(markers::Problem::Missing) {
            return Err(Unusable::HoldsMarkers);
        }
        let outline = outline::read(source);
        let cut = outline.blocks.iter().position(|b| b.deletes_below(source));
        let (place, deleted_below) = place(source, &outline, cut);
        let mut template = Self { source, headings: Vec::new(), notes: Vec::new(), place, deleted_below };
        // What stands below the cut will be gone.
        let kept = &outline.blocks[..cut.unwrap_or(outline.blocks.len())];
        for block in kept.iter().filter(|b| !b.inside) {
            match &block.kind {
                Kind::Heading => {
                    if let Some(topic) = topic::of(&block.text)
                        && !template.headings.iter().any(|(known, _)| *known == topic)
                    {
                        template.headings.push((topic, line_end(source, block.range.end)));
                    }
                }
                Kind::Fence { note: Some(at), .. } => template.notes.push(*at),
                _ => {}
            }
        }
        Ok(template)
    }

    /// Whether a heading of it takes the summary.
    pub fn tells_summary(&self) -> bool {
        self.headings.iter().any(|(topic, _)| matches!(topic, Topic::Summary | Topic::Problem))
    }

    /// Whether a heading asks for this.
    pub(super) fn asks(&self, topic: Topic) -> bool {
        self.headings.iter().any(|(known, _)| *known == topic)
    }

    /// The description: the template, what was filled in, the block, the last paragraph.
    pub(super) fn assemble(&self, fills: &Fills, block: &str, trailers: &str) -> String {
        let mut pieces: Vec<(usize, String)> = Vec::new();
        for (topic, at) in &self.headings {
            let text = fills.topics.iter().find(|(known, _)| known == topic).map(|(_, text)| text.as_str());
            // A line that would be taken for one of our markers is not repeated outside of our block.
            let text = text.filter(|t| !t.is_empty() && markers::find(t) == Err(markers::Problem::Missing));
            pieces.extend(text.map(|text| (*at, self.apart(*at, text))));
        }
        for at in &self.notes {
            pieces.push((*at, format!("{}\n", fills.note)));
        }
        let block = if self.deleted_below && !fills.trailer.is_empty() {
            format!("{block}\n\n{}", fills.trailer.trim_end())
        } else {
            block.to_owned()
        };
        pieces.push((self.place, self.apart(self.place, &block)));
        pieces.sort_by_key(|(at, _)| *at);
        let mut body = String::new();
        let mut done = 0;
        for (at, piece) in pieces {
            body.push_str(&self.source[done..at]);
            body.push_str(&piece);
            done = at;
        }
        body.push_str(&self.source[done..]);
        if !trailers.is_empty() {
            body.push_str(gap_before(&body));
            body.push_str(trailers);
        } else if !body.ends_with('\n') {
            body.push('\n');
        }
        body
    }

    /// A text with the empty lines that it needs around it there.
    fn apart(&self, at: usize, text: &str) -> String {
        let after = &self.source[at..];
        let blank_follows = after.is_empty() || after.starts_with('\n') || after.starts_with("\r\n");
        format!("{}{text}{}", gap_before(&self.source[..at]), if blank_follows { "\n" } else { "\n\n" })
    }
}

/// What makes an empty line after this text.
fn gap_before(text: &str) -> &'static str {
    if text.is_empty() || text.ends_with("\n\n") || text.ends_with("\n\r\n") {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    }
}

/// Where our block goes, and whether everything below will be deleted.
fn place(source: &str, outline: &outline::Outline, cut: Option<usize>) -> (usize, bool) {
    let blocks = &outline.blocks;
    let slot = blocks.iter().find(|b| !b.inside && source[b.range.clone()].trim() == SLOT);
    if let Some(slot) = slot {
        return (line_end(source, slot.range.end), false);
    }
    if let Some(mut at) = cut {
        // A comment right above the line belongs to it.
        while at > 0 && blocks[at - 1].is_comment(source) {
            at -= 1;
        }
        let safe = blocks[..=at].iter().rev().find(|b| !b.inside);
        return (safe.map_or(0, |b| line_start(source, b.range.start)), true);
    }
    if outline.ends_safe {
        return (source.len(), false);
    }
    let safe = blocks.iter().rev().find(|b| !b.inside);
    (safe.map_or(0, |b| line_start(source, b.range.start)), false)
}

impl Block {
    /// Whether a bot deletes this and what follows.
    fn deletes_below(&self, source: &str) -> bool {
        matches!(self.kind, Kind::Heading | Kind::Paragraph | Kind::Html)
            && !self.is_comment(source)
            && source[self.range.clone()].to_lowercase().contains(CUT)
    }

    /// Whether it is a comment and nothing else.
    fn is_comment(&self, source: &str) -> bool {
        let text = source[self.range.clone()].trim();
        self.kind == Kind::Html
            && text.starts_with("<!--")
            && text.find("-->") == Some(text.len().saturating_sub(3))
    }
}

/// The start of the line that a position stands in.
fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The end of the line that the last character before a position stands in, its line end included.
fn line_end(source: &str, at: usize) -> usize {
    if source[..at].ends_with('\n') {
        return at;
    }
    source[at..].find('\n').map_or(source.len(), |newline| at + newline + 1)
}
