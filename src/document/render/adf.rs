//! Jira's Atlassian Document Format, version 1: the nodes and marks of Atlassian's own JSON schema
//! (`@atlaskit/adf-schema`), and of them only those that every editor of Jira has.
//!
//! What nests freely in Markdown does not there: a table stands at the top only, a heading in no list, a quote in no
//! quote, code with no other mark than a link. What cannot stand where it is becomes the nearest thing that can.

use comrak::nodes::{AlertType, ListType, Node, NodeValue};
use serde_json::{Value, json};

use super::links::{self, Target};
use super::text::table_lines;
use super::tree::{tame, with_tree, words};

/// What Jira takes: characters of the JSON, counted as Java does (UTF-16).
pub const LIMIT: usize = 32_767;

/// A document for Jira.
#[derive(Debug, Clone, PartialEq)]
pub struct Adf {
    /// The JSON, in one line, within the limit.
    pub json: String,
    /// Titles of the sections that were left out, in their order.
    pub cut: Vec<String>,
}

/// A document in ADF, at most `limit` long. `whole` says where all of it is.
pub fn adf(markdown: &str, whole: &str, limit: usize) -> Adf {
    let (blocks, headings) = with_tree(markdown, |root| {
        let mut writer = Writer { tasks: 0, headings: Vec::new(), room: 0 };
        let mut blocks = Vec::new();
        // Characters since the last heading. A section beyond the limit is cut whatever the rest of it says.
        let mut written = 0;
        for child in root.children() {
            let level = match &child.data().value {
                NodeValue::Heading(h) => Some(h.level),
                _ => None,
            };
            if level.is_some() {
                written = 0;
            } else if written > limit {
                continue;
            }
            let before = blocks.len();
            // Twice as much as may be shown: a block that was not finished never fits.
            writer.room = limit.saturating_mul(2);
            writer.block(child, Place::Top, &mut blocks);
            written += blocks[before..].iter().map(super::adf_cut::size).sum::<usize>();
            if let Some(level) = level.filter(|_| blocks.len() > before) {
                writer.headings.push((before, level, words(child)));
            }
        }
        (blocks, writer.headings)
    });
    super::adf_cut::fit(blocks, &headings, whole, limit)
}

/// A paragraph of plain words.
pub(super) fn paragraph(text: &str) -> Value {
    json!({"type": "paragraph", "content": [{"type": "text", "text": text}]})
}

/// What a node stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Panel,
    Quote,
    Item,
}

struct Writer {
    /// Task lists and items are numbered: each needs an id of its own.
    tasks: usize,
    headings: Vec<(usize, u8, String)>,
    /// Characters that the block at hand may still get.
    room: usize,
}

/// The least that an item, a row or a cell takes in JSON.
const FRAME: usize = 30;

impl Writer {
    fn blocks(&mut self, parent: Node<'_>, place: Place) -> Vec<Value> {
        let mut out = Vec::new();
        for child in parent.children() {
            if self.room == 0 {
                break;
            }
            self.block(child, place, &mut out);
        }
        out
    }

