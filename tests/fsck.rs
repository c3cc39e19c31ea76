//! `fsck`: each kind of damage is made in a real repository, found, put right or moved aside, and gone.

mod common;
#[path = "fsck/damage.rs"]
mod damage;

use std::collections::BTreeSet;

use common::{EVIDENCE, LEDGER, Repo};
use damage::{blob, checks, drop_entry, edited, force, fsck, note, set_note};
use git_incident::event::line::{Body, seal};
use git_incident::event::{Data, EvidenceAdded, Line, NextAdded};
use git_incident::model::canonical::sha256_hex;
use git_incident::model::incident::Author;
use git_incident::model::{EventId, Oid, Timestamp};
use serde_json::Value;

const LINES: &str = "refs/notes/incident-lines";

/// A repository with two incidents: attempts, evidence, a linked commit.
fn scene() -> (Repo, String) {
    let repo = Repo::new();
    repo.write("a.txt", "one\n");
    repo.commit("first");
    let id = repo.open("row 17 is NaN");
    repo.write("run.log", "step 1\nstep 2: nan\n");
    repo.typed("evidence add run.log").expect(0);
    repo.typed("attempt start -H 'exp overflows'").expect(0);
    repo.typed("attempt end --failed -m 'it does not'").expect(0);
    repo.typed("link HEAD --as fix").expect(0);
    repo.typed("open 'another one'").expect(0);
    repo.incident(&["use", &id]).expect(0);
    (repo, id)
}

/// Everything on the ledger: heads and newest time.
fn end_of(repo: &Repo, id: &str) -> (Vec<EventId>, Timestamp) {
    let ledger = git_incident::fold::Ledger::parse(note(repo, id).as_bytes());
    let last = ledger.events.iter().map(|e| e.at).max().expect("an event");
    (ledger.heads(), last)
}

/// Adds an event that is sealed as any program may, whatever it says.
fn add_event(repo: &Repo, id: &str, at: Timestamp, parents: &[EventId], data: impl Into<Data>) {
    let event = seal(at, &Author::default(), &data.into(), parents, &"5".repeat(32)).expect("sealed");
    let text = format!("{}{}\n", note(repo, id), String::from_utf8(event.raw).expect("text"));
    set_note(repo, id, text.as_bytes());
}

fn later(at: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_millis(at.millis() + millis)
}

/// What `show` says of both incidents, to be the same before and after a repair.
fn told(repo: &Repo) -> Vec<Value> {
    let ids: Vec<Value> = repo.view("list")["incidents"].as_array().expect("rows").clone();
    ids.iter().map(|row| repo.incident_json(&["show", row["incident"].as_str().expect("an id")])).collect()
}

#[test]
fn what_is_whole_is_clean_and_counted() {
    let (repo, id) = scene();
    let before = repo.git(&["for-each-ref"]);
    let (status, view) = fsck(&repo, &[]);
    assert_eq!((status, &view["problems"]), (0, &serde_json::json!([])), "{view}");
    let checked = &view["checked"];
    assert_eq!((checked["incidents"].clone(), checked["links"].clone()), (2.into(), 1.into()));
    assert_eq!((checked["evidence"].clone(), checked["events"].clone()), (1.into(), 6.into()), "{checked}");
    repo.typed("fsck").expect(0).says("nothing is wrong").says("2 incidents");
    let (_, one) = fsck(&repo, &[&id[..9]]);
    assert_eq!(one["checked"]["incidents"], 1);
    let (status, view) = fsck(&repo, &["--repair"]);
    assert_eq!(
        (status, &view["repaired"], &view["quarantined"]),
        (0, &serde_json::json!([]), &serde_json::json!([]))
    );
    assert_eq!(repo.git(&["for-each-ref"]), before, "a check moved a ref");
    repo.typed("fsck 0123456").refuses(1);
    Repo::new().typed("fsck").expect(0);
}

/// The check, its weight, the ref, and what makes the damage: the ref and its new commit.
type Damage<'d> = (&'d str, &'d str, &'d str, &'d dyn Fn(&Repo, &str) -> (String, String));

