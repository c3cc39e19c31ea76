//! The blocks of a document, and drafting again over one that people have written in.
//!
//! A block runs from a heading of level 2 to the next heading of level 1 or 2; what stands before the first one is a
//! block without a title. Whose a block is, its digest tells: it is ours when a draft of this incident once wrote
//! exactly that under that heading. So it makes no difference where the document stands now, what it is called, or how
//! many drafts there were. Only ranges of ours are replaced; every other byte stays.

use std::collections::BTreeSet;
use std::ops::Range;

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

use super::super::page::{Page, Start, same_title};
use crate::model::canonical;
use crate::model::incident::{Drafted, DraftedBlock};

/// A block's place and identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its heading; empty for what stands before the first one.
    pub title: String,
    /// From its heading to its last character; line ends behind that belong to nobody.
    pub range: Range<usize>,
}

impl Block {
    fn text<'t>(&self, document: &'t str) -> &'t str {
        &document[self.range.clone()]
    }

    /// What a ledger keeps of it.
    pub fn drafted(&self, document: &str) -> DraftedBlock {
        DraftedBlock { title: self.title.clone(), sha256: digest(self.text(document)) }
    }
}

/// The blocks of a document, in order, the one without a title first (it may be empty).
pub fn blocks(document: &str) -> Vec<Block> {
    let page = Page::parse(document);
    let headings: Vec<_> =
        page.sections.iter().filter(|s| s.start == Start::Heading && matches!(s.level, 1 | 2)).collect();
    // What stands before the first block is one block, the document's own title included.
    let first = headings.iter().position(|s| s.level == 2).unwrap_or(headings.len());
    let starts: Vec<(usize, &str)> =
        headings[first..].iter().map(|s| (line_start(document, s.heading.start), s.title.as_str())).collect();
    let ends = starts.iter().map(|s| s.0).chain([document.len()]);
    std::iter::once((0, ""))
        .chain(starts.iter().copied())
        .zip(ends)
        .map(|((start, title), end)| Block {
            title: title.to_owned(),
            range: start..start + document[start..end].trim_end_matches(['\n', '\r']).len(),
        })
        .collect()
}

fn line_start(document: &str, at: usize) -> usize {
    at - (document[..at].len() - document[..at].trim_end_matches([' ', '\t']).len())
}

/// Line ends do not count: a checkout may change them.
fn digest(text: &str) -> String {
    canonical::sha256_hex(text.replace("\r\n", "\n").as_bytes())
}

/// What a document says of itself in its comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// The incident's id.
    pub incident: String,
    /// The profile it was drafted in.
    pub profile: String,
}

/// The comment `<!-- git-incident: incident=… profile=… -->`.
pub fn marker(document: &str) -> Option<Marker> {
    let page = Page::parse(document);
    page.comments.iter().find_map(|range| {
        let words = page.comment(range).strip_prefix("git-incident:")?;
        let word = |key: &str| words.split_whitespace().find_map(|w| w.strip_prefix(key)).map(str::to_owned);
        Some(Marker { incident: word("incident=")?, profile: word("profile=").unwrap_or_default() })
    })
}

/// What earlier drafts of an incident wrote.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Every block that any of them wrote, wherever.
    ours: BTreeSet<(String, String)>,
    /// The titles that were drafted into this document.
    titles: BTreeSet<String>,
    /// Whether the document is, whole, what one of them wrote.
    whole: bool,
}

impl Known {
    /// From the ledger, for the document that stands at `path`.
    pub fn of(drafts: &[Drafted], path: &str, document: &str) -> Self {
        let here = drafts.iter().any(|d| d.place == path);
        let whole = canonical::sha256_hex(document.as_bytes());
        let all = drafts.iter().flat_map(|d| &d.blocks);
        // A document that was moved has no drafts where it stands: then any may be its own.
        let of_it = drafts.iter().filter(|d| !here || d.place == path).flat_map(|d| &d.blocks);
        Self {
            ours: all.map(|b| (b.title.clone(), b.sha256.clone())).collect(),
            titles: of_it.map(|b| b.title.clone()).collect(),
            // Drafts without blocks are from programs that recorded the whole alone, and never wrote around edits.
            whole: drafts.iter().any(|d| d.blocks.is_empty() && d.sha256 == whole),
        }
    }

    fn is_ours(&self, block: &Block, document: &str) -> bool {
        self.whole || self.ours.contains(&(block.title.clone(), digest(block.text(document))))
    }

    /// Whether a document was drafted from this incident, and not only stands where the draft would.
    pub fn is_draft(&self, document: &str) -> bool {
        self.whole || blocks(document).iter().any(|b| !b.range.is_empty() && self.is_ours(b, document))
    }
}

/// A block that stays as people left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its title.
    pub title: String,
    /// It was taken out of the document, or its heading was renamed.
    pub missing: bool,
    /// The record has something for it that no draft has said yet.
    pub news: bool,
    /// What a draft would make of it, as a unified diff.
    pub diff: String,
}

