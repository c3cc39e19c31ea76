//! Worktrees in which commits are judged, outside the repository.
//!
//! A directory below the repository would see the dirty tree's cargo, node and editable-install
//! files, so each repository has its own under the cache directory. It is kept between runs, since
//! bringing 50,000 files up to date takes a fraction of a second and checking them out takes
//! seconds; everything that is not declared as a cache is cleaned. An OS lock beside it keeps two
//! processes apart and is released by the kernel when its holder dies. The user's branch, index and
//! configuration are never touched.

mod content;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

use super::program::Git;
use crate::model::{Error, Result};

/// How the names of our worktrees begin.
pub const PREFIX: &str = "git-incident-";

/// Whether left-overs of an earlier checkout are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// The directory holds the commit's files and nothing else.
    Fresh,
    /// Declared caches of earlier runs are there too.
    Incremental,
}

/// A commit checked out and ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// Where its files are.
    pub path: PathBuf,
    /// What else is there.
    pub freshness: Freshness,
    /// What is missing, such as `submodules missing: third_party/x`: a gate that needs it was not
    /// run, whatever it says.
    pub missing: Vec<String>,
}

/// The validation worktree of a repository, locked for this process until dropped.
#[derive(Debug)]
pub struct ValidationWorktree {
    common_dir: PathBuf,
    path: PathBuf,
    git: Git,
    _lock: fs::File,
}

impl ValidationWorktree {
    /// Waits for the worktree of that name and takes it.
    ///
    /// `git_common_dir` is the directory all worktrees of the repository share, `cache_root` is
    /// `$XDG_CACHE_HOME/git-incident`, and `name` tells apart worktrees of one repository.
    pub fn open(git_common_dir: &Path, cache_root: &Path, name: &str) -> Result<Self> {
        Self::take(git_common_dir, cache_root, name, true)?
            .ok_or_else(|| Error::bug("a lock was neither taken nor refused"))
    }

    /// Takes the worktree unless another process has it.
    pub fn try_open(git_common_dir: &Path, cache_root: &Path, name: &str) -> Result<Option<Self>> {
        Self::take(git_common_dir, cache_root, name, false)
    }

    fn take(git_common_dir: &Path, cache_root: &Path, name: &str, wait: bool) -> Result<Option<Self>> {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(Error::bug(format!("`{}` cannot name a worktree", name.escape_debug())));
        }
        let trouble = |error: std::io::Error| {
            Error::refused("cannot open the validation worktree")
                .because(error)
                .hint(format!("see that {} can be written, or set XDG_CACHE_HOME", cache_root.display()))
        };
        let common_dir = git_common_dir.canonicalize().map_err(trouble)?;
        let folder = cache_root.join("worktrees");
        fs::create_dir_all(&folder).map_err(trouble)?;
        let folder = folder.canonicalize().map_err(trouble)?;
        if folder.starts_with(&common_dir) {
            return Err(Error::refused("the cache directory lies inside the repository")
                .because(format!("{} is below {}", folder.display(), common_dir.display()))
                .hint("set XDG_CACHE_HOME to a directory outside"));
        }
        let stem = format!("{PREFIX}{}-{name}", digest(&common_dir));