/// Each of these is put right whole: the incidents say the same afterwards, and a second check is clean.
#[test]
fn trees_that_git_or_a_stranger_left_are_rebuilt() {
    let at = |id: &str| format!("{}/{}", &id[..2], &id[2..]);
    let damages: [Damage<'_>; 6] = [
        ("two-depths", "error", LEDGER, &|repo, id| {
            let half = note(repo, id).lines().take(2).collect::<Vec<_>>().join("\n");
            let lines = format!("100644 {}\t{id}\n", blob(repo, half.as_bytes()));
            (LEDGER.to_owned(), edited(repo, LEDGER, &lines))
        }),
        ("two-depths", "error", EVIDENCE, &|repo, id| {
            let lines = format!("100644 {id}\t{}/{}/{}\n", &id[..2], &id[2..4], &id[4..]);
            (EVIDENCE.to_owned(), edited(repo, EVIDENCE, &lines))
        }),
        ("mode", "error", LEDGER, &|repo, id| {
            let blob = repo.git(&["notes", "--ref=incidents", "list", id]);
            (LEDGER.to_owned(), edited(repo, LEDGER, &format!("100755 {blob}\t{}\n", at(id))))
        }),
        ("mode", "error", EVIDENCE, &|repo, id| {
            (EVIDENCE.to_owned(), edited(repo, EVIDENCE, &format!("120000 {id}\t{}\n", at(id))))
        }),
        ("fan-out", "note", LEDGER, &|repo, id| {
            let blob = repo.git(&["notes", "--ref=incidents", "list", id]);
            let lines = format!("0 {}\t{}\n100644 {blob}\t{id}\n", "0".repeat(40), at(id));
            (LEDGER.to_owned(), edited(repo, LEDGER, &lines))
        }),
        ("evidence-key", "error", EVIDENCE, &|repo, id| {
            let other = blob(repo, b"something else\n");
            (EVIDENCE.to_owned(), edited(repo, EVIDENCE, &format!("100644 {other}\t{}\n", at(id))))
        }),
    ];
    for (check, severity, reference, damage) in damages {
        let (repo, id) = scene();
        let before = told(&repo);
        let (which, commit) = damage(&repo, &id);
        force(&repo, &which, &commit);
        let (status, view) = fsck(&repo, &[]);
        assert!(checks(&view, severity).contains(check), "{check} on {reference}: {view}");
        assert_eq!(status, i32::from(severity == "error"), "{check}: {view}");
        let found =
            view["problems"].as_array().expect("a list").iter().find(|p| p["check"] == check).expect("it");
        assert_eq!((found["ref"].as_str(), found["repairable"].as_bool()), (Some(reference), Some(true)));
        let (status, view) = fsck(&repo, &["--repair"]);
        assert_eq!(status, 0, "{check}: {view}");
        assert_ne!(view["repaired"], serde_json::json!([]), "{check}");
        let (status, view) = fsck(&repo, &[]);
        assert_eq!((status, &view["problems"]), (0, &serde_json::json!([])), "{check}: {view}");
        assert_eq!(told(&repo), before, "{check}");
        let listed = repo.git(&["ls-tree", "-r", reference]);
        for line in listed.lines() {
            let (start, path) = line.split_once('\t').expect("a path");
            assert!(
                start.starts_with("100644 blob") && path.len() == 41 && &path[2..3] == "/",
                "{check}: {line}"
            );
        }
        // What made `git notes merge` abort is gone.
        repo.git(&["notes", "--ref=copy", "merge", "-q", "-s", "cat_sort_uniq", reference]);
    }
}

