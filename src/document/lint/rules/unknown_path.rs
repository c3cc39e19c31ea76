//! Paths that are not in the repository.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::document::lint::blocks::Block;
use crate::document::lint::words::{before, re, re_case, sentence_at};
use crate::document::lint::{Document, Facts, Findings, Known, Presence, Rule, Severity, Wants};
use crate::document::page::SpanKind;

/// The rule.
pub const RULE: Rule = Rule {
    name: "unknown-path",
    severity: Severity::Error,
    elsewhere: Some(Severity::Error),
    about: "a path that the repository does not have and never had",
    docs: "Only where it is clear: a code span that is nothing but a path with a slash and an extension, whose first \
           directory this repository has; or an address `…/blob/…` of this repository's own home. A path that the \
           history knows is fine, and so is one that the sentence says is missing, removed or still to come, and one in \
           an action item. In a shallow clone the answer is \"cannot tell\", a note.",
    bad: "## Root cause\n\nThe second lock is taken in `src/laoder.c`.\n",
    good: "## Root cause\n\nThe second lock is taken in `src/loader.c:17`, which `src/old.c` did not do.\n",
    facts: || {
        let mut known = Known { repository: true, ..Known::default() };
        known.paths.insert("src/laoder.c".to_owned(), Presence::No);
        known.paths.insert("src/loader.c".to_owned(), Presence::Yes);
        known.paths.insert("src/old.c".to_owned(), Presence::Yes);
        (known, None)
    },
    check,
};

static PATH: LazyLock<Regex> = LazyLock::new(|| {
    re_case(
        r"^(?:\./)?((?:[A-Za-z0-9_@+.-]+/)+[A-Za-z0-9_@+.-]+\.[A-Za-z][A-Za-z0-9]{0,9})(?:(?::\d+){1,2}(?:-\d+)?|#L\d+(?:-L\d+)?|::[\w:~]+(?:\(\))?|\(\d+\))?$",
    )
});

static BLOB: LazyLock<Regex> =
    LazyLock::new(|| re(r"^https?://([^/\s]+/[^/\s]+/[^/\s]+?)(?:/-)?/blob/([^/\s]+)/([^\s#?]+)"));

static ABSENT: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:no longer|does not exist|did not exist|missing|absent|removed|deleted|renamed|moved|will|would|should|to be|planned|never|not (?:yet|found|present)|generated|created at|temporary|instead of|upstream|build output)\b|n['’]t\b",
    )
});

/// The path in a code span, without a line or a name behind it.
pub(super) fn path_in(code: &str) -> Option<&str> {
    let path = PATH.captures(code.trim())?.get(1)?.as_str();
    let odd = path.split('/').any(|part| part.is_empty() || part == ".." || part == ".");
    let host = path.split('/').next().is_some_and(|first| first.contains('.') && !first.starts_with('.'));
    (!odd && !host && path.len() <= 300).then_some(path)
}

fn mentions(document: &Document<'_>, is_home: impl Fn(&str) -> bool) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    for (leaf, mask, block) in document.leaves() {
        if block == Some(Block::Actions) || document.is_quotation(leaf) {
            continue;
        }
        for span in leaf.prose.spans.iter().filter(|s| s.kind == SpanKind::Code) {
            let Some(path) = leaf.prose.text.get(span.plain.clone()).and_then(path_in) else { continue };
            let sentence = sentence_at(&leaf.prose, span.plain.start);
            let around = mask.get(sentence).unwrap_or_default();
            let other = before(&leaf.prose.text, span.plain.start, 40).contains("upstream");
            if !ABSENT.is_match(around) && !other {
                found.push((path.to_owned(), span.source.clone()));
            }
        }
        for (target, range) in &leaf.prose.links {
            if let Some(caps) = BLOB.captures(target)
                && is_home(&caps[1])
                && caps[3].contains('/')
                && path_in(&caps[3]) == Some(&caps[3])
            {
                found.push((caps[3].to_owned(), range.clone()));
            }
        }
    }
    found
}

/// What to look up.
pub(in crate::document::lint) fn want(document: &Document<'_>, homes: &[String], wants: &mut Wants) {
    let home = |place: &str| homes.iter().any(|h| h.eq_ignore_ascii_case(place));
    wants.paths.extend(mentions(document, home).into_iter().map(|(path, _)| path));
}

fn check(document: &Document<'_>, facts: &Facts<'_>, findings: &mut Findings) {
    if !facts.known.repository {
        return;
    }
    let mut said = std::collections::BTreeSet::new();
    for (path, range) in mentions(document, |place| facts.known.is_home(place)) {
        let presence = facts.known.path(&path);
        if !matches!(presence, Presence::No | Presence::Shallow) || !said.insert(path.clone()) {
            continue;
        }
        if presence == Presence::No {
            findings
                .add(range, format!("there is no {path} in this repository, and its history knows none"))
                .help("name the file as it is called at HEAD, or say that it is gone");
        } else {
            findings
                .add(
                    range,
                    format!("cannot tell whether {path} ever existed: this clone is shallow or partial"),
                )
                .help("git fetch --unshallow, or check in a full clone")
                .at_most(Severity::Note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_other_code() {
        for (code, path) in [
            ("src/a.rs", Some("src/a.rs")),
            ("./src/a.rs:17:3", Some("src/a.rs")),
            ("tada/prim.h::syncWaitPeer", Some("tada/prim.h")),
            (".github/workflows/ci.yml", Some(".github/workflows/ci.yml")),
            ("src/a.rs#L10-L12", Some("src/a.rs")),
            ("a/b", None),
            ("example.org/a.html", None),
            ("../a/b.c", None),
            ("/etc/hosts.conf", None),
            ("~/a/b.c", None),
            ("kernels/**/*.cu", None),
            ("https://x.test/a.b", None),
            ("cat src/a.rs", None),
            ("1/2.5", None),
        ] {
            assert_eq!(path_in(code), path, "{code}");
        }
    }
}
