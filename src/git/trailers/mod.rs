//! Trailers: the `Key: value` lines of the final block of a commit message.
//!
//! [`read()`] is a reader in this process, fast enough for a thousand messages and held by its tests
//! to what `git interpret-trailers --parse` says; [`add_trailers`] edits a message file the way
//! `commit-msg` needs it.

mod edit;
mod read;

pub use edit::{Added, Cleanup, Skip, add_trailers};
pub use read::{Trailer, body_end, read, values};

#[cfg(test)]
mod tests;
