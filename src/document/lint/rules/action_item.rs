//! Action items: what, owner, tracking link.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::none_without_reason::lead_length;
use crate::document::lint::blocks::Block;
use crate::document::lint::words::{re, re_case};
use crate::document::lint::{Document, Facts, Findings, Rule, Severity, no_facts};
use crate::document::page::{Kind, Leaf};
use crate::document::postmortem::GAP;

/// The rule.
pub const RULE: Rule = Rule {
    name: "action-item",
    severity: Severity::Error,
    elsewhere: Some(Severity::Warning),
    about: "an action item without what, owner or tracking link",
    docs: "Each item says what, who owns it (a person or a team) and where it is tracked (a ticket, a pull request, an \
           address, a commit). The owner may stand in brackets (`(Alex, JIRA-1)`), behind `Owner:` or `@`, before the \
           item in bold, as the subject (`Alex will …`), or in a column of a table. In documents of other houses one \
           warning says how many items lack it.",
    bad: "## Action items\n\n- Audit the other callers for the same lock. (Filed as LOAD-12.)\n",
    good: "## Action items\n\n- Audit the other callers for the same lock. (Sam, LOAD-12.)\n",
    facts: no_facts,
    check,
};

/// An action item, however it is written.
pub(super) struct Item {
    /// What is to be done.
    pub(super) what: String,
    /// Where it stands.
    pub(super) place: Range<usize>,
    owner: bool,
    tracked: bool,
}

static TRACKING: LazyLock<Regex> = LazyLock::new(|| {
    re_case(
        r"https?://|\b[A-Z][A-Z0-9_]{1,14}-\d{1,7}\b|(?:^|[^\w&])[#!]\d{1,7}\b|\b[\w.-]+/[\w.-]+[#!]\d+\b|\b(?i:PR|MR|GH|issue|ticket|bug|pull request|merge request|task|card)[ :#-]*\d{1,9}\b|\b(?i:commit|revision)\s+[0-9a-f]{7,40}\b|\bb/\d+\b|\b[TD]\d{3,}\b",
    )
});

/// What stands in brackets or after a dash and is no owner.
static NO_OWNER: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"^(?:filed|tracked|tracking|merged|landed|done|closed|open(?:ed)?|in progress|wip|started|completed?|finished|fixed|deployed|shipped|scheduled|pending|planned|see|cf|e\.?g|i\.?e|if|when|or|and|with|without|such|also|not|no|because|since|as|the|a|an|this|that|which|for|from|in|on|at|to|of|by (?:end|next|the|q\d|\d)|due|eta|est|priority|p\d|high|low|medium|prevent|mitigate|process|detect|repair|investigate|tbd|todo|none|nobody|unassigned|unowned|unknown|n/a|\?+|jira|linear|github|gitlab|issue|ticket|pr|mr|bug|story|epic|optional|blocked|q[1-4]|january|february|march|april|may|june|july|august|september|october|november|december|mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|\d)\b",
    )
});

static OWNER_WORD: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"(?:\b(?:owners?|owned by|assignees?|assigned to|dri|responsible|who|lead|point person|contact)\b\**\s*[:=]?\s*\**\s*(?:is\s+)?)([^\s,;.)|*][^,;.)|\n*]{0,60})",
    )
});

static NO_ONE: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"^[\[(<]?(?:tbd|todo|tbc|none|nobody|no one|unassigned|unknown|n/?a|\?+|-+|—|to be (?:decided|determined|assigned)|x+|open)\b|^$|^[?\-—.]+$",
    )
});

static SUBJECT: LazyLock<Regex> = LazyLock::new(|| {
    re_case(
        r"^(?:\[[ xX]\]\s*)?(@?[A-Z][\w'’.-]*(?:\s+(?:[A-Z][\w'’.-]*|team|and|&)){0,4})\s*(?:will|to|is going to|has|owns|should|must|[:—–-])\s",
    )
});

static HANDLE: LazyLock<Regex> =
    LazyLock::new(|| re_case(r"(?:^|[\s(\[,;:*—–-])@[A-Za-z0-9][\w./-]*[A-Za-z0-9]"));

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    re_case(
        r"^@?[\p{Lu}][\p{L}\p{M}'’.-]*(?:[\s/&+]+(?:and\s+|the\s+|of\s+|von\s+|van\s+|de\s+)?[\p{L}\p{M}'’.()-]+){0,4}$",
    )
});

static TEAM: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:team|squad|group|guild|engineering|infra|infrastructure|platform|sre|ops|devops|security|qa|oncall|on-call|maintainers?|owners?)\b",
    )
});

