//! Where a command runs, and how an incident is named.

mod common;

use common::{LEDGER, Repo, notes_in};
use serde_json::Value;

fn with_incident() -> (Repo, String) {
    let repo = Repo::new();
    repo.commit("first");
    repo.typed("open 'row 17 is NaN' --ticket GPU-123").expect(0);
    repo.note("seen");
    let id = repo.view("show")["incident"].as_str().expect("an id").to_owned();
    (repo, id)
}

#[test]
fn an_incident_is_named_by_id_unique_prefix_or_ticket() {
    let (repo, id) = with_incident();
    let upper = id[..7].to_uppercase();
    for named in [&id, &id[..7], &id[..12], &upper, "GPU-123", "gpu-123"] {
        let found = repo.incident_json(&["show", named]);
        assert_eq!(found["incident"], id.as_str(), "{named}");
    }
    repo.incident(&["show", &id[..6]]).refuses(1).says("at least 7 digits");
    repo.typed("show GPU-12").refuses(1);
    repo.typed("show ''").refuses(1);
    let other = if id.starts_with('0') { "1" } else { "0" };
    repo.incident(&["show", &format!("{other}{}", &id[1..8])]).refuses(1).says("there is no incident");
}

#[test]
fn an_ambiguous_ticket_lists_what_it_may_mean() {
    let repo = Repo::new();
    repo.typed("open one --ticket GPU-1").expect(0);
    repo.typed("open two --ticket GPU-1").expect(0);
    let said = repo.typed("show GPU-1").refuses(1);
    said.says("means 2 incidents").says("one").says("two");
}

/// Two ids with seven digits in common cannot be waited for: the same ledger is put under a neighbouring key.
#[test]
fn an_ambiguous_prefix_asks_for_more_digits() {
    let (repo, id) = with_incident();
    let last = if id.ends_with('0') { '1' } else { '0' };
    let neighbour = format!("{}/{}{last}", &id[..2], &id[2..39]);
    let blob = repo.git(&["notes", "--ref=incidents", "list", &id]);
    repo.git(&["read-tree", LEDGER]);
    let entry = format!("100644,{blob},{neighbour}");
    repo.git(&["update-index", "--add", "--cacheinfo", &entry]);
    let tree = repo.git(&["write-tree"]);
    let commit = repo.git(&["commit-tree", &tree, "-p", LEDGER, "-m", "by hand"]);
    repo.git(&["update-ref", LEDGER, &commit]);
    let said = repo.incident(&["show", &id[..7]]).refuses(1);
    said.says("means 2 incidents").says("type more digits");
    assert_eq!(repo.incident_json(&["show", &id])["title"], "row 17 is NaN");
}

#[test]
fn each_worktree_has_its_own_active_incident() {
    let (repo, one) = with_incident();
    repo.git(&["worktree", "add", "-q", "../other"]);
    let other = repo.at(repo.root().join("other"));
    other.typed("show").refuses(1).says("no incident is active here");
    let two = other.view("open two")["incident"].clone();
    assert_eq!(repo.view("status")["incident"], one.as_str());
    assert_eq!(other.view("status")["incident"], two);
    assert_eq!(other.view("list"), repo.view("list"));
    other.incident(&["use", &one]).expect(0);
    other.typed("attempt start -H there").expect(0);
    other.typed("attempt note 'from the other worktree'").expect(0);
    let there = notes_in(&repo.view("show"));
    assert_eq!(there, ["from the other worktree", "seen"]);
    let here = &repo.view("status")["attempt"];
    assert_eq!(*here, Value::Null, "the attempt is active in the other worktree");
}

#[test]
fn git_names_the_repository_in_all_its_ways() {
    let (repo, id) = with_incident();
    let elsewhere = repo.at(repo.root().join("home"));
    let work = repo.path().display().to_string();
    let git_dir = format!("{work}/.git");
    let shown = repo.incident_json(&["show", &id]);
    for before in
        [&["-C", &work][..], &["--git-dir", &git_dir], &["--git-dir", &git_dir, "--work-tree", &work]]
    {
        let all = [before, &["incident", "--json", "show", &id]].concat();
        let view = elsewhere.run("git", &all).expect(0).json();
        assert_eq!(view, shown, "{before:?}");
    }
    let mut by_variable = elsewhere.command("git-incident");
    by_variable.env("GIT_DIR", &git_dir).args(["--json", "show", &id]);
    assert_eq!(common::finish(by_variable.output()).expect(0).json(), shown);
    repo.write("deep/er/file", "x");
    let below = repo.at(repo.path().join("deep/er"));
    assert_eq!(below.view("show"), shown);
    let all = ["-C", &work, "incident", "attempt", "note", "from elsewhere"];
    elsewhere.run("git", &all).expect(0);
    assert_eq!(notes_in(&repo.view("show")), ["from elsewhere", "seen"]);
}

#[test]
fn a_bare_repository_lists_and_shows() {
    let (repo, id) = with_incident();
    repo.with_remote();
    repo.git(&["push", "-q", "origin", "main"]);
    repo.push_notes();
    let bare = repo.at(repo.root().join("origin.git"));
    assert_eq!(bare.view("list"), repo.view("list"));
    let shown = bare.incident_json(&["show", &id]);
    assert_eq!(shown, repo.incident_json(&["show", &id]));
    bare.typed("status").expect(0).says("no incident is active here");
    bare.typed("show").refuses(1);
    bare.typed("open 'in the bare one'").expect(0);
    assert_eq!(bare.view("try -- echo hi")["exit"], 0);
}

#[test]
fn a_detached_head_is_no_trouble() {
    let (repo, _) = with_incident();
    repo.commit("second");
    repo.git(&["checkout", "-q", "--detach", "HEAD^"]);
    repo.note("detached");
    let tried = repo.view("try -- true");
    assert_eq!(tried["run"]["commit"], repo.git(&["rev-parse", "HEAD"]).as_str());
    assert_eq!(notes_in(&repo.view("show")), ["", "detached", "seen"]);
}
