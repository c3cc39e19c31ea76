//! What reverts make of fixes: a fix that was undone holds no longer, until the commit that undid it is undone itself.

use std::collections::{BTreeMap, BTreeSet};

use super::Oid;
use super::incident::Incident;
use super::outcome::Bug;
use super::status::Role;

impl Incident {
    /// Works out which links are undone, and which attempts have failed by that. May be called again after links were
    /// added.
    ///
    /// A commit is undone when a link in force in the role `revert` names it and the reverting commit is not undone
    /// itself. Of commits that undo each other in a circle, which no history holds, none is.
    pub fn settle_reverts(&mut self) {
        let undone = self.undone();
        for link in &mut self.links {
            link.reverted_by = undone.get(&link.commit).cloned();
        }
        for attempt in &mut self.attempts {
            if attempt.reverted.take().is_some() {
                attempt.outcome.bug = Bug::Fixed;
            }
            if attempt.outcome.bug != Bug::Fixed {
                continue;
            }
            let mut fixes = self
                .links
                .iter()
                .filter(|l| l.role == Role::Fix && !l.unlinked && l.attempt == Some(attempt.started.event))
                .map(|l| l.reverted_by.as_ref());
            // One fix that stands is enough.
            let last = fixes.next_back();
            if let Some(Some(by)) = last
                && fixes.all(|f| f.is_some())
            {
                attempt.reverted = Some(by.clone());
                attempt.outcome.bug = Bug::Remains;
            }
        }
    }

