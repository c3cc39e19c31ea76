//! Trust: whose commands run, whose records count, and what gets around neither.

mod common;

use std::os::unix::fs::PermissionsExt;

use common::gates::{counted, runs, with_gates};

#[test]
fn nothing_that_a_repository_sets_gets_around_trust() {
    let (repo, _bare) = with_gates("");
    repo.write(".git-incident.toml", &counted(&repo.root()));
    repo.write("good", "");
    repo.commit("Count");
    for setting in ["incident.trust=true", "trust.all=true", "safe.directory=*", "incident.trustdir=/tmp"] {
        assert_ne!(repo.try_git(&["-c", setting, "push", "-q", "origin", "topic"]).status, 0);
    }
    // An approval that others could have written is none.
    repo.incident(&["trust", "--yes"]).expect(0);
    let folder = repo.root().join("state/git-incident/trust");
    let file = std::fs::read_dir(&folder).unwrap().flatten().next().unwrap().path();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    repo.incident(&["validate"]).expect(1).says("written by others");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(runs(&repo), 0);
}

#[test]
fn a_record_that_was_fetched_is_only_claimed() {
    let (repo, bare) = with_gates("");
    repo.write(".git-incident.toml", &counted(&repo.root()));
    repo.write("good", "");
    repo.commit("Count");
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.try_git(&["push", "-q", "origin", "topic"]).expect(0);
    repo.try_git(&["push", "-q", "origin", "refs/notes/incidents", "refs/notes/incidents-evidence"])
        .expect(0);
    assert_eq!(runs(&repo), 1);

    let clone = repo.root().join("clone");
    repo.git(&["clone", "-q", "-b", "topic", &bare.display().to_string(), &clone.display().to_string()]);
    let clone = repo.at(&clone);
    clone.git(&["fetch", "-q", "origin", "refs/notes/incidents*:refs/notes/incidents*"]);
    // Neither the approval nor the record of another clone counts.
    clone.incident(&["validate"]).expect(1).says("nobody has approved");
    clone.incident(&["trust", "--yes"]).expect(0);
    clone.incident(&["validate", "--range", "origin/main..HEAD"]).expect(0).says("made elsewhere claims");
    assert_eq!(runs(&repo), 2);
}

#[test]
fn trust_shows_the_scripts_and_holds_pinned_files() {
    let gate = "[[gate]]\nid = \"g\"\nkind = \"command\"\npin = [\"tools/check.sh\"]\nrun = \"sh ./tools/check.sh\"\n";
    let (repo, _bare) = with_gates(gate);
    repo.write("tools/check.sh", "true\n");
    repo.commit("A script");
    let view = repo.incident_json(&["trust", "--yes"]);
    let command = &view["trusted"][0]["commands"][0];
    assert_eq!(command["command"], "sh ./tools/check.sh", "{view}");
    assert_eq!(command["scripts"][0]["path"], "tools/check.sh", "{view}");
    assert_eq!(command["scripts"][0]["sha256"], view["trusted"][0]["pins"]["tools/check.sh"]);
    repo.incident(&["trust", "--list"]).expect(0).says("1 pinned");
    repo.incident(&["validate"]).expect(0);
    repo.write("tools/check.sh", "true # and more\n");
    repo.commit("Another script");
    repo.incident(&["validate"]).expect(1).says("a pinned file is not the one that was approved");
    repo.incident(&["trust", "HEAD", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(0);
}

#[test]
fn captures_of_a_hang_run_only_when_they_are_approved() {
    let (repo, _bare) = with_gates("");
    let mark = repo.root().join("captured");
    repo.write(".git-incident.toml", &format!("[on-hang]\ncapture = [\"touch {}\"]\n", mark.display()));
    repo.incident(&["open", "x"]).expect(0);
    let hang = ["try", "-H", "it hangs", "--timeout", "300ms", "--", "sleep", "1000"];
    repo.incident(&hang).says("git incident trust");
    assert!(!mark.exists());
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&hang);
    assert!(mark.exists());
}
