//! Uniting what came from elsewhere with what is here: by content, from any mixture of fan-outs and depths.
//!
//! Every line of both sides is kept, and what is erased on either side is erased. Both sides come to the same bytes:
//! a note that holds all of the other is taken as it is, else the lines of both are sorted, as
//! `git notes merge -s cat_sort_uniq` would.

mod one;
mod round;

use std::collections::{BTreeSet, HashSet};

use crate::git::refs::Swap;
use crate::git::{Repo, erase, lock, notes, pairs, refs};
use crate::model::{Oid, Result};

use super::guard::{self, Mended};
use super::tombstones::{self, Purged};
use super::travelling::{EVIDENCE, LEDGER, Travelling, union_of_lines};
use round::{Round, sorted};

pub use one::keys_of_incident;

/// How much travels one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Incidents that are new or have new events.
    pub incidents: usize,
    /// New lines of ledgers.
    pub events: usize,
    /// New files.
    pub evidence: usize,
    /// Bytes of both, before compression.
    pub bytes: u64,
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        self.incidents += other.incidents;
        self.events += other.events;
        self.evidence += other.evidence;
        self.bytes += other.bytes;
    }
}

/// The other side's commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Theirs {
    /// Of the ledger ref.
    pub ledger: Option<Oid>,
    /// Of the evidence ref.
    pub evidence: Option<Oid>,
}

/// What is to be done with what was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What<'a> {
    /// Everything is united.
    All,
    /// One incident is taken over: these keys of the two refs.
    Only {
        /// Keys of the ledger ref.
        ledger: &'a BTreeSet<Oid>,
        /// Keys of the evidence ref.
        evidence: &'a BTreeSet<Oid>,
    },
}

/// One ref after the merge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tip {
    /// Its commit here.
    pub commit: Option<Oid>,
    /// The commit that stands on the other side and holds what was purged: a push has to replace it.
    pub replaces: Option<Oid>,
}

/// What a merge did.
#[derive(Debug, Default)]
pub struct Merged {
    /// What came from there.
    pub fetched: Amount,
    /// What they do not have.
    pub pushed: Amount,
    /// The ledger ref.
    pub ledger: Tip,
    /// The evidence ref.
    pub evidence: Tip,
    /// Notes with new lines on which the lines on commits may depend.
    pub arrived: Vec<Oid>,
    /// Whether either side still spelled out what was purged.
    pub purged: bool,
    /// What had been lost here before.
    pub mended: Vec<Mended>,
}

/// One ref's merge as it is put together.
struct Part {
    which: Travelling,
    ours: Option<Oid>,
    theirs: Option<Oid>,
    changes: Vec<notes::Change>,
    strangers: Vec<pairs::Stranger>,
    same_as_ours: bool,
    same_as_theirs: bool,
}

impl Part {
    fn new(
        which: Travelling,
        ours: Option<Oid>,
        theirs: Option<Oid>,
        compared: &mut pairs::Compared,
    ) -> Self {
        Self {
            which,
            ours,
            theirs,
            changes: Vec::new(),
            same_as_ours: compared.theirs_only.is_empty(),
            same_as_theirs: compared.ours_only.is_empty(),
            strangers: std::mem::take(&mut compared.theirs_only),
        }
    }

    /// Settles a key: `result` is its blob after the merge.
    fn settle(&mut self, pair: &pairs::Pair, result: Option<Oid>) {
        let is = |blobs: &[Oid], odd: bool| !odd && blobs == result.as_slice();
        let as_ours = is(&pair.ours, pair.ours_odd);
        self.same_as_ours &= as_ours;
        self.same_as_theirs &= is(&pair.theirs, pair.theirs_odd);
        if !as_ours {
            self.changes.push(notes::Change { key: pair.key.clone(), blob: result });
        }
    }
}

