//! The blocks that people say: impact, detection, timeline, why it slipped through, lessons, open questions, action
//! items, owner.

use serde_json::{Value, json};

use super::DraftInput;
use super::facts::confirmed_text;
use super::sources::{attempt, block, commit_name, cut, event, line, pull_request, sentence};
use crate::model::Timestamp;
use crate::model::incident::{Incident, Note, ReviewNote, Turn};
use crate::model::status::{NextState, Role, Status};

/// Points of one list.
const MOST: usize = 100;

/// The reasons why a bug slipped through, as the ledger names them and as the document does.
pub const REASONS: [(&str, &str); 6] = [
    ("ci-gap", "CI gap"),
    ("latent-code", "latent code"),
    ("workload-gap", "workload gap"),
    ("incomplete-prior-fix", "incomplete prior fix"),
    ("review-miss", "review miss"),
    ("none", "none"),
];

fn source(note: &ReviewNote) -> String {
    event(Some(note.stamp.event))
}

/// Paragraphs with their sources, and the gap when there are none.
fn said(incident: &Incident, name: &str, gap: &str) -> Value {
    let texts: Vec<Value> = incident
        .review_of(name)
        .take(MOST)
        .filter(|n| !n.text.trim().is_empty())
        .map(|n| json!({"text": block(&n.text), "source": source(n)}))
        .collect();
    let gaps: Vec<String> = if texts.is_empty() { vec![gap.to_owned()] } else { Vec::new() };
    json!({"texts": texts, "gaps": gaps})
}

/// Points with their sources, and the gap when there are none.
fn points(incident: &Incident, name: &str, gap: &str) -> Value {
    let (none, points): (Vec<_>, Vec<_>) =
        incident.review_of(name).filter(|n| !n.text.trim().is_empty()).partition(|n| n.none);
    let items = points.iter().map(|n| format!("{} ({})", line(&n.text), source(n))).collect();
    let none = none.last().filter(|_| points.is_empty());
    let gaps: Vec<String> =
        if points.is_empty() && none.is_none() { vec![gap.to_owned()] } else { Vec::new() };
    json!({"items": cut(items, MOST), "none": none.map(|n| nothing(n)), "gaps": gaps})
}

