//! What stored files and commits say of an attempt. They never change, so what was found in one is kept.

use rusqlite::{Connection, OptionalExtension, params};

use crate::git::Repo;
use crate::git::repo::to_git;
use crate::model::Oid;
use crate::search::document::{Facts, Source};
use crate::search::patch::{self, Touched};

/// Larger patches and logs are not looked into.
const MOST_PATCH: u64 = 4 << 20;
const MOST_LOG: u64 = 1 << 20;

/// What a source says; `None` when it is not here.
pub(super) fn facts(
    connection: &Connection,
    repo: &Repo,
    source: &Source,
) -> rusqlite::Result<Option<Facts>> {
    let oid = source.oid().as_str();
    let known: Option<String> = connection
        .prepare("SELECT found FROM object WHERE oid = ?1")?
        .query_row(params![oid], |row| row.get(0))
        .optional()?;
    if let Some(facts) = known.and_then(|text| serde_json::from_str(&text).ok()) {
        return Ok(Some(facts));
    }
    let Some(facts) = read(repo, source) else { return Ok(None) };
    connection
        .prepare("INSERT OR REPLACE INTO object(oid, found) VALUES(?1, ?2)")?
        .execute(params![oid, serde_json::to_string(&facts).unwrap_or_default()])?;
    Ok(Some(facts))
}

/// Whether an object is here, by a look that does not go through the packs again for each one that is not.
pub(super) fn is_here(repo: &Repo, oid: &Oid) -> bool {
    let look = || -> Option<bool> {
        let odb = repo.raw().odb().ok()?;
        Some(odb.exists_ext(to_git(oid).ok()?, git2::OdbLookupFlags::NO_REFRESH))
    };
    look().unwrap_or(false)
}

/// Reads a source where it is here already: nothing is fetched for the index.
fn read(repo: &Repo, source: &Source) -> Option<Facts> {
    let bytes = |oid: &Oid, most: u64| match repo.size_of(oid) {
        None => None,
        Some(size) if size > most => Some(Vec::new()),
        Some(_) => repo.blob(oid).ok(),
    };
    if !is_here(repo, source.oid()) {
        return None;
    }
    match source {
        Source::Patch(oid) => Some(Facts::of_patch(&bytes(oid, MOST_PATCH)?)),
        Source::Log(oid) => Some(Facts::of_log(&bytes(oid, MOST_LOG)?)),
        Source::Commit(oid) => changed(repo, oid).map(Facts::of_paths),
    }
}

/// A commit against its first parent.
fn diff_of<'r>(repo: &'r Repo, commit: &Oid) -> Option<git2::Diff<'r>> {
    let raw = repo.raw();
    let commit = raw.find_commit(to_git(commit).ok()?).ok()?;
    let tree = commit.tree().ok()?;
    let parent = match commit.parent_count() {
        0 => None,
        _ => Some(commit.parent(0).ok()?.tree().ok()?),
    };
    raw.diff_tree_to_tree(parent.as_ref(), Some(&tree), None).ok()
}

/// The patch of a source, as far as it is looked into; nothing where there is none.
pub fn patch(repo: &Repo, source: &Source) -> Vec<Touched> {
    match source {
        Source::Patch(oid) if is_here(repo, oid) && repo.size_of(oid).is_some_and(|s| s <= MOST_PATCH) => {
            repo.blob(oid).map(|bytes| patch::parse(&bytes)).unwrap_or_default()
        }
        Source::Commit(oid) => {
            let Some(diff) = diff_of(repo, oid) else { return Vec::new() };
            let mut bytes = Vec::new();
            // Breaking off is how one says that it is enough.
            let _ = diff.print(git2::DiffFormat::Patch, |_, _, line| {
                if matches!(line.origin(), '+' | '-' | ' ') {
                    bytes.push(line.origin() as u8);
                }
                bytes.extend_from_slice(line.content());
                (bytes.len() as u64) < MOST_PATCH
            });
            patch::parse(&bytes)
        }
        _ => Vec::new(),
    }
}

/// The paths that a commit changes against its first parent.
fn changed(repo: &Repo, commit: &Oid) -> Option<Vec<String>> {
    let diff = diff_of(repo, commit)?;
    let path = |file: git2::DiffFile<'_>| file.path().and_then(|p| p.to_str()).map(str::to_owned);
    let paths = diff.deltas().filter_map(|d| path(d.new_file()).or_else(|| path(d.old_file())));
    Some(paths.collect())
}
