//! What the text of a pull request costs: `cargo bench --bench pr`.
//!
//! A ledger of 1,000 attempts, a branch of 500 changed files by three people, a gate with its record, a template.
//! Against what git needs for the same bytes: the diff's sizes and the ledger's first note. Nothing here fails;
//! docs/BENCHMARKS.md keeps what was measured.

mod common;

use std::time::Duration;

use git_incident::event::{
    AttemptEnded, AttemptStarted, CauseConfirmed, CauseProposed, CommitLinked, IncidentOpened, ReproRan,
    ReproSet,
};
use git_incident::git::Repo;
use git_incident::model::Oid;
use git_incident::model::outcome::{Bug, Hypothesis, Outcome};
use git_incident::model::status::Role;
use git_incident::session::Session;

use common::{Bench, PROGRAM, ms, race, row, say, script, timed};

const ATTEMPTS: usize = 1_000;
const FILES: usize = 500;

fn main() {
    let scene = scene();
    let id = record(&scene);
    let both = script(
        &scene.path().join(".git/both"),
        &format!(
            "#!/bin/sh\ngit diff --stat main...topic >.git/a\ngit notes --ref=incidents show {id} >.git/b\n"
        ),
    );
    let both = both.display().to_string();
    // The first text is recorded; after it there is nothing to write.
    let first = timed(&mut scene.command(PROGRAM, &["pr", id.as_str()]));
    let ours = |arguments: &[&str]| -> (Duration, Duration) {
        race(20, |_| timed(&mut scene.command(PROGRAM, arguments)), |_| timed(&mut scene.command(&both, &[])))
    };
    say("| figure | ours | against | ratio | asked |\n|---|---|---|---|---|");
    say(&format!("| the first `pr`, recorded | {} | | | measured |", ms(first)));
    for (figure, arguments, asked) in [
        ("`pr`, 1,000 attempts, 500 files", vec!["pr", id.as_str()], "≤ 150 ms"),
        ("`pr --html` of the same", vec!["pr", id.as_str(), "--html"], "measured"),
        ("`pr check` of the same", vec!["pr", "check", "--body", ".git/body"], "measured"),
    ] {
        if figure.contains("check") {
            body(&scene, &id);
        }
        let (own, theirs) = ours(&arguments);
        row(figure, own, "`git diff --stat` + `git notes show`", theirs, asked);
    }
}

/// A branch that changes every file, a template, owners, a workflow, a gate.
fn scene() -> Bench {
    let scene = Bench::new();
    scene.write(".git-incident.toml", "[[gate]]\nid = \"quick\"\nkind = \"command\"\nrun = \"true\"\n");
    scene.write(".github/pull_request_template.md", "## Summary\n\n## Test plan\n\n- [ ] read the guide\n");
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

/// Everything that years of trying would leave; the incident's id.
fn record(scene: &Bench) -> Oid {
    let session = Session::with_repo(Repo::open(scene.path()).expect("opened")).expect("a session");
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
    let commit = Oid::parse(&scene.git(&["rev-parse", "topic"])).expect("a commit");
    let tree = Oid::parse(&scene.git(&["rev-parse", "topic^{tree}"])).expect("a tree");
    session
        .append(&id, &[], |draft| {
            let repro =
                draft.add(ReproSet { command: vec!["make".into(), "check".into()], ..Default::default() })?;
            draft.add(ReproRan { repro, runs: 10, failures: 10, ..Default::default() })?;
            let cause =
                draft.add(CauseProposed { text: "the stride is wrong".into(), mechanism: String::new() })?;
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
        assert!(scene.command(PROGRAM, arguments).status().expect("runs").success(), "{arguments:?}");
    }
    scene.git(&["pack-refs", "--all"]);
    id
}

fn body(scene: &Bench, id: &Oid) {
    let said = common::said(&mut scene.command(PROGRAM, &["pr", id.as_str(), "--json"]));
    let view: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    scene.write(".git/body", view["body"].as_str().expect("a body"));
}
