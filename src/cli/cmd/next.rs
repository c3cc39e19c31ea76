//! `next`: ideas that were not tried yet.

use serde_json::json;

use crate::cli::ui::Text;
use crate::cli::{Reply, open_session};
use crate::event::{NextAdded, NextDone, NextDropped};
use crate::model::{Error, Result};
use crate::report::views;
use crate::session::keep::without_secrets;
use crate::session::locate;

/// Arguments of `next`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id or ticket of the incident; the active one when left out
    #[arg(long, short = 'i', global = true)]
    pub incident: Option<String>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the ideas
    List,
    /// Add an idea
    Add {
        /// The idea
        text: String,
    },
    /// An idea was tried
    Done {
        /// Its number in the list, or its id
        next: String,
        /// Where it led
        #[arg(long, short = 'm')]
        message: Option<String>,
    },
    /// Give an idea up untried
    #[command(alias = "dropped")]
    Drop {
        /// Its number in the list, or its id
        next: String,
        /// Why
        #[arg(long, short = 'm')]
        message: Option<String>,
    },
}

/// Lists or changes the ideas.
///
/// # Errors
/// No such idea.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    match args.action {
        None | Some(Action::List) => {}
        Some(Action::Add { text }) if text.trim().is_empty() => {
            return Err(Error::usage("the idea is empty").hint("git incident next add \"what to try\""));
        }
        Some(Action::Add { text }) => {
            session.append(&id, &[], |draft| draft.add(NextAdded { text: without_secrets(&text) }))?;
        }
        Some(Action::Done { next, message }) => {
            let next = locate::next(&incident, &next)?.added.event;
            session.append(&id, &[], |draft| {
                draft.add(NextDone { next, remark: without_secrets(&message.unwrap_or_default()) })
            })?;
        }
        Some(Action::Drop { next, message }) => {
            let next = locate::next(&incident, &next)?.added.event;
            session.append(&id, &[], |draft| {
                draft.add(NextDropped { next, reason: without_secrets(&message.unwrap_or_default()) })
            })?;
        }
    }
    let incident = session.incident(&id)?;
    let mut text = Text::new();
    super::show::next_text(&mut text, &incident);
    if text.is_empty() {
        text.add_line("nothing to try next; add an idea: git incident next add TEXT");
    }
    Ok(Reply::new(
        json!({"incident": id, "next": incident.next.iter().map(views::next).collect::<Vec<_>>()}),
        text,
    ))
}
