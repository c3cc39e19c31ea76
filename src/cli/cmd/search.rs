//! `search`: looks through everything that incidents and attempts say.

use serde_json::json;

use super::list::{one_line, status_style};
use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::model::{Error, Result};
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
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    pub limit: u16,
    /// Leave out so many of the first
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "page")]
    pub offset: u32,
    /// The page, from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
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
    let Asked { words, limit, offset, json } = asked(&args)?;
    let query = words.join(" ");
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
    let reply = Reply::new(view, text).paged();
    Ok(if json { reply.as_json() } else { reply })
}

/// What is asked, the options taken out.
struct Asked {
    words: Vec<String>,
    limit: usize,
    offset: usize,
    json: bool,
}

/// Options behind the words: clap takes everything there for a word, so that `-driver` can be one.
fn asked(args: &Args) -> Result<Asked> {
    let (mut limit, mut offset, mut page) =
        (usize::from(args.limit), args.offset as usize, args.page.map(usize::from));
    let (mut words, mut json) = (Vec::new(), false);
    let mut rest = args.words.iter();
    while let Some(word) = rest.next() {
        let Some(option) = word.strip_prefix("--").filter(|o| !o.is_empty()) else {
            words.push(word.clone());
            continue;
        };
        if option == "json" {
            json = true;
            continue;
        }
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let slot = match name {
            "limit" => &mut limit,
            "offset" => &mut offset,
            "page" => page.insert(0),
            _ => {
                return Err(Error::usage(format!("there is no option --{name}"))
                    .hint("the options are --limit, --offset, --page and --json; git incident search --help")
                    .hint(format!("to leave a word out, one -: -{name}")));
            }
        };
        let value = value.or_else(|| rest.next().map(String::as_str)).unwrap_or_default();
        *slot = value.parse::<u32>().ok().filter(|n| *n > 0 || name == "offset").ok_or_else(|| {
            Error::usage(format!("--{name} cannot be {value:?}")).hint(format!("a number: --{name} 20"))
        })? as usize;
    }
    if let Some(page) = page {
        offset = (page - 1).saturating_mul(limit);
    }
    Ok(Asked { words, limit, offset, json })
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
