//! The fold: from the lines of a ledger to an incident.
//!
//! Lines are a set: their order in the blob means nothing (plain `git notes merge -s cat_sort_uniq`
//! sorts them bytewise), equal lines count once, and any union of two ledgers is a ledger. The order
//! comes from inside: the events are a DAG by their `parents`, taken topologically, ties by (`at`, `id`).

mod order;

use std::collections::BTreeMap;

use crate::event::line::Body;
use crate::event::{Context, Data, Event, Line};
use crate::model::incident::{Incident, Stamp};
use crate::model::{EventId, Oid, Timestamp};

pub use order::{Ancestry, sort};

/// A ledger's lines, read and freed of duplicates.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// Verified events in the order of the fold.
    pub events: Vec<Event>,
    /// Lines of other versions, sorted bytewise.
    pub other_versions: Vec<Line>,
    /// Damaged lines, sorted bytewise.
    pub damaged: Vec<Line>,
}

impl Ledger {
    /// Reads the lines of a note (and of its segments, appended). Empty lines count for nothing.
    pub fn parse(bytes: &[u8]) -> Self {
        Self::from_lines(split_lines(bytes).map(Line::parse))
    }

    /// From lines already read.
    pub fn from_lines(lines: impl IntoIterator<Item = Line>) -> Self {
        let mut events: BTreeMap<EventId, Event> = BTreeMap::new();
        let mut other_versions = BTreeMap::new();
        let mut damaged = BTreeMap::new();
        for line in lines {
            match line {
                Line::Event(event) => {
                    match events.entry(event.id) {
                        std::collections::btree_map::Entry::Vacant(slot) => {
                            slot.insert(*event);
                        }
                        // One id in two spellings: a member was erased in one of them (then that one counts,
                        // or an erased text would come back), else any rule that both sides share will do.
                        std::collections::btree_map::Entry::Occupied(mut slot) => {
                            if preference(&event) < preference(slot.get()) {
                                slot.insert(*event);
                            }
                        }
                    }
                }
                Line::OtherVersion { .. } => {
                    other_versions.insert(line.raw().to_vec(), line);
                }
                Line::Damaged { .. } => {
                    damaged.insert(line.raw().to_vec(), line);
                }
            }
        }
        Self {
            events: order::sort(events.into_values().collect()),
            other_versions: other_versions.into_values().collect(),
            damaged: damaged.into_values().collect(),
        }
    }

    /// The events that no other event names as a parent.
    pub fn heads(&self) -> Vec<EventId> {
        heads(&self.events)
    }

    /// The newest time in the ledger.
    pub fn last_at(&self) -> Timestamp {
        self.events.iter().map(|e| e.at).max().unwrap_or_default()
    }

    /// The incident these lines tell, when they hold an opening event.
    ///
    /// `anchor` is the note's key; `anchor_line` says whether a line is the anchor (that is, whether the
    /// blob made of it has that name): a stranger's opening event in this ledger opens nothing.
    pub fn incident(&self, anchor: &Oid, anchor_line: &dyn Fn(&[u8]) -> bool) -> Incident {
        let mut incident = Incident {
            id: Some(anchor.clone()),
            ..Incident::default()
        };
        let ancestry = Ancestry::of(&self.events);
        for (i, event) in self.events.iter().enumerate() {
            incident.last_at = incident.last_at.max(event.at);
            let stamp = Stamp {
                event: event.id,
                at: event.at,
                by: event.by.clone(),
            };
            let data = match &event.body {
                Body::Known(data) => data,
                Body::UnknownType => {
                    incident.unknown.push(format!(
                        "an event of type {:?} that this version does not know",
                        event.type_name
                    ));
                    continue;
                }
                Body::Malformed(reason) => {
                    incident.damaged.push(format!(
                        "event {} ({}): {reason}",
                        event.id.short(),
                        event.type_name
                    ));
                    continue;
                }
                Body::Erased => {
                    if event.type_name == "incident.opened"
                        && event.parents.is_empty()
                        && incident.opened.is_none()
                    {
                        incident.opened = Some(stamp);
                        incident.title.set("(erased)".to_owned(), event.id, &|_| true);
                    }
                    continue;
                }
            };
            if let Data::IncidentOpened(_) = data
                && !anchor_line(&event.raw)
                && !(event.by.is_none() && event.parents.is_empty())
            {
                incident.damaged.push(format!(
                    "event {} opens an incident, but this is not its ledger",
                    event.id.short()
                ));
                continue;
            }
            let is_after = |other| ancestry.is_after(i, other);
            data.apply(
                &Context {
                    stamp,
                    is_after: &is_after,
                },
                &mut incident,
            );
        }
        for line in &self.other_versions {
            if let Line::OtherVersion { version, .. } = line {
                incident.unknown.push(format!(
                    "a line of format version {version}, which this version does not know"
                ));
            }
        }
        for line in &self.damaged {
            if let Line::Damaged { raw, reason } = line {
                let start: String = String::from_utf8_lossy(raw).chars().take(48).collect();
                incident.damaged.push(format!("{start:?}…: {reason}"));
            }
        }
        incident
    }
}

/// Lines of a note without their newlines; empty ones (which `git notes append` writes) left out.
pub fn split_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|b| *b == b'\n').filter(|l| !l.is_empty())
}

/// The events of a list that no other one names as a parent, in order of their ids.
pub fn heads(events: &[Event]) -> Vec<EventId> {
    let mut ids: std::collections::BTreeSet<EventId> = events.iter().map(|e| e.id).collect();
    for event in events {
        for parent in &event.parents {
            ids.remove(parent);
        }
    }
    ids.into_iter().collect()
}

/// Which of two spellings of one event counts: the more erased one, then the bytewise smaller one.
fn preference(event: &Event) -> (bool, bool, &[u8]) {
    (event.body != Body::Erased, event.by.is_some(), &event.raw)
}

#[cfg(test)]
mod tests;
