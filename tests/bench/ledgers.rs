//! Figures of ledgers under load: `cargo bench --bench ledgers`. docs/RELIABILITY.md keeps what was measured.
//!
//! `cargo bench --bench ledgers -- writers` runs only the groups whose names contain one of the words.

mod common;

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use common::{Bench, NOTE, PROGRAM, groups, said, say};

fn main() {
    say("| figure | measured | asked |");
    say("|---|---|---|");
    groups(&[("writers", writers), ("growth", growth), ("million", million)]);
}

fn open(bench: &Bench) -> String {
    let said = bench.incident(&["--json", "open", "measured"]);
    let (_, rest) = said.split_once("\"incident\":\"").expect("an id");
    rest[..40].to_owned()
}

/// So many notes, one after the other, by one shell.
fn notes(bench: &Bench, id: &str, count: usize) -> Child {
    let script = format!("for n in $(seq {count}); do \"$0\" attempt note \"$1\" -i \"$2\" || exit; done");
    bench.command("sh", &["-c", &script, PROGRAM, NOTE, id]).spawn().expect("a writer")
}

fn disk(bench: &Bench) -> u64 {
    let path = bench.path().join(".git/objects");
    run(bench, "du", &["-sk", &path.display().to_string()])
        .split_whitespace()
        .next()
        .and_then(|n| n.parse().ok())
        .expect("du prints a number")
}

fn run(bench: &Bench, program: &str, arguments: &[&str]) -> String {
    said(&mut bench.command(program, arguments))
}

fn wait(children: Vec<Child>) {
    for mut child in children {
        assert!(child.wait().expect("its end").success());
    }
}

/// 64 writers of 50 events each, against one writer of them all.
fn writers() {
    let alone = Bench::new();
    let id = open(&alone);
    let start = Instant::now();
    wait(vec![notes(&alone, &id, 64 * 50)]);
    let one = start.elapsed();
    let together = Bench::new();
    let id = open(&together);
    let start = Instant::now();
    wait((0..64).map(|_| notes(&together, &id, 50)).collect());
    let many = start.elapsed();
    let lines = together.incident(&["export", &id, "-f", "ledger"]);
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
    let id = open(&bench);
    let mut thousands: Vec<Duration> = Vec::new();
    let mut sizes = Vec::new();
    for n in 1..=10 {
        let start = Instant::now();
        wait(vec![notes(&bench, &id, 1000)]);
        thousands.push(start.elapsed());
        if n == 1 || n == 10 {
            let loose = disk(&bench);
            run(&bench, "git", &["gc", "-q", "--prune=now"]);
            sizes.push((loose, disk(&bench)));
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
    bench.incident(&["--json", "show", &id]);
    say(&format!("| `show` of 10,000 events | {:.0} ms | |", per(start.elapsed()) * 1000.0));
}

/// A ledger of a million lines, in segments that are not ours to begin with: how much memory a look at it takes.
fn million() {
    let bench = Bench::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/million.py");
    run(&bench, "python3", &[&folder.display().to_string()]);
    for words in [vec!["list"], vec!["--json", "list"]] {
        let start = Instant::now();
        let script = "ulimit -v 1500000; exec \"$@\"";
        let mut all = vec!["-c", script, "bash", PROGRAM];
        all.extend(&words);
        run(&bench, "bash", &all);
        say(&format!(
            "| `{}` beside a million events of a stranger, 1.5 GB of address space | {:.1} s | bounded |",
            words.join(" "),
            start.elapsed().as_secs_f64()
        ));
    }
    let ids = bench.incident(&["--json", "list"]);
    let (_, rest) = ids.split_once("\"incident\":\"").expect("an incident");
    let id = &rest[..40];
    let start = Instant::now();
    let script = "ulimit -v 1500000; \"$0\" show \"$1\" > /dev/null; echo $?";
    let status = run(&bench, "bash", &["-c", script, PROGRAM, id]);
    say(&format!("| `show` of it: exit {status} | {:.1} s | bounded |", start.elapsed().as_secs_f64()));
}
