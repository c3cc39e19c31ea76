//! A post-mortem as the rules see it.

use std::ops::Range;

use super::blocks::{self, Block};
use super::words;
use crate::document::page::{Kind, Leaf, Page, Section, Start};

/// Which standard a document follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// A bug that was fixed: nine blocks.
    #[default]
    Bugfix,
    /// An outage: impact and timeline as well.
    Incident,
}

/// A post-mortem, read.
#[derive(Debug)]
pub struct Document<'a> {
    /// Where it is, with `/`, from the top of the repository when it lies in one.
    pub path: &'a str,
    /// Its Markdown.
    pub page: Page<'a>,
    /// What each section says it is about, and whether in our words.
    pub titled: Vec<Option<(Block, bool)>>,
    /// What each leaf belongs to; sections without a known name belong to the one around them.
    pub belongs: Vec<Option<Block>>,
    /// The words of each leaf, of the same length as its plain text: code and quotations blanked.
    pub masks: Vec<String>,
    /// Whether it follows our standard: it carries our comment, or three of the mandatory blocks by our names. Other
    /// houses' documents are read, not held to our blocks.
    pub house: bool,
    /// Which standard.
    pub profile: Profile,
    /// The incident that its comment names.
    pub incident: Option<&'a str>,
    /// Whether the whole document stands in a block quote.
    pub quoted: bool,
}

impl<'a> Document<'a> {
    /// Reads a document. `profile` is what counts when the document does not say.
    pub fn read(path: &'a str, text: &'a str, profile: Profile) -> Self {
        let page = Page::parse(text);
        let titled: Vec<_> = page.sections.iter().map(|s| blocks::of_title(&s.title)).collect();
        let belongs = belongs(&page, &titled);
        let masks = page.leaves.iter().map(words::mask).collect();
        let (mut incident, mut named) = (None, None);
        for range in &page.comments {
            let Some(rest) = page.comment(range).strip_prefix("git-incident:") else { continue };
            for word in rest.split_whitespace() {
                match word.split_once('=') {
                    Some(("incident", id)) if !id.is_empty() => incident = Some(id),
                    Some(("profile", "incident")) => named = Some(Profile::Incident),
                    Some(("profile", _)) => named = Some(Profile::Bugfix),
                    _ => {}
                }
            }
        }
        let ours = Block::MANDATORY.iter().filter(|b| titled.contains(&Some((**b, true)))).count();
        let quoted = page.sections.iter().any(|s| {
            s.start == Start::Lead
                && page.leaves_within(&(s.heading.start..s.heading.start + 1)).iter().any(|l| l.quotes > 0)
        });
        Self {
            path,
            house: incident.is_some() || named.is_some() || ours >= 3,
            profile: named.unwrap_or(profile),
            page,
            titled,
            belongs,
            masks,
            incident,
            quoted,
        }
    }

    /// The sections that call themselves this.
    pub fn sections(&self, block: Block) -> impl Iterator<Item = &Section> {
        self.page
            .sections
            .iter()
            .zip(&self.titled)
            .filter(move |(_, t)| t.is_some_and(|(b, _)| b == block))
            .map(|(s, _)| s)
    }

    /// Whether it has such a section.
    pub fn has(&self, block: Block) -> bool {
        self.sections(block).next().is_some()
    }

    /// The leaves of a block with their masks; code blocks left out.
    pub fn prose(&self, block: Block) -> impl Iterator<Item = (&Leaf, &str)> {
        self.leaves().filter(move |(_, _, b)| *b == Some(block)).map(|(leaf, mask, _)| (leaf, mask))
    }

    /// Every leaf but code blocks, with its mask and what it belongs to.
    pub fn leaves(&self) -> impl Iterator<Item = (&Leaf, &str, Option<Block>)> {
        self.page
            .leaves
            .iter()
            .zip(&self.masks)
            .zip(&self.belongs)
            .filter(|((leaf, _), _)| !matches!(leaf.kind, Kind::Code(_)))
            .map(|((leaf, mask), block)| (leaf, mask.as_str(), *block))
    }

    /// Where to point when a block, or the document, is what is wrong.
    pub fn place_of(&self, block: Option<Block>) -> Range<usize> {
        let section = block.and_then(|b| self.sections(b).next());
        let section = section.or_else(|| self.page.sections.iter().find(|s| s.start == Start::Heading));
        section.map_or(0..0, |s| s.heading.clone())
    }

    /// Whether a leaf is somebody else's words.
    pub fn is_quotation(&self, leaf: &Leaf) -> bool {
        leaf.quotes > 0 && !self.quoted
    }
}

/// What each leaf belongs to.
fn belongs(page: &Page<'_>, titled: &[Option<(Block, bool)>]) -> Vec<Option<Block>> {
    // The blocks of the sections we are in, by level.
    let mut around: Vec<(u8, Option<Block>)> = Vec::new();
    let effective: Vec<Option<Block>> = page
        .sections
        .iter()
        .zip(titled)
        .map(|(section, own)| {
            while around.last().is_some_and(|(level, _)| *level >= section.level) {
                around.pop();
            }
            let block = own.map(|(b, _)| b).or_else(|| around.last().and_then(|(_, b)| *b));
            around.push((section.level, block));
            block
        })
        .collect();
    page.leaves
        .iter()
        .map(|leaf| {
            // A lead stands at the start of its own leaf.
            let at = page.sections.partition_point(|s| s.heading.start <= leaf.range.start);
            effective.get(at.saturating_sub(1)).copied().flatten()
        })
        .collect()
}
