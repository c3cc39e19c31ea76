//! What was purged: known from the ledgers alone, so that every clone that reads them knows it too.
//!
//! An erased member of an event is the tombstone of what stood there; `evidence.erased` is that of a blob. An anchor
//! whose line was erased goes with it. Nothing here can be taken back, so what was once known may be remembered: the
//! file that does so holds names only, and may be deleted.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::event::{Data, Event, Line, line};
use crate::fold;
use crate::git::repo::MAX_BLOB_BYTES;
use crate::git::whole::{self, Access};
use crate::git::{Repo, bulk, lock, notes, pairs};
use crate::model::{EventId, Oid, Result};

use super::ledger::is_anchor;
use super::travelling::union_of_lines;

/// Which members of an event were erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Gone {
    /// Its author.
    pub by: bool,
    /// Its data.
    pub data: bool,
}

/// Everything that was purged, as far as some ledgers tell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Purged {
    /// Events with members erased.
    pub events: BTreeMap<EventId, Gone>,
    /// Blobs that must not stand in the evidence ref: erased files, and anchors whose line was erased.
    pub blobs: BTreeSet<Oid>,
}

/// The file that remembers what a commit's ledgers tell.
#[derive(Serialize, Deserialize)]
struct Remembered {
    commit: Oid,
    purged: Purged,
}

const FILE: &str = "purged.json";
const MARK: &str = "purge-pending";

impl Purged {
    /// Whether nothing was purged.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.blobs.is_empty()
    }

    /// Takes over what another one knows; says whether anything of it was news.
    pub fn absorb(&mut self, other: &Self) -> bool {
        let before = self.clone();
        for (id, gone) in &other.events {
            let mine = self.events.entry(*id).or_default();
            mine.by |= gone.by;
            mine.data |= gone.data;
        }
        self.blobs.extend(other.blobs.iter().cloned());
        *self != before
    }

    /// Reads the tombstones in a note.
    pub fn collect(&mut self, key: &Oid, text: &[u8]) {
        if !may_hold_tombstones(text) {
            return;
        }
        let lines: Vec<Line> = fold::split_lines(text).map(Line::parse).collect();
        let events: Vec<&Event> = lines.iter().filter_map(Line::event).collect();
        for event in &events {
            if let line::Body::Known(Data::EvidenceErased(data)) = &event.body {
                self.blobs.insert(data.oid.clone());
            }
            let gone = Gone { by: event.by.is_none(), data: event.body == line::Body::Erased };
            if !gone.by && !gone.data {
                continue;
            }
            let known = self.events.entry(event.id).or_default();
            known.by |= gone.by;
            known.data |= gone.data;
            let first = event.type_name == "incident.opened" && event.parents.is_empty()
                || event.type_name == "ledger.segment";
            // The anchor is the line of that name; where no other event's line is it, it was this one's.
            let other = || {
                lines.iter().any(|l| l.event().is_none_or(|e| e.id != event.id) && is_anchor(key, l.raw()))
            };
            if first && !other() {
                self.blobs.insert(key.clone());
            }
        }
    }

    /// Whether a text spells out what was purged.
    pub fn is_spelled_out(&self, text: &[u8]) -> bool {
        fold::split_lines(text).any(|raw| self.erased(raw).is_some())
    }

    /// The spelling that a line must have, when it has another one.
    fn erased(&self, raw: &[u8]) -> Option<Vec<u8>> {
        const ID: &[u8] = b"\"id\":\"";
        let gone = memchr::memmem::find_iter(raw, ID).find_map(|at| {
            let digits = raw.get(at + ID.len()..at + ID.len() + 64)?;
            let id = EventId::parse(std::str::from_utf8(digits).ok()?)?;
            self.events.get(&id).map(|gone| (id, *gone))
        });
        let (id, gone) = gone?;
        // The digits may stand in the data of another event.
        let line = Line::parse(raw);
        let event = line.event()?;
        let gone = if event.id == id { gone } else { *self.events.get(&event.id)? };
        line::erase(raw, gone.by, gone.data)
    }

    /// A note's text with everything erased that was purged; `None` when nothing is to be erased.
    pub fn apply(&self, text: &[u8]) -> Option<Vec<u8>> {
        if self.events.is_empty() || !self.is_spelled_out(text) {
            return None;
        }
        let mut out = Vec::with_capacity(text.len());
        for raw in fold::split_lines(text) {
            out.extend_from_slice(&self.erased(raw).unwrap_or_else(|| raw.to_vec()));
            out.push(b'\n');
        }
        Some(union_of_lines(&[out]))
    }

    /// The blobs that must not stand in the evidence ref. A stranger's tombstone for an anchor or a descriptor in use
    /// counts for nothing: without it `git notes prune` would take its ledger away.
    ///
    /// # Errors
    /// An object is not here.
    pub fn blobs_to_drop(&self, repo: &Repo, ledgers: Option<&git2::Tree<'_>>) -> Result<BTreeSet<Oid>> {
        let mut blobs = self.blobs.clone();
        let Some(tree) = ledgers else { return Ok(blobs) };
        for blob in &self.blobs {
            for text in notes::lookup(repo, tree, blob)? {
                let text = repo.blob(&text)?;
                let stands =
                    fold::split_lines(&text).any(|raw| self.erased(raw).is_none() && is_anchor(blob, raw));
                if stands {
                    blobs.remove(blob);
                }
            }
        }
        Ok(blobs)
    }

    /// Whether a blob has to go: by its name, or for what it says.
    pub fn forbids(&self, oid: &Oid, content: &[u8]) -> bool {
        self.blobs.contains(oid) || !self.events.is_empty() && self.is_spelled_out(content)
    }

    /// What the ledgers of a commit tell. Only what changed since it was last asked is read.
    ///
    /// # Errors
    /// An object is not here.
    pub fn of(repo: &Repo, commit: Option<&Oid>) -> Result<Self> {
        let Some(commit) = commit else { return Ok(Self::default()) };
        let known = remembered(repo).filter(|k| repo.is_commit(&k.commit));
        let (base, mut purged) = match known {
            Some(known) if known.commit == *commit => return Ok(known.purged),
            Some(known) => (Some(notes::tree_of(repo, &known.commit)?), known.purged),
            None => (None, Self::default()),
        };
        let tree = notes::tree_of(repo, commit)?;
        let compared = pairs::compare(repo, base.as_ref(), Some(&tree))?;
        let places: Vec<(&Oid, &Oid)> =
            compared.pairs.iter().flat_map(|p| p.theirs.iter().map(move |b| (&p.key, b))).collect();
        let blobs: Vec<Oid> = places.iter().map(|(_, b)| (*b).clone()).collect();
        read_all(repo, &blobs, |i, bytes| {
            purged.collect(places[i].0, bytes);
            Ok(())
        })?;
        purged.remember(repo, commit);
        Ok(purged)
    }

    /// Notes down what a commit's ledgers tell. A failure costs time the next time, and nothing else.
    pub fn remember(&self, repo: &Repo, commit: &Oid) {
        let remembered = Remembered { commit: commit.clone(), purged: self.clone() };
        let _ = write_whole(repo, FILE, &serde_json::to_vec(&remembered).unwrap_or_default());
    }
}

