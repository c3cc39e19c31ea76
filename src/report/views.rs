//! The JSON views of an incident. Versioned and stable: fields may be added, never renamed.

use serde_json::{Value, json};

use super::standing::Standing;
use crate::model::incident::{Attempt, Evidence, Incident, Link, Next, RunRecord};
use crate::model::status::CauseState;

/// What `show` prints.
pub fn incident(incident: &Incident, standing: &Standing) -> Value {
    let stamp = incident.opened.as_ref();
    json!({
        "incident": incident.id,
        "title": *incident.title,
        "ticket": *incident.ticket,
        "status": incident.status.as_str(),
        "status_note": *incident.status_note,
        "gaps": incident.gaps,
        "symptom": *incident.symptom,
        "environment": *incident.environment,
        "files": incident.files.iter().map(|f| f.path.clone()).collect::<Vec<_>>(),
        "file_notes": incident.files.iter().map(|f| json!({"path": f.path, "note": f.note})).collect::<Vec<_>>(),
        "labels": *incident.labels,
        "opened": stamp.map(|s| s.at.to_string()),
        "author": stamp.and_then(|s| s.by.as_ref()).map(|a| a.name.clone()),
        "updated": incident.last_at.to_string(),
        "attempts": incident.attempts.iter().map(|a| attempt(incident, a)).collect::<Vec<_>>(),
        "notes": incident.notes.iter().map(note).collect::<Vec<_>>(),
        "working_case": *incident.working_case,
        "broken_case": *incident.broken_case,
        "differences": incident.differences.iter().map(|d| json!({
            "factor": d.factor, "working": d.working, "broken": d.broken, "eliminated": d.eliminated,
            "rivals": d.rivals.iter().map(|(w, b, e)| json!({"working": w, "broken": b, "eliminated": e})).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "next": incident.next.iter().map(next).collect::<Vec<_>>(),
        "repro": repro(incident, standing),
        "cause": cause(incident),
        "links": incident.links.iter().filter(|l| !l.unlinked).map(|l| link(incident, l)).collect::<Vec<_>>(),
        "evidence": incident.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "gates": incident.gates.iter().map(|g| json!({
            "gate": g.gate, "verdict": g.verdict, "tree": g.tree, "device": g.device, "record": g.descriptor, "at": g.stamp.at,
        })).collect::<Vec<_>>(),
        "review": incident.review.iter().map(|n| json!({
            "id": n.stamp.event, "at": n.stamp.at, "block": n.block, "text": n.text, "reason": n.reason, "owner": n.owner,
            "link": n.link, "happened": n.happened, "none": n.none, "withdrawn": n.withdrawn,
        })).collect::<Vec<_>>(),
        "postmortems": incident.postmortems.iter().map(|d| json!({"path": d.place, "at": d.stamp.at, "sha256": d.sha256})).collect::<Vec<_>>(),
        "preconditions": preconditions(standing),
        "missing": standing.missing,
        "conflicts": conflicts(incident),
        "damaged": incident.damaged,
        "unknown": incident.unknown,
    })
}

/// The four things a post-mortem needs.
pub fn preconditions(standing: &Standing) -> Value {
    json!({
        "repro": standing.repro_ok,
        "cause": standing.cause_ok,
        "fix": standing.fix_ok,
        "validation": standing.validation_ok,
    })
}

/// One row of `list`.
pub fn row(incident: &Incident) -> Value {
    json!({
        "incident": incident.id,
        "title": *incident.title,
        "ticket": *incident.ticket,
        "status": incident.status.as_str(),
        "attempts": incident.attempts.len(),
        "opened": incident.opened.as_ref().map(|s| s.at.to_string()),
        "updated": incident.last_at.to_string(),
        "damaged": incident.damaged.len(),
    })
}

/// An attempt.
pub fn attempt(incident: &Incident, attempt: &Attempt) -> Value {
    let id = attempt.started.event;
    let commits: Vec<_> = incident
        .links
        .iter()
        .filter(|l| !l.unlinked && l.attempt == Some(id))
        .map(|l| json!({"commit": l.commit, "role": l.role}))
        .collect();
    let stored: Vec<_> = incident.evidence.iter().filter(|e| e.attempt == Some(id)).map(evidence).collect();
    json!({
        "id": id,
        "ordinal": attempt.ordinal,
        "title": attempt.title,
        "hypothesis": attempt.hypothesis,
        "disproof": attempt.disproof,
        "action": attempt.action,
        "result": attempt.result,
        "conclusion": attempt.conclusion,
        "rules_out": attempt.rules_out,
        "outcome": {"hypothesis": attempt.outcome.hypothesis, "bug": attempt.outcome.bug},
        "reverted": attempt.reverted,
        "ended": attempt.ended.as_ref().map(|s| s.at.to_string()),
        "started": attempt.started.at,
        "rivals": attempt.rivals.iter().map(|(o, c)| json!({"outcome": o, "conclusion": c})).collect::<Vec<_>>(),
        "notes": attempt.notes.iter().map(note).collect::<Vec<_>>(),
        "commits": commits,
        "evidence": stored,
    })
}

fn note(note: &crate::model::incident::Note) -> Value {
    json!({
        "at": note.stamp.at, "text": note.text, "about": note.about, "important": note.important,
        "run": note.run.as_ref().map(run),
    })
}

/// A recorded command.
pub fn run(run: &RunRecord) -> Value {
    json!({
        "argv": run.argv, "exit": run.exit, "seconds": seconds(run.millis), "hang": run.hang,
        "commit": run.commit, "tree": run.tree, "dirty": run.dirty, "environment": run.environment, "evidence": run.evidence,
    })
}

/// Milliseconds as seconds: views are for reading, so they may hold decimals.
pub fn seconds(millis: u64) -> f64 {
    millis as f64 / 1000.0
}

/// An idea.
pub fn next(next: &Next) -> Value {
    json!({"id": next.added.event, "text": next.text, "state": next.state, "remark": next.remark})
}

/// The repro command and its rate.
pub fn repro(incident: &Incident, standing: &Standing) -> Value {
    let rate = &standing.repro;
    let needed = (rate.needed != crate::model::rate::NEVER).then_some(rate.needed);
    let (low, high) = crate::model::rate::wilson(rate.failures, rate.runs);
    json!({
        "command": incident.repro.command,
        "fails_when": incident.repro.fails_when,
        "pattern": incident.repro.pattern,
        "runs": rate.runs,
        "failures": rate.failures,
        "interval": {"low": low, "high": high},
        "deterministic": rate.deterministic,
        "reliable": rate.reliable,
        "passes_needed": needed,
        "fix": {"runs": rate.fix_runs, "failures": rate.fix_failures},
        "validated": standing.validation_ok,
    })
}

/// The cause that stands.
pub fn cause(incident: &Incident) -> Value {
    match incident.cause() {
        None => json!({"state": CauseState::None, "text": ""}),
        Some(cause) => json!({
            "id": cause.proposed.event,
            "state": cause.state,
            "text": cause.text,
            "mechanism": cause.mechanism,
            "reason": cause.reason,
            "accounts": cause.accounts,
            "disproof": cause.disproof,
            "rivals": *cause.rivals,
        }),
    }
}

fn link(incident: &Incident, link: &Link) -> Value {
    let ordinal = link.attempt.and_then(|a| incident.attempt(a)).map(|a| a.ordinal);
    json!({
        "commit": link.commit, "role": link.role, "attempt": ordinal, "attempt_id": link.attempt,
        "subject": link.subject, "patch_id": link.patch_id, "tree": link.tree, "pr": link.pr,
        "how": link.how, "reverts": link.reverts, "reverted_by": link.reverted_by,
    })
}

/// A stored file.
pub fn evidence(evidence: &Evidence) -> Value {
    json!({
        "oid": evidence.oid, "sha256": evidence.sha256, "bytes": evidence.bytes, "name": evidence.name, "kind": evidence.kind,
        "attempt": evidence.attempt, "location": evidence.location, "redacted": evidence.redacted, "erased": evidence.erased,
    })
}

/// What writers who did not know of each other said differently.
pub fn conflicts(incident: &Incident) -> Vec<Value> {
    let mut found = Vec::new();
    let mut texts = |field: &str, value: &str, rivals: Vec<String>| {
        for rival in rivals {
            found.push(json!({"field": field, "value": value, "rival": rival}));
        }
    };
    texts(
        "status",
        incident.status.as_str(),
        incident.status.rivals().map(|s| s.as_str().to_owned()).collect(),
    );
    for (field, register) in [
        ("title", &incident.title),
        ("ticket", &incident.ticket),
        ("symptom", &incident.symptom),
        ("environment", &incident.environment),
    ] {
        texts(field, register, register.rivals().cloned().collect());
    }
    for attempt in &incident.attempts {
        for (outcome, conclusion) in &attempt.rivals {
            let value = format!("{}, {}", attempt.outcome.hypothesis, attempt.outcome.bug);
            let rival = format!("{}, {}: {conclusion}", outcome.hypothesis, outcome.bug);
            found.push(
                json!({"field": format!("attempt {}", attempt.ordinal), "value": value, "rival": rival}),
            );
        }
    }
    found
}
