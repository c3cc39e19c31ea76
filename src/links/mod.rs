//! What links commits to attempts, read out of messages and patches: pure, so that what the hooks, `relink` and `why`
//! decide can be tested without a repository.

pub mod matching;
pub mod message;
pub mod place;
