//! `git incident sync` against plain git: two clones of one hub, each with incidents of its own, come together.
//!
//! `cargo bench --bench sync` prints the time of both ways, taken in turn, medians, and the most memory that the
//! sync's own process took. `cargo bench --bench sync -- 2000` measures with that many incidents a clone.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::{PROGRAM, REFS, clocked, command, fill, median, ratio, say};

const ROUNDS: usize = 5;

fn main() {
    let count = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(10_000);
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let original = scratch.path().join("original");
    fs::create_dir(&original).expect("a folder");
    for (n, name) in ["one", "two"].into_iter().enumerate() {
        let clone = original.join(name);
        git(&original, &["init", "-q", "-b", "main", name]);
        for (key, value) in [
            ("user.name", "Bench"),
            ("user.email", "bench@example.org"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
        ] {
            git(&clone, &["config", key, value]);
        }
        git(&clone, &["remote", "add", "origin", "../hub.git"]);
        fill(&clone, n * count, count);
        // The first command in a clone takes over the refs.
        incident(&clone, &["list", "--json"]);
        git(&clone, &["pack-refs", "--all"]);
    }
    git(&original, &["init", "-q", "--bare", "-b", "main", "hub.git"]);
    git(&original, &["-C", "hub.git", "config", "gc.auto", "0"]);
    say(&format!(
        "| two clones with {count} incidents each | ours | plain git | ratio | asked |\n|---|---|---|---|---|"
    ));
    let (mut ours, mut theirs, mut memory) = (Vec::new(), Vec::new(), 0);
    for round in 0..=ROUNDS {
        let place = fresh(&original, &scratch.path().join("a"));
        // The first clone is there before the second comes.
        let first = clocked(|| memory = memory.max(sync(&place.join("one"))));
        let second = clocked(|| memory = memory.max(sync(&place.join("two"))));
        let third = clocked(|| memory = memory.max(sync(&place.join("one"))));
        let place = fresh(&original, &scratch.path().join("b"));
        let plain = [
            clocked(|| plain(&place.join("one"))),
            clocked(|| plain(&place.join("two"))),
            clocked(|| plain(&place.join("one"))),
        ];
        // The first round warms the caches.
        if round > 0 {
            ours.push([first, second, third]);
            theirs.push(plain);
        }
    }
    for (i, what) in
        ["an empty hub: all is pushed", "both sides have news: fetch, merge, push", "all is fetched"]
            .into_iter()
            .enumerate()
    {
        let a = median(ours.iter().map(|t| t[i]).collect());
        let b = median(theirs.iter().map(|t| t[i]).collect());
        let ratio = ratio(a, b);
        say(&format!("| {what} | {} ms | {} ms | {ratio:.2} × | ≤ 2 × |", a.as_millis(), b.as_millis()));
    }
    let total = |times: &[[Duration; 3]]| median(times.iter().map(|t| t.iter().sum()).collect());
    let (a, b) = (total(&ours), total(&theirs));
    say(&format!(
        "| all three | {} ms | {} ms | {:.2} × | ≤ 2 × |",
        a.as_millis(),
        b.as_millis(),
        ratio(a, b)
    ));
    say(&format!("| most memory of a sync's own process (VmHWM) | {} MiB | | | < 256 MiB |", memory / 1024));
}

fn git(place: &Path, arguments: &[&str]) {
    assert!(command(place, "git", arguments).status().expect("git runs").success(), "git {arguments:?}");
}

fn incident(place: &Path, arguments: &[&str]) {
    assert!(command(place, PROGRAM, arguments).status().expect("runs").success(), "{arguments:?}");
}

/// Syncs, and returns the most memory that the process took, in KiB.
fn sync(place: &Path) -> u64 {
    let mut child = command(place, PROGRAM, &["sync"]).spawn().expect("started");
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut most = 0;
    while child.try_wait().expect("waited").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let peak = text
            .lines()
            .find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok());
        most = most.max(peak.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().expect("waited").success());
    most
}

/// The same by hand, as docs/STORAGE.md says.
fn plain(place: &Path) {
    git(place, &["fetch", "-q", "origin", "+refs/notes/incidents*:refs/notes/remotes/origin/incidents*"]);
    for name in ["incidents-evidence", "incidents"] {
        let theirs = format!("refs/notes/remotes/origin/{name}");
        if command(place, "git", &["rev-parse", "-q", "--verify", &theirs])
            .status()
            .expect("git runs")
            .success()
        {
            git(place, &["notes", &format!("--ref={name}"), "merge", "-q", "-s", "cat_sort_uniq", &theirs]);
        }
    }
    git(place, &[&["push", "-q", "origin"][..], &REFS].concat());
}

fn fresh(original: &Path, place: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(place);
    assert!(Command::new("cp").arg("-a").arg(original).arg(place).status().expect("cp").success());
    place.to_path_buf()
}
