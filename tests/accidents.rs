//! Nothing acknowledged is lost: whatever plain git does to the notes refs, the next command brings back what is
//! missing and says so. Writers that race or die are in `writers.rs`.

mod common;

use common::{Beside, EVIDENCE, LEDGER, Ran, Repo, notes_in};

/// What `show --json` says, after checking what it said of mending.
#[track_caller]
fn shown_after_mending(repo: &Repo, id: &str) -> (serde_json::Value, Ran) {
    let ran = repo.incident(&["--json", "show", id]).expect(0);
    assert!(ran.stderr.contains(&format!("mended {LEDGER}:")), "said only: {}", ran.stderr);
    let again = repo.incident(&["--json", "show", id]).expect(0);
    assert!(!again.stderr.contains("mended"), "mended twice: {}", again.stderr);
    assert_eq!(again.json(), ran.json());
    repo.git(&["fsck", "--strict", "--no-progress"]);
    (ran.json(), ran)
}

/// A repository with a remote that knows of the incident's first note, but not of the second and its evidence.
fn ahead_of_its_remote() -> (Repo, String) {
    let repo = Repo::new();
    repo.commit("first");
    repo.with_remote();
    repo.git(&["push", "-q", "origin", "main"]);
    let id = repo.open("row 17 is NaN");
    repo.note("pushed");
    repo.push_notes();
    repo.note("kept here only");
    repo.write("after.log", "evidence kept here only\n");
    repo.typed("evidence add after.log").expect(0);
    (repo, id)
}

#[track_caller]
fn holds_both(repo: &Repo, view: &serde_json::Value) {
    assert_eq!(notes_in(view), ["kept here only", "pushed"]);
    assert_eq!(view["evidence"][0]["name"], "after.log");
    let verified = repo.typed("evidence verify").expect(0);
    assert!(verified.stdout.contains("1 files intact"), "{}", verified.stdout);
}

#[test]
fn a_forced_fetch_over_the_refs_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    let before = repo.git(&["rev-parse", LEDGER]);
    repo.git(&["fetch", "-q", "origin", "+refs/notes/*:refs/notes/*"]);
    assert_ne!(repo.git(&["rev-parse", LEDGER]), before, "the accident did not happen");
    let (view, ran) = shown_after_mending(&repo, &id);
    assert!(ran.stderr.contains(&format!("mended {EVIDENCE}:")), "{}", ran.stderr);
    holds_both(&repo, &view);
}

#[test]
fn a_pruning_fetch_from_a_remote_without_notes_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    repo.git(&["push", "-q", "origin", &format!(":{LEDGER}"), &format!(":{EVIDENCE}")]);
    repo.git(&["fetch", "-q", "--prune", "origin", "+refs/notes/*:refs/notes/*"]);
    assert_eq!(
        repo.try_git(&["rev-parse", "--verify", "-q", LEDGER]).status,
        1,
        "the accident did not happen"
    );
    let (view, ran) = shown_after_mending(&repo, &id);
    assert!(ran.stderr.contains("was deleted"), "{}", ran.stderr);
    holds_both(&repo, &view);
}

/// Mirrors a clone that never heard of the notes into a repository, with everything that deletes there.
fn mirror_into(repo: &Repo, target: &str) {
    let stranger = repo.at(repo.root().join("stranger"));
    repo.git(&["clone", "-q", target, "../stranger"]);
    stranger.git(&["push", "-q", "--mirror", "origin"]);
}

#[test]
fn a_mirror_push_into_a_bare_repository_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    // The bare repository is itself one in which somebody works: it has acknowledged events of its own.
    let bare = repo.at(repo.root().join("origin.git"));
    bare.incident(&["attempt", "note", "-m", "written in the bare one", "-i", &id]).expect(0);
    mirror_into(&repo, &bare.path().display().to_string());
    let ran = bare.incident(&["--json", "show", &id]).expect(0);
    assert!(ran.stderr.contains(&format!("mended {LEDGER}:")), "{}", ran.stderr);
    assert_eq!(notes_in(&ran.json()), ["pushed", "written in the bare one"]);
}

