//! Real commands, real process trees, real terminals.

use std::fs::{File, read, read_to_string};
use std::io::Read as _;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::drive::run_on;
use super::spawn::Streams;
use super::*;

mod terminal;

/// Long enough never to be met by a command that works.
const LONG: Duration = Duration::from_mins(1);

struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn output(&self) -> String {
        String::from_utf8(read(self.path("output")).unwrap()).unwrap()
    }

    /// `sh -c script` in this folder, quiet, with short patience.
    fn sh(&self, script: &str) -> Command {
        let mut command = Command::new(["sh", "-c", script], self.path("output"));
        command.cwd = Some(self.folder.path().to_owned());
        command.stream = Stream::Quiet;
        command.timeout = Some(LONG);
        command.grace = Duration::from_millis(100);
        command
    }
}

/// Runs it with no input and with these streams as ours.
fn run_to(command: &Command, stdout: impl AsFd, stderr: impl AsFd) -> Result<Outcome, Failure> {
    let stdin = File::open("/dev/null").unwrap();
    run_on(command, &Streams { stdin: stdin.as_fd(), stdout: stdout.as_fd(), stderr: stderr.as_fd() })
}

fn run_quietly(command: &Command) -> Outcome {
    let null = File::create("/dev/null").unwrap();
    run_to(command, &null, &null).unwrap()
}

/// Whether the tests themselves were started with a signal ignored (by `nohup`, or by a shell's `&`):
/// then it is rightly ignored by every command below, and nothing can be shown with it.
fn ignored_here(number: i32) -> bool {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    super::signals::is_ignored(super::signals::ignored(&status), number)
}

