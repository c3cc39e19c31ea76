//! The order of a timeline.

use super::times::{clocks, day, offset};
use crate::document::lint::blocks::Block;
use crate::document::lint::{Document, Facts, Findings, Rule, Severity, no_facts};
use crate::document::page::Kind;

/// The rule.
pub const RULE: Rule = Rule {
    name: "timeline-order",
    severity: Severity::Warning,
    elsewhere: Some(Severity::Warning),
    about: "an entry of the timeline stands behind a later one",
    docs: "Either the order is wrong or the time is. Read are list items and rows that begin with a time; a date counts \
           until the next one, a time that falls after a late evening hour begins a new day, zones are reckoned in where \
           their offset is certain, and a timeline that runs backwards throughout is fine.",
    bad: "## Timeline (UTC)\n\n- 14:05 the first job hung\n- 13:20 the queue was stopped\n- 15:00 it worked again\n",
    good: "## Timeline (UTC)\n\n- 14:05 the first job hung\n- 14:20 the queue was stopped\n- 15:00 it worked again\n",
    facts: no_facts,
    check,
};

struct Entry {
    at: i64,
    dated: bool,
    place: std::ops::Range<usize>,
    shown: String,
}

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    for section in document.sections(Block::Timeline) {
        let mut lists: Vec<Vec<Entry>> = vec![Vec::new()];
        let mut date: Option<i64> = None;
        let mut zone: Option<Option<i64>> = None;
        for leaf in document.page.leaves_in(section) {
            let text = &leaf.prose.text;
            if !matches!(leaf.kind, Kind::Item { .. } | Kind::Row { head: false }) || leaf.lists > 1 {
                // A day on a line of its own, or prose between two lists.
                if let Some((d, _)) = day(text) {
                    date = Some(d);
                } else if leaf.lists <= 1 {
                    lists.push(Vec::new());
                }
                continue;
            }
            let own = day(text).filter(|(_, range)| range.start < 24);
            // `02/13`: nobody knows which is the month.
            let slashed = text
                .char_indices()
                .take(16)
                .any(|(at, c)| c == '/' && text[..at].ends_with(|c: char| c.is_ascii_digit()));
            if slashed && own.is_none() {
                date = None;
                lists.push(Vec::new());
            }
            if let Some((d, _)) = &own {
                date = Some(*d);
            }
            let Some(clock) = clocks(text).into_iter().next() else { continue };
            let early = text[..clock.range.start].chars().filter(|c| c.is_alphabetic()).count() <= 16;
            if !early || clock.range.start > 48 {
                continue;
            }
            let east = match &clock.zone {
                Some(z) => offset(z),
                None => Some(0),
            };
            // Entries of an unknown offset can only be held against entries of the same.
            if clock.zone.is_some()
                && zone.is_some_and(|z| z != east)
                && (east.is_none() || zone == Some(None))
            {
                lists.push(Vec::new());
            }
            zone = Some(east);
            let at = date.unwrap_or(0) * 1440 + clock.minutes - east.unwrap_or(0);
            let Some(list) = lists.last_mut() else { continue };
            if list.last().is_some_and(|e| e.dated != date.is_some()) {
                lists.push(Vec::new());
            }
            if let Some(list) = lists.last_mut() {
                list.push(Entry {
                    at,
                    dated: own.is_some(),
                    place: leaf.prose.source(&clock.range),
                    shown: text[clock.range.clone()].to_owned(),
                });
                if let Some(last) = list.last_mut() {
                    last.dated = date.is_some();
                }
            }
        }
        for list in lists {
            judge(list, findings);
        }
    }
}

fn judge(list: Vec<Entry>, findings: &mut Findings) {
    if list.len() < 2 {
        return;
    }
    let falls = list.windows(2).filter(|w| w[1].at < w[0].at).count();
    let rises = list.windows(2).filter(|w| w[1].at > w[0].at).count();
    // Newest first is an order too.
    if rises == 0 && falls > 1 || falls > 2 && falls >= 2 * rises {
        return;
    }
    let mut previous: Option<(i64, String)> = None;
    let mut added = 0;
    for entry in list {
        let mut at = entry.at + added;
        if let Some((before, shown)) = &previous
            && at < *before
        {
            // Past midnight: more than half a day back is the next day, where no date says otherwise.
            if !entry.dated && *before - at > 720 {
                added += 1440;
                at += 1440;
            } else {
                findings
                    .add(entry.place, format!("{} stands behind {shown}", entry.shown))
                    .help("put the entries in order, or mend the time");
            }
        }
        previous = Some((at, entry.shown));
    }
}
