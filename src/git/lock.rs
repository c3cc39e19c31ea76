//! One writer at a time in a repository, and what a dead one left behind.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use super::Repo;
use crate::model::{Error, Result};

/// An exclusive lock on the ledger refs among programs that know of it; ends with the process that holds it.
///
/// It is an optimisation and a courtesy, not the guard: every ref still moves by compare and swap. Without it
/// 64 writers need hundreds of tries an event; with it none is wasted.
pub struct WriterLock {
    _file: File,
}

impl WriterLock {
    /// Waits for the lock of a repository.
    ///
    /// # Errors
    /// The lock file cannot be made: a read-only repository.
    pub fn acquire(repo: &Repo) -> Result<Self> {
        let directory = state_dir(repo)?;
        let path = directory.join("writer.lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(|e| {
            Error::refused("the repository cannot be written")
                .because(format!("{}: {e}", path.display()))
                .hint(WRITABLE)
        })?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => {
                    return Err(Error::refused("the writer lock cannot be taken")
                        .because(format!("{}: {e}", path.display()))
                        .hint(WRITABLE));
                }
            }
        }
    }
}

/// What to do where nothing can be written.
const WRITABLE: &str =
    "check that it is yours to write, not mounted read-only, and that the disk is not full";

/// `<git common dir>/incident/`, made when it is not there.
///
/// # Errors
/// A read-only repository; something else in its place.
pub fn state_dir(repo: &Repo) -> Result<PathBuf> {
    own_directory(repo.common_dir())
}

/// The directory `incident` of a git directory, made when it is not there. A link in its place is not followed: it
/// would let us write somewhere else.
///
/// # Errors
/// As [`state_dir`].
pub fn own_directory(git_dir: &Path) -> Result<PathBuf> {
    let directory = git_dir.join("incident");
    match std::fs::symlink_metadata(&directory) {
        Ok(meta) if meta.is_dir() => return Ok(directory),
        Ok(_) => {
            return Err(Error::refused(format!("{} is not a directory", directory.display()))
                .because("local state is kept in a directory of the repository itself, never behind a link")
                .hint(format!("remove what stands there: rm {}", directory.display())));
        }
        Err(_) => {}
    }
    std::fs::create_dir_all(&directory).map_err(|e| {
        Error::refused("the repository cannot be written")
            .because(format!("{}: {e}", directory.display()))
            .hint(WRITABLE)
    })?;
    Ok(directory)
}

/// A ref's lock file this old, with nobody holding it open, belongs to nobody alive.
const STALE_AFTER: Duration = Duration::from_secs(10);

/// Whether a ref's lock file is there and old enough that it may be a dead process's.
pub fn is_ref_lock_old(repo: &Repo, reference: &str) -> bool {
    age_of_ref_lock(repo, reference).is_some_and(|age| age > STALE_AFTER)
}

fn age_of_ref_lock(repo: &Repo, reference: &str) -> Option<Duration> {
    let path = repo.common_dir().join(format!("{reference}.lock"));
    let written = std::fs::metadata(path).and_then(|m| m.modified()).ok()?;
    SystemTime::now().duration_since(written).ok()
}

/// Removes the lock file of a ref when its owner is dead. Call only while holding the [`WriterLock`]: then it
/// cannot be one of ours. Says whether it removed one.
pub fn remove_stale_ref_lock(repo: &Repo, reference: &str) -> bool {
    let path = repo.common_dir().join(format!("{reference}.lock"));
    if is_ref_lock_old(repo, reference) && !held_open(&path) {
        return std::fs::remove_file(&path).is_ok();
    }
    false
}

/// Whether a live process has the file open, as far as we may look. git closes a ref lock's descriptor
/// before it renames it, within the same instant: the age covers that.
fn held_open(path: &Path) -> bool {
    let Ok(wanted) = std::fs::canonicalize(path) else {
        return false;
    };
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return true;
    };
    processes
        .flatten()
        .filter(|p| p.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|p| std::fs::read_dir(p.path().join("fd")).ok())
        .flat_map(Iterator::flatten)
        .any(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target == wanted))
}
