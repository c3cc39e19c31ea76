//! Text that waits for somebody to write it.

use std::sync::LazyLock;

use regex::Regex;

use crate::document::lint::words::{re, re_case};
use crate::document::lint::{Document, Edit, Facts, Findings, Rule, Severity, no_facts};
use crate::document::page::Kind;
use crate::document::postmortem::GAP;

/// The rule.
pub const RULE: Rule = Rule {
    name: "placeholder",
    severity: Severity::Error,
    elsewhere: Some(Severity::Warning),
    about: "placeholder text: TODO, TBD, lorem ipsum, a gap of our draft, a prompt of a template",
    docs: "A document with holes looks finished from afar. Found are `TODO`, `TBD`, `FIXME`, `XXX`, `lorem ipsum`, \
           `<fill in>`, `[Your name]`, `YYYY-MM-DD`, `{{ … }}`, the lines `> **Gap:** …` that `postmortem draft` leaves \
           for what nobody recorded, and list items without a word (which `--fix` removes). Words in code spans and \
           code blocks are nobody's placeholder.",
    bad: "## Root cause\n\nTODO: describe the mechanism.\n",
    good: "## Root cause\n\nThe lock in `load()` was taken twice; the `TODO` in its comment said so.\n",
    facts: no_facts,
    check,
};

static MARK: LazyLock<Regex> = LazyLock::new(|| {
    re_case(
        r"\b(?:TODO|TBD|TBC|FIXME|XXX+|T\.B\.D\.|Todo:|todo:|tbd|YYYY-MM-DD|yyyy-mm-dd|DD/MM/YYYY|[Ll]orem [Ii]psum)\b",
    )
});

static PROMPT: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"<(?:fill|insert|add|your|describe|todo|tbd|link|name|date|owner|ticket|summary)[^<>\n]{0,80}>|\[(?:fill|insert|your|describe|todo|tbd|placeholder|enter) ?[^\]\n]{0,80}\]|\{\{[^{}\n]{0,80}\}\}|to be (?:filled in|written|determined|decided|completed|announced|done pre-meeting)\b|\bfill (?:this|me) in\b|\b(?:write|describe|add|insert) (?:\w+ ){0,4}here\b\.?$|^(?:placeholder|n/?a\?|\?+|\.\.\.|…)$",
    )
});

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    let text = document.page.text;
    for (leaf, mask, _) in document.leaves() {
        let source = &text[leaf.range.clone()];
        if leaf.quotes > 0 && source.starts_with(&GAP[2..]) {
            findings
                .add(leaf.range.clone(), "a gap of the draft is still open")
                .help("replace the line by what it asks for, or by why it is not known");
            continue;
        }
        let found = MARK.find(mask).map(|m| m.range()).or_else(|| {
            let m = PROMPT.find(mask.trim())?;
            let skipped = mask.len() - mask.trim_start().len();
            Some(m.start() + skipped..m.end() + skipped)
        });
        let Some(range) = found else { continue };
        // "the TODO comment", "a TODO list": spoken of, not left behind.
        let behind = mask[range.end..].trim_start().to_lowercase();
        let spoken = ["list", "comment", "item", "app", "note", "marker", "file", "entr"];
        if spoken.iter().any(|w| behind.starts_with(w)) && &mask[range.clone()] != "TBD" {
            continue;
        }
        let shown: String = leaf.prose.text[range.clone()].chars().take(60).collect();
        findings
            .add(leaf.prose.source(&range), format!("placeholder text: {shown:?}"))
            .help("write what belongs here, or say that it is not known and why");
    }
    // HTML swallows `<fill in …>`: the prose never shows it.
    for found in BRACKETS.find_iter(text) {
        if !in_code(document, found.start()) {
            let shown: String = found.as_str().chars().take(60).collect();
            findings
                .add(found.range(), format!("placeholder text: {shown:?}"))
                .help("write what belongs here, or say that it is not known and why");
        }
    }
    empty_items(document, findings);
}

static BRACKETS: LazyLock<Regex> =
    LazyLock::new(|| re(r"<(?:fill|insert|describe|todo|tbd|your|placeholder)(?:[ -][^<>\n/=]{0,80})?>"));

/// Whether an offset lies in a code span, a code block or a comment.
fn in_code(document: &Document<'_>, at: usize) -> bool {
    let page = &document.page;
    let leaf = page.leaves.partition_point(|l| l.range.start <= at).checked_sub(1).map(|n| &page.leaves[n]);
    let code = leaf.is_some_and(|l| {
        at < l.range.end
            && (matches!(l.kind, Kind::Code(_)) || l.prose.spans.iter().any(|s| s.source.contains(&at)))
    });
    code || page.comments.iter().any(|c| c.contains(&at))
        || page.front_matter.as_ref().is_some_and(|f| f.contains(&at))
}

static EMPTY_ITEM: LazyLock<Regex> =
    LazyLock::new(|| re_case(r"(?m)^[ >]*(?:[-*+]|\d{1,3}[.)])[ \t]*(?:\[[ xX]?\])?[ \t]*$"));

/// List items that hold nothing, not even a list.
fn empty_items(document: &Document<'_>, findings: &mut Findings) {
    let page = &document.page;
    for found in EMPTY_ITEM.find_iter(page.text) {
        let line = found.as_str();
        // `-` below a line of text underlines a heading; `1.` may be a number.
        let inner = line.trim_start_matches([' ', '>']);
        let before = page.text[..found.start()].trim_end_matches(['\n', '\r']);
        let previous = before.rsplit('\n').next().unwrap_or_default().trim_start_matches([' ', '>']);
        let gap = page.text[before.len()..found.start()].matches('\n').count() > 1 || before.is_empty();
        let after = page.text[found.end()..].trim_start_matches(['\r', '\n']);
        let continued = after.starts_with([' ', '\t']) && !after.trim_start().is_empty();
        let listed =
            previous.starts_with(['-', '*', '+']) || previous.starts_with(|c: char| c.is_ascii_digit());
        if inner.is_empty() || continued || !(gap || listed) || in_code(document, found.start()) {
            continue;
        }
        if inner.trim_end() == "-" && !gap && !listed {
            continue;
        }
        let at = found.start() + line.len() - inner.len();
        let end = page.text[found.end()..].find('\n').map_or(page.text.len(), |n| found.end() + n + 1);
        let finding = findings.add(at..found.end(), "a list item without a word");
        finding.help("write it or remove it").at_most(Severity::Warning);
        finding.fix("remove the empty item", vec![Edit { range: found.start()..end, with: String::new() }]);
    }
}
