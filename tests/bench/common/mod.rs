//! What the benchmarks share: a repository that nothing else touches, ledgers as years of use would leave them, medians.
//!
//! Each benchmark is a program of its own and uses its part of this.
#![allow(dead_code, unreachable_pub, reason = "each benchmark uses a part")]

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

/// The program that is measured.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_git-incident");

/// The two refs that travel: ledgers, evidence.
pub const REFS: [&str; 2] = ["refs/notes/incidents", "refs/notes/incidents-evidence"];

/// A note as people write them.
pub const NOTE: &str = "the third tile reads one row past the end of the block, 64 bytes at offset 4032";

/// Prints a line of results.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The arguments that are no options: which groups to run.
pub fn wanted() -> Vec<String> {
    std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect()
}

/// Runs the groups whose names contain one of the wanted words; all when none is wanted.
pub fn groups(groups: &[(&str, fn())]) {
    let wanted = wanted();
    for (name, run) in groups {
        if wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str())) {
            run();
        }
    }
}

/// How long something takes.
pub fn clocked(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// How long a command takes. It must succeed, or exit with 1, which says that something was found.
pub fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().expect("runs");
    let elapsed = start.elapsed();
    assert!(status.success() || status.code() == Some(1), "{command:?}: {status}");
    elapsed
}

/// The middle one.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Milliseconds for people.
pub fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// One time in units of another.
pub fn ratio(ours: Duration, theirs: Duration) -> f64 {
    ours.as_secs_f64() / theirs.as_secs_f64()
}

/// A row of a table: a figure, ours, theirs, the ratio, what was asked.
pub fn row(figure: &str, ours: Duration, against: &str, theirs: Duration, asked: &str) {
    let ratio = ratio(ours, theirs);
    say(&format!("| {figure} | {} | {against}: {} | {ratio:.2} × | {asked} |", ms(ours), ms(theirs)));
}

/// Runs two things in turn and returns the medians of both.
pub fn race(
    rounds: usize,
    mut ours: impl FnMut(usize) -> Duration,
    mut theirs: impl FnMut(usize) -> Duration,
) -> (Duration, Duration) {
    let mut a = Vec::with_capacity(rounds);
    let mut b = Vec::with_capacity(rounds);
    for round in 0..rounds + 3 {
        let (x, y) = if round % 2 == 0 {
            let x = ours(round);
            (x, theirs(round))
        } else {
            let y = theirs(round);
            (ours(round), y)
        };
        // The first rounds warm the caches of both.
        if round >= 3 {
            a.push(x);
            b.push(y);
        }
    }
    (median(a), median(b))
}

