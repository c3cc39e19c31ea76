//! `git incident purge`: what was erased is nowhere: not here, not on the hub, not with a peer, and it does not come
//! back.

mod common;

use common::clones::{as_person, clone, everything, hub, sync, tips, with_hub};
use common::{Beside, EVIDENCE, LEDGER, Repo, finish};

/// Made at run time, so that it stands in no source.
fn secret() -> String {
    ["hunter", "2", "-in-the-log"].concat()
}

/// The id of the first event of a type in an incident's note.
fn event_of(clone: &Beside<'_>, id: &str, kind: &str) -> String {
    let note = clone.git(&["notes", "--ref=incidents", "show", id]);
    let line = note.lines().find(|l| l.contains(&format!("\"type\":\"{kind}\""))).expect("such an event");
    let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
    value["id"].as_str().expect("an id").to_owned()
}

#[track_caller]
fn holds_the_secret(clone: &Beside<'_>) {
    assert!(everything(clone).contains(&secret()), "the scene is no scene");
}

/// A hub, our clone and a peer who has everything, packed; the incident and its file's blob.
struct Scene {
    repo: Repo,
    id: String,
    blob: String,
}

impl Scene {
    fn new() -> Self {
        let repo = with_hub();
        let id = repo.open("row 17 is NaN");
        repo.write("leak.log", &format!("{} and a long tail\n{}", secret(), "x\n".repeat(500)));
        repo.typed("evidence add leak.log").expect(0);
        repo.typed(&format!("attempt start -H 'because of {} it fails'", secret())).expect(0);
        repo.note("harmless");
        repo.typed("link HEAD --as failed").expect(0);
        repo.typed(&format!("attempt end --failed -m 'not {}'", secret())).expect(0);
        sync(&repo.here(), &[]);
        sync(&clone(&repo, "peer"), &[]);
        let blob = repo.git(&["hash-object", "leak.log"]);
        std::fs::remove_file(repo.path().join("leak.log")).expect("removed");
        Self { repo, id, blob }
    }

    fn here(&self) -> Beside<'_> {
        self.repo.here()
    }

    fn peer(&self) -> Beside<'_> {
        self.repo.at(self.repo.root().join("peer"))
    }

    /// Erases the file and both texts.
    fn purge_all(&self) {
        let here = self.here();
        here.incident(&["purge", "evidence", "leak.log", "--yes", "--reason", "a password"]).expect(0);
        let events = ["attempt.started", "attempt.ended"].map(|kind| event_of(&here, &self.id, kind));
        here.incident(&["purge", "text", &events[0], &events[1], "-y"]).expect(0);
    }

    #[track_caller]
    fn is_clean(&self, clone: &Beside<'_>) {
        let all = everything(clone);
        assert!(!all.contains(&secret()), "the secret is still in {}", clone.path().display());
        let listed = clone.git(&["notes", "--ref=incidents-evidence", "list"]);
        assert!(!listed.contains(&self.blob), "{listed}");
        // Loose objects are compressed, so only git sees into them; and it finds the repository whole.
        clone.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]);
    }

    fn collect_garbage_on_the_hub(&self) {
        hub(&self.repo).git(&["gc", "-q", "--prune=now"]);
    }
}