/// Merges what was fetched into both refs, and publishes the result here. `dry`: it only tells what would come of it.
///
/// # Errors
/// An object is not here; the repository cannot be written.
pub fn merge(
    repo: &Repo,
    signature: &git2::Signature<'_>,
    theirs: &Theirs,
    what: What<'_>,
    dry: bool,
) -> Result<Merged> {
    let _lock = lock::WriterLock::acquire(repo)?;
    let mut mended = Vec::new();
    for _ in 0..guard::ATTEMPTS {
        for which in super::travelling::BOTH {
            mended.extend(guard::mend_locked(repo, which, signature)?);
        }
        let ours =
            Theirs { ledger: refs::read(repo, LEDGER.kept)?, evidence: refs::read(repo, EVIDENCE.kept)? };
        let mut merged = Merged { mended: mended.clone(), ..Merged::default() };
        let (ledger, evidence, purged, dirty) = plan(repo, &ours, theirs, what, dry, &mut merged)?;
        if dry {
            merged.ledger.commit = ours.ledger;
            merged.evidence.commit = ours.evidence;
            return Ok(merged);
        }
        merged.purged = dirty.ours || dirty.theirs;
        if merged.purged {
            tombstones::mark(repo)?;
        }
        let partial = what != What::All;
        merged.evidence = settle(repo, &evidence, dirty, partial, signature)?;
        merged.ledger = settle(repo, &ledger, dirty, partial, signature)?;
        let mut raced = false;
        for (part, tip) in [(&evidence, &merged.evidence), (&ledger, &merged.ledger)] {
            if let Some(new) = &tip.commit
                && tip.commit != part.ours
            {
                raced |= guard::publish(repo, part.which, new, part.ours.as_ref())? == Swap::Raced;
            }
        }
        if let Some(commit) = &merged.ledger.commit {
            purged.remember(repo, commit);
        }
        if !raced {
            return Ok(merged);
        }
        // A git command moved a notes ref in this instant; the kept refs hold everything already.
    }
    Err(guard::busy(LEDGER))
}

/// Which side's history spells out what was purged.
#[derive(Debug, Clone, Copy, Default)]
struct Dirty {
    ours: bool,
    theirs: bool,
}

