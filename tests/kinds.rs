//! Kinds of repositories: what works in each, and what is said where something does not.

mod common;

use common::{Beside, EVIDENCE, LEDGER, Repo, notes_in};

/// A repository with a remote that has it all: an incident with a note and two files of evidence.
fn shared() -> (Repo, String) {
    let repo = Repo::new();
    repo.write("a.txt", "one\n");
    repo.commit("first");
    let id = repo.open("row 17 is NaN");
    repo.note("seen");
    repo.write("small.log", "step 2: nan\n");
    repo.write("large.log", &"a line of a larger log\n".repeat(4000));
    repo.typed("evidence add small.log large.log").expect(0);
    let bare = repo.with_remote();
    repo.git(&["-C", &bare.display().to_string(), "config", "uploadpack.allowFilter", "true"]);
    repo.git(&["push", "-q", "origin", "main"]);
    repo.push_notes();
    (repo, id)
}

/// A clone through `file://`, with its notes fetched straight into their refs.
fn clone<'r>(repo: &'r Repo, name: &str, options: &[&str]) -> Beside<'r> {
    let url = format!("file://{}", repo.root().join("origin.git").display());
    let to = repo.root().join(name);
    repo.git(&[&["clone", "-q"], options, &[&url, &to.display().to_string()]].concat());
    let clone = repo.at(to);
    let depth: &[&str] = if options.iter().any(|o| o.starts_with("--depth")) { &["--depth=1"] } else { &[] };
    clone.git(
        &[&["fetch", "-q"], depth, &["origin", "+refs/notes/incidents*:refs/notes/incidents*"]].concat(),
    );
    clone
}

/// How many objects are not here.
fn missing(clone: &Beside<'_>) -> usize {
    let all = clone.git(&["rev-list", "--objects", "--all", "--missing=print"]);
    all.lines().filter(|l| l.starts_with('?')).count()
}

/// Records, reads and checks in a place.
#[track_caller]
fn everything_works(place: &Beside<'_>) {
    let id = place.view("open 'opened here'")["incident"].as_str().expect("an id").to_owned();
    place.typed("try -H 'a guess' --failed -m no -- echo hello").expect(0);
    place.typed("attempt note 'noted here'").expect(0);
    assert_eq!(place.incident_json(&["show", &id])["attempts"][0]["conclusion"], "no");
    assert!(place.view("list")["incidents"].as_array().expect("rows").iter().any(|i| i["incident"] == *id));
    place.typed("status").expect(0);
    place.typed("evidence verify").expect(0);
    let ran = place.incident(&["--json", "fsck"]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
}

#[test]
fn linked_worktrees_share_the_ledger() {
    let (repo, id) = shared();
    repo.git(&["worktree", "add", "-q", "../linked"]);
    let linked = repo.at(repo.root().join("linked"));
    everything_works(&linked);
    assert_eq!(linked.view("list"), repo.view("list"));
    assert_eq!(repo.view("status")["incident"], id.as_str());
    linked.typed("doctor").never_says("error:");
}

#[test]
fn a_bare_repository_keeps_incidents() {
    let (repo, id) = shared();
    let bare = repo.at(repo.root().join("origin.git"));
    everything_works(&bare);
    assert_eq!(notes_in(&bare.incident_json(&["show", &id])), ["seen"]);
    bare.typed("doctor").never_says("error:");
}

#[test]
fn a_submodule_has_a_ledger_of_its_own() {
    let (repo, id) = shared();
    let outer = repo.at(repo.root().join("outer"));
    repo.git(&["init", "-q", "-b", "main", "../outer"]);
    outer.typed("open 'of the superproject'").expect(0);
    let bare = repo.root().join("origin.git").display().to_string();
    outer.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &bare, "sub"]);
    outer.git(&["commit", "-q", "-m", "with a submodule"]);
    let inner = repo.at(repo.root().join("outer/sub"));
    inner.git(&["fetch", "-q", "origin", "+refs/notes/incidents*:refs/notes/incidents*"]);
    assert_eq!(inner.incident_json(&["show", &id])["title"], "row 17 is NaN");
    everything_works(&inner);
    everything_works(&outer);
    let titles = |place: &Beside<'_>| {
        let rows = place.view("list")["incidents"].as_array().expect("rows").clone();
        let mut titles: Vec<String> =
            rows.iter().map(|r| r["title"].as_str().expect("a title").to_owned()).collect();
        titles.sort();
        titles
    };
    assert_eq!(titles(&outer), ["of the superproject", "opened here"]);
    assert_eq!(titles(&inner), ["opened here", "row 17 is NaN"]);
    inner.typed("doctor").never_says("error:");
}