#[test]
fn a_purge_reaches_the_hub_and_the_peer_and_nothing_comes_back() {
    let scene = Scene::new();
    let (here, peer) = (scene.here(), scene.peer());
    holds_the_secret(&here);
    holds_the_secret(&peer);
    scene.purge_all();
    scene.is_clean(&here);
    let before = here.incident_json(&["show", &scene.id]);
    assert_eq!(before["evidence"][0]["erased"], true);
    assert_eq!(before["title"], "row 17 is NaN");
    for name in [LEDGER, EVIDENCE] {
        assert_eq!(here.git(&["rev-list", "--count", name]), "1", "{name} has a history");
    }

    // The peer has written on meanwhile, and its news are not lost.
    peer.incident(&["attempt", "note", "written by the peer", "-i", &scene.id]).expect(0);
    sync(&peer, &[]);
    let told = sync(&here, &[]);
    assert_eq!(told["replaced"], true);
    scene.is_clean(&here);
    scene.collect_garbage_on_the_hub();
    scene.is_clean(&hub(&scene.repo));

    holds_the_secret(&peer);
    let told = peer.incident(&["--json", "sync"]).expect(0).says("gone from this clone too");
    let told = told.never_says("had lost").json();
    assert!(told["purged_objects"].as_u64() > Some(0), "{told}");
    assert_eq!(told["replaced"], false);
    scene.is_clean(&peer);
    assert_eq!(tips(&peer), tips(&hub(&scene.repo)));
    for _ in 0..2 {
        sync(&peer, &[]);
        sync(&here, &[]);
    }
    scene.is_clean(&here);
    scene.is_clean(&peer);
    scene.collect_garbage_on_the_hub();
    scene.is_clean(&hub(&scene.repo));
    assert_eq!(peer.incident_json(&["show", &scene.id]), here.incident_json(&["show", &scene.id]));
    let texts = common::notes_in(&here.incident_json(&["show", &scene.id]));
    assert!(texts.contains(&"written by the peer".to_owned()), "{texts:?}");
    // Plain git sees a healthy ref.
    here.git(&["notes", "--ref=incidents", "show", &scene.id]);
    here.git(&["notes", "--ref=incidents", "prune", "-n"]);
}

#[test]
fn a_copy_that_was_moved_aside_goes_here_and_with_the_peer() {
    let scene = Scene::new();
    let (here, peer) = (scene.here(), scene.peer());
    let quarantine = |clone: &Beside<'_>| {
        // An event of the incident under a stranger's key, and the file where a note should be.
        let note = clone.git(&["rev-parse", &format!("{LEDGER}:{}/{}", &scene.id[..2], &scene.id[2..])]);
        for object in [&scene.blob, &note] {
            let tree = clone.git(&["rev-parse", &format!("{LEDGER}^{{tree}}")]);
            let index = scene.repo.root().join("stray-index");
            let git = |arguments: &[&str]| {
                let mut command = clone.command("git");
                command.args(arguments).env("GIT_INDEX_FILE", &index);
                finish(command.output()).expect(0).line().to_owned()
            };
            git(&["read-tree", &tree]);
            git(&[
                "update-index",
                "--add",
                "--cacheinfo",
                &format!("100644,{object},no-note-{}", &object[..4]),
            ]);
            let tree = git(&["write-tree"]);
            std::fs::remove_file(&index).expect("the index");
            let commit = clone.git(&["commit-tree", &tree, "-p", LEDGER, "-m", "by hand"]);
            clone.git(&["update-ref", LEDGER, &commit]);
        }
        clone.incident(&["fsck", "--repair"]);
        let refs = clone.git(&["for-each-ref", "--format=%(refname)", "refs/incident/quarantine"]);
        assert!(!refs.is_empty(), "nothing was moved aside");
        refs.lines().next().expect("a ref").to_owned()
    };
    let (ours, theirs) = (quarantine(&here), quarantine(&peer));
    holds_the_secret(&here);
    scene.purge_all();
    scene.is_clean(&here);
    let list = here.git(&["show", &format!("{ours}:list")]);
    assert!(list.contains(" purged"), "{list}");
    assert!(!list.contains(&scene.blob), "{list}");
    sync(&here, &[]);
    sync(&peer, &[]);
    scene.is_clean(&peer);
    assert!(peer.git(&["show", &format!("{theirs}:list")]).contains(" purged"));
}

#[test]
fn a_merge_by_hand_in_a_linked_worktree_goes_too() {
    let scene = Scene::new();
    let here = scene.here();
    here.git(&["worktree", "add", "-q", "--detach", "../linked"]);
    let directory = here.path().join(".git/worktrees/linked");
    std::fs::create_dir(directory.join("NOTES_MERGE_WORKTREE")).expect("a folder");
    std::fs::write(directory.join("NOTES_MERGE_WORKTREE").join(&scene.id), secret()).expect("a file");
    std::fs::write(directory.join("NOTES_MERGE_REF"), format!("ref: {LEDGER}\n")).expect("a file");
    scene.purge_all();
    scene.is_clean(&here);
}

