//! Markdown debug logs into ledgers, and ledgers into Markdown debug logs.

use super::Session;
use super::keep::without_secrets;
use crate::document::debuglog::{
    LoggedAttempt, LoggedDifference, LoggedFile, LoggedIncident, LoggedNext, LoggedNote,
};
use crate::event::{
    AttemptEnded, AttemptNoted, AttemptStarted, CauseProposed, DifferenceSet, IncidentClosed, IncidentEdited,
    IncidentOpened, NextAdded, NextDone,
};
use crate::model::incident::{FileRef, Incident};
use crate::model::outcome::{Bug, Hypothesis, Outcome};
use crate::model::status::{NextState, Status};
use crate::model::{Oid, Result};
use crate::store::ledger::Draft;

/// Marks notes that were sections of a log which no field holds: the heading follows it.
const SECTION: &str = "## ";

impl Session {
    /// Opens an incident from a log.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn import_incident(&self, logged: &LoggedIncident) -> Result<Oid> {
        Ok(self.open_incident(&[], |draft| write(draft, logged))?.incident)
    }
}

fn write(draft: &mut Draft<'_>, logged: &LoggedIncident) -> Result<()> {
    let text = |t: &str| without_secrets(t);
    draft.add(IncidentOpened {
        title: text(&logged.title),
        ticket: logged.ticket.clone().unwrap_or_default(),
        symptom: text(&logged.symptom),
        environment: text(&logged.environment),
        files: logged.files.iter().map(|f| FileRef { path: f.path.clone(), note: f.note.clone() }).collect(),
        labels: Vec::new(),
    })?;
    let edited = IncidentEdited {
        status_note: (logged.status == Status::Open && !logged.status_note.is_empty())
            .then(|| text(&logged.status_note)),
        next_preface: (!logged.next_preface.is_empty()).then(|| text(&logged.next_preface)),
        ..IncidentEdited::default()
    };
    if !edited.is_empty() {
        draft.add(edited)?;
    }
    for attempt in &logged.attempts {
        write_attempt(draft, attempt)?;
    }
    for (i, row) in logged.differences.iter().enumerate() {
        draft.add(DifferenceSet {
            factor: text(&row.factor),
            working: text(&row.working),
            broken: text(&row.broken),
            eliminated: row.eliminated,
            working_case: (i == 0 && !logged.working_case.is_empty()).then(|| logged.working_case.clone()),
            broken_case: (i == 0 && !logged.broken_case.is_empty()).then(|| logged.broken_case.clone()),
        })?;
    }
    for idea in &logged.next {
        let next = draft.add(NextAdded { text: text(&idea.text) })?;
        if idea.done {
            draft.add(NextDone { next, remark: String::new() })?;
        }
    }
    if !logged.root_cause.is_empty() {
        draft.add(CauseProposed { text: text(&logged.root_cause), mechanism: String::new() })?;
    }
    if !logged.fix.is_empty() {
        note(draft, "Fix", &logged.fix)?;
    }
    for section in &logged.notes {
        note(draft, &section.heading, &section.text)?;
    }
    if logged.status != Status::Open {
        draft.add(IncidentClosed {
            status: logged.status,
            note: text(&logged.status_note),
            gaps: Vec::new(),
        })?;
    }
    Ok(())
}

fn note(draft: &mut Draft<'_>, heading: &str, text: &str) -> Result<()> {
    draft
        .add(AttemptNoted {
            text: without_secrets(&format!("{SECTION}{heading}\n\n{text}")),
            ..AttemptNoted::default()
        })
        .map(|_| ())
}

fn write_attempt(draft: &mut Draft<'_>, attempt: &LoggedAttempt) -> Result<()> {
    let text = |t: &str| without_secrets(t);
    let event = draft.add(AttemptStarted {
        hypothesis: text(&attempt.hypothesis),
        disproof: text(&attempt.disproof),
        title: text(&attempt.title),
        action: text(&attempt.action),
    })?;
    let outcome = Outcome { hypothesis: attempt.hypothesis_outcome, bug: attempt.bug_outcome };
    // An attempt of which the log tells no result is still running.
    let told = !attempt.result.is_empty() || !attempt.conclusion.is_empty();
    if told || outcome.hypothesis != Hypothesis::Undecided || outcome.bug != Bug::Unknown {
        draft.add(AttemptEnded {
            attempt: event,
            outcome,
            action: String::new(),
            result: text(&attempt.result),
            conclusion: text(&attempt.conclusion),
            rules_out: Vec::new(),
        })?;
    }
    Ok(())
}

/// An incident as a log tells it. What a log has no place for (commits, evidence, runs) is left out.
pub fn to_log(incident: &Incident) -> LoggedIncident {
    let mut fix = String::new();
    let mut notes = Vec::new();
    for n in &incident.notes {
        match n.text.strip_prefix(SECTION).and_then(|t| t.split_once("\n\n")) {
            Some(("Fix", text)) => text.clone_into(&mut fix),
            Some((heading, text)) => {
                notes.push(LoggedNote { heading: heading.to_owned(), text: text.to_owned() });
            }
            None => {}
        }
    }
    LoggedIncident {
        title: incident.title.get().clone(),
        line: 1,
        status: *incident.status,
        status_note: incident.status_note.get().clone(),
        ticket: Some(incident.ticket.get().clone()).filter(|t| !t.is_empty()),
        symptom: incident.symptom.get().clone(),
        environment: incident.environment.get().clone(),
        files: incident
            .files
            .iter()
            .map(|f| LoggedFile { path: f.path.clone(), note: f.note.clone() })
            .collect(),
        root_cause: incident.cause().map(|c| c.text.clone()).unwrap_or_default(),
        fix,
        attempts: incident
            .attempts
            .iter()
            .map(|a| LoggedAttempt {
                ordinal: a.ordinal as u32,
                title: a.title.clone(),
                hypothesis: a.hypothesis.clone(),
                disproof: a.disproof.clone(),
                action: a.action.clone(),
                result: a.result.clone(),
                conclusion: a.conclusion.clone(),
                hypothesis_outcome: a.outcome.hypothesis,
                bug_outcome: a.outcome.bug,
            })
            .collect(),
        differences: incident
            .differences
            .iter()
            .map(|d| LoggedDifference {
                factor: d.factor.clone(),
                working: d.working.clone(),
                broken: d.broken.clone(),
                eliminated: d.eliminated,
            })
            .collect(),
        working_case: incident.working_case.get().clone(),
        broken_case: incident.broken_case.get().clone(),
        next_preface: incident.next_preface.get().clone(),
        next: incident
            .next
            .iter()
            .filter(|n| n.state != NextState::Dropped)
            .map(|n| LoggedNext { text: n.text.clone(), done: n.state == NextState::Done })
            .collect(),
        notes,
    }
}
