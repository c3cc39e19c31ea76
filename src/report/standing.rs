//! What an incident's record proves.

use crate::model::Oid;
use crate::model::incident::Incident;

/// A fix link that resolves to a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixCommit {
    /// The commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
}

/// The measured rate of the repro, and what it showed on the fix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReproSummary {
    /// Runs that measure the rate.
    pub runs: u32,
    /// Those in which the bug was seen.
    pub failures: u32,
    /// Whether the rate is known well enough.
    pub reliable: bool,
    /// Whether every run showed it.
    pub deterministic: bool,
    /// How often a fix must pass.
    pub needed: u32,
    /// Runs on the fix.
    pub fix_runs: u32,
    /// Those in which the bug was seen.
    pub fix_failures: u32,
}

/// What is shown by recorded evidence, and what is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// The rate.
    pub repro: ReproSummary,
    /// A reliable repro.
    pub repro_ok: bool,
    /// A confirmed cause.
    pub cause_ok: bool,
    /// A fix link that resolves.
    pub fix_ok: bool,
    /// The repro passes there often enough.
    pub validation_ok: bool,
    /// What is missing, with the command that mends it.
    pub missing: Vec<String>,
}

/// Stub until merged.
pub fn standing(_incident: &Incident, _fixes: &[FixCommit]) -> Standing {
    Standing::default()
}