#[test]
fn a_damaged_object_keeps_nobody_from_purging() {
    let scene = Scene::new();
    let here = scene.here();
    let text = "of somebody's own\n".repeat(40);
    scene.repo.write("own", &text);
    let own = here.git(&["hash-object", "-w", "own"]);
    let file = here.path().join(".git/objects").join(&own[..2]).join(&own[2..]);
    let mut bytes = std::fs::read(&file).expect("loose");
    let end = bytes.len();
    bytes[end - 6..].fill(0);
    std::fs::remove_file(&file).expect("removed");
    std::fs::write(&file, bytes).expect("damaged");
    let event = event_of(&here, &scene.id, "attempt.started");
    here.incident(&["purge", "text", &event, "-y"]).expect(0);
    let note = here.git(&["notes", "--ref=incidents", "show", &scene.id]);
    let line = note.lines().find(|l| l.contains("\"attempt.started\"")).expect("the event");
    assert!(!line.contains(&secret()), "{line}");
}

#[test]
fn packed_secrets_go_and_other_objects_stay() {
    let scene = Scene::new();
    let here = scene.here();
    scene.repo.write("dear", "unreachable, and dear to somebody\n");
    let dear = here.git(&["hash-object", "-w", "dear"]);
    here.git(&["repack", "-q", "-a", "-d", "-k"]);
    here.git(&["commit-graph", "write", "--reachable"]);
    here.git(&["multi-pack-index", "write"]);
    scene.purge_all();
    scene.is_clean(&here);
    assert_eq!(here.git(&["cat-file", "-t", &dear]), "blob");
}

#[test]
fn the_anchor_of_an_incident_can_be_erased_and_its_id_stays() {
    let repo = with_hub();
    let id = repo.open(&format!("title with {}", secret()));
    repo.note("after it");
    sync(&repo.here(), &[]);
    let peer = clone(&repo, "peer");
    sync(&peer, &[]);
    let event = event_of(&repo.here(), &id, "incident.opened");
    repo.incident(&["purge", "text", &event[..12], "--yes"]).expect(0).says("its id stays");
    assert_eq!(repo.try_git(&["cat-file", "-e", &id]).status, 1, "the anchor is still there");
    sync(&repo.here(), &[]);
    sync(&peer, &[]);
    for clone in [&repo.here(), &peer] {
        assert!(!everything(clone).contains(&secret()));
        let view = clone.incident_json(&["show", &id[..9]]);
        assert_eq!((&view["incident"], &view["title"]), (&id.as_str().into(), &"(erased)".into()));
        assert_eq!(common::notes_in(&view), ["after it"]);
        clone.incident(&["attempt", "note", "goes on", "-i", &id]).expect(0);
    }
    sync(&repo.here(), &[]);
    sync(&peer, &[]);
    // `git notes prune` takes the note of a key that is no object; the guard brings it back.
    peer.git(&["notes", "--ref=incidents", "prune"]);
    assert_eq!(peer.git(&["notes", "--ref=incidents", "list"]), "");
    peer.incident(&["show", &id]).expect(0).says("mended");
    sync(&peer, &[]);
    sync(&repo.here(), &[]);
    assert_eq!(tips(&peer), tips(&repo.here()));
}

#[test]
fn a_person_is_forgotten_with_the_commits_that_name_them() {
    let repo = with_hub();
    let id = repo.open("by ada");
    sync(&repo.here(), &[]);
    let peer = clone(&repo, "peer");
    sync(&peer, &[]);
    let email = ["bob", "@", "example.net"].concat();
    let bob = |arguments: &[&str]| as_person(&peer, "Bob Builder", &email, arguments).expect(0);
    bob(&["incident", "attempt", "note", "said by bob", "-i", &id]);
    bob(&["incident", "open", "opened by bob"]);
    bob(&["incident", "sync"]);
    sync(&repo.here(), &[]);
    assert!(everything(&repo.here()).contains(&email));
    repo.incident(&["purge", "person", "BOB@example.net", "--yes"]).expect(0).says("erased 2 events");
    let gone = |clone: &Beside<'_>| {
        let all = everything(clone);
        assert!(
            !all.contains(&email) && !all.contains("Bob Builder"),
            "{} knows him",
            clone.path().display()
        );
    };
    gone(&repo.here());
    sync(&repo.here(), &[]);
    hub(&repo).git(&["gc", "-q", "--prune=now"]);
    gone(&hub(&repo));
    sync(&peer, &[]);
    gone(&peer);
    let view = peer.incident_json(&["show", &id]);
    assert_eq!(common::notes_in(&view), ["said by bob"], "what he said stays");
    assert_eq!(peer.incident_json(&["list"])["incidents"].as_array().map(Vec::len), Some(2));
    repo.incident(&["purge", "person", &email, "--yes"]).expect(0).says("nothing to erase");
}

