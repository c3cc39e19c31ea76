//! Segments: the notes in which a long ledger goes on, and what a writer has to read of them.

use std::collections::HashSet;

use crate::event::{Data, Event, Line, line};
use crate::fold::{self, Ledger};
use crate::git::Repo;
use crate::model::{EventId, Oid, Result, Timestamp};

use super::ledger::is_anchor;
use super::travelling::{LEDGER, read};

/// Where new events go on.
pub(super) struct End {
    /// What the next event names as its parents.
    pub(super) heads: Vec<EventId>,
    /// The newest time of the heads.
    pub(super) after: Timestamp,
}

impl End {
    pub(super) fn of(ledger: &Ledger) -> Self {
        Self::at(ledger, &ledger.heads())
    }

    /// No event may name more parents than [`line::MAX_PARENTS`]: of more heads the newest.
    fn at(ledger: &Ledger, heads: &[EventId]) -> Self {
        let mut newest: Vec<(Timestamp, EventId)> = ledger
            .events
            .iter()
            .filter(|e| heads.binary_search(&e.id).is_ok())
            .map(|e| (e.at, e.id))
            .collect();
        newest.sort_unstable_by_key(|head| std::cmp::Reverse(*head));
        newest.truncate(line::MAX_PARENTS);
        Self {
            after: newest.first().map(|(at, _)| *at).unwrap_or_default(),
            heads: newest.into_iter().map(|(_, id)| id).collect(),
        }
    }
}

/// What a writer must know of a ledger: where it ends, and where to write.
pub(super) struct Tail {
    /// Where it ends.
    pub(super) end: End,
    /// The segment to write to, and what stands there; none while there is only the first note.
    pub(super) segment: Option<(Oid, Vec<u8>)>,
    /// How long the note to write to is.
    pub(super) bytes: usize,
}

impl Tail {
    pub(super) fn read(repo: &Repo, incident: &Oid, first: &[u8]) -> Result<Self> {
        let lines = lines_in(first);
        let mut older = segments_in(&lines);
        while let Some(anchor) = older.pop() {
            let text = read(repo, LEDGER.kept, &anchor)?;
            let last = lines_in(&text);
            if is_segment_of(incident, &anchor, &last) {
                let end = match end_without(repo, &older, &anchor, lines, last) {
                    Some(end) => end,
                    None => End::of(&load(repo, incident, first)),
                };
                return Ok(Self { end, bytes: text.len(), segment: Some((anchor, text)) });
            }
        }
        Ok(Self { end: End::of(&Ledger::from_lines(lines)), segment: None, bytes: first.len() })
    }
}

/// Where a ledger ends, from its first note and its last segment alone; `None` when the older segments must be read.
///
/// A segment begins with an event that joins all heads its writer knew. What looks like a head in the first note
/// has its children in an older segment: that segment's first event (whose line is the segment's anchor, a blob
/// that is read at next to no cost), or what follows a `ledger.continued`. Any other one may be an event of a
/// clone that did not know of the segment, and so may a whole segment.
fn end_without(
    repo: &Repo,
    older: &[Oid],
    last_anchor: &Oid,
    first: Vec<Line>,
    last: Vec<Line>,
) -> Option<End> {
    if older.is_empty() {
        return Some(End::of(&Ledger::from_lines(first.into_iter().chain(last))));
    }
    let in_last: HashSet<EventId> = last.iter().filter_map(Line::event).map(|e| e.id).collect();
    let anchors = older.iter().filter_map(|o| repo.blob(o).ok()).flat_map(|b| lines_in(&b));
    let ledger = Ledger::from_lines(first.into_iter().chain(anchors).chain(last));
    let is_here = |id: &EventId| ledger.events.iter().any(|e| e.id == *id);
    let opening = ledger.events.iter().find(|e| in_last.contains(&e.id) && is_anchor(last_anchor, &e.raw));
    if opening.is_none_or(|e| e.parents.iter().all(is_here)) {
        // Either its line was erased, or it joins nothing of the older segments.
        return None;
    }
    let mut heads = ledger.heads();
    heads.retain(|head| {
        let event = ledger.events.iter().find(|e| e.id == *head);
        !event.is_some_and(|e| continued_in(e).is_some_and(|segment| older.contains(segment)))
    });
    let known = |head: &EventId| {
        in_last.contains(head)
            || ledger.events.iter().any(|e| e.id == *head && continued_in(e) == Some(last_anchor))
    };
    heads.iter().all(known).then(|| End::at(&ledger, &heads))
}

