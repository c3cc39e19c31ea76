//! What stands in a ledger survives: what no version knows, what is damaged, what has grown large.

mod common;

use std::io::Write;
use std::process::Stdio;

use common::{LEDGER, Repo, notes_in};

/// Puts bytes into an incident's note, as a hand or another program would.
fn set_note(repo: &Repo, id: &str, bytes: &[u8]) {
    let mut hash = repo.command("git");
    hash.args(["hash-object", "-w", "--stdin"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut hash = hash.spawn().expect("git hash-object");
    hash.stdin.take().expect("its stdin").write_all(bytes).expect("the bytes");
    let blob = common::finish(hash.wait_with_output()).expect(0).line().to_owned();
    repo.git(&["notes", "--ref=incidents", "add", "-f", "-C", &blob, id]);
    assert_eq!(note(repo, id), bytes, "git keeps a note's bytes");
}

fn note(repo: &Repo, id: &str) -> Vec<u8> {
    let blob = repo.git(&["notes", "--ref=incidents", "list", id]);
    repo.command("git").args(["cat-file", "blob", &blob]).output().expect("git cat-file").stdout
}

/// A line of a type that nobody knows, sealed as `docs/STORAGE.md` says, by the reader that stands in the tests.
fn line_of_unknown_type(repo: &Repo) -> Vec<u8> {
    let script = r#"
import hashlib
by = '{"agent":"","email":"ada@example.org","name":"Ada","salt":"a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"}'
data = '{"salt":"d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1","what":"a type of tomorrow"}'
digest = lambda text: hashlib.sha256(text.encode()).hexdigest()
at = "2026-03-01T12:30:00.000Z"
head = '{"at":"%s","by_sha256":"%s","data_sha256":"%s","parents":[],"type":"thing.happened","v":1}' % (at, digest(by), digest(data))
print('{"at":"%s","by":%s,"data":%s,"id":"%s","parents":[],"type":"thing.happened","v":1}' % (at, by, data, digest(head)))
"#;
    repo.run("python3", &["-c", script]).expect(0).stdout.into_bytes()
}

#[test]
fn what_is_not_understood_survives_a_write_byte_for_byte_and_is_named() {
    let repo = Repo::new();
    let id = repo.open("foreign lines");
    repo.note("before");
    let mut bytes = note(&repo, &id);
    bytes.extend(line_of_unknown_type(&repo));
    bytes.extend(b"{\"v\":2,\"what\":\"a version of tomorrow\"}\n");
    bytes.extend(b"\n  not \x1b[31mJSON at all \xff\xfe\n");
    bytes.extend(b"{\"at\":\"2026-03-01T12:30:00.000Z\",\"cut\":\"in the mid\n");
    set_note(&repo, &id, &bytes);
    let view = repo.incident_json(&["show", &id]);
    assert_eq!(notes_in(&view), ["before"], "everything else is shown");
    assert_eq!(view["damaged"].as_array().expect("damaged lines").len(), 2, "{}", view["damaged"]);
    assert_eq!(view["unknown"].as_array().expect("unknown lines").len(), 2, "{}", view["unknown"]);

    repo.note("after");
    let written = note(&repo, &id);
    assert!(written.starts_with(&bytes), "what stood there changed");
    let added = String::from_utf8_lossy(&written[bytes.len()..]).into_owned();
    assert_eq!(added.lines().count(), 1, "{added}");
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), ["after", "before"]);

    let text = repo.incident(&["show", &id]).expect(0).says("damaged line").says("kept, not understood");
    assert!(!text.stdout.contains('\u{1b}'), "a damaged line reaches the terminal with its escapes");
    repo.typed("list").expect(0).says("2 damaged lines");
    repo.incident(&["status", &id]).expect(0).says("damaged line");
}

#[test]
fn a_damaged_event_is_named_with_what_is_wrong_and_the_rest_is_shown() {
    let repo = Repo::new();
    let id = repo.open("a flipped bit");
    repo.note("first note");
    repo.note("second note");
    repo.note("third note");
    let text = String::from_utf8(note(&repo, &id)).expect("a ledger");
    let flipped = text.replace("second note", "sEcond note");
    // The guard would bring the sound line back beside the damaged one; here the disk itself is to blame.
    repo.git(&["update-ref", "-d", "refs/incident/kept/ledger"]);
    set_note(&repo, &id, flipped.as_bytes());
    std::fs::remove_dir_all(repo.path().join(".git/incident")).expect("disposable state");
    let view = repo.incident_json(&["show", &id]);
    let damaged = view["damaged"].as_array().expect("damaged lines");
    assert_eq!(damaged.len(), 1);
    assert!(!damaged[0].as_str().expect("a text").is_empty());
    let there = notes_in(&view);
    assert!(
        there.contains(&"first note".to_owned()) && there.contains(&"third note".to_owned()),
        "{there:?}"
    );
}

