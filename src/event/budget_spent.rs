//! `budget.spent`: time or money that no recorded attempt or run shows.

use serde::{Deserialize, Serialize};

use super::{Context, EventType};
use crate::model::incident::Incident;

/// What was spent elsewhere.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BudgetSpent {
    /// Minutes.
    #[serde(default)]
    pub minutes: u64,
    /// Millionths of the currency unit (decimals may not stand in a ledger as numbers).
    #[serde(default)]
    pub micros: u64,
    /// On what.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl EventType for BudgetSpent {
    const TYPE: &'static str = "budget.spent";

    fn apply(&self, _event: &Context<'_>, incident: &mut Incident) {
        incident.spent.minutes = incident.spent.minutes.saturating_add(self.minutes);
        incident.spent.micros = incident.spent.micros.saturating_add(self.micros);
    }
}
