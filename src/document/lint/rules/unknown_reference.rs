//! Pull requests and incidents that are not known here.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::document::lint::blocks::Block;
use crate::document::lint::words::{before, re, re_case};
use crate::document::lint::{Document, Facts, Findings, Known, Presence, Rule, Severity, Wants};

/// The rule.
pub const RULE: Rule = Rule {
    name: "unknown-reference",
    severity: Severity::Error,
    elsewhere: Some(Severity::Warning),
    about: "a pull request or incident that the repository does not know",
    docs: "Where the history names its pull requests (`Subject (#12)`, `Merge pull request #12`), one that is said to be \
           merged and that no commit and no link of the ledger names is an error; one that is only mentioned may be \
           open, which is a warning. An incident that the document's own comment names and that the ledger does not \
           hold is a warning. No forge is asked. In a shallow clone the answer is \"cannot tell\".",
    bad: "## Fix\n\nMerged in PR #9999: the lock is taken once.\n",
    good: "## Fix\n\nMerged in PR #12: the lock is taken once.\n",
    facts: || {
        let mut known = Known { repository: true, ..Known::default() };
        known.pulls.insert(9999, Presence::No);
        known.pulls.insert(12, Presence::Yes);
        (known, None)
    },
    check,
};

static PULL: LazyLock<Regex> =
    LazyLock::new(|| re(r"\b(?:PRs?|pull requests?|MRs?|merge requests?)\s*[#!]?(\d{1,7})\b"));
static PULL_URL: LazyLock<Regex> = LazyLock::new(|| {
    re(r"^https?://([^/\s]+/[^/\s]+/[^/\s]+?)(?:/-)?/(?:pull|merge_requests)/(\d{1,7})(?:$|\D)")
});
static MERGED: LazyLock<Regex> =
    LazyLock::new(|| re(r"\b(?:merged|landed|shipped|released|deployed)\b[^.;]{0,40}$"));
static TICKET: LazyLock<Regex> = LazyLock::new(|| re_case(r"\b[A-Z][A-Z0-9]{1,9}-\d{1,7}\b"));

/// Number, place, whether it is said to be merged.
fn mentions(document: &Document<'_>, is_home: impl Fn(&str) -> bool) -> Vec<(u64, Range<usize>, bool)> {
    let mut found = Vec::new();
    for (leaf, mask, _) in document.leaves() {
        if document.is_quotation(leaf) {
            continue;
        }
        for caps in PULL.captures_iter(mask) {
            let (Some(whole), Some(n)) = (caps.get(0), caps[1].parse().ok()) else { continue };
            let source = leaf.prose.source(&whole.range());
            // A link says itself whose it is.
            let linked = leaf.prose.links.iter().any(|(_, r)| r.start <= source.start && source.end <= r.end);
            let foreign = before(mask, whole.start(), 60)
                .split(|c: char| c.is_whitespace() || c == '(')
                .rev()
                .take(2)
                .any(|w| {
                    w.contains('/')
                        || matches!(
                            w.to_lowercase().trim_end_matches("'s"),
                            "upstream" | "pytorch" | "vendor"
                        )
                });
            if !linked && !foreign {
                let merged = MERGED.is_match(before(mask, whole.start(), 60));
                found.push((n, source, merged));
            }
        }
        for (target, range) in &leaf.prose.links {
            if let Some(caps) = PULL_URL.captures(target)
                && is_home(&caps[1])
                && let Ok(n) = caps[2].parse()
            {
                found.push((n, range.clone(), false));
            }
        }
    }
    found
}

/// What to look up.
pub(in crate::document::lint) fn want(document: &Document<'_>, homes: &[String], wants: &mut Wants) {
    let home = |place: &str| homes.iter().any(|h| h.eq_ignore_ascii_case(place));
    wants.pulls.extend(mentions(document, home).into_iter().map(|(n, ..)| n));
    let mut tickets = |text: &str| {
        wants.tickets.extend(TICKET.find_iter(text).map(|m| m.as_str().to_lowercase()));
    };
    tickets(document.page.title().unwrap_or_default());
    for (leaf, _) in document.prose(Block::Summary) {
        tickets(&leaf.prose.text);
    }
    let stem = document.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".md");
    if !stem.is_empty() {
        wants.tickets.insert(stem.to_lowercase());
    }
}

fn check(document: &Document<'_>, facts: &Facts<'_>, findings: &mut Findings) {
    if facts.incident_missing {
        let comment = document
            .page
            .comments
            .iter()
            .find(|c| document.page.comment(c).contains("incident="))
            .cloned()
            .unwrap_or(0..0);
        let id: String = document.incident.unwrap_or_default().chars().take(12).collect();
        findings
            .add(comment, format!("the ledger here holds no incident {id:?}"))
            .help("fetch it: git incident sync; or mend the comment")
            .at_most(Severity::Warning);
    }
    if !facts.known.repository {
        return;
    }
    for (n, range, merged) in mentions(document, |place| facts.known.is_home(place)) {
        let linked = facts.ledger.is_some_and(|l| {
            l.pulls.iter().any(|p| p.split(|c: char| !c.is_ascii_digit()).any(|d| d.parse() == Ok(n)))
        });
        match facts.known.pulls.get(&n) {
            Some(Presence::No) if !linked => {
                let finding = findings.add(range, format!("no commit here names pull request #{n}"));
                finding.help("mend the number, or say that it is not merged yet");
                if !merged {
                    finding.at_most(Severity::Warning);
                }
            }
            Some(Presence::Shallow) if !linked && merged => {
                findings
                    .add(range, format!("cannot tell whether pull request #{n} was merged: this clone is shallow or partial"))
                    .at_most(Severity::Note);
            }
            _ => {}
        }
    }
}
