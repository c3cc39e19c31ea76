//! How a fact names where it comes from, and how ledger text is cut to size.

use crate::model::change::CommitFacts;
use crate::model::incident::{Attempt, Evidence, Incident};
use crate::model::markdown::{self, Place};
use crate::model::{EventId, Oid};

/// One line: the longest that still reads as one point of a list.
const LINE: usize = 400;

/// Several lines: a symptom may be a page of log; the evidence holds the rest.
const BLOCK: usize = 8_000;

pub(super) fn line(text: &str) -> String {
    markdown::line(text, LINE, Place::Document)
}

pub(super) fn block(text: &str) -> String {
    markdown::block(text, BLOCK, Place::Document)
}

/// An event, such as the one that set a symptom.
pub(super) fn event(id: Option<EventId>) -> String {
    id.map_or_else(|| "source unknown".to_owned(), |id| format!("event `{}`", id.short()))
}

/// An attempt, as a link to its heading.
pub(super) fn attempt(attempt: &Attempt) -> String {
    let n = attempt.ordinal;
    format!("[attempt {n}, `{}`](#attempt-{n})", attempt.started.event.short())
}

/// An attempt that an event names; its lines may be missing.
pub(super) fn attempt_named(incident: &Incident, id: EventId) -> String {
    incident.attempt(id).map_or_else(|| format!("attempt `{}` (its lines are missing)", id.short()), attempt)
}

/// A stored file.
pub(super) fn evidence(item: &Evidence) -> String {
    let key = item.oid.as_ref().map_or_else(
        || format!("sha256 {}", markdown::code(&item.sha256, 12)),
        |oid| format!("`{}`", oid.short()),
    );
    let name = markdown::code(&item.name, 120);
    let state = match (item.erased, item.redacted.len()) {
        (true, _) => ", erased",
        (false, 0) => "",
        (false, _) => ", secrets cut out",
    };
    format!("evidence {key} {name} ({} bytes{state})", item.bytes)
}

/// Evidence that an event names by its blob.
pub(super) fn evidence_named(incident: &Incident, oid: &Oid) -> String {
    incident
        .evidence
        .iter()
        .find(|e| e.oid.as_ref() == Some(oid))
        .map_or_else(|| format!("evidence `{}`", oid.short()), evidence)
}

/// A commit: name, subject, day, pull request.
pub(super) fn commit(facts: &CommitFacts) -> String {
    let details: Vec<String> =
        [&facts.date, &facts.pr].into_iter().filter(|d| !d.trim().is_empty()).map(|d| line(d)).collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    format!("commit `{}` {}{details}", facts.commit.short(), line(&facts.subject))
}

/// The first `most` of a list, and how many more there are.
pub(super) fn cut(mut items: Vec<String>, most: usize) -> Vec<String> {
    let more = items.len().saturating_sub(most);
    items.truncate(most);
    if more > 0 {
        items.push(format!("…and {more} more (`git incident show` has them)"));
    }
    items
}

/// A statement that ends like a sentence, whatever the text in it ends with.
pub(super) fn sentence(text: String) -> String {
    if text.ends_with(['.', '!', '?', '…', '|']) { text } else { text + "." }
}
