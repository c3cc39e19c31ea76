//! Taking objects out of the object store for good.
//!
//! git has no command that removes one object. A loose one is a file; a packed one goes when the packs that hold it
//! are written anew without it. What a ref, a reflog or an index still reaches is left alone, and so is every other
//! unreachable object: somebody may want it back.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Repo, bulk};
use crate::model::{Error, Oid, Result};

/// Larger blobs are read by no search: no ledger note grows to this, and evidence is known by its name.
const MOST_BYTES: u64 = 64 << 20;

/// No line of an event is shorter.
const LEAST_BYTES: u64 = 200;

/// What was removed, and what could not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removal {
    /// How many objects are gone.
    pub removed: usize,
    /// How many packs were written anew.
    pub packs: usize,
    /// Objects that some other ref, reflog or index reaches.
    pub reachable: Vec<Oid>,
    /// Objects in packs with a `.keep` file, or in the store of another repository that this one borrows from.
    pub out_of_reach: Vec<Oid>,
}

/// `git` on this repository's objects alone: nothing fetched, nothing replaced.
fn git(repo: &Repo, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .arg("--git-dir")
        .arg(repo.git_dir())
        .args(arguments)
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Hands over each line that a `git` prints; says whether git ended well.
fn lines(mut command: Command, mut each: impl FnMut(&str)) -> Result<bool> {
    let mut child = command
        .spawn()
        .map_err(|e| Error::refused("git cannot be started").because(e).hint("put git on your PATH"))?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::with_capacity(1 << 16, output).lines() {
            each(&line?);
        }
    }
    Ok(child.wait()?.success())
}

/// Hands over every blob of the object store, reachable or not, that may hold an event. Returns those that cannot be
/// read.
///
/// # Errors
/// The object store cannot be read.
pub fn each_blob(repo: &Repo, mut each: impl FnMut(&Oid, &[u8])) -> Result<Vec<Oid>> {
    let mut blobs = Vec::new();
    let format = "--batch-check=%(objectname) %(objecttype) %(objectsize)";
    let well = lines(git(repo, &["cat-file", "--batch-all-objects", "--unordered", format]), |line| {
        let mut words = line.split(' ');
        let (name, kind, size) = (words.next(), words.next(), words.next());
        let size = size.and_then(|s| s.parse::<u64>().ok()).unwrap_or(0);
        if kind == Some("blob")
            && (LEAST_BYTES..=MOST_BYTES).contains(&size)
            && let Some(oid) = name.and_then(Oid::parse)
        {
            blobs.push(oid);
        }
    })?;
    if !well {
        return Err(unreadable());
    }
    read_in_parts(repo, &blobs, &mut each)
}

fn unreadable() -> Error {
    Error::refused("the objects of this repository cannot all be listed").hint("check it with: git fsck")
}

fn read_in_parts(repo: &Repo, blobs: &[Oid], each: &mut impl FnMut(&Oid, &[u8])) -> Result<Vec<Oid>> {
    let mut damaged = Vec::new();
    for part in blobs.chunks(100_000) {
        bulk::read_blobs(repo, part, |i, bytes| {
            // A damaged one shows nothing, and must not keep the others from being searched.
            match bytes {
                Ok(bytes) => each(&part[i], &bytes),
                Err(_) => damaged.push(part[i].clone()),
            }
            Ok(())
        })?;
    }
    Ok(damaged)
}

/// Names of all objects below some commits that are not below others, as far as they are here.
///
/// # Errors
/// The history cannot be walked.
pub fn objects_below(repo: &Repo, tips: &[&Oid], not: &[&Oid]) -> Result<Vec<Oid>> {
    if tips.is_empty() {
        return Ok(Vec::new());
    }
    let mut command = git(repo, &["rev-list", "--objects", "--no-object-names", "--missing=allow-any"]);
    command.args(tips.iter().map(|o| o.as_str())).arg("--not").args(not.iter().map(|o| o.as_str()));
    let mut found = Vec::new();
    if lines(command, |line| found.extend(Oid::parse(line)))? { Ok(found) } else { Err(unreadable()) }
}

