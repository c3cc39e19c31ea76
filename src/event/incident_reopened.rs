//! `incident.reopened`: the bug is back, or the end was premature.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Incident, Milestone, Turn};
use crate::model::status::Status;

/// The investigation goes on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct IncidentReopened {
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl EventType for IncidentReopened {
    const TYPE: &'static str = "incident.reopened";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        incident.status.set(Status::Open, event.stamp.event, event.is_after);
        incident.status_note.set(self.note.clone(), event.stamp.event, event.is_after);
        incident.gaps.clear();
        incident.milestones.push(Milestone { stamp: event.stamp.clone(), what: Turn::Status(Status::Open) });
    }
}
