//! Putting right what can be: projections are made anew, everything else is moved aside and never deleted.
//!
//! What is moved aside stands in a local ref below [`QUARANTINE`], which never travels: a flat tree of numbered objects
//! and a `list` that says where each was and why it went. The ref is written before anything leaves a notes ref.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::git::examine::{self, Stored};
use crate::git::refs::{Swap, compare_and_swap};
use crate::git::repo::{from_git, to_git};
use crate::git::{Repo, lock, notes, refs};
use crate::model::{Error, Oid, Result};

use super::super::guard;
use super::super::ledger;
use super::super::lines::{self, REF};
use super::super::tombstones;
use super::super::travelling::{BOTH, EVIDENCE, LEDGER, Travelling, union_of, union_of_lines};
use super::projection::is_ours;
use super::{Aside, Plan, check};

/// Where the refs are that hold what was moved aside.
pub const QUARANTINE: &str = "refs/incident/quarantine/";

/// The longest name of a path in the list, in bytes.
const LONGEST_PATH: usize = 500;

/// Something that was put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The ref.
    pub reference: String,
    /// The note's key, where it is one.
    pub key: Option<String>,
    /// What was done.
    pub what: String,
}

/// Something that was moved aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// The notes ref where it stood.
    pub reference: String,
    /// Its path there.
    pub path: String,
    /// The object.
    pub object: Oid,
    /// Why it went.
    pub reason: String,
    /// The ref where it is now.
    pub quarantine: String,
    /// Its name there: `git show QUARANTINE:NAME` prints it.
    pub name: String,
}

/// Mends the refs from the kept ones, checks, and does what can be done. `day` is the time as it stands in the name of
/// a quarantine ref, such as `20260102T030405Z`.
///
/// # Errors
/// The repository cannot be written; another program moves the refs without end.
pub fn repair(
    repo: &Repo,
    wanted: Option<&[Oid]>,
    signature: &git2::Signature<'_>,
    day: &str,
) -> Result<(Vec<Repaired>, Vec<Quarantined>)> {
    let mut repaired = Vec::new();
    let mut quarantined = Vec::new();
    {
        let _lock = lock::WriterLock::acquire(repo)?;
        for which in BOTH {
            revive(repo, which, &mut repaired)?;
            if let Some(mended) = guard::mend_locked(repo, which, signature)? {
                repaired.push(of(which.notes, None, mended.to_text()));
            }
            remember(repo, which, &mut repaired)?;
        }
        let (_, mut plan) = check(repo, wanted)?;
        for which in BOTH {
            let work = Work { repo, which, signature, day };
            work.run(&mut plan, &mut repaired, &mut quarantined)?;
        }
    }
    // The lines of ledgers that were put right a moment ago.
    let (_, plan) = check(repo, wanted)?;
    if plan.lines {
        rebuild_lines(repo, signature, &mut repaired)?;
    }
    Ok((repaired, quarantined))
}

fn of(reference: &str, key: Option<String>, what: impl Into<String>) -> Repaired {
    Repaired { reference: reference.to_owned(), key, what: what.into() }
}

/// A ref that cannot be read at all, as a power cut leaves it: its file goes aside and the kept ref takes its place.
fn revive(repo: &Repo, which: Travelling, repaired: &mut Vec<Repaired>) -> Result<()> {
    for (name, other) in [(which.notes, which.kept), (which.kept, which.notes)] {
        let readable = match refs::read(repo, name) {
            Ok(None) => true,
            Ok(Some(commit)) => notes::tree_of(repo, &commit).is_ok(),
            Err(_) => false,
        };
        if readable {
            continue;
        }
        let source = refs::read(repo, other)
            .ok()
            .flatten()
            .filter(|commit| notes::tree_of(repo, commit).is_ok())
            .or_else(|| guard::named_in_file(repo, which).filter(|c| notes::tree_of(repo, c).is_ok()));
        let Some(source) = source else { continue };
        let file = repo.common_dir().join(name);
        let aside = lock::state_dir(repo)?.join(format!("broken-{}", name.replace('/', "-")));
        if file.exists() {
            std::fs::rename(&file, &aside)
                .map_err(|e| Error::refused(format!("{} cannot be moved", file.display())).because(e))?;
        }
        let old = refs::read(repo, name).ok().flatten();
        if compare_and_swap(repo, name, &source, old.as_ref(), "git incident: fsck --repair")? == Swap::Done {
            let text = format!("set to {}; the former file is {}", source.short(), aside.display());
            repaired.push(of(name, None, text));
        }
    }
    Ok(())
}