#[test]
fn a_damaged_anchor_says_so_and_hides_no_other_incident() {
    let repo = Repo::new();
    let broken = repo.open("broken");
    let sound = repo.open("sound");
    repo.git(&["update-ref", "-d", "refs/incident/kept/ledger"]);
    set_note(&repo, &broken, b"{\"type\":\"incident.opened\"}\n");
    std::fs::remove_dir_all(repo.path().join(".git/incident")).expect("disposable state");
    let rows = repo.view("list");
    assert_eq!(rows["incidents"].as_array().expect("rows").len(), 1);
    assert_eq!(rows["incidents"][0]["incident"], sound.as_str());
    repo.incident(&["show", &broken]).refuses(1).says("no opening event");
}

/// Union of two versions by hand, lines doubled and in any order: the same incident.
#[test]
fn the_order_of_lines_and_doubled_lines_mean_nothing() {
    let repo = Repo::new();
    let id = repo.open("shuffled");
    repo.typed("attempt start -H why").expect(0);
    repo.note("on the attempt");
    repo.typed("attempt end --failed -m no").expect(0);
    let before = repo.incident_json(&["show", &id]);
    let text = String::from_utf8(note(&repo, &id)).expect("a ledger");
    let mut lines: Vec<&str> = text.lines().rev().collect();
    lines.extend(text.lines());
    set_note(&repo, &id, format!("{}\n\n", lines.join("\n")).as_bytes());
    assert_eq!(repo.incident_json(&["show", &id]), before);
}

#[test]
fn a_ledger_past_its_limit_continues_in_a_segment_and_reads_whole() {
    let repo = Repo::new();
    repo.commit("first");
    repo.with_remote();
    let id = repo.open("long");
    let filler = "x".repeat(20_000);
    for n in 0..30 {
        repo.note(&format!("{n:02} {filler}"));
    }
    let listed = repo.git(&["notes", "--ref=incidents", "list"]);
    assert!(listed.lines().count() >= 3, "no segments: {listed}");
    for line in listed.lines() {
        let (blob, key) = line.split_once(' ').expect("blob and key");
        let size: usize = repo.git(&["cat-file", "-s", blob]).parse().expect("a size");
        assert!(size < 256 * 1024 + 25_000, "note {key} has {size} bytes");
        assert_eq!(repo.git(&["cat-file", "-t", key]), "blob", "a segment's anchor is an object");
    }
    let view = repo.incident_json(&["show", &id]);
    let there = notes_in(&view);
    assert_eq!(there.len(), 30);
    assert!(there.iter().enumerate().all(|(n, text)| text.starts_with(&format!("{n:02} "))));
    assert_eq!(repo.view("list")["incidents"].as_array().expect("rows").len(), 1, "a segment is no incident");
    // It travels and is collected like the rest.
    repo.push_notes();
    let clone = repo.clone_of_remote("clone");
    clone.merge_notes();
    assert_eq!(clone.incident_json(&["show", &id]), view);
    repo.git(&["gc", "-q", "--prune=now"]);
    repo.git(&["notes", "--ref=incidents", "prune"]);
    assert_eq!(repo.incident_json(&["show", &id]), view);
    repo.git(&["update-ref", "-d", LEDGER]);
    repo.incident(&["show", &id]).expect(0).says("mended refs/notes/incidents:");
    assert_eq!(repo.incident_json(&["show", &id]), view);
}

/// git writes its own fan-out into a notes ref that it touches; every depth is read, and a key stands at one depth.
#[test]
fn notes_that_git_fanned_out_anew_are_read_and_written() {
    let repo = Repo::new();
    repo.commit("first");
    let id = repo.open("fans");
    repo.note("at our depth");
    repo.git(&["notes", "--ref=incidents", "add", "-m", "anything", "HEAD"]);
    let paths = repo.git(&["ls-tree", "-r", "--name-only", LEDGER]);
    assert!(paths.lines().all(|p| !p.contains('/')), "git did not fan out anew: {paths}");
    repo.note("after git");
    let paths = repo.git(&["ls-tree", "-r", "--name-only", LEDGER]);
    let keys: Vec<String> = paths.lines().map(|p| p.replace('/', "")).filter(|k| *k == id).collect();
    assert_eq!(keys.len(), 1, "a key at two depths: {paths}");
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), ["after git", "at our depth"]);
    assert_eq!(
        repo.git(&["notes", "--ref=incidents", "show", "HEAD"]),
        "anything",
        "a stranger's note stays"
    );
}