/// A document drafted again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redraft {
    /// The document.
    pub text: String,
    /// Titles of blocks that were replaced.
    pub updated: Vec<String>,
    /// Titles of blocks that were put in, as no draft of this document had them yet.
    pub added: Vec<String>,
    /// Titles of blocks that were taken out, as the draft has them no more and nobody had edited them.
    pub removed: Vec<String>,
    /// Blocks that people have edited or taken out, where the draft says something else.
    pub kept: Vec<Kept>,
    /// The blocks in it that stand as drafted.
    pub blocks: Vec<DraftedBlock>,
}

/// Puts a fresh draft into a document: replaces the blocks that nobody edited, and no byte besides.
pub fn redraft(document: &str, fresh: &str, known: &Known) -> Redraft {
    let (mark, document) = split_mark(document);
    let (_, fresh) = split_mark(fresh);
    let fresh = fresh.replace("\r\n", "\n");
    let crlf = is_crlf(document);
    let (theirs, new) = (blocks(document), blocks(&fresh));
    let pairs = pair(document, &theirs, &fresh, &new, known);
    let mut out = Redraft::default();
    // Ranges of the document and what stands there instead, in order.
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut after = 0;
    for (block, partner) in new.iter().zip(&pairs) {
        let text = block.text(&fresh);
        let drafted = block.drafted(&fresh);
        let Some(partner) = *partner else {
            if known.titles.contains(&block.title) {
                out.kept.push(Kept {
                    title: block.title.clone(),
                    missing: true,
                    news: !known.ours.contains(&(drafted.title, drafted.sha256)),
                    diff: diff("", text),
                });
            } else {
                edits.push((after..after, beside(text, after)));
                out.added.push(block.title.clone());
                out.blocks.push(drafted);
            }
            continue;
        };
        let there = &theirs[partner];
        let old = there.text(document).replace("\r\n", "\n");
        after = there.range.end;
        if old == text {
            out.blocks.push(drafted);
        } else if known.is_ours(there, document) {
            let gap = there.range.is_empty() && !text.is_empty();
            edits.push((there.range.clone(), if gap { beside(text, after) } else { text.to_owned() }));
            out.updated.push(block.title.clone());
            out.blocks.push(drafted);
        } else {
            out.kept.push(Kept {
                title: block.title.clone(),
                missing: false,
                news: !known.ours.contains(&(drafted.title, drafted.sha256)),
                diff: diff(&old, text),
            });
        }
    }
    for (i, there) in theirs.iter().enumerate().skip(1) {
        if !pairs.contains(&Some(i)) && known.is_ours(there, document) {
            edits.push((theirs[i - 1].range.end..there.range.end, String::new()));
            out.removed.push(there.title.clone());
        }
    }
    out.text = splice(document, edits, crlf);
    out.text.insert_str(0, mark);
    out
}

/// Which block of the document each fresh one belongs to.
fn pair(document: &str, theirs: &[Block], fresh: &str, new: &[Block], known: &Known) -> Vec<Option<usize>> {
    let mut taken = vec![false; theirs.len()];
    new.iter()
        .enumerate()
        .map(|(n, block)| {
            // What stands before the first heading has no title to go by, and needs none.
            if n == 0 {
                taken[0] = true;
                return Some(0);
            }
            let fitting: Vec<usize> = (1..theirs.len())
                .filter(|i| {
                    let title = &theirs[*i].title;
                    !taken[*i] && (*title == block.title || same_title(title, &block.title))
                })
                .collect();
            let text = digest(block.text(fresh));
            // Of several with one title: the same text, else one of ours, else the first.
            let same = fitting.iter().find(|i| digest(theirs[**i].text(document)) == text);
            let ours = || fitting.iter().find(|i| known.is_ours(&theirs[**i], document));
            let found = *same.or_else(ours).or(fitting.first())?;
            taken[found] = true;
            Some(found)
        })
        .collect()
}

/// A block put in where another one ends, or at the very start.
fn beside(text: &str, after: usize) -> String {
    if after == 0 { format!("{text}\n\n") } else { format!("\n\n{text}") }
}

/// Replaces ranges that do not overlap; of those that start at the same place, in the order given.
fn splice(document: &str, mut edits: Vec<(Range<usize>, String)>, crlf: bool) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(document.len());
    let mut at = 0;
    for (range, text) in edits {
        out.push_str(&document[at..range.start]);
        out.push_str(&if crlf { text.replace('\n', "\r\n") } else { text });
        at = range.end;
    }
    out.push_str(&document[at..]);
    out
}

/// A text with the line ends and the byte order mark of another one.
pub fn dressed_as(text: &str, model: &str) -> String {
    let (mark, rest) = split_mark(model);
    let text = if is_crlf(rest) { text.replace('\n', "\r\n") } else { text.to_owned() };
    format!("{mark}{text}")
}

/// Whether most of its lines end with CR LF.
fn is_crlf(text: &str) -> bool {
    let pairs = text.matches("\r\n").count();
    pairs > 0 && pairs * 2 >= text.matches('\n').count()
}

fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// A unified diff of two texts, three lines of context, without file headers.
fn diff(before: &str, after: &str) -> String {
    let (before, after) = (format!("{before}\n"), format!("{after}\n"));
    let before = if before == "\n" { "" } else { &before };
    let input = InternedInput::new(before, after.as_str());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    diff.unified_diff(&BasicLineDiffPrinter(&input.interner), UnifiedDiffConfig::default(), &input)
        .to_string()
}

#[cfg(test)]
mod tests;
