//! What is known of the gates of a request, and what it does to its own checks.

use super::super::Session;
use super::super::documents::Range;
use super::super::validate::{Known, Subject};
use super::range::BaseBranch;
use crate::config::Config;
use crate::model::incident::Incident;
use crate::model::status::Verdict;
use crate::model::{Oid, Result};
use crate::report::pull_request::gates::{CheckChange, GateLine, Proof};

/// What is known.
#[derive(Debug, Clone, Default)]
pub(super) struct Gates {
    /// One for each gate that is due.
    pub(super) lines: Vec<GateLine>,
    /// What the change does to its own checks.
    pub(super) changes: Vec<CheckChange>,
    /// What else to say.
    pub(super) remarks: Vec<String>,
}

impl Session {
    /// Finds out, without running anything. `changed` are the paths of the change.
    pub(super) fn gates_of(
        &self,
        incident: Option<&Incident>,
        range: &Range,
        base: Option<&BaseBranch>,
        changed: &[String],
    ) -> Result<Gates> {
        let own = self.config_at(&range.tip)?;
        // A branch whose name is not known may be a protected one.
        let protects = |config: &Config| {
            base.is_none_or(|b| b.name.as_ref().is_none_or(|name| config.pre_push.protects(name)))
        };
        let former = base.and_then(|b| self.config_at(&b.commit).ok());
        let strict = protects(&own) || former.as_ref().is_some_and(protects);
        let examined = self.examine(&Subject {
            commit: range.tip.clone(),
            base: range.base.clone(),
            target: None,
            former: base.map(|b| b.commit.clone()).filter(|_| strict),
            only: Vec::new(),
            strict,
        })?;
        let known = self.known_of(&examined.jobs, incident)?;
        let before = range.base.as_ref().and_then(|base| self.repo.tree_of(base).ok());
        let lines = examined
            .jobs
            .iter()
            .zip(known)
            .map(|(job, known)| {
                let before = incident.and_then(|i| said_before(i, &job.gate.id, &job.tree, before.as_ref()));
                line(&job.gate.id, known, before)
            })
            .collect();
        Ok(Gates { lines, changes: self.check_changes(&own, range, changed), remarks: examined.remarks })
    }

    /// What the change does to the checks that judge it.
    fn check_changes(&self, own: &Config, range: &Range, changed: &[String]) -> Vec<CheckChange> {
        let Some(base) = &range.base else { return Vec::new() };
        let Ok(former) = self.config_at(base) else {
            return vec![CheckChange::Unreadable("base")];
        };
        let mut changes = Vec::new();
        for gate in &former.gates {
            match own.gate(&gate.id) {
                None => changes.push(CheckChange::Removed(gate.id.clone())),
                Some(now) if now.digest() != gate.digest() => {
                    changes.push(CheckChange::Changed(gate.id.clone()));
                }
                Some(_) => {}
            }
            for path in gate.oracle.iter().filter(|path| changed.contains(path)) {
                changes.push(CheckChange::Oracle(gate.id.clone(), path.clone()));
            }
        }
        let added = own.gates.iter().filter(|gate| former.gate(&gate.id).is_none());
        changes.extend(added.map(|gate| CheckChange::Added(gate.id.clone())));
        if own.pre_push != former.pre_push {
            changes.push(CheckChange::Policy("[pre-push]"));
        }
        let lists = [&former.records.signers, &former.records.revoked];
        let signers = lists.into_iter().flatten().any(|path| changed.contains(path));
        if own.records != former.records || signers {
            changes.push(CheckChange::Policy("[records]"));
        }
        changes
    }
}

fn line(gate: &str, known: Known, before: Option<(Verdict, Option<Oid>)>) -> GateLine {
    let (proof, reason, device, record) = match known {
        Known::Counts { verdict, reason, device, record, .. } => {
            (Proof::Counts(verdict), reason, device, Some(record))
        }
        Known::Claimed { verdict, device, record } => {
            (Proof::Claimed(verdict), String::new(), device, Some(record))
        }
        Known::Pending(reason) => (Proof::Pending, reason, String::new(), None),
        Known::Nothing(reason) => (Proof::Missing, reason, String::new(), None),
    };
    GateLine { gate: gate.to_owned(), proof, reason, device, record, before }
}

/// What a gate said before: of the base's tree, else the newest of any other tree.
fn said_before(
    incident: &Incident,
    gate: &str,
    head: &Oid,
    base: Option<&Oid>,
) -> Option<(Verdict, Option<Oid>)> {
    let newest = |wanted: &dyn Fn(Option<&Oid>) -> bool| {
        incident.gates.iter().rev().find(|g| g.gate == gate && wanted(g.tree.as_ref()))
    };
    let found =
        newest(&|tree| base.is_some() && tree == base).or_else(|| newest(&|tree| tree != Some(head)))?;
    (found.tree.as_ref() != Some(head)).then(|| (found.verdict, found.tree.clone()))
}
