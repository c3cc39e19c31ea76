//! `docs/STORAGE.md` against the library, and both against the second reader in `tests/reader/`.
//!
//! The reader is Python 3 (standard library only), so that one misreading of the specification cannot hide in
//! both programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use git_incident::event::line::{Body, seal};
use git_incident::event::{
    AttemptEnded, AttemptNoted, AttemptStarted, CauseConfirmed, CauseProposed, CauseRejected, CommitLinked,
    CommitRewritten, CommitUnlinked, Data, DifferenceSet, Event, EvidenceAdded, EvidenceErased,
    IncidentClosed, IncidentEdited, IncidentOpened, IncidentReopened, Line, NextAdded, NextDone, NextDropped,
    ReproRan, ReproSet,
};
use git_incident::fold::Ledger;
use git_incident::git::Repo;
use git_incident::model::canonical::{hex, sha256_hex};
use git_incident::model::incident::{Author, FileRef, Incident};
use git_incident::model::outcome::{Bug, Hypothesis, Outcome};
use git_incident::model::status::{FailsWhen, Role, Status};
use git_incident::model::{EventId, Oid, Timestamp};
use git_incident::store::ledger;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn specification() -> String {
    std::fs::read_to_string(root().join("docs/STORAGE.md")).expect("docs/STORAGE.md is there")
}

/// The fenced block after `<!-- example: NAME -->`.
fn example(name: &str) -> String {
    let text = specification();
    let marker = format!("<!-- example: {name} -->\n```");
    let (_, after) = text.split_once(&marker).expect("the example stands there");
    let (_, block) = after.split_once('\n').expect("the fence ends its line");
    block.split("```\n").next().unwrap_or_default().to_owned()
}

// ---- the second reader ----

