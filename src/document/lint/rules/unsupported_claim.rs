//! Claims that name nothing a reader could look at.

use std::sync::LazyLock;

use regex::Regex;

use crate::document::lint::blocks::Block;
use crate::document::lint::words::{re, re_case};
use crate::document::lint::{Document, Facts, Findings, Rule, Severity, no_facts};
use crate::document::page::{Kind, Leaf};

/// The rule.
pub const RULE: Rule = Rule {
    name: "unsupported-claim",
    severity: Severity::Warning,
    elsewhere: None,
    about: "Validation or Root cause says something without a number, run, link or identifier",
    docs: "\"It works now\" convinces nobody in six months. A statement of success in Validation needs something to look \
           at in its paragraph: a count, a duration, a device, a command, a link, a commit. A Root cause needs one \
           identifier at least: a function, a file, a setting, a commit. Asked of documents that follow the standard.",
    bad: "## Validation\n\nWe tested it and everything works fine now.\n",
    good: "## Validation\n\n`make stress` passed 20 of 20 times on 2 × A100; before it hung in 6 of 20.\n",
    facts: no_facts,
    check,
};

static CLAIM: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:works?|working|worked|fixed|resolved|verified|validated|tested|confirmed|passe[sd]|passing|green|stable|solved|gone|no longer|never again|successful(?:ly)?|as expected|no (?:more|further|other|new) \w+)\b",
    )
});

static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    re_case(
        r"\b(?:[A-Za-z]+_[A-Za-z_]+|[a-z]+[A-Z]\w+|[A-Z]{2,}[A-Z0-9_-]*|\w+::\w+|[\w-]+/[\w/.-]+|\w+\(\)|\w+\.\w{1,4})(?:\b|$)",
    )
});

/// Whether there is something in it to look at.
fn shows(leaf: &Leaf) -> bool {
    matches!(leaf.kind, Kind::Code(_))
        || !leaf.prose.links.is_empty()
        || leaf.prose.text.contains(|c: char| c.is_ascii_digit())
        || leaf.prose.spans.iter().any(|s| s.kind == crate::document::page::SpanKind::Code)
        || NAMED.is_match(&leaf.prose.text)
}

static NEGATED: LazyLock<Regex> = LazyLock::new(|| {
    re(r"\b(?:not|never|nobody|none|untested|anything else|without|yet|cannot|could not)\b")
});

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    let page = &document.page;
    for (leaf, mask) in document.prose(Block::Validation) {
        // What follows a colon, a list or a block of code, is the evidence.
        let introduces = mask.trim_end().ends_with(':');
        if shows(leaf) || introduces || NEGATED.is_match(mask) || document.is_quotation(leaf) {
            continue;
        }
        if let Some(claim) = CLAIM.find(mask) {
            let sentence = super::super::words::sentence_at(&leaf.prose, claim.start());
            findings
                .add(leaf.prose.source(&sentence), "this claim shows no evidence")
                .help("say what was run, on what, how often, with what result, or link it");
        }
    }
    for section in document.sections(Block::RootCause) {
        let leaves = page.leaves_in(section);
        if !leaves.is_empty() && !leaves.iter().any(shows) {
            findings
                .add(section.heading.clone(), "the root cause names nothing that can be looked up")
                .help("name the function, file, setting or commit where it happens");
        }
    }
}
