//! Patch-ids of many commits, each computed once: the cache beside the index keeps them. Without it they are computed
//! again, and are the same.

use std::collections::HashMap;

use crate::git::diff;
use crate::model::{Oid, Result};
use crate::session::Session;
use crate::store::index::PatchIds;

/// For fewer commits than this, asking git is as quick as opening the cache.
const WORTH_A_CACHE: usize = 32;

impl Session {
    /// The patch-ids of commits; merges and empty commits have none. What is not here is left out.
    pub(super) fn patch_ids(&self, commits: &[Oid]) -> Result<HashMap<Oid, String>> {
        if commits.len() < WORTH_A_CACHE {
            return self.computed_patch_ids(commits);
        }
        let cache = PatchIds::open(&self.repo);
        let mut found = HashMap::new();
        let mut unknown = Vec::new();
        for commit in commits {
            match cache.patch_id(commit) {
                Some(id) if id.is_empty() => {}
                Some(id) => {
                    found.insert(commit.clone(), id);
                }
                None => unknown.push(commit.clone()),
            }
        }
        let computed = self.computed_patch_ids(&unknown)?;
        // That there is none is worth knowing, too; but what is not here may come.
        let known = unknown.into_iter().filter(|c| computed.contains_key(c) || self.repo.is_commit(c));
        let known: Vec<(Oid, String)> =
            known.map(|c| (c.clone(), computed.get(&c).cloned().unwrap_or_default())).collect();
        cache.put_patch_ids(&known);
        found.extend(computed);
        Ok(found)
    }

    fn computed_patch_ids(&self, commits: &[Oid]) -> Result<HashMap<Oid, String>> {
        let mut found = HashMap::new();
        for part in commits.chunks(2000) {
            let names: Vec<&str> = part.iter().map(Oid::as_str).collect();
            let ids = match diff::patch_ids(&self.git(), &names) {
                Ok(ids) => ids,
                Err(error) if commits.len() == 1 => return Err(error),
                // One file that is missing spoils a whole run of git.
                Err(_) => {
                    let one = |name: &&str| diff::patch_ids(&self.git(), &[*name]).ok();
                    names.iter().filter_map(one).flatten().collect()
                }
            };
            found.extend(ids.into_iter().filter_map(|(commit, id)| Some((Oid::parse(&commit)?, id))));
        }
        Ok(found)
    }
}
