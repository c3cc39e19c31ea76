//! Row 2: git itself. Objects, notes trees, refs and locks through libgit2; everything else through
//! the `git` program, which is run from here alone.

pub mod durability;
pub mod lock;
pub mod notes;
pub mod refs;
pub mod repo;

pub use repo::Repo;