fn python(arguments: &[&str], input: Option<&Path>) -> String {
    let stdin = input.map_or_else(Stdio::null, |p| {
        Stdio::from(std::fs::File::open(p).expect("the requests were written"))
    });
    let output = Command::new("python3")
        .arg("-B")
        .args(arguments)
        .stdin(stdin)
        .output()
        .expect("these tests need the program python3 (3.8 or newer): install it and put it on PATH");
    assert!(
        output.status.success(),
        "the second reader failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

fn reader() -> String {
    root().join("tests/reader/reader.py").to_string_lossy().into_owned()
}

/// What the second reader makes of some ledgers, in one process.
fn second_reader(ledgers: &[(Vec<u8>, Oid)]) -> Vec<Value> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("requests");
    let requests: String = ledgers
        .iter()
        .map(|(bytes, anchor)| {
            json!({"ledger_hex": hex(bytes), "anchor": anchor.as_str()}).to_string() + "\n"
        })
        .collect();
    std::fs::write(&path, requests).expect("written");
    let answers: Vec<Value> = python(&[&reader(), "--batch"], Some(&path))
        .lines()
        .map(|l| serde_json::from_str(l).expect("a line of JSON"))
        .collect();
    assert_eq!(answers.len(), ledgers.len());
    answers
}

// ---- the same view from the library ----

fn view(ledger: &Ledger, anchor: &Oid) -> Value {
    view_of(
        ledger,
        &ledger.incident(anchor, &|raw| ledger::is_anchor(anchor, raw)),
    )
}

fn view_of(ledger: &Ledger, incident: &Incident) -> Value {
    let attempts: Vec<Value> = incident
        .attempts
        .iter()
        .map(|a| {
            let id = a.started.event;
            let commits = incident.links.iter().filter(|l| !l.unlinked && l.attempt == Some(id));
            let evidence = incident.evidence.iter().filter(|e| e.attempt == Some(id));
            json!({
                "id": id, "ordinal": a.ordinal, "title": a.title, "hypothesis": a.hypothesis,
                "disproof": a.disproof, "action": a.action, "result": a.result, "conclusion": a.conclusion,
                "rules_out": a.rules_out, "outcome": a.outcome, "ended": a.ended.is_some(),
                "commits": commits.map(|l| &l.commit).collect::<Vec<_>>(),
                "evidence": evidence.filter_map(|e| e.oid.as_ref()).collect::<Vec<_>>(),
            })
        })
        .collect();
    let rows = |d: &git_incident::model::incident::Difference| json!({"factor": d.factor, "working": d.working, "broken": d.broken, "eliminated": d.eliminated});
    json!({
        "schema": 1,
        "incident": incident.id,
        "opened": incident.opened.is_some(),
        "title": *incident.title,
        "ticket": *incident.ticket,
        "symptom": *incident.symptom,
        "environment": *incident.environment,
        "files": incident.files.iter().map(|f| json!({"path": f.path, "note": f.note})).collect::<Vec<_>>(),
        "labels": *incident.labels,
        "status": *incident.status,
        "rivals": {
            "title": incident.title.rivals().collect::<Vec<_>>(),
            "status": incident.status.rivals().collect::<Vec<_>>(),
        },
        "attempts": attempts,
        "differences": incident.differences.iter().map(rows).collect::<Vec<_>>(),
        "next": incident.next.iter().map(|n| json!({"id": n.added.event, "text": n.text, "state": n.state})).collect::<Vec<_>>(),
        "repro": {
            "command": incident.repro.command,
            "runs": incident.repro.runs.iter().map(|r| u64::from(r.runs)).sum::<u64>(),
            "failures": incident.repro.runs.iter().map(|r| u64::from(r.failures)).sum::<u64>(),
        },
        "cause": incident.cause().map_or_else(
            || json!({"state": "none", "text": ""}),
            |c| json!({"state": c.state, "text": c.text}),
        ),
        "links": incident.links.iter().filter(|l| !l.unlinked)
            .map(|l| json!({"commit": l.commit, "role": l.role, "attempt": l.attempt})).collect::<Vec<_>>(),
        "evidence": incident.evidence.iter().map(|e| json!({
            "oid": e.oid, "sha256": e.sha256, "bytes": e.bytes, "name": e.name, "kind": e.kind, "erased": e.erased,
        })).collect::<Vec<_>>(),
        "order": ledger.events.iter().map(|e| e.id).collect::<Vec<_>>(),
        "heads": ledger.heads(),
        "unknown": incident.unknown.len(),
        "damaged": incident.damaged.len(),
    })
}

// ---- the example ----

#[test]
fn the_example_is_what_the_specification_says() {
    let text = example("ledger");
    let anchor = Oid::parse(example("anchor").trim()).expect("an object id");
    let first = text.lines().next().expect("a line");
    assert!(
        ledger::is_anchor(&anchor, first.as_bytes()),
        "the anchor is the first line's blob"
    );
    let ledger = Ledger::parse(text.as_bytes());
    let ids: Vec<String> = ledger.events.iter().map(|e| e.id.to_string()).collect();
    assert_eq!(ids, example("order").lines().collect::<Vec<_>>());
    let stated: Value = serde_json::from_str(&example("view")).expect("JSON");
    assert_eq!(view(&ledger, &anchor), stated, "the library");
    assert_eq!(
        second_reader(&[(text.into_bytes(), anchor)])[0],
        stated,
        "the second reader"
    );
}

#[test]
fn the_writer_writes_the_example() {
    for line in example("ledger").lines() {
        let wire: Value = serde_json::from_str(line).expect("JSON");
        let by: Author = serde_json::from_value(wire["by"].clone()).expect("an author");
        let event = Line::parse(line.as_bytes()).event().cloned().expect("an event");
        let Body::Known(data) = &event.body else {
            panic!("a known type: {line}")
        };
        let salt = wire["data"]["salt"].as_str().expect("a salt");
        let again = seal(event.at, &by, data, &event.parents, salt).expect("sealed");
        assert_eq!(String::from_utf8(again.raw).as_deref(), Ok(line), "byte for byte");
    }
}

#[test]
fn the_erased_line_of_the_example_has_the_same_id_and_wins() {
    let anchor = Oid::parse(example("anchor").trim()).expect("an object id");
    let erased = example("erased");
    let event = Line::parse(erased.trim_end().as_bytes())
        .event()
        .cloned()
        .expect("an event");
    assert_eq!(event.body, Body::Erased);
    let fourth = example("ledger").lines().nth(3).expect("five lines").to_owned();
    assert_eq!(
        Line::parse(fourth.as_bytes()).event().map(|e| e.id),
        Some(event.id)
    );
    let both = [example("ledger"), erased].concat().into_bytes();
    let folded = view(&Ledger::parse(&both), &anchor);
    assert_eq!(folded["next"], json!([]));
    assert_eq!(second_reader(&[(both, anchor)])[0], folded);
}

// ---- every type and member is specified ----

/// The public members of a struct, as JSON names them.
fn members(source: &str, name: &str) -> Vec<String> {
    let (_, after) = source
        .split_once(&format!("pub struct {name} {{\n"))
        .expect("the struct stands there");
    let body = after.split("\n}").next().unwrap_or_default();
    let mut renamed = None;
    let mut found = Vec::new();
    for line in body.lines().map(str::trim) {
        if let Some((_, rest)) = line.split_once("rename = \"") {
            renamed = rest.split('"').next().map(str::to_owned);
        } else if let Some(field) = line.strip_prefix("pub ") {
            let field = field.split(':').next().unwrap_or_default().to_owned();
            found.push(renamed.take().unwrap_or(field));
        }
    }
    found
}

/// Type name to members, from the sources.
fn types_in_the_sources() -> BTreeMap<String, Vec<String>> {
    let mut types = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("src/event")).expect("src/event is there") {
        let source = std::fs::read_to_string(entry.expect("an entry").path()).expect("a source file");
        let Some((_, after)) = source.split_once("const TYPE: &'static str = \"") else { continue };
        let type_name = after.split('"').next().unwrap_or_default().to_owned();
        let (_, implemented) = source
            .split_once("impl EventType for ")
            .expect("a type implements the trait");
        let name = implemented.split(' ').next().unwrap_or_default();
        types.insert(type_name, members(&source, name));
    }
    let model = std::fs::read_to_string(root().join("src/model/incident.rs")).expect("a source file");
    for (shape, name) in [
        ("author", "Author"),
        ("file", "FileRef"),
        ("run", "RunRecord"),
        ("account", "Account"),
        ("redaction", "Redaction"),
    ] {
        types.insert(shape.into(), members(&model, name));
    }
    let outcome = std::fs::read_to_string(root().join("src/model/outcome.rs")).expect("a source file");
    types.insert("outcome".into(), members(&outcome, "Outcome"));
    types
}

