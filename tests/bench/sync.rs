//! `git incident sync` against plain git: two clones of one hub, each with incidents of its own, come together.
//!
//! `cargo bench --bench sync` prints the time of both ways, taken in turn, medians, and the most memory that the
//! sync's own process took. `cargo bench --bench sync -- 2000` measures with that many incidents a clone.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use git_incident::event::line::seal;
use git_incident::event::{AttemptEnded, AttemptStarted, Data, Event, IncidentOpened};
use git_incident::git::Repo;
use git_incident::model::incident::Author;
use git_incident::model::outcome::{Bug, Hypothesis, Outcome};
use git_incident::model::{Timestamp, canonical};

const PROGRAM: &str = env!("CARGO_BIN_EXE_git-incident");
const REFS: [&str; 2] = ["refs/notes/incidents", "refs/notes/incidents-evidence"];
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
        let first = timed(|| memory = memory.max(sync(&place.join("one"))));
        let second = timed(|| memory = memory.max(sync(&place.join("two"))));
        let third = timed(|| memory = memory.max(sync(&place.join("one"))));
        let place = fresh(&original, &scratch.path().join("b"));
        let plain = [
            timed(|| plain(&place.join("one"))),
            timed(|| plain(&place.join("two"))),
            timed(|| plain(&place.join("one"))),
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
        let ratio = a.as_secs_f64() / b.as_secs_f64();
        say(&format!("| {what} | {} ms | {} ms | {ratio:.2} × | ≤ 2 × |", a.as_millis(), b.as_millis()));
    }
    let total = |times: &[[Duration; 3]]| median(times.iter().map(|t| t.iter().sum()).collect());
    let (a, b) = (total(&ours), total(&theirs));
    say(&format!(
        "| all three | {} ms | {} ms | {:.2} × | ≤ 2 × |",
        a.as_millis(),
        b.as_millis(),
        a.as_secs_f64() / b.as_secs_f64()
    ));
    say(&format!("| most memory of a sync's own process (VmHWM) | {} MiB | | | < 256 MiB |", memory / 1024));
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn command(place: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    let folder = Path::new(PROGRAM).parent().expect("a folder");
    command
        .args(arguments)
        .current_dir(place)
        .env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default()))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
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

/// Fills the ledger with incidents of four events each, packed, as years of use would leave it.
fn fill(place: &Path, from: usize, count: usize) {
    let mut child = command(place, "git", &["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("git fast-import");
    let mut input = BufWriter::new(child.stdin.take().expect("a pipe"));
    let head = |name: &str| {
        format!("commit {name}\ncommitter Bench <bench@example.org> 1700000000 +0000\ndata 4\nfill\n")
    };
    let mut evidence = head(REFS[1]).into_bytes();
    input.write_all(head(REFS[0]).as_bytes()).expect("written");
    for n in from..from + count {
        let events = ledger(n);
        let text: Vec<u8> = events.iter().flat_map(|e| [&e.raw[..], b"\n"].concat()).collect();
        let anchor_line = [&events[0].raw[..], b"\n"].concat();
        let anchor = Repo::blob_name(&anchor_line).expect("hashed").to_string();
        entry(&mut input, &anchor, &text);
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

fn ledger(n: usize) -> Vec<Event> {
    let author = Author {
        agent: String::new(),
        email: "bench@example.org".into(),
        name: "Bench".into(),
        salt: "00".repeat(16),
    };
    let salt = &canonical::sha256_hex(n.to_string().as_bytes())[..32];
    let mut events: Vec<Event> = Vec::new();
    let mut add = |data: Data| {
        let parents: Vec<_> = events.last().map(|e| e.id).into_iter().collect();
        let at = Timestamp::from_millis(1_700_000_000_000 + n as i64 * 1000 + events.len() as i64);
        events.push(seal(at, &author, &data, &parents, salt).expect("sealed"));
        events.last().expect("just added").id
    };
    add(IncidentOpened {
        title: format!("kernel {n} returns wrong values for sequence length {}", 512 + n % 4096),
        ticket: format!("GPU-{n}"),
        symptom: "max abs difference 3.1e-2 against the reference, first at [0, 3, 64, 0]".into(),
        ..Default::default()
    }
    .into());
    let attempt =
        add(AttemptStarted { hypothesis: "the last tile is not masked".into(), ..Default::default() }.into());
    add(AttemptEnded {
        attempt,
        outcome: Outcome { hypothesis: Hypothesis::Refuted, bug: Bug::Remains },
        action: String::new(),
        result: "still 4096 elements differ".into(),
        conclusion: "the mask is right; the error is the same with and without it".into(),
        rules_out: vec![],
    }
    .into());
    add(AttemptStarted { hypothesis: "the scale is applied twice".into(), ..Default::default() }.into());
    events
}
