//! The index of the ledgers: `SQLite` with FTS5 in the local state of the clone, disposable.
//!
//! It is built from the refs when it is missing, damaged or of another version, and brought up to date by comparing
//! notes trees, by whoever asks it next: writers never touch it. Nothing is only in it: removing it changes no answer.
//! Where it cannot be written, or is not worth it, the same tables are filled in memory.

mod ask;
mod condition;
mod fill;
mod objects;
mod open;
mod patch_ids;
mod place;
mod schema;
#[cfg(test)]
mod tests;
mod update;

pub use ask::{Answer, Claim, Hit};
pub use condition::{Condition, condition};
pub use objects::patch;
pub use open::{Index, Patience};
pub use patch_ids::PatchIds;
pub use place::forget;
