//! `list`: the incidents of the repository.

use serde_json::{Value, json};

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session, ui};
use crate::model::Result;
use crate::model::status::Status;
use crate::report::listing::{self, Row};

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
    let (mut rows, all_unread) = session.rows()?;
    rows.retain(|i| {
        args.status.as_deref().is_none_or(|s| i.status.as_str() == s)
            && (!args.open || i.status == Status::Open)
            && args.label.as_ref().is_none_or(|l| i.labels.contains(l))
    });
    listing::sort(&mut rows);
    let unread: Vec<_> =
        all_unread.iter().map(|(key, error)| json!({"note": key, "why": error.what()})).collect();
    for (key, error) in all_unread.iter().take(3) {
        ui::remark(&format!("the note {} cannot be read: {error}", key.short()));
    }
    if unread.len() > 3 {
        ui::remark(&format!("and {} more notes cannot be read", unread.len() - 3));
    }
    if json {
        let views: Vec<Value> = rows.into_iter().map(|row| row.view).collect();
        return Ok(Reply::new(json!({"incidents": views, "unread": unread}), ""));
    }
    let active = session.active().incident;
    let mut text = Text::new();
    for row in &rows {
        add(&mut text, row, active.as_ref() == Some(&row.id));
    }
    if rows.is_empty() {
        text.add_line("no incidents here; open one: git incident open TITLE");
    }
    Ok(Reply::new(json!({}), text).paged())
}

fn add(text: &mut Text, row: &Row, active: bool) {
    text.push(Style::Bold, if active { "* " } else { "  " });
    text.push(Style::Cyan, row.id.short());
    text.push(status_style(row.status), format!(" {:<9}", row.status.as_str()));
    text.push(Style::Dim, format!(" {}  {:>2} attempts  ", row.updated().to_date(), row.number("attempts")));
    let ticket = row.text("ticket");
    if !ticket.is_empty() {
        text.push(Style::Bold, format!("[{}] ", one_line(ticket)));
    }
    text.push(Style::Plain, one_line(row.text("title")));
    if !row.rivals.is_empty() {
        let rivals: Vec<&str> = row.rivals.iter().map(|s| s.as_str()).collect();
        text.push(Style::Yellow, format!("  (also said: {})", rivals.join(", ")));
    }
    let damaged = row.number("damaged");
    if damaged > 0 {
        text.push(Style::Red, format!("  ({damaged} damaged lines)"));
    }
    text.push(
        Style::Plain,
        "
",
    );
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
