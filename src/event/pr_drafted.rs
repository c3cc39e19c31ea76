//! `pr.drafted`: the text of a pull request was made from the ledger.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Drafted, Incident};

/// A text was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrDrafted {
    /// Its title.
    pub title: String,
    /// SHA-256 of the text.
    pub sha256: String,
    /// The page of the draft it was put on; empty when it was only printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
}

impl EventType for PrDrafted {
    const TYPE: &'static str = "pr.drafted";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        incident.pull_requests.push(Drafted {
            stamp: event.stamp.clone(),
            place: self.title.clone(),
            sha256: self.sha256.clone(),
            url: self.url.clone(),
            blocks: Vec::new(),
        });
    }
}
