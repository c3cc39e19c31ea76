//! A close look at notes trees, for `fsck`: every entry as it stands, sizes before bytes, and taking out what is no note.
//!
//! Everything here is meant for trees that a stranger may have made: nothing is fetched, nothing large is read whole,
//! and no walk is longer than [`MAX_ENTRIES`].

use std::io::Read;
use std::process::{Command, Stdio};

use git2::{ObjectType, OdbLookupFlags, Tree};
use sha2::{Digest, Sha256};

use super::Repo;
use super::repo::to_git;
use crate::model::{Error, Oid, Result, canonical};

/// No ledger has as many notes. Without a limit a few kilobytes of trees that name one another unfold to a walk
/// that never ends.
pub const MAX_ENTRIES: usize = 4_000_000;

/// A larger blob is read in pieces, by the `git` program.
const IN_PIECES: u64 = 16 << 20;

/// One entry of a notes tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A note.
    Note {
        /// Its key.
        key: git2::Oid,
        /// How many directories lead to it; 1 is fan-out 2/38.
        depth: usize,
        /// Its mode as it stands in the tree.
        mode: i32,
        /// What it names.
        blob: git2::Oid,
    },
    /// Anything else.
    Foreign {
        /// Its path.
        path: Vec<u8>,
        /// Its mode as it stands in the tree.
        mode: i32,
        /// What it names.
        object: git2::Oid,
    },
    /// A directory of notes that is not here.
    Missing {
        /// Its path.
        path: Vec<u8>,
    },
}

/// Shows every entry of a notes tree. Says whether it came to the end: `false` after [`MAX_ENTRIES`].
///
/// # Errors
/// Whatever `each` refuses.
pub fn walk(repo: &Repo, tree: &Tree<'_>, each: &mut dyn FnMut(Entry) -> Result<()>) -> Result<bool> {
    let mut left = MAX_ENTRIES;
    below(repo, tree, &mut Vec::with_capacity(64), 0, &mut left, each)
}

fn below(
    repo: &Repo,
    tree: &Tree<'_>,
    path: &mut Vec<u8>,
    depth: usize,
    left: &mut usize,
    each: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<bool> {
    for entry in tree {
        if *left == 0 {
            return Ok(false);
        }
        *left -= 1;
        let name = entry.name_bytes();
        let length = path.len();
        path.extend_from_slice(name);
        let hex = !name.is_empty() && name.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b));
        // Each directory above put a slash into the path.
        let digits = path.len() - depth;
        let fan = hex && name.len() == 2 && digits < 40;
        let mut whole = true;
        match entry.kind() {
            Some(ObjectType::Tree) if fan => match repo.raw().find_tree(entry.id()) {
                Ok(child) => {
                    path.push(b'/');
                    whole = below(repo, &child, path, depth + 1, left, each)?;
                }
                Err(_) => each(Entry::Missing { path: path.clone() })?,
            },
            Some(ObjectType::Blob) if hex && digits == 40 => {
                let key: Vec<u8> = path.iter().copied().filter(|b| *b != b'/').collect();
                let key = std::str::from_utf8(&key).ok().and_then(|k| git2::Oid::from_str(k).ok());
                let key = key.ok_or_else(|| Error::bug("forty hexadecimal digits are no key"))?;
                each(Entry::Note { key, depth, mode: entry.filemode_raw(), blob: entry.id() })?;
            }
            _ => each(Entry::Foreign { path: path.clone(), mode: entry.filemode_raw(), object: entry.id() })?,
        }
        path.truncate(length);
        if !whole {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What the object database says of an object without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// A blob of so many bytes.
    Blob(u64),
    /// An object of another kind.
    Other(&'static str),
    /// It is not here.
    Missing,
    /// It is here and cannot be read, for this reason.
    Damaged(String),
}

/// Looks at objects without reading or fetching them.
pub struct Objects<'r>(git2::Odb<'r>);

impl<'r> Objects<'r> {
    /// Of a repository.
    ///
    /// # Errors
    /// The object database cannot be opened.
    pub fn of(repo: &'r Repo) -> Result<Self> {
        repo.raw()
            .odb()
            .map(Self)
            .map_err(|e| Error::refused("the object database cannot be opened").because(e.message()))
    }

    /// What is known of an object.
    pub fn look(&self, id: git2::Oid) -> Stored {
        // Without a refresh: looking for new packs once for each of a million missing objects takes hours.
        if !self.0.exists_ext(id, OdbLookupFlags::NO_REFRESH) {
            return Stored::Missing;
        }
        match self.0.read_header(id) {
            Ok((size, ObjectType::Blob)) => Stored::Blob(size as u64),
            Ok((_, kind)) => Stored::Other(kind.str()),
            Err(e) => Stored::Damaged(e.message().to_owned()),
        }
    }
}

/// SHA-256 of a blob, and how many bytes it has. Large ones are never in memory whole.
///
/// # Errors
/// The blob is not here or cannot be read.
pub fn digest(repo: &Repo, blob: &Oid, size: u64) -> Result<(String, u64)> {
    if size <= IN_PIECES {
        let found = repo
            .raw()
            .find_blob(to_git(blob)?)
            .map_err(|e| Error::refused(format!("the object {blob} cannot be read")).because(e.message()))?;
        let bytes = found.content();
        return Ok((canonical::sha256_hex(bytes), bytes.len() as u64));
    }
    let mut child = Command::new("git")
        .arg("--git-dir")
        .arg(repo.git_dir())
        .args(["cat-file", "blob", blob.as_str()])
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| Error::refused("git cannot be started").because(e).hint("put git on your PATH"))?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    if let Some(mut output) = child.stdout.take() {
        let mut piece = vec![0; 1 << 16];
        loop {
            let read = output.read(&mut piece)?;
            if read == 0 {
                break;
            }
            hash.update(&piece[..read]);
            bytes += read as u64;
        }
    }
    if !child.wait()?.success() {
        return Err(
            Error::refused(format!("the object {blob} cannot be read")).hint("check it with: git fsck")
        );
    }
    Ok((canonical::hex(&hash.finalize()), bytes))
}

