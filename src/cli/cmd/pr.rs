//! `pr`: the text of a draft pull request, printed, or opened as a draft with `--open`. Nothing is pushed or merged.

mod open;

use serde_json::json;

use crate::cli::{Reply, open_session};
use crate::model::Result;

/// Arguments of `pr`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id (7 digits or more) or ticket; the active one when left out
    pub incident: Option<String>,
    /// The branch it goes to; from .git-incident.toml or the remote when left out
    #[arg(long, value_name = "REVISION")]
    pub base: Option<String>,
    /// The change's last commit; HEAD when left out
    #[arg(long, value_name = "REVISION")]
    pub head: Option<String>,
    /// Opening it.
    #[command(flatten)]
    pub open: open::OpenArgs,
}

/// Prints it: a line with the title, then the body.
///
/// # Errors
/// No change to describe.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    args.open.demand_consent()?;
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    let standing = session.standing(&incident);
    let head = if args.open.open { Some(session.branch_to_open(args.head.as_deref())?) } else { args.head };
    let range = session.pull_request_range(&incident, args.base.as_deref(), head.as_deref())?;
    let text = session.pull_request(&incident, &standing, &range)?;
    if args.open.open {
        return open::run(&session, (&id, &incident), &range, &text, (args.base, head), &args.open);
    }
    session.record_pull_request(&id, &text)?;
    let view = json!({
        "incident": id, "title": text.title, "body": text.body,
        "base": range.base, "head": range.tip, "missing": standing.missing,
    });
    Ok(Reply::new(view, format!("Title: {}\n\n{}", text.title, text.body)))
}
