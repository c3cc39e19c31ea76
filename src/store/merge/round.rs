//! One pass over the notes that differ: what each of them is after the merge, and how much of it is new to whom.

use std::collections::HashSet;

use crate::fold;
use crate::git::{Repo, pairs};
use crate::model::{Oid, Result};
use crate::store::tombstones::{self, Purged};

use super::Amount;

/// One pass over all notes that differ.
pub(super) struct Round<'a> {
    pub(super) purged: &'a Purged,
    pub(super) write: bool,
    pub(super) incoming: Purged,
    pub(super) results: Vec<Option<Oid>>,
    pub(super) fetched: Amount,
    pub(super) pushed: Amount,
    pub(super) arrived: Vec<Oid>,
}

/// What a pass found.
pub(super) struct Done {
    pub(super) results: Vec<Option<Oid>>,
    pub(super) fetched: Amount,
    pub(super) pushed: Amount,
    pub(super) arrived: Vec<Oid>,
}

impl<'a> Round<'a> {
    pub(super) fn new(purged: &'a Purged, write: bool) -> Self {
        Self {
            purged,
            write,
            incoming: Purged::default(),
            results: Vec::new(),
            fetched: Amount::default(),
            pushed: Amount::default(),
            arrived: Vec::new(),
        }
    }

    pub(super) fn done(self) -> Done {
        Done { results: self.results, fetched: self.fetched, pushed: self.pushed, arrived: self.arrived }
    }

    pub(super) fn note(
        &mut self,
        repo: &Repo,
        pair: &pairs::Pair,
        ours: Vec<Vec<u8>>,
        theirs: Vec<Vec<u8>>,
    ) -> Result<()> {
        for text in &theirs {
            self.incoming.collect(&pair.key, text);
        }
        let united = self.unite(&ours, &theirs);
        let set = |texts: &'_ [Vec<u8>]| -> HashSet<Vec<u8>> {
            texts.iter().flat_map(|t| fold::split_lines(t)).map(<[u8]>::to_vec).collect()
        };
        // Most notes are new on one side, and then there is nothing to compare.
        let (is_ours, is_theirs) = match (ours.is_empty(), theirs.is_empty(), &united) {
            (true, false, None) => (false, true),
            (false, true, None) => (true, false),
            (_, _, None) => (false, false),
            (_, _, Some(united)) => {
                let all = set(std::slice::from_ref(united));
                (all == set(&ours), all == set(&theirs))
            }
        };
        let text: &[u8] = match &united {
            Some(text) => text,
            None => ours.first().or(theirs.first()).map_or(&[], Vec::as_slice),
        };
        let fetched = count_new(&mut self.fetched, &ours, text);
        count_new(&mut self.pushed, &theirs, text);
        if fetched && !theirs.is_empty() && concerns_links(text) {
            self.arrived.push(pair.key.clone());
        }
        let single = |blobs: &[Oid]| if let [only] = blobs { Some(only.clone()) } else { None };
        let kept = match (is_ours, is_theirs) {
            (true, true) if pair.ours == pair.theirs => single(&pair.ours),
            (true, false) => single(&pair.ours),
            (false, true) => single(&pair.theirs),
            _ => None,
        };
        let blob = match kept {
            Some(blob) => blob,
            None if self.write => repo.write_blob(&sorted(text))?,
            None => Repo::blob_name(&sorted(text))?,
        };
        self.results.push(Some(blob));
        Ok(())
    }

    /// The lines of both sides; `None` when one text is all there is, and stays as it is.
    fn unite(&self, ours: &[Vec<u8>], theirs: &[Vec<u8>]) -> Option<Vec<u8>> {
        if ours.len() + theirs.len() == 1 {
            return self.purged.apply(ours.first().or(theirs.first())?);
        }
        let texts: Vec<&[u8]> = ours.iter().chain(theirs).map(Vec::as_slice).collect();
        // Without an erased member equal ids are equal lines, and nothing needs to be parsed.
        let united = if texts.iter().any(|t| tombstones::may_hold_tombstones(t)) {
            fold::unite(texts)
        } else {
            let mut seen = HashSet::new();
            let mut out = Vec::new();
            for line in texts.into_iter().flat_map(fold::split_lines).filter(|l| seen.insert(*l)) {
                out.extend_from_slice(line);
                out.push(b'\n');
            }
            out
        };
        Some(self.purged.apply(&united).unwrap_or(united))
    }
}

/// Whether lines on commits may depend on a note: it links some, or it is a part of a ledger that may.
fn concerns_links(text: &[u8]) -> bool {
    ["\"type\":\"commit.linked\"", "\"type\":\"ledger.continued\"", "\"type\":\"ledger.segment\""]
        .iter()
        .any(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
}

/// Counts the lines of a text that a side lacks; says whether there are any.
fn count_new(amount: &mut Amount, side: &[Vec<u8>], text: &[u8]) -> bool {
    let there: HashSet<&[u8]> = side.iter().flat_map(|t| fold::split_lines(t)).collect();
    let (mut lines, mut events) = (0, 0);
    for line in fold::split_lines(text).filter(|l| !there.contains(l)) {
        lines += 1;
        amount.bytes += line.len() as u64 + 1;
        events += usize::from(memchr::memmem::find(line, b"\"parents\":[").is_some());
    }
    amount.events += events;
    if events > 0 && memchr::memmem::find(text, b"\"type\":\"incident.opened\"").is_some() {
        amount.incidents += 1;
    }
    lines > 0
}

/// The lines in the order of their bytes, as `cat_sort_uniq` leaves them.
pub(super) fn sorted(text: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = fold::split_lines(text).collect();
    lines.sort_unstable();
    lines.dedup();
    let mut out = Vec::with_capacity(text.len() + 1);
    for line in lines {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out
}
