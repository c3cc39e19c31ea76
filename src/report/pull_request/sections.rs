//! The sections that speak of the bug and the change. An empty text leaves its section out.

use super::PullRequestInput;
use super::limits::{Limits, join, list};
use crate::model::incident::{Attempt, Note};
use crate::model::markdown;
use crate::model::outcome::Hypothesis;
use crate::model::status::{CauseState, Role};

pub(super) fn attempt(tried: &Attempt) -> String {
    format!("attempt {}, `{}`", tried.ordinal, tried.started.event.short())
}

/// The first paragraph of the symptom.
pub(super) fn symptom(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let symptom = markdown::clean(&input.incident.symptom);
    limits.line(symptom.trim().split("\n\n").next().unwrap_or_default())
}

/// What happened; only the names when the template's own heading `told` the rest.
pub(super) fn summary(input: &PullRequestInput<'_>, limits: Limits, told: bool) -> String {
    let incident = input.incident;
    let mut facts = Vec::new();
    if let Some(id) = &incident.id {
        facts.push(format!("Incident `{}`", id.short()));
    }
    if !incident.ticket.trim().is_empty() {
        facts.push(format!("ticket {}", limits.line(&incident.ticket)));
    }
    if !input.agents.is_empty() {
        let agents: Vec<String> = input.agents.iter().take(limits.people).map(|a| limits.line(a)).collect();
        facts.push(format!("worked on with {}", agents.join(", ")));
    }
    if told {
        return facts.join(", ");
    }
    join(&[limits.line(&incident.title), symptom(input, limits), facts.join(", ")])
}

pub(super) fn root_cause(input: &PullRequestInput<'_>, limits: Limits) -> String {
    match input.incident.cause() {
        Some(cause) if cause.state == CauseState::Confirmed => {
            let disputed = if cause.rivals.is_empty() {
                String::new()
            } else {
                "This verdict is disputed in the record.".to_owned()
            };
            join(&[limits.block(&cause.text), limits.block(&cause.mechanism), disputed])
        }
        Some(cause) if cause.state == CauseState::Proposed => {
            join(&["Not confirmed. Proposed:".to_owned(), limits.block(&cause.text)])
        }
        _ => "Not confirmed: the record names no root cause.".to_owned(),
    }
}

pub(super) fn changes(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let commits = list(input.fixes, limits.commits, |fix| {
        let link = input.incident.links_as(Role::Fix).find(|l| l.commit == fix.commit);
        let tried = link.and_then(|l| l.attempt).and_then(|id| input.incident.attempt(id));
        let what = tried
            .filter(|a| !a.action.trim().is_empty())
            .map_or_else(String::new, |a| format!(" ({}: {})", attempt(a), limits.line(&a.action)));
        format!("`{}` {}{what}", fix.commit.short(), limits.line(&fix.subject))
    });
    // With one commit its subject says it already.
    let several = input.fixes.len() > 1;
    let files = list(input.changed, limits.files, |file| {
        let touches = |f: &&crate::model::change::CommitFacts| several && f.paths.contains(&file.path);
        let subjects: Vec<String> =
            input.fixes.iter().filter(touches).map(|f| limits.line(&f.subject)).take(3).collect();
        let colon = if subjects.is_empty() { "" } else { ": " };
        format!("{} ({}){colon}{}", limits.code(&file.path), file.size(), subjects.join("; "))
    });
    if commits.is_empty() && files.is_empty() {
        return "No commit is linked as the fix.".to_owned();
    }
    // Without words between them the two would be one list.
    let between = if commits.is_empty() || files.is_empty() { String::new() } else { "Files:".to_owned() };
    join(&[commits, between, files])
}

/// Recorded figures only: notes about `performance` (with `before` or `after` where they say so), and
/// stored samples.
pub(super) fn performance(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let incident = input.incident;
    let about = |note: &Note, word: &str| note.about.iter().any(|a| a.eq_ignore_ascii_case(word));
    let of_attempts = incident.attempts.iter().flat_map(|a| a.notes.iter().map(move |n| (Some(a), n)));
    let notes: Vec<(Option<&Attempt>, &Note)> = of_attempts
        .chain(incident.notes.iter().map(|n| (None, n)))
        .filter(|(_, note)| about(note, "performance") && !note.text.trim().is_empty())
        .collect();
    let notes = list(&notes, limits.figures, |(tried, note)| {
        let label = match (about(note, "before"), about(note, "after")) {
            (true, false) => "**Before:** ",
            (false, true) => "**After:** ",
            _ => "",
        };
        let source = tried.map_or_else(|| format!("event `{}`", note.stamp.event.short()), attempt);
        format!("{label}{} ({source})", limits.line(&note.text))
    });
    let samples: Vec<_> = incident.evidence.iter().filter(|e| e.kind == "samples" && !e.erased).collect();
    let samples = list(&samples, limits.figures, |e| {
        let key = e.oid.as_ref().map_or_else(String::new, |oid| format!("`{}` ", oid.short()));
        format!("Samples: evidence {key}{}", limits.code(&e.name))
    });
    let between = if notes.is_empty() || samples.is_empty() { "" } else { "\n" };
    format!("{notes}{between}{samples}")
}

pub(super) fn attempts(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let ruled_out: Vec<&Attempt> = input
        .incident
        .attempts
        .iter()
        .filter(|a| a.failed() || (a.ended.is_some() && a.outcome.hypothesis == Hypothesis::Refuted))
        .collect();
    let count = ruled_out.len();
    if count == 0 {
        return String::new();
    }
    let points = list(&ruled_out, limits.attempts, |a| {
        let why = if a.conclusion.trim().is_empty() {
            "nobody recorded why".to_owned()
        } else {
            limits.line(&a.conclusion)
        };
        let hypothesis = if a.hypothesis.trim().is_empty() { a.headline() } else { &a.hypothesis };
        format!(
            "{} ({}; hypothesis {}, bug {}): {why}",
            limits.line(hypothesis),
            attempt(a),
            a.outcome.hypothesis,
            a.outcome.bug
        )
    });
    folded(&format!("{count} {}", if count == 1 { "attempt" } else { "attempts" }), &points)
}

/// Folded away. The summary is ours, never foreign text.
pub(super) fn folded(summary: &str, text: &str) -> String {
    format!("<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>")
}

pub(super) fn workflows(input: &PullRequestInput<'_>, limits: Limits) -> String {
    list(input.workflows, limits.workflows, |w| {
        let required = if w.required { " (required)" } else { "" };
        format!(
            "[ ] {}{required}, {}: {}",
            limits.line(&w.name),
            limits.code(&w.file),
            limits.line(&w.reason)
        )
    })
}

/// People to ask. Handles are shown as code: a description that calls everybody whom CODEOWNERS names would
/// ask them all at once, and asking is for the person who opens the request.
pub(super) fn developers(input: &PullRequestInput<'_>, limits: Limits) -> String {
    list(input.developers, limits.people, |d| {
        let name = if d.name.starts_with('@') { limits.code(&d.name) } else { limits.line(&d.name) };
        format!("{name}: {}", limits.line(&d.reason))
    })
}