#[test]
fn a_mirror_push_into_a_repository_with_a_working_tree_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    repo.git(&["config", "receive.denyCurrentBranch", "ignore"]);
    mirror_into(&repo, &repo.path().display().to_string());
    assert_eq!(
        repo.try_git(&["rev-parse", "--verify", "-q", LEDGER]).status,
        1,
        "the accident did not happen"
    );
    let (view, _) = shown_after_mending(&repo, &id);
    holds_both(&repo, &view);
}

/// Somebody who works with the same notes mirrors their clone, kept refs and all, over ours.
#[test]
fn a_mirror_push_of_another_working_clone_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    let clone = repo.clone_of_remote("clone");
    clone.merge_notes();
    clone.incident(&["attempt", "note", "written there", "-i", &id]).expect(0);
    repo.git(&["config", "receive.denyCurrentBranch", "ignore"]);
    clone.git(&["push", "-q", "--mirror", &repo.path().display().to_string()]);
    let (view, _) = shown_after_mending(&repo, &id);
    assert_eq!(notes_in(&view), ["kept here only", "pushed", "written there"]);
    repo.typed("evidence verify").expect(0).says("1 files intact");
}

#[test]
fn a_mirror_fetch_over_every_ref_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    repo.git(&["checkout", "-q", "--detach"]);
    repo.git(&["fetch", "-q", "--prune", "origin", "+refs/*:refs/*"]);
    let (view, _) = shown_after_mending(&repo, &id);
    holds_both(&repo, &view);
}

#[test]
fn deleting_either_ref_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    repo.git(&["update-ref", "-d", EVIDENCE]);
    repo.incident(&["show", &id]).expect(0).says(&format!("mended {EVIDENCE}: it was deleted"));
    repo.git(&["update-ref", "-d", LEDGER]);
    let (view, _) = shown_after_mending(&repo, &id);
    holds_both(&repo, &view);
    // A deleted kept ref is no loss either: it follows what stands in the notes ref.
    repo.git(&["update-ref", "-d", "refs/incident/kept/ledger"]);
    assert_eq!(repo.incident_json(&["show", &id]), view);
    assert_eq!(repo.git(&["rev-parse", "refs/incident/kept/ledger"]), repo.git(&["rev-parse", LEDGER]));
}

#[test]
fn pruning_notes_here_removes_none() {
    let (repo, id) = ahead_of_its_remote();
    let before = repo.git(&["rev-parse", LEDGER]);
    for _ in 0..2 {
        repo.git(&["gc", "-q", "--prune=now"]);
        repo.git(&["notes", "--ref=incidents", "prune"]);
        repo.git(&["notes", "--ref=incidents-evidence", "prune"]);
    }
    assert_eq!(repo.git(&["rev-parse", LEDGER]), before, "an anchor was not reachable");
    let view = repo.incident_json(&["show", &id]);
    holds_both(&repo, &view);
}

#[test]
fn a_prune_in_a_clone_without_the_objects_comes_back_as_a_merge_and_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    repo.push_notes();
    let clone = repo.at(repo.root().join("clone"));
    let url = format!("file://{}", repo.root().join("origin.git").display());
    repo.git(&["clone", "-q", &url, "../clone"]);
    // Only the newest ledgers were fetched, so no anchor is there: git takes every note for one of a lost object.
    clone.git(&["fetch", "-q", "--depth=1", &url, &format!("{LEDGER}:{LEDGER}")]);
    clone.git(&["notes", "--ref=incidents", "prune"]);
    assert_eq!(clone.git(&["notes", "--ref=incidents", "list"]), "", "the accident did not happen");
    clone.git(&["push", "-q", "origin", LEDGER]);
    repo.here().fetch_notes();
    repo.here().merge_notes();
    assert_eq!(
        repo.git(&["notes", "--ref=incidents", "list"]),
        "",
        "the merge did not take the deletion over"
    );
    let (view, _) = shown_after_mending(&repo, &id);
    holds_both(&repo, &view);
}