/// The text of a type's section of the specification.
fn section(text: &str, name: &str) -> Option<String> {
    let heading = if name.contains('.') {
        format!("\n#### `{name}`\n")
    } else {
        format!("\n#### {name}\n")
    };
    let (_, after) = text.split_once(&heading)?;
    Some(
        after
            .split("\n#")
            .next()
            .unwrap_or_default()
            .split("*Fold:*")
            .next()?
            .to_owned(),
    )
}

#[test]
fn every_type_and_member_is_specified() {
    let text = specification();
    let sources = types_in_the_sources();
    let mut missing = Vec::new();
    for type_name in Data::TYPES {
        assert!(
            sources.contains_key(*type_name),
            "{type_name} has a file in src/event"
        );
    }
    for (type_name, members) in &sources {
        let Some(section) = section(&text, type_name) else {
            missing.push(format!("a section `{type_name}`"));
            continue;
        };
        missing.extend(
            members
                .iter()
                .filter(|m| !section.contains(&format!("`{m}`")))
                .map(|m| format!("`{m}` of {type_name}")),
        );
    }
    assert!(missing.is_empty(), "docs/STORAGE.md §9 lacks: {missing:#?}");
    for heading in text.lines().filter_map(|l| l.strip_prefix("#### `")) {
        let name = heading.trim_end_matches('`');
        assert!(
            Data::TYPES.contains(&name),
            "docs/STORAGE.md specifies {name}, which nobody writes"
        );
    }
}

