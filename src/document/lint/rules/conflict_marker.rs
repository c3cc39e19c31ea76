//! Conflict markers of a merge that nobody finished.

use crate::document::lint::{Document, Facts, Findings, Rule, Severity, no_facts};

/// The rule.
pub const RULE: Rule = Rule {
    name: "conflict-marker",
    severity: Severity::Error,
    elsewhere: Some(Severity::Error),
    about: "markers of a merge conflict stand in the document",
    docs: "Found are a line of seven `<`, one of seven `=` and one of seven `>` in that order, outside of code blocks. \
           `--fix` leaves such a document alone.",
    bad: "## Fix\n\n<<<<<<< HEAD\nThe lock is taken once.\n=======\nThe lock is gone.\n>>>>>>> topic\n",
    good: "## Fix\n\nThe lock is taken once.\n",
    facts: no_facts,
    check,
};

/// Whether an unfinished merge left its marks in a text.
pub fn unfinished(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut open = None;
    let mut middle = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        if bare.starts_with("<<<<<<< ") {
            open = Some(at);
            middle = false;
        } else if bare == "=======" && open.is_some() {
            middle = true;
        } else if bare.starts_with(">>>>>>> ") && middle {
            return open;
        }
        at += line.len();
    }
    None
}

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    let text = document.page.text;
    let Some(at) = unfinished(text) else { return };
    let in_code = document
        .page
        .leaves
        .iter()
        .any(|l| matches!(l.kind, crate::document::page::Kind::Code(_)) && l.range.contains(&at));
    if !in_code {
        let end = text[at..].find('\n').map_or(text.len(), |n| at + n);
        findings
            .add(at..end, "a merge conflict was left in the document")
            .help("finish the merge, then check again");
    }
}
