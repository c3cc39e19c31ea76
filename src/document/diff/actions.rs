//! Action items: opened, closed, reopened, lost, in other hands.

use crate::document::pattern::constant as regex;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::align::{bag, dice};
use super::facts::{self, Category};
use super::units::{Form, Unit};
use super::{Change, Kind, Side};
use crate::document::page::Page;

/// Two items are the same from this similarity on, when no ticket says so.
const SIMILAR: f64 = 0.5;

/// The most pairs of items that are held against each other.
const MOST_COMPARISONS: usize = 40_000;

/// An action item.
#[derive(Debug, Clone)]
struct Item {
    text: String,
    side: Side,
    done: bool,
    tickets: Vec<String>,
    owners: Vec<String>,
}

static DONE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)(?:\b(?:done|completed?|closed|merged|shipped|landed|finished|resolved)\b|✅|☑|\bfixed (?:in|by)\b)",
    )
});
static OPEN: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(?:not|to be|will be|until|when|once|after|before)(?: yet)? (?:\w+ )?$"));
/// `(Alex, JIRA-7)`, `— Alex`, `Owner: Alex`, `@alex`.
static OWNER: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?:\((\p{Lu}[\p{L}.'-]+(?: \p{Lu}[\p{L}.'-]+)?)[,;)]|(?i:owner|assignee):? *(@?[\p{L}][\w.'-]*)|(@[A-Za-z][\w-]*)|[—–-] (\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}.'-]+)?)[.,;]?$)",
    )
});

/// Whether a section of this title holds action items.
pub(super) fn holds(title: &str) -> bool {
    let title = title.to_lowercase();
    [
        "action",
        "follow-up",
        "follow up",
        "followup",
        "next step",
        "corrective",
        "todo",
        "to do",
        "remaining work",
    ]
    .iter()
    .any(|word| title.contains(word))
}

fn items(page: &Page, units: &[Unit]) -> Vec<Item> {
    let mut found: Vec<Item> = Vec::new();
    let mut last_leaf = None;
    let holding = holding(page);
    for unit in units {
        if !holding[unit.section] || !matches!(unit.form, Form::Item | Form::Row) {
            continue;
        }
        // The head of a table is no item.
        let head = matches!(
            page.leaves.get(unit.leaf).map(|l| &l.kind),
            Some(crate::document::page::Kind::Row { head: true })
        );
        if head {
            continue;
        }
        if last_leaf == Some(unit.leaf)
            && let Some(item) = found.last_mut()
        {
            item.text.push(' ');
            item.text.push_str(&unit.text);
            continue;
        }
        last_leaf = Some(unit.leaf);
        let side = Side { text: unit.text.clone(), place: unit.place };
        let done = unit.task == Some(true);
        found.push(Item { text: unit.text.clone(), side, done, tickets: Vec::new(), owners: Vec::new() });
    }
    for item in &mut found {
        item.side.text.clone_from(&item.text);
        item.done |= DONE.find_iter(&item.text).any(|m| !OPEN.is_match(&item.text[..m.start()]));
        let facts = facts::of(&item.text, &[]);
        item.tickets =
            facts.iter().filter(|f| f.category == Category::Ticket).map(|f| f.shown.clone()).collect();
        item.owners = OWNER
            .captures_iter(&item.text)
            .filter_map(|c| c.iter().skip(1).flatten().next().map(|m| m.as_str().to_owned()))
            .filter(|name| !item.tickets.iter().any(|t| t.contains(name.as_str())))
            .collect();
    }
    found
}

/// For each section whether it, or one around it, holds action items.
fn holding(page: &Page) -> Vec<bool> {
    let mut until = 0;
    page.sections
        .iter()
        .map(|section| {
            if holds(&section.title) {
                until = until.max(section.whole.end);
                return true;
            }
            section.heading.start < until
        })
        .collect()
}

/// What became of the action items.
pub(super) fn compare(old: (&Page, &[Unit]), new: (&Page, &[Unit])) -> Vec<Change> {
    let (olds, news) = (items(old.0, old.1), items(new.0, new.1));
    let mut taken = vec![false; news.len()];
    let mut twins: Vec<Option<usize>> = vec![None; olds.len()];
    // Equal ones first, then by a ticket that names one item on each side, then by their words.
    let mut waiting: HashMap<(&str, bool), Vec<usize>> = HashMap::new();
    for (at, item) in news.iter().enumerate().rev() {
        waiting.entry((&item.text, item.done)).or_default().push(at);
    }
    for (at, item) in olds.iter().enumerate() {
        if let Some(found) = waiting.get_mut(&(item.text.as_str(), item.done)).and_then(Vec::pop) {
            taken[found] = true;
            twins[at] = Some(found);
        }
    }
    let equal = twins.iter().flatten().count();
    let left = (olds.len() - equal).saturating_mul(news.len() - equal);
    let alone =
        |items: &[Item], ticket: &String| items.iter().filter(|i| i.tickets.contains(ticket)).count() == 1;
    let rounds = if left > MOST_COMPARISONS { 0..0 } else { 1..3 };
    for round in rounds {
        let bags: Vec<Vec<u64>> = news.iter().map(|n| bag(&n.text)).collect();
        for (at, item) in olds.iter().enumerate() {
            if twins[at].is_some() {
                continue;
            }
            let own = bag(&item.text);
            let score = |candidate: usize| -> f64 {
                let other = &news[candidate];
                match round {
                    1 => f64::from(u8::from(
                        item.tickets
                            .iter()
                            .any(|t| other.tickets.contains(t) && alone(&olds, t) && alone(&news, t)),
                    )),
                    _ => dice(&own, &bags[candidate]),
                }
            };
            let best = (0..news.len())
                .filter(|c| !taken[*c])
                .map(|c| (score(c), c))
                .filter(|(s, _)| *s >= SIMILAR)
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            if let Some((_, found)) = best {
                taken[found] = true;
                twins[at] = Some(found);
            }
        }
    }
    let mut changes = Vec::new();
    let mut say = |message: String, old: Option<&Item>, new: Option<&Item>| {
        changes.push(Change {
            kind: Kind::ActionItem,
            section: "Action items".to_owned(),
            message,
            old: old.map(|i| i.side.clone()),
            new: new.map(|i| i.side.clone()),
            words: Vec::new(),
        });
    };
    for (item, twin) in olds.iter().zip(&twins) {
        let Some(other) = twin.map(|t| &news[t]) else {
            let word = if item.done { "removed; it was done" } else { "lost: it was open" };
            say(word.to_owned(), Some(item), None);
            continue;
        };
        match (item.done, other.done) {
            (false, true) => say("closed".to_owned(), Some(item), Some(other)),
            (true, false) => say("reopened".to_owned(), Some(item), Some(other)),
            _ => {}
        }
        for (what, before, after) in
            [("owner", &item.owners, &other.owners), ("tracked by", &item.tickets, &other.tickets)]
        {
            if before != after {
                let shown =
                    |names: &[String]| if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
                let nothing =
                    |text: String| if what == "owner" { text } else { text.replace("nobody", "nothing") };
                say(
                    format!("{what}: {} → {}", nothing(shown(before)), nothing(shown(after))),
                    Some(item),
                    Some(other),
                );
            }
        }
    }
    for (item, _) in news.iter().zip(&taken).filter(|(_, taken)| !**taken) {
        let word = if item.done { "added, done already" } else { "opened" };
        say(word.to_owned(), None, Some(item));
    }
    changes
}
