//! Removing for good what was purged: from both travelling refs and their histories, from the guards, from what was
//! fetched, from the lines on commits, from reflogs, and from the object store.
//!
//! The ledgers say what was purged ([`Purged`]); this makes the rest of the clone agree. The same code runs where
//! somebody purges and where the news of it arrive.

mod quarantine;

use std::collections::{BTreeSet, HashSet};

use crate::git::erase::{self, Removal};
use crate::git::refs::Swap;
use crate::git::{Repo, lock, notes, refs, transport};
use crate::model::{Oid, Result};

use super::guard::{self, Mended};
use super::tombstones::{self, Purged};
use super::travelling::{BOTH, EVIDENCE, LEDGER, Travelling, union_of};
use super::{ledger, lines};

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleansed {
    /// Whether the travelling refs were written anew, without parents.
    pub rewritten: bool,
    /// Refs of other clones' ledgers that were dropped here; a fetch brings them back.
    pub dropped: Vec<String>,
    /// Objects.
    pub removal: Removal,
    /// Blobs of this store that are damaged, so that nobody can tell what they say.
    pub damaged: Vec<Oid>,
    /// What was brought back on the way.
    pub mended: Vec<Mended>,
}

impl Cleansed {
    /// In words, for the person at the terminal.
    pub fn to_text(&self) -> String {
        let mut text =
            format!("what was purged is gone from this clone too: {} objects removed", self.removal.removed);
        if !self.removal.reachable.is_empty() {
            text.push_str(&format!(
                "; {} are still reached by other refs, reflogs or the index",
                self.removal.reachable.len()
            ));
        }
        if !self.removal.out_of_reach.is_empty() {
            text.push_str(&format!(
                "; {} stand in kept packs or in borrowed object stores",
                self.removal.out_of_reach.len()
            ));
        }
        for oid in &self.damaged {
            text.push_str(&format!("; object {oid} is damaged and was not searched"));
        }
        text
    }
}

/// Does it, if anything is known to be purged. `message` says why, in the new commits.
///
/// # Errors
/// The repository cannot be read or written; what is left is done by the next command.
pub fn cleanse(repo: &Repo, signature: &git2::Signature<'_>, message: &str) -> Result<Option<Cleansed>> {
    let _lock = lock::WriterLock::acquire(repo)?;
    let mut done = Cleansed::default();
    for which in BOTH {
        done.mended.extend(guard::mend_locked(repo, which, signature)?);
    }
    let ledger = refs::read(repo, LEDGER.kept)?;
    let purged = Purged::of(repo, ledger.as_ref())?;
    if purged.is_empty() {
        tombstones::unmark(repo);
        return Ok(None);
    }
    let begun_before = tombstones::is_begun(repo);
    let tree = ledger.as_ref().map(|c| notes::tree_of(repo, c)).transpose()?;
    let gone = purged.blobs_to_drop(repo, tree.as_ref())?;
    let (secret, damaged) = spelled_out_in_store(repo, &purged, &gone)?;
    done.damaged = damaged;
    let files = refs::read(repo, EVIDENCE.kept)?.map(|c| notes::tree_of(repo, &c)).transpose()?;
    let mut noted = false;
    if let Some(files) = &files {
        // A partial clone may name a blob that it does not have.
        for blob in &gone {
            noted |= !notes::lookup(repo, files, blob)?.is_empty();
        }
    }
    if secret.is_empty() && !begun_before && !noted {
        tombstones::unmark(repo);
        return Ok(None);
    }
    // Noted down before they are forgotten: whoever finishes this must know them too.
    let former = tombstones::add_to_mark(repo, former_tips(repo))?;
    done.rewritten = noted || is_in_history(repo, &secret)?;
    if done.rewritten {
        for which in BOTH {
            rewrite(repo, which, signature, message, &purged, &gone)?;
        }
    }
    let own: Vec<Oid> = BOTH.iter().filter_map(|w| refs::read(repo, w.kept).ok().flatten()).collect();
    done.dropped = drop_copies(repo, &own, &secret)?;
    quarantine::cleanse(repo, signature, message, &purged, &gone, &secret)?;
    forget(repo, &done.dropped);
    // Lines on commits say titles and conclusions in words of their own.
    lines::rebuild(repo, signature, &ledger::all(repo)?)?;
    forget(repo, &[lines::REF.to_owned()]);
    let mut objects = secret.clone();
    // All that the refs once held and nothing holds any more goes along: commits name people, and former lines on
    // commits say what their incidents said.
    objects.extend(erase::objects_below(repo, &former.iter().collect::<Vec<_>>(), &[])?);
    done.removal = erase::remove(repo, &objects)?;
    // Of the rest most is reached by the refs as they are now.
    done.removal.reachable.retain(|oid| secret.contains(oid));
    done.removal.out_of_reach.retain(|oid| secret.contains(oid));
    tombstones::unmark(repo);
    Ok(Some(done))
}

/// Blobs of this store that spell out what was purged, reachable or not.
fn spelled_out_in_store(
    repo: &Repo,
    purged: &Purged,
    gone: &BTreeSet<Oid>,
) -> Result<(HashSet<Oid>, Vec<Oid>)> {
    let mut damaged = Vec::new();
    let mut secret: HashSet<Oid> = gone.iter().filter(|oid| repo.has_object(oid)).cloned().collect();
    if !purged.events.is_empty() {
        damaged = erase::each_blob(repo, |oid, bytes| {
            if purged.is_spelled_out(bytes) {
                secret.insert(oid.clone());
            }
        })?;
    }
    Ok((secret, damaged))
}

