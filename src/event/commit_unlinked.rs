//! `commit.unlinked`: a link is taken back.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::Oid;
use crate::model::incident::Incident;
use crate::model::status::Role;

/// A link is taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommitUnlinked {
    /// The commit.
    pub commit: Oid,
    /// Only in this role; absent for all roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

impl EventType for CommitUnlinked {
    const TYPE: &'static str = "commit.unlinked";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        for link in incident
            .links
            .iter_mut()
            .filter(|l| l.commit == self.commit && self.role.is_none_or(|r| r == l.role))
        {
            // Only links it knew of: one that was made again elsewhere at the same time stands.
            if (event.is_after)(link.stamp.event) {
                link.unlinked = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::fold;
    use crate::event::{CommitLinked, CommitRewritten};

    #[test]
    fn follows_rewrites_and_unlinks() {
        let a = Oid::parse(&"a".repeat(40)).unwrap();
        let b = Oid::parse(&"b".repeat(40)).unwrap();
        let link = CommitLinked {
            commit: a.clone(),
            role: Role::Fix,
            attempt: None,
            patch_id: String::new(),
            tree: None,
            subject: String::new(),
            pr: String::new(),
        };
        let rewrite = CommitRewritten {
            from: a.clone(),
            to: b.clone(),
            how: "post-rewrite".into(),
            tree: None,
            patch_id: String::new(),
        };
        let incident = fold(vec![link.clone().into(), link.into(), rewrite.clone().into(), rewrite.into()]);
        assert_eq!(incident.links.len(), 1);
        assert_eq!(incident.links_as(Role::Fix).next().unwrap().commit, b);
        let unlinked = fold(vec![
            CommitLinked {
                commit: a.clone(),
                role: Role::Fix,
                attempt: None,
                patch_id: String::new(),
                tree: None,
                subject: String::new(),
                pr: String::new(),
            }
            .into(),
            CommitUnlinked { commit: a, role: None }.into(),
        ]);
        assert_eq!(unlinked.links_as(Role::Fix).count(), 0);
    }
}