/// The file that names the kept commit, when it names nothing that is here.
fn remember(repo: &Repo, which: Travelling, repaired: &mut Vec<Repaired>) -> Result<()> {
    let Some(kept) = refs::read(repo, which.kept)? else { return Ok(()) };
    let path = lock::state_dir(repo)?.join(which.remembered);
    if path.exists() && guard::named_in_file(repo, which).is_none_or(|c| c != kept && !repo.is_commit(&c)) {
        tombstones::write_whole(repo, which.remembered, format!("{kept}\n").as_bytes())
            .map_err(|e| Error::refused(format!("{} cannot be written", path.display())).because(e))?;
        repaired.push(of(which.kept, None, format!("the file incident/{} names it again", which.remembered)));
    }
    Ok(())
}

/// What is done to one travelling ref.
struct Work<'w> {
    repo: &'w Repo,
    which: Travelling,
    signature: &'w git2::Signature<'w>,
    day: &'w str,
}

impl Work<'_> {
    fn run(
        &self,
        plan: &mut Plan,
        repaired: &mut Vec<Repaired>,
        quarantined: &mut Vec<Quarantined>,
    ) -> Result<()> {
        let (aside, others) = std::mem::take(&mut plan.aside)
            .into_iter()
            .partition::<Vec<_>, _>(|a| a.reference == self.which.notes);
        plan.aside = others;
        let mut aside = aside;
        if let Some(keys) = plan.aside_keys.remove(self.which.notes) {
            self.find(&keys, &mut aside)?;
        }
        let renote = plan.renote.remove(self.which.notes).unwrap_or_default();
        let restore =
            if self.which == EVIDENCE { std::mem::take(&mut plan.restore) } else { BTreeMap::new() };
        let add_lines =
            if self.which == LEDGER { std::mem::take(&mut plan.add_lines) } else { BTreeMap::new() };
        if aside.is_empty() && renote.is_empty() && restore.is_empty() && add_lines.is_empty() {
            return Ok(());
        }
        let moved = if aside.is_empty() { Vec::new() } else { self.move_aside(&aside)? };
        for (key, bytes) in &restore {
            // Empty bytes: the object is here and was only not noted.
            if !bytes.is_empty() && self.repo.write_blob(bytes)? != *key {
                return Err(Error::bug(format!("the first line of {} makes another object", key.short())));
            }
        }
        for _ in 0..guard::ATTEMPTS {
            guard::mend_locked(self.repo, self.which, self.signature)?;
            let Some(kept) = refs::read(self.repo, self.which.kept)? else { return Ok(()) };
            let mut tree = notes::tree_of(self.repo, &kept)?;
            if !aside.is_empty() {
                let left =
                    examine::without(self.repo, &tree, aside.iter().map(|a| a.path.clone()).collect())?;
                tree = self.repo.raw().find_tree(to_git(&left)?).map_err(|e| {
                    Error::refused("the tree that was just written cannot be read").because(e.message())
                })?;
            }
            let changes = self.changes(&tree, &renote, &restore, &add_lines)?;
            let new_tree = notes::apply(self.repo, Some(&tree), changes)?;
            let message = format!("git incident: fsck --repair of the {}\n", self.which.what);
            let commit =
                notes::commit(self.repo, &new_tree, std::slice::from_ref(&kept), self.signature, &message)?;
            if guard::publish(self.repo, self.which, &commit, Some(&kept))? == Swap::Done {
                self.report(&renote, &restore, &add_lines, repaired);
                quarantined.extend(moved);
                return Ok(());
            }
        }
        Err(guard::busy(self.which))
    }

    /// Where notes stand that are to be moved aside: one walk for all of them.
    fn find(&self, keys: &BTreeMap<git2::Oid, Cow<'static, str>>, aside: &mut Vec<Aside>) -> Result<()> {
        let Some(commit) = refs::read(self.repo, self.which.notes)? else { return Ok(()) };
        let tree = notes::tree_of(self.repo, &commit)?;
        examine::walk(self.repo, &tree, &mut |entry| {
            if let examine::Entry::Note { key, depth, mode, blob } = entry
                && let Some(reason) = keys.get(&key)
            {
                let digits = key.to_string();
                let mut path: Vec<u8> = Vec::with_capacity(60);
                for n in 0..depth {
                    path.extend_from_slice(&digits.as_bytes()[2 * n..2 * n + 2]);
                    path.push(b'/');
                }
                path.extend_from_slice(&digits.as_bytes()[2 * depth..]);
                let reference = self.which.notes;
                aside.push(Aside {
                    reference,
                    path,
                    mode,
                    object: blob,
                    reason: reason.clone().into_owned(),
                });
            }
            Ok(())
        })?;
        Ok(())
    }

    fn changes(
        &self,
        tree: &git2::Tree<'_>,
        renote: &BTreeSet<git2::Oid>,
        restore: &BTreeMap<Oid, Vec<u8>>,
        add_lines: &BTreeMap<Oid, Vec<u8>>,
    ) -> Result<Vec<notes::Change>> {
        let mut changes = Vec::new();
        for key in renote {
            let key = from_git(*key);
            if add_lines.contains_key(&key) || restore.contains_key(&key) {
                continue;
            }
            let blobs = notes::lookup(self.repo, tree, &key)?;
            let blob = match blobs.as_slice() {
                [] => continue,
                _ if self.which == EVIDENCE && self.repo.has_object(&key) => key.clone(),
                [only] => only.clone(),
                several if several.iter().all(|b| *b == several[0]) => several[0].clone(),
                several => self.repo.write_blob(&union_of(self.repo, several)?)?,
            };
            changes.push(notes::Change { key, blob: Some(blob) });
        }
        for key in restore.keys() {
            changes.push(notes::Change { key: key.clone(), blob: Some(key.clone()) });
        }
        for (key, line) in add_lines {
            let stands = union_of(self.repo, &notes::lookup(self.repo, tree, key)?)?;
            let mut first = line.clone();
            first.push(b'\n');
            let blob = self.repo.write_blob(&union_of_lines(&[first, stands]))?;
            changes.push(notes::Change { key: key.clone(), blob: Some(blob) });
        }
        Ok(changes)
    }

    fn report(
        &self,
        renote: &BTreeSet<git2::Oid>,
        restore: &BTreeMap<Oid, Vec<u8>>,
        add_lines: &BTreeMap<Oid, Vec<u8>>,
        repaired: &mut Vec<Repaired>,
    ) {
        let name = self.which.notes;
        match renote.first() {
            Some(only) if renote.len() == 1 => {
                let text = "stands once, at fan-out 2/38 with mode 100644";
                repaired.push(of(name, Some(only.to_string()), text));
            }
            Some(_) => {
                let text =
                    format!("{} notes stand once each, at fan-out 2/38 with mode 100644", renote.len());
                repaired.push(of(name, None, text));
            }
            None => {}
        }
        for key in restore.keys() {
            repaired.push(of(name, Some(key.to_string()), "noted under its own name again"));
        }
        for key in add_lines.keys() {
            repaired.push(of(name, Some(key.to_string()), "has its first line again"));
        }
    }

    /// Writes the quarantine ref.
    fn move_aside(&self, aside: &[Aside]) -> Result<Vec<Quarantined>> {
        let objects = examine::Objects::of(self.repo)?;
        let mut entries = Vec::new();
        let mut moved = Vec::new();
        let mut list = String::new();
        for (n, one) in aside.iter().enumerate() {
            let name = format!("{:04}", n + 1);
            let path = shown(&one.path);
            let here = one.mode == 0o160_000
                || matches!(objects.look(one.object), Stored::Blob(_) | Stored::Other("tree"));
            let lost = if here { "" } else { " (the object itself is not here)" };
            list.push_str(&format!(
                "{name} {:06o} {} {} {path}: {}{lost}\n",
                one.mode, one.object, one.reference, one.reason
            ));
            entries.push((name.clone(), one.object, one.mode));
            moved.push(Quarantined {
                reference: one.reference.to_owned(),
                path,
                object: from_git(one.object),
                reason: one.reason.clone(),
                quarantine: String::new(),
                name,
            });
        }
        let list = self.repo.write_blob(list.as_bytes())?;
        entries.push(("list".to_owned(), to_git(&list)?, 0o100_644));
        let tree = examine::shelf(self.repo, &entries)?;
        let message = format!("git incident: moved aside from {}\n", self.which.notes);
        let commit = notes::commit(self.repo, &tree, &[], self.signature, &message)?;
        let reference = format!("{QUARANTINE}{}-{}", self.day, tree.short());
        // Of the same objects in the same second there is no need of a second one.
        compare_and_swap(self.repo, &reference, &commit, None, "git incident: fsck --repair")?;
        for one in &mut moved {
            one.quarantine.clone_from(&reference);
        }
        Ok(moved)
    }
}

