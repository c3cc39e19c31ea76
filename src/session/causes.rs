//! The root cause, held against every earlier result.

use super::Session;
use crate::event::{CauseConfirmed, CauseProposed, CauseRejected};
use crate::model::incident::{Account, Attempt, Cause, Incident};
use crate::model::status::CauseState;
use crate::model::{Error, EventId, Oid, Result};

/// What somebody says of the cause and one attempt.
pub enum Holds {
    /// It accounts for the attempt's result in this way.
    Accounts(String),
    /// The attempt's result speaks against it.
    Contradicts(String),
}

/// The cause that is meant: named by digits, or the newest one that stands.
///
/// # Errors
/// None, or no such one.
pub fn find<'i>(incident: &'i Incident, named: Option<&str>) -> Result<&'i Cause> {
    let none =
        || Error::refused("no cause was proposed").hint("git incident cause propose \"the mechanism\"");
    match named {
        None => incident
            .causes
            .iter()
            .rev()
            .find(|c| c.state == CauseState::Proposed)
            .or_else(|| incident.cause())
            .ok_or_else(none),
        Some(text) => incident
            .causes
            .iter()
            .find(|c| {
                text.len() >= super::locate::SHORTEST_PREFIX && c.proposed.event.to_string().starts_with(text)
            })
            .ok_or_else(|| {
                Error::refused(format!("there is no cause {text:?}"))
                    .hint("list them with: git incident cause")
            }),
    }
}

/// The attempts a cause has to account for: all that have ended.
pub fn to_account_for(incident: &Incident) -> impl Iterator<Item = &Attempt> {
    incident.attempts.iter().filter(|a| a.ended.is_some())
}

impl Session {
    /// Proposes a cause.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn propose_cause(&self, id: &Oid, proposed: CauseProposed) -> Result<EventId> {
        Ok(self.append(id, &[], |draft| draft.add(proposed))?.value)
    }

    /// Rejects a cause.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn reject_cause(&self, id: &Oid, cause: EventId, reason: String) -> Result<()> {
        self.append(id, &[], |draft| draft.add(CauseRejected { cause, reason })).map(|_| ())
    }

    /// Confirms a cause, if it holds: `said` has one word for every attempt that ended.
    ///
    /// # Errors
    /// An attempt that it does not account for, or that contradicts it; no disproof was run.
    pub fn confirm_cause(
        &self,
        id: &Oid,
        incident: &Incident,
        cause: &Cause,
        said: Vec<(EventId, Holds)>,
        disproof: Option<EventId>,
        mechanism: String,
    ) -> Result<()> {
        let mut accounts = Vec::new();
        let mut unexplained = Vec::new();
        let mut contradictions = Vec::new();
        for attempt in to_account_for(incident) {
            match said.iter().find(|(a, _)| *a == attempt.started.event) {
                None => unexplained.push(attempt),
                Some((_, Holds::Contradicts(why))) => contradictions.push((attempt, why)),
                Some((_, Holds::Accounts(how))) => {
                    accounts.push(Account { attempt: attempt.started.event, how: how.clone() });
                }
            }
        }
        if !contradictions.is_empty() {
            let mut error = Error::refused("the cause is contradicted, so it cannot be confirmed");
            for (attempt, why) in contradictions {
                error = error.because(format!("attempt {} ({}): {why}", attempt.ordinal, attempt.headline()));
            }
            return Err(error
                .hint("reject it: git incident cause reject -m \"what speaks against it\"")
                .hint("or propose one that accounts for the attempt: git incident cause propose \"…\""));
        }
        if !unexplained.is_empty() {
            let mut error =
                Error::refused(format!("the cause must account for {} more attempts", unexplained.len()));
            for attempt in &unexplained {
                error = error.because(format!(
                    "attempt {}: {} → {}",
                    attempt.ordinal,
                    attempt.headline(),
                    summary(attempt)
                ));
            }
            let example: Vec<String> =
                unexplained.iter().map(|a| format!("--accounts {}=\"how\"", a.ordinal)).collect();
            return Err(error.hint(format!(
                "say how it explains each: git incident cause confirm {}",
                example.join(" ")
            )));
        }
        let run = |a: &&Attempt| a.disproof_was_run();
        let disproof = match disproof {
            Some(event) => incident.attempt(event).filter(run).ok_or_else(|| {
                Error::refused("that attempt's disproof was not run")
                    .because("it states none, or has not ended, or ended undecided")
                    .hint("git incident attempt start -H \"the cause\" --disproof \"what would show it wrong\"")
            })?,
            None => incident.attempts.iter().rev().find(run).ok_or_else(|| {
                Error::refused("no disproof has been run, so the cause is a guess")
                    .because("an attempt that says what would disprove its hypothesis, and ended decided, is needed")
                    .hint("git incident attempt start -H \"the cause\" --disproof \"what would show it wrong\"")
                    .hint("then end it with --supported or --refuted")
            })?,
        };
        let confirmed = CauseConfirmed {
            cause: cause.proposed.event,
            accounts,
            disproof: Some(disproof.started.event),
            mechanism,
        };
        self.append(id, &[], |draft| draft.add(confirmed)).map(|_| ())
    }
}

/// An attempt's outcome in a few words.
pub fn summary(attempt: &Attempt) -> String {
    let outcome = format!("{}, bug {}", attempt.outcome.hypothesis, attempt.outcome.bug);
    let conclusion = attempt.conclusion.lines().next().unwrap_or_default();
    if conclusion.is_empty() { outcome } else { format!("{outcome}: {conclusion}") }
}
