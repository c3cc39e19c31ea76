//! `repro.ran`: how often the bug was seen in a series of runs on one tree.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Incident, ReproRun};
use crate::model::{EventId, Oid};

/// A series of runs of the repro command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReproRan {
    /// The `repro.set` event whose command ran.
    pub repro: EventId,
    /// How often it ran.
    pub runs: u32,
    /// In how many of them the bug was seen.
    pub failures: u32,
    /// The commit it ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    /// The tree it ran on: the commit's, or that of the dirty working tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// Whether the working tree differed from the commit.
    #[serde(default)]
    pub dirty: bool,
    /// Total time in milliseconds.
    #[serde(default)]
    pub millis: u64,
    /// Where it ran.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub environment: serde_json::Value,
    /// Outputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Oid>,
}

impl Default for ReproRan {
    fn default() -> Self {
        Self {
            repro: EventId::from_bytes([0; 32]),
            runs: 0,
            failures: 0,
            commit: None,
            tree: None,
            dirty: false,
            millis: 0,
            environment: serde_json::Value::Null,
            evidence: Vec::new(),
        }
    }
}

impl EventType for ReproRan {
    const TYPE: &'static str = "repro.ran";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        // Runs of a command that is no longer in force stay in the ledger and count for nothing.
        if incident.repro.set_by == Some(self.repro) {
            incident.repro.runs.push(ReproRun {
                stamp: event.stamp.clone(),
                runs: self.runs,
                failures: self.failures.min(self.runs),
                commit: self.commit.clone(),
                tree: self.tree.clone(),
                dirty: self.dirty,
                millis: self.millis,
                environment: self.environment.clone(),
                evidence: self.evidence.clone(),
            });
        }
    }
}
