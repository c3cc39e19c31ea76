//! What programs that died left behind.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use super::{Check, Scene, place, quoted_path};
use crate::model::Result;
use crate::store::travelling::BOTH;

/// A ref's lock this old belongs to nobody alive: git holds one for an instant.
const STALE: Duration = Duration::from_mins(1);

/// What ran in the background this long ago is of no use any more.
const OLD: Duration = Duration::from_hours(7 * 24);

pub(super) fn checks(scene: &Scene) -> Result<Vec<Check>> {
    let Some(common_dir) = &scene.common_dir else { return Ok(Vec::new()) };
    let mut found = locks(common_dir);
    found.extend(background(common_dir));
    found.extend(worktrees(scene)?);
    if found.is_empty() {
        found.push(Check::ok("leftovers", "no stale locks, background files or worktrees"));
    }
    Ok(found)
}

fn older(path: &Path, age: Duration) -> bool {
    let modified = std::fs::symlink_metadata(path).and_then(|m| m.modified());
    modified.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|a| a > age))
}

fn remove(paths: &[PathBuf]) -> String {
    let words: Vec<String> = paths.iter().map(|p| quoted_path(p)).collect();
    format!("rm -f {}", words.join(" "))
}

/// Locks of refs that nobody will ever release.
fn locks(common_dir: &Path) -> Vec<Check> {
    let mut names: Vec<String> =
        vec!["packed-refs".into(), "config".into(), "refs/notes/incident-lines".into()];
    names.extend(BOTH.iter().flat_map(|w| [w.notes.to_owned(), w.kept.to_owned()]));
    let stale: Vec<PathBuf> = names
        .iter()
        .map(|name| common_dir.join(format!("{name}.lock")))
        .filter(|path| older(path, STALE))
        .collect();
    if stale.is_empty() {
        return Vec::new();
    }
    let shown: Vec<String> = stale.iter().map(|p| p.display().to_string()).collect();
    let why = "git waits for it in vain; our own writers remove those of our refs";
    vec![
        Check::problem("locks", format!("left by a process that died: {}", shown.join(", ")), why)
            .mend(remove(&stale)),
    ]
}

/// Requests and logs of background validations.
fn background(common_dir: &Path) -> Vec<Check> {
    let Ok(entries) = std::fs::read_dir(common_dir.join("incident/background")) else { return Vec::new() };
    let mut old: Vec<PathBuf> = Vec::new();
    for path in entries.flatten().map(|e| e.path()).filter(|p| older(p, OLD)).take(1000) {
        // The lock of the three files of a tree: while somebody holds it, it runs.
        let runs = File::open(path.with_extension("lock"))
            .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockShared).is_err());
        if !runs {
            old.push(path);
        }
    }
    if old.is_empty() {
        return Vec::new();
    }
    old.sort();
    let why = "they only take space";
    let text = format!("{} files of background validations are older than a week", old.len());
    vec![Check::warn("background", text, why).mend(remove(&old))]
}

/// Worktrees of ours that are registered and gone.
fn worktrees(scene: &Scene) -> Result<Vec<Check>> {
    let listed = scene.git.call(["worktree", "list", "--porcelain"]).output()?;
    let text = String::from_utf8_lossy(&listed.stdout);
    let gone: Vec<&str> = text
        .split("\n\n")
        .filter(|entry| entry.lines().any(|l| l.starts_with("prunable")))
        .filter_map(|entry| entry.lines().find_map(|l| l.strip_prefix("worktree ")))
        .filter(|path| {
            Path::new(path).file_name().is_some_and(|n| n.to_string_lossy().starts_with(place::WORKTREES))
        })
        .collect();
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let text = format!("validation worktrees are registered and gone: {}", gone.join(", "));
    let why = "git keeps what they had checked out, and lists them";
    Ok(vec![Check::warn("worktrees", text, why).mend("git worktree prune")])
}