/// Whether the travelling refs or their histories hold any of the objects.
fn is_in_history(repo: &Repo, secret: &HashSet<Oid>) -> Result<bool> {
    let tips: Vec<Oid> = BOTH.iter().filter_map(|w| refs::read(repo, w.kept).ok().flatten()).collect();
    let below = erase::objects_below(repo, &tips.iter().collect::<Vec<_>>(), &[])?;
    Ok(below.iter().any(|oid| secret.contains(oid)))
}

/// Writes a travelling ref without what was purged, and without parents: its history holds it.
fn rewrite(
    repo: &Repo,
    which: Travelling,
    signature: &git2::Signature<'_>,
    message: &str,
    purged: &Purged,
    gone: &BTreeSet<Oid>,
) -> Result<()> {
    for _ in 0..guard::ATTEMPTS {
        guard::mend_locked(repo, which, signature)?;
        let Some(kept) = refs::read(repo, which.kept)? else { return Ok(()) };
        let tree = notes::tree_of(repo, &kept)?;
        let entries = notes::entries(repo, &tree)?;
        let mut changes = Vec::new();
        if which == EVIDENCE {
            for (key, _) in entries.iter().filter(|(key, _)| gone.contains(key)) {
                changes.push(notes::Change { key: key.clone(), blob: None });
            }
        } else {
            let blobs: Vec<Oid> = entries.iter().map(|(_, blob)| blob.clone()).collect();
            let mut keys = Vec::new();
            tombstones::read_all(repo, &blobs, |i, bytes| {
                if purged.is_spelled_out(bytes) {
                    keys.push(entries[i].0.clone());
                }
                Ok(())
            })?;
            for key in keys {
                let text = union_of(repo, &notes::lookup(repo, &tree, &key)?)?;
                let text = purged.apply(&text).unwrap_or(text);
                changes.push(notes::Change { key, blob: Some(repo.write_blob(&text)?) });
            }
        }
        let new = notes::apply(repo, Some(&tree), changes)?;
        let commit = notes::commit(repo, &new, &[], signature, message)?;
        if guard::publish(repo, which, &commit, Some(&kept))? == Swap::Done {
            return Ok(());
        }
    }
    Err(guard::busy(which))
}

/// Every commit that our refs, their copies and their reflogs name.
fn former_tips(repo: &Repo) -> Vec<Oid> {
    let mut names: Vec<String> = vec![lines::REF.to_owned()];
    names.extend(BOTH.iter().flat_map(|w| [w.notes.to_owned(), w.kept.to_owned()]));
    names.extend(copies(repo));
    names.extend(quarantine::all(repo));
    let tips: BTreeSet<Oid> = names.iter().flat_map(|name| tips_of(repo, name)).collect();
    tips.into_iter().collect()
}

/// Where a ref stands and, as far as its log tells, stood.
fn tips_of(repo: &Repo, name: &str) -> BTreeSet<Oid> {
    let mut tips: BTreeSet<Oid> = refs::read(repo, name).ok().flatten().into_iter().collect();
    tips.extend(refs::logged(repo, name));
    tips.retain(|tip| repo.is_commit(tip));
    tips
}

/// Refs that hold what was fetched from other clones.
fn copies(repo: &Repo) -> Vec<String> {
    let ours = |name: &String| {
        name.starts_with(transport::SCRATCH)
            || name.starts_with("refs/notes/remotes/")
                && name.rsplit('/').next().is_some_and(|last| last.starts_with("incidents"))
    };
    refs::names(repo).into_iter().filter(ours).collect()
}

/// Drops the copies that hold what was purged.
fn drop_copies(repo: &Repo, own: &[Oid], secret: &HashSet<Oid>) -> Result<Vec<String>> {
    let mut dropped = Vec::new();
    for name in copies(repo) {
        let Ok(Some(tip)) = refs::read(repo, &name) else { continue };
        let below = erase::objects_below(repo, &[&tip], &own.iter().collect::<Vec<_>>());
        let holds = below.map_or(true, |objects| objects.iter().any(|o| secret.contains(o)));
        if holds {
            refs::delete(repo, &name)?;
            dropped.push(name);
        }
    }
    Ok(dropped)
}

/// Forgets where the refs stood, and what else names or holds their former content.
fn forget(repo: &Repo, dropped: &[String]) {
    let own = BOTH.iter().flat_map(|w| [w.notes, w.kept]).map(str::to_owned);
    for name in own.chain(copies(repo)).chain(quarantine::all(repo)).chain(dropped.iter().cloned()) {
        refs::forget_log(repo, &name);
    }
    // An index of the ledgers is made anew when it is needed.
    let state = repo.common_dir().join("incident");
    for entry in std::fs::read_dir(&state).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("index") {
            let path = entry.path();
            let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        }
    }
    // What a merge by hand left half done, in whatever worktree.
    let linked = std::fs::read_dir(repo.common_dir().join("worktrees"));
    let linked = linked.into_iter().flatten().flatten().map(|entry| entry.path());
    for directory in std::iter::once(repo.common_dir().to_path_buf()).chain(linked) {
        let unfinished = directory.join("NOTES_MERGE_REF");
        if std::fs::read_to_string(&unfinished).is_ok_and(|t| t.contains(LEDGER.notes)) {
            let _ = std::fs::remove_dir_all(directory.join("NOTES_MERGE_WORKTREE"));
            for name in ["NOTES_MERGE_PARTIAL", "NOTES_MERGE_REF"] {
                let _ = std::fs::remove_file(directory.join(name));
            }
        }
    }
}
