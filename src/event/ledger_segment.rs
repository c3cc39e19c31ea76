//! `ledger.segment`: the first event of a segment, whose line is the segment's anchor.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::Oid;
use crate::model::incident::Incident;

/// Says whose ledger goes on here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerSegment {
    /// The incident's anchor.
    pub incident: Oid,
}

impl EventType for LedgerSegment {
    const TYPE: &'static str = "ledger.segment";

    fn apply(&self, _event: &Context<'_>, _incident: &mut Incident) {
        // It joins the heads of everything before it, so that a writer needs to read only the last segment.
    }
}
