//! `evidence.erased`: a stored file is gone for good; the tombstone stays.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::Oid;
use crate::model::incident::Incident;

/// A stored file is gone for good, and no sync may bring it back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceErased {
    /// The blob.
    pub oid: Oid,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl EventType for EvidenceErased {
    const TYPE: &'static str = "evidence.erased";

    fn apply(&self, _event: &Context<'_>, incident: &mut Incident) {
        incident.erased_blobs.insert(self.oid.clone());
        for evidence in incident.evidence.iter_mut().filter(|e| e.oid.as_ref() == Some(&self.oid)) {
            evidence.erased = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EvidenceAdded, testing::fold};

    #[test]
    fn leaves_a_tombstone() {
        let oid = Oid::parse(&"a".repeat(40)).unwrap();
        let added = EvidenceAdded { oid: Some(oid.clone()), name: "log".into(), ..Default::default() };
        let incident = fold(vec![added.into(), EvidenceErased { oid, reason: String::new() }.into()]);
        assert!(incident.evidence[0].erased);
    }
}
