//! The sections that speak of the bug and the change. An empty text leaves its section out.

use super::{Limits, PullRequestInput};
use crate::model::incident::{Attempt, Note};
use crate::model::markdown::{self, Place};
use crate::model::outcome::Hypothesis;
use crate::model::status::{CauseState, Role};

impl Limits {
    pub(super) fn line(self, text: &str) -> String {
        markdown::line(text, self.line, Place::Forge)
    }

    pub(super) fn block(self, text: &str) -> String {
        markdown::block(text, self.block, Place::Forge)
    }

    pub(super) fn code(self, text: &str) -> String {
        markdown::code(text, self.line)
    }

    /// A list with a point for each item, cut.
    pub(super) fn list(self, items: Vec<String>) -> String {
        let more = items.len().saturating_sub(self.items);
        let mut lines: Vec<String> = items.into_iter().take(self.items).map(|i| format!("- {i}")).collect();
        if more > 0 {
            lines.push(format!("- …and {more} more"));
        }
        lines.join("\n")
    }
}

pub(super) fn join(parts: Vec<String>) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
    parts.join("\n\n")
}

pub(super) fn attempt(tried: &Attempt) -> String {
    format!("attempt {}, `{}`", tried.ordinal, tried.started.event.short())
}

pub(super) fn summary(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let incident = input.incident;
    let symptom = markdown::clean(&incident.symptom);
    let first = symptom.trim().split("\n\n").next().unwrap_or_default();
    let mut facts = Vec::new();
    if let Some(id) = &incident.id {
        facts.push(format!("Incident `{}`", id.short()));
    }
    if !incident.ticket.trim().is_empty() {
        facts.push(format!("ticket {}", limits.line(&incident.ticket)));
    }
    if let Some(drafted) = incident.postmortems.last() {
        facts.push(format!("post-mortem {}", limits.code(&drafted.place)));
    }
    join(vec![limits.line(&incident.title), limits.line(first), facts.join(", ")])
}

pub(super) fn root_cause(input: &PullRequestInput<'_>, limits: Limits) -> String {
    match input.incident.cause() {
        Some(cause) if cause.state == CauseState::Confirmed => {
            let disputed = if cause.rivals.is_empty() {
                String::new()
            } else {
                "This verdict is disputed in the record.".to_owned()
            };
            join(vec![limits.block(&cause.text), limits.block(&cause.mechanism), disputed])
        }
        Some(cause) if cause.state == CauseState::Proposed => {
            join(vec!["Not confirmed. Proposed:".to_owned(), limits.block(&cause.text)])
        }
        _ => "Not confirmed: the record names no root cause.".to_owned(),
    }
}

pub(super) fn changes(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let commits = input
        .fixes
        .iter()
        .map(|fix| {
            let link = input.incident.links_as(Role::Fix).find(|l| l.commit == fix.commit);
            let tried = link.and_then(|l| l.attempt).and_then(|id| input.incident.attempt(id));
            let what = tried
                .filter(|a| !a.action.trim().is_empty())
                .map_or_else(String::new, |a| format!(" ({}: {})", attempt(a), limits.line(&a.action)));
            format!("`{}` {}{what}", fix.commit.short(), limits.line(&fix.subject))
        })
        .collect();
    // With one commit its subject says it already.
    let several = input.fixes.len() > 1;
    let files = input
        .changed
        .iter()
        .map(|file| {
            let subjects: Vec<String> = input
                .fixes
                .iter()
                .filter(|f| several && f.paths.contains(&file.path))
                .map(|f| limits.line(&f.subject))
                .take(3)
                .collect();
            let colon = if subjects.is_empty() { "" } else { ": " };
            format!("{} ({}){colon}{}", limits.code(&file.path), file.size(), subjects.join("; "))
        })
        .collect();
    let (commits, files) = (limits.list(commits), limits.list(files));
    if commits.is_empty() && files.is_empty() {
        return "No commit is linked as the fix.".to_owned();
    }
    // Without words between them the two would be one list.
    let between = if commits.is_empty() || files.is_empty() { String::new() } else { "Files:".to_owned() };
    join(vec![commits, between, files])
}

/// Recorded figures only: notes about `performance` (with `before` or `after` where they say so), and
/// stored samples.
pub(super) fn performance(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let incident = input.incident;
    let about = |note: &Note, word: &str| note.about.iter().any(|a| a.eq_ignore_ascii_case(word));
    let of_attempts = incident.attempts.iter().flat_map(|a| a.notes.iter().map(move |n| (Some(a), n)));
    let mut items: Vec<String> = of_attempts
        .chain(incident.notes.iter().map(|n| (None, n)))
        .filter(|(_, note)| about(note, "performance") && !note.text.trim().is_empty())
        .map(|(tried, note)| {
            let label = match (about(note, "before"), about(note, "after")) {
                (true, false) => "**Before:** ",
                (false, true) => "**After:** ",
                _ => "",
            };
            let source = tried.map_or_else(|| format!("event `{}`", note.stamp.event.short()), attempt);
            format!("{label}{} ({source})", limits.line(&note.text))
        })
        .collect();
    items.extend(incident.evidence.iter().filter(|e| e.kind == "samples" && !e.erased).map(|e| {
        let key = e.oid.as_ref().map_or_else(String::new, |oid| format!("`{}` ", oid.short()));
        format!("Samples: evidence {key}{}", limits.code(&e.name))
    }));
    limits.list(items)
}

pub(super) fn attempts(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let ruled_out: Vec<String> = input
        .incident
        .attempts
        .iter()
        .filter(|a| a.failed() || (a.ended.is_some() && a.outcome.hypothesis == Hypothesis::Refuted))
        .map(|a| {
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
        })
        .collect();
    let count = ruled_out.len();
    if count == 0 {
        return String::new();
    }
    let attempts = if count == 1 { "attempt" } else { "attempts" };
    format!("<details>\n<summary>{count} {attempts}</summary>\n\n{}\n\n</details>", limits.list(ruled_out))
}

pub(super) fn workflows(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let items = input
        .workflows
        .iter()
        .map(|w| {
            let required = if w.required { " (required)" } else { "" };
            format!(
                "[ ] {}{required}, {}: {}",
                limits.line(&w.name),
                limits.code(&w.file),
                limits.line(&w.reason)
            )
        })
        .collect();
    limits.list(items)
}

pub(super) fn developers(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let items = input
        .developers
        .iter()
        .map(|d| {
            // A handle that CODEOWNERS names is meant to reach its owner; anything else is only a name.
            let handle = d.name.strip_prefix('@').is_some_and(|h| {
                h.len() <= 100 && h.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b))
            });
            let name = if handle { d.name.clone() } else { limits.line(&d.name) };
            format!("{name}: {}", limits.line(&d.reason))
        })
        .collect();
    limits.list(items)
}