#[test]
fn state_that_may_be_deleted_may_be_deleted() {
    let repo = Repo::new();
    let id = repo.open("state");
    repo.note("kept");
    let before = repo.incident_json(&["show", &id]);
    std::fs::remove_dir_all(repo.path().join(".git/incident")).expect("disposable state");
    assert_eq!(repo.incident_json(&["show", &id]), before);
    repo.typed("show").refuses(1).says("no incident is active here");
    repo.incident(&["use", &id[..7]]).expect(0);
    repo.note("more");
}

fn with_evidence() -> (Repo, String) {
    let repo = Repo::new();
    let id = repo.open("row 17 is NaN");
    repo.write("a.log", "nan\n");
    repo.typed("evidence add a.log").expect(0);
    (repo, id)
}

#[test]
fn git_notes_reads_what_the_program_wrote() {
    let (repo, id) = with_evidence();
    assert!(repo.git(&["notes", "--ref=incidents", "list"]).ends_with(&id));
    let ledger = repo.git(&["notes", "--ref=incidents", "show", &id]);
    assert_eq!(
        ledger.lines().next(),
        Some(repo.git(&["cat-file", "blob", &id]).as_str()),
        "the anchor comes first"
    );
    assert_eq!(repo.incident(&["export", &id, "--format", "ledger"]).expect(0).line(), ledger);
    for line in repo.git(&["notes", "--ref=incidents-evidence", "list"]).lines() {
        let (blob, key) = line.split_once(' ').expect("blob and key");
        assert_eq!(blob, key, "evidence stands under its own name");
    }
}

#[test]
fn lines_on_commits_show_in_git_log() {
    let (repo, id) = with_evidence();
    let commit = repo.commit("fix the scale");
    repo.incident(&["link", &commit, "--as", "fix"]).expect(0);
    let listed = repo.git(&["notes", "--ref=incident-lines", "list"]);
    assert!(listed.ends_with(&commit) && listed.lines().count() == 1, "{listed}");
    let log = repo.git(&["log", "-1", "--notes=incident-lines", "--format=%H%n%N"]);
    assert!(log.contains(&format!("incident {} row 17 is NaN: fix", &id[..12])), "{log}");
    assert_eq!(
        log.lines().nth(1),
        repo.git(&["notes", "--ref=incident-lines", "show", &commit]).lines().next()
    );
    // The lines are a projection: without them nothing is lost, and unlinking takes them away.
    repo.incident(&["link", &commit, "--remove"]).expect(0);
    assert_eq!(repo.git(&["notes", "--ref=incident-lines", "list"]), "");
}

#[test]
fn a_damaged_object_is_named_and_the_rest_still_works() {
    let repo = Repo::new();
    let broken = repo.open("broken");
    let sound = repo.open("sound");
    let blob = repo.git(&["notes", "--ref=incidents", "list", &broken]);
    let file = repo.path().join(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]));
    std::fs::remove_file(file).expect("an object");
    repo.incident(&["show", &broken]).refuses(1).says(&blob[..7]);
    repo.incident(&["show", &sound]).expect(0).says("sound");
    repo.incident(&["attempt", "note", "x", "-i", &sound]).expect(0);
}

#[test]
fn active_state_that_is_damaged_is_as_if_there_were_none() {
    let repo = Repo::new();
    repo.open("state");
    for bytes in [&b"{\"incident\":\"zz\"}"[..], b"\xff\x00", b"[]", b""] {
        std::fs::write(repo.path().join(".git/incident/active"), bytes).expect("a file");
        repo.typed("show").refuses(1).says("no incident is active here");
        repo.typed("status").expect(0);
    }
}

#[test]
fn growth_is_handed_to_git_unless_it_is_switched_off() {
    // One pack, or two: what a writer had written and not yet named goes into a pack of its own.
    let packed = |repo: &Repo| !repo.git(&["count-objects", "-v"]).lines().any(|l| l == "packs: 0");
    let write = |repo: &Repo| {
        repo.open("it grows");
        for n in 0..250 {
            repo.incident(&["attempt", "note", &format!("note {n}")]).expect(0);
        }
    };
    let off = Repo::new();
    off.git(&["config", "gc.auto", "0"]);
    let on = Repo::new();
    on.git(&["config", "gc.auto", "200"]);
    write(&off);
    write(&on);
    // It runs beside us: it may need a moment, and it must come.
    let came = (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        packed(&on)
    });
    assert!(came, "{}", on.git(&["count-objects", "-v"]));
    assert!(!packed(&off), "nobody asked for it there");
    assert_eq!(on.incident_json(&["show"])["notes"].as_array().unwrap().len(), 250);
}
