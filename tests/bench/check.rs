//! `postmortem check` of 700 documents (20 MB) against reading and hashing the same bytes: `cargo bench --bench check`.
//!
//! Nothing here fails; docs/BENCHMARKS.md keeps what was measured.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use common::{Bench, PROGRAM, command, race, row, said, say, timed};

const DOCUMENTS: usize = 700;
const BYTES: usize = 20_000_000;
const ROUNDS: usize = 7;

fn main() {
    let bench = Bench::new();
    let top = bench.path();
    let commits = history(top);
    let folder = top.join("docs/postmortems");
    fs::create_dir_all(&folder).expect("a folder");
    let mut total = 0;
    for n in 0..DOCUMENTS {
        let text = document(n, &commits);
        total += text.len();
        fs::write(folder.join(format!("GPU-{n}.md")), text).expect("written");
    }
    let everything = "cat docs/postmortems/*.md >/dev/null && ls docs/postmortems/*.md | git hash-object --stdin-paths >/dev/null";
    let (ours, theirs) = race(
        ROUNDS,
        |_| timed(&mut bench.command(PROGRAM, &["postmortem", "check", "--json"])),
        |_| timed(&mut bench.command("sh", &["-c", everything])),
    );
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    say("| figure | ours | against | ratio | asked |\n|---|---|---|---|---|");
    let figure = format!(
        "`postmortem check` of {DOCUMENTS} documents ({:.1} MB), {threads} processors",
        total as f64 / 1e6
    );
    row(&figure, ours, "`cat` + `git hash-object`", theirs, "≤ 1 s on two cores");
}

fn git(top: &Path, arguments: &[&str]) -> String {
    said(&mut command(top, "git", arguments))
}

/// A few hundred source files over forty commits.
fn history(top: &Path) -> Vec<String> {
    let mut commits = Vec::new();
    for n in 0..40 {
        for file in 0..8 {
            let path = top.join(format!("src/part{}/file{}.c", file % 4, n * 8 + file));
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            let mut code = String::new();
            for line in 0..60 {
                let _ = writeln!(
                    code,
                    "int load_part_{n}_{file}_{line}(struct page *table) {{ return table->n + {line}; }}"
                );
            }
            fs::write(path, code).expect("written");
        }
        git(top, &["add", "."]);
        git(top, &["commit", "-q", "-m", &format!("Load part {n} in order (#{n})")]);
        commits.push(git(top, &["rev-parse", "HEAD"]));
    }
    commits
}

/// Numbers without randomness.
struct Mix(u64);

impl Mix {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

const SENTENCES: [&str; 12] = [
    "The reader waits in `shard_wait_ready` for a word that nobody wrote, while the queue on the other side is idle.",
    "Requests to the loader returned an error for 14 minutes, from 10:05 UTC to 10:19 UTC, in one region out of three.",
    "The second hypothesis, that the table is read before it is written, was held against every earlier run.",
    "A restart of the scheduler failed to bring the pods back, since the image could not be pulled from the mirror.",
    "With two queues the hang was gone, and with one it came back within 30 s on the same machine.",
    "We had no alert for a launch that waits, so the first to notice was the nightly import at 02:40 UTC.",
    "The plan merges its queues at a checkpoint, which makes the narrow branch more likely than it was in March.",
    "Nothing in the suite ran the unpinned plan with a single queue, neither in the nightly job nor by hand.",
    "The profile shows 312 ms in the copy, 4.1 ms in the launch and 0.2 ms in the kernel itself, over 50 steps.",
    "Operators of the cluster saw a steady rise of the memory in use, from 41 GiB to 78 GiB, before the first failure.",
    "The flag was added for an experiment that ended in May and was on by default in the release of 2026-02-11.",
    "Each line of the log has a time stamp, and the order of the two events is the same in all 20 of them.",
];

fn document(n: usize, commits: &[String]) -> String {
    let mut mix = Mix(n as u64 + 1);
    let commit = &commits[n % commits.len()];
    let file = n % 320;
    let mut out = format!(
        "# Post-mortem: the import stops at checkpoint {n}\n\n## Summary\n\nThe import of {n} shards stopped. Fixed by commit `{}`. GPU-{n}, PR #{}, owner Sam.\n\n",
        &commit[..12],
        n % commits.len()
    );
    let blocks = [
        ("Symptom", 2),
        ("Root cause", 8),
        ("Why it produced the symptom", 5),
        ("Fix", 4),
        ("How it was found", 14),
        ("Timeline (UTC)", 6),
        ("Why it slipped through", 3),
        ("Validation", 4),
    ];
    let weight: usize = blocks.iter().map(|(_, w)| w).sum();
    let each = BYTES / DOCUMENTS - 900;
    for (title, share) in blocks {
        let _ = write!(out, "## {title}\n\n");
        let until = out.len() + each * share / weight;
        let mut minute = 0;
        while out.len() < until {
            if title.starts_with("Timeline") {
                minute += 1 + mix.next(3);
                let _ = writeln!(
                    out,
                    "- {:02}:{:02} {}",
                    8 + minute / 60 % 15,
                    minute % 60,
                    SENTENCES[mix.next(12)]
                );
            } else if mix.next(7) == 0 {
                let _ = write!(
                    out,
                    "```text\n[{}] shard_wait_ready: 0x{:08x} not ready\n```\n\n",
                    mix.next(900),
                    mix.next(1 << 30)
                );
            } else {
                for _ in 0..3 {
                    out.push_str(SENTENCES[mix.next(12)]);
                    out.push('\n');
                }
                let _ = write!(
                    out,
                    "See `src/part{}/file{file}.c`, function `load_part_{}_{}_7`.\n\n",
                    file % 8 % 4,
                    file / 8,
                    file % 8
                );
            }
        }
        out.push('\n');
    }
    out.push_str("## Action items\n\n");
    for item in 0..4 {
        let _ = writeln!(out, "- Add the case with {item} queues to nightly. (Sam, GPU-{})", 1000 + n + item);
    }
    out
}
