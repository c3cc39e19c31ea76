//! The blocks that speak of the bug, its cause and its fix.

use serde_json::{Value, json};

use super::DraftInput;
use super::review;
use super::sources::{
    attempt, attempt_named, block, commit, commit_name, cut, event, evidence, line, pull_request, sentence,
};
use crate::model::EventId;
use crate::model::incident::{Attempt, Incident, Link};
use crate::model::markdown::{self, Place};
use crate::model::outcome::Bug;
use crate::model::status::{CauseState, Role};

/// Points of one list.
const MOST: usize = 40;

pub(super) fn title(incident: &Incident) -> String {
    let title = markdown::line(&incident.title, 200, Place::Document);
    match title.strip_suffix('#') {
        // A heading would lose it.
        Some(rest) => format!("{rest}\\#"),
        None if title.is_empty() => "(untitled)".to_owned(),
        None => title,
    }
}

pub(super) fn summary(input: &DraftInput<'_>) -> Value {
    let incident = input.incident;
    let paragraph = markdown::clean(&incident.symptom);
    let paragraph = paragraph.trim().split("\n\n").next().unwrap_or_default();
    let fix = input.fixes.last();
    let pr = input.fixes.iter().rev().find(|f| !f.pr.trim().is_empty()).map(|f| {
        format!("{} (commit {})", pull_request(input.web, &f.pr), commit_name(input.web, &f.commit))
    });
    let owner = review::owner(input);
    let mut ticket = line(&incident.ticket);
    if !ticket.is_empty() {
        ticket = format!("{ticket} ({})", event(incident.ticket.set_by()));
    }
    let mut facts = Vec::new();
    let mut gaps = Vec::new();
    if let Some(id) = &incident.id {
        facts.push(format!("**Incident:** `{}`, {}", id.short(), *incident.status));
    }
    for (label, value, gap) in [
        ("Ticket", ticket.as_str(), "no ticket is recorded."),
        ("Pull request", pr.as_deref().unwrap_or_default(), "no pull request is recorded for the fix."),
        (
            "Owner",
            owner.as_deref().unwrap_or_default(),
            "nobody is named as the owner (`git incident postmortem note owner \"…\"`).",
        ),
    ] {
        if value.is_empty() {
            gaps.push(gap.to_owned());
        } else {
            facts.push(format!("**{label}:** {value}"));
        }
    }
    if let Some(id) = &incident.id {
        facts.push(format!(
            "**Sources:** `git incident export {} --format ledger` has the events named here, `git notes --ref=incidents show ID` a record, `git incident evidence show ID` the evidence, `git show ID` a commit",
            id.short()
        ));
    }
    if incident.status.rivals().next().is_some() {
        let rivals: Vec<&str> = incident.status.rivals().map(|s| s.as_str()).collect();
        gaps.push(format!("the status is disputed: {} was recorded at the same time.", rivals.join(", ")));
    }
    json!({
        "what": sentence(title(incident)),
        "observed": markdown::line(paragraph, 300, Place::Document),
        "fixed_by": fix.map(|f| commit(input.web, f)),
        "facts": facts,
        "gaps": gaps,
    })
}

pub(super) fn symptom(incident: &Incident) -> Value {
    let text = block(&incident.symptom);
    let mut gaps = Vec::new();
    if text.is_empty() {
        gaps.push(
            "no symptom is recorded: test output, error message, log line or figure, word for word."
                .to_owned(),
        );
    }
    let environment = block(&incident.environment);
    if environment.is_empty() {
        gaps.push("nobody recorded where it was observed: hardware, versions, workload.".to_owned());
    }
    let stored = incident
        .evidence
        .iter()
        // What a passing run printed is no symptom.
        .filter(|e| e.attempt.is_none() && e.name != "repro-pass.log")
        .map(evidence)
        .collect();
    json!({
        "text": text,
        "source": event(incident.symptom.set_by()),
        "environment": environment,
        "environment_source": event(incident.environment.set_by()),
        "evidence": cut(stored, 12),
        "gaps": gaps,
    })
}

