//! Documents: reading and writing Markdown that belongs to people.

pub mod debuglog;
pub mod lint;
pub mod page;
pub mod postmortem;