fn nothing(note: &ReviewNote) -> String {
    sentence(format!("None: {} ({})", line(&note.text), source(note)))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Who owns the fix: who was named, else who wrote it.
pub(super) fn owner(input: &DraftInput<'_>) -> Option<String> {
    if let Some(named) = input.incident.review_of("owner").filter(|n| !n.text.trim().is_empty()).last() {
        return Some(format!("{} ({})", line(&named.text), source(named)));
    }
    let fix = input.fixes.last().filter(|f| !f.author.trim().is_empty())?;
    Some(format!("{} (author of the fix, {})", line(&fix.author), commit_name(input.web, &fix.commit)))
}

pub(super) fn impact(incident: &Incident) -> Value {
    said(
        incident,
        "impact",
        "nobody recorded who was affected, how much and for how long (`git incident postmortem note impact \"…\"`).",
    )
}

pub(super) fn detection(incident: &Incident) -> Value {
    let mut value = said(
        incident,
        "detection",
        "nobody recorded how it was noticed, and how long it had been there by then (`git incident postmortem note detection \"…\"`).",
    );
    value["opened"] = incident
        .opened
        .as_ref()
        .map(|s| format!("{} UTC ({})", s.at.to_minute(), event(Some(s.event))))
        .into();
    value
}

pub(super) fn lessons(incident: &Incident) -> Value {
    points(
        incident,
        "lesson",
        "nobody recorded what went well, what went badly, and where it was luck (`git incident postmortem note lesson \"…\"`).",
    )
}

pub(super) fn questions(incident: &Incident) -> Value {
    points(
        incident,
        "question",
        "nobody recorded what is still unknown, or that nothing is (`git incident postmortem note question \"…\"`).",
    )
}

pub(super) fn timeline(input: &DraftInput<'_>) -> Value {
    let incident = input.incident;
    let mut moments: Vec<(Timestamp, String, String)> = Vec::new();
    let mut add = |at: Timestamp, text: String, source: String| moments.push((at, text, source));
    if let Some(opened) = &incident.opened {
        add(opened.at, "The incident was opened".to_owned(), event(Some(opened.event)));
    }
    let important = |n: &&Note| n.important;
    let told = |n: &Note| {
        let ran = n.run.as_ref().map(|r| crate::model::describe::command(&r.argv));
        if n.text.trim().is_empty() { ran.map(|c| format!("Ran {c}")) } else { Some(n.text.clone()) }
    };
    for tried in &incident.attempts {
        for note in tried.notes.iter().filter(important) {
            add(note.stamp.at, line(&told(note).unwrap_or_default()), attempt(tried));
        }
    }
    for note in incident.notes.iter().filter(important) {
        add(note.stamp.at, line(&told(note).unwrap_or_default()), event(Some(note.stamp.event)));
    }
    for note in incident.review_of("timeline") {
        add(note.happened.unwrap_or(note.stamp.at), line(&note.text), source(note));
    }
    for milestone in &incident.milestones {
        let text = match milestone.what {
            Turn::CauseConfirmed(cause) => match confirmed_text(incident, cause) {
                Some(text) => format!("The root cause was confirmed: {text}"),
                None => "A root cause was confirmed".to_owned(),
            },
            Turn::Status(Status::Open) => "The incident was reopened".to_owned(),
            Turn::Status(status) => format!("The incident was closed as {status}"),
        };
        add(milestone.stamp.at, text, event(Some(milestone.stamp.event)));
    }
    for link in incident.links_as(Role::Fix) {
        add(
            link.stamp.at,
            format!("The fix was linked: {}", line(&link.subject)),
            commit_name(input.web, &link.commit),
        );
    }
    moments.sort_by_key(|m| m.0);
    let items = moments
        .into_iter()
        .map(|(at, text, source)| format!("{} UTC: {} ({source})", at.to_minute(), sentence(text)))
        .collect();
    let marked = incident.review_of("timeline").next().is_some()
        || incident.notes.iter().chain(incident.attempts.iter().flat_map(|a| &a.notes)).any(|n| n.important);
    let gaps: Vec<&str> = if marked {
        Vec::new()
    } else {
        vec![
            "nobody marked anything else as important (`git incident attempt note --important \"…\"`), and nobody recorded when it began, was noticed and ended for those affected (`git incident postmortem note timeline --at TIME \"…\"`).",
        ]
    };
    json!({"items": cut(items, MOST), "gaps": gaps})
}

pub(super) fn slipped(input: &DraftInput<'_>) -> Value {
    let incident = input.incident;
    let opened = incident.opened.as_ref().map(|s| s.at.to_date());
    let known = input.offending.iter().find(|c| !c.date.trim().is_empty()).map(|c| {
        let opened = opened.map_or_else(String::new, |day| format!("; the incident was opened on {day}"));
        format!(
            "Commit {}, linked as the one that brought it, is dated {}{opened}.",
            commit_name(input.web, &c.commit),
            line(&c.date)
        )
    });
    let mut reasons = Vec::new();
    let mut gaps = Vec::new();
    for note in incident.review_of("slipped").take(MOST) {
        let Some((word, words)) = REASONS.iter().find(|(word, _)| *word == note.reason) else { continue };
        let words = if *word == "none" { "No good reason".to_owned() } else { capital(words) };
        let text = if note.text.trim().is_empty() {
            gaps.push(format!("nobody recorded what the gap was: {words}."));
            String::new()
        } else {
            format!(" {}", sentence(line(&note.text)))
        };
        reasons.push(format!("**{words}.**{text} ({})", source(note)));
    }
    if reasons.is_empty() {
        let words: Vec<&str> = REASONS.iter().map(|(_, words)| *words).collect();
        gaps.push(format!(
            "nobody recorded why it slipped through. Pick the real reason: {} (`git incident postmortem note slipped --reason ci-gap \"…\"`).",
            words.join(" · ")
        ));
    }
    json!({ "known": known, "reasons": reasons, "gaps": gaps })
}

pub(super) fn actions(input: &DraftInput<'_>) -> Value {
    let incident = input.incident;
    let ideas = incident
        .next
        .iter()
        .filter(|n| n.state == NextState::Open)
        .map(|n| format!("{} ({})", line(&n.text), event(Some(n.added.event))))
        .collect();
    let (none, items): (Vec<_>, Vec<_>) =
        incident.review_of("action").filter(|n| !n.text.trim().is_empty()).partition(|n| n.none);
    let mut gaps = Vec::new();
    let mut lines = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let mut parts = vec![sentence(line(&item.text))];
        for (label, value, lacks) in [
            ("Owner", line(&item.owner), "owner"),
            ("Tracked in", pull_request(input.web, &item.link), "tracking link"),
        ] {
            if value.is_empty() {
                gaps.push(format!("action item {} has no {lacks}.", i + 1));
            } else {
                parts.push(format!("{label}: {value}."));
            }
        }
        lines.push(format!("{} ({})", parts.join(" "), source(item)));
    }
    let none = none.last().filter(|_| items.is_empty());
    if items.is_empty() && none.is_none() {
        gaps.push("no action item is recorded. Write each as what, owner and tracking link (`git incident postmortem note action \"…\" --owner WHO --link WHERE`), or that there is none and why the fix is enough (`--none`).".to_owned());
    }
    json!({
        "items": cut(lines, MOST),
        "none": none.map(|n| nothing(n)),
        "ideas": cut(ideas, MOST),
        "gaps": cut(gaps, MOST),
    })
}