    fn block(&mut self, node: Node<'_>, place: Place, out: &mut Vec<Value>) {
        match &node.data().value {
            NodeValue::Paragraph => push_paragraph(inlines(node, &mut self.room), out),
            NodeValue::Heading(heading) => {
                let content = inlines(node, &mut self.room);
                if content.is_empty() {
                    return;
                }
                if matches!(place, Place::Top | Place::Panel) {
                    out.push(
                        json!({"type": "heading", "attrs": {"level": heading.level}, "content": content}),
                    );
                } else {
                    out.push(strong_paragraph(&words(node)));
                }
            }
            NodeValue::CodeBlock(code) => {
                let language = code.info.split_whitespace().next().unwrap_or_default();
                out.push(code_block(language, code.literal.trim_end_matches('\n')));
            }
            NodeValue::BlockQuote => {
                let inner = if place == Place::Top { Place::Quote } else { place };
                let content = self.blocks(node, inner);
                match place {
                    Place::Top if !content.is_empty() => {
                        out.push(json!({"type": "blockquote", "content": content}));
                    }
                    _ => out.extend(content),
                }
            }
            NodeValue::Alert(alert) => {
                let kind = match alert.alert_type {
                    AlertType::Note => "info",
                    AlertType::Tip => "success",
                    AlertType::Important => "note",
                    AlertType::Warning => "warning",
                    AlertType::Caution => "error",
                };
                let title = alert.title.clone();
                let title = title.unwrap_or_else(|| alert.alert_type.default_title().to_owned());
                let mut content = vec![strong_paragraph(&title)];
                if place == Place::Top {
                    content.extend(self.blocks(node, Place::Panel));
                    out.push(json!({"type": "panel", "attrs": {"panelType": kind}, "content": content}));
                } else {
                    out.append(&mut content);
                    out.extend(self.blocks(node, place));
                }
            }
            NodeValue::List(list) => {
                if matches!(place, Place::Top | Place::Panel) && all_tasks(node) {
                    let tasks = self.task_list(node);
                    out.push(tasks);
                    return;
                }
                let mut items = Vec::new();
                for item in node.children() {
                    if self.room == 0 {
                        break;
                    }
                    items.push(self.item(item));
                }
                match list.list_type {
                    _ if items.is_empty() => {}
                    ListType::Bullet => out.push(json!({"type": "bulletList", "content": items})),
                    ListType::Ordered => out.push(
                        json!({"type": "orderedList", "attrs": {"order": list.start}, "content": items}),
                    ),
                }
            }
            NodeValue::Table(_) if place == Place::Top => {
                let mut rows = Vec::new();
                for inner in node.children() {
                    if self.room == 0 {
                        break;
                    }
                    rows.push(row(inner, &mut self.room));
                }
                if !rows.is_empty() {
                    out.push(json!({"type": "table", "content": rows}));
                }
            }
            NodeValue::Table(_) => out.push(code_block("", &table_lines(node, 100).join("\n"))),
            NodeValue::ThematicBreak => {
                if matches!(place, Place::Top | Place::Panel) {
                    out.push(json!({"type": "rule"}));
                }
            }
            NodeValue::FootnoteDefinition(note) => {
                push_paragraph(vec![text(&format!("[{}]", tame(&note.name)), &["strong"], None)], out);
                out.extend(self.blocks(node, place));
            }
            _ => out.extend(self.blocks(node, place)),
        }
    }

    fn item(&mut self, node: Node<'_>) -> Value {
        self.room = self.room.saturating_sub(FRAME);
        let mut content = self.blocks(node, Place::Item);
        if let NodeValue::TaskItem(task) = &node.data().value {
            let mark = text(if task.symbol.is_some() { "☑ " } else { "☐ " }, &[], None);
            match content.first_mut().and_then(|c| c["content"].as_array_mut().filter(|_| true)) {
                Some(inner) if node.first_child().is_some_and(is_paragraph) => inner.insert(0, mark),
                _ => content.insert(0, json!({"type": "paragraph", "content": [mark]})),
            }
        }
        let starts_well =
            content.first().is_some_and(|c| c["type"] == "paragraph" || c["type"] == "codeBlock");
        if !starts_well {
            content.insert(0, json!({"type": "paragraph", "content": []}));
        }
        json!({"type": "listItem", "content": content})
    }

    fn task_list(&mut self, node: Node<'_>) -> Value {
        self.tasks += 1;
        let id = format!("tasks-{}", self.tasks);
        let mut content = Vec::new();
        for item in node.children() {
            if self.room == 0 {
                break;
            }
            self.room = self.room.saturating_sub(FRAME);
            let done = matches!(&item.data().value, NodeValue::TaskItem(t) if t.symbol.is_some());
            self.tasks += 1;
            content.push(json!({
                "type": "taskItem",
                "attrs": {"localId": format!("task-{}", self.tasks), "state": if done { "DONE" } else { "TODO" }},
                "content": item.first_child().map(|first| inlines(first, &mut self.room)).unwrap_or_default(),
            }));
            if let Some(nested) = item.children().nth(1) {
                content.push(self.task_list(nested));
            }
        }
        json!({"type": "taskList", "attrs": {"localId": id}, "content": content})
    }
}

fn is_paragraph(node: Node<'_>) -> bool {
    matches!(node.data().value, NodeValue::Paragraph)
}

/// Whether a list is nothing but tasks of one paragraph each, with perhaps such a list below.
fn all_tasks(list: Node<'_>) -> bool {
    list.first_child().is_some()
        && list.children().all(|item| {
            let mut inner = item.children();
            matches!(item.data().value, NodeValue::TaskItem(_))
                && inner.next().is_some_and(is_paragraph)
                && inner.next().is_none_or(|n| matches!(n.data().value, NodeValue::List(_)) && all_tasks(n))
                && inner.next().is_none()
        })
}

fn row(node: Node<'_>, room: &mut usize) -> Value {
    let head = matches!(node.data().value, NodeValue::TableRow(true));
    let kind = if head { "tableHeader" } else { "tableCell" };
    let mut cells = Vec::new();
    for cell in node.children() {
        if *room == 0 {
            break;
        }
        *room = room.saturating_sub(FRAME);
        let content = inlines(cell, room);
        cells
            .push(json!({"type": kind, "attrs": {}, "content": [{"type": "paragraph", "content": content}]}));
    }
    json!({"type": "tableRow", "content": cells})
}

