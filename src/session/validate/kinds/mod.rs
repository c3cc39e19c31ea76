//! What each kind of gate runs, and how what it left behind is judged: one file per kind.
//!
//! The arithmetic and the parsing stand in `crate::validate`, pure; here they meet the worktree, `$GATE_OUT` and
//! the device. To add a kind: write its file with a type that is a [`Kind`], and name it in [`of`].

mod build;
mod command;
mod compare;
mod kernel;
mod left;
mod repeat;
mod sanitizer;

use std::path::Path;
use std::time::SystemTime;

use super::subject::Job;
use crate::config::GateKind;
use crate::model::Result;
use crate::validate::gate::{End, Judged};

/// Where a gate runs.
pub(super) struct Site<'a> {
    /// The gate, and the commit it is for.
    pub(super) job: &'a Job,
    /// `$GATE_OUT`: new and empty before the first step.
    pub(super) out: &'a Path,
    /// The time by the file system's own clock when `$GATE_OUT` was made: what is older was not made by this run.
    pub(super) since: SystemTime,
}

/// One command of a gate.
pub(super) struct Step {
    /// What `/bin/sh` runs in the worktree.
    pub(super) command: String,
    /// Whether the next step runs although this one did not exit with 0.
    pub(super) go_on: bool,
}

/// A kind of gate.
pub(super) trait Kind {
    /// The commands, in their order. They run after `prepare`, each within the gate's own limits.
    fn steps(&self, site: &Site<'_>) -> Result<Vec<Step>>;

    /// What it means that the steps ended so (in their order; fewer than there were steps where one ended the gate).
    /// `output` is what all of them wrote.
    ///
    /// An error here is trouble of this machine. What is wrong with the gate's own files is a verdict.
    fn judge(&self, site: &Site<'_>, ends: &[End], output: &[u8]) -> Result<Judged>;
}

/// The kind's behaviour; `None` for one that this version does not run.
pub(super) fn of(kind: GateKind) -> Option<&'static dyn Kind> {
    match kind {
        GateKind::Command => Some(&command::Command),
        GateKind::Repeat => Some(&repeat::Repeat),
        GateKind::Compare => Some(&compare::Compare),
        GateKind::Kernel => Some(&kernel::Kernel),
        GateKind::Sanitizer => Some(&sanitizer::Sanitizer),
        GateKind::Build => Some(&build::Build),
        GateKind::Perf => None,
    }
}

/// The gate's own command once, as most kinds have it.
fn own_command(site: &Site<'_>) -> Step {
    Step { command: site.job.gate.run.clone().unwrap_or_default(), go_on: false }
}