fn plan(
    repo: &Repo,
    ours: &Theirs,
    theirs: &Theirs,
    what: What<'_>,
    dry: bool,
    merged: &mut Merged,
) -> Result<(Part, Part, Purged, Dirty)> {
    let tree = |commit: &Option<Oid>| commit.as_ref().map(|c| notes::tree_of(repo, c)).transpose();
    let (our_ledgers, their_ledgers) = (tree(&ours.ledger)?, tree(&theirs.ledger)?);
    let (our_files, their_files) = (tree(&ours.evidence)?, tree(&theirs.evidence)?);
    let mut ledgers = pairs::compare(repo, our_ledgers.as_ref(), their_ledgers.as_ref())?;
    let mut files = pairs::compare(repo, our_files.as_ref(), their_files.as_ref())?;
    if let What::Only { ledger, evidence } = what {
        ledgers.pairs.retain(|p| ledger.contains(&p.key));
        files.pairs.retain(|p| evidence.contains(&p.key));
        ledgers.theirs_only.clear();
        files.theirs_only.clear();
    }
    let mut ledger_part = Part::new(LEDGER, ours.ledger.clone(), theirs.ledger.clone(), &mut ledgers);
    let mut file_part = Part::new(EVIDENCE, ours.evidence.clone(), theirs.evidence.clone(), &mut files);

    let known = Purged::of(repo, ours.ledger.as_ref())?;
    let mut purged = known.clone();
    let mut round = loop {
        let mut round = Round::new(&purged, !dry);
        read_pairs(repo, &ledgers.pairs, |pair, ours, theirs| round.note(repo, pair, ours, theirs))?;
        let mut all = purged.clone();
        if !all.absorb(&round.incoming) {
            break round.done();
        }
        // What came last may erase what came first.
        purged = all;
    };
    for (pair, result) in ledgers.pairs.iter().zip(round.results.drain(..)) {
        ledger_part.settle(pair, result);
    }
    merged.fetched = round.fetched;
    merged.pushed = round.pushed;
    merged.arrived = std::mem::take(&mut round.arrived);

    let mut gone = purged.blobs_to_drop(repo, our_ledgers.as_ref())?;
    let there = purged.blobs_to_drop(repo, their_ledgers.as_ref())?;
    gone.retain(|blob| there.contains(blob));
    let notes_of: HashSet<&Oid> = ledgers.pairs.iter().map(|p| &p.key).collect();
    for pair in &files.pairs {
        let result = if gone.contains(&pair.key) { None } else { file(repo, pair)? };
        if let (Some(blob), false) = (&result, notes_of.contains(&pair.key)) {
            let amount = if pair.ours.is_empty() {
                Some(&mut merged.fetched)
            } else if pair.theirs.is_empty() {
                Some(&mut merged.pushed)
            } else {
                None
            };
            if let Some(amount) = amount {
                amount.evidence += 1;
                amount.bytes += repo.size_of(blob).unwrap_or(0);
            }
        }
        file_part.settle(pair, result);
    }
    // Those that stand on both sides are in no pair.
    let differing: HashSet<&Oid> = files.pairs.iter().map(|p| &p.key).collect();
    for key in gone.iter().filter(|key| !differing.contains(key)) {
        if let Some(tree) = &our_files
            && !notes::lookup(repo, tree, key)?.is_empty()
        {
            file_part.changes.push(notes::Change { key: key.clone(), blob: None });
            (file_part.same_as_ours, file_part.same_as_theirs) = (false, false);
        }
    }
    let dirty = dirty(repo, ours, theirs, &known, &purged, &gone)?;
    Ok((ledger_part, file_part, purged, dirty))
}

/// The blob of an evidence key: its own name, whenever either side has that.
fn file(repo: &Repo, pair: &pairs::Pair) -> Result<Option<Oid>> {
    let all: BTreeSet<&Oid> = pair.ours.iter().chain(&pair.theirs).collect();
    if all.contains(&pair.key) || all.len() < 2 {
        return Ok(if all.contains(&pair.key) {
            Some(pair.key.clone())
        } else {
            all.first().map(|o| (*o).clone())
        });
    }
    let texts = all.into_iter().map(|b| repo.blob(b)).collect::<Result<Vec<_>>>()?;
    repo.write_blob(&sorted(&union_of_lines(&texts))).map(Some)
}

/// Looks for what was purged in the histories, where there is anything to look for.
fn dirty(
    repo: &Repo,
    ours: &Theirs,
    theirs: &Theirs,
    known: &Purged,
    purged: &Purged,
    gone: &BTreeSet<Oid>,
) -> Result<Dirty> {
    if purged.is_empty() {
        return Ok(Dirty::default());
    }
    let tips = |side: &Theirs| -> Vec<Oid> { side.ledger.iter().chain(&side.evidence).cloned().collect() };
    let (our_tips, their_tips) = (tips(ours), tips(theirs));
    // What was known before was looked for in our history before, and removed, unless that is still to be done.
    let news = known != purged || tombstones::is_marked(repo);
    let our_history = if news { spelled_out(repo, &our_tips, &[], purged, gone)? } else { false };
    let not = if news { Vec::new() } else { our_tips };
    let their_history = spelled_out(repo, &their_tips, &not, purged, gone)?;
    Ok(Dirty { ours: our_history, theirs: their_history })
}

/// Whether anything below some commits, and not below others, spells out what was purged.
pub(super) fn spelled_out(
    repo: &Repo,
    tips: &[Oid],
    not: &[Oid],
    purged: &Purged,
    gone: &BTreeSet<Oid>,
) -> Result<bool> {
    let objects =
        erase::objects_below(repo, &tips.iter().collect::<Vec<_>>(), &not.iter().collect::<Vec<_>>())?;
    if objects.iter().any(|o| gone.contains(o)) {
        return Ok(true);
    }
    let mut found = false;
    erase::read_those_here(repo, &objects, |_, bytes| found = found || purged.is_spelled_out(bytes))?;
    Ok(found)
}

