//! Row 3: GitHub. Opens a draft pull request or updates one of ours; what else GitHub can do is not expressible.
//!
//! | file | what it knows |
//! |---|---|
//! | `routes` | every request there is, and the one place that sends |
//! | `host` | which API belongs to a host, and who may say otherwise |
//! | `token` | where a token comes from, and that it is never shown |
//! | `failure` | what GitHub's refusals mean, and the way out of each |
//! | `answers` | what is read of GitHub's answers |
//! | `decide` | create, update, leave alone, or refuse |
//! | `open` | the sequence of requests, and what is done when an answer is in doubt |

pub mod answers;
pub mod decide;
pub mod failure;
pub mod host;
pub mod open;
pub mod routes;
pub mod token;

pub use decide::{Decision, Wish};
pub use host::Api;
pub use open::{Forge, Opened};
pub use routes::{Repository, Request};
pub use token::Token;
