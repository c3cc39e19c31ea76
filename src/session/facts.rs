//! What the repository knows beside the ledger: which fixes resolve, what an incident's record proves.

use super::Session;
use crate::model::incident::Incident;
use crate::model::status::Role;
use crate::report::standing::{FixCommit, Standing, standing};

impl Session {
    /// The fix links of an incident that resolve to commits here, oldest first.
    pub fn fixes(&self, incident: &Incident) -> Vec<FixCommit> {
        incident
            .links_as(Role::Fix)
            .filter_map(|l| {
                self.repo.tree_of(&l.commit).ok().map(|tree| FixCommit { commit: l.commit.clone(), tree })
            })
            .collect()
    }

    /// What an incident's record proves, reverts in HEAD's history included that no ledger has.
    pub fn standing(&self, incident: &Incident) -> Standing {
        standing(&self.with_reverts(incident.clone()), &self.fixes(incident))
    }
}
