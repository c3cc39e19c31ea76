//! Everything that touches a git repository: objects and refs, and the `git` program itself.
//!
//! This row is the only place of the crate that runs `git`; [`program`] is the one way to do so.

pub mod diff;
pub mod hooks;
pub mod program;
pub mod setup;
pub mod trailers;
pub mod worktree;
