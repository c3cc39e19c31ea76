//! `incident.opened`: the first event, whose line is the incident's anchor.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{FileRef, Incident};

/// A bug comes under investigation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct IncidentOpened {
    /// What the incident is called.
    pub title: String,
    /// The tracker's key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ticket: String,
    /// What was observed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub symptom: String,
    /// Where it was observed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// Files it has to do with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRef>,
    /// Labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

impl EventType for IncidentOpened {
    const TYPE: &'static str = "incident.opened";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        // Only the anchor opens an incident; the fold hands over no other opening event.
        incident.opened = Some(event.stamp.clone());
        let id = event.stamp.event;
        incident.title.set(self.title.clone(), id, event.is_after);
        incident.ticket.set(self.ticket.clone(), id, event.is_after);
        incident.symptom.set(self.symptom.clone(), id, event.is_after);
        incident.environment.set(self.environment.clone(), id, event.is_after);
        incident.files.set(self.files.clone(), id, event.is_after);
        incident.labels.set(self.labels.clone(), id, event.is_after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::fold;

    #[test]
    fn opens() {
        let incident =
            fold(vec![IncidentOpened { title: "NaN in softmax".into(), ..Default::default() }.into()]);
        assert_eq!(*incident.title, "NaN in softmax");
        assert!(incident.opened.is_some());
    }
}