#[test]
fn what_is_no_note_is_moved_aside_and_can_be_looked_at() {
    let (repo, id) = scene();
    let before = told(&repo);
    let readme = blob(&repo, b"read me\n");
    let lines = format!(
        "100644 {readme}\tREADME\n100644 {readme}\tdocs/deep/er\n100644 {readme}\t{}/odd\n",
        &id[..2]
    );
    let commit = edited(&repo, LEDGER, &lines);
    force(&repo, LEDGER, &commit);
    // A note that nothing of ours reads, one that is far too large, and evidence whose blob is not here.
    let key = blob(&repo, b"some key\n");
    set_note(&repo, &key, b"\x00\x01 nothing of ours \x1b[31m\n");
    let large = blob(&repo, &vec![b'x'; 40 << 20]);
    let path = format!("{}/{}", &large[..2], &large[2..]);
    let commit = edited(&repo, LEDGER, &format!("100644 {large}\t{path}\n"));
    force(&repo, LEDGER, &commit);
    let (status, view) = fsck(&repo, &[]);
    assert_eq!(status, 1);
    for check in ["path", "note", "note-size"] {
        assert!(checks(&view, "error").contains(check), "{check}: {view}");
    }
    let text = repo.typed("fsck").expect(1);
    assert!(!text.stdout.contains('\u{1b}'), "{}", text.stdout);
    let (status, view) = fsck(&repo, &["--repair"]);
    assert_eq!(status, 0, "{view}");
    let moved = view["quarantined"].as_array().expect("a list");
    assert_eq!(moved.len(), 5, "{view}");
    for one in moved {
        let reference = one["quarantine"].as_str().expect("a ref");
        assert!(reference.starts_with("refs/incident/quarantine/"), "{reference}");
        let words: Vec<&str> = one["look"].as_str().expect("a command").split(' ').skip(1).collect();
        let shown = repo.run("git", &words).expect(0);
        if one["path"] == "README" {
            assert_eq!(shown.stdout, "read me\n");
        }
        repo.git(&["show", &format!("{reference}:list")]);
    }
    let (status, view) = fsck(&repo, &[]);
    assert_eq!((status, &view["problems"]), (0, &serde_json::json!([])), "{view}");
    assert_eq!(told(&repo), before);
    assert!(!repo.git(&["ls-tree", "-r", "--name-only", LEDGER]).contains("README"));
    // Twice the same leaves no second quarantine.
    let refs = repo.git(&["for-each-ref", "refs/incident/quarantine"]);
    fsck(&repo, &["--repair"]);
    assert_eq!(repo.git(&["for-each-ref", "refs/incident/quarantine"]), refs);
}

#[test]
fn an_altered_event_is_an_error_and_stays_byte_for_byte() {
    let (repo, id) = scene();
    let altered = note(&repo, &id).replace("it does not", "it does");
    set_note(&repo, &id, altered.as_bytes());
    let (status, view) = fsck(&repo, &[]);
    assert_eq!(status, 1);
    let found =
        view["problems"].as_array().expect("a list").iter().find(|p| p["check"] == "event-id").expect("it");
    assert_eq!((found["line"].as_u64(), found["incident"].as_str()), (Some(4), Some(id.as_str())), "{view}");
    assert_eq!(found["repairable"], false);
    let (status, view) = fsck(&repo, &["--repair", &id]);
    assert_eq!(status, 1, "what is lost is said: {view}");
    assert_eq!(note(&repo, &id), altered);
}

#[test]
fn an_altered_event_whose_true_line_was_kept_comes_back() {
    let (repo, id) = scene();
    let before = told(&repo);
    let altered = note(&repo, &id).replace("it does not", "it does");
    let path = format!("{}/{}", &id[..2], &id[2..]);
    let commit = edited(&repo, LEDGER, &format!("100644 {}\t{path}\n", blob(&repo, altered.as_bytes())));
    repo.git(&["update-ref", LEDGER, &commit]);
    let (status, view) = fsck(&repo, &[]);
    assert_eq!(status, 1);
    assert!(checks(&view, "error").is_superset(&["event-id".to_owned(), "kept".to_owned()].into()), "{view}");
    let (status, view) = fsck(&repo, &["--repair"]);
    assert_eq!(status, 0, "{view}");
    assert_eq!(checks(&view, "warning"), BTreeSet::from(["line".to_owned()]), "{view}");
    let text = note(&repo, &id);
    assert!(text.contains("\"it does\"") && text.contains("\"it does not\""), "{text}");
    for (now, then) in told(&repo).iter().zip(&before) {
        assert_eq!(now["attempts"], then["attempts"]);
    }
}

