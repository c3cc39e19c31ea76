//! Two notes trees side by side: which keys differ, whatever fan-out, depth or mode either side wrote them with.
//!
//! The trees are compared in 256 groups, by the first two digits of the keys. A group that is the same tree on both
//! sides is never read.

use std::collections::BTreeMap;

use git2::{ObjectType, Tree};

use super::Repo;
use super::repo::{from_git, to_git};
use crate::model::id::is_lower_hex;
use crate::model::{Error, Oid, Result};

const FILE: i32 = 0o100_644;

/// A key that differs between two trees, or is written oddly in one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The key.
    pub key: Oid,
    /// Its blobs in our tree: several when it stands at several depths with different content.
    pub ours: Vec<Oid>,
    /// Its blobs in their tree.
    pub theirs: Vec<Oid>,
    /// It stands in our tree at several depths or with another mode than 100644: `git notes merge` aborts on it.
    pub ours_odd: bool,
    /// The same of their tree.
    pub theirs_odd: bool,
}

/// An entry that is no note: kept, and passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    /// The directory of two digits it stands in; none at the top.
    fan: Option<String>,
    name: Vec<u8>,
    id: git2::Oid,
    mode: i32,
}

/// What differs.
#[derive(Debug, Default)]
pub struct Compared {
    /// Keys that differ, or that are written oddly, in the order of the keys.
    pub pairs: Vec<Pair>,
    /// Entries of our tree that are no notes and that theirs lacks.
    pub ours_only: Vec<Stranger>,
    /// Entries of their tree that are no notes and that ours lacks.
    pub theirs_only: Vec<Stranger>,
}

/// One key's entries on one side.
#[derive(Default)]
struct Place {
    blobs: Vec<Oid>,
    entries: usize,
    odd_mode: bool,
}

impl Place {
    fn odd(&self) -> bool {
        self.entries > 1 || self.odd_mode
    }
}

/// One group of one side.
#[derive(Default)]
struct Group {
    /// Keys that stand at the top: name, blob, mode.
    flat: Vec<(Oid, Oid, i32)>,
    fan: Option<git2::Oid>,
}

#[derive(Default)]
struct Side {
    groups: BTreeMap<String, Group>,
    strangers: Vec<Stranger>,
}

impl Side {
    fn of(tree: Option<&Tree<'_>>) -> Self {
        let mut side = Self::default();
        for entry in tree.iter().flat_map(|t| t.iter()) {
            let name = entry.name().ok().filter(|n| is_lower_hex(n));
            match (name, entry.kind()) {
                (Some(name), Some(ObjectType::Tree)) if name.len() == 2 => {
                    side.groups.entry(name.to_owned()).or_default().fan = Some(entry.id());
                }
                (Some(name), Some(ObjectType::Blob)) if Oid::parse(name).is_some() => {
                    if let Some(key) = Oid::parse(name) {
                        let group = side.groups.entry(name[..2].to_owned()).or_default();
                        group.flat.push((key, from_git(entry.id()), entry.filemode_raw()));
                    }
                }
                _ => side.strangers.push(stranger(None, &entry)),
            }
        }
        side
    }
}

fn stranger(fan: Option<&str>, entry: &git2::TreeEntry<'_>) -> Stranger {
    Stranger {
        fan: fan.map(str::to_owned),
        name: entry.name_bytes().to_vec(),
        id: entry.id(),
        mode: entry.filemode_raw(),
    }
}

/// Compares two trees; `None` is the empty one.
///
/// # Errors
/// A tree is not here.
pub fn compare(repo: &Repo, ours: Option<&Tree<'_>>, theirs: Option<&Tree<'_>>) -> Result<Compared> {
    let mut found = Compared::default();
    let (mine, other) = (Side::of(ours), Side::of(theirs));
    let (mut my_strangers, mut their_strangers) = (mine.strangers, other.strangers);
    let empty = Group::default();
    let mut names: Vec<&String> = mine.groups.keys().chain(other.groups.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let a = mine.groups.get(name).unwrap_or(&empty);
        let b = other.groups.get(name).unwrap_or(&empty);
        if a.flat.is_empty() && b.flat.is_empty() && a.fan == b.fan {
            continue;
        }
        let places_a = read_group(repo, name, a, &mut my_strangers)?;
        let mut places_b = read_group(repo, name, b, &mut their_strangers)?;
        for (key, place) in places_a {
            let there = places_b.remove(&key).unwrap_or_default();
            add(&mut found.pairs, key, place, there);
        }
        for (key, there) in places_b {
            add(&mut found.pairs, key, Place::default(), there);
        }
    }
    found.pairs.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    found.ours_only = without(&my_strangers, &their_strangers);
    found.theirs_only = without(&their_strangers, &my_strangers);
    Ok(found)
}

