//! `postmortem brief`: the up-the-org version, printed and never posted.

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::{Reply, open_session, ui};
use crate::document::brief::{Channel, brief};
use crate::model::Result;
use crate::session::rendering::read_document;

/// Arguments of `postmortem brief`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The Markdown document; `-` for standard input; the active incident's when left out
    path: Option<PathBuf>,
    /// Where it goes: its shape and its length
    #[arg(long, short = 'c', value_enum)]
    channel: Named,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Named {
    /// A comment on a ticket: status, impact, what broke, why now, owner, next steps, workaround, risk
    Ticket,
    /// A bold TL;DR and two to four bullets, under 80 words
    Chat,
    /// One to three lines
    Standup,
    /// A subject that says it all, and a body
    Email,
    /// Talking points
    Meeting,
}

/// Prints a brief.
///
/// # Errors
/// A document that cannot be read.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    let channel = match args.channel {
        Named::Ticket => Channel::Ticket,
        Named::Chat => Channel::Chat,
        Named::Standup => Channel::Standup,
        Named::Email => Channel::Email,
        Named::Meeting => Channel::Meeting,
    };
    let session = open_session().ok();
    let path = match args.path {
        Some(path) => path,
        None => super::render::active_document(session.as_ref())?,
    };
    let document = read_document(session.as_ref(), &path)?;
    let made = brief(&document.markdown, channel);
    if !json {
        for left in &made.left {
            let place =
                if left.line == 0 { String::new() } else { format!("{}:{}: ", document.shown, left.line) };
            ui::remark(&format!("left for you: {place}{}", left.why));
        }
    }
    let left: Vec<Value> = made.left.iter().map(|l| json!({"line": l.line, "why": l.why})).collect();
    let view = json!({
        "channel": channel.name(),
        "path": document.shown,
        "text": made.text,
        "words": made.words,
        "left_for_writer": left,
    });
    Ok(Reply::new(view, made.text))
}
