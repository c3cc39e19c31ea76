//! What the ledger says of the incidents that documents are about.

use std::collections::HashMap;

use crate::document::lint::{FailedAttempt, Ledger, Wants};
use crate::git::refs;
use crate::model::incident::{Attempt, Incident};
use crate::model::outcome::Hypothesis;
use crate::model::status::Role;
use crate::model::{Oid, describe};
use crate::session::Session;
use crate::store::{records, travelling};

/// What is known of one document's incident.
#[derive(Debug, Default, Clone)]
pub(super) struct About {
    /// The ledger's answers.
    pub(super) ledger: Option<Ledger>,
    /// The document names an incident that a ledger here does not hold.
    pub(super) missing: bool,
    /// Commits linked with it.
    pub(super) commits: Vec<String>,
}

/// For each document, in order, what the ledger says.
pub(super) fn ledgers(session: Option<&Session>, documents: &[&Wants]) -> Vec<About> {
    let nothing = || vec![About::default(); documents.len()];
    let Some(session) = session else { return nothing() };
    let has_ledger = refs::read(&session.repo, travelling::LEDGER.notes).ok().flatten().is_some();
    if !has_ledger {
        return nothing();
    }
    let whole = !crate::git::look_up::is_partial(&session.repo);
    let mut known: HashMap<String, About> = HashMap::new();
    let mut tickets: Option<HashMap<String, Option<Oid>>> = None;
    documents
        .iter()
        .map(|wants| {
            if let Some(named) = &wants.incident {
                return known
                    .entry(named.clone())
                    .or_insert_with(|| match session.incident_id(Some(named)) {
                        Ok(id) => about(session, &id),
                        Err(_) => About { missing: whole, ..About::default() },
                    })
                    .clone();
            }
            if wants.tickets.is_empty() {
                return About::default();
            }
            let tickets = tickets.get_or_insert_with(|| by_ticket(session));
            let mut ids: Vec<&Oid> =
                wants.tickets.iter().filter_map(|t| tickets.get(t)).filter_map(Option::as_ref).collect();
            ids.dedup();
            // A document that speaks of several incidents is about none for certain.
            match ids.as_slice() {
                [only] => {
                    known.entry(only.as_str().to_owned()).or_insert_with(|| about(session, only)).clone()
                }
                _ => About::default(),
            }
        })
        .collect()
}

/// Incidents by ticket in lower case; `None` where several share one.
fn by_ticket(session: &Session) -> HashMap<String, Option<Oid>> {
    let mut found: HashMap<String, Option<Oid>> = HashMap::new();
    for incident in session.incidents().unwrap_or_default() {
        let ticket = incident.ticket.trim().to_lowercase();
        if let (false, Some(id)) = (ticket.is_empty(), incident.id) {
            found.entry(ticket).and_modify(|several| *several = None).or_insert(Some(id));
        }
    }
    found
}

fn about(session: &Session, id: &Oid) -> About {
    let Ok(incident) = session.incident(id) else { return About::default() };
    let commits = [Role::Fix, Role::Offending, Role::Partial]
        .into_iter()
        .flat_map(|role| incident.links_as(role))
        .map(|l| l.commit.as_str().to_owned())
        .collect();
    About { ledger: Some(ledger(session, &incident)), missing: false, commits }
}

