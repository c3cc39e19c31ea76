//! Notes trees: a map from object ids to blobs, written as trees at fan-out 2/38.
//!
//! git writes notes at whatever fan-out it likes, so every depth is read; we write one depth, because libgit2's
//! own `git_note_create` never fans out (270 ms a note at 100,000) and `git notes merge` aborts on a key that
//! stands at two depths.

use git2::{ObjectType, Tree};

use super::Repo;
use super::repo::{from_git, to_git};
use crate::model::{Error, Oid, Result};

/// So many entries are looked at in one tree of notes. Ten trees that each name one other 256 times would otherwise
/// be more paths than anything can hold.
const MOST_ENTRIES: usize = 1 << 20;

/// What is left of [`MOST_ENTRIES`].
struct Budget(usize);

impl Budget {
    fn new() -> Self {
        Self(MOST_ENTRIES)
    }

    fn spend(&mut self) -> Result<()> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| {
            Error::refused(format!("a tree of notes has more than {MOST_ENTRIES} entries"))
                .because("no ledger of ours comes near that: somebody made it so that it cannot be read")
                .hint(
                    "see who changed it last: git log -1 refs/notes/incidents refs/notes/incidents-evidence",
                )
        })?;
        Ok(())
    }
}

const FILE: i32 = 0o100_644;
const TREE: i32 = 0o040_000;

/// The tree of a notes commit.
///
/// # Errors
/// The commit or its tree is not here.
pub fn tree_of<'r>(repo: &'r Repo, commit: &Oid) -> Result<Tree<'r>> {
    let commit_id = to_git(commit)?;
    repo.raw().find_commit(commit_id).and_then(|c| c.tree()).map_err(|e| {
        if let Ok(object) = repo.raw().find_object(commit_id, None)
            && let Some(kind) = object.kind().filter(|k| *k != ObjectType::Commit)
        {
            return Error::refused(format!("a ref of the ledgers points at a {kind}, not at notes"))
                .because(format!("{} is a {kind}", commit.as_str()))
                .hint("see where each points: git for-each-ref refs/notes refs/incident")
                .hint("then take the wrong one away: git update-ref -d REF");
        }
        Error::refused(format!("the notes commit {} cannot be read", commit.short()))
            .because(e.message())
            .hint("check the repository with: git fsck")
    })
}

/// The blobs noted under a key: one, unless the key stands at several depths.
///
/// # Errors
/// A tree on the way is not here.
pub fn lookup(repo: &Repo, tree: &Tree<'_>, key: &Oid) -> Result<Vec<Oid>> {
    let mut found = Vec::new();
    lookup_below(repo, tree, key.as_str(), &mut found)?;
    Ok(found)
}

fn lookup_below(repo: &Repo, tree: &Tree<'_>, rest: &str, found: &mut Vec<Oid>) -> Result<()> {
    if let Some(entry) = tree.get_name(rest)
        && entry.kind() == Some(ObjectType::Blob)
    {
        found.push(from_git(entry.id()));
    }
    if rest.len() > 2
        && let Some(entry) = tree.get_name(&rest[..2])
        && entry.kind() == Some(ObjectType::Tree)
    {
        lookup_below(repo, &subtree(repo, entry.id())?, &rest[2..], found)?;
    }
    Ok(())
}

fn subtree(repo: &Repo, id: git2::Oid) -> Result<Tree<'_>> {
    repo.raw().find_tree(id).map_err(|e| {
        Error::refused(format!("a tree of the notes, {id}, is not here"))
            .because(e.message())
            .hint("check the repository with: git fsck")
    })
}

/// All keys with their blobs; what is no note (another path) is left out. A key at several depths comes several times.
///
/// # Errors
/// A tree is not here.
pub fn entries(repo: &Repo, tree: &Tree<'_>) -> Result<Vec<(Oid, Oid)>> {
    let mut all = Vec::new();
    collect(repo, tree, &mut String::with_capacity(64), &mut all, &mut Budget::new())?;
    Ok(all)
}

/// Whether a tree of notes can be walked with what is allowed for that.
pub fn is_bearable(repo: &Repo, tree: &Tree<'_>) -> bool {
    fn walk(repo: &Repo, tree: &Tree<'_>, depth: usize, budget: &mut Budget) -> Result<()> {
        for entry in tree {
            if entry_name(&entry).is_some_and(|name| name.len() == 2)
                && entry.kind() == Some(ObjectType::Tree)
            {
                budget.spend()?;
                // No key is longer than 64 digits. A tree that is not here is somebody else's trouble.
                if depth < 32
                    && let Ok(below) = subtree(repo, entry.id())
                {
                    walk(repo, &below, depth + 1, budget)?;
                }
            } else {
                budget.spend()?;
            }
        }
        Ok(())
    }
    walk(repo, tree, 0, &mut Budget::new()).is_ok()
}

