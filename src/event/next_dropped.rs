//! `next.dropped`: an idea is given up untried.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::EventId;
use crate::model::incident::Incident;
use crate::model::status::NextState;

/// An idea is given up untried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextDropped {
    /// The idea's adding event.
    pub next: EventId,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl EventType for NextDropped {
    const TYPE: &'static str = "next.dropped";

    fn apply(&self, _event: &Context<'_>, incident: &mut Incident) {
        if let Some(next) = incident.next.iter_mut().find(|n| n.added.event == self.next) {
            next.state = NextState::Dropped;
            next.remark.clone_from(&self.reason);
        }
    }
}
