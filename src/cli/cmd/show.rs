//! `show`: everything an incident's ledger says.

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::model::incident::{Attempt, Incident, Note};
use crate::model::outcome::{Bug, Hypothesis};
use crate::model::rate;
use crate::model::status::NextState;
use crate::model::time::human_duration;
use crate::model::{Result, command_line};
use crate::report::standing::Standing;
use crate::report::views;

use super::list::{one_line, status_style};

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id (7 digits or more) or ticket; the active one when left out
    pub incident: Option<String>,
}

/// Shows it.
///
/// # Errors
/// No such incident.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let (_, incident) = session.named_incident(args.incident.as_deref())?;
    let incident = session.with_reverts(incident);
    let standing = session.standing(&incident);
    Ok(Reply::new(views::incident(&incident, &standing), text(&incident, &standing)).paged())
}

fn text(incident: &Incident, standing: &Standing) -> Text {
    let mut text = heading(incident);
    text.field("Symptom", &incident.symptom);
    text.field("Environment", &incident.environment);
    let files: Vec<String> = incident
        .files
        .iter()
        .map(|f| if f.note.is_empty() { f.path.clone() } else { format!("{}: {}", f.path, f.note) })
        .collect();
    text.field("Files", &files.join("\n"));
    text.field("Labels", &incident.labels.join(", "));
    text.field("Gaps", &incident.gaps.join("\n"));
    text.field("Repro", &repro_line(incident, standing));
    if let Some(cause) = incident.cause() {
        text.field("Cause", &format!("{} ({})", cause.text, cause.state));
    }
    for link in incident.links.iter().filter(|l| !l.unlinked) {
        let attempt = link
            .attempt
            .and_then(|a| incident.attempt(a))
            .map_or_else(String::new, |a| format!(" (attempt {})", a.ordinal));
        let reverted =
            link.reverted_by.as_ref().map_or_else(String::new, |by| format!(", reverted by {}", by.short()));
        text.field(
            "Commit",
            &format!("{} {}{attempt}{reverted} {}", link.commit.short(), link.role, link.subject),
        );
    }
    for attempt in &incident.attempts {
        attempt_text(&mut text, incident, attempt);
    }
    notes_text(&mut text, &incident.notes, "Notes");
    review_text(&mut text, incident);
    differences_text(&mut text, incident);
    next_text(&mut text, incident);
    evidence_text(&mut text, incident);
    trouble_text(&mut text, incident);
    text
}

/// Id, status, ticket and title.
pub(crate) fn heading(incident: &Incident) -> Text {
    let mut text = Text::new();
    text.push(Style::Cyan, incident.id.as_ref().map_or("", |i| i.short()));
    text.push(status_style(*incident.status), format!(" {} ", incident.status.as_str()));
    if !incident.ticket.is_empty() {
        text.push(Style::Bold, format!("[{}] ", one_line(&incident.ticket)));
    }
    text.push(Style::Bold, one_line(&incident.title));
    text.push(Style::Plain, "\n");
    if !incident.status_note.is_empty() {
        text.field("", &incident.status_note);
    }
    text
}

/// The repro command with its measured rate.
pub(crate) fn repro_line(incident: &Incident, standing: &Standing) -> String {
    if incident.repro.command.is_empty() {
        return String::new();
    }
    let rate = &standing.repro;
    let command = command_line::join(&incident.repro.command);
    if rate.runs == 0 {
        return format!("{command}\nnot measured yet: git incident repro run -n 5");
    }
    let (low, high) = rate::wilson(rate.failures, rate.runs);
    let mut line = format!(
        "{command}\nbug seen in {} of {} runs (95 % interval {:.0}–{:.0} %), {}",
        rate.failures,
        rate.runs,
        low * 100.0,
        high * 100.0,
        if rate.reliable { "reliable" } else { "not reliable yet" }
    );
    if rate.needed != rate::NEVER {
        line.push_str(&format!(
            "; a fix must pass {} times, has passed {} of {}",
            rate.needed,
            rate.fix_runs - rate.fix_failures,
            rate.fix_runs
        ));
    }
    line
}

fn attempt_text(text: &mut Text, incident: &Incident, attempt: &Attempt) {
    text.push(Style::Plain, "\n");
    text.push(Style::Bold, format!("Attempt {}", attempt.ordinal));
    text.push(Style::Dim, format!(" {} ", attempt.started.event.short()));
    let style = match (attempt.ended.is_some(), attempt.outcome.bug) {
        (false, _) => Style::Yellow,
        (true, Bug::Fixed) => Style::Green,
        (true, _) => Style::Red,
    };
    let state = if attempt.ended.is_none() {
        "running".to_owned()
    } else {
        let hypothesis = match attempt.outcome.hypothesis {
            Hypothesis::Undecided => "undecided",
            other => other.as_str(),
        };
        let bug = match attempt.outcome.bug {
            Bug::Fixed => "bug fixed",
            Bug::Remains => "bug remains",
            Bug::Unknown => "bug unknown",
        };
        let reverted = attempt
            .reverted
            .as_ref()
            .map_or_else(String::new, |by| format!(" (its fix was reverted by {})", by.short()));
        format!("{hypothesis}; {bug}{reverted}")
    };
    text.push(style, state);
    text.push(Style::Plain, format!(" {}\n", one_line(&attempt.title)));
    text.field("Hypothesis", &attempt.hypothesis);
    text.field("Disproof", &attempt.disproof);
    text.field("Done", &attempt.action);
    text.field("Result", &attempt.result);
    text.field("Conclusion", &attempt.conclusion);
    text.field("Rules out", &attempt.rules_out.join("\n"));
    for (outcome, conclusion) in &attempt.rivals {
        text.field("Also said", &format!("{}, bug {}: {conclusion}", outcome.hypothesis, outcome.bug));
    }
    notes_text(text, &attempt.notes, "");
    for evidence in incident.evidence.iter().filter(|e| e.attempt == Some(attempt.started.event)) {
        text.field(
            "Evidence",
            &format!(
                "{} {} ({}, {} bytes)",
                evidence.oid.as_ref().map_or("outside", |o| o.short()),
                one_line(&evidence.name),
                one_line(&evidence.kind),
                evidence.bytes
            ),
        );
    }
}

