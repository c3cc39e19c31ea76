//! A description held against the ledger and the gates of its head.

use super::super::Session;
use super::super::documents::Range;
use super::range::BaseBranch;
use crate::git::refs;
use crate::model::incident::Incident;
use crate::model::{Oid, Result};
use crate::report::pull_request::check::{self, Diagnostic, Facts};
use crate::report::standing::Standing;
use crate::store::travelling::LEDGER;

/// What was found.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The incident that the description names, when it is here.
    pub incident: Option<Oid>,
    /// The head it was held against.
    pub head: Oid,
    /// The findings, in the order of the description.
    pub diagnostics: Vec<Diagnostic>,
    /// What else to say.
    pub remarks: Vec<String>,
}

impl Session {
    /// Holds a description against what is known of a head, compared with a base.
    ///
    /// # Errors
    /// No such commits; the head's configuration is wrong; git fails.
    pub fn check_pull_request(
        &self,
        body: &str,
        head: &str,
        base: Option<&str>,
        base_name: Option<&str>,
        accept_claimed: bool,
    ) -> Result<Checked> {
        let tip = self.repo.resolve_commit(head)?;
        let base = match base {
            Some(revision) => Some(BaseBranch {
                commit: self.repo.resolve_commit(revision)?,
                name: base_name.map(|name| format!("refs/heads/{name}")),
            }),
            None => self.base_branch(None),
        };
        let from = match &base {
            Some(base) => self.merge_base_of(&tip, std::slice::from_ref(&base.commit))?,
            None => None,
        };
        // A head that is part of the base already has nothing of its own to judge but itself.
        let range = match from.filter(|from| *from != tip) {
            Some(from) => Range { base: Some(from), tip },
            None => Range { base: self.repo.resolve_commit(&format!("{tip}^")).ok(), tip },
        };
        let changed: Vec<String> = self.changed_files(&range)?.into_iter().map(|c| c.path).collect();
        let id = check::named_incident(body).and_then(|(name, _)| self.incident_id(Some(&name)).ok());
        let incident: Option<(Incident, Standing)> = match &id {
            Some(id) => {
                let incident = self.incident(id)?;
                let standing = self.standing(&incident);
                Some((incident, standing))
            }
            None => None,
        };
        let gates = self.gates_of(incident.as_ref().map(|(i, _)| i), &range, base.as_ref(), &changed)?;
        let none = Standing::default();
        let head = self.head_of(incident.as_ref().map_or(&none, |(_, s)| s), &range.tip)?;
        let facts = Facts {
            has_ledger: refs::read(&self.repo, LEDGER.notes)?.is_some(),
            incident: incident.as_ref().map(|(i, s)| (i, s)),
            concerns_incident: !self.incidents_between(&range.tip, range.base.as_ref())?.is_empty(),
            head: &head,
            gates: &gates.lines,
            changes: &gates.changes,
            has_file: &|path| self.repo.file_at(&range.tip, path).is_ok_and(|found| found.is_some()),
            accept_claimed,
        };
        let diagnostics = check::check(body, &facts);
        Ok(Checked { incident: id, head: range.tip.clone(), diagnostics, remarks: gates.remarks })
    }
}
