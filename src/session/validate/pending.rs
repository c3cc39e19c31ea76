//! Gates that were let through for want of a device, until they have passed somewhere.

use serde::{Deserialize, Serialize};

use super::{GateResult, Session};
use crate::git::lock;
use crate::git::whole::{self, Access};
use crate::model::{Error, Oid, Result};

/// The file's name in the state directory.
const FILE: &str = "pending";

/// The most that are kept; the oldest go first.
const MOST: usize = 1000;

/// A gate that waits for its device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The gate's id.
    pub gate: String,
    /// The commit it is due for.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The device it waits for.
    pub device: String,
    /// The ref that was pushed to; empty when nothing was pushed.
    #[serde(default)]
    pub target: String,
    /// Why it was not run.
    pub reason: String,
}

impl Pending {
    pub(super) fn of(result: &GateResult, target: Option<&str>) -> Self {
        Self {
            gate: result.gate.clone(),
            commit: result.commit.clone(),
            tree: result.tree.clone(),
            device: result.device.clone(),
            target: target.unwrap_or_default().to_owned(),
            reason: result.reason.clone(),
        }
    }
}

impl Session {
    /// The gates that wait for a device, oldest first; none when the file is missing or damaged (it is
    /// disposable: the next push finds out again).
    pub fn pending_gates(&self) -> Vec<Pending> {
        let path = self.repo.common_dir().join("incident").join(FILE);
        std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    pub(super) fn add_pending(&self, pending: &Pending) -> Result<()> {
        self.change_pending(|all| {
            all.retain(|known| known.gate != pending.gate || known.tree != pending.tree);
            all.push(pending.clone());
        })
    }

    pub(super) fn settle_pending(&self, gate: &str, tree: &Oid) -> Result<()> {
        if self.pending_gates().is_empty() {
            return Ok(());
        }
        self.change_pending(|all| all.retain(|known| known.gate != gate || known.tree != *tree))
    }

    fn change_pending(&self, change: impl FnOnce(&mut Vec<Pending>)) -> Result<()> {
        let _lock = lock::WriterLock::acquire(&self.repo)?;
        let before = self.pending_gates();
        let mut all = before.clone();
        change(&mut all);
        let surplus = all.len().saturating_sub(MOST);
        all.drain(..surplus);
        if all == before {
            return Ok(());
        }
        let text = serde_json::to_vec(&all)
            .map_err(|e| Error::bug("pending gates cannot be written as JSON").because(e))?;
        write_state(self, FILE, &text)
    }
}

/// Writes a file of the state directory whole or not at all.
pub(super) fn write_state(session: &Session, name: &str, bytes: &[u8]) -> Result<()> {
    let directory = lock::state_dir(&session.repo)?;
    whole::replace(&directory.join(name), bytes, Access::Umask).map_err(|e| {
        Error::refused(format!("{} cannot be written", directory.join(name).display())).because(e)
    })
}
