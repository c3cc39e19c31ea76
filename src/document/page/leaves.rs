//! Leaf blocks: what holds words or code and no further blocks.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, MetadataBlockKind, Options, Parser, Tag, TagEnd};

use super::prose::{Prose, SpanKind};

/// What a leaf is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A paragraph.
    Paragraph,
    /// The words of a list item, without nested lists. `task`: its box, ticked or not.
    Item {
        /// Its task box, ticked or not.
        task: Option<bool>,
    },
    /// A row of a table; the prose holds the cells, parted by ` | `.
    Row {
        /// Whether it is the head.
        head: bool,
    },
    /// A code block, with the first word of its info string.
    Code(String),
}

/// A leaf block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// What it is.
    pub kind: Kind,
    /// Its place in the source: from its first to its last character.
    pub range: Range<usize>,
    /// Its words; of a code block, its code as one piece for each line.
    pub prose: Prose,
    /// How many block quotes it stands in.
    pub quotes: usize,
    /// How many lists it stands in.
    pub lists: usize,
    /// Where the innermost list item around it stands, marker and nested lists included. Two leaves with the same one
    /// belong to one item.
    pub item: Option<Range<usize>>,
}

/// A heading, as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) level: u8,
    pub(super) range: Range<usize>,
    pub(super) prose: Prose,
    pub(super) nested: bool,
}

/// All that is read in one pass.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) leaves: Vec<Leaf>,
    pub(super) headings: Vec<Heading>,
    pub(super) comments: Vec<Range<usize>>,
    pub(super) front_matter: Option<Range<usize>>,
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
}

struct Reader<'a> {
    text: &'a str,
    found: Found,
    prose: Prose,
    kind: Option<Kind>,
    range: Range<usize>,
    /// The items we are in: their task boxes and places.
    items: Vec<(Option<bool>, Range<usize>)>,
    quotes: usize,
    lists: usize,
    link: Option<(String, Range<usize>)>,
    head: bool,
    html: Option<usize>,
}

/// Reads the blocks of a text.
pub(super) fn read(text: &str) -> Found {
    let mut reader = Reader {
        text,
        found: Found::default(),
        prose: Prose::default(),
        kind: None,
        range: 0..0,
        items: Vec::new(),
        quotes: 0,
        lists: 0,
        link: None,
        head: false,
        html: None,
    };
    // A byte order mark is no word of the first line, which may be a heading.
    let words = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mark = text.len() - words.len();
    for (event, range) in Parser::new_ext(words, options()).into_offset_iter() {
        reader.take(event, range.start + mark..range.end + mark);
    }
    reader.flush();
    reader.found.leaves.sort_by_key(|leaf| leaf.range.start);
    reader.found
}

impl Reader<'_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, &range),
            Event::Text(words) => self.words(&words, range, SpanKind::Text),
            Event::Code(code) => self.words(&code, range, SpanKind::Code),
            Event::SoftBreak | Event::HardBreak => self.words(" ", range, SpanKind::Break),
            Event::TaskListMarker(ticked) => {
                if let Some((task, _)) = self.items.last_mut() {
                    *task = Some(ticked);
                }
                if let Some(Kind::Item { task }) = &mut self.kind {
                    *task = Some(ticked);
                }
            }
            Event::InlineHtml(html) if html.starts_with("<!--") => self.found.comments.push(range),
            Event::InlineHtml(_)
            | Event::Html(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => {}
        }
    }

    fn begin(&mut self, kind: Kind, range: Range<usize>) {
        self.flush();
        self.kind = Some(kind);
        self.range = range;
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph => {
                // The paragraphs of a loose item are the item's words, as those of a tight one are.
                let kind = match self.items.last() {
                    Some((task, _)) => Kind::Item { task: *task },
                    None => Kind::Paragraph,
                };
                self.begin(kind, range);
            }
            Tag::Heading { .. } => {
                self.flush();
                self.range = range;
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split_whitespace().next().unwrap_or_default().to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.begin(Kind::Code(language), range);
            }
            Tag::List(_) => {
                self.flush();
                self.lists += 1;
            }
            Tag::Item => {
                self.begin(Kind::Item { task: None }, range.start..range.start);
                self.items.push((None, range));
            }
            Tag::TableHead => {
                self.head = true;
                self.begin(Kind::Row { head: true }, range);
            }
            Tag::TableRow => self.begin(Kind::Row { head: false }, range),
            Tag::TableCell if !self.prose.text.is_empty() => {
                self.words(" | ", range.start..range.start, SpanKind::Break);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.to_string(), range));
            }
            Tag::HtmlBlock => {
                self.flush();
                self.html = Some(range.start);
            }
            Tag::MetadataBlock(MetadataBlockKind::YamlStyle) => {
                self.flush();
                self.found.front_matter = Some(range.clone());
                self.begin(Kind::Code("yaml".to_owned()), range);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::Paragraph | TagEnd::CodeBlock | TagEnd::TableRow => self.flush(),
            TagEnd::TableHead => {
                self.head = false;
                self.flush();
            }
            TagEnd::MetadataBlock(_) => {
                self.kind = None;
                self.prose = Prose::default();
            }
            TagEnd::Heading(level) => {
                let prose = std::mem::take(&mut self.prose);
                self.kind = None;
                self.found.headings.push(Heading {
                    level: number(level),
                    range: trimmed(self.text, range.clone()),
                    prose,
                    nested: self.quotes + self.lists > 0,
                });
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists = self.lists.saturating_sub(1);
            }
            TagEnd::Item => {
                self.flush();
                self.items.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some(link) = self.link.take() {
                    self.prose.links.push(link);
                }
            }
            TagEnd::HtmlBlock => {
                if let Some(start) = self.html.take() {
                    self.comments_within(start..range.end);
                }
            }
            _ => {}
        }
    }

    fn words(&mut self, words: &str, range: Range<usize>, kind: SpanKind) {
        let kind = if kind == SpanKind::Text && self.link.is_some() { SpanKind::Link } else { kind };
        if matches!(self.kind, Some(Kind::Item { .. })) && self.range.is_empty() && self.prose.text.is_empty()
        {
            self.range.start = range.start;
        }
        self.range.end = self.range.end.max(range.end);
        self.prose.push(words, range, kind);
    }

    /// Ends the leaf that is being read; one without words is none.
    fn flush(&mut self) {
        let prose = std::mem::take(&mut self.prose);
        let Some(kind) = self.kind.take() else { return };
        if prose.text.trim().is_empty() && prose.links.is_empty() {
            return;
        }
        let range = trimmed(self.text, self.range.clone());
        let item = self.items.last().map(|(_, place)| place.clone());
        self.found.leaves.push(Leaf { kind, range, prose, quotes: self.quotes, lists: self.lists, item });
    }

    /// HTML blocks may hold several comments, and a comment may hold what looks like a tag.
    fn comments_within(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while let Some(start) = self.text[at..range.end].find("<!--").map(|i| at + i) {
            let end = self.text[start + 4..range.end].find("-->").map_or(range.end, |i| start + 4 + i + 3);
            self.found.comments.push(start..end);
            at = end;
        }
    }
}

fn number(level: HeadingLevel) -> u8 {
    level as u8
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let start = range.start + inside.len() - inside.trim_start().len();
    let end = range.end - (inside.len() - inside.trim_end().len());
    start..end.max(start)
}
