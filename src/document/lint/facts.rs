//! What the repository and the ledger say: handed in as values, so that the rules stay pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Whether something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Presence {
    /// It is.
    Yes,
    /// It is not, and never was as far as the history here tells.
    No,
    /// A shallow or partial clone: what is not here may be elsewhere.
    Shallow,
    /// Nobody could look: no repository, or not the one that is spoken of.
    #[default]
    Unknown,
}

/// A line of the code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodePlace {
    /// Path from the top of the repository.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
}

/// What a document speaks of and rules would like to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wants {
    /// Abbreviated commits, in lower case.
    pub commits: BTreeSet<String>,
    /// Paths from the top of the repository.
    pub paths: BTreeSet<String>,
    /// Pull requests, by number.
    pub pulls: BTreeSet<u64>,
    /// Names of functions, types and the like.
    pub identifiers: BTreeSet<String>,
    /// Names said to stand in a file: path, name.
    pub located: BTreeSet<(String, String)>,
    /// The incident that the document's comment names.
    pub incident: Option<String>,
    /// Tickets it is about, in lower case: from its name, its title and its summary.
    pub tickets: BTreeSet<String>,
}

impl Wants {
    /// Adds another document's wishes; incident and tickets stay this one's.
    pub fn merge(&mut self, other: &Self) {
        self.commits.extend(other.commits.iter().cloned());
        self.paths.extend(other.paths.iter().cloned());
        self.pulls.extend(other.pulls.iter().copied());
        self.identifiers.extend(other.identifiers.iter().cloned());
        self.located.extend(other.located.iter().cloned());
    }
}

/// What a repository answers to the wishes of all documents.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Whether there is a repository at all.
    pub repository: bool,
    /// Where it lives on the network: `host/owner/name` in lower case, from its remotes.
    pub homes: Vec<String>,
    /// Commits, by what was written.
    pub commits: HashMap<String, Presence>,
    /// Paths.
    pub paths: HashMap<String, Presence>,
    /// Pull requests. `No` only where the history names its pull requests.
    pub pulls: HashMap<u64, Presence>,
    /// Identifiers.
    pub identifiers: HashMap<String, Presence>,
    /// Identifiers in a file.
    pub located: HashMap<(String, String), Presence>,
    /// Instrumentation tags in the code, documents left out.
    pub tags: BTreeMap<String, Vec<CodePlace>>,
}

/// What the ledger says of one document's incident.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The incident's abbreviated id.
    pub incident: String,
    /// Attempts that did not fix it, and commits linked as failed, partial or reverted.
    pub failed: Vec<FailedAttempt>,
    /// Runs on the fix: of the repro and of gates, the larger sum.
    pub fix_runs: u64,
    /// Runs of the repro altogether.
    pub all_runs: u64,
    /// The time that recorded runs took altogether, in milliseconds.
    pub millis: u64,
    /// The devices that records name, as they name them.
    pub devices: Vec<String>,
    /// The most GPUs that one record names.
    pub gpus: u64,
    /// Whether any run or gate is recorded.
    pub records: bool,
    /// Pull requests that commits are linked with, as they are written.
    pub pulls: Vec<String>,
    /// Text of notes and conclusions: what else the incident's own record speaks of.
    pub text: String,
}

/// Something that was tried and did not fix it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedAttempt {
    /// How to name it: `attempt 2`, or `commit 0123abcd`.
    pub name: String,
    /// Its number; 0 for a commit that belongs to no attempt.
    pub ordinal: usize,
    /// Its event, in full.
    pub event: String,
    /// What it was about, in one line.
    pub headline: String,
    /// Everything that was said of it: title, hypothesis, action, conclusion, subjects of commits.
    pub texts: Vec<String>,
    /// Its commits, in full.
    pub commits: Vec<String>,
    /// Its pull requests.
    pub pulls: Vec<String>,
}

/// What the rules may ask about one document.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'f> {
    /// What the repository knows.
    pub known: &'f Known,
    /// What the ledger knows of its incident; `None` without one.
    pub ledger: Option<&'f Ledger>,
    /// Whether a ledger is here that does not hold the incident that the document names.
    pub incident_missing: bool,
}

impl Known {
    /// Whether a commit is there.
    pub fn commit(&self, id: &str) -> Presence {
        self.commits.get(id).copied().unwrap_or_default()
    }

    /// Whether a path is or was there.
    pub fn path(&self, path: &str) -> Presence {
        self.paths.get(path).copied().unwrap_or_default()
    }

    /// Whether `host/owner/name` is this repository.
    pub fn is_home(&self, place: &str) -> bool {
        self.homes.iter().any(|h| h.eq_ignore_ascii_case(place))
    }
}
