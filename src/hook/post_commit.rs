//! `post-commit`: a commit whose trailers name an incident is linked to it.

use crate::git::trailers;
use crate::model::incident::Incident;
use crate::model::status::Role;
use crate::model::{EventId, Oid, Result};
use crate::session::Session;

use super::commit_msg::{ATTEMPT, INCIDENT};
use super::{Line, Say, Tone};

/// Links HEAD.
///
/// # Errors
/// The repository cannot be read or written; the commit is made all the same.
pub fn run(session: &Session, say: Say<'_>) -> Result<()> {
    let Some(head) = session.repo.head_commit()? else {
        return Ok(());
    };
    let message = session.repo.message_of(&head)?;
    if !message.to_ascii_lowercase().contains("incident:") {
        return Ok(());
    }
    let attempts = trailers::values(message.as_bytes(), "#", ATTEMPT);
    let mut seen: Vec<Oid> = Vec::new();
    for value in trailers::values(message.as_bytes(), "#", INCIDENT) {
        // One that is not here was complained about when the message was written.
        let Ok(id) = session.incident_id(Some(&value)) else {
            continue;
        };
        if !seen.contains(&id) {
            link(session, &id, &head, &attempts, say)?;
            seen.push(id);
        }
    }
    Ok(())
}

fn link(session: &Session, id: &Oid, head: &Oid, attempts: &[String], say: Say<'_>) -> Result<()> {
    let incident = session.incident(id)?;
    if incident.links.iter().any(|link| link.commit == *head && !link.unlinked) {
        return Ok(());
    }
    let attempt = attempts.iter().find_map(|digits| attempt(&incident, digits));
    session.link_commit(id, head, Role::Related, attempt)?;
    say(Line::new(Tone::Quiet, format!("{} belongs to incident {}", head.short(), id.short())));
    Ok(())
}

/// The attempt whose event begins with these digits, if only one does.
fn attempt(incident: &Incident, digits: &str) -> Option<EventId> {
    if digits.len() < 7 {
        return None;
    }
    let mut matching = incident
        .attempts
        .iter()
        .map(|a| a.started.event)
        .filter(|event| event.to_string().starts_with(digits));
    matching.next().filter(|_| matching.next().is_none())
}
