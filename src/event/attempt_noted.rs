//! `attempt.noted`: something observed or run, in an attempt or between attempts.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::EventId;
use crate::model::incident::{Incident, Note, RunRecord};

/// A note, a recorded command, or both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AttemptNoted {
    /// The attempt; absent for a note on the incident itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<EventId>,
    /// The text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Aspects it speaks of: `profile`, `sizes`, `host`, `device`, `code`, `arithmetic`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<String>,
    /// Whether it belongs on a timeline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub important: bool,
    /// The command that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunRecord>,
}

impl EventType for AttemptNoted {
    const TYPE: &'static str = "attempt.noted";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        let note = Note {
            stamp: event.stamp.clone(),
            text: self.text.clone(),
            about: self.about.clone(),
            important: self.important,
            run: self.run.clone(),
        };
        // A note on an attempt that is not there (its line was lost elsewhere) stays visible.
        match incident.attempts.iter_mut().find(|a| Some(a.started.event) == self.attempt) {
            Some(attempt) => attempt.notes.push(note),
            None => incident.notes.push(note),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::AttemptStarted;
    use crate::event::testing::{fold, id};

    #[test]
    fn stays_visible_without_its_attempt() {
        let note = |attempt| AttemptNoted { attempt: Some(attempt), text: "x".into(), ..Default::default() };
        let incident = fold(vec![AttemptStarted::default().into(), note(id(0)).into(), note(id(9)).into()]);
        assert_eq!(incident.attempts[0].notes.len(), 1);
        assert_eq!(incident.notes.len(), 1);
    }

    #[test]
    fn worked_time_is_total_whatever_the_numbers() {
        let noted = |millis| AttemptNoted {
            run: Some(RunRecord { millis, ..Default::default() }),
            ..Default::default()
        };
        for millis in [u64::MAX, i64::MAX as u64, i64::MAX as u64 + 2] {
            let mut incident = fold(vec![noted(5).into(), noted(millis).into()]);
            assert_eq!(incident.worked_millis(), i64::MAX as u64);
            incident.spent.minutes = u64::MAX;
            assert_eq!(incident.worked_millis(), u64::MAX);
        }
        assert_eq!(fold(vec![noted(5).into(), noted(5).into()]).worked_millis(), 6);
    }
}
