//! Handing growth to git: libgit2 never packs what it writes.
//!
//! 1,000 notes leave 4,000 loose objects and 38 MB, half a megabyte once packed. git's own commands call
//! `git maintenance run --auto` after they wrote; we do the same, detached, when git would find something to do.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use super::{Repo, lock};

/// git's default for `gc.auto`: so many loose objects are too many.
const LOOSE_OBJECTS: usize = 6700;

/// Not more often than this: a maintenance that cannot help (a lock, unreachable objects) must not start with every
/// event.
const PAUSE: Duration = Duration::from_mins(10);

/// Starts git's maintenance beside us when there is much to pack, unless the user has switched it off.
/// Says whether it did. Trouble is nobody's: the event was written.
pub fn hand_over(repo: &Repo) -> bool {
    if !wanted(repo) {
        return false;
    }
    let Ok(mark) = lock::state_dir(repo).map(|d| d.join("maintenance")) else { return false };
    let age = |at: SystemTime| SystemTime::now().duration_since(at).unwrap_or_default();
    if std::fs::metadata(&mark).and_then(|m| m.modified()).is_ok_and(|at| age(at) < PAUSE) {
        return false;
    }
    if std::fs::write(&mark, b"").is_err() {
        return false;
    }
    // In a group of its own, so that a Ctrl-C meant for us does not end it.
    Command::new("git")
        .arg("--git-dir")
        .arg(repo.git_dir())
        .args(["maintenance", "run", "--auto", "--quiet"])
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .is_ok()
}

/// As git estimates it: one of 256 directories, counted.
fn wanted(repo: &Repo) -> bool {
    let limit = match repo.config_string("gc.auto").and_then(|v| v.parse::<i64>().ok()) {
        Some(limit) if limit <= 0 => return false,
        Some(limit) => limit as usize,
        None => LOOSE_OBJECTS,
    };
    if repo.config_bool("maintenance.auto") == Some(false) {
        return false;
    }
    let sample = repo.common_dir().join("objects").join("17");
    std::fs::read_dir(sample).is_ok_and(|entries| entries.count() > limit.div_ceil(256))
}