pub(super) fn cause(input: &DraftInput<'_>) -> Value {
    let incident = input.incident;
    let mut gaps = Vec::new();
    let mut text = String::new();
    let mut source = String::new();
    match incident.cause() {
        Some(cause) if cause.state == CauseState::Confirmed => {
            text = block(&cause.text);
            source = format!("{}, confirmed by {}", event(Some(cause.proposed.event)), event(cause.state_by));
            if !cause.rivals.is_empty() {
                let rivals: Vec<&str> = cause.rivals.iter().map(|s| s.as_str()).collect();
                gaps.push(format!(
                    "the verdict is disputed: {} was recorded at the same time.",
                    rivals.join(", ")
                ));
            }
        }
        Some(cause) if cause.state == CauseState::Proposed => gaps.push(sentence(format!(
            "no root cause is confirmed. Proposed only ({}): {}",
            event(Some(cause.proposed.event)),
            line(&cause.text)
        ))),
        _ => gaps.push("no root cause is confirmed.".to_owned()),
    }
    let offending: Vec<String> = input
        .offending
        .iter()
        .map(|c| sentence(commit(input.web, c)))
        .chain(unresolved(incident, Role::Offending, input))
        .collect();
    if offending.is_empty() {
        gaps.push(
            "no commit is linked as the one that brought it (`git incident link COMMIT --as offending`)."
                .to_owned(),
        );
    }
    let files = incident
        .files
        .iter()
        .map(|f| {
            let note = line(&f.note);
            let dash = if note.is_empty() { "" } else { ": " };
            format!("{}{dash}{note}", markdown::code(&f.path, 200))
        })
        .collect();
    json!({
        "text": text,
        "source": source,
        "offending": cut(offending, MOST),
        "files": cut(files, MOST),
        "files_source": event(incident.files.set_by()),
        "gaps": gaps,
    })
}

/// Links in force whose commit the caller did not find.
fn unresolved(incident: &Incident, role: Role, input: &DraftInput<'_>) -> Vec<String> {
    let known: Vec<_> = input.fixes.iter().chain(input.offending).map(|c| &c.commit).collect();
    incident
        .links_as(role)
        .filter(|link| !known.contains(&&link.commit))
        .map(|link| {
            format!(
                "commit `{}` {} (not found in this repository).",
                link.commit.short(),
                line(&link.subject)
            )
        })
        .collect()
}

pub(super) fn mechanism(incident: &Incident) -> Value {
    let confirmed = incident.cause().filter(|c| c.state == CauseState::Confirmed);
    let text = confirmed.map(|c| block(&c.mechanism)).unwrap_or_default();
    let mut gaps = Vec::new();
    if text.is_empty() {
        gaps.push("nobody recorded how the cause leads to the symptom.".to_owned());
    }
    let case = |name: &str, otherwise: &str| {
        if name.trim().is_empty() { otherwise.to_owned() } else { line(name) }
    };
    let differences = incident
        .differences
        .iter()
        .map(|d| {
            let ruled_out = if d.eliminated { " (shown not to matter)" } else { "" };
            format!(
                "{}: {} against {}{ruled_out}, {}",
                line(&d.factor),
                line(&d.working),
                line(&d.broken),
                event(Some(d.set_by))
            )
        })
        .collect();
    json!({
        "text": text,
        "source": confirmed.map(|c| event(c.state_by.or(Some(c.proposed.event)))),
        "working": case(&incident.working_case, "the working case"),
        "broken": case(&incident.broken_case, "the broken one"),
        "differences": cut(differences, MOST),
        "gaps": gaps,
    })
}

/// Attempts that a fix link names, then those that ended with the bug gone.
fn fixing(incident: &Incident) -> Vec<&Attempt> {
    let linked = |a: &Attempt| incident.links_as(Role::Fix).any(|l| l.attempt == Some(a.started.event));
    let gone = |a: &Attempt| a.ended.is_some() && a.outcome.bug == Bug::Fixed;
    incident.attempts.iter().filter(|a| linked(a) || gone(a)).collect()
}