/// A program in a folder, without the configuration of whoever measures, and silent.
pub fn command(place: &Path, program: &str, arguments: &[&str]) -> Command {
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

/// What a program says; it must succeed.
pub fn said(command: &mut Command) -> String {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository for measuring: no configuration but its own, state and cache beside it.
pub struct Bench {
    directory: tempfile::TempDir,
    aside: tempfile::TempDir,
}

impl Bench {
    /// One commit on `main`, no garbage collection.
    pub fn new() -> Self {
        let new = || tempfile::tempdir().expect("a temporary directory");
        let bench = Self { directory: new(), aside: new() };
        bench.git(&["init", "-q", "-b", "main"]);
        for (key, value) in [
            ("user.name", "Bench"),
            ("user.email", "bench@example.org"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
        ] {
            bench.git(&["config", key, value]);
        }
        bench.write("file", "x\n");
        bench.git(&["add", "."]);
        bench.git(&["commit", "-q", "-m", "Start"]);
        bench
    }

    /// The working tree.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file, and the folders above it.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// A program in the working tree.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = command(self.path(), program, arguments);
        command
            .env("XDG_STATE_HOME", self.aside.path().join("state"))
            .env("XDG_CACHE_HOME", self.aside.path().join("cache"));
        command
    }

    /// What git says.
    pub fn git(&self, arguments: &[&str]) -> String {
        said(&mut self.command("git", arguments))
    }

    /// What git incident says.
    pub fn incident(&self, arguments: &[&str]) -> String {
        said(&mut self.command(PROGRAM, arguments))
    }

    /// Fills the ledger with incidents of four events each; their ids.
    pub fn fill(&self, incidents: usize) -> Vec<String> {
        let anchors = fill(self.path(), 0, incidents);
        self.take_over();
        anchors
    }

    /// The first command in a clone takes over the refs.
    pub fn take_over(&self) {
        self.incident(&["list", "--json"]);
        self.git(&["pack-refs", "--all"]);
    }
}

/// An executable file.
pub fn script(path: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    path.to_path_buf()
}

/// Fills a ledger with incidents of four events each, packed, as years of use would leave it; their ids.
pub fn fill(place: &Path, from: usize, count: usize) -> Vec<String> {
    fill_with(place, (from..from + count).map(ledger))
}

/// Fills a ledger with these incidents; their ids.
pub fn fill_with(place: &Path, ledgers: impl Iterator<Item = Vec<Event>>) -> Vec<String> {
    let mut child = command(place, "git", &["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("git fast-import");
    let mut input = BufWriter::new(child.stdin.take().expect("a pipe"));
    let head = |name: &str| {
        format!("commit {name}\ncommitter Bench <bench@example.org> 1700000000 +0000\ndata 4\nfill\n")
    };
    let mut anchors = Vec::new();
    let mut evidence = head(REFS[1]).into_bytes();
    input.write_all(head(REFS[0]).as_bytes()).expect("written");
    for events in ledgers {
        let text: Vec<u8> = events.iter().flat_map(|e| [&e.raw[..], b"\n"].concat()).collect();
        let anchor_line = [&events[0].raw[..], b"\n"].concat();
        let anchor = Repo::blob_name(&anchor_line).expect("hashed").to_string();
        entry(&mut input, &anchor, &text);
        entry(&mut evidence, &anchor, &anchor_line);
        anchors.push(anchor);
    }
    input.write_all(b"\n").expect("written");
    input.write_all(&evidence).expect("written");
    input.write_all(b"\n").expect("written");
    drop(input);
    assert!(child.wait().expect("waited").success());
    anchors
}

fn entry(out: &mut impl std::io::Write, key: &str, bytes: &[u8]) {
    write!(out, "M 100644 inline {}/{}\ndata {}\n", &key[..2], &key[2..], bytes.len()).expect("written");
    out.write_all(bytes).expect("written");
    out.write_all(b"\n").expect("written");
}

/// Seals events one after the other, a millisecond apart.
pub struct Sealer {
    author: Author,
    salt: String,
    start: i64,
    /// What was sealed.
    pub events: Vec<Event>,
}

impl Sealer {
    /// For the incident of this number.
    pub fn new(n: usize) -> Self {
        Self {
            author: Author {
                agent: String::new(),
                email: "bench@example.org".into(),
                name: "Bench".into(),
                salt: "00".repeat(16),
            },
            salt: canonical::sha256_hex(n.to_string().as_bytes())[..32].to_owned(),
            start: 1_700_000_000_000 + n as i64 * 1000,
            events: Vec::new(),
        }
    }

    /// One more event; its id.
    pub fn add(&mut self, data: impl Into<Data>) -> git_incident::model::EventId {
        let parents: Vec<_> = self.events.last().map(|e| e.id).into_iter().collect();
        let at = Timestamp::from_millis(self.start + self.events.len() as i64);
        self.events.push(seal(at, &self.author, &data.into(), &parents, &self.salt).expect("sealed"));
        self.events.last().expect("just added").id
    }
}

/// An incident with a failed attempt and one that goes on.
fn ledger(n: usize) -> Vec<Event> {
    let mut ledger = Sealer::new(n);
    ledger.add(IncidentOpened {
        title: format!("kernel {n} returns wrong values for sequence length {}", 512 + n % 4096),
        ticket: format!("GPU-{n}"),
        symptom:
            "max abs difference 3.1e-2 against the reference, 4096 of 262144 elements differ, first at [0, 3, 64, 0]"
                .into(),
        ..Default::default()
    });
    let attempt =
        ledger.add(AttemptStarted { hypothesis: "the last tile is not masked".into(), ..Default::default() });
    ledger.add(AttemptEnded {
        attempt,
        outcome: Outcome { hypothesis: Hypothesis::Refuted, bug: Bug::Remains },
        action: String::new(),
        result: "still 4096 elements differ".into(),
        conclusion: "the mask is right; the error is the same with and without it".into(),
        rules_out: vec![],
    });
    ledger.add(AttemptStarted { hypothesis: "the scale is applied twice".into(), ..Default::default() });
    ledger.events
}
