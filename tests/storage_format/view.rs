//! What the two readers make of a ledger, in one shape: the main members of `git incident show --json`.

use std::path::Path;
use std::process::{Command, Stdio};

use git_incident::fold::Ledger;
use git_incident::model::Oid;
use git_incident::model::canonical::hex;
use git_incident::model::incident::Incident;
use git_incident::store::ledger;
use serde_json::{Value, json};

use crate::root;

pub(crate) fn python(arguments: &[&str], input: Option<&Path>) -> String {
    let stdin = input.map_or_else(Stdio::null, |p| {
        Stdio::from(std::fs::File::open(p).expect("the requests were written"))
    });
    let output = Command::new("python3")
        .arg("-B")
        .args(arguments)
        .stdin(stdin)
        .output()
        .expect("these tests need the program python3 (3.8 or newer): install it and put it on PATH");
    assert!(output.status.success(), "the second reader failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

pub(crate) fn reader() -> String {
    root().join("tests/reader/reader.py").to_string_lossy().into_owned()
}

/// What the second reader makes of some ledgers, in one process.
pub(crate) fn second_reader(ledgers: &[(Vec<u8>, Oid)]) -> Vec<Value> {
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

pub(crate) fn view(ledger: &Ledger, anchor: &Oid) -> Value {
    view_of(ledger, &ledger.incident(anchor, &|raw| ledger::is_anchor(anchor, raw)))
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