pub(super) fn fix(input: &DraftInput<'_>) -> Value {
    let incident = input.incident;
    let mut gaps = Vec::new();
    let mut commits: Vec<String> = input.fixes.iter().map(|c| sentence(commit(input.web, c))).collect();
    commits.extend(unresolved(incident, Role::Fix, input));
    if input.fixes.is_empty() {
        gaps.push(
            "no commit that resolves is linked as the fix (`git incident link COMMIT --as fix`).".to_owned(),
        );
    }
    let files =
        input.changed.iter().map(|f| format!("{} ({})", markdown::code(&f.path, 200), f.size())).collect();

    let accounts = incident.cause().map(|c| c.accounts.as_slice()).unwrap_or_default();
    let mut reasons = Vec::new();
    let mut explained = false;
    for tried in fixing(incident).into_iter().take(MOST) {
        if !tried.action.trim().is_empty() {
            reasons.push(sentence(format!("What was done ({}): {}", attempt(tried), line(&tried.action))));
        }
        let how = accounts.iter().find(|a| a.attempt == tried.started.event && !a.how.trim().is_empty());
        if let Some(account) = how {
            explained = true;
            reasons.push(sentence(format!(
                "How the cause accounts for it ({}): {}",
                attempt(tried),
                line(&account.how)
            )));
        }
    }
    if !explained {
        gaps.push(
            "nobody recorded why this change addresses the root cause rather than hiding the symptom."
                .to_owned(),
        );
    }

    let mut earlier = Vec::new();
    for role in [Role::Failed, Role::Partial, Role::Revert] {
        for link in incident.links_as(role) {
            let (text, gap) = earlier_fix(input, link);
            earlier.push(text);
            gaps.extend(gap);
        }
    }
    json!({
        "commits": cut(commits, MOST),
        "files": cut(files, MOST),
        "reasons": reasons,
        "earlier": cut(earlier, MOST),
        "gaps": cut(gaps, MOST),
    })
}

/// A change that did not fix it, and what was wrong with it.
fn earlier_fix(input: &DraftInput<'_>, link: &Link) -> (String, Option<String>) {
    let incident = input.incident;
    let short = link.commit.short();
    let pr = pull_request(input.web, &link.pr);
    let pr = if pr.is_empty() { pr } else { format!(", {pr}") };
    let name = commit_name(input.web, &link.commit);
    let text = format!("commit {name} {} ({}{pr})", line(&link.subject), link.role);
    let tried = link.attempt.and_then(|id| incident.attempt(id));
    let conclusion = tried.map(|a| line(&a.conclusion)).unwrap_or_default();
    match (tried, conclusion.is_empty()) {
        (Some(tried), false) => (sentence(format!("{text}, {}: {conclusion}", attempt(tried))), None),
        _ if link.role == Role::Revert => (sentence(text), None),
        _ => (sentence(text), Some(format!("nobody recorded what was wrong with commit `{short}`."))),
    }
}

/// The text of a cause, in one line.
pub(super) fn confirmed_text(incident: &Incident, cause: EventId) -> Option<String> {
    incident.causes.iter().find(|c| c.proposed.event == cause).map(|c| line(&c.text))
}

/// The cause's experiment: used by the block on how it was found.
pub(super) fn confirming(incident: &Incident) -> Option<String> {
    let cause = incident.cause().filter(|c| c.state == CauseState::Confirmed)?;
    let id = cause.disproof?;
    let mut text = format!("{}.", attempt_named(incident, id));
    if let Some(tried) = incident.attempt(id) {
        for (label, what) in [("It would have been disproved by", &tried.disproof), ("Result", &tried.result)]
        {
            if !what.trim().is_empty() {
                text = format!("{text} {}", sentence(format!("{label}: {}", line(what))));
            }
        }
    }
    Some(text)
}