/// The keys that begin with some hexadecimal digits.
///
/// # Errors
/// A tree is not here.
pub fn keys_with_prefix(repo: &Repo, tree: &Tree<'_>, prefix: &str) -> Result<Vec<Oid>> {
    let mut all = Vec::new();
    let mut budget = Budget::new();
    for entry in tree {
        let Some(name) = entry_name(&entry) else { continue };
        let may_match =
            if name.len() < prefix.len() { prefix.starts_with(name) } else { name.starts_with(prefix) };
        if !may_match {
            continue;
        }
        match entry.kind() {
            Some(ObjectType::Blob) => all.extend(Oid::parse(name).map(|key| (key, from_git(entry.id())))),
            Some(ObjectType::Tree) if name.len() == 2 => {
                collect(repo, &subtree(repo, entry.id())?, &mut name.to_owned(), &mut all, &mut budget)?;
            }
            _ => {}
        }
    }
    let mut keys: Vec<Oid> =
        all.into_iter().map(|(key, _)| key).filter(|key| key.as_str().starts_with(prefix)).collect();
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

fn entry_name<'e>(entry: &'e git2::TreeEntry<'_>) -> Option<&'e str> {
    entry.name().ok().filter(|n| crate::model::id::is_lower_hex(n))
}

fn collect(
    repo: &Repo,
    tree: &Tree<'_>,
    path: &mut String,
    all: &mut Vec<(Oid, Oid)>,
    budget: &mut Budget,
) -> Result<()> {
    for entry in tree {
        let Some(name) = entry_name(&entry) else { continue };
        budget.spend()?;
        let length = path.len();
        // No key is longer than 64 digits, so no hostile tree leads deeper than that.
        if length + name.len() <= 64 {
            path.push_str(name);
            match entry.kind() {
                Some(ObjectType::Blob) => all.extend(Oid::parse(path).map(|key| (key, from_git(entry.id())))),
                Some(ObjectType::Tree) if name.len() == 2 => {
                    collect(repo, &subtree(repo, entry.id())?, path, all, budget)?;
                }
                _ => {}
            }
            path.truncate(length);
        }
    }
    Ok(())
}

/// What to do with a key.
pub struct Change {
    /// The key.
    pub key: Oid,
    /// Its new blob; `None` removes it.
    pub blob: Option<Oid>,
}

/// Applies changes to a tree (`None`: the empty one) and returns the new tree's name.
///
/// After it every changed key stands at exactly one depth, 2/38; all other entries, notes or not, stay as they are.
///
/// # Errors
/// A tree cannot be read or written.
pub fn apply(repo: &Repo, base: Option<&Tree<'_>>, mut changes: Vec<Change>) -> Result<Oid> {
    changes.sort_by(|a, b| a.key.cmp(&b.key));
    let mut root = builder(repo, base)?;
    let mut i = 0;
    while i < changes.len() {
        let fan = &changes[i].key.as_str()[..2].to_owned();
        let end = changes[i..]
            .iter()
            .position(|c| !c.key.as_str().starts_with(fan.as_str()))
            .map_or(changes.len(), |n| i + n);
        let group = &changes[i..end];
        let old = match root.get(fan).map_err(cannot_write)? {
            Some(entry) if entry.kind() == Some(ObjectType::Tree) => Some(subtree(repo, entry.id())?),
            _ => None,
        };
        let mut fanned = builder(repo, old.as_ref())?;
        for change in group {
            let key = change.key.as_str();
            remove_entry(&mut root, key)?;
            remove_deeper(repo, &mut fanned, &key[2..])?;
            match &change.blob {
                Some(blob) => {
                    fanned.insert(&key[2..], to_git(blob)?, FILE).map_err(cannot_write)?;
                }
                None => remove_entry(&mut fanned, &key[2..])?,
            }
        }
        if fanned.is_empty() {
            remove_entry(&mut root, fan)?;
        } else {
            let written = fanned.write().map_err(cannot_write)?;
            root.insert(fan, written, TREE).map_err(cannot_write)?;
        }
        i = end;
    }
    root.write().map(from_git).map_err(cannot_write)
}

fn builder<'r>(repo: &'r Repo, tree: Option<&Tree<'_>>) -> Result<git2::TreeBuilder<'r>> {
    repo.raw().treebuilder(tree).map_err(cannot_write)
}

fn remove_entry(builder: &mut git2::TreeBuilder<'_>, name: &str) -> Result<()> {
    if builder.get(name).map_err(cannot_write)?.is_some() {
        builder.remove(name).map_err(cannot_write)?;
    }
    Ok(())
}

/// Removes a key that git wrote at a deeper fan-out than ours.
fn remove_deeper(repo: &Repo, builder: &mut git2::TreeBuilder<'_>, rest: &str) -> Result<()> {
    if rest.len() <= 2 {
        return Ok(());
    }
    let fan = &rest[..2];
    let child = match builder.get(fan).map_err(cannot_write)? {
        Some(entry) if entry.kind() == Some(ObjectType::Tree) => entry.id(),
        _ => return Ok(()),
    };
    let tree = subtree(repo, child)?;
    let mut inner = self::builder(repo, Some(&tree))?;
    remove_entry(&mut inner, &rest[2..])?;
    remove_deeper(repo, &mut inner, &rest[2..])?;
    if inner.is_empty() {
        remove_entry(builder, fan)
    } else {
        let written = inner.write().map_err(cannot_write)?;
        builder.insert(fan, written, TREE).map(|_| ()).map_err(cannot_write)
    }
}

/// By value, as `map_err` hands it over.
#[expect(clippy::needless_pass_by_value, reason = "the shape map_err wants")]
fn cannot_write(error: git2::Error) -> Error {
    Error::refused("cannot write to the repository's object database")
        .because(error.message())
        .hint("check that the repository is writable and the disk is not full")
}

/// Keys that `kept` holds and `current` does not hold with the same blob. Equal subtrees are never read.
///
/// # Errors
/// A tree is not here.
pub fn keys_that_differ(repo: &Repo, kept: &Tree<'_>, current: Option<&Tree<'_>>) -> Result<Vec<Oid>> {
    let mut keys = Vec::new();
    let mut budget = Budget::new();
    if current.is_some_and(|c| c.id() == kept.id()) {
        return Ok(keys);
    }
    for entry in kept {
        let Some(name) = entry_name(&entry) else { continue };
        let same = current.and_then(|c| c.get_name(name)).is_some_and(|other| other.id() == entry.id());
        if same {
            continue;
        }
        match entry.kind() {
            Some(ObjectType::Blob) => keys.extend(Oid::parse(name)),
            Some(ObjectType::Tree) if name.len() == 2 => {
                let mut below = Vec::new();
                let mine = subtree(repo, entry.id())?;
                let theirs = match current.and_then(|c| c.get_name(name)) {
                    Some(other) if other.kind() == Some(ObjectType::Tree) => Some(subtree(repo, other.id())?),
                    _ => None,
                };
                differing_leaves(
                    repo,
                    &mine,
                    theirs.as_ref(),
                    &mut name.to_owned(),
                    &mut below,
                    &mut budget,
                )?;
                keys.extend(below);
            }
            _ => {}
        }
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

fn differing_leaves(
    repo: &Repo,
    mine: &Tree<'_>,
    theirs: Option<&Tree<'_>>,
    path: &mut String,
    keys: &mut Vec<Oid>,
    budget: &mut Budget,
) -> Result<()> {
    for entry in mine {
        let Some(name) = entry_name(&entry) else { continue };
        budget.spend()?;
        let other = theirs.and_then(|t| t.get_name(name));
        if other.as_ref().is_some_and(|o| o.id() == entry.id()) || path.len() + name.len() > 64 {
            continue;
        }
        let length = path.len();
        path.push_str(name);
        match entry.kind() {
            Some(ObjectType::Blob) => keys.extend(Oid::parse(path)),
            Some(ObjectType::Tree) if name.len() == 2 => {
                let child = subtree(repo, entry.id())?;
                let other = match other {
                    Some(o) if o.kind() == Some(ObjectType::Tree) => Some(subtree(repo, o.id())?),
                    _ => None,
                };
                differing_leaves(repo, &child, other.as_ref(), path, keys, budget)?;
            }
            _ => {}
        }
        path.truncate(length);
    }
    Ok(())
}

/// Writes a notes commit.
///
/// # Errors
/// The object database cannot be written.
pub fn commit(
    repo: &Repo,
    tree: &Oid,
    parents: &[Oid],
    signature: &git2::Signature<'_>,
    message: &str,
) -> Result<Oid> {
    let tree = repo.raw().find_tree(to_git(tree)?).map_err(cannot_write)?;
    let parents = parents
        .iter()
        .map(|p| repo.raw().find_commit(to_git(p)?).map_err(cannot_write))
        .collect::<Result<Vec<_>>>()?;
    let parents: Vec<&git2::Commit<'_>> = parents.iter().collect();
    repo.raw()
        .commit(None, signature, signature, message, &tree, &parents)
        .map(from_git)
        .map_err(cannot_write)
}
