//! Row 2: git itself. Objects, notes trees, refs and locks through libgit2; everything else through
//! the `git` program, which is run from here alone.

pub mod durability;
pub mod lock;
pub mod notes;
pub mod refs;
pub mod repo;

pub use repo::Repo;
//! Everything that touches a git repository: objects and refs, and the `git` program itself.
//!
//! This row is the only place of the crate that runs `git`; [`program`] is the one way to do so.

pub mod diff;
pub mod hooks;
pub mod program;
pub mod setup;
pub mod trailers;
