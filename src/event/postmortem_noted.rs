//! `postmortem.noted`: something said for one block of the post-mortem that no attempt, run or commit tells.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::Timestamp;
use crate::model::incident::{Incident, ReviewNote};

/// Impact, detection, a moment of the timeline, why it slipped through, a lesson, an open question, an action item,
/// the owner.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PostmortemNoted {
    /// Which of them.
    pub block: String,
    /// What is said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Why it slipped through, in one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Who owns an action item.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// Where an action item is tracked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub link: String,
    /// When it happened, as a ledger writes times; anything else is "not said".
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub happened: String,
    /// There is nothing to say, and the text says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub none: bool,
}

impl EventType for PostmortemNoted {
    const TYPE: &'static str = "postmortem.noted";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        incident.review.push(ReviewNote {
            stamp: event.stamp.clone(),
            block: self.block.clone(),
            text: self.text.clone(),
            reason: self.reason.clone(),
            owner: self.owner.clone(),
            link: self.link.clone(),
            happened: Timestamp::parse(&self.happened),
            none: self.none,
            withdrawn: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::PostmortemWithdrawn;
    use crate::event::testing::{fold, id};

    #[test]
    fn stands_until_it_is_withdrawn() {
        let note = |block: &str, happened: &str| PostmortemNoted {
            block: block.into(),
            text: "x".into(),
            happened: happened.into(),
            ..Default::default()
        };
        let incident = fold(vec![
            note("impact", "").into(),
            note("timeline", "2026-03-01T09:00:00.000Z").into(),
            note("timeline", "yesterday").into(),
            PostmortemWithdrawn { noted: id(0), reason: "wrong incident".into() }.into(),
            PostmortemWithdrawn { noted: id(9), reason: String::new() }.into(),
        ]);
        assert_eq!(incident.review_of("impact").count(), 0);
        let times: Vec<bool> = incident.review_of("timeline").map(|n| n.happened.is_some()).collect();
        assert_eq!(times, [true, false]);
        assert_eq!(incident.review[0].withdrawn.as_deref(), Some("wrong incident"));
    }
}