fn ledger(session: &Session, incident: &Incident) -> Ledger {
    let standing = session.standing(incident);
    let repro = &incident.repro.runs;
    let runs_of = |passing: bool| -> u64 {
        repro.iter().filter(|r| !passing || r.failures == 0).map(|r| u64::from(r.runs)).sum()
    };
    let noted = incident.attempts.iter().flat_map(Attempt::runs);
    let noted = noted.chain(incident.notes.iter().filter_map(|n| n.run.as_ref()));
    let mut environments: Vec<serde_json::Value> = repro.iter().map(|r| r.environment.clone()).collect();
    let mut millis: u64 = repro.iter().map(|r| r.millis).sum();
    let mut tried = 0;
    for run in noted {
        tried += 1;
        millis = millis.saturating_add(run.millis);
        environments.push(run.environment.clone());
    }
    let mut devices: Vec<String> = Vec::new();
    let mut gate_runs: u64 = 0;
    let mut seen = Vec::new();
    for gate in &incident.gates {
        devices.push(gate.device.clone());
        let Some(descriptor) = gate.descriptor.as_ref().filter(|d| !seen.contains(d)) else { continue };
        seen.push(descriptor);
        for record in records::claimed(&session.repo, descriptor).unwrap_or_default() {
            gate_runs = gate_runs.saturating_add(u64::from(record.runs));
            millis = millis.saturating_add(record.millis);
            devices.push(record.device);
            environments.push(record.environment);
        }
    }
    let gpus = environments.iter().filter_map(|e| e.get("gpus")?.as_array()).map(|g| g.len() as u64).max();
    devices.extend(environments.iter().map(describe::machine));
    devices.retain(|d| !d.trim().is_empty());
    devices.sort();
    devices.dedup();
    // `2 × NVIDIA A100`: a gate's device in words, where no environment says more.
    let counted = devices.iter().filter_map(|d| d.split_once(" × ")?.0.parse::<u64>().ok()).max();
    let worded = devices
        .iter()
        .any(|d| d.to_lowercase().contains("gpu") || d.contains("NVIDIA") || d.contains("AMD Instinct"));
    Ledger {
        incident: incident.id.as_ref().map(|i| i.short().to_owned()).unwrap_or_default(),
        failed: failed(incident),
        fix_runs: u64::from(standing.repro.fix_runs).max(runs_of(true)).max(gate_runs),
        all_runs: runs_of(false).saturating_add(tried).max(gate_runs),
        millis,
        records: !repro.is_empty() || !incident.gates.is_empty() || tried > 0,
        gpus: gpus.unwrap_or(0).max(counted.unwrap_or(0)).max(u64::from(worded)),
        devices,
        pulls: incident.links.iter().map(|l| l.pr.clone()).filter(|p| !p.is_empty()).collect(),
        text: texts(incident),
    }
}

/// What the incident's own record says in words, for the tags it may name.
fn texts(incident: &Incident) -> String {
    let mut all = String::new();
    let mut add = |text: &str| {
        if all.len() < 1 << 20 {
            all.push_str(text);
            all.push('\n');
        }
    };
    for note in incident.notes.iter().chain(incident.attempts.iter().flat_map(|a| &a.notes)) {
        add(&note.text);
    }
    for attempt in &incident.attempts {
        for text in
            [&attempt.title, &attempt.hypothesis, &attempt.action, &attempt.result, &attempt.conclusion]
        {
            add(text);
        }
    }
    all
}

fn failed(incident: &Incident) -> Vec<FailedAttempt> {
    let bad = [Role::Failed, Role::Partial, Role::Revert];
    let mut found: Vec<FailedAttempt> = Vec::new();
    for attempt in &incident.attempts {
        let links: Vec<_> = incident
            .links
            .iter()
            .filter(|l| !l.unlinked && l.attempt == Some(attempt.started.event))
            .collect();
        let refuted = attempt.ended.is_some() && attempt.outcome.hypothesis == Hypothesis::Refuted;
        if !attempt.failed() && !refuted {
            continue;
        }
        let mut texts = vec![
            attempt.title.clone(),
            attempt.hypothesis.clone(),
            attempt.action.clone(),
            attempt.conclusion.clone(),
        ];
        texts.extend(links.iter().map(|l| l.subject.clone()));
        texts.retain(|t| !t.trim().is_empty());
        found.push(FailedAttempt {
            name: format!("attempt {}", attempt.ordinal),
            ordinal: attempt.ordinal,
            event: attempt.started.event.to_string(),
            headline: attempt.headline().to_owned(),
            texts,
            commits: links.iter().map(|l| l.commit.as_str().to_owned()).collect(),
            pulls: links.iter().map(|l| l.pr.clone()).filter(|p| !p.is_empty()).collect(),
        });
    }
    for link in incident.links.iter().filter(|l| !l.unlinked && bad.contains(&l.role)) {
        if found.iter().any(|f| f.commits.iter().any(|c| c == link.commit.as_str())) {
            continue;
        }
        found.push(FailedAttempt {
            name: format!("commit {} ({})", link.commit.short(), link.role),
            ordinal: 0,
            event: String::new(),
            headline: link.subject.clone(),
            texts: vec![link.subject.clone()].into_iter().filter(|t| !t.is_empty()).collect(),
            commits: vec![link.commit.as_str().to_owned()],
            pulls: vec![link.pr.clone()].into_iter().filter(|p| !p.is_empty()).collect(),
        });
    }
    found
}