#[test]
fn a_shallow_clone_reads_and_writes() {
    let (repo, id) = shared();
    repo.commit("second");
    repo.git(&["push", "-q", "origin", "main"]);
    let shallow = clone(&repo, "shallow", &["--depth=1"]);
    assert_eq!(shallow.git(&["rev-parse", "--is-shallow-repository"]), "true");
    let view = shallow.incident_json(&["show", &id]);
    assert_eq!(view["title"], "row 17 is NaN");
    assert_eq!(
        shallow.incident(&["evidence", "-i", &id, "show", "small.log"]).expect(0).stdout,
        "step 2: nan\n"
    );
    everything_works(&shallow);
    shallow.push_notes();
    shallow.typed("doctor").never_says("error:").says("shallow");
}

/// Fetching is seen by what is missing before and after, and by taking the remote away.
#[test]
fn a_clone_without_blobs_fetches_the_ledgers_once_and_evidence_one_by_one() {
    let (repo, id) = shared();
    let partial = clone(&repo, "partial", &["--filter=blob:none"]);
    let evidence = |name: &str| partial.incident(&["evidence", "-i", &id, "show", name]);
    let at_first = missing(&partial);
    assert!(at_first > 3, "nothing was left out: {at_first}");
    assert_eq!(partial.view("list")["incidents"][0]["title"], "row 17 is NaN");
    // The one ledger, in its newest version.
    assert_eq!(missing(&partial), at_first - 1);
    let hidden = repo.root().join("hidden.git");
    std::fs::rename(repo.root().join("origin.git"), &hidden).expect("moved");
    assert_eq!(notes_in(&partial.incident_json(&["show", &id])), ["seen"]);
    partial.typed("list").expect(0);
    partial.incident(&["use", &id]).expect(0);
    partial.typed("status").expect(0);
    let fsck = partial.typed("fsck").expect(0);
    fsck.says("not fetched");
    let refused = evidence("small.log").expect(6);
    refused.says("partial clone").says("hint:");
    std::fs::rename(&hidden, repo.root().join("origin.git")).expect("moved back");
    let before = missing(&partial);
    assert_eq!(evidence("small.log").expect(0).stdout, "step 2: nan\n");
    assert_eq!(missing(&partial), before - 1, "one was to be fetched");
    assert!(
        !partial.path().join(".git/FETCH_HEAD").exists() || {
            let head = std::fs::read_to_string(partial.path().join(".git/FETCH_HEAD")).expect("readable");
            head.contains("notes")
        }
    );
    everything_works(&partial);
    let mut forbidden = partial.command("git-incident");
    forbidden.env("GIT_NO_LAZY_FETCH", "1").args(["evidence", "-i", &id, "show", "large.log"]);
    common::finish(forbidden.output()).expect(1).says("GIT_NO_LAZY_FETCH");
    assert_eq!(evidence("large.log").expect(0).stdout.lines().count(), 4000);
    partial.push_notes();
    partial.typed("doctor").never_says("error:").says("partial");
}

#[test]
fn a_clone_with_small_blobs_has_its_ledgers() {
    let (repo, id) = shared();
    let partial = clone(&repo, "limited", &["--filter=blob:limit=10k"]);
    assert_eq!(missing(&partial), 1, "the large log");
    std::fs::rename(repo.root().join("origin.git"), repo.root().join("hidden.git")).expect("moved");
    partial.typed("list").expect(0).says("row 17 is NaN");
    partial.incident(&["show", &id]).expect(0).says("large.log");
    assert_eq!(
        partial.incident(&["evidence", "-i", &id, "show", "small.log"]).expect(0).stdout,
        "step 2: nan\n"
    );
    partial.incident(&["evidence", "-i", &id, "show", "large.log"]).expect(6);
}

