//! `why` of a file of 5,000 lines against `git blame` of it, in the same run: `cargo bench --bench why`. Asked: 1.5 × at
//! most. The file has 2,000 commits; 200 of them are linked to attempts of 20 incidents. `WHY_COMMITS` and `WHY_OTHERS`
//! (incidents that have nothing to do with the file) make it larger. Nothing here fails; docs/BENCHMARKS.md keeps the figures.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use git_incident::event::{AttemptEnded, AttemptStarted, CommitLinked, IncidentOpened};
use git_incident::git::Repo;
use git_incident::model::Oid;
use git_incident::model::outcome::{Bug, Hypothesis, Outcome};
use git_incident::model::status::Role;
use git_incident::session::Session;

const LINES: usize = 5000;
const ROUNDS: usize = 11;

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

/// A history as `git fast-import` reads it: each commit changes five lines of the file.
fn history(commits: usize) -> Vec<u8> {
    let mut lines: Vec<String> = (0..LINES).map(|n| format!("  value_{n} = compute({n});")).collect();
    let mut stream = Vec::new();
    let mut state = 1_u64;
    for n in 0..commits {
        for _ in 0..5 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % LINES;
            lines[at] = format!("  value_{at} = compute({at}, {n});");
        }
        let text = lines.join("\n") + "\n";
        let head = format!(
            "commit refs/heads/main\ncommitter Ada <ada@example.org> {} +0000\ndata 6\nchange\nM 100644 inline src/big.c\ndata {}\n",
            1_700_000_000 + n * 60,
            text.len()
        );
        stream.extend_from_slice(head.as_bytes());
        stream.extend_from_slice(text.as_bytes());
        stream.push(b'\n');
    }
    stream
}

fn git(at: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .args(arguments)
        .current_dir(at)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

fn time(command: &mut Command) -> f64 {
    let start = Instant::now();
    let done = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
    assert!(done.success(), "{command:?}");
    start.elapsed().as_secs_f64() * 1e3
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Incidents of ten attempts each, which end as failed and link ten commits.
fn record(session: &Session, incidents: usize, commits: &[Oid]) {
    let mut links = commits.iter();
    for n in 0..incidents {
        let opened = session.open_incident(&[], |draft| {
            draft.add(IncidentOpened { title: format!("bug {n}"), ..IncidentOpened::default() })
        });
        let id = opened.expect("opened").incident;
        let ten: Vec<Oid> = links.by_ref().take(10).cloned().collect();
        let build = |draft: &mut git_incident::store::ledger::Draft<'_>| {
            for a in 0..10 {
                let started =
                    AttemptStarted { hypothesis: format!("hypothesis {n}.{a}"), ..AttemptStarted::default() };
                let attempt = draft.add(started)?;
                let outcome = Outcome { hypothesis: Hypothesis::Refuted, bug: Bug::Remains };
                draft.add(AttemptEnded {
                    attempt,
                    outcome,
                    action: String::new(),
                    result: String::new(),
                    conclusion: "it did not help".to_owned(),
                    rules_out: Vec::new(),
                })?;
                if let Some(commit) = ten.get(a).cloned() {
                    draft.add(CommitLinked {
                        commit,
                        role: Role::Failed,
                        attempt: Some(attempt),
                        ..CommitLinked::default()
                    })?;
                }
            }
            Ok(())
        };
        session.append(&id, &[], build).expect("appended");
    }
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let (commits, others) = (number("WHY_COMMITS", 2000), number("WHY_OTHERS", 0));
    assert!(git(at, &["init", "-q", "-b", "main"]).status().expect("git").success());
    for (key, value) in [
        ("user.name", "Ada"),
        ("user.email", "ada@example.org"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
    ] {
        assert!(git(at, &["config", key, value]).status().expect("git").success());
    }
    let mut import = git(at, &["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().expect("git");
    import.stdin.take().expect("a pipe").write_all(&history(commits)).expect("written");
    assert!(import.wait().expect("it ends").success());
    assert!(git(at, &["reset", "-q", "--hard"]).status().expect("git").success());
    let listed = git(at, &["rev-list", "HEAD"]).output().expect("git").stdout;
    let all: Vec<Oid> = String::from_utf8_lossy(&listed).lines().filter_map(Oid::parse).collect();
    let linked: Vec<Oid> = all.iter().step_by((all.len() / 200).max(1)).take(200).cloned().collect();
    let session = Session::with_repo(Repo::open(at).expect("a repository")).expect("a session");
    record(&session, 20, &linked);
    record(&session, others, &[]);
    let program = env!("CARGO_BIN_EXE_git-incident");
    let why = |place: &str| {
        let mut command = Command::new(program);
        command.args(["why", place]).current_dir(at).env("GIT_CONFIG_GLOBAL", "/dev/null");
        command
    };
    for (place, blame) in [
        ("src/big.c", vec!["blame", "src/big.c"]),
        ("src/big.c:2500", vec!["blame", "src/big.c"]),
        ("src/big.c:2400,2600", vec!["blame", "-L2400,2600", "src/big.c"]),
    ] {
        let (mut ours, mut gits) = (Vec::new(), Vec::new());
        time(&mut why(place));
        for _ in 0..ROUNDS {
            ours.push(time(&mut why(place)));
            gits.push(time(&mut git(at, &blame)));
        }
        let (ours, gits) = (median(ours), median(gits));
        let _ = writeln!(
            std::io::stdout(),
            "| `why {place}`, {commits} commits, {} incidents | {ours:.0} ms | `git {}`: {gits:.0} ms | {:.2} × | 1.5 × |",
            20 + others,
            blame.join(" "),
            ours / gits
        );
    }
}
