//! Links between commits and attempts.

use super::Session;
use crate::event::{CommitLinked, CommitUnlinked};
use crate::git::diff;
use crate::git::history::{self, Commit};
use crate::links::message;
use crate::model::incident::{Incident, Link};
use crate::model::status::Role;
use crate::model::{Error, EventId, Oid, Result};
use crate::store::ledger::Draft;

/// So many commits behind a fix are looked at for a revert that no ledger has.
const MOST_SINCE_FIX: usize = 2000;

impl Session {
    /// Everything it takes to find a commit again after a rewrite.
    ///
    /// # Errors
    /// The commit is not here.
    pub fn describe_commit(
        &self,
        commit: &Oid,
        role: Role,
        attempt: Option<EventId>,
    ) -> Result<CommitLinked> {
        let found = history::commits(
            &self.repo,
            &self.git(),
            &history::Place::These(std::slice::from_ref(commit)),
            1,
        )?;
        let found = found.into_iter().next().ok_or_else(|| {
            Error::refused(format!("commit {} is not in this repository", commit.short()))
                .hint("in a shallow or partial clone: git fetch --unshallow, or git fetch --refetch")
        })?;
        let patch_id = diff::patch_id(&self.git(), commit.as_str())?;
        Ok(self.described(&found, role, attempt, patch_id))
    }

    /// As [`Session::describe_commit`], of a commit that was read already.
    pub(super) fn described(
        &self,
        commit: &Commit,
        role: Role,
        attempt: Option<EventId>,
        patch_id: Option<String>,
    ) -> CommitLinked {
        let reverts = if role == Role::Revert {
            message::signs(&commit.message).reverts.iter().filter_map(|d| self.full_name(d)).collect()
        } else {
            Vec::new()
        };
        CommitLinked {
            commit: commit.oid.clone(),
            role,
            attempt,
            patch_id: patch_id.unwrap_or_default(),
            tree: Some(commit.tree.clone()),
            subject: commit.subject(),
            pr: message::pull_request_of(&commit.message),
            how: String::new(),
            reverts,
        }
    }

    /// The commit that digits in a message name: also one that is not here, if all its digits stand there.
    pub(super) fn full_name(&self, digits: &str) -> Option<Oid> {
        Oid::parse(digits).or_else(|| self.repo.resolve_commit(digits).ok())
    }

    /// Links a commit and writes its line. `reverts` are commits it undoes beside those that its message names.
    ///
    /// # Errors
    /// The commit is not here; the repository cannot be written.
    pub fn link_commit(
        &self,
        id: &Oid,
        commit: &Oid,
        role: Role,
        attempt: Option<EventId>,
        reverts: &[Oid],
    ) -> Result<Incident> {
        let before = self.incident(id)?;
        // As merely related, the post-commit hook links it before anybody has judged it.
        let loose = before.links_as(Role::Related).find(|l| l.commit == *commit);
        let mut linked = self.describe_commit(commit, role, attempt.or(loose.and_then(|l| l.attempt)))?;
        for more in reverts {
            if !linked.reverts.contains(more) {
                linked.reverts.push(more.clone());
            }
        }
        self.append(id, &[], |draft| add_link(draft, linked, loose.is_some()))?;
        let incident = self.incident(id)?;
        self.project_lines(&incident, std::slice::from_ref(commit))?;
        Ok(incident)
    }

    /// Takes a link back, and its line.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn unlink_commit(&self, id: &Oid, commit: &Oid, role: Option<Role>) -> Result<Incident> {
        self.append(id, &[], |draft| draft.add(CommitUnlinked { commit: commit.clone(), role }))?;
        let incident = self.incident(id)?;
        self.project_lines(&incident, std::slice::from_ref(commit))?;
        Ok(incident)
    }

    /// The incident as HEAD's history shows it: reverts of its fixes that no hook has seen (others' merges, commits
    /// made without hooks) count as if they were linked. Nothing is written; `relink --apply` does that.
    pub fn with_reverts(&self, incident: Incident) -> Incident {
        let Ok(Some(head)) = self.repo.head_commit() else { return incident };
        let fixes: Vec<Oid> = incident
            .links_as(Role::Fix)
            .map(|l| l.commit.clone())
            .filter(|c| self.repo.is_commit(c) && self.repo.is_ancestor(c, &head))
            .collect();
        let mut incident = incident;
        let mut found = false;
        for fix in fixes {
            // Oldest first, so that the revert of a revert finds it.
            for (commit, text) in
                history::messages_since(&self.repo, &fix, &head, MOST_SINCE_FIX).into_iter().rev()
            {
                let linked = |l: &Link| l.commit == commit && l.role == Role::Revert;
                if !text.contains("everts commit") || incident.links.iter().any(linked) {
                    continue;
                }
                let named = message::signs(&text).reverts;
                let undone: Vec<Oid> =
                    named.iter().filter_map(|digits| linked_as(&incident, digits)).collect();
                if let Some(of) = undone.first().and_then(|c| incident.links.iter().find(|l| l.commit == *c))
                {
                    let link = Link {
                        commit,
                        role: Role::Revert,
                        reverts: undone,
                        subject: text.lines().next().unwrap_or_default().to_owned(),
                        patch_id: String::new(),
                        tree: None,
                        how: NOT_RECORDED.to_owned(),
                        former: Vec::new(),
                        unlinked: false,
                        ..of.clone()
                    };
                    incident.links.push(link);
                    found = true;
                }
            }
        }
        if found {
            incident.settle_reverts();
        }
        incident
    }
}

/// How a link is called that stands in no ledger yet.
pub const NOT_RECORDED: &str = "seen";

/// The commit of a link in force whose name, now or before rewrites, begins with these digits.
pub(super) fn linked_as(incident: &Incident, digits: &str) -> Option<Oid> {
    let in_force = || incident.links.iter().filter(|l| !l.unlinked);
    let is = |oid: &Oid| oid.as_str().starts_with(digits);
    in_force()
        .find(|l| is(&l.commit))
        .or_else(|| in_force().find(|l| l.former.iter().any(|(name, _)| is(name))))
        .map(|l| l.commit.clone())
}

/// Adds a link; a role that says something replaces the one that says nothing.
///
/// # Errors
/// Data that may not stand in a ledger.
pub(super) fn add_link(draft: &mut Draft<'_>, linked: CommitLinked, loose: bool) -> Result<EventId> {
    if loose && linked.role != Role::Related {
        draft.add(CommitUnlinked { commit: linked.commit.clone(), role: Some(Role::Related) })?;
    }
    draft.add(linked)
}
