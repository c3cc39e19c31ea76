//! `next.done`: an idea was tried.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::EventId;
use crate::model::incident::Incident;
use crate::model::status::NextState;

/// An idea was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextDone {
    /// The idea's adding event.
    pub next: EventId,
    /// Where it led.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
}

impl EventType for NextDone {
    const TYPE: &'static str = "next.done";

    fn apply(&self, _event: &Context<'_>, incident: &mut Incident) {
        if let Some(next) = incident.next.iter_mut().find(|n| n.added.event == self.next) {
            next.state = NextState::Done;
            next.remark.clone_from(&self.remark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::{fold, id};
    use crate::event::{NextAdded, NextDropped};

    #[test]
    fn ideas_are_tried_or_dropped() {
        let add = |t: &str| NextAdded { text: t.into() };
        let incident = fold(vec![
            add("a").into(),
            add("b").into(),
            add("c").into(),
            NextDone { next: id(0), remark: "see attempt 2".into() }.into(),
            NextDropped { next: id(1), reason: "too slow".into() }.into(),
        ]);
        let states: Vec<_> = incident.next.iter().map(|n| n.state).collect();
        assert_eq!(states, [NextState::Done, NextState::Dropped, NextState::Open]);
    }
}
