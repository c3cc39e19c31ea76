//! The ready workflow: what it may do, and that its steps do what they say, in a real clone.

mod common;

use std::path::Path;

use common::{Beside, Ran, Repo};

/// One step.
#[derive(Debug, Default)]
struct Step {
    name: String,
    uses: String,
    run: String,
}

/// The file as far as its shape goes: two spaces deep for each level, block scalars after `run: |`.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut in_run = false;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let rest = line.trim_start().strip_prefix("- ").filter(|_| indent == 6);
        if rest.is_some() {
            steps.push(Step::default());
            in_run = false;
        }
        let key = rest.unwrap_or(line.trim_start());
        let Some(step) = steps.last_mut() else { continue };
        if in_run && (indent >= 10 || line.trim().is_empty()) {
            step.run.push_str(line.strip_prefix("          ").unwrap_or_default());
            step.run.push('\n');
            continue;
        }
        in_run = false;
        if let Some(name) = key.strip_prefix("name: ") {
            name.clone_into(&mut step.name);
        } else if let Some(uses) = key.strip_prefix("uses: ") {
            uses.clone_into(&mut step.uses);
        } else if let Some(run) = key.strip_prefix("run: ") {
            in_run = run == "|";
            step.run = if in_run { String::new() } else { format!("{run}\n") };
        }
    }
    steps
}

const TEXT: &str = include_str!("../templates/workflow-github.yml");

#[test]
fn it_may_read_and_nothing_else() {
    let code: String =
        TEXT.lines().filter(|l| !l.trim_start().starts_with('#')).flat_map(|l| [l, "\n"]).collect();
    assert!(code.contains("\non:\n  pull_request:\n") && !code.contains("pull_request_target"));
    assert!(
        code.contains("\npermissions:\n  contents: read\n  pull-requests: read\n\n"),
        "these and no others"
    );
    assert_eq!(code.matches("permissions:").count(), 1);
    assert!(!code.contains("secrets.") && !code.contains("write"));
    assert!(code.contains("persist-credentials: false") && code.contains("fetch-depth: 0"));
    let steps = steps(TEXT);
    let names: Vec<&str> = steps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        ["", "Install git incident", "Fetch the ledger", "Gates", "Post-mortems", "Description"]
    );
    for step in &steps {
        assert!(!step.run.contains("${{"), "{} pastes what others wrote into a script", step.name);
        if !step.uses.is_empty() {
            let (_, version) = step.uses.split_once('@').expect("a version");
            let pin = version.split(' ').next().expect("a word");
            assert!(
                pin.len() == 40 && pin.bytes().all(|b| b.is_ascii_hexdigit()),
                "{} is not pinned",
                step.uses
            );
        }
    }
    // Our own reader of workflows understands it, and so names it to authors.
    let files = [("w.yml".to_owned(), TEXT.as_bytes().to_vec())];
    let read = git_incident::report::workflows::recommend(&files, &["a".to_owned()]);
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].name, "git incident");
}

#[test]
fn it_is_written_once_and_never_over_another() {
    let repo = Repo::new();
    repo.incident(&["init", "--workflow"]).expect(0).says("wrote .github/workflows/git-incident.yml");
    assert_eq!(repo.read(".github/workflows/git-incident.yml"), TEXT);
    assert!(!repo.path().join(".git/hooks/pre-push").exists(), "only that");
    repo.incident(&["init", "--workflow"]).expect(0).says("in place");
    repo.write(".github/workflows/git-incident.yml", "mine\n");
    repo.incident(&["init", "--workflow"]).refuses(1);
    assert_eq!(repo.read(".github/workflows/git-incident.yml"), "mine\n");
}

/// Runs a step as the runner does: its script in a file, by `bash -e`.
fn play(clone: &Beside<'_>, step: &Step, environment: &[(&str, String)]) -> Ran {
    let script = clone.path().with_extension("sh");
    std::fs::write(&script, &step.run).expect("written");
    let mut command = clone.command("bash");
    command.arg("--noprofile").arg("--norc").args(["-e", "-o", "pipefail"]).arg(&script);
    for (name, value) in environment {
        command.env(name, value);
    }
    common::finish(command.output())
}

