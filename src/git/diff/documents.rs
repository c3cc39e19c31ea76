//! Both versions of the files that differ between two commits, or a commit and what is here.

use std::fs;
use std::path::Path;

use super::paths::refuse_options;
use super::{fields, path, pinned_diff, text};
use crate::git::program::Git;
use crate::model::{Error, Result};

/// What the old versions are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A commit.
    Commit(String),
    /// What is staged.
    Index,
    /// The files of the working tree, untracked ones included.
    WorkingTree,
}

/// A file with both of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Where it is, from the top of the working tree; where it was, if it is gone.
    pub path: String,
    /// Where it was, if that is another place.
    pub former: Option<String>,
    /// What it held; `None` when it is new, or was no regular file.
    pub old: Option<Vec<u8>>,
    /// What it holds; `None` when it is gone, or is no regular file.
    pub new: Option<Vec<u8>>,
}

/// The files that differ below the pathspecs. `from` is a commit; `None` means nothing at all, as before the first
/// commit.
///
/// # Errors
/// No such commit; a pathspec that git does not understand; an object that is not here and cannot be fetched.
pub fn changed_documents(
    git: &Git,
    from: Option<&str>,
    target: &Target,
    pathspecs: &[String],
) -> Result<Vec<Versions>> {
    let base = match from {
        Some(from) => {
            refuse_options(&[from])?;
            from.to_owned()
        }
        None => git.call(["hash-object", "-t", "tree", "--stdin"]).stdin("").text()?,
    };
    let mut call = pinned_diff(git).args(["--raw", "-z", "-M", "--no-abbrev"]);
    call = match target {
        Target::Commit(to) => {
            refuse_options(&[to])?;
            call.args([base.as_str(), to])
        }
        Target::Index => call.args(["--cached", &base]),
        Target::WorkingTree => call.arg(&base),
    };
    let bytes = call.arg("--").args(pathspecs).bytes()?;
    let mut found = read_raw(git, &bytes, target)?;
    if *target == Target::WorkingTree {
        let listed = git.call(["ls-files", "--others", "--exclude-standard", "-z", "--full-name", "--"]);
        for name in fields(&listed.args(pathspecs).bytes()?) {
            let name = text(name);
            let new = on_disk(git, &name)?;
            found.push(Versions { path: name, former: None, old: None, new });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// `:100644 100644 <old> <new> M\0path\0`, with two paths for a rename.
fn read_raw(git: &Git, bytes: &[u8], target: &Target) -> Result<Vec<Versions>> {
    let unreadable = |entry: &[u8]| Error::refused("cannot read `git diff --raw`").because(text(entry));
    let mut found = Vec::new();
    let mut rest = fields(bytes);
    while let Some(entry) = rest.next() {
        let line = text(entry);
        let parts: Vec<&str> = line.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, new, status] = parts[..] else { return Err(unreadable(entry)) };
        let first = rest.next().ok_or_else(|| unreadable(entry))?;
        let (former, name) = if status.starts_with(['R', 'C']) {
            (Some(text(first)), text(rest.next().ok_or_else(|| unreadable(entry))?))
        } else {
            (None, text(first))
        };
        let blob = |mode: &str, oid: &str| -> Result<Option<Vec<u8>>> {
            if !mode.starts_with("100") {
                return Ok(None);
            }
            // Of a renamed file git names the blob that the file would make, which nobody has stored.
            if *target == Target::WorkingTree {
                return on_disk(git, &name);
            }
            git.call(["cat-file", "blob", oid]).bytes().map(Some)
        };
        found.push(Versions {
            old: if old_mode.starts_with("100") {
                Some(git.call(["cat-file", "blob", old]).bytes()?)
            } else {
                None
            },
            new: blob(new_mode, new)?,
            path: name,
            former,
        });
    }
    Ok(found)
}

/// A regular file of the working tree; links are not followed.
fn on_disk(git: &Git, name: &str) -> Result<Option<Vec<u8>>> {
    let top = git.call(["rev-parse", "--show-toplevel"]).text()?;
    let file = Path::new(&top).join(path(name.as_bytes()));
    match fs::symlink_metadata(&file) {
        Ok(kind) if kind.is_file() => Ok(Some(fs::read(&file)?)),
        _ => Ok(None),
    }
}
