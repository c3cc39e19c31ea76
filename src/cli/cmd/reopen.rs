//! `reopen`: the bug is back, or the end was premature.

use serde_json::json;

use crate::cli::{Reply, open_session};
use crate::event::IncidentReopened;
use crate::model::status::Status;
use crate::model::{Error, Result};
use crate::session::active::Active;
use crate::session::keep::without_secrets;

/// Arguments of `reopen`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id (7 digits or more) or ticket; the active one when left out
    pub incident: Option<String>,
    /// Why
    #[arg(long, short = 'm')]
    pub message: Option<String>,
}

/// Reopens it and makes it active.
///
/// # Errors
/// It is open.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    // A contradiction (closed there, open here) may be settled by saying it again.
    if *incident.status == Status::Open && incident.status.rivals().count() == 0 {
        return Err(Error::refused(format!("incident {} is open", id.short()))
            .hint("work on it: git incident use, git incident status"));
    }
    session.append(&id, &[], |draft| {
        draft.add(IncidentReopened { note: without_secrets(&args.message.unwrap_or_default()) })
    })?;
    session.set_active(&Active { incident: Some(id.clone()), attempt: None })?;
    Ok(Reply::new(
        json!({"incident": id, "status": Status::Open}),
        format!("reopened {} {}\n", id.short(), *incident.title),
    ))
}
