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
use crate::git::{Repo, lock, notes, pairs, refs};
use crate::model::{Error, Oid, Result};

use super::tombstones::{self, Purged};
use super::travelling::{EVIDENCE, LEDGER, Travelling, union_of, union_of_lines};

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
            "was deleted or led nowhere".to_owned()
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
    if let (Ok(notes), Ok(kept)) = (refs::read(repo, which.notes), refs::read(repo, which.kept))
        && notes == kept
        && named_in_file(repo, which).is_none_or(|c| Some(c) == kept)
    {
        remove_old_locks(repo, which);
        return Ok(None);
    }
    // A writer may be between its two moves: wait for it, then look again.
    let _lock = lock::WriterLock::acquire(repo)?;
    mend_locked(repo, which, signature)
}

/// A writer of ours that died may have left the lock of a ref, at which git's own commands would fail until somebody
/// writes again.
fn remove_old_locks(repo: &Repo, which: Travelling) {
    let old = [which.notes, which.kept].into_iter().filter(|name| lock::is_ref_lock_old(repo, name));
    for name in old {
        // Trouble is nobody's: whoever writes next says what is in the way.
        if let Ok(_lock) = lock::WriterLock::acquire(repo) {
            lock::remove_stale_ref_lock(repo, name);
        }
    }
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
    clear_broken(repo, which)?;
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
        if !notes::is_bearable(repo, &notes::tree_of(repo, &current)?) {
            // Nobody can read that, so it holds nothing that is missed.
            drop(held);
            if compare_and_swap(
                repo,
                which.notes,
                &kept,
                Some(&current),
                "git incident: restore a bomb's victim",
            )? == Swap::Done
            {
                return Ok(Some(Mended { reference: which.notes, notes: 0, was_deleted: true }));
            }
            continue;
        }
        let Missing { changes, purged } = missing(repo, which, &kept, &current)?;
        if purged {
            // What git brought takes something away for good: the rest of it goes once both refs are settled.
            tombstones::mark(repo)?;
        }
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
        // A history that holds what was purged is no parent of anything.
        let parents = if purged { vec![current.clone()] } else { vec![current.clone(), kept.clone()] };
        let commit = notes::commit(repo, &merged, &parents, signature, &message)?;
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

/// Takes away what is no ref to notes, where this clone knows better: a power loss leaves empty files, a stranger
/// points a notes ref at a blob or a tag. The object itself stays in the repository.
fn clear_broken(repo: &Repo, which: Travelling) -> Result<()> {
    let here = |name: &str| {
        matches!(refs::read(repo, name), Ok(Some(c)) if repo.is_commit(&c)) && !refs::is_symbolic(repo, name)
    };
    let is_sound = |name: &str| matches!(refs::read(repo, name), Ok(None)) || here(name);
    let remembered = named_in_file(repo, which).is_some_and(|c| repo.is_commit(&c));
    if !is_sound(which.kept) && (here(which.notes) || remembered) {
        refs::remove_broken(repo, which.kept)?;
    }
    if !is_sound(which.notes) && (here(which.kept) || remembered) {
        refs::remove_broken(repo, which.notes)?;
    }
    Ok(())
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
        let _ = tombstones::write_whole(repo, which.remembered, format!("{commit}\n").as_bytes());
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
            let Missing { changes, purged } = missing(repo, which, &named, kept)?;
            if changes.is_empty() {
                // Whoever moved the kept ref last died before the file: nothing else is newer than the file.
                kept.clone()
            } else {
                let tree = notes::tree_of(repo, kept)?;
                let merged = notes::apply(repo, Some(&tree), changes)?;
                let message = format!("git incident: bring back the kept {}\n", which.what);
                let parents = if purged { vec![kept.clone()] } else { vec![kept.clone(), named] };
                notes::commit(repo, &merged, &parents, signature, &message)?
            }
        }
    };
    match keep(repo, which, &new, kept.as_ref())? {
        Swap::Done => Ok(()),
        Swap::Raced => Err(moved(which)),
    }
}

/// What one commit holds and another lacks.
#[derive(Default)]
pub(super) struct Missing {
    /// What must change in the other one.
    pub(super) changes: Vec<notes::Change>,
    /// Whether either of the two spells out what the other one has as purged.
    pub(super) purged: bool,
}

