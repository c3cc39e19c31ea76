//! Row 3: what is kept in the repository. `docs/STORAGE.md` is the specification.

pub mod cleanse;
pub mod evidence;
pub mod fsck;
pub mod guard;
pub mod index;
pub mod ledger;
pub mod lines;
pub mod merge;
pub mod records;
mod segments;
pub mod tombstones;
pub mod travelling;
