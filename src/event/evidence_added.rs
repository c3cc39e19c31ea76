//! `evidence.added`: a file was stored, or described where it stays.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::{Evidence, Incident, Redaction};
use crate::model::{EventId, Oid};

/// A stored file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EvidenceAdded {
    /// The blob; absent when the file stays outside of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oid: Option<Oid>,
    /// SHA-256 of the bytes.
    pub sha256: String,
    /// Their number.
    pub bytes: u64,
    /// The file's name.
    pub name: String,
    /// `log`, `diff`, `untracked`, `profile`, `sizes`, `tensor`, `samples`, `capture`, `record`, `file`.
    pub kind: String,
    /// The attempt it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<EventId>,
    /// Where it stands when it stays outside.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub location: String,
    /// Secrets that were cut out before it was stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

impl EventType for EvidenceAdded {
    const TYPE: &'static str = "evidence.added";

    fn apply(&self, event: &Context<'_>, incident: &mut Incident) {
        incident.evidence.push(Evidence {
            stamp: event.stamp.clone(),
            oid: self.oid.clone(),
            sha256: self.sha256.clone(),
            bytes: self.bytes,
            name: self.name.clone(),
            kind: self.kind.clone(),
            attempt: self.attempt,
            location: self.location.clone(),
            redacted: self.redacted.clone(),
            // The tombstone may come first in the order, from a clone that did not know of this event.
            erased: self.oid.as_ref().is_some_and(|oid| incident.erased_blobs.contains(oid)),
        });
    }
}
