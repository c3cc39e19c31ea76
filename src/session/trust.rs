//! Placeholder until the gates land.

use super::Session;
use crate::model::{Error, Result};

impl Session {
    /// The on-hang captures, when trusted.
    ///
    /// # Errors
    /// Not trusted.
    pub fn trusted_captures(&self) -> Result<Vec<String>> {
        if self.config()?.commands().is_empty() {
            Ok(Vec::new())
        } else {
            Err(Error::refused("the configuration is not trusted").hint("git incident trust"))
        }
    }
}

/// A gate that waits.
pub struct Pending {
    /// Its id.
    pub gate: String,
    /// The commit.
    pub commit: crate::model::Oid,
    /// Why.
    pub reason: String,
}

impl Session {
    /// Gates that wait.
    pub fn pending_gates(&self) -> Vec<Pending> {
        Vec::new()
    }
}
