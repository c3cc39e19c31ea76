//! `relink`: what became of linked commits after amends, rebases, squashes and picks that no hook saw.

use serde_json::{Value, json};

use super::list::one_line;
use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::model::Result;
use crate::model::status::Role;
use crate::session::relink::{Matched, Options, Report, Row};

/// Arguments of `relink`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Look only in these commits, for every link: A..B
    #[arg(long, value_name = "A..B", conflicts_with = "all")]
    pub range: Option<String>,
    /// Look also for copies of commits that are still there: picks and squashes on other branches
    #[arg(long)]
    pub all: bool,
    /// Make what is certain; everything else stays a proposal
    #[arg(long)]
    pub apply: bool,
    /// Only links of this incident: id or ticket
    #[arg(long, short = 'i')]
    pub incident: Option<String>,
}

/// Looks, and says what it found.
///
/// # Errors
/// No such range or incident; the repository cannot be read or written.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let incident = args.incident.as_deref().map(|name| session.incident_id(Some(name))).transpose()?;
    let options = Options { range: args.range.as_deref(), all: args.all, incident, apply: args.apply };
    let report = session.relink(&options)?;
    Ok(Reply::new(view(&report, args.apply), text(&report, args.apply)).paged())
}

fn action(row: &Row, matched: &Matched, apply: bool) -> &'static str {
    if !matched.certain {
        return "proposed";
    }
    let first = row.matches.iter().find(|m| m.certain).is_some_and(|m| std::ptr::eq(m, matched));
    match (apply, row.lost && first) {
        (true, true) => "moved",
        (true, false) => "linked",
        (false, true) => "would move",
        (false, false) => "would link",
    }
}

fn state(row: &Row) -> &'static str {
    if row.matches.is_empty() {
        "unplaced"
    } else if row.matches.iter().any(|m| m.certain) {
        "certain"
    } else {
        "proposed"
    }
}

fn view(report: &Report, apply: bool) -> Value {
    let rows = report.rows.iter().map(|row| {
        let matches = row.matches.iter().map(|m| {
            let sure = if m.certain { "certain" } else { proposal(m) };
            json!({
                "commit": m.found.commit, "subject": m.subject, "sure": sure, "action": action(row, m, apply),
                "how": m.found.how.iter().map(|h| h.as_str()).collect::<Vec<_>>(),
            })
        });
        json!({
            "incident": row.incident, "title": row.title, "commit": row.link.commit, "role": row.link.role,
            "attempt": row.ordinal, "attempt_id": row.link.attempt, "subject": row.link.subject,
            "lost": row.lost, "missing": row.missing, "state": state(row), "matches": matches.collect::<Vec<_>>(),
        })
    });
    let told = report.told.iter().map(|(id, l)| {
        json!({
            "incident": id, "commit": l.commit, "role": l.role, "attempt_id": l.attempt, "how": l.how,
            "reverts": l.reverts, "subject": l.subject, "action": if apply { "linked" } else { "would link" },
        })
    });
    json!({
        "links": rows.collect::<Vec<_>>(), "told": told.collect::<Vec<_>>(), "applied": apply,
        "certain": report.certain(), "proposed": report.proposed(), "unplaced": report.unplaced(),
        "looked_at": report.looked_at, "candidates": report.candidates, "remarks": report.remarks,
    })
}

/// A certain sign that others have too is a likely one.
fn proposal(matched: &Matched) -> &'static str {
    match matched.found.sure {
        crate::links::matching::Sure::Certain => "likely",
        other => other.as_str(),
    }
}

fn text(report: &Report, apply: bool) -> Text {
    let mut text = Text::new();
    for row in &report.rows {
        let attempt = row.ordinal.map_or_else(String::new, |n| format!(", attempt {n}"));
        text.push(Style::Cyan, row.link.commit.short());
        text.push(Style::Plain, format!(" {} of {}{attempt}", row.link.role, row.incident.short()));
        text.push(Style::Dim, format!("  {}\n", one_line(&row.link.subject)));
        if row.matches.is_empty() {
            let why =
                if row.missing { "it is not in this repository" } else { "no branch or tag leads to it" };
            text.push(Style::Yellow, format!("  unplaced: {why}, and nothing here looks like it\n"));
        }
        for m in &row.matches {
            let style = if m.certain { Style::Green } else { Style::Yellow };
            let sure = if m.certain { "certain" } else { proposal(m) };
            let how: Vec<&str> = m.found.how.iter().map(|h| h.as_str()).collect();
            text.push(style, format!("  {} {} ", action(row, m, apply), m.found.commit.short()));
            text.push(Style::Plain, format!("{sure}, by {}", how.join(" and ")));
            text.push(Style::Dim, format!("  {}\n", one_line(&m.subject)));
            if !m.certain {
                let number = row.ordinal.map_or_else(String::new, |n| format!(" -n {n}"));
                text.push(
                    Style::Dim,
                    format!(
                        "    if it is: git incident link {} --as {}{number} -i {}\n",
                        m.found.commit.short(),
                        row.link.role,
                        row.incident.short()
                    ),
                );
            }
        }
    }
    for (id, link) in &report.told {
        let verb = if apply { "linked" } else { "would link" };
        text.push(Style::Green, format!("{verb} {} ", link.commit.short()));
        let undone: Vec<&str> = link.reverts.iter().map(crate::model::id::Oid::short).collect();
        let what =
            if link.role == Role::Revert { format!(" of {}", undone.join(", ")) } else { String::new() };
        text.push(Style::Plain, format!("to {} as {}{what}, by {}", id.short(), link.role, link.how));
        text.push(Style::Dim, format!("  {}\n", one_line(&link.subject)));
    }
    for remark in &report.remarks {
        text.push(Style::Dim, format!("{remark}\n"));
    }
    let (certain, proposed, unplaced) = (report.certain(), report.proposed(), report.unplaced());
    if certain + proposed + unplaced == 0 {
        return text.line("every link stands on a commit that a branch, a tag or a remote leads to");
    }
    let done = if apply { "made" } else { "certain" };
    let mut text = text.line(format!("{certain} {done}, {proposed} proposed, {unplaced} unplaced"));
    if !apply && certain > 0 {
        text.push(Style::Dim, "make what is certain: git incident relink --apply\n");
    }
    text
}
