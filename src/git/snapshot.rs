//! The state of the working tree, as far as git sees it: HEAD, what differs from it, and a name for the whole.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::diff::{self, UntrackedKind};
use super::program::Git;
use crate::model::{Oid, Result};

/// The state of a working tree at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// HEAD's commit; `None` before the first one.
    pub commit: Option<Oid>,
    /// The tree that `git add --all && git commit` would have made, without making it.
    pub tree: Option<Oid>,
    /// Whether anything differs from HEAD.
    pub dirty: bool,
    /// The binary diff of tracked files against HEAD.
    pub diff: Vec<u8>,
    /// Regular files that git neither tracks nor ignores: path from the top, size.
    pub untracked: Vec<(String, u64)>,
    /// How many untracked paths were left out: links, devices, other repositories, and those above the limit.
    pub left_out: usize,
}

/// No snapshot names more untracked files than this.
const MAX_UNTRACKED: usize = 200;

/// Larger untracked files do not take part in the name of the tree: hashing them would hold up every run.
const MAX_HASHED: u64 = 64 << 20;

/// Looks at the working tree. Nothing is written to the repository, its index included.
///
/// # Errors
/// git fails.
pub fn take(git: &Git, head: Option<Oid>, head_tree: Option<Oid>) -> Result<Snapshot> {
    let diff = diff::dirty_diff(git)?;
    let list = diff::untracked(git, MAX_UNTRACKED)?;
    let mut untracked = Vec::new();
    let mut left_out = list.more;
    for entry in list.entries {
        match (entry.kind, entry.path.to_str()) {
            (UntrackedKind::File(size), Some(path)) => untracked.push((path.to_owned(), size)),
            _ => left_out += 1,
        }
    }
    let dirty = !diff.is_empty() || !untracked.is_empty() || left_out > 0;
    let heavy: u64 = untracked.iter().map(|(_, size)| size).sum();
    let tree = if !dirty {
        head_tree
    } else if heavy <= MAX_HASHED && list.more == 0 {
        // A name is a convenience (it tells equal states apart from different ones); without it the run still counts.
        name_of(git).ok()
    } else {
        None
    };
    Ok(Snapshot { commit: head, tree, dirty, diff, untracked, left_out })
}

/// The tree of everything in the working tree, through an index and an object store that are thrown away. Of the files
/// only names go there (`--info-only`): what is in them may be secret, and would lie about after a crash.
fn name_of(git: &Git) -> Result<Oid> {
    let scratch = tempfile::tempdir()?;
    let index = scratch.path().join("index");
    let real_index = git.call(["rev-parse", "--path-format=absolute", "--git-path", "index"]).text()?;
    let objects = git.call(["rev-parse", "--path-format=absolute", "--git-path", "objects"]).text()?;
    // The copy carries the file times, so that unchanged files are not read again. It must be as old as the index
    // itself: git reads again what was changed in the second in which the index was written, and only that.
    if Path::new(real_index.trim()).exists() {
        std::fs::copy(real_index.trim(), &index)?;
        let written = std::fs::metadata(real_index.trim())?.modified()?;
        std::fs::File::options().write(true).open(&index)?.set_modified(written)?;
    }
    let store = scratch.path().join("objects");
    std::fs::create_dir(&store)?;
    let aside = git
        .clone()
        .env("GIT_INDEX_FILE", &index)
        .env("GIT_OBJECT_DIRECTORY", &store)
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects.trim());
    // What `git add --all` would look at: changed, deleted and unmerged paths, and those that git does not know.
    let changed =
        ["--modified", "--deleted", "--others", "--exclude-standard", "-z", "--full-name", "--", ":/"];
    let listed = aside.call(["ls-files"]).args(changed).bytes()?;
    // A directory in a file's place is listed by its name, too: what is in it takes that place. Of another repository
    // the name is wanted without its slash.
    let mut paths = Vec::with_capacity(listed.len());
    for path in listed.split(|b| *b == 0).filter(|path| !path.is_empty()) {
        let name = path.strip_suffix(b"/").unwrap_or(path);
        let place = git.directory().join(std::ffi::OsStr::from_bytes(name));
        let is_directory = std::fs::symlink_metadata(&place).is_ok_and(|m| m.is_dir());
        if !is_directory || place.join(".git").exists() {
            paths.extend_from_slice(name);
            paths.push(0);
        }
    }
    aside
        .call(["update-index", "--add", "--remove", "--replace", "--info-only", "-z", "--stdin"])
        .stdin(paths)
        .writes()
        .run()?;
    let tree = aside.call(["write-tree", "--missing-ok"]).writes().text()?;
    Oid::parse(tree.trim()).ok_or_else(|| crate::model::Error::bug("git write-tree printed no object id"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The name is the one of the tree that `git add --all` makes, and no file's content is left anywhere.
    #[test]
    fn the_tree_is_named_as_git_add_would() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path();
        let git = Git::at(top)
            .scrubbed()
            .config("user.name", "Ada")
            .config("user.email", "ada@example.org")
            .config("core.autocrlf", "input");
        git.call(["init", "-q"]).writes().run().unwrap();
        for (path, text) in [("kept", "kept\n"), ("changed", "old\n"), ("gone", "x\n"), ("turned", "file\n")]
        {
            fs::write(top.join(path), text).unwrap();
        }
        fs::write(top.join(".gitignore"), "ignored\n").unwrap();
        git.call(["add", "--all"]).writes().run().unwrap();
        git.call(["commit", "-q", "-m", "first"]).writes().run().unwrap();
        fs::write(top.join("changed"), "new\r\n").unwrap();
        fs::remove_file(top.join("gone")).unwrap();
        fs::remove_file(top.join("turned")).unwrap();
        fs::create_dir(top.join("turned")).unwrap();
        fs::write(top.join("turned/inside"), "now a directory\n").unwrap();
        fs::write(top.join("ignored"), "not this\n").unwrap();
        fs::write(top.join("a\nb"), "odd name\n").unwrap();
        std::os::unix::fs::symlink("kept", top.join("link")).unwrap();
        let named = name_of(&git).unwrap();
        let before = git.call(["count-objects"]).text().unwrap();
        assert_eq!(name_of(&git).unwrap(), named);
        assert_eq!(git.call(["count-objects"]).text().unwrap(), before, "looking wrote something");
        git.call(["add", "--all"]).writes().run().unwrap();
        assert_eq!(git.call(["write-tree"]).writes().text().unwrap().trim(), named.as_str());
    }
}
