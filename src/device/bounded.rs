//! Ask one program one question, with a limit on time and on the size of the answer.

use std::io::{PipeReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process_group};

/// How long a program may take to say who it is.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

/// The most of an answer that is read, in bytes.
const LARGEST: usize = 64 * 1024;

/// Where `name` lies on `PATH`, looking at absolute entries only.
///
/// An empty or relative entry means "the directory I happen to be in", which a repository controls.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    find_in(&std::env::var_os("PATH")?, name)
}

fn find_in(path: &std::ffi::OsStr, name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|candidate| {
            std::fs::metadata(candidate)
                .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        })
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Silence {
    /// The program could not be started.
    NotStarted(std::io::Error),
    /// It did not end in time, and was killed.
    TooLong,
    /// It ended otherwise than with status 0.
    Ended {
        /// Its status or signal, in words.
        how: String,
        /// What it had said.
        said: String,
    },
}

/// What `program` prints on both streams; `None` unless it ends with status 0 within `limit`.
pub(super) fn ask(program: &Path, arguments: &[&str], limit: Duration) -> Option<String> {
    put(program, arguments, limit).ok()
}

/// What `program` prints on both streams, if it ends with status 0 within `limit`.
///
/// It gets no input and a C locale. When the time is over its whole process group is killed.
pub(super) fn put(program: &Path, arguments: &[&str], limit: Duration) -> Result<String, Silence> {
    use std::os::unix::process::ExitStatusExt as _;
    let deadline = Instant::now() + limit;
    let (mut child, mut reader) = start(program, arguments).map_err(Silence::NotStarted)?;

    let mut answer = Vec::new();
    let mut chunk = [0_u8; 4096];
    while answer.len() < LARGEST {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(wait) = rustix::time::Timespec::try_from(left) else { break };
        let mut ready = [PollFd::new(&reader, PollFlags::IN)];
        match poll(&mut ready, Some(&wait)) {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        match reader.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(read) => answer.extend_from_slice(&chunk[..read]),
        }
    }
    drop(reader);

    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) | Err(_) => break None,
        }
    };
    let Some(status) = status else {
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // A process stuck inside a driver does not even die; it is left behind, not waited for.
        for _ in 0..50 {
            if !matches!(child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(4));
        }
        return Err(Silence::TooLong);
    };
    answer.truncate(LARGEST);
    let said = String::from_utf8_lossy(&answer).into_owned();
    if status.success() {
        return Ok(said);
    }
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "no status".to_owned(),
    };
    Err(Silence::Ended { how, said })
}

/// Starts it in a group of its own, with both its streams in one pipe.
fn start(program: &Path, arguments: &[&str]) -> std::io::Result<(Child, PipeReader)> {
    let (reader, writer) = std::io::pipe()?;
    // The command owns our copies of the writing end; it must go before the pipe can end.
    let child = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    Ok((child, reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Option<String> {
        ask(Path::new("/bin/sh"), &["-c", script], limit)
    }

    #[test]
    fn both_streams_are_the_answer() {
        assert_eq!(sh("echo out; echo err >&2", LIMIT).as_deref(), Some("out\nerr\n"));
    }

    #[test]
    fn failure_is_no_answer() {
        assert_eq!(sh("echo out; exit 3", LIMIT), None);
        assert_eq!(ask(Path::new("/no/such/program"), &[], LIMIT), None);
    }

    #[test]
    fn a_hanging_program_is_ended_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        assert_eq!(sh(&script, Duration::from_millis(300)), None);
        let pid = std::fs::read_to_string(file).unwrap().trim().to_owned();
        // It is killed by now; on a busy machine it may take a moment to die.
        let mut stat = String::new();
        for _ in 0..500 {
            stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if stat.is_empty() || stat.contains(") Z ") {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("still running: {stat}");
    }

    #[test]
    fn a_flood_is_cut() {
        let answer = sh("yes | head -c 200000", LIMIT);
        // `head` may see the closed pipe: then there is no answer at all, which is as good.
        assert!(answer.is_none_or(|text| text.len() <= LARGEST));
    }

    #[test]
    fn only_absolute_entries_of_the_path_count() {
        assert_eq!(find_in(std::ffi::OsStr::new(":.:bin:/bin"), "sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find_in(std::ffi::OsStr::new(":.:bin"), "sh"), None);
        assert_eq!(find_in(std::ffi::OsStr::new("/"), "bin"), None, "a folder is no program");
    }
}
