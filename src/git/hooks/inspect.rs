//! Says whether the hooks are in place and whether git will reach them.

use std::path::PathBuf;

use super::{Event, Missing, config, file, place};
use crate::git::program::{Git, Version};
use crate::model::Result;

/// How an event's hook stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Named in the configuration, and this git reads it.
    Config,
    /// A block in a hook file that git runs.
    File,
    /// In place, but not what this version would write: `git incident init` renews it.
    Outdated,
    /// In place, but git does not reach it, for this reason.
    Unreachable(String),
    /// Not in place.
    Absent,
}

/// What stands for one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The event.
    pub event: Event,
    /// How it stands.
    pub state: State,
    /// The hook file that git would run.
    pub path: PathBuf,
}

/// Looks at every event. `program` is what the hooks should call.
pub fn inspect(git: &Git, program: &str) -> Result<Vec<Found>> {
    let place = place::find(git)?;
    let reads_config = git.version()? >= Version::CONFIG_HOOKS;
    let mut found = Vec::new();
    for event in Event::ALL {
        let path = file::live(&place.directory, event)?;
        let own = file::live(&place.common_dir.join("hooks"), event)?;
        let state = if let Some(command) = config::read(git, event)? {
            let current = [Missing::Allow, Missing::Block]
                .into_iter()
                .any(|missing| config::command(event, missing, program) == command);
            match (reads_config, current) {
                (false, _) => {
                    State::Unreachable("git older than 2.54 ignores hooks in the configuration".into())
                }
                (true, false) => State::Outdated,
                (true, true) => State::Config,
            }
        } else if let Some(installed) = file::installed(&path)? {
            if !installed.runs {
                State::Unreachable("the hook file is not executable, or lines stand before our block".into())
            } else if installed.is_current(event, program) {
                State::File
            } else {
                State::Outdated
            }
        } else if path != own && file::installed(&own)?.is_some() {
            let now = place.hooks_path.as_deref().unwrap_or_default();
            State::Unreachable(format!(
                "core.hooksPath is `{now}`, so git does not look at {}",
                own.display()
            ))
        } else {
            State::Absent
        };
        found.push(Found { event, state, path });
    }
    Ok(found)
}
