//! The pull request's text.

mod common;

use common::Repo;
use common::proven::proven;

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
