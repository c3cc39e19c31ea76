//! What the text of a pull request costs: `cargo bench --bench pr`.
//!
//! A ledger of 1,000 attempts, a branch of 500 changed files by three people, a gate with its record, a template.
//! Against what git needs for the same bytes: the diff's sizes and the ledger's first note. Nothing here fails;
//! docs/BENCHMARKS.md keeps what was measured.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use git_incident::event::{
    AttemptEnded, AttemptStarted, CauseConfirmed, CauseProposed, CommitLinked, IncidentOpened, ReproRan,
    ReproSet,
};
use git_incident::git::Repo;
use git_incident::model::Oid;
use git_incident::model::outcome::{Bug, Hypothesis, Outcome};
use git_incident::model::status::Role;
use git_incident::session::Session;

const PROGRAM: &str = env!("CARGO_BIN_EXE_git-incident");
const ATTEMPTS: usize = 1_000;
const FILES: usize = 500;

fn main() {
    let scene = Scene::new();
    let id = scene.record();
    let git = scene.script(
        "both",
        &format!(
            "#!/bin/sh\ngit diff --stat main...topic >.git/a\ngit notes --ref=incidents show {id} >.git/b\n"
        ),
    );
    // The first text is recorded; after it there is nothing to write.
    let first = timed(&mut scene.command(PROGRAM, &["pr", id.as_str()]));
    let ours = |arguments: &[&str]| {
        let (mut own, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..24 {
            let one = timed(&mut scene.command(PROGRAM, arguments));
            let two = timed(&mut scene.command(&git, &[]));
            // The first rounds warm the caches of both.
            if round >= 4 {
                own.push(one);
                theirs.push(two);
            }
        }
        (median(own), median(theirs))
    };
    let mut out = std::io::stdout();
    let _ = writeln!(out, "| figure | ours | against | ratio | asked |\n|---|---|---|---|---|");
    let _ = writeln!(out, "| the first `pr`, recorded | {} | | | measured |", ms(first));
    for (figure, arguments, asked) in [
        ("`pr`, 1,000 attempts, 500 files", vec!["pr", id.as_str()], "≤ 150 ms"),
        ("`pr --html` of the same", vec!["pr", id.as_str(), "--html"], "measured"),
        ("`pr check` of the same", vec!["pr", "check", "--body", ".git/body"], "measured"),
    ] {
        if figure.contains("check") {
            scene.body(&id);
        }
        let (own, theirs) = ours(&arguments);
        let ratio = own.as_secs_f64() / theirs.as_secs_f64();
        let against = "`git diff --stat` + `git notes show`";
        let _ =
            writeln!(out, "| {figure} | {} | {against}: {} | {ratio:.2} × | {asked} |", ms(own), ms(theirs));
    }
}

struct Scene {
    directory: tempfile::TempDir,
    aside: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let new = || tempfile::tempdir().expect("a temporary directory");
        let scene = Self { directory: new(), aside: new() };
        scene.git(&["init", "-q", "-b", "main"]);
        for (key, value) in [
            ("user.name", "Bench"),
            ("user.email", "bench@example.org"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
        ] {
            scene.git(&["config", key, value]);
        }
        scene.write(".git-incident.toml", "[[gate]]\nid = \"quick\"\nkind = \"command\"\nrun = \"true\"\n");
        scene.write(
            ".github/pull_request_template.md",
            "## Summary\n\n## Test plan\n\n- [ ] read the guide\n",
        );
        scene.write(".github/CODEOWNERS", "src/ @org/kernels\n");
        scene.write(".github/workflows/ci.yml", "name: ci\non: pull_request\n");
        for third in 0..3 {
            for n in (0..FILES).filter(|n| n % 3 == third) {
                let lines: Vec<String> = (0..60).map(|line| format!("value {line} of file {n}\n")).collect();
                scene.write(&format!("src/part{}/file{n}.c", n % 20), &lines.concat());
            }
            scene.git(&["add", "."]);
            scene.git(&["-c", &format!("user.name=Author {third}"), "commit", "-q", "-m", "Start"]);
        }
        scene.git(&["switch", "-q", "-c", "topic"]);
        for n in 0..FILES {
            let lines: Vec<String> = (0..60)
                .map(|line| {
                    if line % 25 == n % 25 {
                        format!("mended {line} of file {n}\n")
                    } else {
                        format!("value {line} of file {n}\n")
                    }
                })
                .collect();
            scene.write(&format!("src/part{}/file{n}.c", n % 20), &lines.concat());
        }
        scene.git(&["commit", "-q", "-a", "-m", "Mend every file"]);
        scene.git(&["gc", "-q"]);
        scene
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn script(&self, name: &str, text: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path().join(".git").join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        path.display().to_string()
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path())
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
        let output = self.command("git", arguments).stdout(Stdio::piped()).output().expect("git runs");
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Everything that years of trying would leave; the incident's id.
    fn record(&self) -> Oid {
        let session = Session::with_repo(Repo::open(self.path()).expect("opened")).expect("a session");
        let opened = session
            .open_incident(&[], |draft| {
                draft.add(IncidentOpened {
                    title: "every file is wrong".into(),
                    symptom: "max abs difference 3.1e-2 against the reference".into(),
                    ..Default::default()
                })
            })
            .expect("opened");
        let id = session.incidents().expect("listed")[0].id.clone().expect("an id");
        drop(opened);
        for batch in 0..ATTEMPTS / 50 {
            session
                .append(&id, &[], |draft| {
                    for n in 0..50 {
                        let k = batch * 50 + n;
                        let attempt = draft.add(AttemptStarted {
                            hypothesis: format!("the tile of width {k} is not masked at its right edge"),
                            ..Default::default()
                        })?;
                        draft.add(AttemptEnded {
                            attempt,
                            outcome: Outcome { hypothesis: Hypothesis::Refuted, bug: Bug::Remains },
                            action: format!("masked it, and ran case {k}"),
                            result: "4096 of 262144 elements differ, first at [0, 3, 64, 0]".into(),
                            conclusion: "the mask is right; the error is the same with and without it".into(),
                            rules_out: vec![],
                        })?;
                    }
                    Ok(())
                })
                .expect("appended");
        }
        let commit = Oid::parse(&self.git(&["rev-parse", "topic"])).expect("a commit");
        let tree = Oid::parse(&self.git(&["rev-parse", "topic^{tree}"])).expect("a tree");
        session
            .append(&id, &[], |draft| {
                let repro = draft
                    .add(ReproSet { command: vec!["make".into(), "check".into()], ..Default::default() })?;
                draft.add(ReproRan { repro, runs: 10, failures: 10, ..Default::default() })?;
                let cause = draft
                    .add(CauseProposed { text: "the stride is wrong".into(), mechanism: String::new() })?;
                draft.add(CauseConfirmed {
                    cause,
                    accounts: vec![],
                    disproof: None,
                    mechanism: String::new(),
                })?;
                draft.add(CommitLinked {
                    commit: commit.clone(),
                    role: Role::Fix,
                    attempt: None,
                    patch_id: String::new(),
                    tree: Some(tree.clone()),
                    subject: "Mend every file".into(),
                    pr: String::new(),
                    ..CommitLinked::default()
                })?;
                draft.add(ReproRan {
                    repro,
                    runs: 10,
                    failures: 0,
                    tree: Some(tree.clone()),
                    ..Default::default()
                })
            })
            .expect("appended");
        for arguments in [&["trust", "--yes"][..], &["validate"]] {
            assert!(self.command(PROGRAM, arguments).status().expect("runs").success(), "{arguments:?}");
        }
        self.git(&["pack-refs", "--all"]);
        id
    }

    fn body(&self, id: &Oid) {
        let output = self
            .command(PROGRAM, &["pr", id.as_str(), "--json"])
            .stdout(Stdio::piped())
            .output()
            .expect("runs");
        let view: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        self.write(".git/body", view["body"].as_str().expect("a body"));
    }
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().expect("runs");
    let elapsed = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    elapsed
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
