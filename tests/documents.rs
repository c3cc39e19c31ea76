//! The post-mortem and the pull request's text: refused until the record holds them, and never over what people wrote.

mod common;

use common::Repo;

/// An incident whose record holds everything, with the fix on HEAD.
fn proven() -> Repo {
    let repo = Repo::new();
    repo.write("value", "bad\n");
    repo.write("check.sh", "! grep -q bad value\n");
    repo.write(".github/CODEOWNERS", "value @owners/values\n");
    repo.write(
        ".github/workflows/unit.yml",
        "name: unit tests\non:\n  pull_request:\n    paths: ['value']\n",
    );
    repo.commit("Start");
    repo.incident(&["open", "the value is bad", "--ticket", "VAL-1", "-s", "check.sh exits with 1"])
        .expect(0);
    repo.incident(&["repro", "set", "--", "sh", "check.sh"]).expect(0);
    repo.incident(&["repro", "run", "-n", "5", "-q"]).expect(1);
    repo.incident(&["attempt", "start", "-H", "the value should be good", "-d", "check.sh still fails"])
        .expect(0);
    repo.write("value", "good\n");
    repo.commit("Make the value good");
    repo.incident(&["link", "HEAD", "--as", "fix"]).expect(0);
    repo.incident(&["attempt", "end", "--worked", "-m", "it was the value"]).expect(0);
    repo.incident(&["cause", "propose", "somebody wrote bad"]).expect(0);
    repo.incident(&["cause", "confirm", "--accounts", "1=good is not bad"]).expect(0);
    repo.incident(&["repro", "run", "-n", "5", "--at", "HEAD", "-q"]).expect(0);
    repo
}

#[test]
fn a_draft_is_refused_with_the_list_of_what_is_missing() {
    let repo = Repo::new();
    repo.commit("Start");
    repo.incident(&["open", "it hangs"]).expect(0);
    let refused = repo.incident(&["postmortem", "draft"]).expect(1);
    for missing in ["repro", "cause", "fix"] {
        assert!(refused.stderr.contains(missing), "{missing} is not named in {}", refused.stderr);
    }
    assert!(!repo.path().join("docs").exists(), "nothing was written");
}

#[test]
fn each_precondition_alone_keeps_it_back() {
    let repo = proven();
    repo.incident(&["postmortem", "draft", "--print"]).expect(0);
    // A fix that was amended is not the commit that was validated.
    repo.incident(&["link", "HEAD", "--remove"]).expect(0);
    repo.incident(&["postmortem", "draft", "--print"]).expect(1).says("fix");
    repo.write("value", "good enough\n");
    repo.commit("Another fix");
    repo.incident(&["link", "HEAD", "--as", "fix"]).expect(0);
    repo.incident(&["postmortem", "draft", "--print"]).expect(1).says("repro run");
    repo.incident(&["repro", "run", "-n", "5", "--at", "HEAD", "-q"]).expect(0);
    repo.incident(&["postmortem", "draft", "--print"]).expect(0);
}

#[test]
fn a_draft_goes_to_its_ticket_and_never_over_what_people_wrote() {
    let repo = proven();
    let view = repo.incident_json(&["postmortem", "draft"]);
    assert_eq!(view["path"], "docs/postmortems/VAL-1.md");
    let first = repo.read("docs/postmortems/VAL-1.md");
    assert!(first.contains("VAL-1") && first.contains("> **Gap:**"));
    repo.incident(&["postmortem", "draft"]).expect(0);
    repo.write("docs/postmortems/VAL-1.md", &format!("{first}\nwritten by a person\n"));
    repo.incident(&["postmortem", "draft"]).expect(1).says("somebody has written in it");
    assert!(repo.read("docs/postmortems/VAL-1.md").ends_with("written by a person\n"));
    repo.incident(&["postmortem", "draft", "--force"]).expect(0);
    assert!(!repo.read("docs/postmortems/VAL-1.md").contains("written by a person"));
}

#[test]
fn a_draft_is_not_written_through_a_link() {
    let repo = proven();
    let outside = repo.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(repo.path().join("docs")).unwrap();
    std::os::unix::fs::symlink(&outside, repo.path().join("docs/postmortems")).unwrap();
    repo.incident(&["postmortem", "draft"]).expect(1).says("symbolic link");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn the_pull_request_names_workflows_people_counts_and_what_was_ruled_out() {
    let repo = proven();
    let body = repo.incident(&["pr"]).expect(0).stdout;
    for part in [
        "Title: Make the value good",
        "`value` (+1 −1)",
        "5 of 5 runs",
        "0 of 5 runs",
        "unit tests",
        "@owners/values",
        "Incident: ",
    ] {
        assert!(body.contains(part), "{part} is missing in\n{body}");
    }
    let view = repo.incident_json(&["pr"]);
    assert_eq!(view["title"], "Make the value good");
    assert!(body.contains(view["body"].as_str().unwrap()));
}

#[test]
fn a_branch_is_described_from_where_it_left_its_base() {
    let repo = proven();
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.write("extra", "1\n");
    repo.commit("Add something");
    let view = repo.incident_json(&["pr", "--base", "main"]);
    let body = view["body"].as_str().unwrap();
    assert!(body.contains("`extra`") && !body.contains("`value` (+"), "{body}");
}

#[test]
fn without_a_change_there_is_no_pull_request() {
    let repo = Repo::new();
    repo.commit("Start");
    repo.incident(&["open", "it hangs"]).expect(0);
    repo.incident(&["pr"]).expect(1).says("link");
}
