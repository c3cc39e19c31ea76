//! A row of `list`: what is shown of an incident among many. It is kept by the index, so it can be read back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::views;
use crate::model::incident::Incident;
use crate::model::status::Status;
use crate::model::{Oid, Timestamp};

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The incident.
    pub id: Oid,
    /// Its status.
    pub status: Status,
    /// When its last event was written, in milliseconds.
    pub last_at: i64,
    /// Its labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Statuses that were set at the same time elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rivals: Vec<Status>,
    /// As `list --json` shows it.
    pub view: Value,
}

impl Row {
    /// Of an incident.
    pub fn of(incident: &Incident) -> Option<Self> {
        Some(Self {
            id: incident.id.clone()?,
            status: *incident.status,
            last_at: incident.last_at.millis(),
            labels: incident.labels.get().clone(),
            rivals: incident.status.rivals().copied().collect(),
            view: views::row(incident),
        })
    }

    /// When its last event was written.
    pub fn updated(&self) -> Timestamp {
        Timestamp::from_millis(self.last_at)
    }

    /// A text of the view.
    pub fn text(&self, member: &str) -> &str {
        self.view.get(member).and_then(Value::as_str).unwrap_or_default()
    }

    /// A number of the view.
    pub fn number(&self, member: &str) -> u64 {
        self.view.get(member).and_then(Value::as_u64).unwrap_or_default()
    }
}

/// Open ones first, the newest on top.
pub fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| {
        (a.status != Status::Open, b.last_at, &a.id).cmp(&(b.status != Status::Open, a.last_at, &b.id))
    });
}
