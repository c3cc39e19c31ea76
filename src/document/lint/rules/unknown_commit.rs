//! Commits that are not in the repository.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::document::lint::words::{re, re_case};
use crate::document::lint::{Document, Facts, Findings, Known, Presence, Rule, Severity, Wants};

/// The rule.
pub const RULE: Rule = Rule {
    name: "unknown-commit",
    severity: Severity::Error,
    elsewhere: Some(Severity::Error),
    about: "a commit that the repository does not have",
    docs: "Only where it is clear that a commit of this repository is meant: after the word commit, revision or SHA, \
           or in an address `…/commit/…` of this repository's own home. Hashes of pods, images and files, and UUIDs, are \
           left alone. In a shallow or partial clone the answer is \"cannot tell\", a note.",
    bad: "## Fix\n\nCommit 0badc0ffee11 takes the lock once.\n",
    good: "## Fix\n\nCommit 600dc0ffee11 takes the lock once; pod `load-7d9f8b6c5d` had the old one.\n",
    facts: || {
        let mut known = Known { repository: true, ..Known::default() };
        known.commits.insert("0badc0ffee11".to_owned(), Presence::No);
        known.commits.insert("600dc0ffee11".to_owned(), Presence::Yes);
        (known, None)
    },
    check,
};

static HASH: LazyLock<Regex> = LazyLock::new(|| re_case(r"\b[0-9a-fA-F]{7,40}\b"));

/// What may stand between the word and its commits: `commits a, b and c`.
static SPOKEN: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:commits?|commit id|commit hash|revisions?|changesets?|git sha|sha1?|cherry-pick(?:ed)?(?: from| of)?)(?:\s+(?:id|hash|sha|is|was|of))?\s*[:#=]?\s*(?:(?:[0-9a-f]{7,40}|_{7,40})\s*(?:,|and|or|to|through|\.\.\.?|–|-|&|\(\w+\))?\s*){0,12}$",
    )
});

static URL: LazyLock<Regex> = LazyLock::new(|| {
    re(r"^https?://([^/\s]+/[^/\s]+/[^/\s]+?)(?:/-)?/commits?/([0-9a-f]{7,40})(?:$|[^0-9a-z])")
});

/// Commits that the document speaks of for certain: what was written, in lower case, and where.
fn mentions(document: &Document<'_>, is_home: impl Fn(&str) -> bool) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    for (leaf, _, _) in document.leaves() {
        let text = &leaf.prose.text;
        for hash in HASH.find_iter(text) {
            // A hash of digits alone is a number, one of letters alone a word.
            let mixed = hash.as_str().bytes().any(|b| b.is_ascii_digit())
                && hash.as_str().bytes().any(|b| b.is_ascii_alphabetic());
            let joined = |c: Option<char>| c.is_some_and(|c| matches!(c, '-' | '.' | '/' | ':' | '@' | '_'));
            let next = text[hash.end()..].chars().next();
            let inside_word = joined(text[..hash.start()].chars().next_back())
                || joined(next) && text[hash.end() + 1..].starts_with(|c: char| c.is_alphanumeric());
            if (!mixed && hash.len() < 40) || inside_word {
                continue;
            }
            let reach = super::super::words::before(text, hash.start(), 200);
            if SPOKEN.is_match(reach) && !another_repository(reach) {
                found.push((hash.as_str().to_lowercase(), leaf.prose.source(&hash.range())));
            }
        }
        for (target, range) in &leaf.prose.links {
            if let Some(caps) = URL.captures(target)
                && is_home(&caps[1])
            {
                found.push((caps[2].to_lowercase(), range.clone()));
            }
        }
    }
    found
}

/// `org/other commit 0123abc`, `upstream commit …`: somebody else's.
fn another_repository(before: &str) -> bool {
    static OTHER: LazyLock<Regex> = LazyLock::new(|| {
        re(
            r"(?:\b(?:upstream|linux|kernel|llvm|pytorch|vendor|driver|their|[\w.-]+/[\w.-]+)(?:['’]s)?\s+(?:commits?|revisions?|sha)\b|\b(?:docker|image|container|digest|pod|sha256)\b)[^.]{0,60}$",
        )
    });
    OTHER.is_match(before)
}

/// What to look up.
pub(in crate::document::lint) fn want(document: &Document<'_>, homes: &[String], wants: &mut Wants) {
    let home = |place: &str| homes.iter().any(|h| h.eq_ignore_ascii_case(place));
    wants.commits.extend(mentions(document, home).into_iter().map(|(id, _)| id));
}

fn check(document: &Document<'_>, facts: &Facts<'_>, findings: &mut Findings) {
    if !facts.known.repository {
        return;
    }
    for (id, range) in mentions(document, |place| facts.known.is_home(place)) {
        match facts.known.commit(&id) {
            Presence::No => {
                findings
                    .add(range, format!("there is no commit {id} in this repository"))
                    .help("after a rebase or a squash, name the commit that landed");
            }
            Presence::Shallow => {
                findings
                    .add(
                        range,
                        format!("cannot tell whether commit {id} exists: this clone is shallow or partial"),
                    )
                    .help("git fetch --unshallow, or check in a full clone")
                    .at_most(Severity::Note);
            }
            Presence::Yes | Presence::Unknown => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::lint::Profile;

    fn spoken(text: &str) -> Vec<String> {
        let document = Document::read("x.md", text, Profile::Bugfix);
        let home = |place: &str| place == "example.org/a/b";
        mentions(&document, home).into_iter().map(|(id, _)| id).collect()
    }

    #[test]
    fn only_clear_context_counts() {
        assert_eq!(
            spoken("Commit `0123abc`, see commits 1234abc, 2345abc and `3456abc`."),
            ["0123abc", "1234abc", "2345abc", "3456abc"]
        );
        assert_eq!(
            spoken(
                "[x](https://example.org/a/b/commit/0123abcd) [y](https://example.org/a/c/commit/9123abcd)"
            ),
            ["0123abcd"]
        );
        for text in [
            "pod `hub-7d9f8b6c5d-abc12` was killed",
            "image sha256:0123456789abcdef0123456789abcdef01234567",
            "event `3b3e4d10f7ff` and evidence `9237fe83c826`",
            "upstream commit 0123abc",
            "other/place commit 0123abc",
            "the commit 1234567 times",
            "commit messages; the pod 0123abc",
            "id 123e4567-e89b-12d3-a456-426614174000",
        ] {
            assert!(spoken(text).is_empty(), "{text}: {:?}", spoken(text));
        }
    }
}
