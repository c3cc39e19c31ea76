//! `search`, `tried`, `list` and the index on a big repository: `cargo bench --bench search`, or with other sizes
//! `cargo bench --bench search -- COMMITS INCIDENTS ATTEMPTS`. Nothing here fails; docs/BENCHMARKS.md keeps the figures.

mod generator;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use generator::{Chance, Size, fill, text};

const PROGRAM: &str = env!("CARGO_BIN_EXE_git-incident");

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn command(directory: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("XDG_STATE_HOME", directory.join(".git/state"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn run(directory: &Path, program: &str, arguments: &[&str]) -> Duration {
    let start = Instant::now();
    let status = command(directory, program, arguments).status().expect("runs");
    let elapsed = start.elapsed();
    assert!(matches!(status.code(), Some(0 | 3)), "{program} {arguments:?}: {status}");
    elapsed
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The median and the 95th percentile.
fn spread(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    (ms(times[times.len() / 2]), ms(times[(times.len() * 95 / 100).min(times.len() - 1)]))
}

fn index_bytes(directory: &Path) -> u64 {
    fs::read_dir(directory.join(".git/incident"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with("index-"))
        .filter_map(|e| e.metadata().ok())
        .map(|m| m.len())
        .sum()
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let size = match numbers.as_slice() {
        [commits, incidents, attempts] => {
            Size { commits: *commits, incidents: *incidents, attempts: attempts.div_ceil(*incidents) }
        }
        _ => Size { commits: 100_000, incidents: 10_000, attempts: 10 },
    };
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let place = scratch.path();
    run(place, "git", &["init", "-q", "-b", "main"]);
    for (key, value) in [
        ("user.name", "Bench"),
        ("user.email", "bench@example.org"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
    ] {
        run(place, "git", &["config", key, value]);
    }
    fill(place, size);
    run(place, PROGRAM, &["list", "--json"]);
    run(place, "git", &["pack-refs", "--all"]);
    let ledgers: usize = (0..size.incidents)
        .map(|n| generator::ledger(n, size.attempts).iter().map(|e| e.raw.len() + 1).sum::<usize>())
        .sum();
    say(&format!("{size:?}, ledgers {} MiB", ledgers >> 20));

    let bodies = "git notes --ref=incidents list | cut -d' ' -f1 | git cat-file --batch >/dev/null";
    let without: Vec<Duration> = (0..3).map(|_| run(place, PROGRAM, &["list", "--json"])).collect();
    say(&format!("list without an index: {:.0} ms", spread(without).0));
    let built = run(place, PROGRAM, &["search", "zzz"]);
    say(&format!("index from nothing: {:.1} s (asked: 60)", built.as_secs_f64()));
    let bytes = index_bytes(place);
    say(&format!(
        "its size: {} MiB, {:.2} x the ledgers (asked: 3)",
        bytes >> 20,
        bytes as f64 / ledgers as f64
    ));

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        ours.push(run(place, PROGRAM, &["list", "--json"]));
        theirs.push(run(place, "sh", &["-c", bodies]));
    }
    let (ours, theirs) = (spread(ours).0, spread(theirs).0);
    say(&format!("list: {ours:.1} ms, git {theirs:.1} ms, {:.2} x (asked: 0.3)", ours / theirs));

    let mut chance = Chance::new(4711);
    for words in [1, 2, 4] {
        let times = (0..100).map(|_| run(place, PROGRAM, &["search", &text(&mut chance, words)])).collect();
        let (median, most) = spread(times);
        say(&format!("search of {words} words: median {median:.1} ms, p95 {most:.1} ms (asked: 30)"));
    }
    let times = (0..100).map(|_| run(place, PROGRAM, &["tried", &text(&mut chance, 14)])).collect();
    let (median, most) = spread(times);
    say(&format!("tried, 14 words of chance: median {median:.1} ms, p95 {most:.1} ms (asked: 30)"));
    let mut times = Vec::new();
    for _ in 0..100 {
        let incident = generator::ledger(chance.below(size.incidents), 1);
        let raw = String::from_utf8_lossy(&incident[1].raw).into_owned();
        let known = raw
            .split("\"hypothesis\":\"")
            .nth(1)
            .and_then(|t| t.split('"').next())
            .expect("a text")
            .to_owned();
        times.push(run(place, PROGRAM, &["tried", &known]));
    }
    let (median, most) = spread(times);
    say(&format!("tried, what was tried: median {median:.1} ms, p95 {most:.1} ms (asked: 30)"));
    let times =
        (0..40).map(|n| run(place, PROGRAM, &["show", &format!("GPU-{}", n * 7 % size.incidents)])).collect();
    say(&format!("show by ticket: median {:.1} ms", spread(times).0));

    let (mut note, mut after, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..25 {
        let incident = format!("GPU-{}", n * 13 % size.incidents);
        // Finding it by its ticket brings the index up to date; the note itself never touches it.
        run(place, PROGRAM, &["use", &incident]);
        note.push(run(place, PROGRAM, &["attempt", "note", "zzzz one row past the end"]));
        after.push(run(place, PROGRAM, &["search", "zzzz"]));
        again.push(run(place, PROGRAM, &["search", "zzzz"]));
    }
    let (note, after, again) = (spread(note).0, spread(after).0, spread(again).0);
    say(&format!("attempt note: {note:.1} ms; the search after it {after:.1} ms, once more {again:.1} ms"));
    say(&format!("one event in the index: {:.1} ms (asked: 5)", after - again));
}
