//! Installs the hooks beside whatever is there, and takes them away without a trace.
//!
//! git 2.54 and newer runs hooks that the configuration names; there the repository's local
//! configuration gets a section per event. Older versions get a marked block in the hook file. The
//! block stands first, since a line after an `exit` or `exec` would never run, and gives standard
//! input on to what follows. A hook that is no shell script, or not executable, is moved aside and
//! run by ours. `core.hooksPath` is never set, and a directory it names is never written to: it
//! belongs to the project, to a hook manager or to all repositories of the user.

mod config;
mod file;
mod inspect;
mod place;

use std::path::PathBuf;

pub use inspect::{Found, State, inspect};

use super::program::{Git, Version};
use crate::model::{Error, Result};

/// A moment at which git calls us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A message was written: trailers are added and checked.
    CommitMsg,
    /// Commits leave: gates are looked up.
    PrePush,
    /// A commit was made: its line is written.
    PostCommit,
    /// Commits were rewritten: links follow.
    PostRewrite,
}

impl Event {
    /// All of them, in the order of a commit's life.
    pub const ALL: [Self; 4] = [Self::CommitMsg, Self::PostCommit, Self::PostRewrite, Self::PrePush];

    /// git's name of the event, which is also the name of the hook file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CommitMsg => "commit-msg",
            Self::PrePush => "pre-push",
            Self::PostCommit => "post-commit",
            Self::PostRewrite => "post-rewrite",
        }
    }

    /// Whether git says something on standard input.
    const fn reads_stdin(self) -> bool {
        matches!(self, Self::PrePush | Self::PostRewrite)
    }

    /// Whether a failure stops what the user does; the others only take note.
    const fn decides(self) -> bool {
        matches!(self, Self::CommitMsg | Self::PrePush)
    }
}

/// What a hook does on a machine where the program is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// It says so and lets the user go on.
    #[default]
    Allow,
    /// It says so and stops the commit or the push.
    Block,
}

/// Which hooks to install, and how.
#[derive(Debug, Clone)]
pub struct HookSet {
    /// The events.
    pub events: Vec<Event>,
    /// What happens without the program.
    pub missing: Missing,
}

impl Default for HookSet {
    fn default() -> Self {
        Self { events: Event::ALL.to_vec(), missing: Missing::Allow }
    }
}

/// How one event was dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// A section in the repository's local configuration, with this friendly name.
    Config(String),
    /// A new hook file.
    Created(PathBuf),
    /// A block in the hook file that was there.
    Block(PathBuf),
    /// A hook file that runs the former one, which was moved to the second path.
    Wrapped(PathBuf, PathBuf),
    /// Everything was in place.
    Unchanged(PathBuf),
    /// Nothing was written; a person has to add these lines to that place.
    Manual {
        /// Who owns the place: `husky`, `core.hooksPath` and so on.
        owner: String,
        /// The file to edit.
        path: PathBuf,
        /// What to add there.
        lines: String,
    },
    /// Our hook was removed.
    Removed(PathBuf),
    /// There was nothing of ours.
    Absent,
}

/// What an installation or removal did.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What was done for each event.
    pub events: Vec<(Event, Done)>,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

/// Installs the hooks. Doing it twice leaves the same bytes as doing it once.
///
/// `program` is what the hooks call, as a name found in PATH or an absolute path.
pub fn install(git: &Git, set: &HookSet, program: &str) -> Result<Report> {
    if program.is_empty() || program.contains(['\n', '\r', '\0', '\'']) {
        return Err(Error::bug(format!("`{program}` cannot stand in a hook")));
    }
    let mut report = Report::default();
    let place = place::find(git)?;
    if git.version()? >= Version::CONFIG_HOOKS {
        for &event in &set.events {
            // A block of an older git would run a second time.
            for directory in place.own_directories() {
                file::remove(&directory, event)?;
            }
            let changed = config::add(git, event, set.missing, program)?;
            let name = config::section(event);
            report
                .events
                .push((event, if changed { Done::Config(name) } else { Done::Unchanged(name.into()) }));
        }
        return Ok(report);
    }
    for &event in &set.events {
        config::remove(git, event)?;
        let done = match place.manual(event, program) {
            Some(manual) => manual,
            None => file::add(&place.directory, event, set.missing, program)?,
        };
        report.events.push((event, done));
    }
    report.notes.extend(place.notes(program, &set.events));
    Ok(report)
}

/// What a person has to add where the hooks belong to somebody else; `None` where we write them.
///
/// # Errors
/// git does not say where hooks are.
pub fn by_hand(git: &Git, event: Event, program: &str) -> Result<Option<Done>> {
    if git.version()? >= Version::CONFIG_HOOKS {
        return Ok(None);
    }
    Ok(place::find(git)?.manual(event, program))
}

/// What to know about other programs that write hooks here.
///
/// # Errors
/// git does not say where hooks are.
pub fn managers(git: &Git, program: &str) -> Result<Vec<String>> {
    Ok(place::find(git)?.notes(program, &Event::ALL))
}

/// Removes every hook of ours; files, directories and configuration are as they were before.
pub fn uninstall(git: &Git) -> Result<Report> {
    let mut report = Report::default();
    let place = place::find(git)?;
    for event in Event::ALL {
        let mut done = Done::Absent;
        if config::remove(git, event)? {
            done = Done::Removed(config::section(event).into());
        }
        for directory in place.own_directories() {
            if file::remove(&directory, event)? {
                done = Done::Removed(directory.join(event.name()));
            }
        }
        report.events.push((event, done));
    }
    Ok(report)
}

#[cfg(test)]
mod tests;
