//! The trees of the travelling refs.

use std::borrow::Cow;

use crate::git::examine::{self, Entry, Stored};
use crate::git::repo::from_git;
use crate::git::{notes, refs};
use crate::model::Result;

use super::super::travelling::{EVIDENCE, Travelling};
use super::{Aside, Check, Problem};

/// A regular file.
const FILE: i32 = 0o100_644;

/// Evidence beyond this is never written by us.
const LARGEST: u64 = super::super::evidence::HARD_LIMIT;

impl<'r> Check<'r> {
    /// Walks a ref's tree; fills the lists of keys.
    pub(super) fn structure_of(&mut self, which: Travelling) -> Result<()> {
        let Some(tree) = self.readable(which) else { return Ok(()) };
        let mut found: Vec<(git2::Oid, git2::Oid)> = Vec::new();
        let mut elsewhere: Vec<git2::Oid> = Vec::new();
        let repo = self.repo;
        let whole = examine::walk(repo, &tree, &mut |entry| {
            self.entry(which, entry, &mut found, &mut elsewhere);
            Ok(())
        })?;
        if !whole {
            let text = format!(
                "it holds more than {} entries, which no notes ref of ours does: the rest was not looked at",
                examine::MAX_ENTRIES
            );
            self.tell(Problem::error("too-many", which.notes, text));
        }
        self.depths(which, &mut found, elsewhere);
        if which == EVIDENCE {
            self.evidence_keys(&found);
        } else {
            self.ledger = found;
        }
        Ok(())
    }

    /// A ref's tree; none where there is no ref, and after telling so where it cannot be read.
    pub(super) fn readable(&mut self, which: Travelling) -> Option<git2::Tree<'r>> {
        let repo = self.repo;
        let tree = match refs::read(repo, which.notes) {
            Ok(None) => return None,
            Ok(Some(commit)) => notes::tree_of(repo, &commit),
            Err(error) => Err(error),
        };
        match tree {
            Ok(tree) => Some(tree),
            Err(error) => {
                self.broken(which, &error.to_string());
                None
            }
        }
    }

    fn broken(&mut self, which: Travelling, why: &str) {
        self.plan.broken.push(which);
        self.tell(Problem::error("ref", which.notes, format!("it cannot be read: {why}")).repairable());
    }

    fn entry(
        &mut self,
        which: Travelling,
        entry: Entry,
        found: &mut Vec<(git2::Oid, git2::Oid)>,
        elsewhere: &mut Vec<git2::Oid>,
    ) {
        match entry {
            Entry::Note { key, depth, mode, blob } => {
                found.push((key, blob));
                if depth != 1 {
                    elsewhere.push(key);
                }
                if mode != FILE && self.is_wanted(&from_git(key)) {
                    let text = format!("it has mode {mode:06o}: `git notes merge` aborts on any but 100644");
                    self.plan.renote.entry(which.notes).or_default().insert(key);
                    self.tell(Problem::error("mode", which.notes, text).key(key).repairable());
                }
            }
            Entry::Foreign { path, mode, object } => {
                if self.wanted.is_some() {
                    return;
                }
                let shown = String::from_utf8_lossy(&path).into_owned();
                let reason = "it is no note: `git notes merge` drops it without a word".to_owned();
                self.tell(Problem::error("path", which.notes, reason.clone()).key(shown).repairable());
                self.plan.aside.push(Aside { reference: which.notes, path, mode, object, reason });
            }
            Entry::Missing { path } => {
                let shown = String::from_utf8_lossy(&path).into_owned();
                let text = "a directory of its tree is not here: fetch the ref again";
                self.tell(Problem::error("tree", which.notes, text).key(shown));
            }
        }
    }

    /// One depth for all, and every key at one.
    fn depths(
        &mut self,
        which: Travelling,
        found: &mut [(git2::Oid, git2::Oid)],
        mut elsewhere: Vec<git2::Oid>,
    ) {
        found.sort_unstable();
        for pair in found.windows(2) {
            let (key, same) = (pair[0].0, pair[0].0 == pair[1].0);
            if same
                && self.is_wanted(&from_git(key))
                && self.plan.renote.entry(which.notes).or_default().insert(key)
            {
                let text = "it stands at two depths: `git notes merge` aborts on that";
                self.tell(Problem::error("two-depths", which.notes, text).key(key).repairable());
            }
        }
        elsewhere.retain(|key| self.is_wanted(&from_git(*key)));
        if let Some(first) = elsewhere.first() {
            let text = format!(
                "{} notes stand at another fan-out than 2/38, such as this one (git writes its own; every depth is read)",
                elsewhere.len()
            );
            self.tell(Problem::note("fan-out", which.notes, text).key(first).repairable());
            self.plan.renote.entry(which.notes).or_default().extend(elsewhere);
        }
    }

    /// Every blob under its own name.
    fn evidence_keys(&mut self, found: &[(git2::Oid, git2::Oid)]) {
        self.evidence.extend(found.iter().map(|(key, _)| *key));
        if self.wanted.is_some() {
            return;
        }
        for (key, blob) in found {
            let own = self.objects.look(*key);
            if key != blob {
                let text = format!("the blob under this key is {blob}");
                let problem = Problem::error("evidence-key", EVIDENCE.notes, text).key(key).repairable();
                self.tell(problem);
                if matches!(own, Stored::Blob(_)) {
                    self.plan.renote.entry(EVIDENCE.notes).or_default().insert(*key);
                } else {
                    self.aside_notes(EVIDENCE, *key, "no blob of that name is here");
                }
                continue;
            }
            match own {
                Stored::Blob(size) if size > LARGEST => {
                    let text = format!("{size} bytes: forges refuse files that large");
                    self.tell(Problem::warning("evidence-size", EVIDENCE.notes, text).key(key));
                }
                Stored::Blob(_) => {}
                Stored::Missing => {
                    self.absent.insert(*key);
                }
                Stored::Other(kind) => {
                    self.tell(
                        Problem::error("evidence-key", EVIDENCE.notes, format!("it is a {kind}, no blob"))
                            .key(key)
                            .repairable(),
                    );
                    self.aside_notes(EVIDENCE, *key, format!("it is a {kind}, no blob"));
                }
                Stored::Damaged(why) => {
                    let text = format!("it cannot be read: {why}");
                    self.tell(Problem::error("evidence-missing", EVIDENCE.notes, text).key(key));
                }
            }
        }
    }

    /// Plans to move every entry of a key aside. Where they stand is looked up once, for all of them, by the repair.
    pub(super) fn aside_notes(
        &mut self,
        which: Travelling,
        key: git2::Oid,
        reason: impl Into<Cow<'static, str>>,
    ) {
        self.plan.aside_keys.entry(which.notes).or_default().insert(key, reason.into());
        // What is moved aside is not written anew.
        if let Some(keys) = self.plan.renote.get_mut(which.notes) {
            keys.remove(&key);
        }
    }
}
