//! `why`: the incidents whose attempts touched a file, some of its lines, or a function.
//!
//! Three ways lead there. `git blame` names the commits that wrote the lines of today, and their links name the attempts.
//! Linked commits in the file's history whose lines are gone again are placed by their hunks. And attempts that were
//! never merged are placed by the diff that was stored with them, or by their commits that no branch leads to.

mod attempts;
mod place;

pub use place::Spot;

use crate::model::outcome::Outcome;
use crate::model::status::{Role, Status};
use crate::model::{EventId, Oid, Result, Timestamp};

use super::Session;

/// What an incident, or one of its attempts, has to do with the place.
#[derive(Debug, Clone, PartialEq)]
pub struct Touch {
    /// The incident.
    pub incident: Oid,
    /// Its title.
    pub title: String,
    /// Its ticket.
    pub ticket: String,
    /// Where it stands.
    pub status: Status,
    /// The attempt: its id, its number, what describes it best.
    pub attempt: Option<(EventId, usize, String)>,
    /// The attempt's outcome, once it has ended.
    pub outcome: Option<Outcome>,
    /// The first line of what it told.
    pub conclusion: String,
    /// The commit that undid its fix.
    pub reverted: Option<Oid>,
    /// What the commit is to the incident.
    pub role: Option<Role>,
    /// The commit by which it touched the place.
    pub commit: Option<Oid>,
    /// How that is known.
    pub how: How,
    /// Where it touched the file, in the lines of today; nothing when that is not known.
    pub lines: Vec<(u64, u64)>,
    /// When.
    pub at: Timestamp,
}

/// How a touch is known; the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Lines of today are by this commit.
    Blame,
    /// The commit stands in the file's history, and its hunks lie here.
    History,
    /// No branch leads to the commit; its hunks lie here.
    Unmerged,
    /// The diff that was stored with the attempt lies here.
    Diff,
    /// It brought a file of that name that git did not know.
    Untracked,
    /// The incident names the file.
    Named,
}

impl How {
    /// The word of the views.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blame => "blame",
            Self::History => "history",
            Self::Unmerged => "unmerged",
            Self::Diff => "diff",
            Self::Untracked => "untracked",
            Self::Named => "named",
        }
    }
}

/// What is known of a place.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The place.
    pub spot: Spot,
    /// Other names the file had.
    pub former: Vec<String>,
    /// The incidents and attempts, newest first.
    pub touches: Vec<Touch>,
    /// Whether git knows the path: it is there, or it was.
    pub known: bool,
    /// What could not be looked at.
    pub remarks: Vec<String>,
}

impl Answer {
    /// Attempts that ended without fixing the bug, newest first.
    pub fn failed(&self) -> Vec<&Touch> {
        use crate::model::outcome::Bug::Remains;
        self.touches.iter().filter(|t| t.outcome.is_some_and(|o| o.bug == Remains)).collect()
    }
}

impl Session {
    /// What incidents have to do with a place: `PATH`, `PATH:LINE`, `PATH:FIRST,LAST`, `PATH:/FUNCTION/`.
    ///
    /// # Errors
    /// No such file, line or function; git fails.
    pub fn why(&self, place: &str) -> Result<Answer> {
        let (mut spot, past) = self.spot(place)?;
        let mut remarks = Vec::new();
        let touches = self.touches(&mut spot, &past, &mut remarks)?;
        let known = !spot.gone || !past.commits.is_empty();
        let former = past.names.into_iter().filter(|name| *name != spot.path).collect();
        Ok(Answer { spot, former, touches, known, remarks })
    }
}
