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
