//! A Markdown document as its reviewers see it: sections, leaf blocks and their prose, everything with its place in
//! the source.
//!
//! `pulldown-cmark` reads and locates; nothing here ever writes Markdown. Whoever changes a document replaces ranges
//! of its source, so that every byte outside of them stays. Any bytes that are UTF-8 make a page; what cannot be told
//! apart from prose is prose.

mod leaves;
mod lines;
mod prose;
mod sections;

use std::ops::Range;

pub use leaves::{Kind, Leaf};
pub use lines::{Lines, Place};
pub use prose::{Prose, Span, SpanKind};
pub use sections::{BLOCKS, INCIDENT_BLOCKS, Section, Start, same_title};

/// A parsed document.
#[derive(Debug, Clone)]
pub struct Page<'a> {
    /// The source.
    pub text: &'a str,
    /// Lines and columns of it.
    pub lines: Lines,
    /// The paragraphs, items, rows and code blocks, in order; headings are in [`Page::sections`].
    pub leaves: Vec<Leaf>,
    /// The sections, in order. The first one is what stands before any heading; it has level 0 and no title.
    pub sections: Vec<Section>,
    /// HTML comments: where they are, delimiters included.
    pub comments: Vec<Range<usize>>,
    /// YAML front matter, delimiters included.
    pub front_matter: Option<Range<usize>>,
}

impl<'a> Page<'a> {
    /// Reads a document.
    pub fn parse(text: &'a str) -> Self {
        let found = leaves::read(text);
        let sections = sections::of(text, &found.headings, &found.leaves);
        Self {
            text,
            lines: Lines::of(text),
            leaves: found.leaves,
            sections,
            comments: found.comments,
            front_matter: found.front_matter,
        }
    }

    /// The document's title: its first heading of level 1, else nothing.
    pub fn title(&self) -> Option<&str> {
        self.sections.iter().find(|s| s.level == 1 && s.start == Start::Heading).map(|s| s.title.as_str())
    }

    /// The first section with this title, compared as [`same_title`] does.
    pub fn section(&self, title: &str) -> Option<&Section> {
        self.sections.iter().find(|s| same_title(&s.title, title))
    }

    /// The innermost section that holds this offset.
    pub fn section_at(&self, offset: usize) -> &Section {
        let at = self.sections.partition_point(|s| s.heading.start <= offset);
        &self.sections[at.saturating_sub(1)]
    }

    /// The leaves of a section, those of its subsections included.
    pub fn leaves_in<'p>(&'p self, section: &Section) -> &'p [Leaf] {
        self.leaves_within(&section.whole)
    }

    /// The leaves that start within a range of the source.
    pub fn leaves_within(&self, range: &Range<usize>) -> &[Leaf] {
        let from = self.leaves.partition_point(|leaf| leaf.range.start < range.start);
        let to = self.leaves.partition_point(|leaf| leaf.range.start < range.end);
        &self.leaves[from..to.max(from)]
    }

    /// The text of a comment between its delimiters, trimmed.
    pub fn comment(&self, range: &Range<usize>) -> &'a str {
        let inside = &self.text[range.clone()];
        let inside = inside.strip_prefix("<!--").unwrap_or(inside);
        inside.strip_suffix("-->").unwrap_or(inside).trim()
    }
}

#[cfg(test)]
mod tests;
