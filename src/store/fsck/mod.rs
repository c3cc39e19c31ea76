//! `fsck`: whether everything in the refs is what `docs/STORAGE.md` says, and putting right what can be.
//!
//! | file | what it checks |
//! |---|---|
//! | `structure` | the trees of the two travelling refs: depth, modes, what is no note, evidence under its own name |
//! | `notes` | what a note of the ledger ref is, line by line: a ledger, a segment, records, or none of these |
//! | `incident` | one ledger: parents, times, segments, anchor, evidence, links |
//! | `record` | the records under one descriptor |
//! | `projection` | the lines on commits against what the ledgers say |
//! | `kept` | the kept refs, and the files that name their commits |
//! | `repair` | rebuilding projections; moving aside, never deleting, what is none |
//!
//! Notes come from anybody. So sizes are looked at before bytes, nothing is fetched, what is found is bounded, and a
//! note past [`MAX_NOTE`] is not read.

mod incident;
mod kept;
mod notes;
mod projection;
mod record;
mod repair;
mod structure;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::git::Repo;
use crate::git::examine::Objects;
use crate::model::{Oid, Result};

use super::travelling::{BOTH, EVIDENCE, LEDGER, Travelling};

pub use repair::{QUARANTINE, Quarantined, Repaired, repair};

/// A larger note is not read: none of ours comes near it, as ledgers continue in segments from 256 KiB on.
pub const MAX_NOTE: u64 = 32 << 20;

/// A larger ledger, its segments counted, is checked in part.
const MAX_LEDGER: u64 = 96 << 20;

/// So many findings of one check are told; the others are counted.
const MAX_TOLD: usize = 200;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something is lost, damaged or misleads a reader.
    Error,
    /// Worth a look; nothing is lost.
    Warning,
    /// To know.
    Note,
}

impl Severity {
    /// The word of the JSON view.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which check found it: a word that stays the same.
    pub check: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The ref.
    pub reference: &'static str,
    /// The note's key, or the path of what is no note.
    pub key: Option<String>,
    /// The incident.
    pub incident: Option<Oid>,
    /// The line in the note, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// Whether `--repair` puts it right, or moves it out of the way.
    pub repairable: bool,
}

impl Problem {
    fn new(
        check: &'static str,
        severity: Severity,
        reference: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            check,
            severity,
            reference,
            key: None,
            incident: None,
            line: None,
            message: message.into(),
            repairable: false,
        }
    }

    fn error(check: &'static str, reference: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Severity::Error, reference, message)
    }

    fn warning(check: &'static str, reference: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Severity::Warning, reference, message)
    }

    fn note(check: &'static str, reference: &'static str, message: impl Into<String>) -> Self {
        Self::new(check, Severity::Note, reference, message)
    }

    fn key(mut self, key: impl ToString) -> Self {
        self.key = Some(key.to_string());
        self
    }

    fn of(mut self, incident: &Oid) -> Self {
        self.incident = Some(incident.clone());
        self
    }

    fn line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    fn repairable(mut self) -> Self {
        self.repairable = true;
        self
    }
}

/// How much was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ledgers.
    pub incidents: usize,
    /// Their events.
    pub events: usize,
    /// Blobs of evidence that ledgers name.
    pub evidence: usize,
    /// Validation records.
    pub records: usize,
    /// Links to commits.
    pub links: usize,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// How much was looked at.
    pub checked: Counts,
    /// Findings, the worst first.
    pub problems: Vec<Problem>,
    /// How many more findings each check had than are told.
    pub left_out: BTreeMap<&'static str, usize>,
    /// How many errors there are, told or not.
    pub errors: usize,
}

/// What can be done about it.
#[derive(Debug, Default)]
pub struct Plan {
    /// Keys to be written anew at 2/38 with mode 100644, the lines of all their blobs united.
    renote: BTreeMap<&'static str, BTreeSet<git2::Oid>>,
    /// What is to be moved aside.
    aside: Vec<Aside>,
    /// Notes that are to be moved aside, and why.
    aside_keys: BTreeMap<&'static str, BTreeMap<git2::Oid, Cow<'static, str>>>,
    /// Objects to be written, and noted under their own names.
    restore: BTreeMap<Oid, Vec<u8>>,
    /// Lines to be added to notes of the ledger ref: the first line of a ledger, or a descriptor.
    add_lines: BTreeMap<Oid, Vec<u8>>,
    /// Whether the lines on commits are to be made anew.
    lines: bool,
    /// Travelling refs that cannot be read at all, with what they are.
    broken: Vec<Travelling>,
}

/// Something that is no note, or a note that is nothing of ours.
#[derive(Debug, Clone)]
struct Aside {
    reference: &'static str,
    path: Vec<u8>,
    mode: i32,
    object: git2::Oid,
    reason: String,
}

