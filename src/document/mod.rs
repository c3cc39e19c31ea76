//! Documents: reading and writing Markdown that belongs to people.

pub mod brief;
pub mod debuglog;
pub mod diff;
pub mod lint;
pub mod page;
mod pattern;
pub mod postmortem;
pub mod render;
