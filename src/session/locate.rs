//! From what people type to an incident, an attempt, an idea.

use super::Session;
use crate::model::id::is_lower_hex;
use crate::model::incident::{Attempt, Incident, Next};
use crate::model::{Error, Oid, Result};
use crate::store::index::Index;
use crate::store::ledger;

/// The shortest prefix of an id that is understood.
pub const SHORTEST_PREFIX: usize = 7;

impl Session {
    /// The incident that is meant: by id, by a unique prefix of it, by ticket; the active one when none is named.
    ///
    /// # Errors
    /// None is active; no such incident; several match.
    pub fn incident_id(&self, named: Option<&str>) -> Result<Oid> {
        let Some(text) = named.map(str::trim) else {
            return self.active().incident.ok_or_else(|| {
                Error::refused("no incident is active here")
                    .hint("open one: git incident open TITLE")
                    .hint("or choose one: git incident list, then git incident use ID")
            });
        };
        let digits = text.to_ascii_lowercase();
        if is_lower_hex(&digits) && digits.len() >= SHORTEST_PREFIX && digits.len() <= 64 {
            let found = ledger::with_prefix(&self.repo, &digits)?;
            match found.as_slice() {
                [only] => return Ok(only.clone()),
                [] => {}
                several => return Err(self.ambiguous(text, several)),
            }
        }
        // The index says where to look; the ledger says whether it is so.
        if let Some(ids) = Index::if_there(&self.repo).and_then(|index| index.with_ticket(text).ok())
            && let [only] = ids.as_slice()
            && !text.is_empty()
        {
            return Ok(only.clone());
        }
        let mut matching: Vec<Incident> = self
            .incidents()?
            .into_iter()
            .filter(|i| i.ticket.eq_ignore_ascii_case(text) && !text.is_empty())
            .collect();
        match (matching.pop(), matching.len()) {
            (Some(only), 0) => only.id.ok_or_else(|| Error::bug("an incident without an id")),
            (Some(last), _) => {
                matching.push(last);
                let ids: Vec<Oid> = matching.into_iter().filter_map(|i| i.id).collect();
                Err(self.ambiguous(text, &ids))
            }
            (None, _) => {
                let mut error = Error::refused(format!("there is no incident {text:?} here"));
                if is_lower_hex(&digits) && digits.len() < SHORTEST_PREFIX {
                    error =
                        error.because(format!("a prefix of an id needs at least {SHORTEST_PREFIX} digits"));
                }
                Err(error.hint("list them with: git incident list --all"))
            }
        }
    }

    fn ambiguous(&self, text: &str, ids: &[Oid]) -> Error {
        let mut error = Error::refused(format!("{text:?} means {} incidents", ids.len()));
        for id in ids.iter().take(10) {
            let title = self.incident(id).map(|i| i.title.get().clone()).unwrap_or_default();
            error = error.because(format!("{} {title}", id.short()));
        }
        error.hint("type more digits of the id")
    }

    /// The incident that is meant, folded.
    ///
    /// # Errors
    /// As [`Session::incident_id`].
    pub fn named_incident(&self, named: Option<&str>) -> Result<(Oid, Incident)> {
        let id = self.incident_id(named)?;
        let incident = self.incident(&id)?;
        Ok((id, incident))
    }
}

/// The attempt that is meant: by its number, or by the first digits of its event.
///
/// # Errors
/// No such attempt.
pub fn attempt<'i>(incident: &'i Incident, text: &str) -> Result<&'i Attempt> {
    let text = text.trim().trim_start_matches('#');
    let by_number =
        text.parse::<usize>().ok().and_then(|n| incident.attempts.iter().find(|a| a.ordinal == n));
    let by_digits = || {
        let mut matching = incident
            .attempts
            .iter()
            .filter(|a| text.len() >= SHORTEST_PREFIX && a.started.event.to_string().starts_with(text));
        matching.next().filter(|_| matching.next().is_none())
    };
    by_number.or_else(by_digits).ok_or_else(|| {
        Error::refused(format!("the incident has no attempt {text:?}"))
            .because(format!("it has {}", incident.attempts.len()))
            .hint("list them with: git incident show")
    })
}

/// The idea that is meant: by its number in the list, or by the first digits of its event.
///
/// # Errors
/// No such idea.
pub fn next<'i>(incident: &'i Incident, text: &str) -> Result<&'i Next> {
    let text = text.trim().trim_start_matches('#');
    let by_number =
        text.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).and_then(|n| incident.next.get(n));
    let by_digits = || {
        incident
            .next
            .iter()
            .find(|n| text.len() >= SHORTEST_PREFIX && n.added.event.to_string().starts_with(text))
    };
    by_number.or_else(by_digits).ok_or_else(|| {
        Error::refused(format!("there is no idea {text:?}")).hint("list them with: git incident next")
    })
}
