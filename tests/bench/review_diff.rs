//! The review diff of a document of 5,000 lines, as a ratio to git's word diff of the same two files in the same run:
//! `cargo bench --bench review_diff`. Asked: 100 ms at most. Nothing here fails; docs/BENCHMARKS.md keeps the figures.

mod common;

use common::{PROGRAM, command, race, row, timed};

const ROUNDS: usize = 21;
const WORDS: [&str; 20] = [
    "gate",
    "event",
    "stream",
    "mask",
    "tile",
    "kernel",
    "launch",
    "buffer",
    "ready",
    "the",
    "skips",
    "between",
    "both",
    "when",
    "reads",
    "past",
    "validated",
    "workload",
    "device",
    "rank",
];

/// Words that look random and are the same in every run (a linear congruential generator, Knuth's MMIX constants).
fn sentence(state: &mut u64) -> String {
    let mut next = || {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize
    };
    let words: Vec<&str> = (0..6 + next() % 10).map(|_| WORDS[next() % WORDS.len()]).collect();
    format!("Step {} {}.", next() % 1000, words.join(" "))
}

/// A document of about 5,000 lines, and a later version of it with every tenth paragraph changed.
fn versions() -> (String, String) {
    let mut state = 1;
    let (mut old, mut new) = (String::from("# Post-mortem\n\n"), String::from("# Post-mortem\n\n"));
    for section in 0..50 {
        let heading =
            format!("## {} {section}\n\n", ["Root cause", "Validation", "Timeline", "Fix"][section % 4]);
        old.push_str(&heading);
        new.push_str(&heading);
        for paragraph in 0..49 {
            let text = format!("{} {}", sentence(&mut state), sentence(&mut state));
            old.push_str(&format!("{text}\n\n"));
            let text =
                if paragraph % 10 == 0 { text.replacen("the", "a", 1) + " All 30 runs pass." } else { text };
            new.push_str(&format!("{text}\n\n"));
        }
    }
    (old, new)
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let (old, new) = versions();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("old.md"), &old).expect("written");
    std::fs::write(at("new.md"), &new).expect("written");
    let (ours, gits) = race(
        ROUNDS,
        |_| {
            timed(&mut command(
                folder.path(),
                PROGRAM,
                &["postmortem", "diff", "--no-index", "old.md", "new.md"],
            ))
        },
        |_| {
            timed(&mut command(
                folder.path(),
                "git",
                &["diff", "--no-index", "--word-diff", "old.md", "new.md"],
            ))
        },
    );
    let figure = format!("`postmortem diff` of {} lines", old.lines().count());
    row(&figure, ours, "`git diff --word-diff`", gits, "≤ 100 ms");
}
