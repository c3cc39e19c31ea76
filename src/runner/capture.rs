//! Commands that look at a hanging process before it is killed.

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::drive::Run;
use super::{Command, RUN_VARIABLE, spawn};

/// How long one capture may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The most that one capture may say, in bytes; the rest is read and left out.
const LARGEST: usize = 8 << 20;

/// What one on-hang command said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The command as it was run.
    pub command: String,
    /// Its exit status; absent when it did not start, was killed or took longer than 30 seconds.
    pub exit: Option<i32>,
    /// Its stdout and stderr, 8 MiB at most.
    pub output: Vec<u8>,
}

/// Runs one on-hang command while the hanging one keeps being read: many a tool (`kill -QUIT` to a
/// Java machine) makes the hanging process itself do the talking.
pub(super) fn run(template: &str, command: &Command, run: &mut Run<'_>) -> Capture {
    let pid = run.root().as_raw_nonzero().get().to_string();
    // The command leads its own group, so both have the same number.
    let line = template.replace("{pid}", &pid).replace("{pgid}", &pid);
    let mut capture = Capture { command: line, exit: None, output: Vec::new() };
    if let Err(error) = look(&mut capture, command, run) {
        capture.output.extend_from_slice(format!("cannot run this capture: {error}\n").as_bytes());
    }
    capture
}

fn look(capture: &mut Capture, command: &Command, run: &mut Run<'_>) -> io::Result<()> {
    let (mut reader, writer) = io::pipe()?;
    let mut prepared = std::process::Command::new("/bin/sh");
    spawn::apply(command, &mut prepared);
    prepared
        .arg("-c")
        .arg(&capture.command)
        .env_remove(RUN_VARIABLE)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0);
    let mut child = prepared.spawn()?;
    drop(prepared);
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let deadline = Instant::now() + LIMIT;
    let mut chunk = vec![0; 64 * 1024];
    let mut open = true;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || run.forced() {
            break None;
        }
        if run.turn(open.then(|| reader.as_fd()), Some(left))?.extra_ready {
            open = keep(&mut capture.output, &mut chunk, &mut reader);
        }
    };
    // In any case, as a capture may also leave something in its background.
    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    if status.is_none() {
        let _ = child.wait();
    }
    // What it left in the pipe; something it started may hold the pipe open, so without waiting.
    while open && run.turn(Some(reader.as_fd()), Some(Duration::from_millis(20)))?.extra_ready {
        open = keep(&mut capture.output, &mut chunk, &mut reader);
    }
    capture.exit = status.and_then(|status| status.code());
    Ok(())
}

/// Reads once and keeps what there is room for; false at the end.
fn keep(output: &mut Vec<u8>, chunk: &mut [u8], reader: &mut io::PipeReader) -> bool {
    match reader.read(chunk) {
        Ok(read) if read > 0 => {
            let room = LARGEST.saturating_sub(output.len());
            output.extend_from_slice(&chunk[..read.min(room)]);
            true
        }
        _ => false,
    }
}
