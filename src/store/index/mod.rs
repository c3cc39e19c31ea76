//! The index of the ledgers: SQLite with FTS5 in the local state of the clone, disposable.
//!
//! It is built from the refs when it is missing, damaged or of another version, and brought up to date by comparing
//! notes trees. Nothing is only in it: removing it changes no answer. Where it cannot be written, the same tables are
//! filled in memory.

mod patch_ids;
mod place;
mod schema;

pub use patch_ids::PatchIds;
pub use place::forget;
