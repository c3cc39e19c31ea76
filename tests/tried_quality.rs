//! How well `tried` tells what was tried before from what is merely similar, on pairs that people would write:
//! `tests/bench/tried_pairs.jsonl`. `cargo test --test tried_quality -- --nocapture` prints the figures of
//! docs/BENCHMARKS.md.
//!
//! Every second pair was left aside while words and weights were chosen: those are the held-out half.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use git_incident::search::concepts::concepts;
use git_incident::search::similar::{MATCH, Profile, likeness, rarity};

struct Pair {
    label: String,
    tried: String,
    asked: String,
}

fn pairs(text: &str) -> Vec<Pair> {
    text.lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
            let text = |key: &str| value[key].as_str().expect("a text").to_owned();
            Pair { label: text("label"), tried: text("tried"), asked: text("asked") }
        })
        .collect()
}

#[derive(Default)]
struct Counted {
    found: usize,
    missed: usize,
    wrong: usize,
    quiet: usize,
}

impl Counted {
    fn recall(&self) -> f64 {
        self.found as f64 / (self.found + self.missed).max(1) as f64
    }

    fn precision(&self) -> f64 {
        self.found as f64 / (self.found + self.wrong).max(1) as f64
    }
}

/// How alike two texts are, the first one among the attempts of a set.
fn scores(tried: &BTreeSet<&str>) -> impl Fn(&str, &str) -> f64 + use<> {
    // As the index counts it: in how many of the attempts a concept stands.
    let mut with: BTreeMap<String, u64> = BTreeMap::new();
    for text in tried {
        let all: BTreeSet<String> = concepts(text).into_iter().map(|(c, _)| c).collect();
        for concept in all {
            *with.entry(concept).or_default() += 1;
        }
    }
    let all = tried.len() as u64;
    move |a: &str, b: &str| {
        let (asked, attempt) = (Profile::of(b), Profile::of(a));
        let known: BTreeSet<&str> = asked.concepts().collect();
        let weight = |c: &str| {
            if known.contains(c) { rarity(with.get(c).copied().unwrap_or_default(), all) } else { 0.8 }
        };
        likeness(&asked, &attempt, &weight)
    }
}

#[test]
fn what_was_tried_is_known_again_and_what_is_merely_similar_is_not() {
    let pairs = pairs(include_str!("bench/tried_pairs.jsonl"));
    assert!(pairs.len() >= 200, "{}", pairs.len());
    let tried: BTreeSet<&str> = pairs.iter().map(|p| p.tried.as_str()).collect();
    let score = scores(&tried);
    let mut halves = [Counted::default(), Counted::default()];
    let mut other_matches = 0;
    let mut out = std::io::stderr();
    for (n, pair) in pairs.iter().enumerate() {
        let half = &mut halves[n % 2];
        let score_here = score(&pair.tried, &pair.asked);
        match (pair.label != "similar", score_here >= MATCH) {
            (true, true) => half.found += 1,
            (true, false) => half.missed += 1,
            (false, true) => half.wrong += 1,
            (false, false) => half.quiet += 1,
        }
        // The held-out half is not looked at, only counted.
        if n % 2 == 0
            && (pair.label != "similar") != (score_here >= MATCH)
            && std::env::var_os("SHOW_WRONG").is_some()
        {
            let _ = writeln!(out, "{score_here:.2} {} | {} | {}", pair.label, pair.tried, pair.asked);
        }
        other_matches += tried.iter().filter(|t| **t != pair.tried && score(t, &pair.asked) >= MATCH).count();
    }
    for (name, half) in ["chosen on", "held out"].iter().zip(&halves) {
        let line = format!(
            "{name}: recall {:.3}, precision {:.3} ({} found, {} missed, {} wrong, {} rightly quiet)",
            half.recall(),
            half.precision(),
            half.found,
            half.missed,
            half.wrong,
            half.quiet
        );
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(
        out,
        "other attempts named, for each question: {:.2}",
        other_matches as f64 / pairs.len() as f64
    );
    // Asked for: recall 0.9 at precision 0.8, of the set. The held-out half alone is watched as well: when it falls,
    // words were chosen for the other one.
    let [chosen, held] = halves;
    let whole = Counted {
        found: chosen.found + held.found,
        missed: chosen.missed + held.missed,
        wrong: chosen.wrong + held.wrong,
        quiet: chosen.quiet + held.quiet,
    };
    let _ = writeln!(out, "all: recall {:.3}, precision {:.3}", whole.recall(), whole.precision());
    assert!(whole.recall() >= 0.9 && whole.precision() >= 0.8);
    assert!(held.recall() >= 0.88 && held.precision() >= 0.77);
}

/// Pairs of other subjects, written when words and weights were as they are, before any score of them was known.
#[test]
fn pairs_that_nobody_had_seen() {
    let pairs = pairs(include_str!("bench/tried_pairs_fresh.jsonl"));
    assert_eq!(pairs.len(), 60);
    let tried: BTreeSet<&str> = pairs.iter().map(|p| p.tried.as_str()).collect();
    let score = scores(&tried);
    let mut counted = Counted::default();
    for pair in &pairs {
        match (pair.label != "similar", score(&pair.tried, &pair.asked) >= MATCH) {
            (true, true) => counted.found += 1,
            (true, false) => counted.missed += 1,
            (false, true) => counted.wrong += 1,
            (false, false) => counted.quiet += 1,
        }
    }
    let _ = writeln!(
        std::io::stderr(),
        "fresh: recall {:.3}, precision {:.3} ({} found, {} missed, {} wrong, {} rightly quiet)",
        counted.recall(),
        counted.precision(),
        counted.found,
        counted.missed,
        counted.wrong,
        counted.quiet
    );
}