/// Many ledgers come in one fetch, whether libgit2 or `git cat-file` reads them.
#[test]
fn many_ledgers_come_in_one_fetch() {
    let (repo, _) = shared();
    for n in 0..5 {
        repo.open(&format!("incident {n}"));
    }
    repo.push_notes();
    let partial = clone(&repo, "partial", &["--filter=blob:none"]);
    let mut list = partial.command("git-incident");
    let trace = repo.root().join("trace");
    list.env("GIT_TRACE", &trace).arg("list");
    common::finish(list.output()).expect(0).says("incident 4");
    let traced = std::fs::read_to_string(&trace).expect("a trace");
    let fetches = traced.lines().filter(|l| l.contains("built-in: git fetch")).count();
    assert_eq!(fetches, 1, "{traced}");
    std::fs::remove_file(&trace).expect("removed");
    let mut again = partial.command("git-incident");
    again.env("GIT_TRACE", &trace).arg("list");
    common::finish(again.output()).expect(0);
    let traced = std::fs::read_to_string(&trace).unwrap_or_default();
    assert!(!traced.contains("git fetch"), "{traced}");
}

/// What older versions of git wrote for `--filter`.
#[test]
fn the_extension_of_older_partial_clones_is_read() {
    let (repo, id) = shared();
    let partial = clone(&repo, "older", &["--filter=blob:none"]);
    partial.git(&["config", "core.repositoryFormatVersion", "1"]);
    partial.git(&["config", "extensions.partialClone", "origin"]);
    partial.git(&["config", "--unset", "remote.origin.promisor"]);
    assert_eq!(partial.incident_json(&["show", &id])["title"], "row 17 is NaN");
    assert_eq!(
        partial.incident(&["evidence", "-i", &id, "show", "small.log"]).expect(0).stdout,
        "step 2: nan\n"
    );
    everything_works(&partial);
}

#[test]
fn an_extension_nobody_knows_is_named() {
    let repo = Repo::new();
    repo.git(&["config", "core.repositoryFormatVersion", "1"]);
    repo.git(&["config", "extensions.preciousObjects", "true"]);
    everything_works(&repo.here());
    std::fs::write(
        repo.path().join(".git/config"),
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tcompatObjectFormat = sha256\n",
    )
    .expect("written");
    let mut list = repo.command("git-incident");
    list.arg("list");
    common::finish(list.output()).refuses(1).says("extension").says("extensions\\.");
}

#[test]
fn sha256_and_reftable_are_refused_with_a_way_out() {
    let repo = Repo::new();
    for (option, config, words) in [
        ("--object-format=sha256", "extensions.objectFormat", "SHA-256"),
        ("--ref-format=reftable", "extensions.refStorage", "reftable"),
    ] {
        let place = repo.at(repo.root().join(words));
        if repo.try_git(&["init", "-q", option, &place.path().display().to_string()]).status != 0 {
            common::skipped(&format!("this git does not know {option}"));
            continue;
        }
        assert!(!place.git(&["config", config]).is_empty());
        for command in ["open x", "list", "fsck", "show", "init"] {
            place.typed(command).refuses(1).says(words).says("libgit2");
        }
        let doctor = place.typed("--json doctor").expect(1);
        let view = doctor.json();
        let kind = view["checks"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|c| c["check"] == "repository")
            .expect("it");
        assert_eq!(kind["status"], "problem");
        assert!(kind["message"].as_str().expect("words").contains(words), "{kind}");
    }
}

#[test]
fn refs_of_a_clone_travel_whatever_its_kind() {
    let (repo, id) = shared();
    let partial = clone(&repo, "partial", &["--filter=blob:none"]);
    partial.incident(&["use", &id]).expect(0);
    partial.typed("attempt note 'from the partial clone'").expect(0);
    partial.push_notes();
    repo.here().fetch_notes();
    repo.here().merge_notes();
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), ["from the partial clone", "seen"]);
    for reference in [LEDGER, EVIDENCE] {
        repo.git(&["rev-parse", "--verify", "-q", reference]);
    }
    repo.git(&["fsck", "--strict", "--no-progress"]);
}