fn push_paragraph(content: Vec<Value>, out: &mut Vec<Value>) {
    if !content.is_empty() {
        out.push(json!({"type": "paragraph", "content": content}));
    }
}

fn strong_paragraph(words: &str) -> Value {
    let words = if words.trim().is_empty() { "—" } else { words.trim() };
    json!({"type": "paragraph", "content": [text(words, &["strong"], None)]})
}

fn code_block(language: &str, code: &str) -> Value {
    let plain = language.len() <= 30
        && language.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '#' | '_' | '.'));
    let mut block = json!({"type": "codeBlock"});
    if plain && !language.is_empty() {
        block["attrs"] = json!({"language": language});
    }
    if !code.is_empty() {
        block["content"] = json!([{"type": "text", "text": code}]);
    }
    block
}

/// A text node. `marks` are names without attributes.
fn text(words: &str, marks: &[&str], link: Option<&str>) -> Value {
    let mut all: Vec<Value> = Vec::new();
    if let Some(href) = link {
        all.push(json!({"type": "link", "attrs": {"href": href}}));
    }
    all.extend(marks.iter().map(|m| json!({"type": m})));
    let mut node = json!({"type": "text", "text": words});
    if !all.is_empty() {
        node["marks"] = Value::Array(all);
    }
    node
}

/// The words of a block, with their marks.
fn inlines(parent: Node<'_>, room: &mut usize) -> Vec<Value> {
    let mut out = Vec::new();
    collect(parent, &mut Vec::new(), None, &mut out, room);
    let blank = |n: &Value| n["text"].as_str().is_some_and(|t| t.trim().is_empty());
    if out.iter().all(blank) {
        out.clear();
    }
    out
}

fn collect(
    parent: Node<'_>,
    marks: &mut Vec<&'static str>,
    link: Option<&str>,
    out: &mut Vec<Value>,
    room: &mut usize,
) {
    for node in parent.children() {
        if *room == 0 {
            break;
        }
        match &node.data().value {
            NodeValue::Text(words) => push_text(words, marks, link, out, room),
            NodeValue::SoftBreak => push_text(" ", marks, link, out, room),
            NodeValue::LineBreak => out.push(json!({"type": "hardBreak"})),
            // Code takes no mark beside it but a link.
            NodeValue::Code(code) => push_text(&code.literal, &["code"], link, out, room),
            NodeValue::FootnoteReference(note) => {
                push_text(&format!("[{}]", tame(&note.name)), marks, link, out, room);
            }
            NodeValue::Emph => marked(node, "em", marks, link, out, room),
            NodeValue::Strong => marked(node, "strong", marks, link, out, room),
            NodeValue::Strikethrough => marked(node, "strike", marks, link, out, room),
            NodeValue::Link(to) => match links::target(&to.url) {
                Target::Web | Target::Mail => collect(node, marks, link.or(Some(&to.url)), out, room),
                Target::Relative => {
                    collect(node, marks, link, out, room);
                    // In Jira there is nothing beside the document; the place is told instead.
                    if words(node).trim() != to.url {
                        push_text(&format!(" ({})", to.url), marks, link, out, room);
                    }
                }
                Target::Fragment | Target::Refused => collect(node, marks, link, out, room),
            },
            NodeValue::Image(to) => {
                let alt = words(node);
                let alt = if alt.trim().is_empty() { "picture" } else { alt.trim() };
                let web = links::target(&to.url) == Target::Web;
                push_text(alt, marks, link.or(web.then_some(to.url.as_str())), out, room);
            }
            _ => collect(node, marks, link, out, room),
        }
    }
}

fn marked(
    node: Node<'_>,
    mark: &'static str,
    marks: &mut Vec<&'static str>,
    link: Option<&str>,
    out: &mut Vec<Value>,
    room: &mut usize,
) {
    let new = !marks.contains(&mark);
    if new {
        marks.push(mark);
    }
    collect(node, marks, link, out, room);
    if new {
        marks.pop();
    }
}

/// Adds words; to the node before when it has the same marks.
fn push_text(words: &str, marks: &[&str], link: Option<&str>, out: &mut Vec<Value>, room: &mut usize) {
    if words.is_empty() {
        return;
    }
    // Blanks may go again, and do not count.
    *room = room.saturating_sub(words.chars().filter(|c| !c.is_whitespace()).count());
    let node = text(words, marks, link);
    if let Some(last) = out.last_mut()
        && last.get("marks") == node.get("marks")
        && let Some(Value::String(before)) = last.get_mut("text")
    {
        before.push_str(words);
        return;
    }
    out.push(node);
}
