//! The post-mortem draft: nine blocks, every fact with its source, and a visible gap for every fact
//! that the ledger does not hold.
//!
//! `draft` decides nothing about whether a draft may be written; whoever calls it asks the record for
//! the four preconditions first. What is put into the template is already safe Markdown, so that a
//! template cannot forget to make it so.

mod facts;
mod found;
mod sources;
mod validation;

use minijinja::{Environment, UndefinedBehavior};
use serde_json::{Value, json};

use crate::model::change::{ChangedFile, CommitFacts};
use crate::model::incident::Incident;
use crate::model::{Error, EventId, Oid, Result};

pub use super::page::BLOCKS;

/// What a gap starts with, so that later tools find it.
pub const GAP: &str = "> **Gap:**";

/// The template of the profile `bugfix`.
const BUGFIX: &str = include_str!("../../../templates/postmortem-bugfix.md");

/// Enough for our template with every list at its longest, little enough to end a loop that never does.
const FUEL: u64 = 2_000_000;

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
    /// Who owns the fix; empty when nobody said.
    pub owner: &'a str,
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
}

/// Writes the draft. The same input gives the same bytes.
///
/// # Errors
/// A bug of ours in the template, or an incident without an id.
pub fn draft(input: &DraftInput<'_>) -> Result<String> {
    render(BUGFIX, &context(input)?)
}

fn context(input: &DraftInput<'_>) -> Result<Value> {
    let id = input.incident.id.as_ref();
    let id = id.ok_or_else(|| Error::bug("a post-mortem was asked for an incident without an id"))?;
    Ok(json!({
        "title": facts::title(input.incident),
        "incident": id.as_str(),
        "summary": facts::summary(input),
        "symptom": facts::symptom(input.incident),
        "cause": facts::cause(input),
        "mechanism": facts::mechanism(input.incident),
        "fix": facts::fix(input),
        "found": found::found(input.incident),
        "slipped": facts::slipped(input),
        "validation": validation::validation(input),
        "actions": facts::actions(input.incident),
    }))
}

fn render(template: &str, context: &Value) -> Result<String> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    let text = environment
        .render_str(template, minijinja::value::Serde(context))
        .map_err(|e| Error::bug("the post-mortem template cannot be rendered").because(e))?;
    Ok(text.trim_end().to_owned() + "\n")
}

#[cfg(test)]
mod tests;