fn add(pairs: &mut Vec<Pair>, key: Oid, ours: Place, theirs: Place) {
    let (ours_odd, theirs_odd) = (ours.odd(), theirs.odd());
    if ours.blobs != theirs.blobs || ours_odd || theirs_odd {
        pairs.push(Pair { key, ours: ours.blobs, theirs: theirs.blobs, ours_odd, theirs_odd });
    }
}

/// Those of `all` whose place is free in `others`.
fn without(all: &[Stranger], others: &[Stranger]) -> Vec<Stranger> {
    let taken: std::collections::HashSet<_> = others.iter().map(|s| (&s.fan, &s.name)).collect();
    all.iter().filter(|s| !taken.contains(&(&s.fan, &s.name))).cloned().collect()
}

fn read_group(
    repo: &Repo,
    name: &str,
    group: &Group,
    strangers: &mut Vec<Stranger>,
) -> Result<BTreeMap<Oid, Place>> {
    let mut places = BTreeMap::new();
    for (key, blob, mode) in &group.flat {
        note(&mut places, key.clone(), blob.clone(), *mode);
    }
    if let Some(fan) = group.fan {
        let mut path = name.to_owned();
        walk(repo, fan, &mut path, &mut places, strangers)?;
    }
    Ok(places)
}

fn note(places: &mut BTreeMap<Oid, Place>, key: Oid, blob: Oid, mode: i32) {
    let place: &mut Place = places.entry(key).or_default();
    place.entries += 1;
    place.odd_mode |= mode != FILE;
    if !place.blobs.contains(&blob) {
        place.blobs.push(blob);
        place.blobs.sort_unstable();
    }
}

fn walk(
    repo: &Repo,
    id: git2::Oid,
    path: &mut String,
    places: &mut BTreeMap<Oid, Place>,
    strangers: &mut Vec<Stranger>,
) -> Result<()> {
    let tree = repo.raw().find_tree(id).map_err(|e| {
        Error::refused(format!("a tree of the notes, {id}, is not here"))
            .because(e.message())
            .hint("check the repository with: git fsck")
    })?;
    for entry in &tree {
        let length = path.len();
        let name = entry.name().ok().filter(|n| is_lower_hex(n) && length + n.len() <= 64);
        let mut known = false;
        if let Some(name) = name {
            path.push_str(name);
            match entry.kind() {
                Some(ObjectType::Blob) => {
                    if let Some(key) = Oid::parse(path) {
                        note(places, key, from_git(entry.id()), entry.filemode_raw());
                        known = true;
                    }
                }
                Some(ObjectType::Tree) if name.len() == 2 => {
                    walk(repo, entry.id(), path, places, strangers)?;
                    known = true;
                }
                _ => {}
            }
            path.truncate(length);
        }
        // Deeper ones are rarer still, and have no place in a tree that is written at 2/38.
        if !known && length == 2 {
            strangers.push(stranger(Some(path), &entry));
        }
    }
    Ok(())
}

/// Adds entries that are no notes to a tree where their places are free; what git would refuse to check out is left
/// out.
///
/// # Errors
/// A tree cannot be read or written.
pub fn carry(repo: &Repo, tree: &Oid, strangers: &[Stranger]) -> Result<Oid> {
    let cannot = |e: git2::Error| {
        Error::refused("cannot write to the repository's object database").because(e.message())
    };
    let mut by_fan: BTreeMap<Option<&str>, Vec<&Stranger>> = BTreeMap::new();
    for stranger in strangers {
        by_fan.entry(stranger.fan.as_deref()).or_default().push(stranger);
    }
    let root = repo.raw().find_tree(to_git(tree)?).map_err(cannot)?;
    let mut builder = repo.raw().treebuilder(Some(&root)).map_err(cannot)?;
    for (fan, group) in by_fan {
        let Some(fan) = fan else {
            insert_all(&mut builder, &group);
            continue;
        };
        let old = root.get_name(fan).and_then(|e| repo.raw().find_tree(e.id()).ok());
        let mut fanned = repo.raw().treebuilder(old.as_ref()).map_err(cannot)?;
        insert_all(&mut fanned, &group);
        if !fanned.is_empty() {
            let written = fanned.write().map_err(cannot)?;
            builder.insert(fan, written, 0o040_000).map_err(cannot)?;
        }
    }
    builder.write().map(from_git).map_err(cannot)
}

fn insert_all(builder: &mut git2::TreeBuilder<'_>, strangers: &[&Stranger]) {
    for stranger in strangers {
        if builder.get(&stranger.name[..]).is_ok_and(|e| e.is_none()) {
            // libgit2 refuses names such as `.git`: nobody may depend on those.
            let _ = builder.insert(&stranger.name[..], stranger.id, stranger.mode);
        }
    }
}