        let lock = folder.join(format!("{stem}.lock"));
        let lock =
            fs::OpenOptions::new().create(true).truncate(false).write(true).open(lock).map_err(trouble)?;
        let operation =
            if wait { FlockOperation::LockExclusive } else { FlockOperation::NonBlockingLockExclusive };
        loop {
            match flock(&lock, operation) {
                Ok(()) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(trouble(error.into())),
            }
        }
        let path = folder.join(stem);
        let worktree = Self { git: Git::at(&path), common_dir, path, _lock: lock };
        Ok(Some(worktree.without_hooks()?))
    }

    /// Where the files are, once a commit was checked out.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `git` in the worktree: hooks off, sparse checkout off, in a scrubbed environment.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Checks a commit out. `caches` are paths, relative to the top, that a gate declared as worth
    /// keeping; everything else that is not of the commit is removed.
    ///
    /// A worktree that is damaged in any way is made anew once before this gives up.
    pub fn checkout(&self, commit: &str, caches: &[&str]) -> Result<Checkout> {
        if commit.len() < 40 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Error::bug(format!("`{}` is no full object id", commit.escape_debug())));
        }
        if let Some(cache) = caches.iter().find(|cache| !is_inner_path(cache)) {
            return Err(Error::usage(format!(
                "the cache `{}` is no path inside the tree",
                cache.escape_debug()
            ))
            .hint("name it relative to the top of the repository, without `..`"));
        }
        let common = self.in_common_dir();
        let kind = common.call(["cat-file", "-t", commit]).text().map_err(|error| {
            error
                .while_doing(format!("commit {commit} is not in this repository"))
                .hint("fetch it first, for instance with `git fetch --unshallow`")
        })?;
        if kind != "commit" {
            return Err(Error::refused(format!("{commit} is a {kind}, not a commit")));
        }

        let whole = self.is_ours() && self.bring_up_to(commit, caches).is_ok();
        if !whole {
            self.discard()?;
            self.sweep();
            common
                .call(["worktree", "add", "--detach", "--no-checkout", "--force", "--force"])
                .args([self.path.as_os_str(), commit.as_ref()])
                .writes()
                .run()
                .map_err(|error| error.while_doing("cannot make the validation worktree"))?;
            self.bring_up_to(commit, caches)
                .map_err(|error| error.while_doing(format!("cannot check out {commit} for validation")))?;
        }
        let mut missing =
            content::populate_submodules(&self.git, &self.path, &self.common_dir.join("modules"))?;
        missing.extend(content::unfetched_lfs_files(&self.git, &self.path)?);
        let others = self.git.call(["ls-files", "--others", "--directory", "-z"]).bytes()?;
        let freshness = if others.is_empty() { Freshness::Fresh } else { Freshness::Incremental };
        Ok(Checkout { path: self.path.clone(), freshness, missing })
    }

    /// Removes the worktree and its entry in the repository.
    pub fn remove(self) -> Result<()> {
        self.discard()
    }

    /// Files of the commit, and nothing but caches beside them.
    fn bring_up_to(&self, commit: &str, caches: &[&str]) -> Result<()> {
        let git_dir = PathBuf::from(self.git.call(["rev-parse", "--absolute-git-dir"]).text()?);
        // We hold the lock of the directory, so whoever left this is dead.
        let _ = fs::remove_file(git_dir.join("index.lock"));
        content::forget_hidden_changes(&self.git, &git_dir)?;
        self.git.call(["checkout", "--detach", "--force", "--quiet", commit]).writes().run()?;
        let mut clean = self.git.call(["clean", "-ffdxq"]).writes();
        for cache in caches {
            clean = clean.arg("-e").arg(format!("/{}", escape_pattern(cache.trim_end_matches('/'))));
        }
        clean.run()?;
        let head = self.git.call(["rev-parse", "HEAD"]).text()?;
        if head == commit {
            Ok(())
        } else {
            Err(Error::refused(format!("HEAD is {head} after the checkout")))
        }
    }

    /// Whether the directory is a worktree of this repository, as git sees it.
    fn is_ours(&self) -> bool {
        let question =
            ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel"];
        let Ok(answer) = self.git.call(question).text() else {
            return false;
        };
        let real: Vec<_> = answer.lines().map(|line| Path::new(line).canonicalize().ok()).collect();
        let [Some(git_dir), Some(common_dir), Some(top)] = real.as_slice() else {
            return false;
        };
        // A `.git` file that was bent towards the main worktree would have us move the user's HEAD.
        let own_entry = self.entries().into_iter().any(|(entry, target)| {
            entry.canonicalize().is_ok_and(|entry| entry == *git_dir) && target == self.path.join(".git")
        });
        own_entry && *common_dir == self.common_dir && *top == self.path
    }

    /// Removes the directory and, in the repository, every entry that points to it.
    fn discard(&self) -> Result<()> {
        remove_tree(&self.path).map_err(|error| {
            Error::refused(format!("cannot remove {}", self.path.display()))
                .because(error)
                .hint("remove it by hand and try again")
        })?;
        for (entry, target) in self.entries() {
            if target == self.path.join(".git") {
                let _ = remove_tree(&entry);
            }
        }
        Ok(())
    }

    /// Forgets worktrees of ours that this repository had under another path, before it was moved
    /// or copied. Their directories go only when nobody else's repository stands behind them.
    fn sweep(&self) {
        let Some(folder) = self.path.parent() else { return };
        let digest = digest(&self.common_dir);
        for (entry, target) in self.entries() {
            let Some(directory) = target.parent() else {
                continue;
            };
            let name = directory.file_name().unwrap_or_default().to_string_lossy();
            let Some(rest) = name.strip_prefix(PREFIX) else {
                continue;
            };
            if directory.parent() != Some(folder) || rest.starts_with(&digest) {
                continue;
            }
            let owner = fs::read_to_string(&target).unwrap_or_default();
            let owner = owner.trim_end().strip_prefix("gitdir: ").map(PathBuf::from);
            if owner.is_some_and(|owner| !owner.exists()) {
                let _ = remove_tree(directory);
            }
            let _ = remove_tree(&entry);
        }
    }

    /// The repository's worktree entries of ours, with the `.git` file each points to.
    fn entries(&self) -> Vec<(PathBuf, PathBuf)> {
        let Ok(list) = fs::read_dir(self.common_dir.join("worktrees")) else {
            return Vec::new();
        };
        list.flatten()
            .filter(|entry| entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()))
            .filter_map(|entry| {
                let target = fs::read_to_string(entry.path().join("gitdir")).unwrap_or_default();
                let target = Path::new(target.trim_end());
                // An entry without a readable target is of no use to anybody.
                let target =
                    if target.as_os_str().is_empty() { self.path.join(".git") } else { target.to_owned() };
                // git 2.48 can write it relative to the entry.
                let target = entry.path().join(target);
                let parent = target.parent()?;
                let real = parent.canonicalize().unwrap_or_else(|_| parent.to_owned());
                Some((entry.path(), real.join(".git")))
            })
            .collect()
    }

    fn in_common_dir(&self) -> Git {
        settings(Git::at(&self.common_dir)).git_dir(&self.common_dir)
    }

    /// Turns off everything that would run or hide something during a checkout.
    fn without_hooks(mut self) -> Result<Self> {
        self.git = settings(self.git);
        // git 2.54 and newer runs hooks of the configuration wherever core.hooksPath points.
        let pattern = r"^hook\..*\.(event|command)$";
        let names = self.in_common_dir().call(["config", "-z", "--name-only", "--get-regexp", pattern]);
        let names = names.text_if_any()?.unwrap_or_default();
        let mut sections: Vec<&str> =
            names.split('\0').filter_map(|key| key.rsplit_once('.')).map(|key| key.0).collect();
        sections.dedup();
        for section in sections {
            self.git = self.git.config(&format!("{section}.enabled"), "false");
        }
        Ok(self)
    }
}

