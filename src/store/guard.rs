//! The kept refs: what this clone acknowledged stays, whatever happens to the notes refs.
//!
//! A forced fetch, `fetch --prune`, a mirror push, `git notes prune`, or a `git notes` command that raced with a
//! writer can take events out of a notes ref without anybody noticing: git moves notes refs without compare and
//! swap. Every write of ours moves the kept ref first; every command compares the two, and brings back what
//! is missing. The comparison is by content, not by ancestry: `git notes remove` leaves a proper descendant.
//!
//! `push --mirror` into this repository, and a pruning fetch of `+refs/*:refs/*`, replace and delete the kept refs
//! with all others. So a small file names the kept commit once more; its objects outlive the ref by git's grace time
//! (two weeks).

use std::collections::HashSet;

use crate::fold;
use crate::git::refs::{Swap, compare_and_swap};
use crate::git::{Repo, lock, notes, refs};
use crate::model::{Error, Oid, Result};

use super::travelling::{EVIDENCE, Travelling, union_of, union_of_lines};

/// What was brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// The ref that had lost something.
    pub reference: &'static str,
    /// How many notes came back or got lines back.
    pub notes: usize,
    /// Whether the whole ref was gone.
    pub was_deleted: bool,
}

impl Mended {
    /// In words, for the person at the terminal.
    pub fn to_text(&self) -> String {
        let lost = if self.was_deleted {
            "was deleted".to_owned()
        } else {
            format!("had lost {} of this clone's notes", self.notes)
        };
        format!(
            "mended {}: it {lost} (a forced fetch, a prune, a mirror push or a racing git notes command does that)",
            self.reference
        )
    }
}

/// Compares, and brings back what is missing. Returns what it mended.
///
/// # Errors
/// A ref or a tree that cannot be read; a repository that cannot be written while something is missing.
pub fn mend(repo: &Repo, which: Travelling, signature: &git2::Signature<'_>) -> Result<Option<Mended>> {
    let kept = refs::read(repo, which.kept)?;
    if refs::read(repo, which.notes)? == kept && named_in_file(repo, which).is_none_or(|c| Some(c) == kept) {
        return Ok(None);
    }
    // A writer may be between its two moves: wait for it, then look again.
    let _lock = lock::WriterLock::acquire(repo)?;
    mend_locked(repo, which, signature)
}

/// As [`mend`], for a caller that holds the writer lock.
///
/// # Errors
/// As [`mend`].
pub fn mend_locked(
    repo: &Repo,
    which: Travelling,
    signature: &git2::Signature<'_>,
) -> Result<Option<Mended>> {
    mend_kept(repo, which, signature)?;
    for attempt in 0..ATTEMPTS {
        // git writes faster than we unite: after a few lost races its lock keeps it out while we do.
        let held = if attempt < PATIENCE { None } else { refs::hold(repo, which.notes)? };
        let current = refs::read(repo, which.notes)?;
        let kept = refs::read(repo, which.kept)?;
        let (current, kept) = match (current, kept) {
            (None, None) => return Ok(None),
            (Some(current), None) => {
                // The first command in a clone whose notes came with plain git.
                if keep(repo, which, &current, None)? == Swap::Done {
                    return Ok(None);
                }
                continue;
            }
            (None, Some(kept)) => {
                drop(held);
                if compare_and_swap(repo, which.notes, &kept, None, "git incident: restore a deleted ref")?
                    == Swap::Done
                {
                    let tree = notes::tree_of(repo, &kept)?;
                    let count = notes::entries(repo, &tree)?.len();
                    return Ok(Some(Mended { reference: which.notes, notes: count, was_deleted: true }));
                }
                continue;
            }
            (Some(current), Some(kept)) if current == kept => return Ok(None),
            (Some(current), Some(kept)) => (current, kept),
        };
        let changes = missing(repo, which, &kept, &current)?;
        if changes.is_empty() {
            // git moved on and lost nothing, as `git notes merge` does: follow it.
            if keep(repo, which, &current, Some(&kept))? == Swap::Done {
                return Ok(None);
            }
            continue;
        }
        let count = changes.len();
        let tree = notes::tree_of(repo, &current)?;
        let merged = notes::apply(repo, Some(&tree), changes)?;
        let message = format!("git incident: bring back {count} notes of the {}\n", which.what);
        let commit = notes::commit(repo, &merged, &[current.clone(), kept.clone()], signature, &message)?;
        if keep(repo, which, &commit, Some(&kept))? == Swap::Raced {
            return Err(moved(which));
        }
        let swap = match held {
            Some(held) => held.set(&commit, "git incident: mend")?,
            None => compare_and_swap(repo, which.notes, &commit, Some(&current), "git incident: mend")?,
        };
        if swap == Swap::Done {
            return Ok(Some(Mended { reference: which.notes, notes: count, was_deleted: false }));
        }
    }
    Err(busy(which))
}

