//! `attempt`: a hypothesis is put to the test, observed, and judged.

use serde_json::json;

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session, ui};
use crate::event::{AttemptNoted, AttemptStarted};
use crate::model::outcome::{Bug, Hypothesis, Outcome};
use crate::model::{Error, EventId, Oid, Result};
use crate::session::active::Active;
use crate::session::attempts::{ABOUT, Ending};
use crate::session::keep::without_secrets;
use crate::session::{Session, locate};

/// Arguments of `attempt`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    /// Id or ticket of the incident; the active one when left out
    #[arg(long, short = 'i', global = true)]
    pub incident: Option<String>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Start an attempt and make it the active one
    Start {
        /// Why it might work
        #[arg(long, short = 'H', required = true)]
        hypothesis: String,
        /// What would disprove the hypothesis
        #[arg(long, short = 'd')]
        disproof: Option<String>,
        /// Short description
        #[arg(long, short = 't')]
        title: Option<String>,
        /// What is going to be done
        #[arg(long, short = 'a')]
        action: Option<String>,
    },
    /// Write down an observation
    Note {
        /// The text
        text: Option<String>,
        /// The text, as an option
        #[arg(long, short = 'm', conflicts_with = "text")]
        message: Option<String>,
        /// What it speaks of (may be repeated): profile, sizes, host, device, code, arithmetic, performance
        #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(ABOUT))]
        about: Vec<String>,
        /// It belongs on a timeline
        #[arg(long)]
        important: bool,
        /// Number or id of the attempt; the active one when left out
        #[arg(long, short = 'n')]
        attempt: Option<String>,
    },
    /// End an attempt with what it showed, on both sides: the hypothesis and the bug
    End(End),
}

/// The ways to say an outcome, shared with `try`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct OutcomeFlags {
    /// The result speaks for the hypothesis
    #[arg(long, group = "side-hypothesis")]
    pub supported: bool,
    /// The result speaks against the hypothesis
    #[arg(long, group = "side-hypothesis")]
    pub refuted: bool,
    /// The result decides nothing
    #[arg(long, group = "side-hypothesis")]
    pub undecided: bool,
    /// The bug is gone
    #[arg(long, group = "side-bug")]
    pub fixed: bool,
    /// The bug is still there
    #[arg(long, group = "side-bug")]
    pub remains: bool,
    /// Short for --supported --fixed
    #[arg(long, conflicts_with_all = ["side-hypothesis", "side-bug", "failed", "inconclusive"])]
    pub worked: bool,
    /// Short for --refuted --remains
    #[arg(long, conflicts_with_all = ["side-hypothesis", "side-bug", "inconclusive"])]
    pub failed: bool,
    /// Short for --undecided
    #[arg(long, conflicts_with = "side-hypothesis")]
    pub inconclusive: bool,
}

impl OutcomeFlags {
    /// Both sides, where they were said.
    pub fn sides(&self) -> (Option<Hypothesis>, Option<Bug>) {
        let hypothesis = match () {
            () if self.supported || self.worked => Some(Hypothesis::Supported),
            () if self.refuted || self.failed => Some(Hypothesis::Refuted),
            () if self.undecided || self.inconclusive => Some(Hypothesis::Undecided),
            () => None,
        };
        let bug = match () {
            () if self.fixed || self.worked => Some(Bug::Fixed),
            () if self.remains || self.failed => Some(Bug::Remains),
            () => None,
        };
        (hypothesis, bug)
    }
}

#[derive(Debug, clap::Args)]
struct End {
    #[command(flatten)]
    outcome: OutcomeFlags,
    /// What it tells: why it worked or failed
    #[arg(long, short = 'm', required = true)]
    message: String,
    /// What happened: exact messages, numbers
    #[arg(long, short = 'r')]
    result: Option<String>,
    /// What was done, when it was not said at the start
    #[arg(long, short = 'a')]
    action: Option<String>,
    /// What it rules out (may be repeated)
    #[arg(long)]
    rules_out: Vec<String>,
    /// Number or id of the attempt; the active one when left out
    #[arg(long, short = 'n')]
    attempt: Option<String>,
}

