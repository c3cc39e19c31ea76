//! Row 1: was this tried before? Words, likeness of hypotheses, error fingerprints, patches, queries.
//!
//! Pure: texts in, documents, scores and findings out. `store::index` keeps what is made here, and answers must not
//! depend on whether it does.

pub mod concepts;
pub mod document;
pub mod fingerprint;
pub mod patch;
pub mod query;
pub mod rank;
pub mod similar;
pub mod words;

/// A number for a text, the same on every machine (FNV-1a). Not for anything that somebody could want to forge.
pub fn hash(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}