#[test]
fn a_removed_note_comes_back() {
    let (repo, id) = ahead_of_its_remote();
    repo.git(&["notes", "--ref=incidents", "remove", &id]);
    let (view, ran) = shown_after_mending(&repo, &id);
    assert!(ran.stderr.contains("had lost 1 of this clone's notes"), "{}", ran.stderr);
    holds_both(&repo, &view);
}

#[test]
fn a_note_cut_short_by_hand_gets_its_lines_back() {
    let (repo, id) = ahead_of_its_remote();
    let first = repo.git(&["cat-file", "blob", &id]);
    repo.git(&["notes", "--ref=incidents", "add", "-f", "-m", &first, &id]);
    let (view, _) = shown_after_mending(&repo, &id);
    holds_both(&repo, &view);
}

#[test]
fn a_writing_command_mends_as_well_and_says_so() {
    let (repo, id) = ahead_of_its_remote();
    repo.git(&["update-ref", "-d", LEDGER]);
    repo.typed("attempt note after").expect(0).says(&format!("mended {LEDGER}:"));
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), ["after", "kept here only", "pushed"]);
}

#[test]
fn a_new_incident_after_an_accident_stands_beside_the_old_ones() {
    let (repo, id) = ahead_of_its_remote();
    repo.git(&["update-ref", "-d", LEDGER]);
    repo.typed("open another").expect(0).says(&format!("mended {LEDGER}:"));
    let listed = repo.view("list");
    assert_eq!(listed["incidents"].as_array().expect("rows").len(), 2);
    repo.incident(&["use", &id]).expect(0);
    holds_both(&repo, &repo.incident_json(&["show", &id]));
}

/// Both sides write on, unite by plain git as `docs/STORAGE.md` says, and see the same.
#[test]
fn diverged_clones_united_by_plain_git_show_the_same_on_both_sides() {
    let (repo, id) = ahead_of_its_remote();
    repo.push_notes();
    let clone = repo.clone_of_remote("clone");
    clone.merge_notes();
    repo.typed("attempt start -H 'here: the scale is applied twice'").expect(0);
    repo.typed("edit --title 'said here'").expect(0);
    repo.note("written here");
    let there = ["-i", id.as_str()];
    clone.incident(&[&["attempt", "start", "-H", "there: the mask is stale"], &there[..]].concat()).expect(0);
    clone.incident(&[&["next", "add", "look at the mask"], &there[..]].concat()).expect(0);
    clone.incident(&["edit", &id, "--title", "said there"]).expect(0);
    clone
        .incident(
            &[&["attempt", "end", "-n", "1", "--failed", "-m", "the mask is fresh"], &there[..]].concat(),
        )
        .expect(0);
    clone.incident(&["close", &id, "--wont-fix", "-m", "too old"]).expect(0);

    repo.push_notes();
    clone.fetch_notes();
    clone.merge_notes();
    clone.push_notes();
    repo.here().fetch_notes();
    repo.here().merge_notes();

    let ours = repo.incident(&["--json", "show", &id]).expect(0).never_says("mended").json();
    let theirs = clone.incident(&["--json", "show", &id]).expect(0).never_says("mended").json();
    assert_eq!(ours, theirs);
    assert_eq!(ours["attempts"].as_array().expect("attempts").len(), 2);
    assert_eq!(notes_in(&ours), ["kept here only", "pushed", "written here"]);
    assert_eq!(ours["next"][0]["text"], "look at the mask");
    assert_eq!(ours["status"], "wont-fix");
    let conflicts = ours["conflicts"].as_array().expect("conflicts");
    assert_eq!(conflicts[0]["field"], "title", "both titles are told: {conflicts:?}");
}

