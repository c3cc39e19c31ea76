//! `attempt.started`: a hypothesis is put to the test.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Attempt, Incident};
use crate::model::outcome::Outcome;
use crate::model::register::Rivals;

/// A try at the bug begins.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AttemptStarted {
    /// Why it might work.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hypothesis: String,
    /// What would disprove the hypothesis.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub disproof: String,
    /// Short description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What is going to be done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub action: String,
}

impl EventType for AttemptStarted {
    const TYPE: &'static str = "attempt.started";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        incident.attempts.push(Attempt {
            ordinal: incident.attempts.len() + 1,
            started: event.stamp.clone(),
            title: self.title.clone(),
            hypothesis: self.hypothesis.clone(),
            disproof: self.disproof.clone(),
            action: self.action.clone(),
            result: String::new(),
            conclusion: String::new(),
            rules_out: Vec::new(),
            outcome: Outcome::default(),
            ended: None,
            rivals: Rivals::default(),
            reverted: None,
            notes: Vec::new(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::fold;

    #[test]
    fn counts_from_one() {
        let incident = fold(vec![AttemptStarted::default().into(), AttemptStarted::default().into()]);
        assert_eq!(incident.attempts.iter().map(|a| a.ordinal).collect::<Vec<_>>(), [1, 2]);
    }
}
