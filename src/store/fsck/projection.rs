//! The lines on commits: what stands there, against what the ledgers say.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::examine::{self, Entry, Stored};
use crate::git::repo::from_git;
use crate::git::{notes, refs};
use crate::model::id::is_lower_hex;
use crate::model::{Oid, Result};

use super::super::lines::{REF, mark};
use super::{Check, Problem};

/// A longer note on a commit was not written by us.
const LARGEST: u64 = 1 << 20;

impl Check<'_> {
    /// Compares all lines; when ledgers were named, theirs.
    pub(super) fn projection(&mut self) -> Result<()> {
        let wanted = std::mem::take(&mut self.lines);
        // A ref that cannot be read was told of.
        let Some(found) = self.lines_found()? else { return Ok(()) };
        let marks: Option<BTreeSet<String>> = self.wanted.as_ref().map(|ids| ids.iter().map(mark).collect());
        let counts = |line: &String| marks.as_ref().is_none_or(|m| m.iter().any(|m| line.starts_with(m)));
        let nothing = BTreeSet::new();
        let mut missing = 0;
        let mut first_missing: Option<&Oid> = None;
        for commit in wanted.keys().chain(found.keys().filter(|c| !wanted.contains_key(*c))) {
            let should = wanted.get(commit).unwrap_or(&nothing);
            let stands = found.get(commit).unwrap_or(&nothing);
            if let Some(extra) = stands.iter().find(|l| counts(l) && !should.contains(*l)) {
                let text = format!("the ledgers do not say {extra:?}");
                self.tell(Problem::error("lines", REF, text).key(commit).repairable());
                self.plan.lines = true;
            } else if should.iter().any(|l| !stands.contains(l)) {
                missing += 1;
                first_missing = first_missing.or(Some(commit));
            }
        }
        if let Some(first) = first_missing {
            let text =
                format!("{missing} commits lack lines that the ledgers have for them, such as this one");
            self.tell(Problem::warning("lines", REF, text).key(first).repairable());
            self.plan.lines = true;
        }
        Ok(())
    }

    /// The lines of ours on each commit; `None` when the ref cannot be read.
    fn lines_found(&mut self) -> Result<Option<BTreeMap<Oid, BTreeSet<String>>>> {
        let mut found: BTreeMap<Oid, BTreeSet<String>> = BTreeMap::new();
        let repo = self.repo;
        let tree = match refs::read(repo, REF) {
            Ok(None) => return Ok(Some(found)),
            Ok(Some(commit)) => notes::tree_of(repo, &commit),
            Err(error) => Err(error),
        };
        let tree = match tree {
            Ok(tree) => tree,
            Err(error) => {
                let text = format!("it cannot be read: {error}");
                self.tell(Problem::error("ref", REF, text).repairable());
                self.plan.lines = true;
                return Ok(None);
            }
        };
        let mut entries = Vec::new();
        let whole = examine::walk(repo, &tree, &mut |entry| {
            match entry {
                Entry::Note { key, mode, blob, .. } => entries.push((key, mode, blob)),
                Entry::Foreign { .. } | Entry::Missing { .. } => self.plan.lines = true,
            }
            Ok(())
        })?;
        if !whole {
            self.tell(Problem::error("too-many", REF, "it holds too many entries").repairable());
            self.plan.lines = true;
            return Ok(None);
        }
        entries.sort_unstable();
        for pair in entries.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            self.plan.lines = true;
            self.tell(
                Problem::error("two-depths", REF, "it stands at two depths").key(pair[0].0).repairable(),
            );
        }
        for (key, mode, blob) in entries {
            if mode != 0o100_644 {
                self.plan.lines = true;
                self.tell(
                    Problem::error("mode", REF, format!("it has mode {mode:06o}")).key(key).repairable(),
                );
            }
            let text = match self.objects.look(blob) {
                Stored::Blob(size) if size <= LARGEST => self.repo.blob(&from_git(blob)).unwrap_or_default(),
                _ => {
                    self.plan.lines = true;
                    let text = "its lines cannot be read, or are too long to be ours";
                    self.tell(Problem::error("lines", REF, text).key(key).repairable());
                    continue;
                }
            };
            let ours = found.entry(from_git(key)).or_default();
            ours.extend(String::from_utf8_lossy(&text).lines().filter(|l| is_ours(l)).map(str::to_owned));
        }
        Ok(Some(found))
    }
}

/// Whether a line begins as ours do; others are somebody's own.
pub(super) fn is_ours(line: &str) -> bool {
    let id = line.strip_prefix("incident ").and_then(|rest| rest.split(' ').next());
    id.is_some_and(|id| id.len() == 12 && is_lower_hex(id))
}
