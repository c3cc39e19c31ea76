//! `use`: an incident becomes the active one in this worktree.

use serde_json::json;

use crate::cli::{Reply, open_session};
use crate::model::{Error, Result};
use crate::session::active::Active;

/// Arguments of `use`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id (7 digits or more) or ticket
    #[arg(required_unless_present = "none")]
    pub incident: Option<String>,
    /// Make none active
    #[arg(long, conflicts_with = "incident")]
    pub none: bool,
}

/// Makes it active, with its running attempt if it has one.
///
/// # Errors
/// No such incident.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    if args.none {
        session.set_active(&Active::default())?;
        return Ok(Reply::new(json!({"incident": null}), "no incident is active\n"));
    }
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    let running = incident.attempts.iter().rev().find(|a| a.ended.is_none()).map(|a| a.started.event);
    if incident.opened.is_none() {
        return Err(Error::bug("an incident without an opening event"));
    }
    session.set_active(&Active { incident: Some(id.clone()), attempt: running })?;
    Ok(Reply::new(
        json!({"incident": id, "attempt": running}),
        format!("active: {} {}\n", id.short(), *incident.title),
    ))
}
