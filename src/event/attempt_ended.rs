//! `attempt.ended`: what an attempt showed, on both sides.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::EventId;
use crate::model::incident::Incident;
use crate::model::outcome::Outcome;

/// A try at the bug ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptEnded {
    /// The attempt.
    pub attempt: EventId,
    /// Both sides of the outcome.
    pub outcome: Outcome,
    /// What was done, when it was not said at the start.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub action: String,
    /// What happened.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// What it tells.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub conclusion: String,
    /// What it rules out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules_out: Vec<String>,
}

impl EventType for AttemptEnded {
    const TYPE: &'static str = "attempt.ended";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        let Some(attempt) = incident.attempts.iter_mut().find(|a| a.started.event == self.attempt) else {
            return;
        };
        let former = attempt.ended.as_ref().map(|e| (e.event, (attempt.outcome, attempt.conclusion.clone())));
        let now = (self.outcome, self.conclusion.clone());
        attempt.rivals.update(former, &now, event.is_after);
        attempt.ended = Some(event.stamp.clone());
        attempt.outcome = self.outcome;
        if !self.action.is_empty() {
            attempt.action.clone_from(&self.action);
        }
        attempt.result.clone_from(&self.result);
        attempt.conclusion.clone_from(&self.conclusion);
        attempt.rules_out.clone_from(&self.rules_out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::{fold, id};
    use crate::event::{AttemptStarted, Data};
    use crate::model::outcome::{Bug, Hypothesis};

    fn end(attempt: usize, bug: Bug, conclusion: &str) -> Data {
        AttemptEnded {
            attempt: id(attempt),
            outcome: Outcome { hypothesis: Hypothesis::Supported, bug },
            action: String::new(),
            result: String::new(),
            conclusion: conclusion.into(),
            rules_out: vec![],
        }
        .into()
    }

    #[test]
    fn the_last_word_counts_and_a_missing_attempt_is_no_panic() {
        let incident = fold(vec![
            AttemptStarted::default().into(),
            end(0, Bug::Remains, "a"),
            end(0, Bug::Fixed, "b"),
            end(7, Bug::Fixed, "c"),
        ]);
        assert_eq!(incident.attempts[0].outcome.bug, Bug::Fixed);
        assert_eq!(incident.attempts[0].conclusion, "b");
        assert!(incident.attempts[0].rivals.is_empty());
    }
}
