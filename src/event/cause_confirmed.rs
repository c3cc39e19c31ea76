//! `cause.confirmed`: a root cause accounts for every attempt, and a disproof was run.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::EventId;
use crate::model::incident::{Account, Incident, Milestone, Turn};
use crate::model::status::CauseState;

/// A root cause held against everything that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseConfirmed {
    /// The cause's proposing event.
    pub cause: EventId,
    /// How it accounts for each attempt.
    #[serde(default)]
    pub accounts: Vec<Account>,
    /// The attempt whose disproof was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disproof: Option<EventId>,
    /// How it leads to the symptom.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mechanism: String,
}

impl EventType for CauseConfirmed {
    const TYPE: &'static str = "cause.confirmed";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        if let Some(cause) = incident.causes.iter_mut().find(|c| c.proposed.event == self.cause) {
            super::cause_proposed::judge(cause, CauseState::Confirmed, event);
            cause.accounts.clone_from(&self.accounts);
            cause.disproof = self.disproof;
            if !self.mechanism.is_empty() {
                cause.mechanism.clone_from(&self.mechanism);
            }
            incident
                .milestones
                .push(Milestone { stamp: event.stamp.clone(), what: Turn::CauseConfirmed(self.cause) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::{fold, id};
    use crate::event::{CauseProposed, CauseRejected};

    #[test]
    fn the_confirmed_cause_stands() {
        let propose = |t: &str| CauseProposed { text: t.into(), ..Default::default() };
        let incident = fold(vec![
            propose("clock").into(),
            propose("overflow").into(),
            CauseRejected { cause: id(0), reason: "same at any clock".into() }.into(),
            CauseConfirmed {
                cause: id(1),
                accounts: vec![],
                disproof: None,
                mechanism: "exp(x) is inf".into(),
            }
            .into(),
        ]);
        let cause = incident.cause().unwrap();
        assert_eq!((cause.text.as_str(), cause.state), ("overflow", CauseState::Confirmed));
        assert_eq!(cause.mechanism, "exp(x) is inf");
    }
}
