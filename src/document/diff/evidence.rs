//! What a reader can follow to check a statement: links, commits, stored files, records, outputs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::facts::names;
use super::units::{Form, Unit};
use crate::document::page::Page;
use crate::document::pattern::constant as regex;

/// A piece of evidence and where it stands first.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// As it is shown, with its verb: `the link to … is`.
    pub(super) shown: String,
    /// The unit it stands in.
    pub(super) unit: usize,
}

static STORED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b[\w./-]+\.(?:log|npy|npz|safetensors|json|jsonl|csv|txt|xml|diff|patch|nsys-rep|ncu-rep|png|svg|ptx|sarif)\b",
    )
});

/// The evidence of a page, by what makes two pieces the same. Code blocks count as one piece, named by their lines.
pub(super) fn of(page: &Page, units: &[Unit]) -> BTreeMap<String, Piece> {
    let mut found = BTreeMap::new();
    let mut put = |key: String, shown: String, unit: usize| {
        found.entry(key).or_insert(Piece { shown, unit });
    };
    let mut at = 0;
    while at < units.len() {
        let unit = &units[at];
        if unit.form == Form::Code {
            let block: Vec<&Unit> = units[at..].iter().take_while(|u| u.leaf == unit.leaf).collect();
            if unit.leaf != usize::MAX && page.leaves.get(unit.leaf).is_some() {
                let shown = match block.len() {
                    1 => format!("the line \"{}\" is", unit.text.trim()),
                    many => format!("the {many} lines from \"{}\" are", unit.text.trim()),
                };
                // The same output in another layout is the same output.
                let bare: String = block.iter().flat_map(|u| u.text.split_whitespace()).collect();
                put(format!("block {bare}"), shown, at);
            }
            at += block.len().max(1);
            continue;
        }
        for link in unit.links.iter().filter(|l| !l.is_empty() && !l.starts_with('#')) {
            put(format!("link {link}"), format!("the link to {link} is"), at);
        }
        for name in names(&unit.text) {
            let shown = if unit.code.contains(&name) { format!("`{name}` is") } else { format!("{name} is") };
            put(format!("name {name}"), shown, at);
        }
        for file in STORED.find_iter(&unit.text) {
            put(format!("file {}", file.as_str()), format!("`{}` is", file.as_str()), at);
        }
        at += 1;
    }
    found
}
