//! `ledger.continued`: the ledger goes on in a segment.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::Oid;
use crate::model::incident::Incident;

/// Stands in an incident's first note; each names one segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerContinued {
    /// The segment's anchor: the blob that is its first event line.
    pub segment: Oid,
}

impl EventType for LedgerContinued {
    const TYPE: &'static str = "ledger.continued";

    fn apply(&self, _event: &Context<'_>, _incident: &mut Incident) {
        // The store follows it when it reads the ledger; the incident itself does not change.
    }
}
