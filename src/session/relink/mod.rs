//! Links that follow their commits: read from messages (`found`), matched after a rewrite (`lost`), moved as git says
//! (`rewritten`), and written into the ledgers here.

mod found;
mod lost;
mod patch_ids;
mod rewritten;

pub use lost::{Matched, Options, Report, Row};

use std::collections::BTreeMap;

use super::Session;
use super::linking::add_link;
use crate::event::{CommitLinked, CommitRewritten};
use crate::model::incident::Incident;
use crate::model::status::Role;
use crate::model::{Oid, Result};

/// What is to be written into one ledger.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Commits that have another name.
    pub rewritten: Vec<CommitRewritten>,
    /// Commits that belong to the incident as well.
    pub linked: Vec<CommitLinked>,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.rewritten.is_empty() && self.linked.is_empty()
    }
}

impl Session {
    /// Writes changes, one append for each ledger, and the lines on the commits.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub(crate) fn write_links(&self, changes: BTreeMap<Oid, Changes>) -> Result<()> {
        for (id, changes) in changes.into_iter().filter(|(_, c)| !c.is_empty()) {
            let before = self.incident(&id)?;
            let mut touched: Vec<Oid> = Vec::new();
            self.append(&id, &[], |draft| {
                for event in changes.rewritten {
                    touched.extend([event.from.clone(), event.to.clone()]);
                    draft.add(event)?;
                }
                for link in changes.linked {
                    touched.push(link.commit.clone());
                    let loose = is_loose(&before, &link);
                    add_link(draft, link, loose)?;
                }
                Ok(())
            })?;
            self.project_lines(&self.incident(&id)?, &touched)?;
        }
        Ok(())
    }
}

/// Whether the commit is linked as merely related, which a role that says more replaces.
fn is_loose(incident: &Incident, link: &CommitLinked) -> bool {
    incident.links_as(Role::Related).any(|l| l.commit == link.commit)
}
