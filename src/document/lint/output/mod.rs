//! What findings look like: for people, for GitHub, as SARIF, as JSON. Strings only; printing is the command line's.

pub mod github;
pub mod human;
pub mod json;
pub mod sarif;

use super::{Diagnostic, Severity};
use crate::document::page::Lines;

/// A document that was checked.
#[derive(Debug, Clone)]
pub struct Checked {
    /// Where it is, as it is shown.
    pub path: String,
    /// Its text; empty when it could not be read.
    pub text: String,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    pub(super) fn lines(&self) -> Lines {
        Lines::of(&self.text)
    }
}

/// How many findings of each weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
    /// Findings with a repair.
    pub fixable: usize,
}

impl Counts {
    /// Counts them.
    pub fn of(checked: &[Checked]) -> Self {
        let mut counts = Self::default();
        for diagnostic in checked.iter().flat_map(|c| &c.diagnostics) {
            match diagnostic.severity {
                Severity::Error => counts.errors += 1,
                Severity::Warning => counts.warnings += 1,
                Severity::Note => counts.notes += 1,
            }
            counts.fixable += usize::from(diagnostic.fix.is_some());
        }
        counts
    }
}

/// Text without characters that move a cursor, colour or turn the direction around. Each becomes one visible one.
pub(super) fn visible(c: char) -> char {
    match c {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => '\u{fffd}',
        _ => c,
    }
}

/// A message on one line, safe to show.
pub(super) fn safe(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t' | '\r') { ' ' } else { visible(c) }).collect()
}

#[cfg(test)]
mod tests;