fn notes_text(text: &mut Text, notes: &[Note], heading: &str) {
    if notes.is_empty() {
        return;
    }
    if !heading.is_empty() {
        text.push(Style::Bold, format!("\n{heading}\n"));
    }
    for note in notes {
        let mut line = note.stamp.at.to_minute();
        if let Some(run) = &note.run {
            let end = match (&run.hang, run.exit) {
                (Some(kind), _) => format!("hang ({kind})"),
                (None, Some(status)) => format!("exit {status}"),
                (None, None) => "not started".to_owned(),
            };
            line.push_str(&format!(
                "  $ {}  → {end} in {}",
                command_line::join(&run.argv),
                human_duration(run.millis)
            ));
        }
        if !note.text.is_empty() {
            line.push_str(&format!("  {}", note.text));
        }
        if note.important {
            line.push_str("  (important)");
        }
        text.field("Note", &line);
    }
}

/// What was said for the post-mortem.
fn review_text(text: &mut Text, incident: &Incident) {
    let standing: Vec<_> = incident.review.iter().filter(|n| n.withdrawn.is_none()).collect();
    if !standing.is_empty() {
        text.push(Style::Bold, "\nSaid for the post-mortem\n");
    }
    for note in standing {
        let reason = if note.reason.is_empty() { String::new() } else { format!("{}: ", note.reason) };
        text.field(&note.block, &format!("{reason}{}", note.text));
    }
}

/// The table of differences.
pub(crate) fn differences_text(text: &mut Text, incident: &Incident) {
    if incident.differences.is_empty() {
        return;
    }
    let case = |name: &str, fallback: &str| {
        if name.is_empty() { fallback.to_owned() } else { name.to_owned() }
    };
    text.push(
        Style::Bold,
        format!(
            "\nKey differences: {} vs {}\n",
            one_line(&case(&incident.working_case, "working")),
            one_line(&case(&incident.broken_case, "broken"))
        ),
    );
    for d in &incident.differences {
        let mark = if d.eliminated { "✗" } else { "·" };
        text.add_line(format!(
            "  {mark} {}: {} | {}",
            one_line(&d.factor),
            one_line(&d.working),
            one_line(&d.broken)
        ));
    }
}

/// The list of ideas, numbered as commands take them.
pub(crate) fn next_text(text: &mut Text, incident: &Incident) {
    if incident.next.is_empty() {
        return;
    }
    text.push(Style::Bold, "\nWhat to try next\n");
    for (i, next) in incident.next.iter().enumerate() {
        let (mark, style) = match next.state {
            NextState::Open => (" ", Style::Plain),
            NextState::Done => ("✓", Style::Dim),
            NextState::Dropped => ("✗", Style::Dim),
        };
        text.push(style, format!("  {}. [{mark}] {}\n", i + 1, next.text.replace('\n', "\n         ")));
    }
}

fn evidence_text(text: &mut Text, incident: &Incident) {
    let loose: Vec<_> = incident.evidence.iter().filter(|e| e.attempt.is_none()).collect();
    if loose.is_empty() {
        return;
    }
    text.push(Style::Bold, "\nEvidence\n");
    for e in loose {
        let place = e
            .oid
            .as_ref()
            .map_or_else(|| format!("outside: {}", one_line(&e.location)), |o| o.short().to_owned());
        let state = if e.erased { " erased" } else { "" };
        text.add_line(format!(
            "  {place} {} ({}, {} bytes){state}",
            one_line(&e.name),
            one_line(&e.kind),
            e.bytes
        ));
    }
}

fn trouble_text(text: &mut Text, incident: &Incident) {
    for conflict in views::conflicts(incident) {
        text.push(
            Style::Yellow,
            format!(
                "\nconflict in {}: {} and, written at the same time, {}\n",
                conflict["field"], conflict["value"], conflict["rival"]
            ),
        );
    }
    for line in &incident.damaged {
        text.push(Style::Red, format!("\ndamaged line, kept as it is: {}\n", one_line(line)));
    }
    for line in &incident.unknown {
        text.push(Style::Yellow, format!("\nkept, not understood: {}\n", one_line(line)));
    }
}