#[test]
fn a_lost_first_event_comes_back_from_its_anchor() {
    let (repo, id) = scene();
    let before = told(&repo);
    let text = note(&repo, &id);
    let (_, rest) = text.split_once('\n').expect("lines");
    for left in [rest.to_owned(), text.replacen("row 17", "row 71", 1)] {
        set_note(&repo, &id, left.as_bytes());
        let (status, view) = fsck(&repo, &[]);
        assert!(status == 1 && checks(&view, "error").contains("anchor"), "{view}");
        let (status, view) = fsck(&repo, &["--repair"]);
        assert_eq!(status, 0, "{view}");
        let now = told(&repo);
        assert_eq!(
            now.iter().map(|v| &v["title"]).collect::<Vec<_>>(),
            before.iter().map(|v| &v["title"]).collect::<Vec<_>>()
        );
        assert_eq!(fsck(&repo, &[]).0, 0);
        for line in left.lines() {
            assert!(note(&repo, &id).contains(line), "a line was dropped");
        }
    }
}

#[test]
fn an_anchor_and_evidence_that_are_not_noted_are_noted_again() {
    let (repo, id) = scene();
    let stored = repo.view("evidence list")["evidence"][0]["oid"].as_str().expect("a blob").to_owned();
    for (key, check) in [(&id, "anchor"), (&stored, "evidence-key")] {
        drop_entry(&repo, EVIDENCE, key);
        let (status, view) = fsck(&repo, &[]);
        assert!(status == 1 && checks(&view, "error").contains(check), "{check}: {view}");
        let (status, view) = fsck(&repo, &["--repair"]);
        assert_eq!(status, 0, "{view}");
        assert_eq!(repo.git(&["notes", "--ref=incidents-evidence", "list", key]), *key);
        assert_eq!(fsck(&repo, &[]).1["problems"], serde_json::json!([]));
    }
}

#[test]
fn evidence_that_is_gone_or_is_not_what_was_recorded_is_an_error() {
    let (repo, id) = scene();
    let (heads, last) = end_of(&repo, &id);
    let other = blob(&repo, b"other bytes\n");
    let wrong = EvidenceAdded {
        oid: Oid::parse(&other),
        sha256: sha256_hex(b"what it was"),
        bytes: 11,
        name: "../../\u{1b}[2Jx".into(),
        kind: "log".into(),
        ..EvidenceAdded::default()
    };
    add_event(&repo, &id, later(last, 5), &heads, wrong);
    let (status, view) = fsck(&repo, &[]);
    assert_eq!(status, 1);
    for check in ["evidence-digest", "evidence-size", "evidence-key"] {
        assert!(checks(&view, "error").contains(check), "{check}: {view}");
    }
    assert!(!repo.typed("fsck").expect(1).stdout.contains('\u{1b}'));
    let stored = repo.view("evidence list")["evidence"][0]["oid"].as_str().expect("a blob").to_owned();
    let object = repo.path().join(".git/objects").join(&stored[..2]).join(&stored[2..]);
    std::fs::remove_file(object).expect("a loose object");
    let (status, view) = fsck(&repo, &[&id]);
    assert!(status == 1 && checks(&view, "error").contains("evidence-missing"), "{view}");
    let (status, view) = fsck(&repo, &["--repair"]);
    assert!(status == 1 && checks(&view, "error").contains("evidence-missing"), "it cannot be made: {view}");
}