/// Writes a file of this store's state beside its place and moves it there: never half, and through no link.
///
/// # Errors
/// The repository cannot be written.
pub(super) fn write_whole(repo: &Repo, name: &str, bytes: &[u8]) -> Result<()> {
    Ok(whole::replace(&lock::state_dir(repo)?.join(name), bytes, Access::Umask)?)
}

fn remembered(repo: &Repo) -> Option<Remembered> {
    let bytes = std::fs::read(repo.common_dir().join("incident").join(FILE)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Whether a blob is known to have been purged here; the ledgers themselves are not read for it.
pub fn is_known(repo: &Repo, oid: &Oid) -> bool {
    remembered(repo).is_some_and(|r| r.purged.blobs.contains(oid))
}

/// A look at the bytes, before they are parsed: without these there is no tombstone.
pub(super) fn may_hold_tombstones(text: &[u8]) -> bool {
    [&b",\"by\":\""[..], b",\"data\":\"", b"\"type\":\"evidence.erased\""]
        .iter()
        .any(|mark| memchr::memmem::find(text, mark).is_some())
}

/// Reads blobs in order, by whatever way is faster. One that is larger than anything of ours reads as empty: it holds
/// no line that anybody could show, and must not keep clones from sharing the rest.
///
/// # Errors
/// A blob is not here, or damaged.
pub(super) fn read_all(
    repo: &Repo,
    blobs: &[Oid],
    mut each: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    let bearable = |i: usize, read: Result<Vec<u8>>| match read {
        Err(_) if repo.size_of(&blobs[i]).is_some_and(|size| size > MAX_BLOB_BYTES) => Ok(Vec::new()),
        read => read,
    };
    if blobs.len() < bulk::WORTH_A_PROCESS {
        return (0..blobs.len()).try_for_each(|i| each(i, &bearable(i, repo.blob(&blobs[i]))?));
    }
    bulk::read_blobs(repo, blobs, |i, bytes| each(i, &bearable(i, bytes)?))
}

/// Notes down that something was purged which this clone may still hold.
///
/// # Errors
/// The repository cannot be written.
pub fn mark(repo: &Repo) -> Result<()> {
    add_to_mark(repo, Vec::new()).map(drop)
}

/// As [`mark`], with commits whose history is to go; returns all that are noted down.
///
/// # Errors
/// The repository cannot be written.
pub(super) fn add_to_mark(repo: &Repo, tips: Vec<Oid>) -> Result<Vec<Oid>> {
    let path = lock::state_dir(repo)?.join(MARK);
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let mut all: BTreeSet<Oid> = before.lines().filter_map(Oid::parse).collect();
    all.extend(tips);
    all.retain(|tip| repo.is_commit(tip));
    let text: String = all.iter().flat_map(|tip| [tip.as_str(), "\n"]).collect();
    write_whole(repo, MARK, text.as_bytes())?;
    Ok(all.into_iter().collect())
}

/// Whether something is still to be removed here.
pub fn is_marked(repo: &Repo) -> bool {
    repo.common_dir().join("incident").join(MARK).exists()
}

/// Whether somebody began to remove it, and did not come to the end.
pub(super) fn is_begun(repo: &Repo) -> bool {
    std::fs::metadata(repo.common_dir().join("incident").join(MARK)).is_ok_and(|m| m.len() > 0)
}

/// Everything was removed.
pub(super) fn unmark(repo: &Repo) {
    let _ = std::fs::remove_file(repo.common_dir().join("incident").join(MARK));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EvidenceErased, IncidentOpened, NextAdded};
    use crate::model::Timestamp;
    use crate::model::incident::Author;

    fn event(data: Data, parents: &[EventId]) -> Event {
        let author = Author {
            email: "a@example.org".into(),
            name: "A".into(),
            salt: "0".repeat(32),
            ..Author::default()
        };
        line::seal(Timestamp::from_millis(1_700_000_000_000), &author, &data, parents, &"1".repeat(32))
            .unwrap()
    }

    fn note(lines: &[&[u8]]) -> Vec<u8> {
        lines.iter().flat_map(|l| [l, &b"\n"[..]].concat()).collect()
    }

    #[test]
    fn what_is_erased_in_one_line_is_gone_in_all() {
        let opened = event(IncidentOpened { title: "t".into(), ..Default::default() }.into(), &[]);
        let idea = event(NextAdded { text: "because".into() }.into(), &[opened.id]);
        let key = Repo::blob_name(&note(&[&opened.raw])).unwrap();
        let mut purged = Purged::default();
        purged.collect(&key, &note(&[&opened.raw, &idea.raw]));
        assert!(purged.is_empty());

        let erased = line::erase(&idea.raw, false, true).unwrap();
        purged.collect(&key, &note(&[&opened.raw, &idea.raw, &erased]));
        assert_eq!(purged.events.get(&idea.id), Some(&Gone { by: false, data: true }));
        assert!(purged.blobs.is_empty(), "the anchor stands");
        let whole = note(&[&opened.raw, &idea.raw]);
        assert!(purged.is_spelled_out(&whole) && purged.forbids(&key, &whole));
        assert_eq!(purged.apply(&whole), Some(note(&[&opened.raw, &erased])));
        assert_eq!(purged.apply(&note(&[&opened.raw, &erased])), None);
        // An event that only speaks of the other one is left alone.
        let about = event(NextAdded { text: format!("{{\"id\":\"{}\"", idea.id) }.into(), &[idea.id]);
        assert!(!purged.is_spelled_out(&note(&[&about.raw])));
    }

    #[test]
    fn an_anchor_goes_with_its_line_and_with_no_other() {
        let opened = event(IncidentOpened { title: "t".into(), ..Default::default() }.into(), &[]);
        let stranger = event(IncidentOpened { title: "s".into(), ..Default::default() }.into(), &[]);
        let key = Repo::blob_name(&note(&[&opened.raw])).unwrap();
        let mut purged = Purged::default();
        purged.collect(&key, &note(&[&opened.raw, &line::erase(&stranger.raw, true, true).unwrap()]));
        assert!(purged.blobs.is_empty());
        purged.collect(&key, &note(&[&line::erase(&opened.raw, false, true).unwrap()]));
        assert_eq!(purged.blobs, BTreeSet::from([key.clone()]));

        let mut other = Purged::default();
        let tombstone = event(EvidenceErased { oid: key.clone(), reason: String::new() }.into(), &[]);
        other.collect(&Repo::blob_name(b"x").unwrap(), &note(&[&tombstone.raw]));
        assert_eq!(other.blobs, BTreeSet::from([key]));
        assert!(other.absorb(&purged) && !other.absorb(&purged));
    }
}