/// Whether words are somebody who can own something.
fn is_owner(text: &str) -> bool {
    let text = text.trim().trim_matches(['.', ',', ';', ':', '*', '_', '[', ']', '(', ')', ' ']);
    let words = text.split_whitespace().count();
    if text.is_empty() || words > 6 || NO_ONE.is_match(text) || NO_OWNER.is_match(text) {
        return false;
    }
    if text.starts_with('@') && text.len() > 1 {
        return true;
    }
    // A ticket or a constant is no name; `SRE`, `QA` and `Infra` are teams.
    let shouted = text.chars().any(|c| c.is_ascii_digit()) && !text.contains(' ');
    !shouted && (NAME.is_match(text) || words <= 4 && TEAM.is_match(text))
}

/// Whether an item's words name its owner.
fn owned(text: &str) -> bool {
    if HANDLE.is_match(text) {
        return true;
    }
    for caps in OWNER_WORD.captures_iter(text) {
        let who = caps[1].trim();
        // `owner: alex` counts in lower case as well; `lead to` and `who call` do not.
        let whole = caps.get(0).map_or("", |m| m.as_str());
        let marked = whole.contains([':', '='])
            || whole.to_lowercase().starts_with("own")
            || whole.to_lowercase().starts_with("assign");
        if (marked && !NO_ONE.is_match(who)) || is_owner(who) {
            return true;
        }
    }
    // Each part of each pair of brackets, and what stands behind each dash.
    let mut rest = text;
    while let Some(open) = rest.find(['(', '[']) {
        let Some(close) = rest[open..].find([')', ']']).map(|at| open + at) else { break };
        let inside = &rest[open + 1..close];
        if inside.split([',', ';', '·', '|', '/', '—', '–']).chain(inside.split(" - ")).any(is_owner) {
            return true;
        }
        rest = &rest[close + 1..];
    }
    let tail = text.trim_end().trim_end_matches('.');
    for dash in [" — ", " – ", " - ", " -- "] {
        let names = |who: &str| {
            who.split([',', ';', '(']).any(|w| {
                is_owner(w) && w.split_whitespace().count() <= 3 && w.trim().starts_with(char::is_uppercase)
            })
        };
        if tail.split(dash).skip(1).any(names) {
            return true;
        }
    }
    SUBJECT.captures(text.trim_start()).is_some_and(|caps| {
        let who = caps[1].trim();
        let first = who.split_whitespace().next().unwrap_or_default();
        // An item may start with its verb: "Add to the list", "Related: audit", "Move to X".
        let common = super::people::is_first_name(first)
            || who.starts_with('@')
            || TEAM.is_match(who)
            || who.split_whitespace().count() == 2
                && NAME.is_match(who)
                && super::people::is_first_name(first);
        common && !NO_OWNER.is_match(who)
    })
}

/// A table's columns by their head.
#[derive(Default, Clone, Copy)]
struct Columns {
    owner: Option<usize>,
    tracking: Option<usize>,
    what: Option<usize>,
}

impl Columns {
    fn of(head: &str) -> Self {
        let mut columns = Self::default();
        for (n, cell) in head.split(" | ").enumerate() {
            let cell = cell.to_lowercase();
            let is = |words: &[&str]| words.iter().any(|w| cell.contains(w));
            if is(&["owner", "assign", "who", "responsible", "dri", "person", "team", "lead"]) {
                columns.owner.get_or_insert(n);
            } else if is(&[
                "ticket",
                "issue",
                "link",
                "tracking",
                "bug",
                "jira",
                "pr",
                "reference",
                "task id",
                "url",
            ]) && !is(&["prevent", "priority", "improve", "process", "progress"])
            {
                columns.tracking.get_or_insert(n);
            } else if is(&["action", "item", "what", "task", "description", "todo", "step"]) {
                columns.what.get_or_insert(n);
            }
        }
        columns
    }
}