#[test]
fn times_parents_and_strangers_are_told_by_weight() {
    let (repo, id) = scene();
    let (heads, last) = end_of(&repo, &id);
    let idea = |text: &str| NextAdded { text: text.into() };
    add_event(&repo, &id, later(last, -60_000), &heads, idea("before its parent"));
    let (status, view) = fsck(&repo, &[]);
    assert_eq!((status, checks(&view, "warning")), (0, BTreeSet::from(["time".to_owned()])), "{view}");
    add_event(&repo, &id, later(last, 60_000), &[EventId::from_bytes([7; 32])], idea("of an unknown parent"));
    let (status, view) = fsck(&repo, &[]);
    assert!(status == 1 && checks(&view, "error").contains("parent"), "{view}");

    // Of another version, of an unknown type, and damaged lines: kept, told, and no errors.
    let (repo, id) = scene();
    let head = format!(
        "{{\"at\":\"2026-01-02T03:04:05.000Z\",\"by_sha256\":\"{0}\",\"data_sha256\":\"{0}\",\"parents\":[],\"type\":\"next.thought\",\"v\":1}}",
        sha256_hex(b"{}")
    );
    let unknown = format!(
        "{{\"at\":\"2026-01-02T03:04:05.000Z\",\"by\":{{}},\"data\":{{}},\"id\":\"{}\",\"parents\":[],\"type\":\"next.thought\",\"v\":1}}",
        sha256_hex(head.as_bytes())
    );
    assert!(matches!(Line::parse(unknown.as_bytes()), Line::Event(e) if e.body == Body::UnknownType));
    let text = format!("{}{unknown}\n{{\"v\":2}}\nno json \u{1b}[31m\n", note(&repo, &id));
    set_note(&repo, &id, text.as_bytes());
    let (status, view) = fsck(&repo, &[]);
    assert_eq!(status, 0, "{view}");
    assert_eq!(checks(&view, "note"), BTreeSet::from(["type".to_owned(), "version".to_owned()]), "{view}");
    assert_eq!(checks(&view, "warning"), BTreeSet::from(["line".to_owned()]), "{view}");
    fsck(&repo, &["--repair"]);
    assert_eq!(note(&repo, &id), text, "byte for byte");
}

#[test]
fn lines_on_commits_are_made_anew_and_own_notes_stay() {
    let (repo, _) = scene();
    let said = repo.git(&["notes", "--ref=incident-lines", "show", "HEAD"]);
    repo.git(&["notes", "--ref=incident-lines", "append", "-m", "my own word"]);
    assert_eq!(fsck(&repo, &[]).1["problems"], serde_json::json!([]), "somebody's own line is no problem");
    let wrong = format!("incident {} a link that nobody made: fix", "0".repeat(12));
    repo.git(&["notes", "--ref=incident-lines", "append", "-m", &wrong]);
    let (status, view) = fsck(&repo, &[]);
    assert!(status == 1 && checks(&view, "error").contains("lines"), "{view}");
    assert_eq!(fsck(&repo, &["--repair"]).0, 0);
    let now = repo.git(&["notes", "--ref=incident-lines", "show", "HEAD"]);
    assert_eq!(now, format!("{said}\nmy own word"));
    repo.git(&["update-ref", "-d", LINES]);
    let (status, view) = fsck(&repo, &[]);
    assert_eq!((status, checks(&view, "warning")), (0, BTreeSet::from(["lines".to_owned()])), "{view}");
    fsck(&repo, &["--repair"]);
    assert_eq!(repo.git(&["notes", "--ref=incident-lines", "show", "HEAD"]), said);
    assert_eq!(fsck(&repo, &[]).1["problems"], serde_json::json!([]));
}

#[test]
fn links_to_commits_that_are_not_here_and_to_other_trees_are_told() {
    let (repo, _) = scene();
    repo.write("b.txt", "two\n");
    let linked = repo.commit("second");
    repo.typed("link HEAD --as failed").expect(0);
    repo.git(&["reset", "-q", "--hard", "HEAD^"]);
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["prune", "--expire=now"]);
    assert_ne!(repo.try_git(&["cat-file", "-e", &linked]).status, 0, "the commit is still here");
    let (status, view) = fsck(&repo, &[]);
    assert_eq!((status, checks(&view, "warning")), (0, BTreeSet::from(["link".to_owned()])), "{view}");
}

#[test]
fn a_shallow_clone_cannot_tell() {
    let (repo, _) = scene();
    repo.with_remote();
    repo.write("b.txt", "two\n");
    repo.commit("second");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.push_notes();
    let url = format!("file://{}", repo.root().join("origin.git").display());
    repo.git(&["clone", "-q", "--depth=1", &url, "../shallow"]);
    let clone = repo.at(repo.root().join("shallow"));
    clone.git(&["fetch", "-q", "--depth=1", "origin", "+refs/notes/incidents*:refs/notes/incidents*"]);
    let ran = clone.incident(&["--json", "fsck"]).expect(0);
    let view = ran.json();
    assert!(checks(&view, "note").contains("link"), "{view}");
    assert!(ran.stdout.contains("cannot tell"), "{view}");
}

