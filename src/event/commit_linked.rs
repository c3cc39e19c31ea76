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
    /// How it was found when no person made the link: `trailer`, `patch-id`, `cherry-pick`, `revert`, and the like.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub how: String,
    /// Commits it undoes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reverts: Vec<Oid>,
}

/// For tests and for `..`: no commit has that name.
impl Default for CommitLinked {
    fn default() -> Self {
        Self {
            commit: Oid::zero(),
            role: Role::default(),
            attempt: None,
            patch_id: String::new(),
            tree: None,
            subject: String::new(),
            pr: String::new(),
            how: String::new(),
            reverts: Vec::new(),
        }
    }
}

impl EventType for CommitLinked {
    const TYPE: &'static str = "commit.linked";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        let of_commit = || incident.links.iter().filter(|l| l.commit == self.commit);
        // What a person took back, no program brings back.
        if !self.how.is_empty() && of_commit().next().is_some() && of_commit().all(|l| l.unlinked) {
            return;
        }
        let link = Link {
            stamp: event.stamp.clone(),
            commit: self.commit.clone(),
            role: self.role,
            attempt: self.attempt,
            patch_id: self.patch_id.clone(),
            tree: self.tree.clone(),
            subject: self.subject.clone(),
            pr: self.pr.clone(),
            how: self.how.clone(),
            reverts: self.reverts.clone(),
            former: Vec::new(),
            reverted_by: None,
            unlinked: false,
        };
        // Saying it twice, here or in two clones, changes nothing. A squash plays the part of several attempts.
        let same = |l: &Link| l.commit == self.commit && l.role == self.role;
        let exact = incident.links.iter().position(|l| same(l) && l.attempt == self.attempt);
        let vague = |l: &Link| same(l) && (l.attempt.is_none() || self.attempt.is_none());
        match exact.or_else(|| incident.links.iter().position(vague)) {
            Some(i) => {
                let old = &mut incident.links[i];
                let former = std::mem::take(&mut old.former);
                *old = Link { attempt: link.attempt.or(old.attempt), former, ..link };
            }
            None => incident.links.push(link),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::fold;
    use crate::event::{CommitUnlinked, Data};

    fn oid() -> Oid {
        Oid::parse(&"a".repeat(40)).unwrap()
    }

    fn link(role: Role, how: &str) -> Data {
        CommitLinked { commit: oid(), role, how: how.into(), ..CommitLinked::default() }.into()
    }

    #[test]
    fn a_commit_may_hold_several_attempts_in_one_role() {
        let start: Data = crate::event::AttemptStarted::default().into();
        let of = |attempt: Option<usize>| -> Data {
            let attempt = attempt.map(crate::event::testing::id);
            CommitLinked { commit: oid(), role: Role::Failed, attempt, ..CommitLinked::default() }.into()
        };
        let events = vec![start.clone(), start, of(None), of(Some(0)), of(Some(1)), of(Some(0)), of(None)];
        let attempts: Vec<_> = fold(events).links.iter().map(|l| l.attempt).collect();
        let id = crate::event::testing::id;
        assert_eq!(attempts, [Some(id(0)), Some(id(1))]);
    }

    #[test]
    fn what_was_taken_back_is_brought_back_by_people_alone() {
        let taken: Data = CommitUnlinked { commit: oid(), role: None }.into();
        let in_force = |events: Vec<Data>| fold(events).links.iter().filter(|l| !l.unlinked).count();
        let first = link(Role::Related, "trailer");
        for found in [link(Role::Related, "trailer"), link(Role::Fix, "patch-id")] {
            assert_eq!(in_force(vec![first.clone(), taken.clone(), found]), 0);
        }
        assert_eq!(in_force(vec![first.clone(), taken, link(Role::Fix, "")]), 1);
        // One role was exchanged for another: nobody has taken the commit back.
        let exchanged = CommitUnlinked { commit: oid(), role: Some(Role::Related) }.into();
        assert_eq!(in_force(vec![first.clone(), exchanged, link(Role::Fix, ""), first]), 2);
    }
}