/// The same for every command here.
fn settings(git: Git) -> Git {
    git.scrubbed()
        .config("core.hooksPath", "/dev/null")
        .config("core.sparseCheckout", "false")
        .config("core.sparseCheckoutCone", "false")
        .config("index.sparse", "false")
        .config("core.fsmonitor", "false")
        .config("core.untrackedCache", "false")
        .config("submodule.recurse", "false")
        // Without git-lfs its pointer files stay, and are reported, instead of failing the checkout.
        .config("filter.lfs.required", "false")
        .config("advice.detachedHead", "false")
        .config("gc.auto", "0")
}

/// The part of a directory's name that tells repositories apart: 64 bits of the path's digest.
fn digest(common_dir: &Path) -> String {
    use std::fmt::Write;
    let digest = Sha256::digest(common_dir.as_os_str().as_bytes());
    digest.iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn is_inner_path(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    !path.is_empty()
        && !path.contains(['\n', '\0'])
        && path.split('/').all(|part| !matches!(part, "" | "." | ".." | ".git"))
}

/// A path as a pattern of `git clean -e` that matches nothing but itself.
fn escape_pattern(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for char in path.chars() {
        if matches!(char, '*' | '?' | '[' | ']' | '\\' | '!' | '#' | ' ') {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

/// Removes a directory, also when somebody took the right to write away below it.
fn remove_tree(path: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Ok(kind) if !kind.is_dir() => return fs::remove_file(path),
        _ => {}
    }
    if fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    let mut stack = vec![path.to_owned()];
    while let Some(directory) = stack.pop() {
        let _ = fs::set_permissions(&directory, fs::Permissions::from_mode(0o700));
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        stack.extend(entries.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
    }
    fs::remove_dir_all(path)
}

#[cfg(test)]
mod tests;
