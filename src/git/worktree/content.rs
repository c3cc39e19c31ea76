//! What `git worktree add` leaves out: submodules, and files that git-lfs keeps elsewhere.
//!
//! Submodules are filled from the clones that the repository already has, never from the network.
//! `git submodule update` would write into the user's configuration and clone each module again, so
//! a small repository that borrows the objects is made instead.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::git::program::Git;
use crate::model::Result;

/// How deep submodules may nest.
const DEPTH: usize = 8;
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// Fills the submodules of the checkout at `tree` from the clones in `modules`; returns what could
/// not be filled.
pub(super) fn populate_submodules(git: &Git, tree: &Path, modules: &Path) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    populate(git, tree, modules, Path::new(""), DEPTH, &mut missing)?;
    if missing.is_empty() {
        return Ok(missing);
    }
    Ok(vec![format!("submodules missing: {}", missing.join(", "))])
}

fn populate(
    git: &Git,
    tree: &Path,
    modules: &Path,
    prefix: &Path,
    depth: usize,
    missing: &mut Vec<String>,
) -> Result<()> {
    let git = git.in_directory(tree);
    let links = gitlinks(&git)?;
    if links.is_empty() {
        return Ok(());
    }
    let names = names_by_path(&git)?;
    for (path, oid) in links {
        let shown = prefix.join(&path);
        let source = names.get(&path).filter(|name| is_inner(name)).map(|name| modules.join(name));
        let there = match source {
            Some(source) if depth > 0 && source.is_dir() => {
                fill(&git, &tree.join(&path), &source, &oid)?.then_some(source)
            }
            _ => None,
        };
        match there {
            Some(source) => {
                populate(&git, &tree.join(&path), &source.join("modules"), &shown, depth - 1, missing)?;
            }
            None => missing.push(shown.display().to_string()),
        }
    }
    Ok(())
}

/// Checks one submodule out; false when its commit is not in the clone.
fn fill(git: &Git, target: &Path, source: &Path, oid: &str) -> Result<bool> {
    let clone = git.in_directory(source).git_dir(source);
    let has = clone.call(["cat-file", "-e", &format!("{oid}^{{commit}}")]).env("GIT_NO_LAZY_FETCH", "1");
    if !has.output()?.success() {
        return Ok(false);
    }
    let inner = target.join(".git");
    let borrowed = inner.join("objects/info/alternates");
    let objects = source.join("objects").into_os_string();
    let line = [objects.as_bytes(), b"\n"].concat();
    let is_directory = |path: &Path| fs::symlink_metadata(path).is_ok_and(|kind| kind.is_dir());
    let ours = is_directory(target) && is_directory(&inner);
    if !ours || fs::read(&borrowed).ok().as_deref() != Some(&line) {
        super::remove_tree(target)?;
        fs::create_dir_all(target)?;
        let format = clone.call(["rev-parse", "--show-object-format"]).text()?;
        git.in_directory(target)
            .call(["init", "--quiet", "--template=", &format!("--object-format={format}")])
            .writes()
            .run()?;
        fs::create_dir_all(inner.join("objects/info"))?;
        fs::write(&borrowed, &line)?;
    }
    // A shallow clone's history ends where its own list says so.
    let shallow = source.join("shallow");
    if shallow.exists() {
        fs::copy(&shallow, inner.join("shallow"))?;
    }
    let _ = fs::remove_file(inner.join("index.lock"));
    let git = git.in_directory(target);
    forget_hidden_changes(&git, &inner)?;
    let done = git.call(["checkout", "--detach", "--force", "--quiet", oid]).writes().output()?.success();
    Ok(done && git.call(["clean", "-ffdxq"]).writes().output()?.success())
}

/// Drops the index when an entry is marked `skip-worktree`: a checkout would keep whatever a command
/// of an earlier run wrote to such a file.
pub(super) fn forget_hidden_changes(git: &Git, git_dir: &Path) -> Result<()> {
    let tags = git.call(["ls-files", "-t", "-z"]).bytes()?;
    if tags.split(|byte| *byte == 0).any(|entry| entry.starts_with(b"S ")) {
        fs::remove_file(git_dir.join("index"))?;
    }
    Ok(())
}

/// The submodules of the checked-out commit: path and wanted commit.
fn gitlinks(git: &Git) -> Result<Vec<(PathBuf, String)>> {
    let bytes = git.call(["ls-files", "--stage", "-z"]).bytes()?;
    let link = |entry: &[u8]| {
        let rest = entry.strip_prefix(b"160000 ")?;
        let tab = rest.iter().position(|byte| *byte == b'\t')?;
        let oid = String::from_utf8_lossy(&rest[..tab]).split(' ').next()?.to_owned();
        Some((PathBuf::from(OsStr::from_bytes(&rest[tab + 1..])), oid))
    };
    Ok(bytes.split(|byte| *byte == 0).filter_map(link).collect())
}

/// What `.gitmodules` of the checked-out commit calls each path.
fn names_by_path(git: &Git) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let call =
        git.call(["config", "--blob", "HEAD:.gitmodules", "-z", "--get-regexp", r"^submodule\..*\.path$"]);
    // No such file, or one that git cannot read: then no path has a name.
    let output = call.output()?;
    let entries = output.stdout.split(|byte| *byte == 0).filter_map(|entry| {
        let end = entry.iter().position(|byte| *byte == b'\n')?;
        let name = entry[..end].strip_prefix(b"submodule.")?.strip_suffix(b".path")?;
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        Some((path(&entry[end + 1..]), path(name)))
    });
    Ok(entries.collect())
}

/// Whether a name from `.gitmodules` stays below the directory of the modules.
fn is_inner(name: &Path) -> bool {
    !name.as_os_str().is_empty() && name.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Files that should have been replaced by what git-lfs keeps, and were not.
pub(super) fn unfetched_lfs_files(git: &Git, tree: &Path) -> Result<Vec<String>> {
    let files = git.call(["ls-files", "-z", "--", ":(attr:filter=lfs)"]).bytes()?;
    let is_pointer = |name: &&[u8]| {
        let mut head = [0; POINTER.len()];
        let path = tree.join(OsStr::from_bytes(name));
        fs::symlink_metadata(&path).is_ok_and(|kind| kind.is_file())
            && fs::File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
            && head == POINTER
    };
    let names = files.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let pointers: Vec<String> =
        names.filter(is_pointer).map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    Ok(match pointers.as_slice() {
        [] => Vec::new(),
        [first] => vec![format!("git-lfs content missing: {first}")],
        [first, rest @ ..] => vec![format!("git-lfs content missing: {first} and {} more", rest.len())],
    })
}
