//! Patch-ids of many commits, each computed once.

use std::collections::HashMap;

use crate::git::diff;
use crate::model::{Oid, Result};
use crate::session::Session;

impl Session {
    /// The patch-ids of commits; merges and empty commits have none. What is not here is left out.
    pub(super) fn patch_ids(&self, commits: &[Oid]) -> Result<HashMap<Oid, String>> {
        let mut found = HashMap::new();
        // One damaged or missing file spoils a whole run of git: the ids are asked for in parts.
        for part in commits.chunks(2000) {
            let names: Vec<&str> = part.iter().map(Oid::as_str).collect();
            let ids = match diff::patch_ids(&self.git(), &names) {
                Ok(ids) => ids,
                Err(error) if part.len() == commits.len() && commits.len() == 1 => return Err(error),
                Err(_) => names
                    .iter()
                    .filter_map(|name| diff::patch_ids(&self.git(), &[name]).ok())
                    .flatten()
                    .collect(),
            };
            found.extend(ids.into_iter().filter_map(|(commit, id)| Some((Oid::parse(&commit)?, id))));
        }
        Ok(found)
    }
}