/// Everything a check works with.
struct Check<'r> {
    repo: &'r Repo,
    objects: Objects<'r>,
    /// Only these ledgers, when some were named.
    wanted: Option<HashSet<Oid>>,
    partial: bool,
    shallow: bool,
    report: Report,
    told: HashMap<&'static str, usize>,
    plan: Plan,
    /// Keys of the evidence ref.
    evidence: HashSet<git2::Oid>,
    /// Those of them whose blob is not here, until a ledger is found that names them.
    absent: HashSet<git2::Oid>,
    /// Notes of the ledger ref: key and blob, sorted.
    ledger: Vec<(git2::Oid, git2::Oid)>,
    /// Segments that were found, and segments that a ledger names.
    segments: BTreeSet<Oid>,
    named_segments: BTreeSet<Oid>,
    /// Lines that commits should have.
    lines: BTreeMap<Oid, BTreeSet<String>>,
    /// Evidence that was not fetched, in a partial clone.
    not_fetched: usize,
    /// Links to commits that a shallow clone cannot tell of.
    beyond: usize,
    /// Signatures of records that were checked, and those that were not.
    signatures: usize,
    unchecked: usize,
    /// The program that checks signatures, once it was looked for.
    program: std::cell::OnceCell<Option<std::path::PathBuf>>,
}

impl Check<'_> {
    fn tell(&mut self, problem: Problem) {
        if problem.severity == Severity::Error {
            self.report.errors += 1;
        }
        let told = self.told.entry(problem.check).or_default();
        *told += 1;
        if *told <= MAX_TOLD {
            self.report.problems.push(problem);
        } else {
            *self.report.left_out.entry(problem.check).or_default() += 1;
        }
    }

    fn is_wanted(&self, key: &Oid) -> bool {
        self.wanted.as_ref().is_none_or(|w| w.contains(key))
    }
}

/// Checks everything, or the ledgers that are named and what belongs to them. Moves no ref.
///
/// # Errors
/// The object database cannot be opened; `git` cannot be started.
pub fn check(repo: &Repo, wanted: Option<&[Oid]>) -> Result<(Report, Plan)> {
    let mut check = Check::of(repo, wanted)?;
    check.structure_of(EVIDENCE)?;
    check.structure_of(LEDGER)?;
    check.notes()?;
    check.rest_of_evidence();
    check.projection()?;
    if check.wanted.is_none() {
        check.kept_refs();
    }
    check.summaries();
    let mut report = check.report;
    report.problems.sort_by_key(|p| p.severity);
    Ok((report, check.plan))
}

/// Whether the travelling refs can be read, and hold what the kept refs hold: the part that is quick.
///
/// # Errors
/// The object database cannot be opened.
pub fn quick(repo: &Repo) -> Result<Vec<Problem>> {
    let mut check = Check::of(repo, None)?;
    for which in BOTH {
        check.readable(which);
    }
    check.kept_refs();
    Ok(check.report.problems)
}

impl<'r> Check<'r> {
    fn of(repo: &'r Repo, wanted: Option<&[Oid]>) -> Result<Self> {
        Ok(Self {
            repo,
            objects: Objects::of(repo)?,
            wanted: wanted.map(|w| w.iter().cloned().collect()),
            partial: repo.is_partial(),
            shallow: repo.raw().is_shallow(),
            report: Report::default(),
            told: HashMap::new(),
            plan: Plan::default(),
            evidence: HashSet::new(),
            absent: HashSet::new(),
            ledger: Vec::new(),
            segments: BTreeSet::new(),
            named_segments: BTreeSet::new(),
            lines: BTreeMap::new(),
            not_fetched: 0,
            beyond: 0,
            signatures: 0,
            unchecked: 0,
            program: std::cell::OnceCell::new(),
        })
    }
}

impl Check<'_> {
    /// Evidence that is not here and that no ledger of ours names: another clone's may.
    fn rest_of_evidence(&mut self) {
        if self.wanted.is_some() {
            return;
        }
        let mut absent: Vec<git2::Oid> = std::mem::take(&mut self.absent).into_iter().collect();
        if self.partial {
            self.not_fetched += absent.len();
            return;
        }
        absent.sort_unstable();
        for id in absent {
            self.tell(
                Problem::error(
                    "evidence-missing",
                    EVIDENCE.notes,
                    format!("the blob {id} is noted and not here"),
                )
                .key(id),
            );
        }
    }

    fn summaries(&mut self) {
        if self.not_fetched > 0 {
            let text = format!(
                "{} blobs of evidence were not fetched (partial clone), so their digests cannot be told",
                self.not_fetched
            );
            self.tell(Problem::note("not-fetched", EVIDENCE.notes, text));
        }
        if self.unchecked > 0 {
            let text = format!("the signatures of {} records were not checked", self.unchecked);
            self.tell(Problem::note("record", LEDGER.notes, text));
        }
        if self.beyond > 0 {
            let text = format!(
                "{} links name commits that are not in this shallow clone: cannot tell whether they exist",
                self.beyond
            );
            self.tell(Problem::note("link", LEDGER.notes, text));
        }
    }
}

#[cfg(test)]
mod tests;