/// The items of a document.
pub(super) fn items(document: &Document<'_>) -> Vec<Item> {
    let page = &document.page;
    let leaves: Vec<(&Leaf, &str)> = document.prose(Block::Actions).collect();
    let listed = leaves.iter().any(|(l, _)| matches!(l.kind, Kind::Item { .. } | Kind::Row { .. }));
    let top = leaves.iter().filter(|(l, _)| l.lists > 0).map(|(l, _)| l.lists).min().unwrap_or(0);
    let mut found: Vec<Item> = Vec::new();
    let mut columns = Columns::default();
    let mut ideas = false;
    let mut last_item: Option<Range<usize>> = None;
    // Top items that only name a group: `Short term:` above a list.
    let is_label = |n: usize| {
        let text = leaves[n].0.prose.text.trim_end();
        leaves.get(n + 1).is_some_and(|(next, _)| next.lists > leaves[n].0.lists)
            && (text.ends_with(':') || text.split_whitespace().count() <= 3)
    };
    let mut below_label = false;
    for (n, (leaf, mask)) in leaves.iter().enumerate() {
        let source = &page.text[leaf.range.clone()];
        if leaf.quotes > 0 && source.starts_with(&GAP[2..]) {
            continue;
        }
        let tracked = |leaf: &Leaf, text: &str| !leaf.prose.links.is_empty() || TRACKING.is_match(text);
        match leaf.kind {
            Kind::Item { .. } => {
                if ideas {
                    continue;
                }
                let text = leaf.prose.text.trim();
                let same = leaf.item.is_some() && leaf.item == last_item;
                let nested = leaf.lists > top && !below_label;
                if same || nested {
                    // A second paragraph, or details below: they may name what the item itself does not.
                    if let Some(item) = found.last_mut() {
                        item.owner |= owned(text);
                        item.tracked |= tracked(leaf, text);
                    }
                    continue;
                }
                if leaf.lists == top {
                    below_label = is_label(n);
                    if below_label {
                        continue;
                    }
                }
                last_item.clone_from(&leaf.item);
                found.push(Item {
                    what: mask.trim().to_owned(),
                    place: leaf.range.clone(),
                    owner: owned(text),
                    tracked: tracked(leaf, text),
                });
            }
            Kind::Row { head: true } => columns = Columns::of(&leaf.prose.text),
            Kind::Row { head: false } => {
                let cells: Vec<&str> = leaf.prose.text.split(" | ").map(str::trim).collect();
                if cells.iter().all(|c| c.is_empty()) {
                    continue;
                }
                let cell = |n: Option<usize>| n.and_then(|n| cells.get(n).copied());
                let what = cell(columns.what)
                    .unwrap_or_else(|| cells.iter().max_by_key(|c| c.len()).copied().unwrap_or_default());
                found.push(Item {
                    what: what.to_owned(),
                    place: leaf.range.clone(),
                    owner: match cell(columns.owner) {
                        Some(owner) => !NO_ONE.is_match(owner),
                        None => cells.iter().any(|c| is_owner(c) && *c != what) || owned(&leaf.prose.text),
                    },
                    tracked: cell(columns.tracking).is_some_and(|c| !NO_ONE.is_match(c))
                        || tracked(leaf, &leaf.prose.text),
                });
            }
            _ => {
                ideas = leaf.prose.text.trim_start().starts_with("Ideas that the ledger still holds open");
                let skip = lead_length(document, leaf.range.start, &leaf.prose);
                let text = leaf.prose.text.get(skip..).unwrap_or_default().trim();
                let none = text.to_lowercase();
                let nothing = ["none", "no ", "n/a", "nothing", "not applicable", "every action item should"]
                    .iter()
                    .any(|w| none.starts_with(w));
                // Prose beside a list introduces it.
                if !listed && !text.is_empty() && !nothing && !text.ends_with(':') && found.is_empty() {
                    found.push(Item {
                        what: text.to_owned(),
                        place: leaf.range.clone(),
                        owner: owned(text),
                        tracked: tracked(leaf, text),
                    });
                }
            }
        }
    }
    let nothing = |what: &str| {
        let what = what.trim().trim_end_matches('.').to_lowercase();
        what == "none" || what.starts_with("none ") || what.starts_with("none:") || what.starts_with("n/a")
    };
    found.retain(|i| !nothing(&i.what));
    found
}

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    let items = items(document);
    if !document.house {
        let without = |missing: &dyn Fn(&Item) -> bool| items.iter().filter(|i| missing(i)).count();
        let (no_owner, no_link) = (without(&|i| !i.owner), without(&|i| !i.tracked));
        let place = items.iter().find(|i| !i.owner || !i.tracked).map(|i| i.place.clone());
        if let Some(place) = place {
            let all = items.len();
            let part = |n: usize, what: &str| {
                (n > 0).then(|| {
                    format!("{n} of {all} action items {} no {what}", if n == 1 { "has" } else { "have" })
                })
            };
            let parts: Vec<String> =
                [part(no_owner, "owner"), part(no_link, "tracking link")].into_iter().flatten().collect();
            findings.add(place, parts.join(", ")).help("write each as what, owner and tracking link");
        }
        return;
    }
    for item in items {
        let words = item
            .what
            .split_whitespace()
            .filter(|w| w.chars().any(char::is_alphabetic) && !TRACKING.is_match(w))
            .count();
        let missing: Vec<&str> = [
            (words < 2 && !item.what.contains('_')).then_some("what"),
            (!item.owner).then_some("owner"),
            (!item.tracked).then_some("tracking link"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if missing.is_empty() {
            continue;
        }
        let said = match missing.as_slice() {
            ["what"] => "this action item does not say what is to be done".to_owned(),
            ["what", rest @ ..] => format!(
                "this action item does not say what is to be done, and has no {}",
                rest.join(" and no ")
            ),
            rest => format!("this action item has no {}", rest.join(" and no ")),
        };
        findings.add(item.place, said).help(match missing.as_slice() {
            ["tracking link"] => "add the ticket, pull request or address where it is tracked",
            ["owner"] => "add who owns it: a person or a team, such as (Alex, JIRA-12)",
            _ => "write what, owner and tracking link, such as: Add the case to nightly. (Alex, JIRA-12)",
        });
    }
}