/// A peer without our program merges old and new, and pushes the old history back.
#[test]
fn what_plain_git_brings_back_goes_again() {
    let scene = Scene::new();
    let (here, peer) = (scene.here(), scene.peer());
    scene.purge_all();
    sync(&here, &[]);
    peer.git(&["config", "core.logAllRefUpdates", "true"]);
    peer.fetch_notes();
    peer.merge_notes();
    peer.push_notes();
    scene.collect_garbage_on_the_hub();
    holds_the_secret(&hub(&scene.repo));
    let told = sync(&here, &[]);
    assert_eq!(told["replaced"], true);
    scene.is_clean(&here);
    scene.collect_garbage_on_the_hub();
    scene.is_clean(&hub(&scene.repo));
    // By force, both refs as they were.
    let old = peer.git(&["rev-parse", "refs/incident/kept/ledger"]);
    let old_evidence = peer.git(&["rev-parse", "refs/incident/kept/evidence"]);
    peer.git(&[
        "push",
        "-q",
        "--force",
        "origin",
        &format!("{old}:{LEDGER}"),
        &format!("{old_evidence}:{EVIDENCE}"),
    ]);
    sync(&here, &[]);
    scene.is_clean(&here);
    scene.collect_garbage_on_the_hub();
    scene.is_clean(&hub(&scene.repo));
    // The next command of the peer, not even a sync, sees what its own merge brought, and removes it.
    peer.incident(&["list"]).expect(0).says("gone from this clone too");
    assert!(!everything(&peer).contains(&secret()));
    assert_eq!(sync(&peer, &[])["replaced"], false);
    scene.is_clean(&peer);
    assert_eq!(tips(&peer), tips(&here));
}

/// The tip of what plain git pushed is clean, and its history is not.
#[test]
fn a_history_that_hides_it_is_replaced_as_well() {
    let scene = Scene::new();
    let (here, peer) = (scene.here(), scene.peer());
    scene.purge_all();
    sync(&here, &[]);
    peer.fetch_notes();
    for name in ["incidents", "incidents-evidence"] {
        let clean = peer.git(&["rev-parse", &format!("refs/notes/remotes/origin/{name}")]);
        let old = format!("refs/notes/{name}");
        let tree = format!("{clean}^{{tree}}");
        let hidden = peer.git(&["commit-tree", "-m", "x", "-p", &clean, "-p", &old, &tree]);
        peer.git(&["push", "-q", "origin", &format!("{hidden}:refs/notes/{name}")]);
    }
    let told = sync(&here, &[]);
    assert_eq!(told["replaced"], true);
    scene.is_clean(&here);
    scene.collect_garbage_on_the_hub();
    scene.is_clean(&hub(&scene.repo));
}

#[test]
fn a_forced_fetch_of_the_purged_refs_purges_this_clone_with_its_next_command() {
    let scene = Scene::new();
    let (here, peer) = (scene.here(), scene.peer());
    scene.purge_all();
    sync(&here, &[]);
    peer.incident(&["attempt", "note", "kept here only", "-i", &scene.id]).expect(0);
    peer.git(&["fetch", "-q", "origin", "+refs/notes/*:refs/notes/*"]);
    let ran = peer.incident(&["--json", "show", &scene.id]).expect(0).says("gone from this clone too");
    assert_eq!(common::notes_in(&ran.json()), ["harmless", "kept here only"]);
    scene.is_clean(&peer);
}

