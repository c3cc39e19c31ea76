//! The review diff of two versions of a post-mortem: what a reviewer must see first, first.
//!
//! Order (docs/POSTMORTEMS.md): claims that say more without new evidence; evidence that is gone; facts that changed;
//! action items opened, closed or lost; sections added, removed, moved; then prose. Sentences are aligned before words
//! are compared, and words only within aligned pairs. Wrapping, list markers and emphasis do not count. Moves are
//! exact: whatever moved and changed is shown as a change. What could not be aligned is said.

mod actions;
mod align;
mod claims;
mod evidence;
mod facts;
mod review;
mod show;
mod units;
mod words;

use super::page::Place;

pub use review::compare;
pub use show::{silence, to_html, to_markdown};
pub use units::canonical_text;
pub use words::{Edit, Op, compare as word_edits};

/// The largest document that is compared, in bytes.
pub const MAX_BYTES: usize = 8 << 20;

/// What a change is, in the order in which reviewers want them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A statement says more than before, and nothing in its section is new evidence for it.
    ClaimWidened,
    /// A link, commit, stored file, record or output is not in the document any more.
    EvidenceRemoved,
    /// A statement says more than before, and its section has new evidence.
    ClaimSupported,
    /// A number, date, commit, ticket, device, owner or status is another one.
    FactChanged,
    /// An action item was opened, closed, reopened, lost, or changed hands.
    ActionItem,
    /// A section was added, removed, renamed or moved.
    Section,
    /// Words.
    Prose,
}

impl Kind {
    /// All, in their order.
    pub const ALL: [Self; 7] = [
        Self::ClaimWidened,
        Self::EvidenceRemoved,
        Self::ClaimSupported,
        Self::FactChanged,
        Self::ActionItem,
        Self::Section,
        Self::Prose,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaimWidened => "claim-widened",
            Self::EvidenceRemoved => "evidence-removed",
            Self::ClaimSupported => "claim-supported",
            Self::FactChanged => "fact-changed",
            Self::ActionItem => "action-item",
            Self::Section => "section",
            Self::Prose => "prose",
        }
    }

    /// The heading above such changes.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::ClaimWidened => "Claims widened without new evidence",
            Self::EvidenceRemoved => "Evidence removed",
            Self::ClaimSupported => "Claims widened, with new evidence beside them",
            Self::FactChanged => "Facts changed",
            Self::ActionItem => "Action items",
            Self::Section => "Sections",
            Self::Prose => "Prose",
        }
    }
}

/// One side of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Its text, on one line.
    pub text: String,
    /// Where it starts.
    pub place: Place,
}

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is.
    pub kind: Kind,
    /// The section it is in (of the new version, where there is one); empty before the first heading.
    pub section: String,
    /// What happened, in words; empty where the sides say all.
    pub message: String,
    /// What was there.
    pub old: Option<Side>,
    /// What is there.
    pub new: Option<Side>,
    /// How the words of the two sides differ; empty unless both are there.
    pub words: Vec<Edit>,
}

/// All changes between two versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// In the order of [`Kind`], then of the document.
    pub changes: Vec<Change>,
    /// What could not be aligned, and what follows for the reader.
    pub unaligned: Vec<String>,
    /// Whether the bytes differ at all.
    pub differs: bool,
}

/// What became of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its text changed.
    Modified,
    /// It stands at another path, whether its text changed or not.
    Renamed,
}

impl Status {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
        }
    }
}

/// A document and its review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Where it is; where it was, if it is gone.
    pub path: String,
    /// Where it was, if it is elsewhere now.
    pub former: Option<String>,
    /// What became of it.
    pub status: Status,
    /// What changed in it. Of a new or a removed document: its evidence and action items alone, as the rest must be
    /// read whole.
    pub review: Review,
    /// Why there is no review, where there is none.
    pub degraded: Option<String>,
}

impl Document {
    /// Reads both versions; `None` is a version that does not exist.
    pub fn of(path: &str, former: Option<String>, old: Option<&[u8]>, new: Option<&[u8]>) -> Self {
        let status = match (old, new) {
            (None, _) => Status::Added,
            (_, None) => Status::Removed,
            _ if former.is_some() => Status::Renamed,
            _ => Status::Modified,
        };
        let mut document =
            Self { path: path.to_owned(), former, status, review: Review::default(), degraded: None };
        match (readable(old), readable(new)) {
            (Ok(old), Ok(new)) => {
                document.review = compare(old, new);
                if matches!(status, Status::Added | Status::Removed) {
                    document
                        .review
                        .changes
                        .retain(|c| matches!(c.kind, Kind::EvidenceRemoved | Kind::ActionItem));
                }
            }
            (Err(why), _) => document.degraded = Some(format!("the old version {why}")),
            (_, Err(why)) => document.degraded = Some(format!("the new version {why}")),
        }
        document
    }
}

fn readable(bytes: Option<&[u8]>) -> std::result::Result<&str, String> {
    let bytes = bytes.unwrap_or_default();
    if bytes.len() > MAX_BYTES {
        return Err(format!("is larger than 8 MiB ({} bytes): no review, see git diff", bytes.len()));
    }
    let text = std::str::from_utf8(bytes);
    text.map_err(|e| format!("is not UTF-8 (byte {}): no review, see git diff", e.valid_up_to()))
        .map(|text| text.strip_prefix('\u{feff}').unwrap_or(text))
}

impl Review {
    /// The changes of one kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |c| c.kind == kind)
    }
}

#[cfg(test)]
mod tests;
