//! The two refs that travel between clones, and what both have in common.

use crate::fold;
use crate::git::repo::MAX_BLOB_BYTES;
use crate::git::{Repo, notes, refs};
use crate::model::{Error, Oid, Result};

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

/// A note of more lines is no ledger: ours go on in segments long before (a line has 350 bytes at least, a note of
/// ours hardly more than 256 KiB), and each line that is read costs memory.
const MOST_LINES: usize = 1 << 18;

/// The union of the blobs noted under one key: lines of all, each once, in the order in which they stand.
///
/// One blob is returned as it is, byte for byte: only a union is ever put together anew.
///
/// # Errors
/// A blob is not here; the note is larger than any of ours can be.
pub fn union_of(repo: &Repo, blobs: &[Oid]) -> Result<Vec<u8>> {
    let mut texts = Vec::with_capacity(blobs.len());
    let mut bytes = 0;
    for blob in blobs {
        let text = bearable(blob, repo.blob(blob)?)?;
        bytes += text.len();
        if bytes as u64 > MAX_BLOB_BYTES {
            return Err(too_much(blob, "the note stands in several places and is too large in all"));
        }
        texts.push(text);
    }
    match texts.len() {
        0 => Ok(Vec::new()),
        1 => Ok(texts.remove(0)),
        _ => Ok(union_of_lines(&texts)),
    }
}

/// The bytes of a note, if they are few enough lines.
///
/// # Errors
/// They are not.
pub fn bearable(blob: &Oid, bytes: Vec<u8>) -> Result<Vec<u8>> {
    if bytes.len() > MOST_LINES && memchr::memchr_iter(b'\n', &bytes).count() > MOST_LINES {
        return Err(too_much(blob, "it is a note of more lines than any ledger has"));
    }
    Ok(bytes)
}

fn too_much(blob: &Oid, why: &str) -> Error {
    Error::refused(format!("object {} is too large to be read as a note", blob.short()))
        .because(why)
        .hint(format!("look at it with: git cat-file blob {} | head -c 1000", blob.as_str()))
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