/// The tree without some paths. Directories that become empty go too.
///
/// # Errors
/// A tree cannot be read or written.
pub fn without(repo: &Repo, tree: &Tree<'_>, mut paths: Vec<Vec<u8>>) -> Result<Oid> {
    paths.sort_unstable();
    paths.dedup();
    let paths: Vec<Vec<&[u8]>> = paths.iter().map(|p| p.split(|b| *b == b'/').collect()).collect();
    let paths: Vec<&[&[u8]]> = paths.iter().map(Vec::as_slice).collect();
    let (id, _) = strip(repo, tree, &paths)?;
    Ok(super::repo::from_git(id))
}

fn strip(repo: &Repo, tree: &Tree<'_>, paths: &[&[&[u8]]]) -> Result<(git2::Oid, bool)> {
    let cannot = |e: git2::Error| Error::refused("a notes tree cannot be written").because(e.message());
    let mut builder = repo.raw().treebuilder(Some(tree)).map_err(cannot)?;
    let mut rest = paths;
    while let Some(first) = rest.first() {
        let Some(name) = first.first() else { break };
        let count = rest.iter().take_while(|p| p.first() == Some(name)).count();
        let (group, others) = rest.split_at(count);
        rest = others;
        let child = tree.iter().find(|e| e.name_bytes() == *name).map(|e| (e.id(), e.kind()));
        let Some((id, kind)) = child else { continue };
        if group.iter().any(|p| p.len() == 1) {
            builder.remove(*name).map_err(cannot)?;
        } else if kind == Some(ObjectType::Tree) {
            let child = repo.raw().find_tree(id).map_err(cannot)?;
            let tails: Vec<&[&[u8]]> = group.iter().map(|p| &p[1..]).collect();
            let (written, empty) = strip(repo, &child, &tails)?;
            if empty {
                builder.remove(*name).map_err(cannot)?;
            } else {
                builder.insert(*name, written, 0o040_000).map_err(cannot)?;
            }
        }
    }
    let empty = builder.is_empty();
    builder.write().map(|id| (id, empty)).map_err(cannot)
}