/// Reads those of the objects that are blobs of this store.
///
/// # Errors
/// The object store cannot be read.
pub fn read_those_here(repo: &Repo, oids: &[Oid], mut each: impl FnMut(&Oid, &[u8])) -> Result<()> {
    let odb = repo.raw().odb().map_err(|_| unreadable())?;
    let blobs: Vec<Oid> = oids
        .iter()
        .filter(|oid| {
            super::repo::to_git(oid)
                .and_then(|id| odb.read_header(id).map_err(|_| unreadable()))
                .is_ok_and(|(size, kind)| kind == git2::ObjectType::Blob && size as u64 <= MOST_BYTES)
        })
        .cloned()
        .collect();
    read_in_parts(repo, &blobs, &mut each).map(drop)
}

/// Removes objects that nothing reaches.
///
/// # Errors
/// Reachability cannot be told, and then nothing is removed; a pack cannot be written anew.
#[expect(clippy::implicit_hasher, reason = "one caller, one hasher")]
pub fn remove(repo: &Repo, objects: &HashSet<Oid>) -> Result<Removal> {
    let mut removal = Removal::default();
    if objects.is_empty() {
        return Ok(removal);
    }
    let mut wanted = objects.clone();
    let roots = ["--all", "--reflog", "--indexed-objects"];
    let options = ["rev-list", "--objects", "--no-object-names", "--missing=allow-any"];
    let well = lines(git(repo, &[&options[..], &roots[..]].concat()), |line| {
        if let Some(oid) = Oid::parse(line)
            && wanted.remove(&oid)
        {
            removal.reachable.push(oid);
        }
    })?;
    if !well {
        return Err(unreadable());
    }
    let store = repo.common_dir().join("objects");
    let mut gone: HashSet<Oid> = HashSet::new();
    for oid in &wanted {
        if fs::remove_file(store.join(&oid.as_str()[..2]).join(&oid.as_str()[2..])).is_ok() {
            gone.insert(oid.clone());
        }
    }
    for index in pack_indexes(&store) {
        rewrite_pack(repo, &index, &wanted, &mut gone, &mut removal)?;
    }
    repo.refresh();
    removal.out_of_reach = still_here(repo, &wanted)?;
    removal.out_of_reach.sort_unstable();
    removal.removed = gone.iter().filter(|o| !removal.out_of_reach.contains(o)).count();
    removal.reachable.sort_unstable();
    if store.join("info/commit-graph").exists() || store.join("info/commit-graphs").exists() {
        // A graph that names commits that are gone would only confuse.
        let _ = git(repo, &["commit-graph", "write", "--reachable", "--split=replace"]).status();
    }
    Ok(removal)
}

/// Those of the objects that git still finds. (libgit2 remembers packs that it has open.)
fn still_here(repo: &Repo, objects: &HashSet<Oid>) -> Result<Vec<Oid>> {
    let names: String = objects.iter().flat_map(|o| [o.as_str(), "\n"]).collect();
    let text = super::program::Git::at(repo.git_dir())
        .git_dir(repo.git_dir())
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .call(["cat-file", "--batch-check"])
        .stdin(names)
        .text()?;
    Ok(text
        .lines()
        .filter(|l| !l.ends_with(" missing"))
        .filter_map(|l| Oid::parse(l.split(' ').next()?))
        .collect())
}

fn pack_indexes(store: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(store.join("pack")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|x| x == "idx")).collect();
    found.sort_unstable();
    found
}