#[test]
fn the_second_reader_knows_the_same_members() {
    let program = format!(
        "import json, sys; sys.path.insert(0, {:?}); import ledger_line as l; \
         print(json.dumps({{n: [m.rstrip('!') for m, _ in s] for n, s in l.SHAPES.items()}}))",
        root().join("tests/reader").to_string_lossy()
    );
    let mut known: BTreeMap<String, Vec<String>> =
        serde_json::from_str(&python(&["-c", &program], None)).expect("JSON");
    let mut sources = types_in_the_sources();
    known.values_mut().chain(sources.values_mut()).for_each(|m| m.sort());
    assert_eq!(known, sources);
}

// ---- random ledgers ----

fn author(seed: u64) -> Author {
    Author {
        name: "Ada".into(),
        email: "ada@example.org".into(),
        agent: if seed & 1 == 0 {
            String::new()
        } else {
            "helper".into()
        },
        salt: sha256_hex(&seed.to_be_bytes())[..32].to_owned(),
    }
}

fn oid(n: u64) -> Oid {
    Oid::parse(&format!("{n:040x}")).expect("forty digits")
}

/// Data of some type; `past` are the events so far, `near` one of them.
fn data(kind: u64, pick: u64, text: &str, past: &[Event], i: u64) -> (Data, Option<EventId>) {
    let of = |wanted: &str| {
        let fitting: Vec<&Event> = past.iter().filter(|e| e.type_name == wanted).collect();
        let chosen = if fitting.is_empty() {
            past.first()
        } else {
            fitting.get(pick as usize % fitting.len()).copied()
        };
        chosen.map_or(EventId::from_bytes([9; 32]), |e| e.id)
    };
    let text = text.to_owned();
    let attempt = Some(of("attempt.started"));
    let commit = oid(pick % 4);
    let role = [Role::Fix, Role::Failed][(pick >> 8) as usize % 2];
    let outcome = Outcome {
        hypothesis: [Hypothesis::Supported, Hypothesis::Refuted, Hypothesis::Undecided][pick as usize % 3],
        bug: [Bug::Fixed, Bug::Remains, Bug::Unknown][(pick >> 4) as usize % 3],
    };
    let data: Data = match kind {
        0 | 1 => AttemptStarted { hypothesis: text.clone(), disproof: text, ..Default::default() }.into(),
        2 | 3 => AttemptEnded {
            attempt: of("attempt.started"),
            outcome,
            action: if pick & 1 == 0 { String::new() } else { text.clone() },
            result: String::new(),
            conclusion: text.clone(),
            rules_out: vec![text],
        }
        .into(),
        4 => AttemptNoted { attempt, text, ..Default::default() }.into(),
        5 => NextAdded { text }.into(),
        6 => NextDone { next: of("next.added"), remark: text }.into(),
        7 => NextDropped { next: of("next.added"), reason: text }.into(),
        8 => IncidentEdited { title: Some(text.clone()), ticket: Some(text), ..Default::default() }.into(),
        9 => IncidentEdited {
            files: Some(vec![FileRef { path: text.clone(), note: String::new() }]),
            labels: Some(vec![text]),
            ..Default::default()
        }
        .into(),
        10 | 11 => IncidentClosed {
            status: [Status::Resolved, Status::WontFix, Status::Blocked][pick as usize % 3],
            note: text,
            gaps: vec![],
        }
        .into(),
        12 => IncidentReopened { note: text }.into(),
        13 => DifferenceSet {
            factor: format!("f{}", pick % 3),
            working: text.clone(),
            broken: text,
            eliminated: pick & 8 == 0,
            ..Default::default()
        }
        .into(),
        14 => CauseProposed { text, ..Default::default() }.into(),
        15 => CauseRejected { cause: of("cause.proposed"), reason: text }.into(),
        16 => {
            CauseConfirmed { cause: of("cause.proposed"), accounts: vec![], disproof: attempt, mechanism: text }.into()
        }
        17 => ReproSet {
            command: vec![format!("c{}", pick % 2)],
            fails_when: FailsWhen::Exit,
            ..Default::default()
        }
        .into(),
        18 => ReproRan {
            repro: of("repro.set"),
            runs: (pick % 7) as u32,
            failures: (pick % 5) as u32,
            environment: json!({"b": [1, text], "a": null}),
            ..Default::default()
        }
        .into(),
        19 => EvidenceAdded {
            oid: (pick & 1 == 0).then(|| oid(1000 + i)),
            sha256: sha256_hex(text.as_bytes()),
            bytes: pick >> 12,
            name: text,
            kind: "log".into(),
            attempt,
            ..Default::default()
        }
        .into(),
        20 => {
            // An erasing event here knows of what it erases, as that of a person does.
            let added = past.iter().find_map(|e| match &e.body {
                Body::Known(Data::EvidenceAdded(d)) => Some((d.oid.clone()?, e.id)),
                _ => None,
            });
            let Some((blob, event)) = added else { return (NextAdded { text }.into(), None) };
            return (EvidenceErased { oid: blob, reason: text }.into(), Some(event));
        }
        21 | 22 => CommitLinked {
            commit,
            role,
            attempt: (pick & 64 == 0).then_some(of("attempt.started")),
            patch_id: String::new(),
            tree: None,
            subject: text,
            pr: String::new(),
        }
        .into(),
        23 => CommitUnlinked { commit, role: (pick & 64 == 0).then_some(role) }.into(),
        24 => CommitRewritten { from: commit, to: oid(pick / 7 % 4), how: text, tree: None, patch_id: String::new() }
            .into(),
        // A stranger's opening event: shown, without effect.
        _ => IncidentOpened { title: text, ..Default::default() }.into(),
    };
    (data, None)
}

