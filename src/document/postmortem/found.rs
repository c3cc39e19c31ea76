//! How it was found: the attempts, why each was rejected, and the experiment that confirmed the cause.

use serde_json::{Value, json};

use super::DraftInput;
use super::facts::confirming;
use super::sources::{attempt, commit_name, cut, event, evidence_named, line, sentence};
use crate::model::incident::{Attempt, Incident};
use crate::model::outcome::Hypothesis;
use crate::model::status::CauseState;

/// Attempts shown.
const MOST: usize = 100;

pub(super) fn found(input: &DraftInput<'_>) -> Value {
    let incident = input.incident;
    let attempts: Vec<Value> = incident.attempts.iter().take(MOST).map(|a| one(input, a)).collect();
    let more = incident.attempts.len().saturating_sub(MOST);
    let rejected = incident
        .causes
        .iter()
        .filter(|c| c.state == CauseState::Rejected)
        .map(|c| {
            let reason = if c.reason.trim().is_empty() {
                "**Gap:** nobody recorded why".to_owned()
            } else {
                line(&c.reason)
            };
            sentence(format!("{} ({}), rejected: {reason}", line(&c.text), event(Some(c.proposed.event))))
        })
        .collect();
    let mut gaps = Vec::new();
    if attempts.is_empty() {
        gaps.push("no attempt is recorded.".to_owned());
    }
    let confirmed_by = confirming(incident);
    if confirmed_by.is_none() {
        gaps.push("no experiment is recorded as the one that confirmed the cause.".to_owned());
    }
    let unread = incident.damaged.len() + incident.unknown.len();
    if unread > 0 {
        gaps.push(format!(
            "{unread} lines of the ledger could not be read, so something may be missing here (`git incident fsck`)."
        ));
    }
    json!({
        "attempts": attempts,
        "more": (more > 0).then(|| format!("…and {more} more attempts (`git incident show` has them).")),
        "rejected": cut(rejected, MOST),
        "confirmed_by": confirmed_by,
        "gaps": gaps,
    })
}

fn one(input: &DraftInput<'_>, tried: &Attempt) -> Value {
    let incident = input.incident;
    let outcome = tried.outcome;
    let state = if tried.ended.is_some() {
        format!("hypothesis {}, bug {}", outcome.hypothesis, outcome.bug)
    } else {
        "not ended".to_owned()
    };
    let label = if outcome.hypothesis == Hypothesis::Refuted {
        "Rejected because"
    } else if tried.failed() {
        "Did not fix it because"
    } else {
        "Conclusion"
    };
    let mut facts: Vec<String> = [
        ("Title", &tried.title),
        ("Hypothesis", &tried.hypothesis),
        ("Would be disproved by", &tried.disproof),
        ("Done", &tried.action),
        ("Result", &tried.result),
        (label, &tried.conclusion),
    ]
    .into_iter()
    .filter(|(_, text)| !text.trim().is_empty())
    .map(|(label, text)| format!("**{label}:** {}", line(text)))
    .collect();
    if !tried.rules_out.is_empty() {
        let ruled: Vec<String> = tried.rules_out.iter().map(|r| line(r)).collect();
        facts.push(format!("**Rules out:** {}", cut(ruled, 8).join("; ")));
    }
    let account = incident
        .cause()
        .filter(|c| c.state == CauseState::Confirmed)
        .and_then(|c| c.accounts.iter().find(|a| a.attempt == tried.started.event))
        .filter(|a| !a.how.trim().is_empty());
    if let Some(account) = account {
        facts.push(format!("**How the cause accounts for it:** {}", line(&account.how)));
    }
    let mut commits: Vec<String> = Vec::new();
    for link in incident.links.iter().filter(|l| !l.unlinked && l.attempt == Some(tried.started.event)) {
        commits.push(format!("{} ({})", commit_name(input.web, &link.commit), link.role));
    }
    if !commits.is_empty() {
        facts.push(format!("**Commits:** {}", cut(commits, 8).join(", ")));
    }
    let evidence = evidence_of(incident, tried);
    if !evidence.is_empty() {
        facts.push(format!("**Evidence:** {}", cut(evidence, 5).join(", ")));
    }

    let mut gaps = Vec::new();
    let rejected = tried.failed() || outcome.hypothesis == Hypothesis::Refuted;
    if rejected && tried.conclusion.trim().is_empty() {
        gaps.push(format!("nobody recorded why {} was rejected.", attempt(tried)));
    }
    if tried.hypothesis.trim().is_empty() {
        gaps.push(format!("{} has no hypothesis.", attempt(tried)));
    }
    for (rival, conclusion) in tried.rivals.iter().take(4) {
        gaps.push(sentence(format!(
            "the outcome is disputed: \"hypothesis {}, bug {}\" was recorded at the same time, with: {}",
            rival.hypothesis,
            rival.bug,
            line(conclusion)
        )));
    }
    json!({
        "ordinal": tried.ordinal,
        "about": format!(
            "`{}` · {} UTC · {state}",
            tried.started.event.short(),
            tried.started.at.to_minute()
        ),
        "facts": facts,
        "gaps": gaps,
    })
}

/// Evidence that belongs to an attempt or was stored with one of its runs, each once.
fn evidence_of(incident: &Incident, tried: &Attempt) -> Vec<String> {
    let stored = incident
        .evidence
        .iter()
        .filter(|e| e.attempt == Some(tried.started.event))
        .map(super::sources::evidence);
    let ran = tried.runs().flat_map(|r| &r.evidence).map(|oid| evidence_named(incident, oid));
    let mut seen = Vec::new();
    for item in stored.chain(ran) {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}
