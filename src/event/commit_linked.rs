//! `commit.linked`: a commit has to do with the incident.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Incident, Link};
use crate::model::status::Role;
use crate::model::{EventId, Oid};

/// A commit, its role, and what it takes to find it again after a rewrite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommitLinked {
    /// The commit.
    pub commit: Oid,
    /// What it is to the incident.
    pub role: Role,
    /// The attempt it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<EventId>,
    /// Its patch-id; empty for merges and empty commits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub patch_id: String,
    /// Its tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// Its subject.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// Its pull request, such as `#123`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pr: String,
}

impl EventType for CommitLinked {
    const TYPE: &'static str = "commit.linked";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        let link = Link {
            stamp: event.stamp.clone(),
            commit: self.commit.clone(),
            role: self.role,
            attempt: self.attempt,
            patch_id: self.patch_id.clone(),
            tree: self.tree.clone(),
            subject: self.subject.clone(),
            pr: self.pr.clone(),
            unlinked: false,
        };
        // One link a commit and role: saying it twice, here or in two clones, changes nothing.
        match incident.links.iter_mut().find(|l| l.commit == self.commit && l.role == self.role) {
            Some(old) => *old = Link { attempt: link.attempt.or(old.attempt), ..link },
            None => incident.links.push(link),
        }
    }
}
