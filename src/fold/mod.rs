//! The fold: from the lines of a ledger to an incident.
//!
//! Lines are a set: their order in the blob means nothing (plain `git notes merge -s cat_sort_uniq`
//! sorts them bytewise), equal lines count once, and any union of two ledgers is a ledger. The order
//! comes from inside: the events are a DAG by their `parents`, taken topologically, ties by (`at`, `id`).

mod order;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet, hash_map};

use crate::event::line::{self, Body};
use crate::event::{Context, Event, EventType, IncidentOpened, Line};
use crate::model::incident::{Incident, Stamp};
use crate::model::{EventId, Oid};

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
    /// What is wrong with the ledger beside its lines, such as a segment that is not here; shown as damage.
    pub faults: Vec<String>,
    /// Spellings of opening events that gave way to a more erased one: any of them may be the anchor.
    former_openings: Vec<(EventId, Vec<u8>)>,
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
        let mut former_openings = Vec::new();
        for line in lines {
            match line {
                Line::Event(event) => match events.entry(event.id) {
                    Entry::Vacant(slot) => {
                        slot.insert(*event);
                    }
                    Entry::Occupied(slot) if slot.get().raw == event.raw => {}
                    Entry::Occupied(slot) => {
                        let former = slot.remove();
                        if former.type_name == OPENED {
                            former_openings.push((former.id, former.raw.clone()));
                            former_openings.push((event.id, event.raw.clone()));
                        }
                        events.insert(former.id, line::combine(former, *event));
                    }
                },
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
            faults: Vec::new(),
            former_openings,
        }
    }

    /// The events that no other event names as a parent.
    pub fn heads(&self) -> Vec<EventId> {
        heads(&self.events)
    }

    /// The incident these lines tell, when they hold an opening event.
    ///
    /// `anchor` is the note's key; `anchor_line` says whether a line is the anchor (that is, whether the
    /// blob made of it has that name): a stranger's opening event in this ledger opens nothing.
    pub fn incident(&self, anchor: &Oid, anchor_line: &dyn Fn(&[u8]) -> bool) -> Incident {
        let mut incident = Incident { id: Some(anchor.clone()), ..Incident::default() };
        let ancestry = Ancestry::of(&self.events);
        let opening = self.opening(anchor_line);
        for (i, event) in self.events.iter().enumerate() {
            incident.last_at = incident.last_at.max(event.at);
            let stamp = Stamp { event: event.id, at: event.at, by: event.by.clone() };
            if event.type_name == OPENED && opening != Some(event.id) {
                incident.damaged.push(format!(
                    "event {} opens an incident, but this is not its ledger",
                    event.id.short()
                ));
                continue;
            }
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
                    if event.type_name == OPENED {
                        incident.opened = Some(stamp);
                        incident.title.set("(erased)".to_owned(), event.id, &|_| true);
                    }
                    continue;
                }
            };
            let is_after = |other| ancestry.is_after(i, other);
            data.apply(&Context { stamp, is_after: &is_after }, &mut incident);
        }
        for line in &self.other_versions {
            if let Line::OtherVersion { version, .. } = line {
                incident
                    .unknown
                    .push(format!("a line of format version {version}, which this version does not know"));
            }
        }
        for line in &self.damaged {
            if let Line::Damaged { raw, reason } = line {
                let start: String =
                    String::from_utf8_lossy(&raw[..raw.len().min(200)]).chars().take(48).collect();
                incident.damaged.push(format!("{start:?}…: {reason}"));
            }
        }
        bound(&mut incident.damaged);
        bound(&mut incident.unknown);
        incident.damaged.extend(self.faults.iter().cloned());
        incident.settle_reverts();
        incident
    }

    /// The one event that opens the incident.
    ///
    /// It is the anchor, if that is here in any spelling. Once that was purged nothing tells its name any more, so
    /// it is the erased root on which most of the ledger stands: a stranger's own is not enough to take an
    /// incident over, nor does it make the incident disappear.
    fn opening(&self, anchor_line: &dyn Fn(&[u8]) -> bool) -> Option<EventId> {
        let current = self.events.iter().filter(|e| e.type_name == OPENED);
        let spellings = current
            .clone()
            .map(|e| (e.id, &e.raw))
            .chain(self.former_openings.iter().map(|(id, raw)| (*id, raw)));
        if let Some((id, _)) = spellings.into_iter().find(|(_, raw)| anchor_line(raw)) {
            return Some(id);
        }
        let candidate = |e: &&Event| e.parents.is_empty() && (e.by.is_none() || e.body == Body::Erased);
        let mut candidates: Vec<EventId> = current.filter(candidate).map(|e| e.id).collect();
        // Where the anchor is something else, as in a segment's note, nothing here opens an incident.
        if candidates.is_empty() || self.events.iter().any(|e| anchor_line(&e.raw)) {
            return None;
        }
        if candidates.len() > 1 {
            let standing = order::standing_on_roots(&self.events);
            candidates.sort_by_key(|id| std::cmp::Reverse(standing.get(id).copied()));
        }
        candidates.first().copied()
    }
}

/// So many lines that cannot be understood are described; a hostile ledger holds millions.
const DESCRIBED: usize = 1000;

fn bound(descriptions: &mut Vec<String>) {
    let more = descriptions.len().saturating_sub(DESCRIBED);
    if more > 0 {
        descriptions.truncate(DESCRIBED);
        descriptions.push(format!("and {more} more"));
    }
}

/// The type of opening events.
const OPENED: &str = <IncidentOpened as EventType>::TYPE;

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

/// The union of ledgers: every line once, in the order in which they stand, each ended by a newline.
///
/// An event that stands there in several spellings stands in the union in one: what is erased in any of them
/// is erased, so that a merge brings nothing back.
pub fn unite<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut seen: HashSet<&[u8]> = HashSet::new();
    let mut place: HashMap<EventId, usize> = HashMap::new();
    let mut lines: Vec<Line> = Vec::new();
    for raw in texts.into_iter().flat_map(split_lines) {
        if !seen.insert(raw) {
            continue;
        }
        let line = Line::parse(raw);
        if let Line::Event(event) = &line {
            match place.entry(event.id) {
                hash_map::Entry::Vacant(slot) => {
                    slot.insert(lines.len());
                }
                hash_map::Entry::Occupied(slot) => {
                    if let Line::Event(former) = &mut lines[*slot.get()] {
                        **former = line::combine((**former).clone(), (**event).clone());
                    }
                    continue;
                }
            }
        }
        lines.push(line);
    }
    let mut out = Vec::with_capacity(lines.iter().map(|l| l.raw().len() + 1).sum());
    for line in &lines {
        out.extend_from_slice(line.raw());
        out.push(b'\n');
    }
    out
}

#[cfg(test)]
mod tests;
