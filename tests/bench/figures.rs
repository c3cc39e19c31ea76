//! Figures against git, each a ratio taken in one run, interleaved, medians: `cargo bench --bench figures`.
//!
//! Machines are noisy, so nothing here fails; docs/BENCHMARKS.md keeps what was measured, also what falls short.
//! `cargo bench --bench figures -- notes list` runs only the groups whose names contain one of the words.

mod common;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Bench, NOTE, PROGRAM, groups, median, ms, race, row, say, script, timed};

fn main() {
    say("| figure | ours | against | ratio | asked |");
    say("|---|---|---|---|---|");
    groups(&[
        ("start", cold_start),
        ("notes", notes),
        ("scale", scale),
        ("hooks", hooks),
        ("list", list),
        ("growth", growth),
    ]);
}

fn cold_start() {
    let bench = Bench::new();
    let (ours, git) = race(
        200,
        |_| timed(&mut bench.command(PROGRAM, &["--version"])),
        |_| timed(&mut bench.command("git", &["--version"])),
    );
    row("cold start, `--version`", ours, "`git --version`", git, "≤ 2 ×");
}

fn notes() {
    let bench = Bench::new();
    let anchors = bench.fill(10_000);
    bench.git(&["update-ref", "refs/notes/copy", "refs/notes/incidents"]);
    bench.incident(&["use", &anchors[5000]]);
    let (ours, git) = race(
        60,
        |_| timed(&mut bench.command(PROGRAM, &["attempt", "note", NOTE])),
        |_| timed(&mut bench.command("git", &["notes", "--ref=copy", "append", "-m", NOTE, &anchors[5000]])),
    );
    row("`attempt note` at 10,000 incidents", ours, "`git notes append`", git, "≤ 1.5 ×");
}

fn scale() {
    let small = Bench::new();
    let large = Bench::new();
    let few = small.fill(1_000);
    let many = large.fill(100_000);
    small.incident(&["use", &few[500]]);
    large.incident(&["use", &many[50_000]]);
    let (at_many, at_few) = race(
        60,
        |_| timed(&mut large.command(PROGRAM, &["attempt", "note", NOTE])),
        |_| timed(&mut small.command(PROGRAM, &["attempt", "note", NOTE])),
    );
    row("`attempt note` at 100,000 incidents", at_many, "itself at 1,000", at_few, "≤ 1.3 ×");
}

fn over(figure: &str, ours: Duration, empty: Duration, asked: &str) {
    let more = ours.saturating_sub(empty);
    let ratio = ours.as_secs_f64() / empty.as_secs_f64();
    say(&format!(
        "| {figure} | {} | empty shell hook: {} | {ratio:.2} ×, {} over it | {asked} |",
        ms(ours),
        ms(empty),
        ms(more)
    ));
}

fn hooks() {
    let bench = Bench::new();
    let anchors = bench.fill(1_000);
    bench.incident(&["init"]);
    bench.incident(&["use", &anchors[10]]);
    bench.incident(&["attempt", "start", "-H", "a hypothesis"]);
    let hooks = bench.path().join(".git/hooks");
    let empty = script(&hooks.join("empty"), "#!/bin/sh\nexit 0\n");
    let message = bench.path().join(".git/COMMIT_EDITMSG");
    let commit_msg = hooks.join("commit-msg");
    let run = |hook: &Path| {
        std::fs::write(&message, "Fix the mask of the last tile\n\nIt read one row past the end.\n")
            .expect("written");
        timed(&mut bench.command(&hook.display().to_string(), &[".git/COMMIT_EDITMSG"]))
    };
    let (ours, none) = race(100, |_| run(&commit_msg), |_| run(&empty));
    over("commit-msg hook, adding two trailers", ours, none, "≤ 8 ms over");
    pre_push(&bench, &hooks, &empty);
}

