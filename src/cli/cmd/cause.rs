//! `cause`: the root cause, proposed, rejected, or confirmed against everything that was tried.

use serde_json::json;

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session, ui};
use crate::event::CauseProposed;
use crate::model::incident::Incident;
use crate::model::status::CauseState;
use crate::model::{Error, EventId, Result};
use crate::report::views;
use crate::session::causes::{self, Holds};
use crate::session::keep::without_secrets;
use crate::session::locate;

/// Arguments of `cause`.
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
    /// List the causes
    List,
    /// Propose a cause
    Propose {
        /// The mechanism: where, what, why
        text: String,
        /// How it leads to the symptom
        #[arg(long)]
        mechanism: Option<String>,
    },
    /// Reject a cause
    Reject {
        /// First digits of the cause; the newest proposed one when left out
        cause: Option<String>,
        /// What speaks against it
        #[arg(long, short = 'm', required = true)]
        message: String,
    },
    /// Confirm a cause: it must account for every attempt, and a disproof must have been run
    Confirm {
        /// First digits of the cause; the newest proposed one when left out
        cause: Option<String>,
        /// How it accounts for an attempt: NUMBER=HOW (one for each attempt; asked for on a terminal)
        #[arg(long, value_name = "N=HOW")]
        accounts: Vec<String>,
        /// An attempt that contradicts it: NUMBER=WHY (this blocks the confirmation)
        #[arg(long, value_name = "N=WHY")]
        contradicts: Vec<String>,
        /// The attempt whose disproof was run; the newest such one when left out
        #[arg(long, value_name = "N")]
        disproof: Option<String>,
        /// How it leads to the symptom
        #[arg(long)]
        mechanism: Option<String>,
    },
}

/// Lists or changes.
///
/// # Errors
/// A confirmation that does not hold.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    match args.action {
        None | Some(Action::List) => {}
        Some(Action::Propose { text, mechanism }) => {
            if text.trim().is_empty() {
                return Err(Error::usage("the cause is empty"));
            }
            let proposed = CauseProposed {
                text: without_secrets(text.trim()),
                mechanism: without_secrets(&mechanism.unwrap_or_default()),
            };
            session.propose_cause(&id, proposed)?;
        }
        Some(Action::Reject { cause, message }) => {
            let cause = causes::find(&incident, cause.as_deref())?.proposed.event;
            session.reject_cause(&id, cause, without_secrets(&message))?;
        }
        Some(Action::Confirm { cause, accounts, contradicts, disproof, mechanism }) => {
            let cause = causes::find(&incident, cause.as_deref())?;
            if cause.state == CauseState::Confirmed && accounts.is_empty() && contradicts.is_empty() {
                return Err(Error::refused("the cause is confirmed already")
                    .hint("see how it accounts for the attempts: git incident cause"));
            }
            let mut said = Vec::new();
            for pair in &accounts {
                let (attempt, how) = split(&incident, pair)?;
                said.push((attempt, Holds::Accounts(how)));
            }
            for pair in &contradicts {
                let (attempt, why) = split(&incident, pair)?;
                said.retain(|(a, _)| *a != attempt);
                said.push((attempt, Holds::Contradicts(why)));
            }
            if !json {
                ask(&incident, &cause.text, &mut said);
            }
            let disproof =
                disproof.map(|n| locate::attempt(&incident, &n).map(|a| a.started.event)).transpose()?;
            session.confirm_cause(
                &id,
                &incident,
                cause,
                said,
                disproof,
                without_secrets(&mechanism.unwrap_or_default()),
            )?;
        }
    }
    let incident = session.incident(&id)?;
    Ok(Reply::new(
        json!({"incident": id, "cause": views::cause(&incident), "causes": incident.causes.len()}),
        list(&incident),
    ))
}

/// `2=because…` as an attempt and a text.
fn split(incident: &Incident, pair: &str) -> Result<(EventId, String)> {
    let (number, text) =
        pair.split_once('=').filter(|(_, text)| !text.trim().is_empty()).ok_or_else(|| {
            Error::usage(format!("{pair:?} is not NUMBER=TEXT"))
                .hint("--accounts 2=\"the clamp hides the overflow for small inputs only\"")
        })?;
    Ok((locate::attempt(incident, number)?.started.event, without_secrets(text.trim())))
}

/// Shows every earlier attempt and asks how the cause accounts for it, on a terminal.
fn ask(incident: &Incident, cause: &str, said: &mut Vec<(EventId, Holds)>) {
    let open: Vec<_> = causes::to_account_for(incident)
        .filter(|a| !said.iter().any(|(e, _)| *e == a.started.event))
        .collect();
    if open.is_empty() || !ui::can_ask() {
        return;
    }
    ui::say(&Text::new().styled(Style::Bold, "cause: ").line(cause));
    for attempt in open {
        ui::say(
            &Text::new()
                .styled(Style::Bold, format!("attempt {}: ", attempt.ordinal))
                .line(attempt.headline())
                .line(format!("  → {}", causes::summary(attempt))),
        );
        let Some(answer) =
            ui::ask("how does the cause account for it? (start with ! when it contradicts it)")
        else {
            continue;
        };
        let holds = match answer.strip_prefix('!') {
            Some(why) => Holds::Contradicts(without_secrets(why.trim())),
            None => Holds::Accounts(without_secrets(&answer)),
        };
        said.push((attempt.started.event, holds));
    }
}

fn list(incident: &Incident) -> Text {
    let mut text = Text::new();
    for cause in &incident.causes {
        let style = match cause.state {
            CauseState::Confirmed => Style::Green,
            CauseState::Rejected => Style::Red,
            _ => Style::Yellow,
        };
        text.push(Style::Cyan, cause.proposed.event.short());
        text.push(style, format!(" {:<9} ", cause.state));
        text.add_line(super::list::one_line(&cause.text));
        text.field("", &cause.reason);
        for account in &cause.accounts {
            let ordinal = incident.attempt(account.attempt).map_or(0, |a| a.ordinal);
            text.field("", &format!("attempt {ordinal}: {}", account.how));
        }
    }
    if text.is_empty() {
        text.add_line("no cause was proposed: git incident cause propose \"the mechanism\"");
    }
    text
}
