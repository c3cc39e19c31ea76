//! Where the index lies: `<git common dir>/incident/`, a database of its own for each time it was built from nothing,
//! and one small file that names the one in force.
//!
//! A database is never replaced under its name: a process that still has the old one open would clean up the files of
//! the new one when it closes.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::git::{Repo, lock};
use crate::store::tombstones::write_whole;

/// The file that names the database in force.
const POINTER: &str = "index";
/// What a database's name begins and ends with.
const STEM: &str = "index-";
const ENDING: &str = ".sqlite";

/// The local state's directory, whether it is there or not.
fn directory(repo: &Repo) -> PathBuf {
    repo.common_dir().join("incident")
}

/// The database in force.
pub(super) fn current(repo: &Repo) -> Option<PathBuf> {
    let name = std::fs::read_to_string(directory(repo).join(POINTER)).ok()?;
    let name = name.trim();
    let digits = name.strip_prefix(STEM)?.strip_suffix(ENDING)?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| directory(repo).join(name)).filter(|path| path.is_file())
}

/// A name for a new database; `None` where nothing can be written.
pub(super) fn fresh(repo: &Repo) -> Option<PathBuf> {
    let mut digits = [0_u8; 8];
    getrandom::fill(&mut digits).ok()?;
    let name = format!("{STEM}{}{ENDING}", crate::model::canonical::hex(&digits));
    Some(lock::state_dir(repo).ok()?.join(name))
}

/// Puts a database in force and removes all others. Call with [`Builder`] held.
pub(super) fn put_in_force(repo: &Repo, path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else { return false };
    if write_whole(repo, POINTER, format!("{name}\n").as_bytes()).is_err() {
        return false;
    }
    remove_all_but(repo, Some(name));
    true
}

/// Removes the index. What it holds is all in the ledgers.
pub fn forget(repo: &Repo) {
    let _ = std::fs::remove_file(directory(repo).join(POINTER));
    remove_all_but(repo, None);
}

fn remove_all_but(repo: &Repo, kept: Option<&str>) {
    for entry in std::fs::read_dir(directory(repo)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|n| n.starts_with(STEM) && n.contains(ENDING)) else {
            continue;
        };
        if kept.is_none_or(|kept| !name.starts_with(kept)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Removes a database with the files beside it.
pub(super) fn remove_database(path: &Path) {
    for ending in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}

/// One process at a time builds the index from nothing; ends with the process that holds it.
pub(super) struct Builder {
    _file: File,
}

impl Builder {
    /// Waits so long and no longer.
    pub(super) fn acquire(repo: &Repo, patience: Duration) -> Option<Self> {
        let path = lock::state_dir(repo).ok()?.join("index.lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).ok()?;
        let end = Instant::now() + patience;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Some(Self { _file: file }),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
                Err(_) => return None,
            }
        }
    }
}
