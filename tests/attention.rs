//! The story of docs/examples/attention, from the refused push to the fix, against the real `git` and Python.

mod common;

use std::path::Path;

use common::Repo;
use common::gates::on_remote;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/attention");

fn copy(repo: &Repo, name: &str) {
    let text = std::fs::read_to_string(Path::new(EXAMPLE).join(name)).expect("a file of the example");
    repo.write(name, &text);
}

/// A clone with hooks whose hub has the oracle and its configuration on main; on the branch `tiles`.
fn with_oracle() -> (Repo, std::path::PathBuf) {
    let repo = Repo::new();
    let bare = repo.with_remote();
    for name in [".gitignore", ".git-incident.toml", "oracle.py"] {
        copy(&repo, name);
    }
    repo.incident(&["init"]).expect(0);
    repo.commit("The oracle");
    repo.incident(&["trust", "--yes"]).expect(0);
    // Nothing is there to be judged yet.
    repo.git(&["push", "-q", "--no-verify", "origin", "main"]);
    repo.git(&["switch", "-q", "-c", "tiles"]);
    copy(&repo, "attention.py");
    repo.commit("Softmax tile by tile");
    (repo, bare)
}

#[test]
fn a_wrong_variant_is_refused_fixed_validated_and_pushed() {
    let (repo, bare) = with_oracle();
    repo.incident(&["open", "Output of the tiled attention is off"]).expect(0);

    let refused = repo.try_git(&["push", "origin", "tiles"]);
    assert_ne!(refused.status, 0);
    let refused = refused.says("fail").says("stage O").says("s64").never_says("stage S diverges");
    assert_eq!(on_remote(&repo, &bare, "tiles"), "");

    // The line for a person runs the same oracle; the files it leaves are what `compare` takes.
    let by_hand = refused.stderr.lines().find_map(|l| l.split_once("by hand: ")).expect("a line by hand").1;
    let seen = format!("{} && git switch -q tiles", by_hand.replace("$(mktemp -d)", "$PWD/../seen"));
    std::fs::create_dir(repo.root().join("seen")).unwrap();
    repo.run("sh", &["-c", &seen]).expect(0);
    let stage = repo.root().join("seen/s64/O.safetensors").display().to_string();
    let arguments = ["compare", &format!("{stage}:reference"), &format!("{stage}:candidate")];
    repo.incident(&arguments).expect(4);

    let patch = std::fs::read_to_string(Path::new(EXAMPLE).join("fix.patch")).unwrap();
    repo.incident(&["attempt", "start", "-H", "the accumulator is not scaled when the maximum rises"])
        .expect(0);
    repo.write("../fix.patch", &patch);
    repo.git(&["apply", "../fix.patch"]);
    repo.commit("Scale the accumulator with the maximum");
    repo.incident(&["link", "HEAD", "--as", "fix"]).expect(0);
    repo.try_git(&["push", "origin", "tiles"]).expect(0).says("pass");
    assert_eq!(on_remote(&repo, &bare, "tiles"), repo.git(&["rev-parse", "HEAD"]));
    repo.incident(&["attempt", "end", "--worked", "-m", "acc *= exp(old - new) was missing"]).expect(0);

    // The protected branch finds the record; in CI the same check passes.
    repo.try_git(&["push", "origin", "tiles:main"]).expect(0).says("recorded before");
    let ci = repo.incident_json(&["validate", "--range", "HEAD~2..HEAD", "--require"]);
    assert_eq!(ci["verdict"], "pass");
    assert_eq!(ci["records"][0]["gate"], "attention");
}

/// The commands of the README, one by one, as a reader types them: what it says is refused is, and all else succeeds.
#[test]
fn the_readme_is_a_story_that_happens() {
    let repo = Repo::new();
    let place = repo.root().join("attention");
    let readme = std::fs::read_to_string(Path::new(EXAMPLE).join("README.md")).unwrap();
    let told: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(told.len() > 8, "{readme}");
    assert!(told[0].contains("docs/examples/attention /tmp/attention"), "{}", told[0]);
    std::fs::create_dir(&place).unwrap();
    for name in [".gitignore", ".git-incident.toml", "oracle.py", "attention.py", "fix.patch", "README.md"] {
        std::fs::copy(Path::new(EXAMPLE).join(name), place.join(name)).unwrap();
    }
    for line in &told[1..] {
        let (command, remark) = line.split_once("  #").unwrap_or((line, ""));
        // Nobody is here to be asked.
        let command = command.trim_end().replace("incident trust", "incident trust --yes");
        let ran = repo.run("sh", &["-c", &format!("cd '{}' && {command}", place.display())]);
        if remark.contains("refused") {
            assert_ne!(ran.status, 0, "{command}");
        } else {
            let _ = ran.expect(0);
        }
    }
}

#[test]
fn usual_tolerances_are_too_loose() {
    let (repo, _bare) = with_oracle();
    let patch = std::fs::read_to_string(Path::new(EXAMPLE).join("fix.patch")).unwrap();
    repo.write("../fix.patch", &patch);
    repo.git(&["apply", "../fix.patch"]);
    let config = std::fs::read_to_string(Path::new(EXAMPLE).join(".git-incident.toml")).unwrap();
    repo.write(".git-incident.toml", &config.replace("1e-5", "1e-2").replace("1e-4", "5e-2"));
    repo.commit("Scale the accumulator, and loosen the gate");
    repo.incident(&["trust", "--yes"]).expect(0);
    let judged = repo.incident(&["validate"]);
    assert_eq!(judged.status, 5);
    let _ = judged.says("inconclusive").says("too loose");
}