fn event(at: &Path, body: &str, head: &str, base: &str) -> String {
    let event = serde_json::json!({"pull_request": {
        "body": body, "head": {"sha": head}, "base": {"sha": base, "ref": "main"},
    }});
    std::fs::write(at, event.to_string()).expect("written");
    at.display().to_string()
}

#[test]
fn its_steps_do_what_they_say() {
    let repo = Repo::new();
    let origin = repo.with_remote();
    repo.write(
        ".git-incident.toml",
        "[[gate]]\nid = \"unit\"\nkind = \"command\"\nrun = \"! grep -q bad value\"\n",
    );
    repo.write("value", "bad\n");
    let base = repo.commit("Start");
    repo.git(&["push", "-q", "origin", "main"]);
    // The contributor has a fork, and the ledger is there alone.
    let fork = repo.root().join("fork.git");
    repo.git(&["clone", "-q", "--bare", &origin.display().to_string(), &fork.display().to_string()]);
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.open("the value is bad");
    repo.write("value", "good\n");
    let head = repo.commit("Make the value good");
    repo.incident(&["link", "HEAD", "--as", "fix"]).expect(0);
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(0);
    let body = repo.incident_json(&["pr"])["body"].as_str().expect("a body").to_owned();
    assert!(body.contains("- [x] gate `unit`"), "{body}");
    repo.git(&["push", "-q", &fork.display().to_string(), "topic", common::LEDGER, common::EVIDENCE]);
    repo.git(&["push", "-q", "origin", "topic"]);

    let clone = repo.at(repo.root().join("runner"));
    repo.git(&["clone", "-q", &origin.display().to_string(), &clone.path().display().to_string()]);
    clone.git(&["checkout", "-q", "--detach", &head]);
    let event_path = event(&repo.root().join("event.json"), &body, &head, &base);
    let environment = [
        ("BASE", base.clone()),
        ("HEAD", head.clone()),
        ("FORK", fork.display().to_string()),
        ("TOKEN", ["not", "a", "token"].join("-")),
        ("GITHUB_SERVER_URL", "https://github.example.org".to_owned()),
        ("GITHUB_EVENT_PATH", event_path),
        ("SOURCE", "--git https://github.com/OWNER/git-incident --rev COMMIT".to_owned()),
    ];
    let has_lint = clone.incident(&["postmortem", "check", "--help"]).status == 0;
    let steps = steps(TEXT);
    for step in steps.iter().filter(|s| !s.run.is_empty()) {
        if step.name == "Post-mortems" && !has_lint {
            common::skipped("postmortem check is not built yet");
            continue;
        }
        let ran = play(&clone, step, &environment);
        assert_eq!(ran.status, 0, "{}\n{}\n{}", step.name, ran.stdout, ran.stderr);
        ran.never_says("not-a-token");
    }
    // The ledger came from the fork, and the gate's record was made in this clone.
    assert!(!clone.git(&["rev-parse", "refs/notes/incidents"]).is_empty());

    // What is not true fails, as an annotation.
    let lie = body.replace("- [x] gate `unit`", "- [x] gate `gpu`");
    event(&repo.root().join("event.json"), &lie, &head, &base);
    let last = steps.last().expect("a step");
    let ran = play(&clone, last, &environment).expect(1);
    assert!(
        ran.stdout.lines().any(|l| l.starts_with("::error title=git incident%3A ticked-without-record::")),
        "{}",
        ran.stdout
    );
    // A head that fails its gate fails the step.
    repo.write("value", "bad\n");
    let worse = repo.commit("Make it bad again");
    repo.git(&["push", "-q", "origin", "topic"]);
    clone.git(&["fetch", "-q", "origin"]);
    clone.git(&["checkout", "-q", "--detach", &worse]);
    let mut environment = environment;
    environment[1].1 = worse;
    play(&clone, &steps[3], &environment).expect(4);
}
