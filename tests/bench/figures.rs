//! Figures against git, each a ratio taken in one run, interleaved, medians: `cargo bench --bench figures`.
//!
//! Machines are noisy, so nothing here fails; docs/BENCHMARKS.md keeps what was measured, also what falls short.
//! `cargo bench --bench figures -- notes list` runs only the groups whose names contain one of the words.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
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
const NOTE: &str = "the third tile reads one row past the end of the block, 64 bytes at offset 4032";

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let groups: &[(&str, fn())] = &[
        ("start", cold_start),
        ("notes", notes),
        ("scale", scale),
        ("hooks", hooks),
        ("list", list),
        ("growth", growth),
    ];
    say("| figure | ours | against | ratio | asked |");
    say("|---|---|---|---|---|");
    for (name, run) in groups {
        if wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str())) {
            run();
        }
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A repository for measuring: no configuration but its own.
struct Bench {
    directory: tempfile::TempDir,
    /// State and cache, which must not lie in the repository.
    aside: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let new = || tempfile::tempdir().expect("a temporary directory");
        let bench = Self { directory: new(), aside: new() };
        bench.git(&["init", "-q", "-b", "main"]);
        bench.git(&["config", "user.name", "Bench"]);
        bench.git(&["config", "user.email", "bench@example.org"]);
        bench.git(&["config", "gc.auto", "0"]);
        bench.git(&["config", "maintenance.auto", "false"]);
        fs::write(bench.path().join("file"), "x\n").expect("written");
        bench.git(&["add", "."]);
        bench.git(&["commit", "-q", "-m", "Start"]);
        bench
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        let folder = Path::new(PROGRAM).parent().expect("a folder");
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
        command
            .args(arguments)
            .current_dir(self.path())
            .env("PATH", path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("XDG_STATE_HOME", self.aside.path().join("state"))
            .env("XDG_CACHE_HOME", self.aside.path().join("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self
            .command("git", arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .expect("git runs");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn incident(&self, arguments: &[&str]) {
        let status = self.command(PROGRAM, arguments).status().expect("runs");
        assert!(status.success(), "git-incident {arguments:?}: {status}");
    }

    /// Fills the ledger with incidents of four events each, packed, as years of use would leave it.
    fn fill(&self, incidents: usize) -> Vec<String> {
        let mut child = self
            .command("git", &["fast-import", "--quiet"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("git fast-import");
        let mut input = std::io::BufWriter::new(child.stdin.take().expect("a pipe"));
        let mut anchors = Vec::with_capacity(incidents);
        let head = |name: &str| {
            format!("commit {name}\ncommitter Bench <bench@example.org> 1700000000 +0000\ndata 4\nfill\n")
        };
        let mut evidence = head("refs/notes/incidents-evidence").into_bytes();
        input.write_all(head("refs/notes/incidents").as_bytes()).expect("written");
        for n in 0..incidents {
            let events = ledger(n);
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
            anchors.push(anchor);
        }
        input.write_all(b"\n").expect("written");
        input.write_all(&evidence).expect("written");
        input.write_all(b"\n").expect("written");
        drop(input);
        assert!(child.wait().expect("waited").success());
        // The first command in a clone takes over the refs.
        self.incident(&["list", "--json"]);
        self.git(&["pack-refs", "--all"]);
        anchors
    }
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
        symptom: "max abs difference 3.1e-2 against the reference, 4096 of 262144 elements differ, first at [0, 3, 64, 0]".into(),
        ..Default::default()
    }
    .into());
    for (k, hypothesis) in
        ["the last tile is not masked", "the scale is applied twice"].into_iter().enumerate()
    {
        let attempt = add(AttemptStarted { hypothesis: hypothesis.into(), ..Default::default() }.into());
        if k == 0 {
            add(AttemptEnded {
                attempt,
                outcome: Outcome { hypothesis: Hypothesis::Refuted, bug: Bug::Remains },
                action: String::new(),
                result: "still 4096 elements differ".into(),
                conclusion: "the mask is right; the error is the same with and without it".into(),
                rules_out: vec![],
            }
            .into());
        }
    }
    events
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().expect("runs");
    let elapsed = start.elapsed();
    assert!(status.success() || status.code() == Some(1), "{command:?}: {status}");
    elapsed
}

/// Runs two things in turn and returns the medians of both.
fn race(
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

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

fn row(figure: &str, ours: Duration, against: &str, theirs: Duration, asked: &str) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    say(&format!("| {figure} | {} | {against}: {} | {ratio:.2} × | {asked} |", ms(ours), ms(theirs)));
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

fn script(path: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    path.to_path_buf()
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
        fs::write(&message, "Fix the mask of the last tile\n\nIt read one row past the end.\n")
            .expect("written");
        timed(&mut bench.command(&hook.display().to_string(), &[".git/COMMIT_EDITMSG"]))
    };
    let (ours, none) = race(100, |_| run(&commit_msg), |_| run(&empty));
    over("commit-msg hook, adding two trailers", ours, none, "≤ 8 ms over");
    pre_push(&bench, &hooks, &empty);
}

fn pre_push(bench: &Bench, hooks: &Path, empty: &Path) {
    fs::write(
        bench.path().join(".git-incident.toml"),
        "[[gate]]\nid = \"quick\"\nkind = \"command\"\nrun = \"true\"\n",
    )
    .expect("written");
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
