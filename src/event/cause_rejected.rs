//! `cause.rejected`: a proposed root cause did not hold.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::EventId;
use crate::model::incident::Incident;
use crate::model::status::CauseState;

/// A root cause did not hold against the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseRejected {
    /// The cause's proposing event.
    pub cause: EventId,
    /// What speaks against it.
    pub reason: String,
}

impl EventType for CauseRejected {
    const TYPE: &'static str = "cause.rejected";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        if let Some(cause) = incident.causes.iter_mut().find(|c| c.proposed.event == self.cause) {
            super::cause_proposed::judge(cause, CauseState::Rejected, event);
            cause.reason.clone_from(&self.reason);
        }
    }
}
