//! A process of ours that goes on when we have ended.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::model::{Error, Result};

/// What is started.
#[derive(Debug)]
pub struct Detached {
    /// Arguments of our own program.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Changes to our own environment; `None` removes a variable.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// A locked file that becomes its standard input: somebody holds the lock from before the start until its
    /// end, however it ends. It has to call [`settle`].
    pub held: File,
    /// Where what it says goes.
    pub log: File,
}

/// Starts our own program again, to live on when we have ended.
///
/// # Errors
/// It cannot be started.
pub fn detach(what: Detached) -> Result<()> {
    let program = std::env::current_exe()
        .map_err(|e| Error::refused("the program's own path is not known").because(e))?;
    let mut command = Command::new(program);
    for (name, value) in &what.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .args(&what.arguments)
        .current_dir(&what.cwd)
        .stdin(Stdio::from(what.held))
        .stdout(Stdio::from(what.log.try_clone()?))
        .stderr(Stdio::from(what.log));
    command.spawn().map_err(|e| Error::refused("a background process cannot be started").because(e))?;
    Ok(())
}

/// Inside the detached process, first thing: leaves the terminal and the process group of whoever started it,
/// and keeps the locked file to itself, so that nothing it starts can hold on to the lock.
///
/// # Errors
/// The file cannot be kept.
pub fn settle() -> Result<File> {
    // A session of its own: neither Ctrl-C nor the end of the terminal shall reach it. It fails only for a
    // process that leads a group already, and so is out of reach of both.
    let _ = rustix::process::setsid();
    let held = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)
        .map_err(|e| Error::refused("the lock cannot be kept").because(e))?;
    let null = File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)
        .map_err(|e| Error::refused("standard input cannot be closed").because(e))?;
    Ok(File::from(held))
}
