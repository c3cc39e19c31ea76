//! `cause.proposed`: somebody names a root cause.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Cause, Incident};
use crate::model::register::Rivals;
use crate::model::status::CauseState;

/// A root cause to be held against the evidence.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CauseProposed {
    /// The mechanism.
    pub text: String,
    /// How it leads to the symptom.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mechanism: String,
}

impl EventType for CauseProposed {
    const TYPE: &'static str = "cause.proposed";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        incident.causes.push(Cause {
            proposed: event.stamp.clone(),
            text: self.text.clone(),
            mechanism: self.mechanism.clone(),
            state: CauseState::Proposed,
            reason: String::new(),
            accounts: Vec::new(),
            disproof: None,
            rivals: Rivals::default(),
            state_by: None,
        });
    }
}

/// Sets the state of a cause, and keeps what was said at the same time elsewhere.
pub(super) fn judge(cause: &mut Cause, state: CauseState, event: &Context<'_>) {
    let former = cause.state_by.map(|by| (by, cause.state));
    cause.rivals.update(former, &state, event.is_after);
    cause.state = state;
    cause.state_by = Some(event.stamp.event);
}