/// Writes a pack anew without some of its objects, if it holds any of them.
fn rewrite_pack(
    repo: &Repo,
    index: &Path,
    unwanted: &HashSet<Oid>,
    gone: &mut HashSet<Oid>,
    removal: &mut Removal,
) -> Result<()> {
    let mut command = git(repo, &["show-index"]);
    command.stdin(fs::File::open(index)?);
    let mut rest = String::new();
    let mut hit: Vec<Oid> = Vec::new();
    let well = lines(command, |line| {
        // `<offset> <name> (<crc>)`
        if let Some(oid) = line.split(' ').nth(1).and_then(Oid::parse) {
            if unwanted.contains(&oid) {
                hit.push(oid);
            } else {
                rest.push_str(oid.as_str());
                rest.push('\n');
            }
        }
    })?;
    if !well {
        return Err(unreadable());
    }
    if hit.is_empty() {
        return Ok(());
    }
    if index.with_extension("keep").exists() {
        return Ok(());
    }
    if !rest.is_empty() {
        let base = index.with_file_name("pack");
        let promisor = index.with_extension("promisor");
        let output = super::program::Git::at(repo.git_dir())
            .git_dir(repo.git_dir())
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .call(["pack-objects", "--quiet"])
            .arg(&base)
            .stdin(rest)
            .writes()
            .text()
            .map_err(|e| e.while_doing("a pack cannot be written anew"))?;
        let name = output.lines().last().unwrap_or_default();
        let new = index.with_file_name(format!("pack-{name}.idx"));
        if Oid::parse(name).is_none() || !new.exists() {
            return Err(Error::bug("git pack-objects wrote no pack").because(output));
        }
        if promisor.exists() {
            fs::copy(&promisor, new.with_extension("promisor"))?;
        }
    }
    // It would name packs that are gone; git does without.
    let folder = index.parent().unwrap_or(index);
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("multi-pack-index") {
            let path = entry.path();
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
    // The index first: nobody finds a pack without one.
    fs::remove_file(index)?;
    for part in ["pack", "rev", "bitmap", "mtimes", "promisor"] {
        let _ = fs::remove_file(index.with_extension(part));
    }
    gone.extend(hit);
    removal.packs += 1;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::program::Git;

    fn scene() -> (tempfile::TempDir, Git, Repo) {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::at(directory.path())
            .scrubbed()
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .config("user.name", "A")
            .config("user.email", "a@example.org");
        git.call(["init", "-q", "-b", "main"]).run().unwrap();
        std::fs::write(directory.path().join("tracked"), "in a commit\n").unwrap();
        git.call(["add", "."]).run().unwrap();
        git.call(["commit", "-q", "-m", "first"]).run().unwrap();
        let repo = Repo::open(directory.path()).unwrap();
        (directory, git, repo)
    }

    fn everything(git: &Git) -> Vec<String> {
        let all =
            git.call(["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]).text().unwrap();
        all.lines().map(str::to_owned).collect()
    }

    #[test]
    fn takes_out_what_is_named_loose_or_packed_and_nothing_else() {
        let (_directory, git, repo) = scene();
        let similar = "a line that both share\n".repeat(50);
        let packed = repo.write_blob(format!("{similar}packed secret").as_bytes()).unwrap();
        let other =
            repo.write_blob(format!("{similar}unreachable, and dear to somebody").as_bytes()).unwrap();
        let names = format!("{packed}\n{other}\n");
        let base = repo.common_dir().join("objects/pack/pack");
        git.call(["pack-objects", "-q"]).arg(&base).stdin(names).run().unwrap();
        git.call(["prune-packed", "-q"]).run().unwrap();
        let loose = repo.write_blob(b"loose secret").unwrap();
        let tracked = Repo::blob_name(b"in a commit\n").unwrap();
        let before = everything(&git);
        let wanted: HashSet<Oid> = [packed.clone(), loose.clone(), tracked.clone()].into();
        let removal = remove(&repo, &wanted).unwrap();
        assert_eq!((removal.removed, removal.packs), (2, 1));
        assert_eq!(removal.reachable, [tracked]);
        let after = everything(&git);
        assert_eq!(after.len(), before.len() - 2);
        assert!(!after.contains(&packed.to_string()) && !after.contains(&loose.to_string()));
        assert!(after.contains(&other.to_string()));
        git.call(["fsck", "--strict"]).run().unwrap();
        assert_eq!(remove(&repo, &wanted).unwrap().removed, 0);
    }

    #[test]
    fn a_kept_pack_is_out_of_reach_and_said_to_be() {
        let (_directory, git, repo) = scene();
        let secret = repo.write_blob(b"secret").unwrap();
        let base = repo.common_dir().join("objects/pack/pack");
        let name = git.call(["pack-objects", "-q"]).arg(&base).stdin(format!("{secret}\n")).text().unwrap();
        git.call(["prune-packed", "-q"]).run().unwrap();
        std::fs::write(repo.common_dir().join(format!("objects/pack/pack-{name}.keep")), "").unwrap();
        let removal = remove(&repo, &[secret.clone()].into()).unwrap();
        assert_eq!((removal.removed, removal.out_of_reach), (0, vec![secret]));
    }
}
