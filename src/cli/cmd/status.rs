//! `status`: what is active, what is missing, and what comes next.

use serde_json::json;

use super::budget;
use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::model::Result;
use crate::model::status::NextState;
use crate::report::standing::Standing;
use crate::report::views;
use crate::session::validate::Pending;

/// Arguments of `status`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id (7 digits or more) or ticket; the active one when left out
    pub incident: Option<String>,
}

/// Shows it. Without an active incident that is said, and is no error.
///
/// # Errors
/// No such incident.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let pending = session.pending_gates();
    let gates: Vec<_> =
        pending.iter().map(|g| json!({"gate": g.gate, "commit": g.commit, "reason": g.reason})).collect();
    if args.incident.is_none() && session.active().incident.is_none() {
        let view = json!({"incident": null, "attempt": null, "preconditions": null, "next": [], "budget": null, "pending_gates": gates});
        let mut text = Text::new()
            .line("no incident is active here")
            .styled(Style::Dim, "open one: git incident open TITLE; or choose one: git incident list\n");
        pending_gates(&mut text, &pending);
        return Ok(Reply::new(view, text));
    }
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    let standing = session.standing(&incident);
    let spent = session.budget(&incident)?;
    let attempt = session.active_attempt(&id).and_then(|a| incident.attempt(a)).filter(|a| a.ended.is_none());
    let open: Vec<_> = incident.next.iter().filter(|n| n.state == NextState::Open).collect();
    let view = json!({
        "incident": id,
        "title": *incident.title,
        "status": incident.status.as_str(),
        "attempt": attempt.map(|a| json!({"id": a.started.event, "ordinal": a.ordinal, "hypothesis": a.hypothesis})),
        "preconditions": views::preconditions(&standing),
        "missing": standing.missing,
        "next": open.iter().map(|n| views::next(n)).collect::<Vec<_>>(),
        "budget": budget::view(&spent),
        "pending_gates": gates,
        "conflicts": views::conflicts(&incident),
        "damaged": incident.damaged,
    });
    let mut text = super::show::heading(&incident);
    match attempt {
        Some(a) => text.field("Attempt", &format!("{} running: {}", a.ordinal, a.headline())),
        None => text.field("Attempt", &format!("none running, {} so far", incident.attempts.len())),
    }
    text.field("Repro", &super::show::repro_line(&incident, &standing));
    preconditions(&mut text, &standing);
    for line in spent.exceeded() {
        text.push(Style::Red, format!("budget: {line}\n"));
    }
    text.push(Style::Dim, budget::text(&spent).render(false));
    pending_gates(&mut text, &pending);
    for conflict in views::conflicts(&incident) {
        text.push(
            Style::Yellow,
            format!("conflict in {}: {} and {}\n", conflict["field"], conflict["value"], conflict["rival"]),
        );
    }
    for line in &incident.damaged {
        text.push(Style::Red, format!("damaged line, kept as it is: {}\n", super::list::one_line(line)));
    }
    if let Some(next) = open.first() {
        text.field("Next", next.text.lines().next().unwrap_or_default());
    }
    Ok(Reply::new(view, text))
}

/// Gates that wait for a device, whether an incident is active or not: a protected ref will ask for them.
fn pending_gates(text: &mut Text, pending: &[Pending]) {
    for gate in pending {
        text.push(
            Style::Yellow,
            format!("pending gate {} on {}: {}\n", gate.gate, gate.commit.short(), gate.reason),
        );
    }
}

fn preconditions(text: &mut Text, standing: &Standing) {
    let all = [
        ("repro", standing.repro_ok),
        ("cause", standing.cause_ok),
        ("fix", standing.fix_ok),
        ("validation", standing.validation_ok),
    ];
    text.push(Style::Dim, format!("{:<12} ", "Post-mortem"));
    for (name, ok) in all {
        text.push(
            if ok { Style::Green } else { Style::Red },
            format!("{} {name}  ", if ok { "✓" } else { "✗" }),
        );
    }
    text.push(Style::Plain, "\n");
    for line in &standing.missing {
        text.field("", &format!("missing: {line}"));
    }
}
