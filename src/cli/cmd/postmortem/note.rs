//! `postmortem note`: what the record of attempts, runs and commits cannot tell.

use serde_json::json;

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::document::postmortem::REASONS;
use crate::event::{PostmortemNoted, PostmortemWithdrawn};
use crate::model::incident::{Incident, ReviewNote};
use crate::model::moment;
use crate::model::{Error, Result};
use crate::session::keep::without_secrets;

/// Arguments of `postmortem note`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  git incident postmortem note impact \"412 of 9,000 jobs returned NaN, for two days\"
  git incident postmortem note timeline --at 2026-03-01T09:12Z \"the first customer reports it\"
  git incident postmortem note slipped --reason ci-gap \"no test has inputs above 709\"
  git incident postmortem note action \"test inputs above 709\" --owner Ada --link GPU-124
  git incident postmortem note action --none \"the fix removes the only caller\"
  git incident postmortem note --withdraw 1a2b3c4 -m \"that was another incident\"")]
pub struct Args {
    /// What it belongs to; left out, what was said so far is listed
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(
        ["impact", "detection", "timeline", "slipped", "lesson", "question", "action", "owner"]
    ))]
    block: Option<String>,
    /// What is to be said
    text: Option<String>,
    /// The same, as an option
    #[arg(long, short = 'm', conflicts_with = "text")]
    message: Option<String>,
    /// Why it slipped through (slipped)
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(REASONS.map(|(word, _)| word)))]
    reason: Option<String>,
    /// Who does it (action)
    #[arg(long)]
    owner: Option<String>,
    /// Where it is tracked: a ticket, an issue, a pull request (action)
    #[arg(long)]
    link: Option<String>,
    /// When it happened, with its zone, such as 2026-03-01T09:12Z or "2026-03-01 10:12 +01:00" (timeline)
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// There is none; the text says why (action, lesson, question)
    #[arg(long)]
    none: bool,
    /// Take back what was said, by its id
    #[arg(long, value_name = "ID", conflicts_with_all = ["block", "reason", "owner", "link", "at", "none"])]
    withdraw: Option<String>,
    /// Id or ticket of the incident; the active one when left out
    #[arg(long, short = 'i')]
    incident: Option<String>,
}

/// Says it, takes it back, or lists.
///
/// # Errors
/// An option that the block does not have; an empty text; no such note.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    let text = without_secrets(args.text.as_deref().or(args.message.as_deref()).unwrap_or_default().trim());
    if let Some(named) = &args.withdraw {
        let note = find(&incident, named)?;
        let (noted, block) = (note.stamp.event, note.block.clone());
        session.append(&id, &[], |draft| draft.add(PostmortemWithdrawn { noted, reason: text }))?;
        return Ok(Reply::new(
            json!({"incident": id, "withdrawn": noted, "block": block}),
            format!("withdrew {} {block}\n", noted.short()),
        ));
    }
    let Some(block) = args.block.clone() else {
        if !text.is_empty() {
            return Err(Error::usage("a text without what it belongs to")
                .hint("git incident postmortem note lesson \"…\"; see git incident postmortem note -h"));
        }
        return Ok(list(&incident));
    };
    for (given, option, of) in [
        (args.reason.is_some(), "--reason", &["slipped"][..]),
        (args.owner.is_some(), "--owner", &["action"]),
        (args.link.is_some(), "--link", &["action"]),
        (args.at.is_some(), "--at", &["timeline"]),
        (args.none, "--none", &["action", "lesson", "question"]),
    ] {
        if given && !of.contains(&block.as_str()) {
            return Err(Error::usage(format!("{option} belongs to {}, not to {block}", of.join(", ")))
                .hint("see git incident postmortem note -h"));
        }
    }
    if block == "slipped" && args.reason.is_none() {
        let words: Vec<&str> = REASONS.iter().map(|(word, _)| *word).collect();
        return Err(Error::usage("the reason is not said").hint(format!("--reason {}", words.join(", "))));
    }
    if text.is_empty() {
        return Err(Error::usage("the text is empty")
            .hint(format!("git incident postmortem note {block} \"what there is to say\"")));
    }
    let happened = match &args.at {
        Some(text) => moment::parse(text).map(|t| t.to_string()).map_err(|why| {
            Error::usage(format!("{text:?} is no time: {why}")).hint("--at 2026-03-01T09:12Z")
        })?,
        None => String::new(),
    };
    let optional = |value: &Option<String>| without_secrets(value.as_deref().unwrap_or_default().trim());
    let noted = PostmortemNoted {
        block: block.clone(),
        text,
        reason: args.reason.clone().unwrap_or_default(),
        owner: optional(&args.owner),
        link: optional(&args.link),
        happened,
        none: args.none,
    };
    let event = session.append(&id, &[], |draft| draft.add(noted))?.value;
    let shown = Text::new().plain("noted ").styled(Style::Cyan, event.short()).line(format!(" {block}")).styled(
        Style::Dim,
        "git incident postmortem draft puts it into the document; git incident postmortem note lists what was said\n",
    );
    Ok(Reply::new(json!({"incident": id, "note": event, "block": block}), shown))
}

/// A note by the start of its id.
fn find<'i>(incident: &'i Incident, named: &str) -> Result<&'i ReviewNote> {
    let standing = || incident.review.iter().filter(|n| n.withdrawn.is_none());
    let mut fitting = standing().filter(|n| named.len() >= 4 && n.stamp.event.to_string().starts_with(named));
    match (fitting.next(), fitting.next()) {
        (Some(note), None) => Ok(note),
        (Some(_), Some(_)) => Err(Error::refused(format!("more than one note starts with {named}"))
            .hint("write more of it: git incident postmortem note")),
        _ => Err(Error::refused(format!("no note {named} stands (at least 4 digits)"))
            .hint("git incident postmortem note lists them")),
    }
}

fn list(incident: &Incident) -> Reply {
    let mut text = Text::new();
    let standing: Vec<&ReviewNote> = incident.review.iter().filter(|n| n.withdrawn.is_none()).collect();
    for note in &standing {
        text.push(Style::Cyan, note.stamp.event.short());
        let mut facts = vec![note.block.clone()];
        facts.extend((!note.reason.is_empty()).then(|| note.reason.clone()));
        facts.extend(note.happened.map(|t| format!("{} UTC", t.to_minute())));
        facts.extend(note.none.then(|| "none".to_owned()));
        facts.extend((!note.owner.is_empty()).then(|| format!("owner {}", note.owner)));
        facts.extend((!note.link.is_empty()).then(|| note.link.clone()));
        text.add_line(format!(" {}: {}", facts.join(", "), note.text.replace('\n', "\n    ")));
    }
    if standing.is_empty() {
        text.push(Style::Dim, "nothing was said yet; see git incident postmortem note -h\n");
    }
    let rows: Vec<_> = standing
        .iter()
        .map(|n| {
            json!({
                "id": n.stamp.event, "at": n.stamp.at, "block": n.block, "text": n.text, "reason": n.reason,
                "owner": n.owner, "link": n.link, "happened": n.happened, "none": n.none,
            })
        })
        .collect();
    Reply::new(json!({"incident": incident.id, "notes": rows}), text)
}