#[test]
fn the_kept_refs_bring_back_a_ref_that_is_gone_cut_short_or_unreadable() {
    type Accident<'a> = (&'a str, &'a str, &'a dyn Fn(&Repo));
    let accidents: [Accident<'_>; 5] = [
        ("kept", "deleted", &|repo| {
            repo.git(&["update-ref", "-d", LEDGER]);
        }),
        ("kept", "set back", &|repo| {
            repo.git(&["update-ref", LEDGER, &format!("{LEDGER}~2")]);
        }),
        ("ref", "an empty file, as a power cut leaves it", &|repo| {
            std::fs::write(repo.path().join(".git").join(LEDGER), "").expect("written");
        }),
        ("ref", "a commit that is not here", &|repo| {
            std::fs::write(repo.path().join(".git").join(LEDGER), format!("{}\n", "1".repeat(40)))
                .expect("written");
        }),
        ("kept", "the kept ref gone, with the notes ref", &|repo| {
            repo.git(&["update-ref", "-d", LEDGER]);
            repo.git(&["update-ref", "-d", "refs/incident/kept/ledger"]);
        }),
    ];
    for (check, what, accident) in accidents {
        let (repo, _) = scene();
        let before = told(&repo);
        accident(&repo);
        let (status, view) = fsck(&repo, &[]);
        assert!(status == 1 && checks(&view, "error").contains(check), "{what}: {view}");
        let (status, view) = fsck(&repo, &["--repair"]);
        assert_eq!(status, 0, "{what}: {view}");
        assert_ne!(view["repaired"], serde_json::json!([]), "{what}");
        assert_eq!(told(&repo), before, "{what}");
        assert_eq!(fsck(&repo, &[]).1["problems"], serde_json::json!([]), "{what}");
    }
}

#[test]
fn the_file_that_names_the_kept_commit_is_written_again() {
    let (repo, _) = scene();
    let file = repo.path().join(".git/incident/kept-ledger");
    for text in ["nonsense".to_owned(), "1".repeat(40)] {
        std::fs::write(&file, text).expect("written");
        let (status, view) = fsck(&repo, &[]);
        assert_eq!(
            (status, checks(&view, "warning")),
            (0, BTreeSet::from(["remembered".to_owned()])),
            "{view}"
        );
        fsck(&repo, &["--repair"]);
        assert_eq!(fsck(&repo, &[]).1["problems"], serde_json::json!([]));
    }
}

/// What a purge leaves is whole: erased members, a tombstone, an anchor that nothing names any more.
#[test]
fn what_was_erased_is_no_damage() {
    let (repo, id) = scene();
    let stored = repo.view("evidence list")["evidence"][0]["oid"].as_str().expect("a blob").to_owned();
    let (heads, last) = end_of(&repo, &id);
    let tombstone = git_incident::event::EvidenceErased {
        oid: Oid::parse(&stored).expect("a blob"),
        reason: "a token".into(),
    };
    add_event(&repo, &id, later(last, 5), &heads, tombstone);
    let (status, view) = fsck(&repo, &[]);
    assert_eq!((status, checks(&view, "warning")), (0, BTreeSet::from(["erased".to_owned()])), "{view}");
    drop_entry(&repo, EVIDENCE, &stored);
    let text = note(&repo, &id);
    let first = text.lines().next().expect("a line");
    let member = |name: &str, end: &str| {
        let start = first.find(&format!(",\"{name}\":")).expect("it") + name.len() + 4;
        let end = start + first[start..].find(end).expect("its end");
        first[start..end].to_owned()
    };
    let data = member("data", ",\"id\":");
    let by = member("by", ",\"data\":");
    let erased = first
        .replace(&data, &format!("\"{}\"", sha256_hex(data.as_bytes())))
        .replace(&by, &format!("\"{}\"", sha256_hex(by.as_bytes())));
    set_note(&repo, &id, text.replace(first, &erased).as_bytes());
    drop_entry(&repo, EVIDENCE, &id);
    for object in [&stored, &id] {
        std::fs::remove_file(repo.path().join(".git/objects").join(&object[..2]).join(&object[2..]))
            .expect("loose");
    }
    // The line on the commit still says what was erased.
    let (_, view) = fsck(&repo, &[]);
    assert_eq!(checks(&view, "error"), BTreeSet::from(["lines".to_owned()]), "{view}");
    fsck(&repo, &["--repair"]);
    let (status, view) = fsck(&repo, &[]);
    let nothing = BTreeSet::new();
    assert_eq!(
        (status, checks(&view, "warning"), checks(&view, "error")),
        (0, nothing.clone(), nothing),
        "{view}"
    );
    assert_eq!(view["checked"]["incidents"], 2);
}

