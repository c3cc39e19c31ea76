//! The two refs that travel between clones, and what both have in common.

use crate::fold;
use crate::git::{Repo, notes, refs};
use crate::model::{Oid, Result};

/// A notes ref that travels, and the local ref that guards it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Travelling {
    /// The notes ref.
    pub notes: &'static str,
    /// This clone's guard: moves before the notes ref, and keeps what the notes ref may lose.
    pub kept: &'static str,
    /// The file in the local state that names the kept ref's commit once more.
    pub remembered: &'static str,
    /// What it holds, in words.
    pub what: &'static str,
}

/// Ledgers under their anchors, records under their descriptors.
pub const LEDGER: Travelling = Travelling {
    notes: "refs/notes/incidents",
    kept: "refs/incident/kept/ledger",
    remembered: "kept-ledger",
    what: "ledger",
};

/// Evidence, anchors and descriptors, each under its own name.
pub const EVIDENCE: Travelling = Travelling {
    notes: "refs/notes/incidents-evidence",
    kept: "refs/incident/kept/evidence",
    remembered: "kept-evidence",
    what: "evidence",
};

/// Both, in the order in which they are written: evidence first, so that no ledger names what is not there.
pub const BOTH: [Travelling; 2] = [EVIDENCE, LEDGER];

/// The union of the blobs noted under one key: lines of all, each once, in the order in which they stand.
///
/// One blob is returned as it is, byte for byte: only a union is ever put together anew.
///
/// # Errors
/// A blob is not here.
pub fn union_of(repo: &Repo, blobs: &[Oid]) -> Result<Vec<u8>> {
    match blobs {
        [] => Ok(Vec::new()),
        [only] => repo.blob(only),
        many => {
            let texts = many.iter().map(|b| repo.blob(b)).collect::<Result<Vec<_>>>()?;
            Ok(union_of_lines(&texts))
        }
    }
}

/// The lines of several texts, each once, in the order in which they stand, each ended by a newline.
///
/// Of an event in several spellings one line is left, with everything erased that any of them has erased.
pub fn union_of_lines(texts: &[Vec<u8>]) -> Vec<u8> {
    fold::unite(texts.iter().map(Vec::as_slice))
}

/// The lines noted under a key of a ref; empty when there are none.
///
/// # Errors
/// An object is not here.
pub fn read(repo: &Repo, reference: &str, key: &Oid) -> Result<Vec<u8>> {
    let Some(commit) = refs::read(repo, reference)? else {
        return Ok(Vec::new());
    };
    let tree = notes::tree_of(repo, &commit)?;
    union_of(repo, &notes::lookup(repo, &tree, key)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn union_keeps_every_line_once() {
        let texts = [b"a\nb\n".to_vec(), b"b\n\nc".to_vec()];
        assert_eq!(union_of_lines(&texts), b"a\nb\nc\n");
    }
}
