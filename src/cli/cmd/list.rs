//! `list`: the incidents of the repository.

use serde_json::json;

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session, ui};
use crate::model::Result;
use crate::model::incident::Incident;
use crate::model::status::Status;
use crate::report::views;

/// Arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only incidents with this status
    #[arg(long, short = 's', value_parser = clap::builder::PossibleValuesParser::new(Status::WORDS))]
    pub status: Option<String>,
    /// Only open incidents
    #[arg(long, short = 'o', conflicts_with = "status")]
    pub open: bool,
    /// Closed incidents too (the default; kept for scripts that want to say so)
    #[arg(long, short = 'a')]
    pub all: bool,
    /// Only incidents with this label
    #[arg(long, short = 'l')]
    pub label: Option<String>,
}

/// Lists them, open ones first, the newest on top.
///
/// # Errors
/// An object is not here.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    let session = open_session()?;
    let all = session.incidents_and_unread()?;
    let mut incidents = all.incidents;
    incidents.retain(|i| {
        args.status.as_deref().is_none_or(|s| i.status.as_str() == s)
            && (!args.open || *i.status == Status::Open)
            && args.label.as_ref().is_none_or(|l| i.labels.contains(l))
    });
    incidents.sort_by(|a, b| {
        (*a.status != Status::Open, b.last_at, &a.id).cmp(&(*b.status != Status::Open, a.last_at, &b.id))
    });
    let unread: Vec<_> =
        all.unread.iter().map(|(key, error)| json!({"note": key, "why": error.what()})).collect();
    for (key, error) in all.unread.iter().take(3) {
        ui::remark(&format!("the note {} cannot be read: {error}", key.short()));
    }
    if unread.len() > 3 {
        ui::remark(&format!("and {} more notes cannot be read", unread.len() - 3));
    }
    let view = json!({"incidents": incidents.iter().map(views::row).collect::<Vec<_>>(), "unread": unread});
    if json {
        return Ok(Reply::new(view, ""));
    }
    let active = session.active().incident;
    let mut text = Text::new();
    for incident in &incidents {
        row(&mut text, incident, incident.id == active && active.is_some());
    }
    if incidents.is_empty() {
        text.add_line("no incidents here; open one: git incident open TITLE");
    }
    Ok(Reply::new(view, text).paged())
}

fn row(text: &mut Text, incident: &Incident, active: bool) {
    let id = incident.id.as_ref().map_or("", |id| id.short());
    text.push(Style::Bold, if active { "* " } else { "  " });
    text.push(Style::Cyan, id);
    text.push(status_style(*incident.status), format!(" {:<9}", incident.status.as_str()));
    text.push(
        Style::Dim,
        format!(" {}  {:>2} attempts  ", incident.last_at.to_date(), incident.attempts.len()),
    );
    if !incident.ticket.is_empty() {
        text.push(Style::Bold, format!("[{}] ", one_line(&incident.ticket)));
    }
    text.push(Style::Plain, one_line(&incident.title));
    if incident.status.rivals().count() > 0 {
        text.push(
            Style::Yellow,
            format!(
                "  (also said: {})",
                incident.status.rivals().map(|s| s.as_str()).collect::<Vec<_>>().join(", ")
            ),
        );
    }
    if !incident.damaged.is_empty() {
        text.push(Style::Red, format!("  ({} damaged lines)", incident.damaged.len()));
    }
    text.push(Style::Plain, "\n");
}

/// How a status looks.
pub(crate) fn status_style(status: Status) -> Style {
    match status {
        Status::Open => Style::Yellow,
        Status::Resolved => Style::Green,
        Status::Blocked => Style::Red,
        Status::WontFix => Style::Dim,
    }
}

/// A text on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
