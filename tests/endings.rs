//! How a run under `try` ends when it does not end by itself, and what it is like on a terminal.

mod common;

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Repo, finish};
use serde_json::{Value, json};

fn opened() -> Repo {
    let repo = Repo::new();
    repo.open("row 17 is NaN");
    repo
}

/// Processes that ignore SIGTERM, each in a session of its own, as a launcher of distributed jobs leaves them.
const STUBBORN: &str = "trap '' TERM INT HUP
for i in 1 2 3; do
    setsid sh -c 'trap \"\" TERM INT HUP; echo $$ >> pids; setsid sh -c \"trap \\\"\\\" TERM; echo \\$\\$ >> pids; sleep 300\" & sleep 300' &
done
echo $$ >> pids
while [ \"$(wc -l < pids)\" -lt 7 ]; do sleep 0.05; done
echo started
sleep 300";

#[test]
fn a_time_out_ends_a_tree_of_processes_that_ignore_sigterm() {
    for (options, reason) in [(["--timeout", "3s"], "timeout"), (["--idle", "2s"], "idle")] {
        let repo = opened();
        let started = Instant::now();
        let ran = repo.try_sh(&[&["-H", "it hangs"], &options[..]].concat(), STUBBORN).expect(124);
        assert!(started.elapsed() < Duration::from_mins(1), "it waited for the processes' own end");
        ran.says("started").says("hang");
        let run = repo.last_run();
        assert_eq!((&run["hang"], &run["exit"]), (&json!(reason), &json!(124)));
        let pids = repo.read("pids");
        assert_eq!(pids.lines().count(), 7, "{pids}");
        for pid in pids.lines() {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let alive =
                state.rsplit(") ").next().is_some_and(|s| !s.is_empty() && !s.starts_with(['Z', 'X']));
            assert!(!alive, "process {pid} is still there: {state}");
        }
        let view = repo.view("show");
        assert!(view["attempts"][0]["result"].as_str().expect("a result").starts_with("hang"));
    }
}

/// Containers start their first process from outside, so the session it is in has no number inside.
#[test]
fn a_session_led_from_outside_the_pid_namespace_is_no_obstacle() {
    let repo = opened();
    let namespace = ["--pid", "--fork", "--mount-proc"];
    let unshare = |more: &[&str], rest: &[&str]| repo.run("unshare", &[more, &namespace, rest].concat());
    let as_user = ["--user", "--map-root-user"];
    let more = [&[][..], &as_user].into_iter().find(|more| unshare(more, &["true"]).status == 0);
    // A kernel that lets nobody make a namespace has none in which this could go wrong.
    let Some(more) = more else { return };
    let hang = ["git-incident", "try", "-H", "it hangs", "--timeout", "2s", "--", "sh", "-c", STUBBORN];
    unshare(more, &hang).expect(124).says("started").says("hang");
    assert_eq!(repo.last_run()["hang"], "timeout");
}

#[test]
fn a_command_in_time_is_no_hang() {
    let repo = opened();
    let view = repo.view("try --timeout 60s --idle 30s -- sh -c 'echo a; sleep 0.2; echo b'");
    assert_eq!((&view["exit"], &view["hang"], &view["findings"]), (&json!(0), &Value::Null, &json!([])));
    repo.typed("try --timeout soon -- true").expect(2);
}

#[test]
fn on_a_terminal_colours_stay_and_the_command_sees_the_terminal() {
    let repo = opened();
    if repo.run("sh", &["-c", "command -v script"]).status != 0 {
        return common::skipped("no script(1) of util-linux: try on a terminal is not checked");
    }
    repo.write("coloured.sh", "test -t 1 && test -t 2 && printf '\\033[31mred\\033[0m\\n'; exit 5\n");
    let shell = "TERM=xterm git-incident try -- sh coloured.sh";
    let ran = repo.run("script", &["-qec", shell, "/dev/null"]).expect(5);
    assert!(ran.stdout.contains("\u{1b}[31mred\u{1b}[0m"), "{:?}", ran.stdout);
    let kept = repo.typed("evidence show output.log").expect(0).stdout;
    assert!(kept.contains("\u{1b}[31mred\u{1b}[0m"), "{kept:?}");
}

#[test]
fn an_interrupt_ends_the_command_and_is_recorded() {
    let repo = opened();
    let mut command = repo.command("git-incident");
    command.args(["try", "-H", "too slow", "--", "sh", "-c", "echo started; touch started; sleep 300"]);
    // A group of its own, as a shell gives to a job; the signal goes to all of it, as Ctrl-C does.
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().expect("a run");
    while !repo.path().join("started").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let group = format!("-{}", running.id());
    repo.run("kill", &["-INT", "--", &group]).expect(0);
    finish(running.wait_with_output()).expect(130).says("started");
    let attempt = &repo.view("show")["attempts"][0];
    assert_eq!(attempt["notes"][0]["run"]["exit"], 130);
    assert!(attempt["ended"].is_string());
    repo.git(&["fsck", "--strict", "--no-progress"]);
}
