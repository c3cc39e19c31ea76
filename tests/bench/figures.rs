//! Ratios against git.
fn main() {}
