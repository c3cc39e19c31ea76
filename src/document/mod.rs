//! Documents: reading and writing Markdown that belongs to people.

pub mod debuglog;
pub mod page;
pub mod postmortem;
pub mod render;
