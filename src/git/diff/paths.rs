//! Differences of trees and of the working tree.

use std::fs;
use std::path::PathBuf;

use super::{fields, path, pinned_diff, text};
use crate::git::program::Git;
use crate::model::{Error, Result};

/// The difference between HEAD and the working tree, staged or not, as a patch that
/// `git apply --binary` takes. Before the first commit: against the empty tree.
pub fn dirty_diff(git: &Git) -> Result<Vec<u8>> {
    let head = git.call(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).text_if_any()?;
    let base = match head {
        Some(head) => head,
        None => git.call(["hash-object", "-t", "tree", "--stdin"]).stdin("").text()?,
    };
    pinned_diff(git).args(["--binary", "--no-renames", "-U3", &base, "--"]).bytes()
}

/// What an untracked path is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UntrackedKind {
    /// A regular file of that many bytes.
    File(u64),
    /// A symbolic link; its target is not followed.
    Symlink,
    /// A repository of its own, whose files git does not list.
    Repository,
    /// A socket, a named pipe or a device.
    Special,
    /// It was gone when looked at.
    Vanished,
}

/// One untracked path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untracked {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// What it is.
    pub kind: UntrackedKind,
}

/// The untracked paths, cut at a limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UntrackedList {
    /// The first ones, in git's order.
    pub entries: Vec<Untracked>,
    /// How many more there are.
    pub more: usize,
}

/// The paths that are neither tracked nor ignored, `limit` of them at most.
pub fn untracked(git: &Git, limit: usize) -> Result<UntrackedList> {
    let top = git.call(["rev-parse", "--show-toplevel"]).text()?;
    let bytes =
        git.call(["ls-files", "--others", "--exclude-standard", "-z", "--full-name", "--", ":/"]).bytes()?;
    let mut list = UntrackedList::default();
    for name in fields(&bytes) {
        if list.entries.len() == limit {
            list.more += 1;
            continue;
        }
        // A directory at the end of a name: git stops at other repositories.
        let name_only = path(name.strip_suffix(b"/").unwrap_or(name));
        let kind = match fs::symlink_metadata(PathBuf::from(&top).join(&name_only)) {
            Err(_) => UntrackedKind::Vanished,
            Ok(kind) if kind.is_symlink() => UntrackedKind::Symlink,
            Ok(kind) if kind.is_dir() => UntrackedKind::Repository,
            Ok(kind) if kind.is_file() => UntrackedKind::File(kind.len()),
            Ok(_) => UntrackedKind::Special,
        };
        list.entries.push(Untracked { path: name_only, kind });
    }
    Ok(list)
}

/// The best common ancestor of two commits; `None` when their histories never met.
pub fn merge_base(git: &Git, one: &str, other: &str) -> Result<Option<String>> {
    refuse_options(&[one, other])?;
    git.call(["merge-base", one, other]).text_if_any()
}

/// The paths that differ between two trees; both names of a renamed file.
pub fn changed_paths(git: &Git, base: &str, tip: &str) -> Result<Vec<PathBuf>> {
    refuse_options(&[base, tip])?;
    let call = git.call(["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--no-ext-diff"]);
    let bytes = call.args([base, tip, "--"]).bytes()?;
    Ok(fields(&bytes).map(path).collect())
}

/// How much of a file a difference adds and deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffStat {
    /// The file, by its new name.
    pub path: PathBuf,
    /// Its former name, when it was renamed.
    pub renamed_from: Option<PathBuf>,
    /// Lines added; `None` for a binary file.
    pub added: Option<u64>,
    /// Lines deleted; `None` for a binary file.
    pub deleted: Option<u64>,
}

/// Lines added and deleted per file between two trees.
pub fn diff_stat(git: &Git, base: &str, tip: &str) -> Result<Vec<DiffStat>> {
    refuse_options(&[base, tip])?;
    let call = git.call(["diff-tree", "-r", "-z", "-M", "--numstat", "--no-ext-diff", "--no-textconv"]);
    let bytes = call.args([base, tip, "--"]).bytes()?;
    let mut stats = Vec::new();
    let mut rest = fields(&bytes);
    while let Some(entry) = rest.next() {
        let mut parts = entry.splitn(3, |byte| *byte == b'\t');
        let (Some(added), Some(deleted), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(Error::refused("cannot read `git diff-tree --numstat`").because(text(entry)));
        };
        // A rename leaves the name empty and gives both in the fields that follow.
        let (old, new) = if name.is_empty() { (rest.next(), rest.next()) } else { (None, Some(name)) };
        stats.push(DiffStat {
            path: path(new.unwrap_or_default()),
            renamed_from: old.map(path),
            added: text(added).parse().ok(),
            deleted: text(deleted).parse().ok(),
        });
    }
    Ok(stats)
}

/// Names of commits come from users and ledgers: one that starts with `-` would be an option.
pub(super) fn refuse_options(revisions: &[&str]) -> Result<()> {
    match revisions.iter().find(|name| name.starts_with('-') || name.is_empty()) {
        Some(name) => Err(Error::usage(format!("`{}` names no commit", name.escape_debug()))),
        None => Ok(()),
    }
}
