//! `incident.closed`: the investigation ends, with a fix, without one, or given up.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Incident, Milestone, Turn};
use crate::model::status::Status;

/// The end of an investigation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncidentClosed {
    /// `resolved`, `blocked` or `wont-fix`.
    #[serde(rename = "as")]
    pub status: Status,
    /// What the writer wants to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Requirements of the give-up policy that no evidence met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
}

impl EventType for IncidentClosed {
    const TYPE: &'static str = "incident.closed";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        incident.status.set(self.status, event.stamp.event, event.is_after);
        incident.status_note.set(self.note.clone(), event.stamp.event, event.is_after);
        incident.gaps.clone_from(&self.gaps);
        incident.milestones.push(Milestone { stamp: event.stamp.clone(), what: Turn::Status(self.status) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{IncidentReopened, testing::fold};

    #[test]
    fn closes_and_reopens() {
        let closed = IncidentClosed {
            status: Status::Blocked,
            note: "no hardware".into(),
            gaps: vec!["profile".into()],
        };
        let incident = fold(vec![closed.clone().into()]);
        assert_eq!(*incident.status, Status::Blocked);
        assert_eq!(incident.gaps, ["profile"]);
        let incident = fold(vec![closed.into(), IncidentReopened { note: String::new() }.into()]);
        assert_eq!(*incident.status, Status::Open);
        assert!(incident.gaps.is_empty());
    }
}