/// A path as a list shows it: no control characters, not without end.
fn shown(path: &[u8]) -> String {
    let cut = &path[..path.len().min(LONGEST_PATH)];
    String::from_utf8_lossy(cut).chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Makes the lines on commits anew from all ledgers; lines that are none of ours stay.
fn rebuild_lines(repo: &Repo, signature: &git2::Signature<'_>, repaired: &mut Vec<Repaired>) -> Result<()> {
    let mut wanted: BTreeMap<Oid, BTreeSet<String>> = BTreeMap::new();
    for incident in ledger::all(repo)? {
        for (commit, line) in lines::of_incident(&incident) {
            wanted.entry(commit).or_default().insert(line);
        }
    }
    let _lock = lock::WriterLock::acquire(repo)?;
    if refs::read(repo, REF).is_err() {
        // A projection: nothing is lost with the file.
        std::fs::remove_file(repo.common_dir().join(REF)).ok();
    }
    let current = refs::read(repo, REF)?;
    if let Some(commit) = &current
        && let Ok(tree) = notes::tree_of(repo, commit)
    {
        let objects = examine::Objects::of(repo)?;
        examine::walk(repo, &tree, &mut |entry| {
            if let examine::Entry::Note { key, blob, .. } = entry
                && matches!(objects.look(blob), Stored::Blob(size) if size <= 1 << 20)
            {
                let text = repo.blob(&from_git(blob))?;
                let others: Vec<String> = String::from_utf8_lossy(&text)
                    .lines()
                    .filter(|l| !l.is_empty() && !is_ours(l))
                    .map(str::to_owned)
                    .collect();
                if !others.is_empty() {
                    wanted.entry(from_git(key)).or_default().extend(others);
                }
            }
            Ok(())
        })?;
    }
    let changes = wanted
        .iter()
        .map(|(commit, lines)| {
            let text: String = lines.iter().flat_map(|l| [l.as_str(), "\n"]).collect();
            Ok(notes::Change { key: commit.clone(), blob: Some(repo.write_blob(text.as_bytes())?) })
        })
        .collect::<Result<Vec<_>>>()?;
    let count = changes.len();
    let tree = notes::apply(repo, None, changes)?;
    let parents: Vec<Oid> = current.iter().filter(|c| repo.is_commit(c)).cloned().collect();
    let commit = notes::commit(repo, &tree, &parents, signature, "incident lines, made anew\n")?;
    if compare_and_swap(repo, REF, &commit, current.as_ref(), "git incident: fsck --repair")? == Swap::Raced {
        return Err(
            Error::refused(format!("{REF} moved while it was made anew")).hint("run the command again")
        );
    }
    repaired.push(of(REF, None, format!("the lines of {count} commits were made anew from the ledgers")));
    Ok(())
}
