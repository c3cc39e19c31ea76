//! Ledgers of other versions of this program, recorded in `tests/fixtures/`: read to the recorded view, written on, and
//! kept byte for byte.

mod common;

use common::stranger::{Bytes, fanned, plant};
use common::{EVIDENCE, LEDGER, Repo, notes_in};
use serde_json::Value;

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/v1/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).expect(&path)
}

/// A repository that holds this ledger; its incident.
fn holding(ledger: &[u8]) -> (Repo, String) {
    let repo = Repo::new();
    repo.commit("first");
    let first = ledger.split_inclusive(|b| *b == b'\n').next().expect("a line").to_vec();
    let key = git_incident::git::Repo::blob_name(&first).expect("hashed").to_string();
    plant(&repo, EVIDENCE, vec![(fanned(&key), "100644", Bytes::Whole(first))]);
    plant(&repo, LEDGER, vec![(fanned(&key), "100644", Bytes::Whole(ledger.to_vec()))]);
    (repo, key)
}

/// Everything that was recorded is shown the same; more may be shown.
#[track_caller]
fn shows(now: &Value, recorded: &Value, place: &str) {
    match (now, recorded) {
        (Value::Object(now), Value::Object(recorded)) => {
            for (name, value) in recorded {
                let place = format!("{place}.{name}");
                shows(now.get(name).unwrap_or_else(|| panic!("{place} is gone")), value, &place);
            }
        }
        (Value::Array(now), Value::Array(recorded)) => {
            assert_eq!(now.len(), recorded.len(), "{place}: {now:?}");
            for (i, (now, recorded)) in now.iter().zip(recorded).enumerate() {
                shows(now, recorded, &format!("{place}[{i}]"));
            }
        }
        // Of lines that are not understood the number is recorded, not the words.
        (Value::Array(now), Value::Number(count)) => {
            assert_eq!(Some(now.len() as u64), count.as_u64(), "{place}");
        }
        _ => assert_eq!(now, recorded, "{place}"),
    }
}

/// The note as it stands, wherever git has put it.
fn note(repo: &Repo, id: &str) -> Vec<u8> {
    let blob = repo.git(&["notes", "--ref=incidents", "list", id]);
    repo.command("git").args(["cat-file", "blob", &blob]).output().expect("git").stdout
}

fn both() -> Vec<u8> {
    [fixture("ledger.jsonl"), fixture("future.jsonl")].concat()
}

#[test]
fn recorded_ledgers_show_what_was_recorded() {
    for (ledger, view) in [(fixture("ledger.jsonl"), "ledger.view.json"), (both(), "future.view.json")] {
        let recorded: Value = serde_json::from_slice(&fixture(view)).expect("JSON");
        let (repo, id) = holding(&ledger);
        shows(&repo.incident_json(&["show", &id]), &recorded, view);
        let listed = repo.view("list");
        assert_eq!(listed["incidents"][0]["title"], recorded["title"]);
        let exported =
            repo.command("git-incident").args(["export", &id, "-f", "ledger"]).output().expect("ours");
        assert_eq!(exported.stdout, ledger, "to the byte");
        for line in [
            "status ID",
            "next -i ID",
            "difference -i ID",
            "cause -i ID",
            "evidence list -i ID",
            "repro show -i ID",
        ] {
            repo.typed(&line.replace("ID", &id)).expect(0);
        }
    }
}

#[test]
fn writing_on_keeps_every_line_byte_for_byte() {
    let ledger = both();
    let (repo, id) = holding(&ledger);
    repo.incident(&["use", &id]).expect(0);
    repo.write("new.log", "evidence\n");
    for line in [
        "attempt start -H 'a new idea'",
        "attempt note seen",
        "attempt end --failed -m no",
        "next add 'another one'",
        "evidence add new.log",
        "link HEAD --as related",
        "try -- true",
        "close --wont-fix -m enough",
    ] {
        repo.typed(line).expect(0);
    }
    let after = note(&repo, &id);
    assert!(after.starts_with(&ledger), "what stood there stands there");
    // Whoever writes after them knows of them: the newest event that counts is a parent of the first new one.
    let new: Value = after[ledger.len()..]
        .split(|b| *b == b'\n')
        .next()
        .map(serde_json::from_slice)
        .expect("a line")
        .expect("JSON");
    let future = fixture("future.jsonl");
    let last = future.split(|b| *b == b'\n').rfind(|l| !l.is_empty()).expect("a line");
    let last: Value = serde_json::from_slice(last).expect("JSON");
    assert_eq!(new["parents"], serde_json::json!([last["id"]]));
    assert!(new["at"].as_str() > last["at"].as_str(), "and is later, whatever our clock says");
    // The old view still holds in all that nobody touched.
    let recorded: Value = serde_json::from_slice(&fixture("future.view.json")).expect("JSON");
    let view = repo.incident_json(&["show", &id]);
    for member in ["title", "differences", "unknown", "damaged", "files"] {
        shows(&view[member], &recorded[member], member);
    }
    for (now, then) in view["attempts"]
        .as_array()
        .expect("attempts")
        .iter()
        .zip(recorded["attempts"].as_array().expect("attempts"))
    {
        shows(now, then, "attempts");
    }
}

/// An older program, a newer one, plain git: whoever unites, no line is lost, and both sides see the same.
#[test]
fn what_plain_git_unites_with_a_recorded_ledger_is_whole() {
    let ledger = fixture("ledger.jsonl");
    let (repo, id) = holding(&ledger);
    repo.with_remote();
    repo.git(&["push", "-q", "origin", "main"]);
    repo.push_notes();
    let clone = repo.clone_of_remote("clone");
    clone.merge_notes();
    // The newer program, in the clone, appends what this one does not know.
    let note_file = repo.root().join("note");
    std::fs::write(&note_file, both()).expect("a file");
    clone.git(&["notes", "--ref=incidents", "add", "-f", "-F", &note_file.display().to_string(), &id]);
    repo.incident(&["attempt", "note", "written by this one", "-i", &id]).expect(0);
    clone.git(&["push", "-q", "origin", LEDGER]);
    repo.here().fetch_notes();
    repo.here().merge_notes();
    let view = repo.incident_json(&["show", &id]);
    assert!(notes_in(&view).contains(&"written by this one".to_owned()));
    let there = note(&repo, &id);
    let lines: Vec<&[u8]> = there.split(|b| *b == b'\n').collect();
    let text = both();
    for line in text.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        // `git notes` strips blanks at the end of lines; no line of ours has any.
        let line = line.trim_ascii_end();
        assert!(lines.contains(&line), "{} is lost", String::from_utf8_lossy(line));
    }
    let recorded: Value = serde_json::from_slice(&fixture("future.view.json")).expect("JSON");
    assert_eq!(view["unknown"].as_array().map(Vec::len), recorded["unknown"].as_u64().map(|n| n as usize));
    repo.push_notes();
    clone.fetch_notes();
    clone.merge_notes();
    assert_eq!(clone.incident_json(&["show", &id]), view);
}
