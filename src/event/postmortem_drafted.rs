//! `postmortem.drafted`: a post-mortem was written from the ledger.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Drafted, DraftedBlock, Incident};

/// A draft was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PostmortemDrafted {
    /// Where, from the top of the repository.
    pub path: String,
    /// SHA-256 of what was written, to see later what people changed.
    pub sha256: String,
    /// The blocks in it that stood as they were drafted, to know later which ones people have edited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<DraftedBlock>,
}

impl EventType for PostmortemDrafted {
    const TYPE: &'static str = "postmortem.drafted";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        incident.postmortems.push(Drafted {
            stamp: event.stamp.clone(),
            place: self.path.clone(),
            sha256: self.sha256.clone(),
            url: String::new(),
            blocks: self.blocks.clone(),
        });
    }
}
