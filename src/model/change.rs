//! What git says of commits and diffs, as plain values that documents and reports are made from.

use super::Oid;

/// A commit as a document names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFacts {
    /// The commit.
    pub commit: Oid,
    /// The first line of its message.
    pub subject: String,
    /// The day it was authored, `YYYY-MM-DD`; empty when unknown.
    pub date: String,
    /// Who wrote it: a name; empty when unknown.
    pub author: String,
    /// Its pull request, such as `#123` or an address; empty when unknown.
    pub pr: String,
    /// Paths it touches, from the top of the repository; empty when nobody looked.
    pub paths: Vec<String>,
}

/// A file that a diff touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Path from the top of the repository.
    pub path: String,
    /// Lines added; `None` for a file that is not text.
    pub added: Option<u64>,
    /// Lines removed; `None` for a file that is not text.
    pub deleted: Option<u64>,
}

impl ChangedFile {
    /// The size of the change: `+12 −3`, or `binary`.
    pub fn size(&self) -> String {
        match (self.added, self.deleted) {
            (None, None) => "binary".to_owned(),
            (added, deleted) => format!("+{} −{}", added.unwrap_or(0), deleted.unwrap_or(0)),
        }
    }
}