/// A line whose id is right and whose type or data the library would not write.
fn line_by_hand(type_name: &str, data: &str, parent: EventId) -> Vec<u8> {
    let by = r#"{"name":"Ada"}"#;
    let (at, parents) = ("2031-01-01T00:00:00.000Z", format!("[\"{parent}\"]"));
    let header = format!(
        r#"{{"at":"{at}","by_sha256":"{}","data_sha256":"{}","parents":{parents},"type":"{type_name}","v":1}}"#,
        sha256_hex(by.as_bytes()),
        sha256_hex(data.as_bytes())
    );
    let id = sha256_hex(header.as_bytes());
    format!(r#"{{"at":"{at}","by":{by},"data":{data},"id":"{id}","parents":{parents},"type":"{type_name}","v":1}}"#)
        .into_bytes()
}

/// The line with `data` or `by` replaced by its digest.
fn erase(raw: &[u8], data: bool) -> Vec<u8> {
    let text = std::str::from_utf8(raw).expect("a line is UTF-8");
    let wire: BTreeMap<&str, &serde_json::value::RawValue> = serde_json::from_str(text).expect("a line is JSON");
    let member = wire[if data { "data" } else { "by" }].get();
    text.replacen(member, &format!("\"{}\"", sha256_hex(member.as_bytes())), 1).into_bytes()
}

type Step = (u64, u64, i64, String);

fn random_ledger(steps: &[Step], extra: &[(u8, u64)]) -> (Vec<u8>, Oid) {
    let start = 1_772_000_000_000;
    let opening = IncidentOpened { title: "it hangs".into(), ticket: "#45".into(), ..Default::default() };
    let at = Timestamp::from_millis(start);
    let mut events = vec![seal(at, &author(0), &opening.into(), &[], "00").expect("sealed")];
    for (i, (kind, pick, step, text)) in steps.iter().enumerate() {
        let n = events.len() as u64;
        let mut parents = vec![events[(pick % n.min(4).max(1) + n - n.min(4)) as usize].id];
        if pick & 1024 != 0 {
            parents.push(events[((pick >> 16) % n) as usize].id);
        }
        let (data, knows) = data(kind % 26, pick >> 20, text, &events, i as u64);
        parents.extend(knows);
        let latest = events.iter().filter(|e| parents.contains(&e.id)).map(|e| e.at.millis()).max();
        let at = Timestamp::from_millis(latest.unwrap_or(start) + 1 + step);
        let salt = &sha256_hex(format!("{i}{pick}").as_bytes())[..32];
        events.push(seal(at, &author(*pick), &data, &parents, salt).expect("sealed"));
    }
    let mut anchor_bytes = events[0].raw.clone();
    anchor_bytes.push(b'\n');
    let anchor = Repo::blob_name(&anchor_bytes).expect("hashed");
    let mut lines: Vec<Vec<u8>> = events.iter().map(|e| e.raw.clone()).collect();
    for (kind, pick) in extra {
        let event = &events[*pick as usize % events.len()];
        let strangers = event.type_name == "incident.opened" && event.id != events[0].id;
        lines.push(match kind {
            0 => event.raw.clone(),
            1 if !strangers => erase(&event.raw, true),
            2 if !strangers => erase(&event.raw, false),
            3 => line_by_hand("next.thought", &format!(r#"{{"n":{}}}"#, pick % 99), event.id),
            4 => line_by_hand("next.added", r#"{"text":7}"#, event.id),
            5 => line_by_hand("attempt.ended", r#"{"attempt":"x","outcome":{}}"#, event.id),
            6 => format!(r#"{{"v":{},"x":[1]}}"#, 2 + pick % 3).into_bytes(),
            7 => event.raw[..event.raw.len() / 2].to_vec(),
            8 => Vec::new(),
            9 => line_by_hand("next.added", r#"{"text":"a","text":"b"}"#, event.id),
            10 => line_by_hand("next.added", r#"{"text":"more","unheard":{"of":1.5}}"#, event.id),
            _ => b"\xff\xfe not text".to_vec(),
        });
    }
    // Any order will do: take them from the back and the front in turns.
    let mut bytes = Vec::new();
    let mut rest: std::collections::VecDeque<Vec<u8>> = lines.into();
    while let Some(line) = if rest.len() % 3 == 0 { rest.pop_front() } else { rest.pop_back() } {
        bytes.extend_from_slice(&line);
        bytes.push(b'\n');
    }
    (bytes, anchor)
}

#[test]
fn random_ledgers_fold_the_same_in_both_readers() {
    let text = proptest::string::string_regex("[a-z é\"\\\\\n\t\u{1}\u{7f}/]{0,6}").expect("a pattern");
    let steps = proptest::collection::vec((any::<u64>(), any::<u64>(), 0_i64..5, text), 0..60);
    let extra = proptest::collection::vec((0_u8..14, any::<u64>()), 0..12);
    let mut runner = TestRunner::default();
    let ledgers: Vec<(Vec<u8>, Oid)> = (0..40)
        .map(|_| {
            let (steps, extra) = (&steps, &extra).new_tree(&mut runner).expect("generated").current();
            random_ledger(&steps, &extra)
        })
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    for ((bytes, anchor), theirs) in ledgers.iter().zip(second_reader(&ledgers)) {
        let ledger = Ledger::parse(bytes);
        seen.extend(ledger.events.iter().map(|e| e.type_name.clone()));
        let ours = view(&ledger, anchor);
        for (member, value) in ours.as_object().expect("an object") {
            assert_eq!(*value, theirs[member], "{member} of\n{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(ours, theirs);
    }
    assert!(seen.len() > 20, "the ledgers hold most types: {seen:?}");
}

// ---- a repository ----

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "Ada"), ("GIT_AUTHOR_EMAIL", "ada@example.org")])
        .envs([("GIT_COMMITTER_NAME", "Ada"), ("GIT_COMMITTER_EMAIL", "ada@example.org")])
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn both_read_a_repository_that_git_carried() {
    let directory = tempfile::tempdir().expect("a directory");
    let [a, b, remote] = ["a", "b", "r.git"].map(|n| directory.path().join(n));
    let path = |p: &Path| p.to_string_lossy().into_owned();
    git(directory.path(), &["init", "-q", "--bare", "r.git"]);
    for clone in [&a, &b] {
        git(directory.path(), &["init", "-q", &path(clone)]);
        git(clone, &["remote", "add", "origin", &path(&remote)]);
    }
    let repo = Repo::open(&a).expect("opened");
    let count = std::cell::Cell::new(0_u64);
    let writer = ledger::Writer {
        signature: git2::Signature::new("Ada", "ada@example.org", &git2::Time::new(0, 0)).expect("a signature"),
        author: author(0),
        now: Timestamp::from_millis(1_772_000_000_000),
        salt: &|| {
            count.set(count.get() + 1);
            Ok(sha256_hex(&count.get().to_be_bytes())[..32].to_owned())
        },
    };
    let opened = ledger::open(&repo, &writer, &[], |d| {
        d.add(IncidentOpened { title: "it hangs".into(), ..Default::default() })
    })
    .expect("opened");
    let incident = opened.incident;
    // Enough for two segments.
    for n in 0..6 {
        let text = format!("{n}{}", "x".repeat(150_000));
        ledger::append(&repo, &writer, &incident, &[], |d| d.add(NextAdded { text: text.clone() }))
            .expect("appended");
    }
    // The specification's own commands, from one clone to another.
    let commands: Vec<Vec<String>> = specification()
        .lines()
        .filter_map(|l| l.strip_prefix("    git "))
        .map(|l| l.split(' ').map(|w| w.trim_matches('\'').to_owned()).collect())
        .collect();
    assert_eq!(commands.len(), 4, "push, fetch, two merges");
    for (i, command) in commands.iter().enumerate() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        git(if i == 0 { &a } else { &b }, &words);
    }
    let here = Repo::open(&b).expect("opened");
    let whole = ledger::load(&here, &incident).expect("loaded");
    assert!(whole.events.iter().filter(|e| e.type_name == "ledger.segment").count() > 1);
    let ours = view(&whole, &incident);
    let theirs = python(&[&reader(), "--repo", &path(&b), "--incident", incident.as_str()], None);
    assert_eq!(serde_json::from_str::<Value>(&theirs).expect("JSON"), ours);
    // A flat tree, as git writes it for few notes, and the anchors of segments are no incidents.
    let tree = git(&b, &["ls-tree", "-r", "refs/notes/incidents"]).replace('/', "");
    std::fs::write(directory.path().join("flat"), &tree).expect("written");
    let output = Command::new("git")
        .args(["-C", &path(&b), "mktree"])
        .stdin(std::fs::File::open(directory.path().join("flat")).expect("there"))
        .output()
        .expect("git is installed");
    let flat = String::from_utf8(output.stdout).expect("UTF-8");
    let commit = git(&b, &["commit-tree", "-m", "flat", flat.trim()]);
    git(&b, &["update-ref", "refs/notes/incidents", commit.trim()]);
    let all: Vec<Value> = serde_json::from_str(&python(&[&reader(), "--repo", &path(&b)], None)).expect("JSON");
    assert_eq!(all, vec![ours]);
}
