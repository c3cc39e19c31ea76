//! `postmortem draft`: from what was recorded, and from nothing else.

use std::path::PathBuf;

use serde_json::json;

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::document::postmortem::GAP;
use crate::model::Result;

/// Arguments of `postmortem draft`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id (7 digits or more) or ticket; the active one when left out
    incident: Option<String>,
    /// Print it and write nothing
    #[arg(long, short = 'p')]
    print: bool,
    /// Write it here instead (from the top of the working tree)
    #[arg(long, short = 'o', value_name = "FILE", conflicts_with = "print")]
    output: Option<PathBuf>,
    /// Replace a document that somebody has written in
    #[arg(long)]
    force: bool,
}

/// Drafts.
///
/// # Errors
/// A record that does not hold a post-mortem; a document that somebody has written in.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let Args { incident: named, print, output, force } = args;
    let session = open_session()?;
    let (id, incident) = session.named_incident(named.as_deref())?;
    let standing = session.standing(&incident);
    let text = session.draft_postmortem(&incident, &standing)?;
    let gaps = text.matches(GAP).count();
    if print {
        return Ok(Reply::new(json!({"incident": id, "text": text, "gaps": gaps}), text).paged());
    }
    let path = match output {
        Some(path) => path,
        None => session.postmortem_path(&incident)?,
    };
    session.write_postmortem(&id, &incident, &path, &text, force)?;
    let mut shown = Text::new().plain("wrote ").styled(Style::Bold, path.display().to_string()).plain("\n");
    if gaps > 0 {
        shown.push(Style::Yellow, format!("{gaps} gaps wait for what nobody recorded; look for \"{GAP}\"\n"));
    }
    Ok(Reply::new(json!({"incident": id, "path": path, "gaps": gaps, "text": text}), shown))
}
