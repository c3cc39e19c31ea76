//! Markdown that people and agents keep by hand: read into values, written back from values.

pub mod postmortem;