#[test]
fn a_clone_that_fetched_and_merged_shows_the_incident() {
    let (repo, id) = ahead_of_its_remote();
    repo.push_notes();
    let clone = repo.clone_of_remote("clone");
    clone.merge_notes();
    assert_eq!(clone.incident_json(&["show", &id]), repo.incident_json(&["show", &id]));
    let verified = clone.incident(&["evidence", "verify", "-i", &id]).expect(0);
    assert!(verified.stdout.contains("1 files intact"), "{}", verified.stdout);
    clone.git(&["fsck", "--strict", "--no-progress"]);
}

/// A shallow clone that pruned has every anchor, because the evidence ref carries them.
#[test]
fn a_shallow_clone_prunes_without_loss() {
    let (repo, id) = ahead_of_its_remote();
    repo.push_notes();
    let clone: Beside<'_> = repo.at(repo.root().join("shallow"));
    let url = format!("file://{}", repo.root().join("origin.git").display());
    repo.git(&["clone", "-q", "--depth=1", &url, "../shallow"]);
    clone.git(&["fetch", "-q", "--depth=1", "origin", "+refs/notes/incidents*:refs/notes/incidents*"]);
    clone.git(&["notes", "--ref=incidents", "prune"]);
    assert_eq!(clone.incident_json(&["show", &id]), repo.incident_json(&["show", &id]));
}

#[test]
fn collecting_garbage_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    let before = repo.incident_json(&["show", &id]);
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now", "--aggressive"]);
    assert_eq!(repo.incident_json(&["show", &id]), before);
    holds_both(&repo, &before);
}

// ---- settings and tools of git that write, drop or rewrite notes refs ----

#[test]
fn a_configured_refspec_that_forces_and_prunes_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    repo.git(&["config", "--add", "remote.origin.fetch", "+refs/notes/*:refs/notes/*"]);
    repo.git(&["config", "fetch.prune", "true"]);
    for _ in 0..3 {
        repo.git(&["fetch", "-q", "--all"]);
        let (view, _) = shown_after_mending(&repo, &id);
        holds_both(&repo, &view);
    }
    repo.git(&["push", "-q", "origin", &format!(":{LEDGER}"), &format!(":{EVIDENCE}")]);
    repo.git(&["pull", "-q", "origin", "main"]);
    repo.git(&["fetch", "-q"]);
    let (view, _) = shown_after_mending(&repo, &id);
    holds_both(&repo, &view);
}

/// The hub's `receive.deny*` settings do not protect notes: a stranger forces it back, then to something else.
#[test]
fn a_forced_push_to_the_hub_takes_nothing_from_a_clone_that_fetches() {
    let (repo, id) = ahead_of_its_remote();
    let hub = repo.at(repo.root().join("origin.git"));
    hub.git(&["config", "receive.denyNonFastForwards", "true"]);
    let old = repo.git(&["rev-parse", &format!("{LEDGER}~1")]);
    repo.push_notes();
    let clone = repo.clone_of_remote("clone");
    clone.merge_notes();
    clone.incident(&["attempt", "note", "written in the clone", "-i", &id]).expect(0);
    let empty = hub.git(&["commit-tree", "-m", "nothing", &hub.git(&["mktree"])]);
    for target in [&old, &empty] {
        hub.git(&["update-ref", LEDGER, target]);
        clone.fetch_notes();
        clone.git(&["fetch", "-q", "origin", "+refs/notes/*:refs/notes/*"]);
        let ran = clone.incident(&["--json", "show", &id]).expect(0);
        assert!(ran.stderr.contains("mended"), "{}", ran.stderr);
        assert_eq!(notes_in(&ran.json()), ["kept here only", "pushed", "written in the clone"]);
    }
    // What was mended goes back to the hub by plain git, and everybody has everything again.
    clone.git(&["push", "-q", "--force", "origin", LEDGER, EVIDENCE]);
    repo.here().fetch_notes();
    repo.here().merge_notes();
    let view = repo.incident_json(&["show", &id]);
    assert_eq!(notes_in(&view), ["kept here only", "pushed", "written in the clone"]);
}