#[test]
fn segments_are_chained() {
    let (repo, id) = scene();
    let text = "x".repeat(30_000);
    for _ in 0..11 {
        repo.note(&text);
    }
    let anchors: Vec<String> = note(&repo, &id)
        .lines()
        .filter(|l| l.contains("\"ledger.continued\""))
        .map(|l| l.split("\"segment\":\"").nth(1).expect("an anchor")[..40].to_owned())
        .collect();
    assert_eq!(anchors.len(), 1, "one segment was wanted");
    assert_eq!(fsck(&repo, &[]).1["problems"], serde_json::json!([]));
    assert_eq!(fsck(&repo, &[&id]).1["problems"], serde_json::json!([]));
    drop_entry(&repo, EVIDENCE, &anchors[0]);
    let (_, view) = fsck(&repo, &[&id]);
    assert!(checks(&view, "error").contains("anchor"), "{view}");
    assert_eq!(fsck(&repo, &["--repair"]).0, 0);
    drop_entry(&repo, LEDGER, &anchors[0]);
    for arguments in [vec![], vec![id.as_str()]] {
        let (status, view) = fsck(&repo, &arguments);
        assert!(status == 1 && checks(&view, "error").contains("segment"), "{view}");
    }
}

#[test]
fn records_stand_under_their_descriptors() {
    let (repo, bare) = common::gates::with_gates("");
    repo.write(".git-incident.toml", &common::gates::counted(&repo.root()));
    repo.write("good", "");
    repo.commit("Good");
    assert!(bare.exists());
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(0);
    let (status, view) = fsck(&repo, &[]);
    assert_eq!(
        (status, &view["problems"], &view["checked"]["records"]),
        (0, &serde_json::json!([]), &1.into()),
        "{view}"
    );
    let listed = repo.git(&["notes", "--ref=incidents", "list"]);
    let (_, key) = listed.split_once(' ').expect("one note");
    let key = key.to_owned();
    let text = note(&repo, &key);
    drop_entry(&repo, EVIDENCE, &key);
    let (status, view) = fsck(&repo, &[]);
    assert!(status == 1 && checks(&view, "error").contains("descriptor"), "{view}");
    assert_eq!(fsck(&repo, &["--repair"]).0, 0);
    // The descriptor's line is lost, and comes back from the object.
    let (first, rest) = text.split_once('\n').expect("lines");
    set_note(&repo, &key, rest.as_bytes());
    let (status, view) = fsck(&repo, &[]);
    assert!(status == 1 && checks(&view, "error").contains("descriptor"), "{view}");
    assert_eq!(fsck(&repo, &["--repair"]).0, 0);
    assert!(note(&repo, &key).starts_with(first));
    // Under a key that is not its own it says nothing to anybody.
    let other = blob(&repo, b"another key\n");
    set_note(&repo, &other, text.as_bytes());
    let (status, view) = fsck(&repo, &[]);
    assert!(status == 1 && checks(&view, "error").contains("descriptor"), "{view}");
    let (status, view) = fsck(&repo, &["--repair"]);
    assert_eq!((status, view["quarantined"].as_array().map(Vec::len)), (0, Some(1)), "{view}");
    assert_eq!(fsck(&repo, &[]).1["problems"], serde_json::json!([]));
}

#[test]
fn a_repository_that_cannot_be_written_is_checked_all_the_same() {
    let (repo, _) = scene();
    let git_dir = repo.path().join(".git").display().to_string();
    repo.run("chmod", &["-R", "a-w", &git_dir]).expect(0);
    let (status, view) = fsck(&repo, &[]);
    repo.run("chmod", &["-R", "u+w", &git_dir]).expect(0);
    assert_eq!((status, &view["problems"]), (0, &serde_json::json!([])), "{view}");
}
