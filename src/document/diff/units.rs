//! What is aligned: sentences of prose, rows of tables, lines of code.

use crate::document::page::{Kind as LeafKind, Lines, Page, Place};

/// What a unit is made of; units of different forms never make a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// A sentence of a paragraph.
    Sentence,
    /// A sentence of a list item.
    Item,
    /// A row of a table.
    Row,
    /// A line of a code block.
    Code,
}

/// A unit.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// Its text with single spaces; a line of code as it is.
    pub(super) text: String,
    /// What must be equal for two units to be the same: the text, and where its links lead.
    pub(super) key: String,
    pub(super) form: Form,
    pub(super) place: Place,
    /// Which section of the page it is in.
    pub(super) section: usize,
    /// Which leaf of the page it comes from.
    pub(super) leaf: usize,
    /// The box of the item it starts, if it has one.
    pub(super) task: Option<bool>,
    /// Whether it starts its leaf.
    pub(super) first: bool,
    /// Where its links lead.
    pub(super) links: Vec<String>,
    /// Its code spans.
    pub(super) code: Vec<String>,
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The units of a page, in order.
pub(super) fn of(page: &Page) -> Vec<Unit> {
    let mut units = Vec::new();
    if let Some(range) = &page.front_matter {
        lines_of(&page.text[range.clone()], range.start, page, 0, usize::MAX, &mut units);
    }
    let mut section = 0;
    for (index, leaf) in page.leaves.iter().enumerate() {
        while page.sections.get(section + 1).is_some_and(|s| s.heading.start <= leaf.range.start) {
            section += 1;
        }
        match &leaf.kind {
            LeafKind::Code(_) => {
                for span in &leaf.prose.spans {
                    let text = &leaf.prose.text[span.plain.clone()];
                    lines_of(text, span.source.start, page, section, index, &mut units);
                }
            }
            LeafKind::Row { .. } => {
                let text = squeezed(&leaf.prose.text);
                let links: Vec<String> = leaf.prose.links.iter().map(|l| l.0.clone()).collect();
                units.push(Unit {
                    key: keyed(&text, &links, None),
                    text,
                    form: Form::Row,
                    place: page.lines.place(page.text, leaf.range.start),
                    section,
                    leaf: index,
                    task: None,
                    first: true,
                    links,
                    code: code_of(leaf, &(0..leaf.prose.text.len())),
                });
            }
            LeafKind::Paragraph | LeafKind::Item { .. } => {
                sentences_of(page, leaf, section, index, &mut units);
            }
        }
    }
    units
}

fn sentences_of(
    page: &Page,
    leaf: &crate::document::page::Leaf,
    section: usize,
    index: usize,
    units: &mut Vec<Unit>,
) {
    // The bold words that start a section are its heading, not a sentence of it.
    let lead_ends = page.sections[section].heading.end;
    let (form, task) = match leaf.kind {
        LeafKind::Item { task } => (Form::Item, task),
        _ => (Form::Sentence, None),
    };
    let mut first = true;
    for range in leaf.prose.sentences() {
        let source = leaf.prose.source(&range);
        let mut plain = range.clone();
        if source.start < lead_ends {
            if source.end <= lead_ends {
                continue;
            }
            // What stands behind the lead within the same "sentence".
            plain.start += leaf
                .prose
                .text
                .get(range.clone())
                .and_then(|t| t.find(['.', ':']).map(|i| i + 1))
                .unwrap_or_default();
        }
        let text = squeezed(&leaf.prose.text[plain.clone()]);
        if text.is_empty() {
            continue;
        }
        let source = leaf.prose.source(&plain);
        let links: Vec<String> = leaf
            .prose
            .links
            .iter()
            .filter(|(_, at)| at.start < source.end && source.start < at.end)
            .map(|(to, _)| to.clone())
            .collect();
        let own_task = if first { task } else { None };
        units.push(Unit {
            key: keyed(&text, &links, own_task),
            code: code_of(leaf, &plain),
            text,
            form,
            place: page.lines.place(page.text, source.start),
            section,
            leaf: index,
            task: own_task,
            first,
            links,
        });
        first = false;
    }
}

fn code_of(leaf: &crate::document::page::Leaf, plain: &std::ops::Range<usize>) -> Vec<String> {
    leaf.prose
        .spans
        .iter()
        .filter(|s| s.kind == crate::document::page::SpanKind::Code)
        .filter(|s| s.plain.start < plain.end && plain.start < s.plain.end)
        .map(|s| leaf.prose.text[s.plain.clone()].to_owned())
        .collect()
}

fn keyed(text: &str, links: &[String], task: Option<bool>) -> String {
    let mut key = match task {
        Some(true) => format!("[x] {text}"),
        Some(false) => format!("[ ] {text}"),
        None => text.to_owned(),
    };
    for link in links {
        key.push('\u{1f}');
        key.push_str(link);
    }
    key
}

fn lines_of(text: &str, start: usize, page: &Page, section: usize, leaf: usize, units: &mut Vec<Unit>) {
    let lines: &Lines = &page.lines;
    let mut at = start;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let shown = line.trim_end();
        if !shown.trim().is_empty() {
            units.push(Unit {
                text: shown.to_owned(),
                key: shown.to_owned(),
                form: Form::Code,
                place: lines.place(page.text, at),
                section,
                leaf,
                task: None,
                first: number == 0,
                links: Vec::new(),
                code: Vec::new(),
            });
        }
        at += line.len();
    }
}

/// Every piece of raw HTML but comments, without white space at its ends.
pub(super) fn raw_html(text: &str) -> Vec<String> {
    use pulldown_cmark::{Event, Parser};
    Parser::new(text)
        .filter_map(|event| match event {
            Event::Html(html) | Event::InlineHtml(html) => Some(html.trim().to_owned()),
            _ => None,
        })
        .filter(|html| !html.is_empty() && !html.starts_with("<!--"))
        .collect()
}

/// The document with one sentence a line: what `git log -p` compares where the review itself cannot be shown.
///
/// Headings, items, rows and code keep their look; wrapping, emphasis and list markers are gone.
pub fn canonical_text(text: &str) -> String {
    let page = Page::parse(text);
    let units = of(&page);
    let mut out = String::new();
    let mut next = units.iter().peekable();
    for (index, section) in page.sections.iter().enumerate() {
        if index > 0 {
            let marks = "#".repeat(section.level.max(1).into());
            out.push_str(&format!("\n{marks} {}\n\n", section.title));
        }
        while let Some(unit) = next.next_if(|u| u.section == index) {
            match unit.form {
                Form::Item if unit.first => {
                    let mark = match unit.task {
                        Some(true) => "- [x] ",
                        Some(false) => "- [ ] ",
                        None => "- ",
                    };
                    out.push_str(mark);
                }
                Form::Item => out.push_str("  "),
                Form::Row => out.push_str("| "),
                Form::Code => out.push_str("    "),
                Form::Sentence => {}
            }
            out.push_str(&unit.text);
            for link in &unit.links {
                out.push_str(&format!(" <{link}>"));
            }
            out.push('\n');
        }
    }
    out
}