#[test]
fn a_merge_by_plain_git_purges_with_the_next_command() {
    let scene = Scene::new();
    let (here, peer) = (scene.here(), scene.peer());
    scene.purge_all();
    sync(&here, &[]);
    peer.fetch_notes();
    peer.merge_notes();
    peer.incident(&["list"]).expect(0).says("gone from this clone too");
    scene.is_clean(&peer);
}

#[test]
fn an_interrupted_purge_is_finished_by_the_next_command() {
    let scene = Scene::new();
    let here = scene.here();
    // Something holds the ref of the lines: the purge stops half-way.
    let held = here.path().join(".git/refs/notes/incident-lines.lock");
    std::fs::write(&held, "").expect("written");
    here.incident(&["purge", "person", "ada@example.org", "--yes"]).expect(1).says("incident-lines");
    here.incident(&["list"]).expect(0).says("not all gone yet");
    std::fs::remove_file(&held).expect("removed");
    here.incident(&["list"]).expect(0).says("gone from this clone too");
    here.incident(&["list"]).expect(0).never_says("gone");
    for name in [LEDGER, EVIDENCE] {
        let authors = here.git(&["log", "--format=%ae %ce", name]);
        assert!(!authors.contains("ada@"), "{authors}");
    }
    let objects = here.git(&["cat-file", "--batch-all-objects", "--batch"]);
    let named = objects.matches("\"email\":\"ada@example.org\"").count();
    assert_eq!(named, 0, "lines with the author stand in the object store");
    // Of the commits that name her only the repository's own are left.
    let own = here.git(&["rev-list", "--all", "--count", "--author=ada"]);
    assert_eq!(objects.matches("\nauthor Ada Tester").count().to_string(), own);
}

#[test]
fn what_other_refs_reach_stays_and_is_told() {
    let repo = with_hub();
    repo.write("tracked.log", "in a commit and in the ledger\n");
    repo.commit("a log");
    repo.open("one");
    repo.typed("evidence add tracked.log").expect(0);
    let blob = repo.git(&["rev-parse", "HEAD:tracked.log"]);
    let told = repo.incident_json(&["purge", "evidence", &blob[..10], "--yes"]);
    assert_eq!(told["still_reachable"][0], blob.as_str());
    assert_eq!(repo.git(&["cat-file", "-t", &blob]), "blob");
    assert!(!repo.git(&["notes", "--ref=incidents-evidence", "list"]).contains(&blob));
    // Taken up again it would only go again.
    repo.typed("evidence add tracked.log").refuses(1).says("was purged");
    repo.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]);
}

#[test]
fn lines_on_commits_forget_too() {
    let scene = Scene::new();
    let here = scene.here();
    let commit = here.git(&["rev-parse", "HEAD"]);
    let lines = || here.git(&["notes", "--ref=incident-lines", "show", &commit]);
    assert!(lines().contains("row 17"));
    let event = event_of(&here, &scene.id, "incident.opened");
    here.incident(&["purge", "text", &event, "--yes"]).expect(0);
    assert!(lines().contains("(erased)"), "{}", lines());
    assert!(!everything(&here).contains("row 17"));
}

#[test]
fn a_stranger_cannot_take_an_anchor_away_with_a_tombstone() {
    use git_incident::event::EvidenceErased;
    use git_incident::event::line::seal;
    use git_incident::model::incident::Author;
    use git_incident::model::{Oid, Timestamp};

    let repo = with_hub();
    let first = repo.open("first");
    let second = repo.open("second");
    // As any writer can: a tombstone in one ledger for the anchor of another.
    let author = Author {
        agent: String::new(),
        email: "m@example.org".into(),
        name: "M".into(),
        salt: "00".repeat(16),
    };
    let data = EvidenceErased { oid: Oid::parse(&first).expect("an id"), reason: String::new() }.into();
    let at = Timestamp::from_millis(1_800_000_000_000);
    let event = seal(at, &author, &data, &[], &"11".repeat(16)).expect("sealed");
    let line = String::from_utf8(event.raw).expect("text");
    repo.git(&["notes", "--ref=incidents", "append", "-m", &line, &second]);
    repo.incident(&["list"]).expect(0);
    sync(&repo.here(), &[]);
    let peer = clone(&repo, "peer");
    sync(&peer, &[]);
    peer.git(&["update-ref", "-d", EVIDENCE]);
    peer.incident(&["list"]).expect(0);
    for clone in [&repo.here(), &peer] {
        assert!(clone.git(&["notes", "--ref=incidents-evidence", "list"]).contains(&first));
        assert_eq!(clone.git(&["cat-file", "-t", &first]), "blob");
        assert_eq!(clone.incident_json(&["show", &first])["title"], "first");
    }
}

