//! `budget`: what an incident has cost.

use serde_json::{Value, json};

use crate::cli::ui::Text;
use crate::cli::{Reply, open_session};
use crate::config::Decimal;
use crate::event::BudgetSpent;
use crate::model::time::human_duration;
use crate::model::{Error, Result};
use crate::session::budget::{Budget, money};
use crate::session::keep::without_secrets;

/// Arguments of `budget`.
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
    /// Record time or money that no recorded attempt or run shows
    Spend {
        /// Minutes
        #[arg(long, default_value_t = 0)]
        minutes: u64,
        /// Money, as a decimal such as 0.75
        #[arg(long)]
        money: Option<String>,
        /// On what
        #[arg(long, short = 'm')]
        message: Option<String>,
    },
}

/// Shows or records.
///
/// # Errors
/// An amount that is none.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let id = session.incident_id(args.incident.as_deref())?;
    if let Some(Action::Spend { minutes, money, message }) = args.action {
        let micros = match money {
            None => 0,
            Some(text) => Decimal::parse(&text)
                .ok()
                .and_then(|d| d.micros())
                .and_then(|m| u64::try_from(m).ok())
                .ok_or_else(|| {
                    Error::usage(format!("{text:?} is no amount of money")).hint("write it like 0.75")
                })?,
        };
        if minutes == 0 && micros == 0 {
            return Err(Error::usage("nothing was spent").hint("git incident budget spend --minutes 30"));
        }
        session.append(&id, &[], |draft| {
            draft.add(BudgetSpent { minutes, micros, note: without_secrets(&message.unwrap_or_default()) })
        })?;
    }
    let budget = session.budget(&session.incident(&id)?)?;
    Ok(Reply::new(json!({"incident": id, "budget": view(&budget)}), text(&budget)))
}

/// The budget for programs.
pub(crate) fn view(budget: &Budget) -> Value {
    json!({
        "attempts": {"used": budget.attempts, "limit": budget.max_attempts},
        "minutes": {"used": budget.millis / 60_000, "limit": budget.max_minutes},
        "money": {"used": money(budget.micros), "limit": budget.max_micros.map(money)},
        "exceeded": budget.exceeded(),
    })
}

/// The budget for people.
pub(crate) fn text(budget: &Budget) -> Text {
    let limit = |l: Option<String>| l.map_or_else(|| "no limit".to_owned(), |l| format!("of {l}"));
    Text::new().line(format!(
        "budget: {} attempts ({}), {} ({}), {} money ({})",
        budget.attempts,
        limit(budget.max_attempts.map(|n| n.to_string())),
        human_duration(budget.millis),
        limit(budget.max_minutes.map(|n| format!("{n} min"))),
        money(budget.micros),
        limit(budget.max_micros.map(money)),
    ))
}
