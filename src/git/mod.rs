//! Row 2: git itself. Objects, notes trees, refs and locks through libgit2; everything else through
//! the `git` program, which is run from here alone ([`program`] is the one way to do so).

pub mod attributes;
pub mod bulk;
pub mod credentials;
pub mod diff;
pub mod durability;
pub mod erase;
pub mod examine;
pub mod history;
pub mod hooks;
pub mod interactive;
pub mod line_history;
pub mod lock;
pub mod look_up;
pub mod maintenance;
pub mod notes;
pub mod pairs;
pub mod partial;
pub mod program;
pub mod push_target;
pub mod refs;
pub mod remote_url;
pub mod repo;
pub mod setup;
pub mod signing;
pub mod snapshot;
pub mod trailers;
pub mod transport;
pub mod whole;
pub mod worktree;

pub use repo::Repo;
