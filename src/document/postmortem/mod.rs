//! The post-mortem draft: its blocks, every fact with its source, and a visible gap for every fact that the ledger
//! does not hold.
//!
//! `draft` decides nothing about whether a draft may be written; whoever calls it asks the record for
//! the four preconditions first. What is put into the template is already safe Markdown, so that a
//! template cannot forget to make it so.
//!
//! | file | what it knows |
//! |---|---|
//! | `facts`, `found`, `review`, `validation` | what the ledger says for each block |
//! | `sources` | how a fact names where it comes from |
//! | `template` | ours and a repository's own templates, and what these may do |
//! | `blocks` | drafting again over a document that people have written in |

pub mod blocks;
mod facts;
mod found;
mod review;
mod sources;
pub mod template;
mod validation;

use serde_json::{Value, json};

use crate::model::change::{ChangedFile, CommitFacts};
use crate::model::incident::Incident;
use crate::model::{Error, EventId, Oid, Result};

pub use super::page::BLOCKS;
pub use review::REASONS;
pub use sources::web_address;
pub use validation::{ConfiguredGate, RecordFacts, WaitingGate};

/// What a gap starts with, so that later tools find it.
pub const GAP: &str = "> **Gap:**";

/// Everything a draft is made from.
#[derive(Debug, Clone)]
pub struct DraftInput<'a> {
    /// The incident.
    pub incident: &'a Incident,
    /// What the runs of the repro prove.
    pub validation: Validation,
    /// Commits that fix it and resolve, newest last.
    pub fixes: &'a [CommitFacts],
    /// Commits that brought it and resolve.
    pub offending: &'a [CommitFacts],
    /// Files that the fixes change.
    pub changed: &'a [ChangedFile],
    /// `bugfix` or `incident`: which blocks there are.
    pub profile: &'a str,
    /// Where the repository shows on the web ([`web_address`]); empty when that is not known.
    pub web: &'a str,
}

/// The numbers of the repro, as the record's standing computes them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Validation {
    /// Runs that measure the rate.
    pub runs: u32,
    /// In how many of them the bug was seen.
    pub failures: u32,
    /// Passes that the rate asks for; [`crate::model::rate::NEVER`] while the bug was never seen.
    pub needed: u32,
    /// Runs on the fix.
    pub fix_runs: u32,
    /// In how many of them the bug was seen.
    pub fix_failures: u32,
    /// The fix that is judged.
    pub commit: Option<Oid>,
    /// Its tree.
    pub tree: Option<Oid>,
    /// The series of runs that measure the rate.
    pub rate_series: Vec<EventId>,
    /// The series of runs on the fix.
    pub fix_series: Vec<EventId>,
    /// The gates that the fix's own configuration has.
    pub configured: Vec<ConfiguredGate>,
    /// Gates that wait for a device.
    pub waiting: Vec<WaitingGate>,
    /// What is known of the records that the ledger names.
    pub records: Vec<RecordFacts>,
}

/// Writes the draft by a template; by ours when none is given. The same input gives the same bytes.
///
/// # Errors
/// What the template does wrong; an incident without an id.
pub fn draft(input: &DraftInput<'_>, own: Option<template::Template<'_>>) -> Result<String> {
    let ours = template::Template { name: "", text: template::BUILT_IN };
    template::render(own.unwrap_or(ours), &context(input)?)
}

/// Everything a template may use; docs/TEMPLATES.md lists it.
fn context(input: &DraftInput<'_>) -> Result<Value> {
    let id = input.incident.id.as_ref();
    let id = id.ok_or_else(|| Error::bug("a post-mortem was asked for an incident without an id"))?;
    Ok(json!({
        "title": facts::title(input.incident),
        "incident": id.as_str(),
        "profile": input.profile,
        "summary": facts::summary(input),
        "impact": review::impact(input.incident),
        "detection": review::detection(input.incident),
        "symptom": facts::symptom(input.incident),
        "timeline": review::timeline(input),
        "cause": facts::cause(input),
        "mechanism": facts::mechanism(input.incident),
        "fix": facts::fix(input),
        "found": found::found(input),
        "slipped": review::slipped(input),
        "validation": validation::validation(input),
        "lessons": review::lessons(input.incident),
        "questions": review::questions(input.incident),
        "actions": review::actions(input),
    }))
}

#[cfg(test)]
mod tests;
