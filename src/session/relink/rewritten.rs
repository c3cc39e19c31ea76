//! Rewrites that git reports: `post-rewrite` after an amend and a rebase. It may report one twice.

use std::collections::{BTreeMap, BTreeSet};

use super::Changes;
use super::found::Reading;
use crate::event::{CommitRewritten, CommitUnlinked};
use crate::git::history::{Commit, Place, commits};
use crate::links::message::signs;
use crate::model::incident::Incident;
use crate::model::status::Role;
use crate::model::{Oid, Result};
use crate::session::Session;
use crate::store::lines;

/// More new commits than this are not read for trailers after one rebase.
const MOST_NEW: usize = 2000;

impl Session {
    /// Moves what is linked, and what was taken back, from former names to new ones. Returns how many links of which
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
        let news: Vec<Oid> =
            pairs.iter().map(|(_, new)| new.clone()).filter(|c| self.repo.is_commit(c)).collect();
        let ids =
            if by_incident.is_empty() { std::collections::HashMap::new() } else { self.patch_ids(&news)? };
        let mut moved = Vec::new();
        for (id, moves) in by_incident {
            let Ok(incident) = self.incident(&id) else { continue };
            let due: Vec<&(Oid, Oid)> = moves
                .iter()
                .filter(|(old, new)| incident.links.iter().any(|l| l.commit == *old) && news.contains(new))
                .collect();
            if due.is_empty() {
                continue;
            }
            let mut events = Vec::new();
            for (old, new) in &due {
                events.push(CommitRewritten {
                    from: old.clone(),
                    to: new.clone(),
                    how: "post-rewrite".to_owned(),
                    tree: Some(self.repo.tree_of(new)?),
                    patch_id: ids.get(new).cloned().unwrap_or_default(),
                });
            }
            let in_force = |old: &Oid| incident.links.iter().any(|l| l.commit == *old && !l.unlinked);
            let count = due.iter().filter(|(old, _)| in_force(old)).count();
            self.append(&id, &[], |draft| {
                for event in events {
                    draft.add(event)?;
                }
                // post-commit has linked the new commit as related; the role that came with the old one says more.
                for new in doubled(&incident, &due) {
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
