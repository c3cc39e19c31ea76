//! Moving refs by compare and swap.

use super::repo::{from_git, to_git};
use super::{Repo, lock};
use crate::model::{Error, Oid, Result};

/// A ref's object; `None` when there is no such ref.
///
/// # Errors
/// A ref that is there and cannot be read.
pub fn read(repo: &Repo, name: &str) -> Result<Option<Oid>> {
    match repo.raw().find_reference(name) {
        Ok(reference) => {
            let target = reference.resolve().ok().and_then(|r| r.target());
            target
                .map(|id| Some(from_git(id)))
                .ok_or_else(|| Error::refused(format!("{name} points nowhere")).hint(mend_hint(name)))
        }
        Err(e) if e.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(e) => {
            Err(Error::refused(format!("{name} cannot be read")).because(e.message()).hint(mend_hint(name)))
        }
    }
}

fn mend_hint(name: &str) -> String {
    format!("if another ref has what it held: git update-ref -d {name}, then run the command again")
}

/// Whether a ref is there and names another one, as no ref of ours does.
pub fn is_symbolic(repo: &Repo, name: &str) -> bool {
    repo.raw().find_reference(name).is_ok_and(|r| r.kind() == Some(git2::ReferenceType::Symbolic))
}

/// Takes a ref away whose file cannot be read or that names no commit, so that it can be set anew.
///
/// # Errors
/// The ref cannot be removed.
pub fn remove_broken(repo: &Repo, name: &str) -> Result<()> {
    let removed = match repo.raw().find_reference(name) {
        Ok(mut reference) => reference.delete().map_err(|e| e.message().to_owned()),
        Err(_) => std::fs::remove_file(repo.common_dir().join(name)).map_err(|e| e.to_string()),
    };
    removed.map_err(|e| {
        Error::refused(format!("{name} is broken and cannot be removed")).because(e).hint(mend_hint(name))
    })
}

/// How often a locked ref is tried again, every 50 ms: longer than it takes for a lock to count as stale, so that
/// the fresh lock of a dead writer blocks nobody for good.
const PATIENCE: u32 = 260;

/// What came of a compare and swap.
#[derive(Debug, PartialEq, Eq)]
pub enum Swap {
    /// The ref has the new value.
    Done,
    /// Somebody else moved it first.
    Raced,
}

/// Sets a ref to `new` if it still is at `old` (`None`: if it still does not exist).
///
/// # Errors
/// The ref cannot be written, or its lock is held by a live process for longer than we wait.
pub fn compare_and_swap(
    repo: &Repo,
    name: &str,
    new: &Oid,
    old: Option<&Oid>,
    message: &str,
) -> Result<Swap> {
    let new_id = to_git(new)?;
    let mut waited = 0;
    loop {
        let result = match old {
            Some(old) => repo.raw().reference_matching(name, new_id, true, to_git(old)?, message),
            None => repo.raw().reference(name, new_id, false, message),
        };
        let Err(error) = result else {
            return Ok(Swap::Done);
        };
        match error.code() {
            git2::ErrorCode::Modified | git2::ErrorCode::Exists | git2::ErrorCode::NotFound => {
                return Ok(Swap::Raced);
            }
            git2::ErrorCode::Locked if waited < PATIENCE => {
                // Some git command holds the ref for an instant; one that died left its lock behind.
                if !lock::remove_stale_ref_lock(repo, name) {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                    waited += 1;
                }
            }
            git2::ErrorCode::Locked => {
                return Err(Error::refused(format!("{name} is locked by another process"))
                    .because(error.message())
                    .hint(format!(
                        "if no git command is running: rm {}",
                        repo.common_dir().join(format!("{name}.lock")).display()
                    )));
            }
            _ => {
                return Err(Error::refused(format!("{name} cannot be moved")).because(error.message()).hint(
                    format!(
                        "check that {} is writable and the disk is not full",
                        repo.common_dir().display()
                    ),
                ));
            }
        }
    }
}

/// The names of all refs.
pub fn names(repo: &Repo) -> Vec<String> {
    let Ok(references) = repo.raw().references() else { return Vec::new() };
    references.flatten().filter_map(|r| r.name().ok().map(str::to_owned)).collect()
}

/// Deletes a ref, if it is there.
///
/// # Errors
/// The ref cannot be written.
pub fn delete(repo: &Repo, name: &str) -> Result<()> {
    match repo.raw().find_reference(name).and_then(|mut r| r.delete()) {
        Ok(()) => Ok(()),
        Err(e) if e.code() == git2::ErrorCode::NotFound => Ok(()),
        Err(e) => Err(Error::refused(format!("{name} cannot be deleted")).because(e.message())),
    }
}

/// Sets a ref, wherever it stood.
///
/// # Errors
/// The ref cannot be written.
pub fn set(repo: &Repo, name: &str, new: &Oid, message: &str) -> Result<()> {
    let set = repo.raw().reference(name, to_git(new)?, true, message);
    set.map(drop).map_err(|e| Error::refused(format!("{name} cannot be moved")).because(e.message()))
}

/// The commits that a ref's log names.
pub fn logged(repo: &Repo, name: &str) -> Vec<Oid> {
    let Ok(log) = repo.raw().reflog(name) else { return Vec::new() };
    log.iter().flat_map(|e| [e.id_old(), e.id_new()]).filter(|id| !id.is_zero()).map(from_git).collect()
}

/// Forgets a ref's log.
pub fn forget_log(repo: &Repo, name: &str) {
    let _ = repo.raw().reflog_delete(name);
    // libgit2 leaves the file alone when it cannot read it.
    let _ = std::fs::remove_file(repo.common_dir().join("logs").join(name));
}

/// A ref that is locked against everybody else, git included.
pub struct Held<'r> {
    transaction: git2::Transaction<'r>,
    name: String,
}

/// Locks a ref; `None` when somebody else holds its lock for longer than we wait.
///
/// # Errors
/// The lock cannot be made.
pub fn hold<'r>(repo: &'r Repo, name: &str) -> Result<Option<Held<'r>>> {
    let cannot = |e: git2::Error| {
        Error::refused(format!("{name} cannot be locked"))
            .because(e.message())
            .hint("check that the repository is writable and the disk is not full")
    };
    for _ in 0..200 {
        let mut transaction = repo.raw().transaction().map_err(cannot)?;
        match transaction.lock_ref(name) {
            Ok(()) => return Ok(Some(Held { transaction, name: name.to_owned() })),
            Err(e) if e.code() == git2::ErrorCode::Locked => {
                lock::remove_stale_ref_lock(repo, name);
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            Err(e) => return Err(cannot(e)),
        }
    }
    Ok(None)
}

impl Held<'_> {
    /// Sets the ref and lets go of it.
    ///
    /// # Errors
    /// The ref cannot be written.
    pub fn set(mut self, new: &Oid, message: &str) -> Result<Swap> {
        let name = self.name;
        let cannot = |e: git2::Error| {
            Error::refused(format!("{name} cannot be moved"))
                .because(e.message())
                .hint("check that the repository is writable and the disk is not full")
        };
        self.transaction.set_target(&name, to_git(new)?, None, message).map_err(cannot)?;
        self.transaction.commit().map_err(cannot)?;
        Ok(Swap::Done)
    }
}