/// Writes a flat tree of named objects of any kind; those that are not here are left out.
///
/// # Errors
/// The tree cannot be written.
pub fn shelf(repo: &Repo, entries: &[(String, git2::Oid, i32)]) -> Result<Oid> {
    let cannot = |e: git2::Error| Error::refused("a tree cannot be written").because(e.message());
    let objects = Objects::of(repo)?;
    let mut builder = repo.raw().treebuilder(None).map_err(cannot)?;
    for (name, id, mode) in entries {
        let mode = match objects.look(*id) {
            Stored::Blob(_) => 0o100_644,
            Stored::Other("tree") => 0o040_000,
            // A link to a commit of some other repository needs no object here.
            _ if *mode == 0o160_000 => 0o160_000,
            _ => continue,
        };
        builder.insert(name, *id, mode).map_err(cannot)?;
    }
    builder.write().map(super::repo::from_git).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::repo::from_git;

    fn scene() -> (tempfile::TempDir, Repo) {
        let directory = tempfile::tempdir().unwrap();
        git2::Repository::init(directory.path()).unwrap();
        let repo = Repo::open(directory.path()).unwrap();
        (directory, repo)
    }

    fn entries(repo: &Repo, tree: git2::Oid) -> (Vec<Entry>, bool) {
        let mut all = Vec::new();
        let tree = repo.raw().find_tree(tree).unwrap();
        let whole = walk(repo, &tree, &mut |e| {
            all.push(e);
            Ok(())
        })
        .unwrap();
        (all, whole)
    }

    #[test]
    fn every_entry_is_seen_as_what_it_is_and_can_be_taken_out() {
        let (_directory, repo) = scene();
        let raw = repo.raw();
        let blob = raw.blob(b"x").unwrap();
        let key = "12345678901234567890123456789012345678ab";
        let mut inner = raw.treebuilder(None).unwrap();
        inner.insert(&key[2..], blob, 0o100_755).unwrap();
        inner.insert("odd", blob, 0o100_644).unwrap();
        let inner = inner.write().unwrap();
        let mut root = raw.treebuilder(None).unwrap();
        root.insert("12", inner, 0o040_000).unwrap();
        root.insert(key, blob, 0o100_644).unwrap();
        root.insert("README", blob, 0o100_644).unwrap();
        root.insert("docs", inner, 0o040_000).unwrap();
        let root = root.write().unwrap();
        let (all, whole) = entries(&repo, root);
        assert!(whole);
        let id = git2::Oid::from_str(key).unwrap();
        for wanted in [
            Entry::Note { key: id, depth: 1, mode: 0o100_755, blob },
            Entry::Note { key: id, depth: 0, mode: 0o100_644, blob },
            Entry::Foreign { path: b"12/odd".to_vec(), mode: 0o100_644, object: blob },
            Entry::Foreign { path: b"README".to_vec(), mode: 0o100_644, object: blob },
            Entry::Foreign { path: b"docs".to_vec(), mode: 0o040_000, object: inner },
        ] {
            assert!(all.contains(&wanted), "{wanted:?} is not in {all:?}");
        }
        assert_eq!(all.len(), 5);
        let tree = raw.find_tree(root).unwrap();
        let paths = vec![b"12/odd".to_vec(), b"README".to_vec(), b"docs".to_vec(), b"none/x".to_vec()];
        let left = without(&repo, &tree, paths).unwrap();
        assert_eq!(entries(&repo, to_git(&left).unwrap()).0.len(), 2);
        let all = vec![format!("12/{}", &key[2..]).into_bytes(), b"12/odd".to_vec(), key.into()];
        let left = without(&repo, &tree, all).unwrap();
        assert_eq!(entries(&repo, to_git(&left).unwrap()).0.len(), 2, "an empty directory stayed");
    }

    #[test]
    fn a_bomb_of_trees_ends_and_a_hole_is_named() {
        let (_directory, repo) = scene();
        let raw = repo.raw();
        let blob = raw.blob(b"x").unwrap();
        let mut tree = raw.treebuilder(None).unwrap();
        for n in 0..=255_u8 {
            tree.insert(format!("{n:02x}"), blob, 0o100_644).unwrap();
        }
        let mut id = tree.write().unwrap();
        for _ in 0..19 {
            let mut tree = raw.treebuilder(None).unwrap();
            for n in 0..=255_u8 {
                tree.insert(format!("{n:02x}"), id, 0o040_000).unwrap();
            }
            id = tree.write().unwrap();
        }
        let tree = raw.find_tree(id).unwrap();
        let mut seen = 0;
        assert!(
            !walk(&repo, &tree, &mut |_| {
                seen += 1;
                Ok(())
            })
            .unwrap()
        );
        assert!(seen <= MAX_ENTRIES);
    }

    #[test]
    fn sizes_kinds_and_digests_are_told_without_reading_much() {
        let (_directory, repo) = scene();
        let large = vec![7_u8; (IN_PIECES + 5) as usize];
        let (small, large_id) = (repo.write_blob(b"abc").unwrap(), repo.write_blob(&large).unwrap());
        let objects = Objects::of(&repo).unwrap();
        assert_eq!(objects.look(to_git(&small).unwrap()), Stored::Blob(3));
        assert_eq!(objects.look(git2::Oid::from_str(&"1".repeat(40)).unwrap()), Stored::Missing);
        let tree = repo.raw().treebuilder(None).unwrap().write().unwrap();
        assert_eq!(objects.look(tree), Stored::Other("tree"));
        for (id, bytes) in [(&small, &b"abc"[..]), (&large_id, &large[..])] {
            let told = digest(&repo, id, bytes.len() as u64).unwrap();
            assert_eq!(told, (canonical::sha256_hex(bytes), bytes.len() as u64));
        }
        assert!(digest(&repo, &from_git(tree), IN_PIECES + 1).is_err());
    }
}
