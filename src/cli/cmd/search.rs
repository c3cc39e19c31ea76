//! `search`: looks through everything that incidents and attempts say.

use serde_json::json;

use super::list::{one_line, status_style};
use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::model::Result;
use crate::session::searching::Hit;

/// Arguments of `search`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "All words must be there. \"Words in quotes\" must stand side by side (quote them for the shell as well),\n\
                  -WORD or not:WORD must be nowhere. Filters: status: outcome: author: path: kernel: gpu: label: since:\n\
                  until: incident:, and a - before most of them leaves out. since: and until: take 2026-03-01 or 12h, 3d, 2w.\n\
                  Example: git incident search '\"illegal access\"' status:open path:kernels -driver"
)]
pub struct Args {
    /// Words, "phrases", -without, and filters such as status:open
    #[arg(required = true, num_args = 1.., allow_hyphen_values = true, value_name = "WORDS")]
    pub words: Vec<String>,
    /// So many at once
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    pub limit: u16,
    /// Leave out so many of the first
    #[arg(long, default_value_t = 0, conflicts_with = "page")]
    pub offset: u32,
    /// The page, from 1
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub page: Option<u16>,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    pub help: Option<bool>,
}

/// Searches.
///
/// # Errors
/// A query that says nothing or cannot be understood; ledgers that cannot be read.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let query = args.words.join(" ");
    let limit = usize::from(args.limit);
    let offset = args.page.map_or(args.offset as usize, |page| (usize::from(page) - 1) * limit);
    let answer = session.search(&query, offset, limit)?;
    let view = json!({
        "query": query,
        "total": answer.total,
        "complete": answer.complete,
        "offset": offset,
        "matches": answer.hits.iter().map(|hit| json!({
            "incident": hit.incident,
            "title": hit.row.text("title"),
            "ticket": hit.row.text("ticket"),
            "status": hit.row.status,
            "attempt": hit.document.attempt,
            "ordinal": hit.document.attempt.map(|_| hit.document.ordinal),
            "at": hit.document.at,
            "field": hit.found.field,
            "score": hit.found.score,
            "snippet": hit.found.snippet,
            "marks": hit.found.marks.iter().map(|(from, to)| [from, to]).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    let mut text = Text::new();
    for hit in &answer.hits {
        add(&mut text, hit);
    }
    let last = offset + answer.hits.len();
    let more = if answer.complete { "" } else { " at least, of the newest; narrow it down to see others" };
    if answer.total == 0 {
        text.add_line(format!("nothing found{}", if answer.complete { "" } else { " among the newest" }));
    } else if answer.hits.is_empty() {
        text.add_line(format!("{} found{more}; none behind {offset}", answer.total));
    } else if last < answer.total || !answer.complete || offset > 0 {
        text.push(Style::Dim, format!("{}–{last} of {}{more}", offset + 1, answer.total));
        if last < answer.total {
            text.push(Style::Dim, format!("; go on with --offset {last}"));
        }
        text.push(Style::Plain, "\n");
    }
    Ok(Reply::new(view, text).paged())
}

fn add(text: &mut Text, hit: &Hit) {
    text.push(Style::Cyan, hit.incident.short());
    text.push(status_style(hit.row.status), format!(" {:<9}", hit.row.status.as_str()));
    text.push(Style::Dim, format!(" {}  ", hit.document.at.to_date()));
    let ticket = hit.row.text("ticket");
    if !ticket.is_empty() {
        text.push(Style::Bold, format!("[{}] ", one_line(ticket)));
    }
    text.push(Style::Plain, one_line(hit.row.text("title")));
    if hit.document.attempt.is_some() {
        text.push(Style::Bold, format!("  attempt {}", hit.document.ordinal));
    }
    text.push(Style::Dim, format!("\n    {}: ", hit.found.field));
    marked(text, &hit.found.snippet, &hit.found.marks);
    text.push(Style::Plain, "\n");
}

/// A snippet with its words in bold.
fn marked(text: &mut Text, snippet: &str, marks: &[(usize, usize)]) {
    let mut at = 0;
    for (from, to) in marks {
        let (Some(before), Some(word)) = (snippet.get(at..*from), snippet.get(*from..*to)) else { break };
        text.push(Style::Plain, before);
        text.push(Style::Yellow, word);
        at = *to;
    }
    text.push(Style::Plain, snippet.get(at..).unwrap_or_default());
}