fn pre_push(bench: &Bench, hooks: &Path, empty: &Path) {
    bench.write(".git-incident.toml", "[[gate]]\nid = \"quick\"\nkind = \"command\"\nrun = \"true\"\n");
    bench.git(&["add", "."]);
    bench.git(&["commit", "-q", "--no-verify", "-m", "Configure a gate"]);
    let base = bench.git(&["rev-parse", "HEAD"]);
    let mut child = bench
        .command("git", &["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("git fast-import");
    let mut stream = String::new();
    for n in 0..1000 {
        let from = if n == 0 { format!("from {base}\n") } else { String::new() };
        let _ = write!(
            stream,
            "commit refs/heads/topic\ncommitter Bench <bench@example.org> {} +0000\ndata 7\nchange\n{from}M 100644 inline file\ndata 5\n{n:04}\n\n",
            1_700_000_000 + n
        );
    }
    child.stdin.take().expect("a pipe").write_all(stream.as_bytes()).expect("written");
    assert!(child.wait().expect("waited").success());
    bench.git(&["update-ref", "refs/remotes/origin/main", &base]);
    bench.git(&["pack-refs", "--all"]);
    bench.incident(&["trust", "--yes"]);
    let tip = bench.git(&["rev-parse", "refs/heads/topic"]);
    bench.incident(&["validate", &tip]);
    let line = format!("refs/heads/topic {tip} refs/heads/topic {base}\n");
    let hook = hooks.join("pre-push");
    let run = |program: &Path| {
        let start = Instant::now();
        let mut child = bench
            .command(&program.display().to_string(), &["origin", "file:///nowhere"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("runs");
        // The empty hook may be gone before it reads.
        let _ = child.stdin.take().expect("a pipe").write_all(line.as_bytes());
        assert!(child.wait().expect("waited").success());
        start.elapsed()
    };
    let (ours, none) = race(60, |_| run(&hook), |_| run(empty));
    over("pre-push, 1,000 commits, every record cached", ours, none, "≤ 30 ms over");
}

fn list() {
    let bench = Bench::new();
    bench.fill(10_000);
    let both = bench.path().join(".git/both");
    script(
        &both,
        "#!/bin/sh\ngit notes --ref=incidents list >.git/listed && cut -d' ' -f1 .git/listed | git cat-file --batch >.git/bodies\n",
    );
    let (ours, git) = race(
        20,
        |_| timed(&mut bench.command(PROGRAM, &["list", "--json"])),
        |_| timed(&mut bench.command(&both.display().to_string(), &[])),
    );
    row(
        "`list` of 10,000 incidents, no index",
        ours,
        "`git notes list` + `git cat-file --batch`",
        git,
        "≤ 2 ×",
    );
}

fn growth() {
    let bench = Bench::new();
    bench.git(&["config", "--unset", "gc.auto"]);
    bench.incident(&["open", "it hangs"]);
    bench.incident(&["attempt", "start", "-H", "a hypothesis"]);
    let size = || {
        let text = bench.git(&["count-objects", "-v"]);
        let value = |key: &str| {
            text.lines()
                .find_map(|l| l.strip_prefix(key))
                .and_then(|v| v.trim().parse::<u64>().ok())
                .unwrap_or(0)
        };
        (value("size:") + value("size-pack:"), value("count:"))
    };
    let (before, _) = size();
    let mut times = Vec::new();
    for n in 0..1000 {
        let text = format!("{NOTE}, run {n}");
        times.push(timed(&mut bench.command(PROGRAM, &["attempt", "note", &text])));
    }
    let first = median(times[..50].to_vec());
    let last = median(times[950..].to_vec());
    row("1,000 notes to one incident: the last 50", last, "the first 50", first, "≤ 2 ×");
    let (grown, loose) = size();
    bench.git(&["gc", "--quiet", "--prune=now"]);
    let (packed, _) = size();
    say(&format!(
        "| 1,000 notes: disk before and after maintenance | {} KiB in {loose} loose objects | after `git gc`: {} KiB | {:.2} × | measured |",
        grown - before,
        packed.saturating_sub(before),
        packed as f64 / grown as f64
    ));
}
