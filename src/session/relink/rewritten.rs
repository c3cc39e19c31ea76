//! Rewrites that git reports: `post-rewrite` after an amend and a rebase. It may report one twice. Links move with their
//! commits, and are copied where another branch still holds the former one.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Changes;
use super::found::Reading;
use crate::event::{CommitLinked, CommitRewritten, CommitUnlinked};
use crate::git::history::{self, Commit, Place, commits};
use crate::links::message::signs;
use crate::model::incident::{Incident, Link};
use crate::model::status::Role;
use crate::model::{Oid, Result};
use crate::session::Session;
use crate::store::lines;

/// More new commits than this are not read for trailers after one rebase.
const MOST_NEW: usize = 2000;

impl Session {
    /// Moves what is linked, and what was taken back, from former names to new ones, or copies it. Returns how many links of which
    /// incident moved.
    ///
    /// # Errors
    /// The repository cannot be read or written; the rewrite is done all the same.
    pub fn follow_rewrites(&self, pairs: &[(Oid, Oid)]) -> Result<Vec<(Oid, usize)>> {
        if pairs.is_empty() || !self.has_ledgers()? {
            return Ok(Vec::new());
        }
        let olds: Vec<Oid> =
            pairs.iter().map(|(old, _)| old.clone()).filter(|c| self.repo.is_commit(c)).collect();
        let messages: BTreeMap<Oid, Commit> =
            commits(&self.repo, &self.git(), &Place::These(&olds), olds.len())?
                .into_iter()
                .map(|c| (c.oid.clone(), c))
                .collect();
        let mut by_incident: BTreeMap<Oid, BTreeSet<(Oid, Oid)>> = BTreeMap::new();
        let mut named: BTreeMap<String, Option<Oid>> = BTreeMap::new();
        for (old, new) in pairs {
            let mut texts = lines::incidents_on(&self.repo, old)?;
            // A link that was taken back has no line, and must not come back under the new name.
            let said = messages.get(old).map(|c| signs(&c.message).mentions).unwrap_or_default();
            texts.extend(said.into_iter().map(|m| m.incident));
            for text in texts {
                let id = named.entry(text.clone()).or_insert_with(|| self.incident_id(Some(&text)).ok());
                if let Some(id) = id {
                    by_incident.entry(id.clone()).or_default().insert((old.clone(), new.clone()));
                }
            }
        }
        if by_incident.is_empty() {
            self.read_new_commits(pairs)?;
            return Ok(Vec::new());
        }
        let about = About::of(self, pairs)?;
        let mut moved = Vec::new();
        for (id, moves) in by_incident {
            let Ok(incident) = self.incident(&id) else { continue };
            let due: Vec<&(Oid, Oid)> = moves
                .iter()
                .filter(|(old, _)| incident.links.iter().any(|l| l.commit == *old))
                .filter(|(old, new)| about.is_now(old, new))
                .collect();
            if due.is_empty() {
                continue;
            }
            let in_force = |old: &Oid| incident.links.iter().any(|l| l.commit == *old && !l.unlinked);
            let count = due.iter().filter(|(old, _)| in_force(old)).count();
            let (copied, gone): (Vec<&Pair>, Vec<&Pair>) =
                due.iter().partition(|(old, _)| about.kept.contains(old));
            let copies: Vec<(CommitLinked, bool)> =
                copied.iter().flat_map(|(old, new)| about.copies(&incident, old, new)).collect();
            if gone.is_empty() && copies.is_empty() {
                continue;
            }
            let mut loose = doubled(&incident, &due);
            self.append(&id, &[], |draft| {
                for (old, new) in &gone {
                    draft.add(CommitRewritten {
                        from: old.clone(),
                        to: new.clone(),
                        how: HOW.to_owned(),
                        tree: about.news.get(new).map(|c| c.tree.clone()),
                        patch_id: about.ids.get(new).cloned().unwrap_or_default(),
                    })?;
                }
                for (link, taken) in copies {
                    let commit = link.commit.clone();
                    draft.add(link)?;
                    if taken {
                        loose.retain(|new| *new != commit);
                        draft.add(CommitUnlinked { commit, role: None })?;
                    }
                }
                // post-commit has linked the new commit as related; the role that came with the old one says more.
                for new in loose {
                    draft.add(CommitUnlinked { commit: new, role: Some(Role::Related) })?;
                }
                Ok(())
            })?;
            let touched: Vec<Oid> = due.iter().flat_map(|(old, new)| [old.clone(), new.clone()]).collect();
            self.project_lines(&self.incident(&id)?, &touched)?;
            if count > 0 {
                moved.push((id, count));
            }
        }
        self.read_new_commits(pairs)?;
        Ok(moved)
    }