/// The state letter of a process; `None` when there is no such process.
fn state(pid: &str) -> Option<char> {
    let stat = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn pids(path: &Path) -> Vec<String> {
    read_to_string(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn statuses_are_the_shells() {
    let scratch = Scratch::new();
    for (script, end, code) in [
        ("exit 0", End::Exited(0), 0),
        ("exit 3", End::Exited(3), 3),
        ("kill -KILL $$", End::Signalled(9), 137),
        ("kill -TERM $$", End::Signalled(15), 143),
    ] {
        let outcome = run_quietly(&scratch.sh(script));
        assert_eq!((outcome.end, outcome.end.exit_code()), (end, code), "{script}");
        assert!(outcome.captures.is_empty() && outcome.left_over.is_empty() && !outcome.terminal);
    }
    assert_eq!(End::Hang(HangKind::Idle).exit_code(), 124);
    assert_eq!(End::Interrupted.exit_code(), 130);
}

#[test]
fn each_stream_goes_its_way_and_both_into_the_file() {
    let scratch = Scratch::new();
    let mut command = scratch.sh("echo one; sleep 0.2; echo two >&2");
    command.stream = Stream::Terminal;
    let (out, err) = (File::create(scratch.path("1")).unwrap(), File::create(scratch.path("2")).unwrap());
    let outcome = run_to(&command, &out, &err).unwrap();
    assert_eq!(read_to_string(scratch.path("1")).unwrap(), "one\n");
    assert_eq!(read_to_string(scratch.path("2")).unwrap(), "two\n");
    assert_eq!(scratch.output(), "one\ntwo\n");
    assert_eq!((outcome.output_bytes, outcome.dropped_bytes), (8, 0));
}

#[test]
fn one_destination_keeps_the_exact_order() {
    let scratch = Scratch::new();
    let script = "i=0; while [ $i -lt 300 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let want = (0..300).map(|n| format!("out {n}\nerr {n}\n")).collect::<Vec<_>>().concat();
    let mut command = scratch.sh(script);
    command.stream = Stream::Terminal;
    let both = File::create(scratch.path("both")).unwrap();
    run_to(&command, &both, both.try_clone().unwrap()).unwrap();
    assert_eq!(read_to_string(scratch.path("both")).unwrap(), want);
    assert_eq!(scratch.output(), want);
}

#[test]
fn json_mode_shows_the_last_forty_lines_on_stderr() {
    let scratch = Scratch::new();
    let mut command = scratch.sh("i=1; while [ $i -le 100 ]; do echo line $i; i=$((i+1)); done; printf end");
    command.stream = Stream::Stderr;
    let (out, err) = (File::create(scratch.path("1")).unwrap(), File::create(scratch.path("2")).unwrap());
    run_to(&command, &out, &err).unwrap();
    assert_eq!(read_to_string(scratch.path("1")).unwrap(), "");
    let want = (62..=100).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat() + "end\n";
    assert_eq!(read_to_string(scratch.path("2")).unwrap(), want);
    assert!(scratch.output().starts_with("line 1\n") && scratch.output().ends_with("line 100\nend"));
}

#[test]
fn a_flood_keeps_its_ends() {
    let scratch = Scratch::new();
    let mut command = scratch.sh("echo first; yes | head -c 3000000; echo last");
    command.max_output = 10_000;
    let outcome = run_quietly(&command);
    assert_eq!(outcome.output_bytes, 3_000_011);
    assert!(outcome.dropped_bytes >= 2_990_011);
    let kept = scratch.output();
    assert!(kept.len() <= 10_000 && kept.starts_with("first\ny\n") && kept.ends_with("y\nlast\n"));
}

#[test]
fn commands_that_cannot_run_say_why() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("plain"), "echo no\n").unwrap();
    std::fs::set_permissions(scratch.path("plain"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let null = File::create("/dev/null").unwrap();
    for (program, status) in
        [("no-such-program-anywhere", 127), ("./none", 127), ("./plain", 126), ("./", 126)]
    {
        let mut command = scratch.sh("");
        command.argv = vec![program.into()];
        let failure = run_to(&command, &null, &null).unwrap_err();
        assert_eq!(failure.status, status, "{program}: {}", failure.error);
        assert!(failure.error.to_string().contains(program) && !failure.error.hints().is_empty());
    }
    let mut command = scratch.sh("true");
    command.cwd = Some(scratch.path("plain"));
    assert_eq!(run_to(&command, &null, &null).unwrap_err().status, 125);
    command.argv.clear();
    assert_eq!(run_to(&command, &null, &null).unwrap_err().error.kind(), crate::model::Kind::Usage);
    let mut command = scratch.sh("true");
    command.output = scratch.path("no/such/folder");
    assert_eq!(run_to(&command, &null, &null).unwrap_err().status, 125);
}

#[test]
fn environment_changes_and_folder() {
    let scratch = Scratch::new();
    let mut command = scratch.sh("echo [$A] [$HOME]; pwd -P; [ -n \"$GIT_INCIDENT_RUN\" ] && echo marked");
    command.env = vec![("A".into(), Some("b c".into())), ("HOME".into(), None)];
    run_quietly(&command);
    let folder = scratch.folder.path().canonicalize().unwrap();
    assert_eq!(scratch.output(), format!("[b c] []\n{}\nmarked\n", folder.display()));
}

#[test]
fn too_long_and_too_silent() {
    let scratch = Scratch::new();
    let mut command = scratch.sh("while :; do echo busy; sleep 0.02; done");
    command.timeout = Some(Duration::from_millis(300));
    command.idle = Some(LONG);
    assert_eq!(run_quietly(&command).end, End::Hang(HangKind::Timeout));
    assert!(scratch.output().starts_with("busy\n"));

    let mut command = scratch.sh("echo working; sleep 1000");
    command.idle = Some(Duration::from_millis(700));
    let outcome = run_quietly(&command);
    assert_eq!(outcome.end, End::Hang(HangKind::Idle));
    assert_eq!(scratch.output(), "working\n");
}

#[test]
fn a_hanging_command_may_clean_up() {
    let scratch = Scratch::new();
    let mut command = scratch.sh("trap 'echo cleaned; exit 0' TERM; echo up; while :; do sleep 0.02; done");
    command.idle = Some(Duration::from_millis(700));
    command.grace = LONG;
    assert_eq!(run_quietly(&command).end, End::Hang(HangKind::Idle));
    // The shell may say "Terminated" about the `sleep` that it was waiting for.
    assert!(scratch.output().starts_with("up\n") && scratch.output().ends_with("cleaned\n"));
}

/// Like torchrun with workers that hang in a kernel: sessions of their own, deaf to SIGTERM.
#[cfg(target_os = "linux")]
#[test]
fn a_whole_deaf_tree_ends() {
    let scratch = Scratch::new();
    std::fs::write(
        scratch.path("worker"),
        "trap '' TERM INT HUP\necho $$ >> pids\n(sleep 1000 & echo $! >> pids; sleep 1000)\nsleep 1000\n",
    )
    .unwrap();
    let hopper = r#"use POSIX; $SIG{TERM}="IGNORE"; while (1) { if (fork) { exit } setsid; select undef,undef,undef,0.02 }"#;
    let script = format!(
        "trap '' TERM
         sh worker & sh worker &
         setsid sh worker &
         setsid setsid sh worker &
         (setsid sh worker &)
         (sh worker &)
         (env -i PATH=\"$PATH\" setsid sh worker &)
         perl -e '{hopper}' &
         while [ \"$(wc -l < pids)\" -lt 14 ]; do echo waiting; sleep 0.02; done
         echo ready
         while :; do sleep 1; done"
    );
    let mut command = scratch.sh(&script);
    command.idle = Some(Duration::from_millis(700));
    command.timeout = None;
    let outcome = run_quietly(&command);
    assert_eq!(outcome.end, End::Hang(HangKind::Idle));
    assert!(scratch.output().ends_with("ready\n"), "{}", scratch.output());
    assert_eq!(outcome.left_over, Vec::<i32>::new());
    let pids = pids(&scratch.path("pids"));
    assert_eq!(pids.len(), 14);
    for pid in &pids {
        assert_eq!(state(pid), None, "{pid} is still there");
    }
    // The hopper has no number to ask for; nothing may still stand in the scratch folder.
    let folder = scratch.folder.path().canonicalize().unwrap();
    let here = std::fs::read_dir("/proc").unwrap().filter_map(|file| {
        let path = file.ok()?.path();
        (std::fs::read_link(path.join("cwd")).ok()? == folder).then_some(path)
    });
    assert_eq!(here.collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

#[test]
fn captures_look_before_the_end() {
    let scratch = Scratch::new();
    let mut command = scratch.sh("trap 'echo dumped' USR1; echo $$; while :; do sleep 0.02; done");
    command.idle = Some(Duration::from_millis(700));
    command.on_hang = vec![
        "echo {pid} {pgid}; kill -0 {pid} && echo alive; kill -0 -{pgid} && echo group >&2".into(),
        "kill -USR1 {pid}; until grep -q dumped output; do sleep 0.02; done; exit 7".into(),
        "sleep 1000 & echo $! > pids; echo left; kill -KILL $$".into(),
        "no-such-tool --pid {pid}".into(),
    ];
    let outcome = run_quietly(&command);
    assert_eq!(outcome.end, End::Hang(HangKind::Idle));
    let (pid, said) = scratch.output().split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert_eq!(said, "dumped\n", "the hanging process was still being read");
    let [first, second, third, fourth] = &outcome.captures[..] else { panic!("four captures") };
    assert_eq!(first.output, format!("{pid} {pid}\nalive\ngroup\n").into_bytes());
    assert_eq!(first.exit, Some(0));
    assert!(first.command.starts_with(&format!("echo {pid} ")));
    assert_eq!((second.exit, second.output.len()), (Some(7), 0));
    assert_eq!((third.exit, &third.output[..]), (None, &b"left\n"[..]));
    let left = pids(&scratch.path("pids")).remove(0);
    assert!(matches!(state(&left), None | Some('Z')), "{left} is still there");
    assert_eq!(fourth.exit, Some(127));
    assert!(String::from_utf8_lossy(&fourth.output).contains("not found"));
    assert_eq!(state(&pid), None);
}

#[test]
fn a_background_process_neither_holds_us_nor_dies() {
    let scratch = Scratch::new();
    let outcome = run_quietly(&scratch.sh("sleep 1000 & echo $! > pids; echo done"));
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!(scratch.output(), "done\n");
    let pid = pids(&scratch.path("pids")).remove(0);
    assert!(matches!(state(&pid), Some('S' | 'R')), "{:?}", state(&pid));
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn no_zombie_is_left() {
    let scratch = Scratch::new();
    // Orphans that are dead before the command is: adopted by us, waited for by nobody else.
    let outcome = run_quietly(&scratch.sh(
        "for i in 1 2 3; do (sh -c 'echo $$ >> pids' &) ; done
         until [ \"$(wc -l < pids)\" = 3 ]; do sleep 0.02; done
         for pid in $(cat pids); do while grep -q ') [RSD] ' /proc/$pid/stat 2>&1; do sleep 0.02; done; done",
    ));
    assert_eq!(outcome.end, End::Exited(0));
    let pids = pids(&scratch.path("pids"));
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| state(pid).is_none()));
}

#[test]
fn signals_meant_for_the_command_reach_it_and_spare_us() {
    let scratch = Scratch::new();
    let wait = "while :; do sleep 0.02; done";
    let outcome =
        run_quietly(&scratch.sh(&format!("trap 'echo told; exit 5' TERM; kill -TERM $PPID; {wait}")));
    assert_eq!(outcome.end, End::Exited(5));
    assert!(scratch.output().ends_with("told\n"));

    if !ignored_here(1) {
        let outcome = run_quietly(&scratch.sh(&format!("kill -HUP $PPID; {wait}")));
        assert_eq!(outcome.end, End::Signalled(1));
    }
    if !ignored_here(2) {
        let outcome = run_quietly(&scratch.sh(&format!("kill -INT $PPID; {wait}")));
        assert_eq!(outcome.end, End::Interrupted);
        let outcome = run_quietly(&scratch.sh("kill -INT $$"));
        assert_eq!(outcome.end, End::Signalled(2), "nobody interrupted us");
    }
}

#[test]
fn insisting_on_an_interruption_ends_the_deaf() {
    if ignored_here(2) {
        return;
    }
    let scratch = Scratch::new();
    let script = "trap '' INT TERM; setsid sh -c 'echo $$ >> pids; sleep 1000' &
                  while ! [ -s pids ]; do sleep 0.02; done
                  kill -INT $PPID; sleep 0.2; kill -INT $PPID; while :; do sleep 1; done";
    let mut command = scratch.sh(script);
    command.grace = LONG;
    command.on_hang = vec!["echo never".into()];
    let outcome = run_quietly(&command);
    assert_eq!((outcome.end, outcome.captures.len()), (End::Interrupted, 0));
    for pid in pids(&scratch.path("pids")) {
        assert_eq!(state(&pid), None);
    }
}

#[test]
fn a_reader_that_leaves_does_not_end_the_recording() {
    let scratch = Scratch::new();
    let mut command = scratch.sh("seq 1 20000; exit 4");
    command.stream = Stream::Terminal;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let outcome = run_to(&command, &writer, &writer).unwrap();
    assert_eq!(outcome.end, End::Exited(4));
    assert_eq!(scratch.output().lines().count(), 20_000);
}

#[test]
fn a_slow_reader_gets_everything_in_the_end() {
    let scratch = Scratch::new();
    let mut command = scratch.sh("seq 1 200000");
    command.stream = Stream::Terminal;
    // Silence that is the reader's fault is no hang.
    command.idle = Some(Duration::from_secs(1));
    let (mut reader, writer) = std::io::pipe().unwrap();
    let received = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        all
    });
    let outcome = run_to(&command, &writer, &writer).unwrap();
    drop(writer);
    assert_eq!(outcome.end, End::Exited(0));
    let received = received.join().unwrap();
    assert_eq!(received.len() as u64, outcome.output_bytes);
    assert_eq!(received, read(scratch.path("output")).unwrap());
}