/// What must change in `current` so that it holds every line of `kept`, but for what was purged.
pub(super) fn missing(repo: &Repo, which: Travelling, kept: &Oid, current: &Oid) -> Result<Missing> {
    let kept_tree = notes::tree_of(repo, kept)?;
    let current_tree = notes::tree_of(repo, current)?;
    let mut found = Missing::default();
    let compared = pairs::compare(repo, Some(&kept_tree), Some(&current_tree))?;
    for pairs::Pair { key, ours: mine, theirs, .. } in compared.pairs {
        if which == EVIDENCE {
            if !mine.iter().all(|blob| theirs.contains(blob)) {
                // Content-addressed: present or not, there is nothing to unite.
                let blob = if mine.contains(&key) { key.clone() } else { united(repo, &mine, &theirs)? };
                found.changes.push(notes::Change { blob: Some(blob), key });
            }
            continue;
        }
        let ours = union_of(repo, &mine)?;
        // What cannot be read there (damaged, or larger than any ledger is) must not keep anybody from writing: this
        // clone's note takes its place, and what was there stays in the ref's history. A key that is new there is none of
        // this clone's.
        let here = match union_of(repo, &theirs) {
            Ok(here) => here,
            Err(_) if !ours.is_empty() || mine.is_empty() => Vec::new(),
            Err(error) => return Err(error),
        };
        let there: HashSet<&[u8]> = fold::split_lines(&here).collect();
        found.purged |= tombstones::may_hold_tombstones(&here) || tombstones::may_hold_tombstones(&ours);
        if fold::split_lines(&ours).all(|line| there.contains(line)) {
            continue;
        }
        if theirs.is_empty() && mine.contains(&key) {
            // An incident's first version is its anchor.
            found.changes.push(notes::Change { blob: Some(key.clone()), key });
            continue;
        }
        // Not every line that is not there is missing: its event may stand there with more of it erased.
        let united = union_of_lines(&[here.clone(), ours]);
        if fold::split_lines(&united).all(|line| there.contains(line)) {
            continue;
        }
        found.changes.push(notes::Change { key, blob: Some(repo.write_blob(&united)?) });
    }
    if found.purged || which == EVIDENCE && !found.changes.is_empty() {
        without_purged(repo, which, [kept, current], &mut found)?;
    }
    Ok(found)
}

/// How many notes of one commit another lacks, or lacks lines of; what was purged is not missed.
///
/// # Errors
/// An object is not here.
pub fn count_missing(repo: &Repo, which: Travelling, before: &Oid, now: Option<&Oid>) -> Result<usize> {
    match now {
        Some(now) => Ok(missing(repo, which, before, now)?.changes.len()),
        None => Ok(notes::entries(repo, &notes::tree_of(repo, before)?)?.len()),
    }
}

fn united(repo: &Repo, mine: &[Oid], theirs: &[Oid]) -> Result<Oid> {
    repo.write_blob(&union_of_lines(&[union_of(repo, theirs)?, union_of(repo, mine)?]))
}

/// Takes out of what is missing what was purged: it stays missing.
fn without_purged(repo: &Repo, which: Travelling, sides: [&Oid; 2], found: &mut Missing) -> Result<()> {
    let mut purged = Purged::default();
    for reference in [LEDGER.kept, LEDGER.notes] {
        purged.absorb(&Purged::of(repo, refs::read(repo, reference)?.as_ref())?);
    }
    if which == EVIDENCE {
        let ledger = refs::read(repo, LEDGER.kept)?;
        let tree = ledger.as_ref().map(|c| notes::tree_of(repo, c)).transpose()?;
        let gone = purged.blobs_to_drop(repo, tree.as_ref())?;
        let before = found.changes.len();
        found.changes.retain(|change| !gone.contains(&change.key));
        found.purged = found.changes.len() != before;
        return Ok(());
    }
    for side in sides {
        purged.absorb(&Purged::of(repo, Some(side))?);
    }
    let mut changes = Vec::with_capacity(found.changes.len());
    for change in found.changes.drain(..) {
        let text = change.blob.as_ref().map(|b| repo.blob(b)).transpose()?;
        let blob = match text.and_then(|t| purged.apply(&t)) {
            Some(erased) => Some(repo.write_blob(&erased)?),
            None => change.blob,
        };
        changes.push(notes::Change { blob, ..change });
    }
    found.changes = changes;
    Ok(())
}
