//! Expressions of our own.

use regex::Regex;

/// Compiles a constant expression.
#[expect(clippy::expect_used, reason = "every expression here is a constant, and the tests compile them all")]
pub(super) fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).expect("an expression of ours is well-formed")
}
