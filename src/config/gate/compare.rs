//! What gates of the kinds that compare have beside the common keys.

use serde_json::{Map, Value, json};

use super::GateKind;
use crate::config::decimal::Decimal;
use crate::config::section::Section;

/// The keys of this file.
pub(super) const KEYS: &[&str] = &["policy", "reference", "candidate", "atol", "rtol"];

/// How a comparison judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Within `atol` + `rtol` × |reference|.
    Allclose,
    /// No worse than the protected branch's version.
    Baseline,
    /// Every bit the same.
    Bitwise,
}

const POLICIES: [(&str, Policy); 3] =
    [("allclose", Policy::Allclose), ("baseline", Policy::Baseline), ("bitwise", Policy::Bitwise)];

/// What is compared, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compare {
    /// `policy`.
    pub policy: Option<Policy>,
    /// `reference`: a file below `$GATE_OUT`.
    pub reference: Option<String>,
    /// `candidate`: a file below `$GATE_OUT`.
    pub candidate: Option<String>,
    /// `atol`: absolute tolerance.
    pub atol: Option<Decimal>,
    /// `rtol`: relative tolerance.
    pub rtol: Option<Decimal>,
}

impl Compare {
    pub(super) fn read(section: &mut Section<'_, '_>) -> Self {
        Self {
            policy: section.choice("policy", &POLICIES),
            // A kernel's reference is a table, and the kernel's own to read.
            reference: if section.is_table("reference") { None } else { section.path("reference") },
            candidate: section.path("candidate"),
            atol: section.decimal("atol"),
            rtol: section.decimal("rtol"),
        }
    }

    pub(super) fn canonical(&self, map: &mut Map<String, Value>) {
        let decimal = |decimal: &Option<Decimal>| decimal.as_ref().map(|decimal| json!(decimal.canonical()));
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
        let policy = self.policy.and_then(|set| POLICIES.iter().find(|(_, policy)| *policy == set));
        for (key, value) in [
            ("policy", policy.map(|(word, _)| json!(word))),
            ("reference", text(&self.reference)),
            ("candidate", text(&self.candidate)),
            ("atol", decimal(&self.atol)),
            ("rtol", decimal(&self.rtol)),
        ] {
            if let Some(value) = value {
                map.insert(key.into(), value);
            }
        }
    }

    pub(super) fn check(&self, kind: GateKind, section: &mut Section<'_, '_>) {
        if kind == GateKind::Compare {
            for key in ["reference", "candidate"] {
                if !section.has(key) {
                    section.problem(key, format!("a gate of kind \"compare\" needs \"{key}\""));
                    section.hint("name the files that run writes below $GATE_OUT");
                }
            }
        }
        for key in ["atol", "rtol"] {
            if section.has(key) && self.policy == Some(Policy::Bitwise) {
                section.problem_at_key(key, format!("\"{key}\" has no meaning with policy \"bitwise\""));
            }
        }
    }
}