    /// The commits that are undone, each with the first commit (by name) that undoes it and stands.
    fn undone(&self) -> BTreeMap<Oid, Oid> {
        let mut reverters: BTreeMap<&Oid, BTreeSet<&Oid>> = BTreeMap::new();
        let mut named: BTreeMap<&Oid, BTreeSet<&Oid>> = BTreeMap::new();
        let reverts = self.links.iter().filter(|l| l.role == Role::Revert && !l.unlinked);
        let mut reverts = reverts.filter(|l| !l.reverts.is_empty()).peekable();
        if reverts.peek().is_none() {
            return BTreeMap::new();
        }
        // A message goes on naming what a rewrite has renamed.
        let mut now: BTreeMap<&Oid, &Oid> = BTreeMap::new();
        for link in &self.links {
            now.extend(link.former.iter().map(|(name, _)| (name, &link.commit)));
        }
        // A name that a link has today is that link's, whoever had it before.
        now.extend(self.links.iter().map(|l| (&l.commit, &l.commit)));
        for link in reverts {
            for target in &link.reverts {
                let target = now.get(target).copied().unwrap_or(target);
                if *target != link.commit {
                    reverters.entry(target).or_default().insert(&link.commit);
                    named.entry(&link.commit).or_default().insert(target);
                }
            }
        }
        // What nobody undoes stands; what something standing undoes is undone; what is only undone by undone ones stands.
        let mut open: BTreeMap<&Oid, usize> = reverters.iter().map(|(c, by)| (*c, by.len())).collect();
        let mut todo: Vec<&Oid> = named.keys().filter(|c| !reverters.contains_key(**c)).copied().collect();
        let mut undone: BTreeSet<&Oid> = BTreeSet::new();
        let mut seen: BTreeSet<&Oid> = todo.iter().copied().collect();
        while let Some(standing) = todo.pop() {
            for target in named.get(standing).into_iter().flatten() {
                if !undone.insert(target) {
                    continue;
                }
                for freed in named.get(*target).into_iter().flatten() {
                    let left = open.entry(freed).or_default();
                    *left = left.saturating_sub(1);
                    if *left == 0 && !undone.contains(freed) && seen.insert(freed) {
                        todo.push(freed);
                    }
                }
            }
        }
        let by = |target: &Oid| {
            reverters.get(target)?.iter().find(|r| seen.contains(**r) && !undone.contains(**r)).copied()
        };
        undone.iter().filter_map(|c| Some(((*c).clone(), by(c)?.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::{fold, id};
    use crate::event::{AttemptEnded, AttemptStarted, CommitLinked, CommitRewritten, CommitUnlinked, Data};
    use crate::model::outcome::{Hypothesis, Outcome};

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn link(commit: char, role: Role, reverts: &str) -> Data {
        let attempt = (role == Role::Fix).then(|| id(0));
        CommitLinked {
            commit: oid(commit),
            role,
            attempt,
            reverts: reverts.chars().map(oid).collect(),
            ..CommitLinked::default()
        }
        .into()
    }

    fn with(links: Vec<Data>) -> Incident {
        let ended = AttemptEnded {
            attempt: id(0),
            outcome: Outcome { hypothesis: Hypothesis::Supported, bug: Bug::Fixed },
            action: String::new(),
            result: String::new(),
            conclusion: "it holds".into(),
            rules_out: vec![],
        };
        fold([vec![AttemptStarted::default().into(), ended.into()], links].concat())
    }

    fn bug(incident: &Incident) -> (Bug, Option<Oid>) {
        (incident.attempts[0].outcome.bug, incident.attempts[0].reverted.clone())
    }

    #[test]
    fn a_revert_makes_a_fix_a_failed_attempt_and_its_revert_makes_it_a_fix_again() {
        let fix = link('1', Role::Fix, "");
        let r1 = link('2', Role::Revert, "1");
        let r2 = link('3', Role::Revert, "2");
        let r3 = link('4', Role::Revert, "3");
        assert_eq!(bug(&with(vec![fix.clone()])), (Bug::Fixed, None));
        let undone = with(vec![fix.clone(), r1.clone()]);
        assert_eq!(bug(&undone), (Bug::Remains, Some(oid('2'))));
        assert!(undone.attempts[0].failed());
        // Whatever was recorded first.
        for links in [vec![fix.clone(), r1.clone(), r2.clone()], vec![r2.clone(), r1.clone(), fix.clone()]] {
            assert_eq!(bug(&with(links)), (Bug::Fixed, None));
        }
        assert_eq!(bug(&with(vec![r3, r2, fix, r1])).0, Bug::Remains);
    }

    #[test]
    fn one_fix_that_stands_is_enough_and_a_second_revert_counts() {
        let (a, b) = (link('1', Role::Fix, ""), link('5', Role::Fix, ""));
        assert_eq!(bug(&with(vec![a.clone(), b.clone(), link('2', Role::Revert, "1")])).0, Bug::Fixed);
        assert_eq!(bug(&with(vec![a.clone(), b, link('2', Role::Revert, "15")])).0, Bug::Remains);
        // The first revert was undone, a second one stands.
        let twice =
            vec![a, link('2', Role::Revert, "1"), link('3', Role::Revert, "2"), link('4', Role::Revert, "1")];
        assert_eq!(bug(&with(twice)), (Bug::Remains, Some(oid('4'))));
    }

    #[test]
    fn names_follow_rewrites_and_what_is_taken_back_counts_no_more() {
        let rewritten =
            |from, to| CommitRewritten { from: oid(from), to: oid(to), ..CommitRewritten::default() }.into();
        let base = vec![link('1', Role::Fix, ""), rewritten('1', '6'), link('2', Role::Revert, "1")];
        assert_eq!(bug(&with(base.clone())), (Bug::Remains, Some(oid('2'))));
        let taken = CommitUnlinked { commit: oid('2'), role: None }.into();
        assert_eq!(bug(&with([base, vec![taken]].concat())).0, Bug::Fixed);
    }

    #[test]
    fn circles_undo_nothing() {
        let circle =
            vec![link('1', Role::Fix, ""), link('2', Role::Revert, "3"), link('3', Role::Revert, "21")];
        assert_eq!(bug(&with(circle)).0, Bug::Fixed);
        assert_eq!(bug(&with(vec![link('1', Role::Fix, ""), link('1', Role::Revert, "1")])).0, Bug::Fixed);
    }

    #[test]
    fn settling_again_after_more_was_found_changes_the_answer() {
        let mut incident = with(vec![link('1', Role::Fix, ""), link('2', Role::Revert, "1")]);
        let mut more = incident.links[1].clone();
        (more.commit, more.reverts) = (oid('7'), vec![oid('2')]);
        incident.links.push(more);
        incident.settle_reverts();
        assert_eq!(bug(&incident), (Bug::Fixed, None));
    }
}
