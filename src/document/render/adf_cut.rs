//! Fitting a document into Jira's limit: whole sections give way, the largest first, and the document says so.

use serde_json::{Value, json};

use super::adf::{Adf, paragraph};
use crate::document::page::same_title;

/// Characters of a title in the note.
const TITLE: usize = 60;

/// Top-level blocks that belong together, and what they are called.
struct Part {
    title: String,
    blocks: Vec<Value>,
    /// Whether the first block is the heading.
    headed: bool,
    /// Characters of the blocks, with the commas between them.
    size: usize,
}

impl Part {
    /// What stands for it when it is cut.
    fn stub(&self, whole: &str, limit: usize) -> Vec<Value> {
        if !self.headed {
            return Vec::new();
        }
        // Beyond the limit nobody has counted.
        let size = if self.size > limit { format!("more than {limit}") } else { self.size.to_string() };
        let said = paragraph(&format!("[left out here: {size} characters; see {whole}]"));
        self.blocks.first().cloned().into_iter().chain([said]).collect()
    }
}

/// Builds the document from its blocks. `headings`: the block's place, the level, the words.
pub(super) fn fit(blocks: Vec<Value>, headings: &[(usize, u8, String)], whole: &str, limit: usize) -> Adf {
    let all = document(&blocks);
    if length(&all) <= limit {
        return Adf { json: all, cut: Vec::new() };
    }
    let mut parts = parts(blocks, headings);
    let mut cut = vec![false; parts.len()];
    let frame = length(&document(&[]));
    let mut total: usize = frame + parts.iter().map(|p| p.size).sum::<usize>();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    // The summary goes last: a reader who stops there should have the right answer.
    order.sort_by_key(|at| {
        let part = &parts[*at];
        (same_title(&part.title, "Summary"), std::cmp::Reverse(part.size))
    });
    for at in order {
        let stub = parts[at].stub(whole, limit).iter().map(|b| size(b) + 1).sum::<usize>();
        if stub >= parts[at].size {
            continue;
        }
        cut[at] = true;
        total = total - parts[at].size + stub;
        // Measured in full only when it is near: the note's length depends on what it names.
        if total <= limit {
            let titles = titles(&parts, &cut);
            let json = document(&assembled(&parts, &cut, &titles, whole, limit));
            if length(&json) <= limit {
                return Adf { json, cut: titles };
            }
        }
    }
    // Not even the headings fit, or there are none: as many blocks from the start as do.
    let mut cut: Vec<String> = parts.iter().map(|p| p.title.clone()).collect();
    cut.retain(|t| !t.is_empty());
    let blocks = parts.iter_mut().flat_map(|p| std::mem::take(&mut p.blocks));
    let mut kept = vec![note(&[], whole)];
    let mut used = length(&document(&kept));
    for block in blocks {
        let own = size(&block) + 1;
        if used + own > limit {
            break;
        }
        used += own;
        kept.push(block);
    }
    if cut.is_empty() {
        cut.push("the rest".to_owned());
    }
    Adf { json: document(&kept), cut }
}

fn parts(blocks: Vec<Value>, headings: &[(usize, u8, String)]) -> Vec<Part> {
    // Titles of documents are no sections: borders are the headings of the second level, if there are two.
    let deep = if headings.iter().filter(|h| h.1 <= 2).count() >= 3 { 2 } else { 6 };
    let part =
        |title: &str, headed| Part { title: title.trim().to_owned(), blocks: Vec::new(), headed, size: 0 };
    let mut parts = vec![part("", false)];
    let mut borders = headings.iter().filter(|h| h.1 <= deep).peekable();
    for (at, block) in blocks.into_iter().enumerate() {
        if let Some((.., title)) = borders.next_if(|h| h.0 == at) {
            parts.push(part(title, true));
        }
        if let Some(last) = parts.last_mut() {
            last.size += size(&block) + 1;
            last.blocks.push(block);
        }
    }
    parts.retain(|p| !p.blocks.is_empty());
    parts
}

fn titles(parts: &[Part], cut: &[bool]) -> Vec<String> {
    parts.iter().zip(cut).filter(|(_, cut)| **cut).map(|(p, _)| p.title.clone()).collect()
}

fn assembled(parts: &[Part], cut: &[bool], titles: &[String], whole: &str, limit: usize) -> Vec<Value> {
    let mut out = vec![note(titles, whole)];
    for (part, cut) in parts.iter().zip(cut) {
        out.extend(if *cut { part.stub(whole, limit) } else { part.blocks.clone() });
    }
    out
}

fn note(cut: &[String], whole: &str) -> Value {
    let short =
        |t: &String| if t.is_empty() { "the start".to_owned() } else { t.chars().take(TITLE).collect() };
    let named: Vec<String> = cut.iter().take(12).map(short).collect();
    let more = cut.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let what = if named.is_empty() { "the end".to_owned() } else { format!("{}{more}", named.join(", ")) };
    let text = format!("Too long for this tracker; left out: {what}. The whole document: {whole}");
    json!({"type": "panel", "attrs": {"panelType": "info"}, "content": [paragraph(&text)]})
}

fn document(blocks: &[Value]) -> String {
    // Joined by hand: a tree of all blocks would hold a long document twice.
    let parts: Vec<String> = blocks.iter().map(Value::to_string).collect();
    format!("{{\"version\":1,\"type\":\"doc\",\"content\":[{}]}}", parts.join(","))
}

/// Characters of a block in JSON.
pub(super) fn size(block: &Value) -> usize {
    length(&block.to_string())
}

/// Characters as Jira counts them: UTF-16 units.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}
