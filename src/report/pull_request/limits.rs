//! How much of everything is shown, and the lists that are cut.

use crate::model::markdown::{self, Place};

/// How many points each list has, and how long its texts are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Stored files.
    pub(super) evidence: usize,
    /// Files of the diff.
    pub(super) files: usize,
    /// Attempts that were ruled out.
    pub(super) attempts: usize,
    /// Recommended workflows.
    pub(super) workflows: usize,
    /// People.
    pub(super) people: usize,
    /// Commits.
    pub(super) commits: usize,
    /// Figures on performance.
    pub(super) figures: usize,
    /// What is missing.
    pub(super) missing: usize,
    /// Gates.
    pub(super) gates: usize,
    /// Characters of a point.
    pub(super) line: usize,
    /// Characters of a longer text.
    pub(super) block: usize,
}

/// From everything worth reading down to what fits whatever the record holds. What can be looked up in the
/// ledger goes first; gates go last, because a description that hides one says less than none.
pub(super) const LADDER: [Limits; 6] = [
    rung([20, 100, 200, 40, 15, 50, 40, 20, 200], 600, 6_000),
    rung([10, 50, 60, 30, 10, 30, 20, 20, 200], 400, 4_000),
    rung([5, 25, 25, 20, 8, 15, 10, 15, 150], 250, 2_000),
    rung([3, 10, 10, 10, 6, 10, 6, 10, 100], 150, 1_000),
    rung([2, 5, 5, 5, 4, 5, 4, 8, 40], 80, 300),
    rung([1, 2, 2, 2, 2, 2, 2, 4, 20], 40, 120),
];

const fn rung(lists: [usize; 9], line: usize, block: usize) -> Limits {
    let [evidence, files, attempts, workflows, people, commits, figures, missing, gates] = lists;
    Limits { evidence, files, attempts, workflows, people, commits, figures, missing, gates, line, block }
}

impl Limits {
    pub(super) fn line(self, text: &str) -> String {
        markdown::line(text, self.line, Place::Forge)
    }

    pub(super) fn block(self, text: &str) -> String {
        markdown::block(text, self.block, Place::Forge)
    }

    pub(super) fn code(self, text: &str) -> String {
        markdown::code(text, self.line)
    }
}

/// A list with a point for each item, cut; what is not shown is not written either.
pub(super) fn list<T>(items: &[T], most: usize, mut write: impl FnMut(&T) -> String) -> String {
    let mut lines: Vec<String> = items.iter().take(most).map(|item| format!("- {}", write(item))).collect();
    lines.extend(more(items.len(), most).map(|more| format!("- {more}")));
    lines.join("\n")
}

/// `…and N more`, when there are more.
pub(super) fn more(count: usize, most: usize) -> Option<String> {
    (count > most).then(|| format!("…and {} more", count - most))
}

pub(super) fn join(parts: &[String]) -> String {
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
    parts.join("\n\n")
}
