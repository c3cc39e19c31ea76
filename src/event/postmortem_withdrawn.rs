//! `postmortem.withdrawn`: what was said for the post-mortem is taken back.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::EventId;
use crate::model::incident::Incident;

/// It does not stand any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostmortemWithdrawn {
    /// The `postmortem.noted` that is taken back.
    pub noted: EventId,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl EventType for PostmortemWithdrawn {
    const TYPE: &'static str = "postmortem.withdrawn";

    fn apply(&self, _event: &Context<'_>, incident: &mut Incident) {
        if let Some(note) = incident.review.iter_mut().find(|n| n.stamp.event == self.noted) {
            note.withdrawn = Some(self.reason.clone());
        }
    }
}
