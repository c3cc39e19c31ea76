//! Names of functions and types that the code does not have.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::unknown_path::path_in;
use crate::document::lint::blocks::Block;
use crate::document::lint::words::{before, re, re_case, sentence_at};
use crate::document::lint::{Document, Facts, Findings, Known, Presence, Rule, Severity, Wants};
use crate::document::page::SpanKind;

/// The rule.
pub const RULE: Rule = Rule {
    name: "unknown-identifier",
    severity: Severity::Error,
    elsewhere: Some(Severity::Error),
    about: "a function, type or variable that the code does not have",
    docs: "An error where the document says in which file it stands (`src/loader.c::load_all`) and neither that file nor \
           the rest of the code has it. A warning where it is called a function, struct, field or the like in Root cause, \
           Why it produced the symptom or Fix, and is nowhere at HEAD nor just before the commits that the document \
           names: it may be a library's. Other code spans are left alone.",
    bad: "## Root cause\n\nThe function `laod_all` takes the lock twice, see `src/loader.c::laod_all`.\n",
    good: "## Root cause\n\nThe function `load_all` takes the lock twice, see `src/loader.c::load_all`.\n",
    facts: || {
        let mut known = Known { repository: true, ..Known::default() };
        for (name, presence) in [("laod_all", Presence::No), ("load_all", Presence::Yes)] {
            known.identifiers.insert(name.to_owned(), presence);
            known.located.insert(("src/loader.c".to_owned(), name.to_owned()), presence);
        }
        (known, None)
    },
    check,
};

static NOUN: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:functions?|methods?|struct|class|type|field|variable|member|macro|kernel|enum|trait|constant|routine|helper|flag|counter|callback|hook)s?\s+$",
    )
});

static NAME: LazyLock<Regex> =
    LazyLock::new(|| re_case(r"^(?:[A-Za-z_]\w*(?:::|\.|->))*([A-Za-z_]\w{2,79})(?:\(\))?$"));

static GONE: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:removed?|removes|deleted?|deletes|renamed?|dropped|no longer|used to|library|upstream|libc|vendor|driver|standard)\b",
    )
});

/// A name with a hump, an underscore, a path or brackets: no plain word.
fn is_identifier(code: &str, name: &str) -> bool {
    let hump = name.as_bytes().windows(2).any(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase());
    hump || name.contains('_') || code.contains("::") || code.contains("->") || code.ends_with("()")
}

enum Mention {
    Named(String, Range<usize>),
    Located(String, String, Range<usize>),
}

fn mentions(document: &Document<'_>) -> Vec<Mention> {
    let mut found = Vec::new();
    for (leaf, mask, block) in document.leaves() {
        if document.is_quotation(leaf) {
            continue;
        }
        for span in leaf.prose.spans.iter().filter(|s| s.kind == SpanKind::Code) {
            let Some(code) = leaf.prose.text.get(span.plain.clone()).map(str::trim) else { continue };
            if let Some((path, name)) = code.split_once("::").filter(|(p, _)| path_in(p).is_some()) {
                let name = name.trim_end_matches("()").rsplit("::").next().unwrap_or_default();
                if NAME.is_match(name) {
                    found.push(Mention::Located(
                        path.trim_start_matches("./").to_owned(),
                        name.to_owned(),
                        span.source.clone(),
                    ));
                }
                continue;
            }
            if !matches!(block, Some(Block::RootCause | Block::Mechanism | Block::Fix)) {
                continue;
            }
            let Some(name) = NAME.captures(code).and_then(|c| c.get(1)).map(|m| m.as_str()) else { continue };
            let sentence = sentence_at(&leaf.prose, span.plain.start);
            let gone = mask.get(sentence).is_some_and(|s| GONE.is_match(s));
            if is_identifier(code, name) && !gone && NOUN.is_match(before(mask, span.plain.start, 20)) {
                found.push(Mention::Named(name.to_owned(), span.source.clone()));
            }
        }
    }
    found
}

/// What to look up.
pub(in crate::document::lint) fn want(document: &Document<'_>, wants: &mut Wants) {
    for mention in mentions(document) {
        match mention {
            Mention::Named(name, _) => {
                wants.identifiers.insert(name);
            }
            Mention::Located(path, name, _) => {
                wants.identifiers.insert(name.clone());
                wants.located.insert((path, name));
            }
        }
    }
}

fn check(document: &Document<'_>, facts: &Facts<'_>, findings: &mut Findings) {
    let known = facts.known;
    if !known.repository {
        return;
    }
    let mut said = std::collections::BTreeSet::new();
    for mention in mentions(document) {
        match mention {
            Mention::Named(name, range) => {
                if known.identifiers.get(&name) == Some(&Presence::No) && said.insert(name.clone()) {
                    findings
                        .add(range, format!("`{name}` stands nowhere in the code"))
                        .help("name it as the code does, or say that it is gone or whose it is")
                        .at_most(Severity::Warning);
                }
            }
            Mention::Located(path, name, range) => {
                let nowhere = known.identifiers.get(&name) == Some(&Presence::No);
                if known.located.get(&(path.clone(), name.clone())) == Some(&Presence::No)
                    && nowhere
                    && said.insert(format!("{path}::{name}"))
                {
                    findings
                        .add(range, format!("{path} has no `{name}`, nor has any other file"))
                        .help("name it as the code does, or say that it is gone");
                }
            }
        }
    }
}
