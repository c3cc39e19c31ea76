//! What is active in this worktree: an incident, and an attempt of it. Disposable local state.

use serde::{Deserialize, Serialize};

use super::Session;
use crate::git::lock;
use crate::git::whole::{self, Access};
use crate::model::{Error, EventId, Oid, Result};

/// What is active.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Active {
    /// The incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<Oid>,
    /// The attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<EventId>,
}

impl Session {
    /// What is active here; nothing when the file is missing or damaged (it is disposable).
    pub fn active(&self) -> Active {
        let path = self.repo.git_dir().join("incident").join("active");
        std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Makes something active.
    ///
    /// # Errors
    /// A read-only repository.
    pub fn set_active(&self, active: &Active) -> Result<()> {
        let directory = lock::own_directory(self.repo.git_dir())?;
        let text = serde_json::to_vec(active)
            .map_err(|e| Error::bug("the active incident cannot be written as JSON").because(e))?;
        whole::replace(&directory.join("active"), &text, Access::Umask).map_err(|e| {
            Error::refused(format!("{} cannot be written", directory.display()))
                .because(e)
                .hint("check that the repository is writable and the disk is not full")
        })
    }

    /// The attempt that is active, if it belongs to this incident.
    pub fn active_attempt(&self, incident: &Oid) -> Option<EventId> {
        let active = self.active();
        if active.incident.as_ref() == Some(incident) { active.attempt } else { None }
    }
}
