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
    /// How that is known: `post-rewrite`, `patch-id`, `tree`, `pr`, `trailer`, `squash`, and the like.
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

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        if self.from == self.to {
            return;
        }
        incident.rewrites.push((self.from.clone(), self.to.clone()));
        // Idempotent, as the hook may fire twice: a link whose commit already has the new name is no longer found.
        let mut i = 0;
        while i < incident.links.len() {
            if incident.links[i].commit != self.from {
                i += 1;
                continue;
            }
            let (role, attempt) = (incident.links[i].role, incident.links[i].attempt);
            let there = incident.links.iter().position(|l| {
                let one = l.attempt == attempt || l.attempt.is_none() || attempt.is_none();
                l.commit == self.to && l.role == role && one
            });
            incident.links[i].former.push((self.from.clone(), event.stamp.event));
            if let Some(there) = there {
                // The link that has the name already says whether it stands, unless a program made it: what a person
                // took back under the former name stays so.
                let gone = incident.links.remove(i);
                let link = &mut incident.links[if there > i { there - 1 } else { there }];
                link.attempt = link.attempt.or(gone.attempt);
                link.unlinked |= gone.unlinked && !link.how.is_empty();
                link.former.extend(gone.former);
                continue;
            }
            let link = &mut incident.links[i];
            link.commit = self.to.clone();
            if self.tree.is_some() {
                link.tree.clone_from(&self.tree);
            }
            if !self.patch_id.is_empty() {
                link.patch_id.clone_from(&self.patch_id);
            }
            i += 1;
        }
    }
}

/// For tests and for `..`: no commit has that name.
impl Default for CommitRewritten {
    fn default() -> Self {
        Self { from: Oid::zero(), to: Oid::zero(), how: String::new(), tree: None, patch_id: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::{fold, id};
    use crate::event::{AttemptStarted, CommitLinked, CommitUnlinked, Data};
    use crate::model::status::Role;

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn linked(commit: char, attempt: usize) -> Data {
        CommitLinked {
            commit: oid(commit),
            role: Role::Failed,
            attempt: Some(id(attempt)),
            ..CommitLinked::default()
        }
        .into()
    }

    fn moved(from: char, to: char) -> Data {
        CommitRewritten { from: oid(from), to: oid(to), ..CommitRewritten::default() }.into()
    }

    #[test]
    fn a_squash_keeps_the_link_of_each_attempt() {
        let start: Data = AttemptStarted::default().into();
        let incident = fold(vec![
            start.clone(),
            start,
            linked('a', 0),
            linked('b', 1),
            linked('c', 1),
            moved('a', 'd'),
            moved('b', 'd'),
            moved('c', 'd'),
        ]);
        let links: Vec<_> = incident.links.iter().map(|l| (l.commit.clone(), l.attempt)).collect();
        assert_eq!(links, [(oid('d'), Some(id(0))), (oid('d'), Some(id(1)))]);
        assert_eq!(incident.links[1].former.len(), 2);
        assert_eq!(incident.rewrites.len(), 3);
    }

    #[test]
    fn what_was_taken_back_stays_so_under_every_name() {
        let taken = |commit| Data::from(CommitUnlinked { commit: oid(commit), role: None });
        // By the trailer of an amended commit, before the rewrite was reported.
        let found: Data = CommitLinked {
            commit: oid('b'),
            role: Role::Failed,
            how: "trailer".into(),
            ..CommitLinked::default()
        }
        .into();
        for events in [
            vec![linked('a', 0), taken('a'), moved('a', 'b'), moved('b', 'c'), moved('a', 'b')],
            vec![linked('a', 0), linked('b', 0), taken('b'), moved('a', 'b')],
            vec![linked('a', 0), taken('a'), found.clone(), moved('a', 'b')],
            vec![linked('a', 0), found, taken('a'), moved('a', 'b')],
        ] {
            assert_eq!(fold(events.clone()).links.iter().filter(|l| !l.unlinked).count(), 0, "{events:?}");
        }
    }
}
