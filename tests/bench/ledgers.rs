//! Figures of ledgers under load: `cargo bench --bench ledgers`. docs/RELIABILITY.md keeps what was measured.
//!
//! `cargo bench --bench ledgers -- writers` runs only the groups whose names contain one of the words.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_git-incident");
const NOTE: &str = "the third tile reads one row past the end of the block, 64 bytes at offset 4032";

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let groups: &[(&str, fn())] = &[("writers", writers), ("growth", growth), ("million", million)];
    say("| figure | measured | asked |");
    say("|---|---|---|");
    for (name, run) in groups {
        if wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str())) {
            run();
        }
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A repository for measuring: no configuration but its own.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Self {
        let bench = Self(tempfile::tempdir().expect("a directory"));
        for words in [
            vec!["init", "-q", "-b", "main"],
            vec!["config", "user.name", "Bench"],
            vec!["config", "user.email", "bench@example.org"],
            vec!["config", "maintenance.auto", "false"],
            vec!["commit", "-q", "--allow-empty", "-m", "Start"],
        ] {
            bench.run("git", &words);
        }
        bench
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program, arguments).stdout(Stdio::piped()).output().expect("it starts");
        assert!(output.status.success(), "{program} {arguments:?}: {}", output.status);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn open(&self) -> String {
        let said = self.run(PROGRAM, &["--json", "open", "measured"]);
        let (_, rest) = said.split_once("\"incident\":\"").expect("an id");
        rest[..40].to_owned()
    }

    /// So many notes, one after the other, by one shell.
    fn notes(&self, id: &str, count: usize) -> std::process::Child {
        let script =
            format!("for n in $(seq {count}); do \"$0\" attempt note \"$1\" -i \"$2\" || exit; done");
        self.command("sh", &["-c", &script, PROGRAM, NOTE, id]).spawn().expect("a writer")
    }

    fn disk(&self) -> u64 {
        let path = self.0.path().join(".git/objects");
        self.run("du", &["-sk", &path.display().to_string()])
            .split_whitespace()
            .next()
            .and_then(|n| n.parse().ok())
            .expect("du prints a number")
    }
}

fn wait(children: Vec<std::process::Child>) {
    for mut child in children {
        assert!(child.wait().expect("its end").success());
    }
}

/// 64 writers of 50 events each, against one writer of them all.
fn writers() {
    let alone = Bench::new();
    let id = alone.open();
    let start = Instant::now();
    wait(vec![alone.notes(&id, 64 * 50)]);
    let one = start.elapsed();
    let together = Bench::new();
    let id = together.open();
    let start = Instant::now();
    wait((0..64).map(|_| together.notes(&id, 50)).collect());
    let many = start.elapsed();
    let lines = together.run(PROGRAM, &["export", &id, "-f", "ledger"]);
    let events = lines.lines().filter(|line| line.contains("attempt.noted")).count();
    assert_eq!(events, 64 * 50, "an event is lost");
    let ratio = many.as_secs_f64() / one.as_secs_f64();
    say(&format!(
        "| 64 writers × 50 events to one incident | {:.1} s, one writer {:.1} s: {ratio:.2} × | ≤ 3 × |",
        many.as_secs_f64(),
        one.as_secs_f64()
    ));
}

/// Ten thousand events to one incident.
fn growth() {
    let bench = Bench::new();
    let id = bench.open();
    let mut thousands: Vec<Duration> = Vec::new();
    let mut sizes = Vec::new();
    for n in 1..=10 {
        let start = Instant::now();
        wait(vec![bench.notes(&id, 1000)]);
        thousands.push(start.elapsed());
        if n == 1 || n == 10 {
            let loose = bench.disk();
            bench.run("git", &["gc", "-q", "--prune=now"]);
            sizes.push((loose, bench.disk()));
        }
    }
    let per = |time: Duration| time.as_secs_f64();
    say(&format!(
        "| events 9,001–10,000 of one incident | {:.2} ms each, the first 1,000: {:.2} ms ({:.2} ×) | linear |",
        per(thousands[9]),
        per(thousands[0]),
        per(thousands[9]) / per(thousands[0])
    ));
    for (events, (loose, packed)) in [1000, 10_000].into_iter().zip(sizes) {
        say(&format!(
            "| {events} events on disk | {loose} KiB before, {packed} KiB after `git gc`: {} bytes an event | linear |",
            packed * 1024 / events
        ));
    }
    let start = Instant::now();
    bench.run(PROGRAM, &["--json", "show", &id]);
    say(&format!("| `show` of 10,000 events | {:.0} ms | |", per(start.elapsed()) * 1000.0));
}

/// A ledger of a million lines, in segments that are not ours to begin with: how much memory a look at it takes.
fn million() {
    let bench = Bench::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/million.py");
    bench.run("python3", &[&folder.display().to_string()]);
    for words in [vec!["list"], vec!["--json", "list"]] {
        let start = Instant::now();
        let script = "ulimit -v 1500000; exec \"$@\"";
        let mut all = vec!["-c", script, "bash", PROGRAM];
        all.extend(&words);
        bench.run("bash", &all);
        say(&format!(
            "| `{}` beside a million events of a stranger, 1.5 GB of address space | {:.1} s | bounded |",
            words.join(" "),
            start.elapsed().as_secs_f64()
        ));
    }
    let ids = bench.run(PROGRAM, &["--json", "list"]);
    let (_, rest) = ids.split_once("\"incident\":\"").expect("an incident");
    let id = &rest[..40];
    let start = Instant::now();
    let script = "ulimit -v 1500000; \"$0\" show \"$1\" > /dev/null; echo $?";
    let status = bench.run("bash", &["-c", script, PROGRAM, id]);
    say(&format!("| `show` of it: exit {status} | {:.1} s | bounded |", start.elapsed().as_secs_f64()));
}
