//! `open`: a bug comes under investigation.

use serde_json::json;

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::event::IncidentOpened;
use crate::model::incident::FileRef;
use crate::model::{Error, Result};
use crate::session::active::Active;
use crate::session::keep::without_secrets;

/// Arguments of `open`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the incident is called
    pub title: String,
    /// The tracker's key, such as GPU-123
    #[arg(long, short = 't')]
    pub ticket: Option<String>,
    /// What was observed: exact messages, numbers
    #[arg(long, short = 's')]
    pub symptom: Option<String>,
    /// Where it was observed: hardware, driver, versions
    #[arg(long, short = 'e')]
    pub environment: Option<String>,
    /// A file it has to do with (may be repeated)
    #[arg(long = "file", short = 'f', value_name = "PATH")]
    pub files: Vec<String>,
    /// A label (may be repeated)
    #[arg(long = "label", short = 'l')]
    pub labels: Vec<String>,
    /// Do not make it the active incident of this worktree
    #[arg(long)]
    pub no_use: bool,
}

/// Opens it.
///
/// # Errors
/// An empty title; a repository that cannot be written.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let title = without_secrets(args.title.trim());
    if title.is_empty() {
        return Err(Error::usage("the title is empty").hint("git incident open \"what is broken\""));
    }
    let session = open_session()?;
    let opened = IncidentOpened {
        title: title.clone(),
        ticket: without_secrets(&args.ticket.unwrap_or_default()),
        symptom: without_secrets(&args.symptom.unwrap_or_default()),
        environment: without_secrets(&args.environment.unwrap_or_default()),
        files: args
            .files
            .into_iter()
            .map(|path| FileRef { path: without_secrets(&path), note: String::new() })
            .collect(),
        labels: args.labels.iter().map(|l| without_secrets(l)).collect(),
    };
    let appended = session.open_incident(&[], |draft| draft.add(opened))?;
    let id = appended.incident;
    if !args.no_use {
        session.set_active(&Active { incident: Some(id.clone()), attempt: None })?;
    }
    let text = Text::new().plain("opened ").styled(Style::Cyan, id.short()).line(format!(" {title}")).styled(
        Style::Dim,
        "next: git incident repro set -- COMMAND…   or   git incident try -H \"why\" -- COMMAND…\n",
    );
    Ok(Reply::new(json!({"incident": id, "title": title}), text))
}
