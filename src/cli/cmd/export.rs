//! `export`: an incident as a Markdown debug log, as its ledger, or as the JSON view.

use std::io::IsTerminal;
use std::path::PathBuf;

use serde_json::json;

use crate::cli::{Reply, open_session, ui};
use crate::document::debuglog;
use crate::model::{Error, Result};
use crate::report::views;
use crate::session::import::to_log;
use crate::store::ledger;

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id (7 digits or more) or ticket; the active one when left out
    pub incident: Option<String>,
    /// markdown: a debug log; ledger: the events as JSON lines, as they stand; json: what show --json prints
    #[arg(long, short = 'f', default_value = "markdown", value_parser = ["markdown", "ledger", "json"])]
    pub format: String,
    /// Write into this file instead of standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Exports it.
///
/// # Errors
/// No such incident; a file that cannot be written.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    let bytes = match args.format.as_str() {
        // A document for people: nothing in it that a terminal would obey.
        "markdown" => ui::clean(&debuglog::print(&debuglog::normalise(&to_log(&incident)))).into_bytes(),
        "ledger" => ledger::text(&session.repo, &id)?,
        _ => ui::json_line(&views::incident(&incident, &session.standing(&incident))).into_bytes(),
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let view = json!({"incident": id, "format": args.format, "text": text});
    if let Some(path) = args.output {
        std::fs::write(&path, &bytes)
            .map_err(|e| Error::refused(format!("{} cannot be written", path.display())).because(e))?;
        return Ok(Reply::new(view, format!("wrote {}\n", path.display())));
    }
    if json {
        return Ok(Reply::new(view, ""));
    }
    if std::io::stdout().is_terminal() {
        return Ok(Reply::new(view, text));
    }
    // Into a pipe or a file every byte goes as it is: a ledger whose lines changed would not verify.
    ui::write_all(&mut std::io::stdout(), &bytes);
    Ok(Reply::new(view, ""))
}