#[test]
fn the_users_own_notes_settings_lose_nothing() {
    let (repo, id) = ahead_of_its_remote();
    repo.write("code.c", "int x;\n");
    let commit = repo.commit("to be rewritten");
    repo.incident(&["link", &commit, "--as", "offending"]).expect(0);
    for (key, value) in [
        ("notes.rewriteRef", "refs/notes/*"),
        ("notes.rewriteMode", "overwrite"),
        ("notes.rewrite.amend", "true"),
        ("notes.rewrite.rebase", "true"),
        ("core.notesRef", LEDGER),
        ("notes.displayRef", "refs/notes/*"),
        ("notes.mergeStrategy", "ours"),
    ] {
        repo.git(&["config", key, value]);
    }
    // The user's own note lands in our ref; it is a stranger's there, and stays.
    repo.git(&["notes", "add", "-m", "a reviewer's remark", "HEAD"]);
    repo.note("beside the remark");
    repo.git(&["commit", "-q", "--amend", "-m", "rewritten"]);
    repo.write("more.c", "int y;\n");
    repo.commit("another");
    repo.git(&["rebase", "-q", "--force-rebase", "--root"]);
    repo.note("after the rebase");
    let view = repo.incident_json(&["show", &id]);
    assert_eq!(notes_in(&view), ["after the rebase", "beside the remark", "kept here only", "pushed"]);
    let remarks = repo.git(&["notes", "list"]);
    assert!(remarks.lines().count() >= 2, "the reviewer's remark is gone: {remarks}");
    repo.typed("list").expect(0).says("row 17");
    repo.git(&["fsck", "--strict", "--no-progress"]);
}

#[test]
fn a_notes_ref_from_the_environment_changes_nothing() {
    let (repo, id) = ahead_of_its_remote();
    for name in ["refs/notes/elsewhere", LEDGER, "refs/notes/incident-lines"] {
        let run = |program: &str, words: &[&str]| {
            let mut command = repo.command(program);
            command.env("GIT_NOTES_REF", name).env("GIT_NOTES_REWRITE_REF", "refs/notes/*").args(words);
            common::finish(command.output())
        };
        run("git", &["incident", "attempt", "note", name]).expect(0);
        run("git", &["notes", "append", "-m", "the user's", "HEAD"]).expect(0);
        run("git", &["commit", "-q", "--amend", "--allow-empty", "-m", name]).expect(0);
        let shown = run("git", &["incident", "--json", "show", &id]).expect(0).json();
        assert!(notes_in(&shown).contains(&name.to_owned()), "{shown}");
    }
    let view = repo.incident_json(&["show", &id]);
    assert_eq!(notes_in(&view).len(), 5, "{view}");
    repo.typed("evidence verify").expect(0).says("1 files intact");
}

#[test]
fn replaced_objects_change_nothing() {
    let (repo, id) = ahead_of_its_remote();
    let before = repo.incident_json(&["show", &id]);
    let listed = repo.view("list");
    let other = repo.git(&["hash-object", "-w", "--stdin"]);
    let note = repo.git(&["notes", "--ref=incidents", "list", &id]);
    let file = before["evidence"][0]["oid"].as_str().expect("an oid").to_owned();
    for object in [&id, &note, &file] {
        repo.git(&["replace", "-f", object, &other]);
    }
    let empty = repo.git(&["commit-tree", "-m", "nothing", &repo.git(&["mktree"])]);
    for name in [LEDGER, EVIDENCE] {
        repo.git(&["replace", "-f", &repo.git(&["rev-parse", name]), &empty]);
    }
    assert_eq!(repo.incident_json(&["show", &id]), before);
    assert_eq!(repo.view("list"), listed);
    repo.note("written among replacements");
    repo.typed("evidence verify").expect(0).says("1 files intact");
    repo.git(&["replace", "-d", &id, &note, &file]);
    let view = repo.incident_json(&["show", &id]);
    assert_eq!(notes_in(&view), ["kept here only", "pushed", "written among replacements"]);
}

