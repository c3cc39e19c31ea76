//! Run a program that must not ask anybody, and not for ever.

use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::model::{Error, Result};

/// The most of an answer that is read, in bytes.
const LARGEST: u64 = 64 * 1024;

/// What a program left behind.
pub(super) struct Output {
    /// Its exit status; `None` when a signal or the limit ended it.
    pub(super) status: Option<i32>,
    pub(super) late: bool,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Runs it in a session of its own: without a terminal there is nobody it could ask.
pub(super) fn run(mut command: Command, input: Option<&[u8]>, limit: Duration) -> Result<Output> {
    // Files and not pipes: nothing has to be read while it runs, and a grandchild cannot hold us up.
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let stdin = match input {
        None => Stdio::null(),
        Some(bytes) => {
            let mut file = tempfile::tempfile()?;
            file.write_all(bytes)?;
            file.rewind()?;
            file.into()
        }
    };
    command
        .stdin(stdin)
        .stdout(out.try_clone()?)
        .stderr(err.try_clone()?)
        .env("LC_ALL", "C")
        // What is given as a time without a zone means the same on every machine.
        .env("TZ", "UTC0")
        .env("GIT_TERMINAL_PROMPT", "0")
        // "Ask this program for the passphrase, always", and it has none.
        .env("SSH_ASKPASS_REQUIRE", "force")
        .env("SSH_ASKPASS", "false")
        .env_remove("GPG_TTY");
    // SAFETY: between fork and exec the closure makes one system call and nothing else.
    #[expect(unsafe_code, reason = "a session of its own can only be made in the child")]
    unsafe {
        command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?));
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|error| {
        let what = Error::refused(format!("cannot run {name}")).because(&error);
        if error.kind() == std::io::ErrorKind::NotFound {
            what.hint("install OpenSSH 8.9 or newer, or set gpg.ssh.program")
        } else {
            what
        }
    })?;
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    let (status, late) = loop {
        if let Some(status) = child.try_wait()? {
            break (status.code(), false);
        }
        if Instant::now() >= deadline {
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = child.wait();
            break (None, true);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let read = |file: &mut std::fs::File| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    Ok(Output { status, late, stdout: read(&mut out)?, stderr: read(&mut err)? })
}

/// The error for a program that did not do it, in its own words.
pub(super) fn failure(what: &str, program: &Path, output: &Output) -> Error {
    let mut error = Error::refused(what);
    if output.late {
        error = error.because(format!("{} took too long and was ended", program.display()));
    }
    for line in String::from_utf8_lossy(&output.stderr).lines().filter(|l| !l.trim().is_empty()).take(3) {
        error = error.because(line.trim());
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, input: Option<&[u8]>, limit: Duration) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, input, limit).unwrap()
    }

    #[test]
    fn it_reads_what_it_is_given_and_has_no_terminal() {
        let output = sh("cat; echo no >&2; exit 3", Some(b"words"), Duration::from_secs(10));
        assert_eq!(
            (output.status, output.stdout, output.stderr),
            (Some(3), b"words".to_vec(), b"no\n".to_vec())
        );
        let output = sh("exec 2>/dev/null; : < /dev/tty && echo asked", None, Duration::from_secs(10));
        assert_eq!(output.stdout, b"");
    }

    #[test]
    fn what_waits_is_ended_with_what_it_started() {
        let began = Instant::now();
        let output = sh("sleep 1000 & sleep 1000", None, Duration::from_millis(200));
        assert!(output.late && output.status.is_none());
        assert!(began.elapsed() < Duration::from_secs(20));
        assert!(failure("no", Path::new("sh"), &output).causes()[0].contains("took too long"));
    }
}
