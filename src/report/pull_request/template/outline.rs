//! A template as a row of blocks, read by the rules that GitHub reads it by.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::html::Html;

/// What a block is, as far as we care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A heading, or a line that stands for one: all of it strong, or ended by a colon.
    Heading,
    /// Prose.
    Paragraph,
    /// Raw HTML.
    Html,
    /// A fenced block; `note` is where the text of an empty `release-note` block goes.
    Fence {
        /// Whether its last line closes it.
        closed: bool,
        /// Where a release note goes.
        note: Option<usize>,
    },
    /// A list, a table, a quotation, a rule.
    Other,
}

/// One block at the top level.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Where it stands.
    pub(super) range: Range<usize>,
    /// What it is.
    pub(super) kind: Kind,
    /// Its text, cut.
    pub(super) text: String,
    /// Whether it stands in an HTML element or a comment that was opened before.
    pub(super) inside: bool,
}

/// All of a template.
#[derive(Debug, Clone)]
pub(super) struct Outline {
    /// Its blocks in order.
    pub(super) blocks: Vec<Block>,
    /// Whether what is written after the end stands on its own.
    pub(super) ends_safe: bool,
}

/// Heading texts are short; more of a text is not kept.
const MOST_TEXT: usize = 200;

pub(super) fn read(source: &str) -> Outline {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM;
    let mut blocks: Vec<Block> = Vec::new();
    let mut html = Html::default();
    let mut raw = String::new();
    let mut depth = 0_usize;
    // How much of a paragraph is strong, and whether anything else is in it.
    let (mut strong, mut plain) = (0_usize, false);
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        if depth == 0 && !matches!(event, Event::End(_)) {
            let kind = match &event {
                Event::Start(Tag::Heading { .. }) => Kind::Heading,
                Event::Start(Tag::Paragraph) => Kind::Paragraph,
                Event::Start(Tag::HtmlBlock) => Kind::Html,
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => fence(source, &range, info),
                _ => Kind::Other,
            };
            (strong, plain) = (0, false);
            blocks.push(Block { range: range.clone(), kind, text: String::new(), inside: html.is_open() });
        }
        match event {
            Event::Start(tag) => {
                depth += 1;
                strong += usize::from(tag == Tag::Strong);
                if tag == Tag::HtmlBlock {
                    raw.clear();
                }
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                match end {
                    TagEnd::HtmlBlock => html.read(&raw),
                    TagEnd::Strong => strong = strong.saturating_sub(1),
                    _ => {}
                }
                if depth == 0
                    && let Some(block) = blocks.last_mut()
                    && block.kind == Kind::Paragraph
                    && stands_for_heading(&source[block.range.clone()], plain)
                {
                    block.kind = Kind::Heading;
                }
            }
            Event::Html(text) => raw.push_str(&text),
            Event::InlineHtml(text) => {
                plain = true;
                html.read(&text);
            }
            Event::Text(text) | Event::Code(text) => {
                plain |= strong == 0 && !text.trim().trim_matches(':').is_empty();
                if let Some(block) = blocks.last_mut()
                    && block.text.len() < MOST_TEXT
                {
                    block.text.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(block) = blocks.last_mut() {
                    block.text.push(' ');
                }
            }
            _ => {}
        }
    }
    let open_fence = blocks.last().is_some_and(|b| matches!(b.kind, Kind::Fence { closed: false, .. }));
    Outline { ends_safe: !html.is_open() && !open_fence, blocks }
}

/// A paragraph of one line that is all strong (`**Summary**`), or that a colon ends (`Test plan:`).
fn stands_for_heading(source: &str, plain: bool) -> bool {
    let line = source.trim();
    !line.is_empty() && !line.contains('\n') && (!plain || (line.len() <= 60 && line.ends_with(':')))
}

fn fence(source: &str, range: &Range<usize>, info: &str) -> Kind {
    let text = &source[range.clone()];
    let mark = text.trim_start().chars().next().unwrap_or('`');
    let length = text.trim_start().chars().take_while(|c| *c == mark).count();
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let closed = lines.len() > 1
        && lines.last().is_some_and(|l| {
            let l = l.trim();
            l.chars().count() >= length && l.chars().all(|c| c == mark)
        });
    let wanted = info.split_whitespace().next().is_some_and(|word| {
        let word = word.to_ascii_lowercase();
        word == "release-note" || word == "release-notes"
    });
    let blank = closed && lines[1..lines.len() - 1].iter().all(|l| l.trim().is_empty());
    let note = (wanted && blank).then(|| text.find('\n').map(|newline| range.start + newline + 1)).flatten();
    Kind::Fence { closed, note }
}
