//! A repository as years of use would leave it: commits, incidents and attempts whose words are as frequent as those of
//! real text (Zipf's law), made by `git fast-import`, packed. The same numbers give the same repository.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use git_incident::event::line::seal;
use git_incident::event::{AttemptEnded, AttemptStarted, Data, Event, IncidentOpened};
use git_incident::git::Repo;
use git_incident::model::incident::Author;
use git_incident::model::outcome::{Bug, Hypothesis, Outcome};
use git_incident::model::{Timestamp, canonical};

/// How much is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Commits on `main`.
    pub commits: usize,
    /// Incidents.
    pub incidents: usize,
    /// Attempts of each.
    pub attempts: usize,
}

/// Numbers that look like chance and are always the same.
pub(crate) struct Chance(u64);

impl Chance {
    /// From a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below a number.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// The place of a word by its frequency: the first is the most frequent, the n-th n times less.
    fn rank(&mut self) -> usize {
        let uniform = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (WORDS as f64).powf(uniform) as usize - 1
    }
}

/// As many words as a large project's notes have.
const WORDS: usize = 40_000;

/// Words that are in every text of this kind come first.
const FREQUENT: [&str; 60] = [
    "the", "of", "is", "in", "to", "a", "and", "for", "on", "with", "not", "kernel", "error", "after",
    "wrong", "memory", "tile", "from", "at", "block", "values", "shared", "run", "same", "when", "test",
    "GPU", "row", "before", "load", "store", "mask", "scale", "by", "one", "rows", "output", "stride",
    "barrier", "thread", "sequence", "length", "still", "head", "cache", "softmax", "fp16", "last", "step",
    "launch", "stream", "driver", "rank", "batch", "size", "register", "index", "offset", "loop", "sync",
];

fn word(rank: usize) -> String {
    const PARTS: [&str; 32] = [
        "ba", "co", "di", "fu", "gra", "ho", "in", "ju", "ka", "lo", "me", "nu", "or", "pa", "qua", "re",
        "so", "tu", "ul", "va", "wi", "xe", "yo", "za", "bri", "cle", "dro", "fli", "gno", "spe", "tra",
        "vex",
    ];
    if let Some(word) = FREQUENT.get(rank) {
        return (*word).to_owned();
    }
    let mut n = rank;
    let mut word = String::new();
    for _ in 0..3 {
        word.push_str(PARTS[n % 32]);
        n /= 32;
    }
    if n > 0 {
        word.push_str(PARTS[n % 32]);
    }
    word
}

/// A text of so many words.
pub(crate) fn text(chance: &mut Chance, words: usize) -> String {
    (0..words).map(|_| word(chance.rank())).collect::<Vec<_>>().join(" ")
}

/// The ledger of the n-th incident.
pub(crate) fn ledger(n: usize, attempts: usize) -> Vec<Event> {
    let mut chance = Chance::new(n as u64 + 1);
    let author = Author {
        agent: String::new(),
        email: format!("person{}@example.org", n % 40),
        name: format!("Person {}", n % 40),
        salt: "00".repeat(16),
    };
    let salt = canonical::sha256_hex(n.to_string().as_bytes())[..32].to_owned();
    let mut events: Vec<Event> = Vec::new();
    let mut add = |data: Data| {
        let parents: Vec<_> = events.last().map(|e| e.id).into_iter().collect();
        let at =
            Timestamp::from_millis(1_700_000_000_000 + n as i64 * 7_000_000 + events.len() as i64 * 60_000);
        events.push(seal(at, &author, &data, &parents, &salt).expect("sealed"));
        events.last().expect("just added").id
    };
    let opened = IncidentOpened {
        title: text(&mut chance, 8),
        ticket: format!("GPU-{n}"),
        symptom: text(&mut chance, 40),
        labels: vec![format!("area{}", n % 12)],
        ..Default::default()
    };
    add(opened.into());
    for k in 0..attempts {
        let hypothesis = text(&mut chance, 14);
        let attempt =
            add(AttemptStarted { hypothesis, action: text(&mut chance, 12), ..Default::default() }.into());
        if k + 1 < attempts || !n.is_multiple_of(3) {
            let fixed = k + 1 == attempts;
            add(AttemptEnded {
                attempt,
                outcome: Outcome {
                    hypothesis: if fixed { Hypothesis::Supported } else { Hypothesis::Refuted },
                    bug: if fixed { Bug::Fixed } else { Bug::Remains },
                },
                action: String::new(),
                result: text(&mut chance, 30),
                conclusion: text(&mut chance, 18),
                rules_out: vec![],
            }
            .into());
        }
    }
    events
}

/// Fills a repository.
pub(crate) fn fill(directory: &Path, size: Size) {
    let mut child = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .spawn()
        .expect("git fast-import");
    let mut input = std::io::BufWriter::new(child.stdin.take().expect("a pipe"));
    let head = |name: &str| {
        format!("commit {name}\ncommitter Bench <bench@example.org> 1700000000 +0000\ndata 4\nfill\n")
    };
    for n in 0..size.commits {
        let file = n % 997;
        write!(
            input,
            "commit refs/heads/main\ncommitter Bench <bench@example.org> {} +0000\ndata 8\nchange {}\n\
             M 100644 inline src/f{file}.c\ndata {}\nint v{n:08} = {n:08};\n\n",
            1_600_000_000 + n,
            n % 10,
            format!("int v{n:08} = {n:08};\n").len()
        )
        .expect("written");
    }
    let mut evidence = head("refs/notes/incidents-evidence").into_bytes();
    input.write_all(head("refs/notes/incidents").as_bytes()).expect("written");
    for n in 0..size.incidents {
        let events = ledger(n, size.attempts);
        let mut bytes = Vec::new();
        for event in &events {
            bytes.extend_from_slice(&event.raw);
            bytes.push(b'\n');
        }
        let mut anchor_line = events[0].raw.clone();
        anchor_line.push(b'\n');
        let anchor = Repo::blob_name(&anchor_line).expect("hashed").to_string();
        entry(&mut input, &anchor, &bytes);
        entry(&mut evidence, &anchor, &anchor_line);
    }
    input.write_all(b"\n").expect("written");
    input.write_all(&evidence).expect("written");
    input.write_all(b"\n").expect("written");
    drop(input);
    assert!(child.wait().expect("waited").success());
}

fn entry(out: &mut impl std::io::Write, key: &str, bytes: &[u8]) {
    write!(out, "M 100644 inline {}/{}\ndata {}\n", &key[..2], &key[2..], bytes.len()).expect("written");
    out.write_all(bytes).expect("written");
    out.write_all(b"\n").expect("written");
}