/// Starts, notes or ends.
///
/// # Errors
/// No attempt is active; an outcome that was not said.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let id = session.incident_id(args.incident.as_deref())?;
    match args.action {
        Action::Start { hypothesis, disproof, title, action } => {
            let started = AttemptStarted {
                hypothesis: without_secrets(hypothesis.trim()),
                disproof: without_secrets(disproof.as_deref().unwrap_or_default()),
                title: without_secrets(title.as_deref().unwrap_or_default()),
                action: without_secrets(action.as_deref().unwrap_or_default()),
            };
            start(&session, &id, started)
        }
        Action::Note { text, message, about, important, attempt } => {
            let text = text.or(message).unwrap_or_default();
            if text.trim().is_empty() {
                return Err(
                    Error::usage("the note is empty").hint("git incident attempt note \"what you saw\"")
                );
            }
            let attempt = match attempt {
                Some(named) => Some(locate::attempt(&session.incident(&id)?, &named)?.started.event),
                None => session.active_attempt(&id),
            };
            let noted = AttemptNoted { attempt, text: without_secrets(&text), about, important, run: None };
            let event = session.append(&id, &[], |draft| draft.add(noted))?.value;
            let place = if attempt.is_some() { "attempt" } else { "incident" };
            Ok(Reply::new(
                json!({"incident": id, "attempt": attempt, "note": event}),
                format!("noted on the {place}\n"),
            ))
        }
        Action::End(end) => finish(&session, &id, end),
    }
}

fn start(session: &Session, id: &Oid, started: AttemptStarted) -> Result<Reply> {
    if started.hypothesis.is_empty() {
        return Err(Error::usage("the hypothesis is empty")
            .hint("git incident attempt start -H \"why it might work\""));
    }
    let incident = session.incident(id)?;
    session.must_be_open(&incident)?;
    let over = session.budget(&incident)?.exceeded();
    for line in &over {
        ui::remark(&format!("budget: {line}; give up with: git incident close --blocked"));
    }
    if let Some(running) =
        session.active_attempt(id).and_then(|a| incident.attempt(a)).filter(|a| a.ended.is_none())
    {
        ui::remark(&format!(
            "attempt {} has not ended; it stays open: git incident attempt end -n {} …",
            running.ordinal, running.ordinal
        ));
    }
    let hypothesis = started.hypothesis.clone();
    let tried = super::tried::look_before(session, &hypothesis);
    let event = session.append(id, &[], |draft| draft.add(started))?.value;
    session.set_active(&Active { incident: Some(id.clone()), attempt: Some(event) })?;
    let ordinal = incident.attempts.len() + 1;
    let text = Text::new()
        .styled(Style::Bold, format!("attempt {ordinal}"))
        .styled(Style::Dim, format!(" {}", event.short()))
        .line(format!(" {hypothesis}"))
        .styled(Style::Dim, "end it with: git incident attempt end --worked, --failed or --inconclusive -m \"what it tells\"\n");
    let view =
        json!({"incident": id, "attempt": event, "ordinal": ordinal, "over_budget": over, "tried": tried});
    Ok(Reply::new(view, text))
}

fn finish(session: &Session, id: &Oid, end: End) -> Result<Reply> {
    let (hypothesis, bug) = end.outcome.sides();
    if hypothesis.is_none() && bug.is_none() {
        return Err(Error::usage("the outcome has two sides, and neither was said")
            .hint(
                "of the hypothesis: --supported, --refuted or --undecided; of the bug: --fixed or --remains",
            )
            .hint("or both at once: --worked, --failed, --inconclusive"));
    }
    if end.message.trim().is_empty() {
        return Err(Error::usage("the conclusion is empty").hint("say what the attempt tells: -m \"…\""));
    }
    let incident = session.incident(id)?;
    let attempt: EventId = match &end.attempt {
        Some(named) => locate::attempt(&incident, named)?.started.event,
        None => session.running_attempt(id, &incident)?,
    };
    let outcome = Outcome { hypothesis: hypothesis.unwrap_or_default(), bug: bug.unwrap_or_default() };
    let ending = Ending {
        attempt,
        outcome,
        action: end.action.unwrap_or_default(),
        result: end.result.unwrap_or_default(),
        conclusion: end.message,
        rules_out: end.rules_out,
    };
    let incident = session.end_attempt(id, ending)?;
    let ended = incident.attempt(attempt).ok_or_else(|| Error::bug("the attempt that was ended is gone"))?;
    let text = Text::new()
        .styled(Style::Bold, format!("attempt {}", ended.ordinal))
        .line(format!(" ended: hypothesis {}, bug {}", outcome.hypothesis, outcome.bug));
    let view = json!({
        "incident": id, "attempt": attempt, "ordinal": ended.ordinal,
        "outcome": {"hypothesis": outcome.hypothesis, "bug": outcome.bug},
    });
    Ok(Reply::new(view, text))
}
