//! Removing what was purged from what `fsck --repair` moved aside: such a copy never travels, but it stands here.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::git::refs::{self, compare_and_swap};
use crate::git::repo::{from_git, to_git};
use crate::git::{Repo, erase, examine, notes};
use crate::model::{Error, Oid, Result};

use super::super::fsck::QUARANTINE;
use super::Purged;

/// The refs that hold what was moved aside.
pub(super) fn all(repo: &Repo) -> Vec<String> {
    refs::names(repo).into_iter().filter(|name| name.starts_with(QUARANTINE)).collect()
}

/// Writes those that hold any of the objects anew, without parents; one that is left with nothing goes.
///
/// # Errors
/// The repository cannot be written.
pub(super) fn cleanse(
    repo: &Repo,
    signature: &git2::Signature<'_>,
    message: &str,
    purged: &Purged,
    gone: &BTreeSet<Oid>,
    secret: &HashSet<Oid>,
) -> Result<()> {
    for name in all(repo) {
        let Ok(Some(tip)) = refs::read(repo, &name) else { continue };
        // One that cannot be read shows nothing to anybody; `git fsck` tells of it.
        let Ok(tree) = notes::tree_of(repo, &tip) else { continue };
        let mut said: HashMap<String, String> = HashMap::new();
        let mut left = Vec::new();
        let mut list = None;
        for entry in &tree {
            let Ok(own) = entry.name() else { continue };
            let oid = from_git(entry.id());
            if own == "list" {
                list = Some(oid);
                continue;
            }
            let mut kept = (own.to_owned(), entry.id(), entry.filemode());
            if holds(repo, &oid, entry.kind(), secret) {
                let text = if gone.contains(&oid) { None } else { erased(repo, &oid, purged) };
                let Some(text) = text else {
                    said.insert(own.to_owned(), format!("{own} purged"));
                    continue;
                };
                let new = repo.write_blob(&text)?;
                said.insert(own.to_owned(), format!("{own} {:06o} {new} purged in part", entry.filemode()));
                kept.1 = to_git(&new)?;
            }
            left.push(kept);
        }
        if said.is_empty() {
            continue;
        }
        if left.is_empty() {
            refs::delete(repo, &name)?;
            continue;
        }
        if let Some(list) = list.and_then(|list| repo.blob(&list).ok()) {
            let blob = repo.write_blob(relisted(&list, &said).as_bytes())?;
            left.push(("list".to_owned(), to_git(&blob)?, 0o100_644));
        }
        let new = examine::shelf(repo, &left)?;
        let commit = notes::commit(repo, &new, &[], signature, message)?;
        if compare_and_swap(repo, &name, &commit, Some(&tip), "git incident: purge")? == refs::Swap::Raced {
            return Err(
                Error::refused(format!("{name} was moved by another program")).hint("run the command again")
            );
        }
    }
    Ok(())
}

/// Whether an entry is one of the objects, or a tree above one.
fn holds(repo: &Repo, oid: &Oid, kind: Option<git2::ObjectType>, secret: &HashSet<Oid>) -> bool {
    match kind {
        Some(git2::ObjectType::Blob) => secret.contains(oid),
        // What cannot be walked cannot be cleared of it either.
        Some(git2::ObjectType::Tree) => {
            erase::objects_below(repo, &[oid], &[]).map_or(true, |all| all.iter().any(|o| secret.contains(o)))
        }
        _ => false,
    }
}

/// A note's text without what was purged, when it is one that can be read.
fn erased(repo: &Repo, oid: &Oid, purged: &Purged) -> Option<Vec<u8>> {
    purged.apply(&repo.blob(oid).ok()?)
}

/// The list, with other words for what was purged: the former ones carry paths.
fn relisted(list: &[u8], said: &HashMap<String, String>) -> String {
    let mut text = String::with_capacity(list.len());
    for line in String::from_utf8_lossy(list).lines() {
        let own = line.split(' ').next().unwrap_or_default();
        text.push_str(said.get(own).map_or(line, String::as_str));
        text.push('\n');
    }
    text
}
