//! Writes an incident as a section of a debug log.

use crate::model::outcome::{Bug, Hypothesis};
use crate::model::status::Status;

use super::classify;
use super::lines::{self, Place};
use super::{LoggedAttempt, LoggedFile, LoggedIncident, normalise, outcome, parts, table};

/// Writes one incident, from its `###` heading to a final newline. What is written is the
/// [normal form](normalise) of the incident.
#[must_use]
pub fn print(incident: &LoggedIncident) -> String {
    let incident = normalise(incident);
    let mut parts = vec![head(&incident)];
    let inferred = outcome::infer(incident.status, &incident.attempts);
    let attempts: Vec<String> =
        incident.attempts.iter().zip(inferred).map(|(one, inferred)| attempt(one, inferred)).collect();
    if !attempts.is_empty() {
        parts.push(attempts.join("\n\n"));
    }
    if let Some((heading, table)) =
        table::print(&incident.working_case, &incident.broken_case, &incident.differences)
    {
        let heading = format!("#### {}", lines::escape_closing(&heading));
        parts.push(if table.is_empty() { heading } else { format!("{heading}\n\n{table}") });
    }
    if !incident.next.is_empty() || !incident.next_preface.is_empty() {
        parts.push(next(&incident));
    }
    for note in &incident.notes {
        let heading = format!("#### {}", title(&note.heading));
        let text = lines::escape(&note.text, Place::Note);
        parts.push(if text.is_empty() { heading } else { format!("{heading}\n\n{text}") });
    }
    parts.join("\n\n---\n\n") + "\n"
}

fn title(title: &str) -> String {
    lines::escape_closing(&classify::escape_title(title))
}

fn head(incident: &LoggedIncident) -> String {
    let mut paragraphs = vec![format!("### {}", title(&incident.title))];
    let word = match incident.status {
        Status::Open => "Open",
        Status::Resolved => "Resolved",
        Status::Blocked => "Blocked",
        Status::WontFix => "Won't fix",
    };
    let note = &incident.status_note;
    let note = if note.is_empty() { String::new() } else { format!(" \u{2014} {note}") };
    paragraphs.push(format!("**Status:** {word}{note}"));
    if let Some(ticket) = &incident.ticket {
        paragraphs.push(format!("**Ticket:** {}", lines::escape(ticket, Place::Head)));
    }
    paragraphs.extend(labelled("Symptom", &incident.symptom, Place::Head));
    // Files join the environment's list where it is one, and get a label of their own otherwise.
    let listed = incident.environment.starts_with("- ");
    let files: Vec<String> = incident.files.iter().map(file).collect();
    let environment = labelled("Environment", &incident.environment, Place::Environment);
    if listed && !files.is_empty() {
        let bullets: Vec<String> = files.iter().map(|file| format!("  {file}")).collect();
        let environment = environment.unwrap_or_default();
        paragraphs.push(format!("{environment}\n- Related files:\n{}", bullets.join("\n")));
    } else {
        paragraphs.extend(environment);
        if !files.is_empty() {
            paragraphs.push(format!("**Related files:**\n{}", files.join("\n")));
        }
    }
    paragraphs.extend(labelled("Root cause", &incident.root_cause, Place::Head));
    paragraphs.extend(labelled("Fix", &incident.fix, Place::Head));
    paragraphs.join("\n\n")
}

/// A label and its text: on one line where the text starts as prose, below it where it starts as a
/// block (a list, a fence, a table, a quotation).
fn labelled(label: &str, text: &str, place: Place) -> Option<String> {
    let first = text.split('\n').next().filter(|first| !first.is_empty())?;
    let block = first.starts_with([' ', '\t', '|', '>', '#', '<'])
        || lines::item(first).is_some()
        || lines::covered(&[first]).1 == [0]
        || classify::bold_label(first).is_some();
    let gap = if block { '\n' } else { ' ' };
    Some(format!("**{label}:**{gap}{}", lines::escape(text, place)))
}

fn file(file: &LoggedFile) -> String {
    let longest = file.path.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let pad = if file.path.starts_with('`') || file.path.ends_with('`') { " " } else { "" };
    let note = if file.note.is_empty() { String::new() } else { format!(" \u{2014} {}", file.note) };
    format!("- {ticks}{pad}{}{pad}{ticks}{note}", file.path)
}

fn attempt(attempt: &LoggedAttempt, inferred: (Hypothesis, Bug)) -> String {
    let heading = match attempt.title.as_str() {
        "" => format!("Attempt {}", attempt.ordinal),
        title => format!("Attempt {}: {title}", attempt.ordinal),
    };
    let parts = [
        ("Hypothesis", &attempt.hypothesis),
        ("What would disprove it", &attempt.disproof),
        ("What we did", &attempt.action),
        ("Result", &attempt.result),
        ("Conclusion", &attempt.conclusion),
    ];
    let mut lines: Vec<String> =
        parts.into_iter().filter_map(|(label, text)| labelled(label, text, Place::Attempt)).collect();
    if inferred != (attempt.hypothesis_outcome, attempt.bug_outcome) {
        lines.push(format!("**Outcome:** {}; bug {}", attempt.hypothesis_outcome, attempt.bug_outcome));
    }
    let heading = format!("#### {}", lines::escape_closing(&heading));
    if lines.is_empty() { heading } else { format!("{heading}\n\n{}", lines.join("\n")) }
}

fn next(incident: &LoggedIncident) -> String {
    let mut paragraphs = vec!["#### What to Try Next".to_owned()];
    if !incident.next_preface.is_empty() {
        paragraphs.push(lines::escape(&incident.next_preface, Place::Preface));
    }
    for (at, item) in incident.next.iter().enumerate() {
        let marker = format!("{}. ", at + 1);
        let tick = match (item.done, parts::struck(&item.text)) {
            (true, _) => "[x] ",
            (false, true) => "[ ] ",
            (false, false) => "",
        };
        let text = lines::escape(&item.text, Place::Step);
        let mut lines = text.split('\n');
        let mut out = format!("{marker}{tick}{}", lines.next().unwrap_or_default());
        for line in lines {
            out.push('\n');
            if !line.is_empty() {
                out.push_str(&" ".repeat(marker.len()));
                out.push_str(line);
            }
        }
        paragraphs.push(out);
    }
    paragraphs.join("\n\n")
}
