//! `gate.recorded`: a gate judged a tree that this incident is about.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::Oid;
use crate::model::incident::{GateResult, Incident};
use crate::model::status::Verdict;

/// A gate's result; the whole record stands under its descriptor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateRecorded {
    /// The gate's id in the configuration.
    pub gate: String,
    /// What it said.
    pub verdict: Verdict,
    /// The tree it judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// The device it ran on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// The record's descriptor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<Oid>,
}

impl EventType for GateRecorded {
    const TYPE: &'static str = "gate.recorded";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        incident.gates.push(GateResult {
            stamp: event.stamp.clone(),
            gate: self.gate.clone(),
            verdict: self.verdict,
            tree: self.tree.clone(),
            device: self.device.clone(),
            descriptor: self.descriptor.clone(),
        });
    }
}
