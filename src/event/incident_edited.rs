//! `incident.edited`: what is said of the incident itself changes.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{FileRef, Incident};

/// New values; what is absent stays.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct IncidentEdited {
    /// What the incident is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tracker's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// What was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symptom: Option<String>,
    /// Where it was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Files it has to do with: the whole list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<FileRef>>,
    /// Labels: the whole list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// What stands beside the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_note: Option<String>,
    /// What stands before the list of ideas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_preface: Option<String>,
}

impl IncidentEdited {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl EventType for IncidentEdited {
    const TYPE: &'static str = "incident.edited";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        let id = event.stamp.event;
        let texts = [
            (&self.title, &mut incident.title),
            (&self.ticket, &mut incident.ticket),
            (&self.symptom, &mut incident.symptom),
            (&self.environment, &mut incident.environment),
            (&self.status_note, &mut incident.status_note),
            (&self.next_preface, &mut incident.next_preface),
        ];
        for (new, register) in texts {
            if let Some(value) = new {
                register.set(value.clone(), id, event.is_after);
            }
        }
        if let Some(files) = &self.files {
            incident.files.set(files.clone(), id, event.is_after);
        }
        if let Some(labels) = &self.labels {
            incident.labels.set(labels.clone(), id, event.is_after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{IncidentOpened, testing::fold};

    #[test]
    fn changes_only_what_it_names() {
        let incident = fold(vec![
            IncidentOpened { title: "a".into(), ticket: "X-1".into(), ..Default::default() }.into(),
            IncidentEdited { title: Some("b".into()), ..Default::default() }.into(),
        ]);
        assert_eq!((incident.title.as_str(), incident.ticket.as_str()), ("b", "X-1"));
    }
}
