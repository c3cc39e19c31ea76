//! `link`: a commit has to do with the incident.

use serde_json::json;

use crate::cli::{Reply, open_session};
use crate::model::status::Role;
use crate::model::{Error, Oid, Result};
use crate::session::locate;

/// Arguments of `link`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The commit
    pub commit: String,
    /// What it is to the incident
    #[arg(long = "as", value_name = "ROLE", value_parser = clap::builder::PossibleValuesParser::new(Role::WORDS), required_unless_present = "remove")]
    pub role: Option<String>,
    /// Number or id of the attempt it belongs to; the active one for --as failed, fix and partial when left out
    #[arg(long, short = 'n')]
    pub attempt: Option<String>,
    /// With --as revert: a commit that it undoes, where its message does not say so; may be given several times
    #[arg(long, value_name = "COMMIT", conflicts_with = "remove")]
    pub reverts: Vec<String>,
    /// Take the link back (in the given role, or in all)
    #[arg(long)]
    pub remove: bool,
    /// Id or ticket of the incident; the active one when left out
    #[arg(long, short = 'i')]
    pub incident: Option<String>,
}

/// Links or unlinks.
///
/// # Errors
/// No such commit or attempt; nothing to take back.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    let commit = session.repo.resolve_commit(&args.commit)?;
    let role = args.role.as_deref().map(|r| r.parse::<Role>().map_err(Error::usage)).transpose()?;
    if args.remove {
        let linked = incident
            .links
            .iter()
            .any(|l| !l.unlinked && l.commit == commit && role.is_none_or(|r| r == l.role));
        if !linked {
            return Err(Error::refused(format!("commit {} is not linked", commit.short()))
                .hint("see the links: git incident show"));
        }
        session.unlink_commit(&id, &commit, role)?;
        return Ok(Reply::new(
            json!({"incident": id, "commit": commit, "removed": true}),
            format!("unlinked {}\n", commit.short()),
        ));
    }
    let role = role.ok_or_else(|| {
        Error::usage("the role is missing").hint("--as failed, fix, partial, offending, revert or related")
    })?;
    let attempt = match &args.attempt {
        Some(named) => Some(locate::attempt(&incident, named)?.started.event),
        None if matches!(role, Role::Failed | Role::Fix | Role::Partial) => session.active_attempt(&id),
        None => None,
    };
    if role != Role::Revert && !args.reverts.is_empty() {
        return Err(Error::usage("--reverts says what a commit undoes").hint("use it with: --as revert"));
    }
    let reverts: Vec<Oid> =
        args.reverts.iter().map(|r| session.repo.resolve_commit(r)).collect::<Result<_>>()?;
    let incident = session.link_commit(&id, &commit, role, attempt, &reverts)?;
    let ordinal = attempt.and_then(|a| incident.attempt(a)).map(|a| a.ordinal);
    let place = ordinal.map_or_else(String::new, |n| format!(" (attempt {n})"));
    Ok(Reply::new(
        json!({"incident": id, "commit": commit, "role": role, "attempt": ordinal, "attempt_id": attempt}),
        format!("linked {} as {role}{place}\n", commit.short()),
    ))
}
