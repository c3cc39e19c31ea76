//! `difference`: the table of factors that separate a working case from a broken one.

use serde_json::json;

use crate::cli::ui::Text;
use crate::cli::{Reply, open_session};
use crate::event::DifferenceSet;
use crate::model::{Error, Result};
use crate::session::keep::without_secrets;

/// Arguments of `difference`.
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
    /// List the table
    List,
    /// Add a row, or change the one with this factor
    #[command(alias = "add")]
    Set {
        /// What is compared
        factor: String,
        /// Its value in the working case
        #[arg(long, short = 'w')]
        working: Option<String>,
        /// Its value in the broken case
        #[arg(long, short = 'b')]
        broken: Option<String>,
        /// It was shown not to matter
        #[arg(long, overrides_with = "matters")]
        eliminated: bool,
        /// It matters after all
        #[arg(long)]
        matters: bool,
        /// What the working case is called
        #[arg(long)]
        working_case: Option<String>,
        /// What the broken case is called
        #[arg(long)]
        broken_case: Option<String>,
    },
    /// A factor was shown not to matter
    Eliminate {
        /// The factor
        factor: String,
    },
}

/// Lists or changes the table.
///
/// # Errors
/// No such factor.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    let clean = |t: String| without_secrets(&t);
    let row =
        |factor: &str| incident.differences.iter().find(|d| d.factor.eq_ignore_ascii_case(factor.trim()));
    let set = match args.action {
        None | Some(Action::List) => None,
        Some(Action::Set { factor, working, broken, eliminated, matters, working_case, broken_case }) => {
            let old = row(&factor);
            if factor.trim().is_empty() {
                return Err(Error::usage("the factor is empty"));
            }
            if old.is_none() && working.is_none() && broken.is_none() {
                return Err(Error::usage("a new row needs its values")
                    .hint(format!("git incident difference set {factor:?} --working X --broken Y")));
            }
            Some(DifferenceSet {
                factor: old.map_or_else(|| without_secrets(factor.trim()), |d| d.factor.clone()),
                working: working.map(clean).or_else(|| old.map(|d| d.working.clone())).unwrap_or_default(),
                broken: broken.map(clean).or_else(|| old.map(|d| d.broken.clone())).unwrap_or_default(),
                eliminated: !matters && (eliminated || old.is_some_and(|d| d.eliminated)),
                working_case: working_case.map(clean),
                broken_case: broken_case.map(clean),
            })
        }
        Some(Action::Eliminate { factor }) => {
            let old = row(&factor).ok_or_else(|| {
                let known: Vec<&str> = incident.differences.iter().map(|d| d.factor.as_str()).collect();
                Error::refused(format!("the table has no factor {factor:?}"))
                    .because(format!("it has: {}", known.join(", ")))
                    .hint("see the table: git incident difference")
            })?;
            Some(DifferenceSet {
                factor: old.factor.clone(),
                working: old.working.clone(),
                broken: old.broken.clone(),
                eliminated: true,
                working_case: None,
                broken_case: None,
            })
        }
    };
    if let Some(set) = set {
        session.append(&id, &[], |draft| draft.add(set))?;
    }
    let incident = session.incident(&id)?;
    let view: Vec<_> = incident
        .differences
        .iter()
        .map(|d| json!({"factor": d.factor, "working": d.working, "broken": d.broken, "eliminated": d.eliminated}))
        .collect();
    let mut text = Text::new();
    super::show::differences_text(&mut text, &incident);
    if text.is_empty() {
        text.add_line("no differences yet: git incident difference set FACTOR --working X --broken Y");
    }
    Ok(Reply::new(json!({"incident": id, "differences": view}), text))
}
