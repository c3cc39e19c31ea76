//! Ask one program one question, with a limit on time and on the size of the answer.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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

/// What `program` prints on both streams; `None` unless it ends with status 0 within `limit`.
///
/// It gets no input and a C locale. When the time is over its whole process group is killed.
pub(super) fn ask(program: &Path, arguments: &[&str], limit: Duration) -> Option<String> {
    let deadline = Instant::now() + limit;
    let (mut reader, writer) = std::io::pipe().ok()?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(writer.try_clone().ok()?)
        .stderr(writer)
        .process_group(0);
    let mut child = command.spawn().ok()?;
    // The command still owns our copies of the writing end; without this the pipe never ends.
    drop(command);

    let mut answer = Vec::new();
    let mut chunk = [0_u8; 4096];
    while answer.len() < LARGEST {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = rustix::time::Timespec::try_from(left).ok()?;
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
        return None;
    };
    answer.truncate(LARGEST);
    status.success().then(|| String::from_utf8_lossy(&answer).into_owned())
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
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "still running: {stat}");
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
