//! Run a command the way the shell would have, and know afterwards what happened.
//!
//! The command's output reaches the user as it would without us and at the same time a file; a hang
//! is looked at, then ended together with everything the command started; a Ctrl-C ends the command
//! but not the recording of it.
//!
//! | file | what it knows |
//! |---|---|
//! | `drive` | the life of one run, from start to end |
//! | `spawn` | which streams the command gets, and why it did not start |
//! | `pump` | moving bytes between the command, the user and the file |
//! | `record` | the file with a bounded size, and the last lines |
//! | `pty` | pseudo-terminals, raw mode, window sizes |
//! | `signals` | signals meant for the command that reach us |
//! | `capture` | the commands that look at a hanging process |
//! | `tree` | finding and ending all descendants |
//! | `detach` | a process that outlives ours |

mod capture;
mod detach;
mod drive;
mod pty;
mod pump;
mod record;
mod signals;
mod spawn;
mod tree;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::Error;

pub use capture::Capture;
pub use detach::{Detached, detach, settle};
pub use spawn::Failure;

/// The environment variable by which processes of one run are recognised as such.
pub const RUN_VARIABLE: &str = "GIT_INCIDENT_RUN";

/// Where the command's output goes besides the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// To our own stdout and stderr as it arrives; over a pseudo-terminal when both are terminals.
    Terminal,
    /// Its last 40 lines to our stderr when it has ended.
    Stderr,
    /// Nowhere.
    Quiet,
}

/// What to run and how long to wait for it.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments; looked up on the `PATH` that the command gets.
    pub argv: Vec<OsString>,
    /// Where to run it; here when absent.
    pub cwd: Option<PathBuf>,
    /// Changes to our own environment; `None` removes a variable.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// How long it may run in all.
    pub timeout: Option<Duration>,
    /// How long it may be silent.
    pub idle: Option<Duration>,
    /// How long it may take to end after SIGTERM, before everything is killed.
    pub grace: Duration,
    /// Where the output goes besides the file.
    pub stream: Stream,
    /// The file that receives stdout and stderr as they arrive; emptied first, readable by its
    /// owner only when it is new.
    pub output: PathBuf,
    /// The most bytes the file keeps: from more, the beginning and the end are kept.
    pub max_output: u64,
    /// Shell commands that look at a hanging command before it is killed, in which `{pid}` and
    /// `{pgid}` stand for its process and its process group.
    pub on_hang: Vec<String>,
}

impl Command {
    /// A command without limits that streams to the terminal and keeps up to 50 MiB in `output`.
    pub fn new<I, A>(argv: I, output: impl Into<PathBuf>) -> Self
    where
        I: IntoIterator<Item = A>,
        A: Into<OsString>,
    {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            env: Vec::new(),
            timeout: None,
            idle: None,
            grace: Duration::from_secs(2),
            stream: Stream::Terminal,
            output: output.into(),
            max_output: 50 << 20,
            on_hang: Vec::new(),
        }
    }
}

/// Which limit a hanging command met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HangKind {
    /// It ran too long.
    Timeout,
    /// It was silent too long.
    Idle,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The command exited with this status.
    Exited(i32),
    /// A signal ended the command, by its number.
    Signalled(i32),
    /// A limit was met, and everything the command had started was ended.
    Hang(HangKind),
    /// The user's Ctrl-C ended it: at once, or by insisting with a second one within two seconds.
    Interrupted,
}

impl End {
    /// The status a shell would report: 128 + number for a signal, 124 for a hang (as `timeout`
    /// does), 130 for an interruption.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Exited(status) => status,
            Self::Signalled(number) => 128_i32.saturating_add(number),
            Self::Hang(_) => 124,
            Self::Interrupted => 130,
        }
    }
}

/// What a run left behind.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Monotonic time from the start of the command to its end (captures and grace included).
    pub duration: Duration,
    /// Bytes the command wrote, kept or not.
    pub output_bytes: u64,
    /// Bytes that did not fit into the file and were left out of its middle.
    pub dropped_bytes: u64,
    /// Why the file is incomplete beyond that (a full disk, say), if it is.
    pub output_error: Option<String>,
    /// Whether the command had a pseudo-terminal (its output may hold colours and cursor movement).
    pub terminal: bool,
    /// What the on-hang commands said.
    pub captures: Vec<Capture>,
    /// Processes of the command that even SIGKILL did not end within five seconds (stuck in a
    /// driver, or another user's).
    pub left_over: Vec<i32>,
}

/// Runs a command to its end, whatever that end is.
///
/// A [`Failure`] means that it did not run; its `status` is what a shell would have exited with.
/// While it runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT that reach us are passed on to it and do not
/// end us. Processes that the command leaves in the background live on; where it had a terminal they
/// get SIGHUP at its end, as when a terminal window closes. One run at a time: a second caller in this process waits, since the terminal's mode,
/// signals and adopted orphans belong to the process as a whole.
pub fn run(command: &Command) -> Result<Outcome, Failure> {
    drive::run_on(command, &spawn::Streams::own())
}

/// Tells why a command cannot even be tried.
fn check(command: &Command) -> Result<(), Error> {
    if command.argv.first().is_none_or(|program| program.is_empty()) {
        return Err(Error::usage("there is no command to run").hint("put it after `--`"));
    }
    if let Some(cwd) = command.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
        return Err(Error::refused(format!("cannot run in {}", cwd.display())).because("it is not a folder"));
    }
    Ok(())
}
