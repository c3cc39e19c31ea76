//! `next.added`: an idea that was not tried yet.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Incident, Next};
use crate::model::status::NextState;

/// An idea for an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextAdded {
    /// The idea.
    pub text: String,
}

impl EventType for NextAdded {
    const TYPE: &'static str = "next.added";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        incident.next.push(Next {
            added: event.stamp.clone(),
            text: self.text.clone(),
            state: NextState::Open,
            remark: String::new(),
        });
    }
}
