//! Starting the command: which streams it gets, and why it did not start.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};

use rustix::fs::OFlags;
use rustix::termios::isatty;

use super::pty::{Pty, RawMode, in_foreground, take_as_controlling};
use super::{Command, RUN_VARIABLE, Stream};
use crate::model::Error;

/// Why a command did not run, with the status a shell would have exited with.
#[derive(Debug, Clone)]
pub struct Failure {
    /// 127 when there is no such program, 126 when it cannot be executed, 125 for our own trouble.
    pub status: i32,
    /// What to tell the user.
    pub error: Error,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { status: 125, error }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Error::from(error).into()
    }
}

impl From<rustix::io::Errno> for Failure {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

/// The three streams that are ours.
#[derive(Clone, Copy)]
pub(super) struct Streams<'a> {
    pub(super) stdin: BorrowedFd<'a>,
    pub(super) stdout: BorrowedFd<'a>,
    pub(super) stderr: BorrowedFd<'a>,
}

impl Streams<'_> {
    /// Those this process was started with.
    pub(super) fn own() -> Self {
        Self {
            stdin: rustix::stdio::stdin(),
            stdout: rustix::stdio::stdout(),
            stderr: rustix::stdio::stderr(),
        }
    }
}

/// Where a stream of output goes besides the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mirror {
    Stdout,
    Stderr,
    Nowhere,
}

/// A started command and our ends of its streams.
pub(super) struct Started {
    pub(super) child: Child,
    /// What it writes.
    pub(super) sources: Vec<(OwnedFd, Mirror)>,
    /// What it reads, when that passes through us.
    pub(super) input: Option<OwnedFd>,
    /// Our end of its terminal, when it has one.
    pub(super) terminal: Option<OwnedFd>,
    /// Held for as long as the user's terminal is to be raw.
    pub(super) raw: Option<RawMode>,
}

/// Starts the command on a pseudo-terminal where the user would see its output on a terminal, else
/// on pipes; in a process group of its own either way.
pub(super) fn start(command: &Command, streams: &Streams<'_>, mark: &str) -> Result<Started, Failure> {
    let mut prepared = std::process::Command::new(&command.argv[0]);
    prepared.args(&command.argv[1..]).env(RUN_VARIABLE, mark);
    apply(command, &mut prepared);
    if command.stream == Stream::Terminal && isatty(streams.stdout) && isatty(streams.stderr) {
        on_terminal(command, prepared, streams)
    } else {
        on_pipes(command, prepared, streams)
    }
}

/// Folder and environment, which captures share with the command.
pub(super) fn apply(command: &Command, prepared: &mut std::process::Command) {
    for (name, value) in &command.env {
        match value {
            Some(value) => prepared.env(name, value),
            None => prepared.env_remove(name),
        };
    }
    if let Some(cwd) = &command.cwd {
        prepared.current_dir(cwd);
    }
}

fn on_terminal(
    command: &Command,
    mut prepared: std::process::Command,
    streams: &Streams<'_>,
) -> Result<Started, Failure> {
    let pty = Pty::open(streams.stdout)?;
    let interactive = isatty(streams.stdin);
    let relayed = interactive && in_foreground(streams.stdin);
    prepared.stdin(if interactive { pty.slave.try_clone()? } else { copy(streams.stdin)? });
    prepared.stdout(pty.slave.try_clone()?).stderr(pty.slave);
    // SAFETY: between fork and exec the closure makes two system calls and nothing else: no memory
    // is allocated and no lock is taken.
    #[expect(unsafe_code, reason = "a session of its own can only be made in the child")]
    unsafe {
        prepared.pre_exec(take_as_controlling);
    }
    let raw = if relayed { Some(RawMode::enter(streams.stdin)?) } else { None };
    let child = spawn(command, prepared)?;
    Ok(Started {
        child,
        sources: vec![(pty.master.try_clone()?, Mirror::Stdout)],
        input: if relayed { Some(pty.master.try_clone()?) } else { None },
        terminal: Some(pty.master),
        raw,
    })
}

fn on_pipes(
    command: &Command,
    mut prepared: std::process::Command,
    streams: &Streams<'_>,
) -> Result<Started, Failure> {
    let (reader, writer) = io::pipe()?;
    prepared.stdout(writer.try_clone()?);
    let mut sources = Vec::new();
    if command.stream == Stream::Terminal && !same_file(streams.stdout, streams.stderr) {
        let (errors, error_writer) = io::pipe()?;
        prepared.stderr(error_writer);
        sources.push((reader.into(), Mirror::Stdout));
        sources.push((errors.into(), Mirror::Stderr));
    } else {
        // One pipe keeps the order exact where both end up in the same place anyway.
        prepared.stderr(writer);
        let mirror = if command.stream == Stream::Terminal { Mirror::Stdout } else { Mirror::Nowhere };
        sources.push((reader.into(), mirror));
    }
    // A process group of its own may not read the terminal (job control would stop it), so what is
    // typed passes through us.
    let mut input = None;
    if !isatty(streams.stdin) {
        prepared.stdin(copy(streams.stdin)?);
    } else if in_foreground(streams.stdin) {
        let (typed, to_child) = io::pipe()?;
        prepared.stdin(typed);
        let flags = rustix::fs::fcntl_getfl(&to_child)?;
        rustix::fs::fcntl_setfl(&to_child, flags | OFlags::NONBLOCK)?;
        input = Some(to_child.into());
    } else {
        prepared.stdin(Stdio::null());
    }
    prepared.process_group(0);
    let child = spawn(command, prepared)?;
    Ok(Started { child, sources, input, terminal: None, raw: None })
}

fn copy(stream: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    stream.as_fd().try_clone_to_owned()
}

/// Whether both are the same file, pipe or device, so that one order of output is meant.
fn same_file(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    match (rustix::fs::fstat(one), rustix::fs::fstat(other)) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}

/// Starts it and lets go of our copies of its streams, without which they would never end.
fn spawn(command: &Command, mut prepared: std::process::Command) -> Result<Child, Failure> {
    prepared.spawn().map_err(|error| {
        let program = command.argv[0].to_string_lossy();
        let status = match error.kind() {
            io::ErrorKind::NotFound => 127,
            _ => 126,
        };
        let trouble = Error::refused(format!("cannot run `{program}`"));
        let error = match error.raw_os_error() {
            _ if status == 127 && program.contains('/') => trouble
                .because("no such file, or its interpreter is missing")
                .hint("check the path and the `#!` line"),
            _ if status == 127 => trouble
                .because("command not found")
                .hint("check the spelling and PATH; shell syntax needs `sh -c '…'`"),
            Some(code) if code == rustix::io::Errno::ACCESS.raw_os_error() => {
                trouble.because("permission denied").hint(format!("make it executable: `chmod +x {program}`"))
            }
            Some(code) if code == rustix::io::Errno::NOEXEC.raw_os_error() => trouble
                .because("not a program this machine can execute")
                .hint("a script needs a first line such as `#!/bin/sh`"),
            _ => trouble.because(error),
        };
        Failure { status, error }
    })
}