#[test]
fn it_asks_before_and_refuses_what_it_cannot_erase() {
    let scene = Scene::new();
    let here = scene.here();
    let before = tips(&here);
    here.incident(&["purge", "evidence", "leak.log"]).refuses(1).says("leak.log").says("--yes");
    assert_eq!(tips(&here), before);
    here.incident(&["purge", "evidence", "no.log", "--yes"]).refuses(1);
    here.incident(&["purge", "text", "0123456789", "--yes"]).refuses(1);
    here.incident(&["purge", "text", "xyz", "--yes"]).refuses(2);
    here.incident(&["purge", "person", "nobody@example.org", "--yes"]).expect(0).says("nothing to erase");
    assert_eq!(tips(&here), before);
    here.incident(&["purge", "evidence", "leak.log", "--yes"]).expect(0).says("git incident sync");
    let tombstone = event_of(&here, &scene.id, "evidence.erased");
    here.incident(&["purge", "text", &tombstone, "--yes"]).refuses(1).says("evidence.erased");
    let view = here.incident_json(&["purge", "person", "ada@example.org", "--yes"]);
    assert!(view["unreached"].as_array().is_some_and(|u| u.len() > 2));
    assert!(view["events"].as_array().is_some_and(|e| e.len() > 5));
}

#[test]
fn segments_are_purged_too() {
    let repo = with_hub();
    let id = repo.open("long");
    for n in 0..6 {
        repo.note(&format!("{n} {}", "x".repeat(60_000)));
    }
    repo.note(&format!("late {}", secret()));
    sync(&repo.here(), &[]);
    let peer = clone(&repo, "peer");
    sync(&peer, &[]);
    let notes = repo.git(&["notes", "--ref=incidents", "list"]);
    assert!(notes.lines().count() > 1, "no segment was begun");
    let mut found = None;
    for line in notes.lines() {
        let text = repo.git(&["cat-file", "blob", line.split(' ').next().expect("a blob")]);
        found = found.or_else(|| text.lines().find(|l| l.contains(&secret())).map(str::to_owned));
    }
    let event: serde_json::Value = serde_json::from_str(&found.expect("the line")).expect("JSON");
    repo.incident(&["purge", "text", event["id"].as_str().expect("an id"), "--yes"]).expect(0);
    repo.incident(&["purge", "person", "ada@example.org", "--yes"]).expect(0);
    sync(&repo.here(), &[]);
    sync(&peer, &[]);
    for clone in [&repo.here(), &peer] {
        let all = everything(clone);
        assert!(!all.contains(&secret()));
        let view = clone.incident_json(&["show", &id]);
        assert_eq!(view["title"], "long");
        assert_eq!(common::notes_in(&view).len(), 6, "{view}");
    }
}

#[test]
fn both_at_once_in_linked_worktrees_and_with_open_transactions() {
    let scene = Scene::new();
    let here = scene.here();
    here.git(&["worktree", "add", "-q", "../side"]);
    let side = scene.repo.at(scene.repo.root().join("side"));
    let event = event_of(&here, &scene.id, "attempt.ended");
    let mut writers: Vec<_> = (0..4)
        .map(|n| {
            let mut command = side.command("git-incident");
            command.args(["attempt", "note", &format!("meanwhile {n}"), "-i", &scene.id]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            command.spawn().expect("started")
        })
        .collect();
    side.incident(&["purge", "text", &event, "--yes"]).expect(0);
    for writer in writers.drain(..) {
        finish(writer.wait_with_output()).expect(0);
    }
    let texts = common::notes_in(&here.incident_json(&["show", &scene.id]));
    assert_eq!(texts.iter().filter(|t| t.starts_with("meanwhile")).count(), 4, "{texts:?}");
    assert!(!everything(&here).contains(&format!("not {}", secret())));
}
