//! The `git-incident` program: everything is in the library.

fn main() {}
