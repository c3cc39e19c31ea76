//! `close`: resolved, given up with evidence, or left on purpose.

use serde_json::json;

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session, ui};
use crate::model::incident::Incident;
use crate::model::status::{Role, Status};
use crate::model::{Error, Result};
use crate::report::blocked::Requirement;
use crate::report::standing::Standing;
use crate::session::Session;
use crate::session::keep::without_secrets;

/// Arguments of `close`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id (7 digits or more) or ticket; the active one when left out
    pub incident: Option<String>,
    /// The bug is fixed
    #[arg(long, group = "how")]
    pub resolved: bool,
    /// Given up: the recorded evidence must meet the policy, unless the budget has run out
    #[arg(long, group = "how")]
    pub blocked: bool,
    /// Left on purpose
    #[arg(long, group = "how")]
    pub wont_fix: bool,
    /// What there is to say
    #[arg(long, short = 'm')]
    pub message: Option<String>,
}

/// Closes it.
///
/// # Errors
/// Unmet requirements of the give-up policy.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    let status = match () {
        () if args.resolved => Status::Resolved,
        () if args.blocked => Status::Blocked,
        () if args.wont_fix => Status::WontFix,
        () => return Err(Error::usage("say how it ends").hint("--resolved, --blocked or --wont-fix")),
    };
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    session.must_be_open(&incident)?;
    let note = without_secrets(&args.message.unwrap_or_default());
    if status == Status::WontFix && note.trim().is_empty() {
        return Err(Error::usage("say why it is left").hint("git incident close --wont-fix -m \"why\""));
    }
    let mut text = Text::new();
    let mut gaps = Vec::new();
    let mut rows = Vec::new();
    if status == Status::Blocked {
        let requirements = session.blocked_requirements(&incident)?;
        let exceeded = session.budget(&incident)?.exceeded();
        let unmet: Vec<&Requirement> = requirements.iter().filter(|r| r.met_by.is_none()).collect();
        text = checklist(&requirements);
        rows = requirements
            .iter()
            .map(|r| json!({"requirement": r.name, "asks": r.asks, "met_by": r.met_by, "remedy": r.remedy}))
            .collect();
        if !unmet.is_empty() && exceeded.is_empty() {
            let mut error = Error::refused(format!(
                "{} of {} requirements for giving up are not met by recorded evidence",
                unmet.len(),
                requirements.len()
            ));
            for r in &unmet {
                error = error.because(format!("{}: {}", r.name, r.asks)).hint(r.remedy);
            }
            if !json {
                ui::say(&text);
            }
            return Err(error);
        }
        gaps = unmet.iter().map(|r| format!("{}: {}", r.name, r.asks)).collect();
        for line in exceeded.iter().filter(|_| !gaps.is_empty()) {
            text.push(
                Style::Yellow,
                format!("the budget has run out: {line}; the unmet requirements stand as gaps\n"),
            );
        }
    }
    if status == Status::Resolved {
        let standing = session.standing(&incident);
        reverted(&session, &incident, &standing)?;
        for line in &standing.missing {
            text.push(Style::Yellow, format!("not shown by the record: {line}\n"));
        }
    }
    session.close(&id, &incident, status, note, gaps.clone())?;
    text = text.plain("closed ").styled(Style::Cyan, id.short()).line(format!(" as {status}"));
    if status == Status::Resolved {
        text = text.styled(Style::Dim, "next: git incident postmortem draft, git incident pr\n");
    }
    Ok(Reply::new(json!({"incident": id, "status": status, "gaps": gaps, "requirements": rows}), text))
}

/// A bug whose fix was taken out again is not resolved.
fn reverted(session: &Session, incident: &Incident, standing: &Standing) -> Result<()> {
    let now = session.with_reverts(incident.clone());
    let undone = now.links_as(Role::Fix).filter_map(|l| Some((l.commit.short(), l.reverted_by.as_ref()?)));
    let Some((fix, by)) = undone.last().filter(|_| standing.fix.is_none()) else { return Ok(()) };
    Err(Error::refused(format!("the fix {fix} was reverted by {}", by.short()))
        .because("no other fix stands, so the bug is not known to be gone")
        .hint("link what fixes it now: git incident link COMMIT --as fix")
        .hint("or close it in another way: git incident close --blocked, or --wont-fix -m \"why\""))
}

fn checklist(requirements: &[Requirement]) -> Text {
    let mut text = Text::new();
    for r in requirements {
        match &r.met_by {
            Some(by) => text.push(Style::Green, format!("  met      {}: {} ({by})\n", r.name, r.asks)),
            None => text.push(Style::Red, format!("  not met  {}: {}\n", r.name, r.asks)),
        }
    }
    text
}