fn lines_in(bytes: &[u8]) -> Vec<Line> {
    fold::split_lines(bytes).map(Line::parse).collect()
}

/// The segment that a `ledger.continued` names.
fn continued_in(event: &Event) -> Option<&Oid> {
    match &event.body {
        line::Body::Known(Data::LedgerContinued(data)) => Some(&data.segment),
        _ => None,
    }
}

/// Segments a ledger's first note names, oldest first, each once.
pub(super) fn segments_in(lines: &[Line]) -> Vec<Oid> {
    let mut found: Vec<(Timestamp, EventId, &Oid)> = lines
        .iter()
        .filter_map(Line::event)
        .filter_map(|e| continued_in(e).map(|segment| (e.at, e.id, segment)))
        .collect();
    found.sort_unstable();
    let mut segments: Vec<Oid> = Vec::new();
    for (_, _, segment) in found {
        segments.retain(|s| s != segment);
        segments.push(segment.clone());
    }
    segments
}

/// Whether a note is a segment of the incident: it holds a `ledger.segment` that names it, and that event is the
/// note's anchor, or was once, before its author was erased.
pub(super) fn is_segment_of(incident: &Oid, anchor: &Oid, lines: &[Line]) -> bool {
    lines.iter().filter_map(Line::event).any(|e| {
        matches!(&e.body, line::Body::Known(Data::LedgerSegment(data)) if data.incident == *incident)
            && (e.by.is_none() || is_anchor(anchor, &e.raw))
    })
}

/// More of one ledger is not read: what a program needs to fold it is several times as much.
const MOST_BYTES: usize = 128 << 20;

/// A ledger's first note and its segments.
pub(super) fn load(repo: &Repo, incident: &Oid, first: &[u8]) -> Ledger {
    let mut lines = lines_in(first);
    let mut segments = Segments::of(repo, incident, &lines);
    lines.append(&mut segments.lines);
    let mut ledger = Ledger::from_lines(lines);
    ledger.faults = segments.faults;
    ledger
}

/// The segments of a ledger.
#[derive(Default)]
pub(super) struct Segments {
    /// Their texts, oldest first.
    texts: Vec<Vec<u8>>,
    /// Their lines.
    lines: Vec<Line>,
    /// What is wrong with them.
    faults: Vec<String>,
}

impl Segments {
    /// Reads the segments that a first note names. What cannot be read is told and hides nothing else.
    fn of(repo: &Repo, incident: &Oid, first: &[Line]) -> Self {
        let mut all = Self::default();
        let mut bytes: usize = first.iter().map(|line| line.raw().len()).sum();
        let mut left_out = 0;
        for segment in segments_in(first) {
            if bytes > MOST_BYTES {
                left_out += 1;
                continue;
            }
            let text = match read(repo, LEDGER.notes, &segment) {
                Ok(text) => text,
                Err(error) => {
                    all.faults.push(format!("the segment {segment} cannot be read: {error}"));
                    continue;
                }
            };
            bytes += text.len();
            let mut lines = lines_in(&text);
            if is_segment_of(incident, &segment, &lines) {
                all.lines.append(&mut lines);
                all.texts.push(text);
            } else if lines.is_empty() {
                all.faults.push(format!(
                    "the segment {segment} is missing, and with it some of the events: fetch the ledgers again"
                ));
            } else {
                all.faults.push(format!(
                    "the note {segment} is named as a segment and is none of this incident: its events do not count"
                ));
            }
        }
        if left_out > 0 {
            all.faults.push(format!(
                "the ledger is larger than {MOST_BYTES} bytes: {left_out} of its segments are not read"
            ));
        }
        all
    }
}

/// The texts of a ledger's segments, oldest first.
pub(super) fn texts(repo: &Repo, incident: &Oid, first: &[u8]) -> Vec<Vec<u8>> {
    Segments::of(repo, incident, &lines_in(first)).texts
}