/// How often a race with git is tried again; each round needs another git command at that very instant.
pub const ATTEMPTS: usize = 100;

/// So many races are lost before the ref is locked against git.
const PATIENCE: usize = 3;

/// Some other program moves the ref without end.
pub fn busy(which: Travelling) -> Error {
    Error::refused(format!("{} moves all the time", which.notes))
        .because(format!("another program changed it {ATTEMPTS} times while it was being written"))
        .hint("nothing was lost; run the command again")
}

/// Moves the kept ref, then the notes ref from where the kept ref was. `Raced` means that the notes ref is not ours yet, while the kept ref
/// already holds everything: mending finishes the work.
///
/// # Errors
/// A ref cannot be written; somebody else moves the kept ref, which only holders of the writer lock may.
pub fn publish(repo: &Repo, which: Travelling, commit: &Oid, kept: Option<&Oid>) -> Result<Swap> {
    if keep(repo, which, commit, kept)? == Swap::Raced {
        return Err(moved(which));
    }
    compare_and_swap(repo, which.notes, commit, kept, "git incident: record")
}

/// Moves the kept ref, and names its commit in the file as well.
fn keep(repo: &Repo, which: Travelling, commit: &Oid, old: Option<&Oid>) -> Result<Swap> {
    let swap = compare_and_swap(repo, which.kept, commit, old, "git incident: keep")?;
    if swap == Swap::Done {
        // A second net: without it the kept ref still holds.
        let _ =
            lock::state_dir(repo).map(|d| std::fs::write(d.join(which.remembered), format!("{commit}\n")));
    }
    Ok(swap)
}

fn moved(which: Travelling) -> Error {
    Error::refused(format!("{} was moved by another program", which.kept)).hint("run the command again")
}

/// The commit that the file names, if it names one.
pub(super) fn named_in_file(repo: &Repo, which: Travelling) -> Option<Oid> {
    let path = repo.common_dir().join("incident").join(which.remembered);
    Oid::parse(std::fs::read_to_string(path).ok()?.trim())
}

/// Brings the kept ref back to everything that the file's commit holds, when something moved every ref there is.
fn mend_kept(repo: &Repo, which: Travelling, signature: &git2::Signature<'_>) -> Result<()> {
    let kept = refs::read(repo, which.kept)?;
    let named = named_in_file(repo, which).filter(|c| kept.as_ref() != Some(c) && repo.is_commit(c));
    let Some(named) = named else { return Ok(()) };
    let new = match &kept {
        None => named,
        Some(kept) => {
            let changes = missing(repo, which, &named, kept)?;
            if changes.is_empty() {
                // Whoever moved the kept ref last died before the file: nothing else is newer than the file.
                kept.clone()
            } else {
                let tree = notes::tree_of(repo, kept)?;
                let merged = notes::apply(repo, Some(&tree), changes)?;
                let message = format!("git incident: bring back the kept {}\n", which.what);
                notes::commit(repo, &merged, &[kept.clone(), named], signature, &message)?
            }
        }
    };
    match keep(repo, which, &new, kept.as_ref())? {
        Swap::Done => Ok(()),
        Swap::Raced => Err(moved(which)),
    }
}

/// What must change in `current` so that it holds every line of `kept`.
pub(super) fn missing(
    repo: &Repo,
    which: Travelling,
    kept: &Oid,
    current: &Oid,
) -> Result<Vec<notes::Change>> {
    let kept_tree = notes::tree_of(repo, kept)?;
    let current_tree = notes::tree_of(repo, current)?;
    let mut changes = Vec::new();
    for key in notes::keys_that_differ(repo, &kept_tree, Some(&current_tree))? {
        let mine = notes::lookup(repo, &kept_tree, &key)?;
        let theirs = notes::lookup(repo, &current_tree, &key)?;
        if mine.iter().all(|blob| theirs.contains(blob)) {
            continue;
        }
        // Content-addressed: present or not, there is nothing to unite. (An incident's first version is its anchor
        // too, but there the other side has more lines.)
        if mine.contains(&key) && (which == EVIDENCE || theirs.is_empty()) {
            changes.push(notes::Change { blob: Some(key.clone()), key });
            continue;
        }
        let ours = union_of(repo, &mine)?;
        let here = union_of(repo, &theirs)?;
        let there: HashSet<&[u8]> = fold::split_lines(&here).collect();
        if fold::split_lines(&ours).all(|line| there.contains(line)) {
            continue;
        }
        // Not every line that is not there is missing: its event may stand there with more of it erased.
        let united = union_of_lines(&[here.clone(), ours]);
        if fold::split_lines(&united).all(|line| there.contains(line)) {
            continue;
        }
        changes.push(notes::Change { key, blob: Some(repo.write_blob(&united)?) });
    }
    Ok(changes)
}
