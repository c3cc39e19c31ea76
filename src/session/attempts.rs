//! Attempts: which one runs, and what ending one means for the commits made in it.

use super::Session;
use super::active::Active;
use super::keep::without_secrets;
use super::linking::add_link;
use crate::event::{AttemptEnded, CommitLinked};
use crate::model::incident::Incident;
use crate::model::outcome::{Bug, Hypothesis, Outcome};
use crate::model::status::{Role, Status};
use crate::model::{Error, EventId, Oid, Result};

/// What a note may speak of; giving up asks for some of them.
pub const ABOUT: [&str; 7] = ["profile", "sizes", "host", "device", "code", "arithmetic", "performance"];

/// How an attempt ends.
pub struct Ending {
    /// The attempt.
    pub attempt: EventId,
    /// Both sides of the outcome.
    pub outcome: Outcome,
    /// What was done.
    pub action: String,
    /// What happened.
    pub result: String,
    /// What it tells.
    pub conclusion: String,
    /// What it rules out.
    pub rules_out: Vec<String>,
}

impl Session {
    /// The attempt that runs: the active one, or the only one that has not ended.
    ///
    /// # Errors
    /// None runs, or several.
    pub fn running_attempt(&self, id: &Oid, incident: &Incident) -> Result<EventId> {
        if let Some(active) =
            self.active_attempt(id).filter(|a| incident.attempt(*a).is_some_and(|a| a.ended.is_none()))
        {
            return Ok(active);
        }
        let running: Vec<_> = incident.attempts.iter().filter(|a| a.ended.is_none()).collect();
        match running.as_slice() {
            [only] => Ok(only.started.event),
            [] => Err(Error::refused("no attempt is running")
                .hint("start one: git incident attempt start -H \"why it might work\"")),
            several => {
                let numbers: Vec<String> = several.iter().map(|a| a.ordinal.to_string()).collect();
                Err(Error::refused(format!("attempts {} are running", numbers.join(", ")))
                    .hint("say which: -n NUMBER"))
            }
        }
    }

    /// Refuses to work on a closed incident.
    ///
    /// # Errors
    /// It is closed.
    pub fn must_be_open(&self, incident: &Incident) -> Result<()> {
        if *incident.status == Status::Open {
            return Ok(());
        }
        let id = incident.id.as_ref().map_or("", |i| i.short());
        Err(Error::refused(format!("incident {id} is closed as {}", *incident.status))
            .hint(format!("git incident reopen {id} -m \"why\"")))
    }

    /// Ends an attempt. Commits that were made in it and have no role yet get the one the outcome gives them.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn end_attempt(&self, id: &Oid, ending: Ending) -> Result<Incident> {
        let before = self.incident(id)?;
        // A supported hypothesis that fixed nothing, or a bug nobody looked at, says nothing of its commits.
        let role = match (ending.outcome.bug, ending.outcome.hypothesis) {
            (Bug::Fixed, _) => Some(Role::Fix),
            (Bug::Remains, Hypothesis::Refuted | Hypothesis::Undecided) => Some(Role::Failed),
            (Bug::Remains, Hypothesis::Supported) | (Bug::Unknown, _) => None,
        };
        let made_in_it: Vec<_> = before
            .links
            .iter()
            .filter(|l| !l.unlinked && l.attempt == Some(ending.attempt) && l.role == Role::Related)
            .collect();
        self.append(id, &[], |draft| {
            draft.add(AttemptEnded {
                attempt: ending.attempt,
                outcome: ending.outcome,
                action: without_secrets(ending.action.trim()),
                result: without_secrets(ending.result.trim()),
                conclusion: without_secrets(ending.conclusion.trim()),
                rules_out: ending.rules_out.iter().map(|r| without_secrets(r)).collect(),
            })?;
            if let Some(role) = role {
                for link in made_in_it {
                    let linked = CommitLinked {
                        commit: link.commit.clone(),
                        role,
                        attempt: link.attempt,
                        patch_id: link.patch_id.clone(),
                        tree: link.tree.clone(),
                        subject: link.subject.clone(),
                        pr: link.pr.clone(),
                        how: String::new(),
                        reverts: link.reverts.clone(),
                    };
                    add_link(draft, linked, true)?;
                }
            }
            Ok(())
        })?;
        let after = self.incident(id)?;
        if self.active_attempt(id) == Some(ending.attempt) {
            self.set_active(&Active { incident: Some(id.clone()), attempt: None })?;
        }
        self.project_lines(&after, &[])?;
        Ok(after)
    }
}
