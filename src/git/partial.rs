//! Partial clones: what was left with a remote is fetched when it is asked for.
//!
//! libgit2 never fetches. Where it finds a hole, `git fetch` fills it, as git's own commands do: all that is
//! missing at once, and nothing else. `GIT_NO_LAZY_FETCH` forbids it, as it does for git.

use git2::OdbLookupFlags;

use super::Repo;
use super::program::Git;
use super::repo::to_git;
use crate::model::{Error, Kind, Oid, Result};

/// Sees to it that objects are here, in one fetch. Does nothing where the clone is whole.
///
/// # Errors
/// The remote cannot be reached, or does not have them.
pub fn ensure(repo: &Repo, wanted: &[Oid]) -> Result<()> {
    let Some(remote) = repo.promisor() else { return Ok(()) };
    let odb = repo
        .raw()
        .odb()
        .map_err(|e| Error::refused("the object database cannot be opened").because(e.message()))?;
    // One look for packs that came since, not one for each object.
    let _ = odb.refresh();
    let is_here = |oid: &Oid| to_git(oid).is_ok_and(|id| odb.exists_ext(id, OdbLookupFlags::NO_REFRESH));
    let mut missing: Vec<&str> = wanted.iter().filter(|o| !is_here(o)).map(Oid::as_str).collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    fetch(repo, &remote, &missing)?;
    let _ = odb.refresh();
    Ok(())
}

fn fetch(repo: &Repo, remote: &str, missing: &[&str]) -> Result<()> {
    let what = format!("{} objects that this partial clone left with {remote:?} are needed", missing.len());
    if std::env::var_os("GIT_NO_LAZY_FETCH").is_some_and(|v| !v.is_empty() && v != "0") {
        return Err(Error::refused(what)
            .because("GIT_NO_LAZY_FETCH forbids to fetch them")
            .hint("unset GIT_NO_LAZY_FETCH, or get everything: git fetch --refetch --no-filter"));
    }
    Git::at(repo.git_dir())
        .git_dir(repo.git_dir())
        // Asks for these objects alone: no negotiation, no tags, no refs, and no hook of `git fetch`'s own.
        .config("fetch.negotiationAlgorithm", "noop")
        .config("fetch.prune", "false")
        .call(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no"])
        .args(["--filter=blob:none", "--stdin", remote])
        .stdin(missing.join("\n") + "\n")
        .writes()
        .run()
        .map_err(|error| {
            error
                .while_doing(what)
                .with_kind(Kind::Remote)
                .hint(format!("see whether it can be reached: git ls-remote {remote}"))
                .hint("or get everything while it can: git fetch --refetch --no-filter")
        })
}
