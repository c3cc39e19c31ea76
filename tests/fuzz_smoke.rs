//! Every fuzz target on a fixed number of inputs, made from the committed seeds by a fixed sequence of changes: the
//! same in every run, without a fuzzer. The long runs are by hand (`tests/fuzz/README.md`).

#[path = "fuzz/checks.rs"]
mod checks;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Words that lead somewhere.
const WORDS: [&[u8]; 24] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xe2\x80\xae",
    b"\x1b[",
    b" ",
    b"|",
    b"#",
    b"@a",
    b"null",
    b"-0",
    b"9007199254740993",
    b"1e16",
    b"\\u0000",
    b"ghp_",
    b"-----BEGIN RSA PRIVATE KEY-----",
    b": ",
];

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }

    /// A place and a length within some bytes.
    fn part(&mut self, length: usize) -> (usize, usize) {
        let at = self.below(length + 1);
        (at, at + self.below((length - at).min(64) + 1))
    }
}

/// One to six changes: a bit, a word, a part lost, doubled, moved, or taken from another seed.
fn changed(seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seeds[dice.below(seeds.len())].clone();
    for _ in 0..=dice.below(6) {
        let (from, to) = dice.part(bytes.len());
        match dice.below(7) {
            0 if !bytes.is_empty() => {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << dice.below(8);
            }
            1 => drop(bytes.splice(from..from, WORDS[dice.below(WORDS.len())].iter().copied())),
            2 => drop(bytes.drain(from..to)),
            3 => {
                let part = bytes[from..to].to_vec();
                let times = 1 + dice.below(8);
                bytes.splice(from..from, part.repeat(times));
            }
            4 => {
                let part: Vec<u8> = bytes.drain(from..to).collect();
                let at = dice.below(bytes.len() + 1);
                bytes.splice(at..at, part);
            }
            5 => {
                let other = &seeds[dice.below(seeds.len())];
                let (start, end) = dice.part(other.len());
                bytes.splice(from..to, other[start..end].iter().copied());
            }
            _ => bytes.truncate(to.max(1)),
        }
        bytes.truncate(16_384);
    }
    bytes
}

fn seeds_of(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds").join(name);
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{} holds the seeds: {e}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{name} has no seed");
    paths.into_iter().map(|path| std::fs::read(path).expect("a seed")).collect()
}

#[test]
fn every_target_holds_on_a_fixed_number_of_inputs() {
    let lanes = [0, 1].map(|lane| {
        std::thread::spawn(move || {
            for (name, check) in checks::ALL.iter().skip(lane).step_by(2) {
                let seeds = seeds_of(name);
                let mut dice = Dice(name.len() as u64 + 99);
                let slow = ["ledger_fold", "ledger_union", "post_mortem", "review_diff", "document_views"];
                let count = if slow.contains(name) { 400 } else { 2500 };
                for n in 0..seeds.len() + count {
                    let input = seeds.get(n).cloned().unwrap_or_else(|| changed(&seeds, &mut dice));
                    let held = catch_unwind(AssertUnwindSafe(|| check(&input))).is_ok();
                    assert!(held, "{name}, input {n}: {:?}", String::from_utf8_lossy(&input));
                }
            }
        })
    });
    for lane in lanes {
        lane.join().expect("a half of the targets");
    }
}

#[test]
fn every_target_is_one_of_the_fuzzers_and_is_described() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("the manifest");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the page");
    for (name, _) in checks::ALL {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is no target of Cargo.toml");
        assert!(readme.contains(&format!("| `{name}` |")), "{name} is not in README.md");
        let target =
            std::fs::read_to_string(root.join(format!("fuzz_targets/{name}.rs"))).expect("the target");
        assert!(target.contains(&format!("checks::{name}(bytes)")), "{name} checks something else");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), checks::ALL.len());
}
