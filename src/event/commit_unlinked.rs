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
        for link in incident.links.iter_mut().filter(|l| self.role.is_none_or(|r| r == l.role)) {
            // A name from before a rewrite that its writer had not heard of.
            let by_former_name =
                || link.former.iter().any(|(name, by)| *name == self.commit && !(event.is_after)(*by));
            // Only links it knew of: one that a person made again elsewhere at the same time stands.
            let meant = (event.is_after)(link.stamp.event) || !link.how.is_empty();
            if meant && (link.commit == self.commit || by_former_name()) {
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
        let link = CommitLinked { commit: a.clone(), role: Role::Fix, ..CommitLinked::default() };
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
            CommitLinked { commit: a.clone(), role: Role::Fix, ..CommitLinked::default() }.into(),
            CommitUnlinked { commit: a, role: None }.into(),
        ]);
        assert_eq!(unlinked.links_as(Role::Fix).count(), 0);
    }
    #[test]
    fn one_who_had_not_heard_of_a_rewrite_takes_the_link_back_all_the_same() {
        let a = Oid::parse(&"a".repeat(40)).unwrap();
        let b = Oid::parse(&"b".repeat(40)).unwrap();
        let fix = CommitLinked { commit: a.clone(), role: Role::Fix, ..CommitLinked::default() };
        let rewrite = CommitRewritten { from: a.clone(), to: b, ..CommitRewritten::default() };
        let mut incident = fold(vec![fix.clone().into(), rewrite.into(), fix.into()]);
        let unlink = |incident: &mut Incident, knows: bool| {
            let stamp = incident.links[0].stamp.clone();
            let first = stamp.event;
            let is_after = move |event| knows || event == first;
            CommitUnlinked { commit: a.clone(), role: None }
                .apply(&Context { stamp, is_after: &is_after }, incident);
        };
        // It knows of both links: it means the one that has the name today.
        let mut aware = incident.clone();
        unlink(&mut aware, true);
        assert_eq!(aware.links.iter().map(|l| l.unlinked).collect::<Vec<_>>(), [false, true]);
        unlink(&mut incident, false);
        assert_eq!(incident.links.iter().map(|l| l.unlinked).collect::<Vec<_>>(), [true, false]);
        // A link that a program made meanwhile does not stand against a person.
        incident.links[1].how = "trailer".to_owned();
        unlink(&mut incident, false);
        assert!(incident.links.iter().all(|l| l.unlinked));
    }
}
