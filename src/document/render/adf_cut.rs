//! Fitting a document into Jira's limit: whole sections give way, the largest first, and the document says so.

use serde_json::{Value, json};

use super::adf::{Adf, paragraph};
use crate::document::page::same_title;

/// Top-level blocks that belong together, and what they are called.
struct Part {
    title: String,
    blocks: Vec<Value>,
    /// Whether the first block is the heading.
    headed: bool,
    cut: bool,
}

/// Builds the document from its blocks. `headings`: the block's place, the level, the words.
pub(super) fn fit(blocks: Vec<Value>, headings: &[(usize, u8, String)], whole: &str, limit: usize) -> Adf {
    let all = document(&blocks);
    if length(&all) <= limit {
        return Adf { json: all, cut: Vec::new() };
    }
    let mut parts = parts(blocks, headings);
    loop {
        let cut: Vec<String> = parts.iter().filter(|p| p.cut).map(|p| p.title.clone()).collect();
        if !cut.is_empty() {
            let json = document(&assembled(&parts, &cut, whole));
            if length(&json) <= limit {
                return Adf { json, cut };
            }
        }
        // The summary goes last: a reader who stops there should have the right answer.
        let largest = parts
            .iter_mut()
            .filter(|p| !p.cut)
            .max_by_key(|p| (!same_title(&p.title, "Summary"), p.blocks.iter().map(size).sum::<usize>()));
        match largest {
            Some(part) => part.cut = true,
            None => break,
        }
    }
    // Not even the headings fit, or there are none: as many blocks from the start as do.
    let mut cut: Vec<String> = parts.iter().map(|p| p.title.clone()).collect();
    cut.retain(|t| !t.is_empty());
    let mut kept = vec![note(&[], whole)];
    let mut used = length(&document(&kept));
    for block in parts.into_iter().flat_map(|p| p.blocks) {
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
    let mut parts = vec![Part { title: String::new(), blocks: Vec::new(), headed: false, cut: false }];
    for (at, block) in blocks.into_iter().enumerate() {
        if let Some((.., title)) = headings.iter().find(|h| h.0 == at && h.1 <= deep) {
            parts.push(Part { title: title.trim().to_owned(), blocks: Vec::new(), headed: true, cut: false });
        }
        if let Some(last) = parts.last_mut() {
            last.blocks.push(block);
        }
    }
    parts.retain(|p| !p.blocks.is_empty());
    parts
}

fn assembled(parts: &[Part], cut: &[String], whole: &str) -> Vec<Value> {
    let mut out = vec![note(cut, whole)];
    for part in parts {
        if !part.cut {
            out.extend(part.blocks.iter().cloned());
        } else if part.headed {
            out.extend(part.blocks.first().cloned());
            let size: usize = part.blocks.iter().map(size).sum();
            out.push(paragraph(&format!("[left out here: {size} characters; see {whole}]")));
        }
    }
    out
}

fn note(cut: &[String], whole: &str) -> Value {
    let named: Vec<&str> =
        cut.iter().map(|t| if t.is_empty() { "the start" } else { t.as_str() }).take(12).collect();
    let more = cut.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let what = if named.is_empty() { "the end".to_owned() } else { format!("{}{more}", named.join(", ")) };
    let text = format!("Too long for this tracker; left out: {what}. The whole document: {whole}");
    json!({"type": "panel", "attrs": {"panelType": "info"}, "content": [paragraph(&text)]})
}

fn document(blocks: &[Value]) -> String {
    json!({"version": 1, "type": "doc", "content": blocks}).to_string()
}

fn size(block: &Value) -> usize {
    length(&block.to_string())
}

/// Characters as Jira counts them: UTF-16 units.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}