/// The commit of a ref after the merge.
fn settle(
    repo: &Repo,
    part: &Part,
    dirty: Dirty,
    partial: bool,
    signature: &git2::Signature<'_>,
) -> Result<Tip> {
    let replaces = part.theirs.clone().filter(|_| dirty.theirs);
    let (ours, theirs) = match (&part.ours, &part.theirs) {
        (None, None) => return Ok(Tip::default()),
        (Some(ours), None) if part.same_as_ours && !dirty.ours => {
            return Ok(Tip { commit: Some(ours.clone()), replaces: None });
        }
        (None, Some(theirs)) if part.same_as_theirs && !dirty.theirs && !partial => {
            return Ok(Tip { commit: Some(theirs.clone()), replaces: None });
        }
        (ours, theirs) => (ours.as_ref(), theirs.as_ref()),
    };
    // One incident taken over is no merge of the rest.
    let theirs_counts = theirs.filter(|_| !partial && !dirty.theirs);
    let ours_counts = ours.filter(|_| !dirty.ours);
    if let (Some(ours), Some(theirs)) = (ours_counts, theirs_counts)
        && part.same_as_ours
        && repo.is_ancestor(theirs, ours)
    {
        return Ok(Tip { commit: Some(ours.clone()), replaces });
    }
    if part.same_as_theirs
        && let Some(theirs) = theirs_counts
    {
        return Ok(Tip { commit: Some(theirs.clone()), replaces });
    }
    if part.same_as_ours
        && theirs_counts.is_none()
        && let Some(ours) = ours_counts
    {
        return Ok(Tip { commit: Some(ours.clone()), replaces });
    }
    let base = ours.map(|c| notes::tree_of(repo, c)).transpose()?;
    let changes =
        part.changes.iter().map(|c| notes::Change { key: c.key.clone(), blob: c.blob.clone() }).collect();
    let mut tree = notes::apply(repo, base.as_ref(), changes)?;
    if !part.strangers.is_empty() && !partial {
        tree = pairs::carry(repo, &tree, &part.strangers)?;
    }
    let mut parents: Vec<Oid> = Vec::new();
    match (ours_counts, theirs_counts) {
        (Some(ours), Some(theirs)) if repo.is_ancestor(ours, theirs) => parents.push(theirs.clone()),
        (Some(ours), Some(theirs)) if repo.is_ancestor(theirs, ours) => parents.push(ours.clone()),
        (ours, theirs) => parents.extend(ours.into_iter().chain(theirs).cloned()),
    }
    let message = format!("git incident: unite the {}\n", part.which.what);
    let commit = notes::commit(repo, &tree, &parents, signature, &message)?;
    Ok(Tip { commit: Some(commit), replaces })
}

/// Hands over each pair with its texts.
fn read_pairs(
    repo: &Repo,
    pairs: &[pairs::Pair],
    mut each: impl FnMut(&pairs::Pair, Vec<Vec<u8>>, Vec<Vec<u8>>) -> Result<()>,
) -> Result<()> {
    let blobs: Vec<Oid> = pairs.iter().flat_map(|p| p.ours.iter().chain(&p.theirs)).cloned().collect();
    let mut waiting = pairs.iter();
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut current = waiting.next();
    tombstones::read_all(repo, &blobs, |_, bytes| {
        texts.push(bytes.to_vec());
        if let Some(pair) = current
            && texts.len() == pair.ours.len() + pair.theirs.len()
        {
            let theirs = texts.split_off(pair.ours.len());
            each(pair, std::mem::take(&mut texts), theirs)?;
            current = waiting.next();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