#[test]
fn housekeeping_of_every_kind_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    repo.git(&["worktree", "add", "-q", "../linked"]);
    let linked = repo.at(repo.root().join("linked"));
    linked.incident(&["use", &id]).expect(0);
    linked.incident(&["attempt", "note", "from the linked worktree"]).expect(0);
    std::fs::remove_dir_all(linked.path()).expect("the worktree");
    for words in [
        vec!["worktree", "prune", "--expire=now"],
        vec!["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"],
        vec!["repack", "-adfq"],
        vec!["prune", "--expire=now"],
        vec!["pack-refs", "--all", "--prune"],
        vec!["gc", "-q", "--prune=now", "--aggressive"],
        vec!["notes", "--ref=incidents", "prune"],
        vec!["notes", "--ref=incidents-evidence", "prune"],
        vec!["maintenance", "run", "-q", "--task=gc"],
        vec!["stash", "-q", "-u"],
        vec!["clean", "-qffdx"],
        vec!["multi-pack-index", "write"],
        vec!["commit-graph", "write", "--reachable"],
    ] {
        // Some of these find nothing to do, or are not in every git.
        repo.try_git(&words);
        let view = repo.incident(&["--json", "show", &id]).expect(0);
        assert!(!view.stderr.contains("mended"), "{words:?}: {}", view.stderr);
        assert_eq!(
            notes_in(&view.json()),
            ["from the linked worktree", "kept here only", "pushed"],
            "{words:?}"
        );
    }
    repo.note("after the housekeeping");
    holds_evidence(&repo);
    // Local state may go at any time.
    std::fs::remove_dir_all(repo.path().join(".git/incident")).expect("local state");
    let view = repo.incident_json(&["show", &id]);
    assert_eq!(notes_in(&view).len(), 4);
}

#[track_caller]
fn holds_evidence(repo: &Repo) {
    repo.typed("evidence verify").expect(0).says("1 files intact");
}

#[test]
fn rewriting_all_of_history_loses_nothing() {
    let (repo, id) = ahead_of_its_remote();
    repo.write("secret.txt", "to be taken out of history\n");
    repo.commit("a mistake");
    let before = repo.git(&["rev-parse", LEDGER]);
    let run = |program: &str, words: &[&str]| {
        let mut command = repo.command(program);
        command.env("FILTER_BRANCH_SQUELCH_WARNING", "1").args(words);
        common::finish(command.output())
    };
    // Every ref there is, notes and kept ones too: other authors, then without a path.
    let authors = "export GIT_COMMITTER_NAME=Somebody GIT_AUTHOR_NAME=Somebody";
    run("git", &["filter-branch", "-f", "--env-filter", authors, "--", "--all"]).expect(0);
    assert_ne!(repo.git(&["rev-parse", LEDGER]), before, "the accident did not happen");
    let view = repo.incident_json(&["show", &id]);
    holds_both(&repo, &view);
    let index = "git rm -q --cached --ignore-unmatch secret.txt";
    run("git", &["filter-branch", "-f", "--index-filter", index, "--", "--all"]).expect(0);
    holds_both(&repo, &repo.incident_json(&["show", &id]));
    // Only one folder of everything is kept, so the notes go.
    repo.git(&["checkout", "-q", "--", "."]);
    let keep = "git read-tree --empty";
    run("git", &["filter-branch", "-f", "--index-filter", keep, "--", "--all"]).expect(0);
    assert_eq!(repo.git(&["notes", "--ref=incidents", "list"]), "", "the accident did not happen");
    let (view, _) = shown_after_mending(&repo, &id);
    holds_both(&repo, &view);
    if repo.try_git(&["filter-repo", "--version"]).status != 0 {
        return common::skipped("git filter-repo is not here: only git filter-branch was tried");
    }
    run("git", &["filter-repo", "--force", "--name-callback", "return b'Nobody'"]).expect(0);
    holds_both(&repo, &repo.incident_json(&["show", &id]));
}