    /// Trailers of commits that the rewrite made and git names nowhere: the first part of a split.
    fn read_new_commits(&self, pairs: &[(Oid, Oid)]) -> Result<()> {
        let Some(head) = self.repo.head_commit()? else { return Ok(()) };
        // The oldest commit that was rewritten stood on what is still there.
        let olds: Vec<Oid> =
            pairs.iter().map(|(old, _)| old.clone()).filter(|c| self.repo.is_commit(c)).collect();
        let base = olds.iter().find_map(|old| crate::git::history::merge_base(&self.repo, old, &head));
        let Some(base) = base else { return Ok(()) };
        let mut all = commits(&self.repo, &self.git(), &Place::Between(&base, &head), MOST_NEW)?;
        all.reverse();
        let mut reading = Reading::new(self);
        for commit in &all {
            reading.read(commit, None);
        }
        let changes: BTreeMap<Oid, Changes> = std::mem::take(&mut reading.changes);
        self.write_links(changes)
    }
}

/// A commit's former name, and its name now.
type Pair = (Oid, Oid);

/// How links are called that follow what git says.
const HOW: &str = "post-rewrite";

/// What is known of the commits of a rewrite.
struct About<'p> {
    pairs: &'p [(Oid, Oid)],
    /// Former commits that something else still leads to.
    kept: HashSet<Oid>,
    news: HashMap<Oid, Commit>,
    /// Patch-ids of all.
    ids: HashMap<Oid, String>,
    /// What a rebase puts its commits on.
    onto: Option<Oid>,
    session: &'p Session,
}

impl<'p> About<'p> {
    fn of(session: &'p Session, pairs: &'p [(Oid, Oid)]) -> Result<Self> {
        let (repo, git) = (&session.repo, session.git());
        let here = |oids: Vec<&Oid>| -> Vec<Oid> {
            oids.into_iter().filter(|c| repo.is_commit(c)).cloned().collect()
        };
        let olds = here(pairs.iter().map(|(old, _)| old).collect());
        let names = here(pairs.iter().map(|(_, new)| new).collect());
        let news = commits(repo, &git, &Place::These(&names), names.len())?;
        Ok(Self {
            pairs,
            kept: history::kept_elsewhere(repo, &git, &olds)?,
            news: news.into_iter().map(|c| (c.oid.clone(), c)).collect(),
            ids: session.patch_ids(&[olds, names].concat())?,
            onto: history::rebasing_onto(repo),
            session,
        })
    }

    /// Whether the old commit went into the new one. Of a commit that a rebase drops, as nothing is left of it, git says
    /// that it became the one before.
    fn is_now(&self, old: &Oid, new: &Oid) -> bool {
        if !self.news.contains_key(new) {
            return false;
        }
        // It stood there before the rebase, in what the commits were put on, or below the one that went.
        let before = |tip: &Oid| self.session.repo.is_ancestor(new, tip);
        if before(old) || self.onto.as_ref().is_some_and(before) {
            return false;
        }
        let own = self.ids.get(old);
        let now = self.ids.get(new);
        own.is_none()
            || own == now
            || !self
                .pairs
                .iter()
                .any(|(other, to)| to == new && other != old && now.is_some() && self.ids.get(other) == now)
    }

    /// The links of a commit that is kept, for its copy; and whether they are to be taken back there as they are here.
    fn copies(&self, incident: &Incident, old: &Oid, new: &Oid) -> Vec<(CommitLinked, bool)> {
        let Some(commit) = self.news.get(new) else { return Vec::new() };
        let of = |name: &Oid| incident.links.iter().filter(|l| l.commit == *name).collect::<Vec<&Link>>();
        let (theirs, there) = (of(old), of(new));
        let taken = theirs.iter().all(|l| l.unlinked);
        // A person has taken it back, here or under the new name; or it was told before.
        if there.iter().any(|l| l.how.is_empty()) && taken
            || !there.is_empty() && there.iter().all(|l| l.unlinked)
        {
            return Vec::new();
        }
        theirs
            .into_iter()
            .filter(|l| taken || !l.unlinked)
            .filter(|l| {
                taken || !there.iter().any(|t| !t.unlinked && t.role == l.role && t.attempt == l.attempt)
            })
            .map(|l| {
                let id = self.ids.get(new).cloned();
                let mut link = self.session.described(commit, l.role, l.attempt, id);
                // What it undoes was copied as well.
                link.reverts = l.reverts.iter().map(|r| self.now(r)).collect();
                HOW.clone_into(&mut link.how);
                (link, taken)
            })
            .collect()
    }

    fn now(&self, name: &Oid) -> Oid {
        self.pairs.iter().find(|(old, _)| old == name).map_or(name, |(_, new)| new).clone()
    }
}

/// New commits that are linked as related already, and inherit a role that says more.
fn doubled(incident: &Incident, due: &[&(Oid, Oid)]) -> Vec<Oid> {
    let has = |commit: &Oid, wanted: fn(Role) -> bool| {
        incident.links.iter().any(|l| l.commit == *commit && !l.unlinked && wanted(l.role))
    };
    let mut doubled: Vec<Oid> = due
        .iter()
        .filter(|(old, new)| has(new, |role| role == Role::Related) && has(old, |role| role != Role::Related))
        .map(|(_, new)| new.clone())
        .collect();
    doubled.sort_unstable();
    doubled.dedup();
    doubled
}
