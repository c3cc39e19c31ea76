//! `commit.rewritten`: amend, rebase and their like gave a linked commit another name.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::Oid;
use crate::model::incident::Incident;

/// A linked commit has another name now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommitRewritten {
    /// Its former name.
    pub from: Oid,
    /// Its name now.
    pub to: Oid,
    /// How that is known: `post-rewrite`, `patch-id`, `tree`, `pr`, `trailer`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub how: String,
    /// The new commit's tree, when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// The new commit's patch-id, when it is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub patch_id: String,
}

impl EventType for CommitRewritten {
    const TYPE: &'static str = "commit.rewritten";

    fn apply(&self, _event: &Context<'_>, incident: &mut Incident) {
        // Idempotent, as the hook may fire twice: a link whose commit already has the new name is no longer found.
        for i in 0..incident.links.len() {
            if incident.links[i].commit != self.from {
                continue;
            }
            let role = incident.links[i].role;
            let there_already =
                incident.links.iter().any(|l| l.commit == self.to && l.role == role && !l.unlinked);
            let link = &mut incident.links[i];
            if there_already {
                link.unlinked = true;
                continue;
            }
            link.commit = self.to.clone();
            if self.tree.is_some() {
                link.tree.clone_from(&self.tree);
            }
            if !self.patch_id.is_empty() {
                link.patch_id.clone_from(&self.patch_id);
            }
        }
    }
}
