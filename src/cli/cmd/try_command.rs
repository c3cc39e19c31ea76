//! `try`: run a command as the shell would, and record everything that is needed to understand it later.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::attempt::OutcomeFlags;
use crate::cli::{Reply, open_session, ui};
use crate::event::{AttemptNoted, AttemptStarted};
use crate::model::outcome::{Bug, Outcome};
use crate::model::time::human_duration;
use crate::model::{Error, EventId, Oid, Result, command_line};
use crate::redact;
use crate::report::views;
use crate::runner::Stream;
use crate::session::Session;
use crate::session::active::Active;
use crate::session::attempts::Ending;
use crate::session::duration;
use crate::session::keep::without_secrets;
use crate::session::running::{Ran, RunRequest};

/// Arguments of `try`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "It exits with the command's own status; 124 when it was ended as a hang, 125 for trouble of git incident itself,\n\
                        126 or 127 when the command could not be started."
)]
pub struct Args {
    /// Make it a whole attempt: why it might work
    #[arg(long, short = 'H')]
    pub hypothesis: Option<String>,
    /// With -H: what would disprove the hypothesis
    #[arg(long, short = 'd', requires = "hypothesis")]
    pub disproof: Option<String>,
    /// With -H: short description
    #[arg(long, requires = "hypothesis")]
    pub title: Option<String>,
    /// With -H: what it tells, when that is known beforehand
    #[arg(long, short = 'm', requires = "hypothesis")]
    pub message: Option<String>,
    #[command(flatten)]
    outcome: OutcomeFlags,
    /// End it when it runs longer than this (90s, 5m, 1h30m)
    #[arg(long, value_parser = duration::parse)]
    pub timeout: Option<std::time::Duration>,
    /// End it when it prints nothing for this long
    #[arg(long, value_parser = duration::parse)]
    pub idle: Option<std::time::Duration>,
    /// Record the version of this tool (may be repeated)
    #[arg(long = "tool", value_name = "NAME")]
    pub tools: Vec<String>,
    /// Id or ticket of the incident; the active one when left out
    #[arg(long, short = 'i')]
    pub incident: Option<String>,
    /// The command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Runs and records. Whatever is wrong with us, and not with the command, exits with 125.
///
/// # Errors
/// None: they are told, and become the exit status.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    match record(args, json) {
        Ok(reply) => Ok(reply),
        Err((status, error)) => {
            ui::error(&error);
            let view = json!({"error": {"what": error.what(), "causes": error.causes(), "hints": error.hints(), "exit": status}});
            Ok(Reply::new(view, "").exit(status))
        }
    }
}

/// Our own trouble: told apart from any usual status of a command.
fn ours(error: Error) -> (i32, Error) {
    (125, error)
}

fn record(args: Args, json: bool) -> Result<Reply, (i32, Error)> {
    let mut session = open_session().map_err(ours)?;
    let id = session.incident_id(args.incident.as_deref()).map_err(ours)?;
    session.author().map_err(ours)?;
    if args.hypothesis.as_ref().is_some_and(|h| h.trim().is_empty()) {
        return Err((2, Error::usage("the hypothesis is empty").hint("say why it might work: -H \"…\"")));
    }
    let sides = args.outcome.sides();
    if args.hypothesis.is_none() && (sides.0.is_some() || sides.1.is_some()) {
        return Err((
            2,
            Error::usage("an outcome belongs to an attempt")
                .hint("make it one with -H \"why it might work\""),
        ));
    }
    let before = session.snapshot().map_err(ours)?;
    // The attempt stands in the ledger before its command runs: whatever happens then, it was tried.
    let mut tried = Vec::new();
    let attempt = match &args.hypothesis {
        Some(hypothesis) => Some(begin(&session, &id, hypothesis, &args, &mut tried).map_err(ours)?),
        None => session.active_attempt(&id),
    };
    let request = RunRequest {
        argv: args.command.clone(),
        cwd: None,
        env: Vec::new(),
        timeout: args.timeout,
        idle: args.idle,
        stream: if json { Stream::Stderr } else { Stream::Terminal },
        tools: args.tools.clone(),
    };
    let ran = match session.run_command(&request) {
        Ok(ran) => ran,
        Err(failure) => {
            let words: Vec<String> = args.command.iter().map(|a| a.to_string_lossy().into_owned()).collect();
            let argv = redact::cut_words(&words);
            let run = crate::model::incident::RunRecord {
                argv,
                commit: before.commit.clone(),
                tree: before.tree.clone(),
                dirty: before.dirty,
                ..Default::default()
            };
            let text = format!("could not be started: {}", failure.error);
            let noted = AttemptNoted { attempt, text: text.clone(), run: Some(run), ..Default::default() };
            session.append(&id, &[], |draft| draft.add(noted)).map_err(ours)?;
            if let (Some(attempt), Some(_)) = (attempt, &args.hypothesis) {
                finish(&session, &id, attempt, &args, text, None).map_err(ours)?;
            }
            return Err((failure.status, failure.error));
        }
    };
    let kept = session.keep_run(&ran, &before, attempt).map_err(ours)?;
    let oids: Vec<Oid> = kept.iter().filter_map(|k| k.event.oid.clone()).collect();
    let run = session.run_record(&args.command, &ran, &before, &args.tools, &oids).map_err(ours)?;
    let view_of_run = views::run(&run);
    let exit = ran.outcome.end.exit_code();
    let result = describe(&ran);
    let noted = AttemptNoted { attempt, run: Some(run), ..Default::default() };
    session
        .append(&id, &oids, |draft| {
            for file in &kept {
                draft.add(file.event.clone())?;
            }
            draft.add(noted)
        })
        .map_err(ours)?;
    for remark in kept.iter().filter_map(|k| k.remark.clone()).chain(session.remarks.drain(..)) {
        ui::remark(&remark);
    }
    let mut outcome = None;
    if let (Some(attempt), Some(_)) = (attempt, &args.hypothesis) {
        outcome = Some(finish(&session, &id, attempt, &args, result.clone(), Some(exit)).map_err(ours)?);
    }
    if !json {
        let place = if attempt.is_some() { "attempt" } else { "incident" };
        let files = if oids.len() == 1 { "file" } else { "files" };
        ui::remark(&format!("{result}; recorded on the {place}, {} {files} kept", oids.len()));
    }
    let findings: Vec<_> = ran
        .hang()
        .map(|kind| json!({"class": "hang", "reason": kind, "primary": true}))
        .into_iter()
        .collect();
    let view = json!({
        "incident": id,
        "attempt": attempt,
        "exit": exit,
        "seconds": views::seconds(ran.outcome.duration.as_millis() as u64),
        "hang": ran.hang(),
        "outcome": outcome.map(|o| json!({"hypothesis": o.hypothesis, "bug": o.bug})),
        "evidence": kept.iter().map(|k| json!({"oid": k.event.oid, "name": k.event.name, "kind": k.event.kind, "bytes": k.event.bytes, "sha256": k.event.sha256, "redacted": k.event.redacted})).collect::<Vec<_>>(),
        "findings": findings,
        "run": view_of_run,
        "tried": tried,
    });
    Ok(Reply::new(view, "").exit(exit))
}

fn begin(
    session: &Session,
    id: &Oid,
    hypothesis: &str,
    args: &Args,
    tried: &mut Vec<Value>,
) -> Result<EventId> {
    let incident = session.incident(id)?;
    session.must_be_open(&incident)?;
    for line in session.budget(&incident)?.exceeded() {
        ui::remark(&format!("budget: {line}; give up with: git incident close --blocked"));
    }
    *tried = super::tried::look_before(session, hypothesis.trim());
    let command: Vec<_> = args.command.iter().map(|a| a.to_string_lossy()).collect();
    let started = AttemptStarted {
        hypothesis: without_secrets(hypothesis.trim()),
        disproof: without_secrets(args.disproof.as_deref().unwrap_or_default()),
        title: without_secrets(args.title.as_deref().unwrap_or_default()),
        action: without_secrets(&format!("`{}`", command_line::join(&command))),
    };
    let event = session.append(id, &[], |draft| draft.add(started))?.value;
    session.set_active(&Active { incident: Some(id.clone()), attempt: Some(event) })?;
    Ok(event)
}

/// What happened, in one line.
fn describe(ran: &Ran) -> String {
    let time = human_duration(ran.outcome.duration.as_millis() as u64);
    match ran.hang() {
        Some("idle") => format!("hang: no output for the idle limit; ended after {time}"),
        Some(_) => format!("hang: did not end in time; ended after {time}"),
        None => format!("exit {} after {time}", ran.outcome.end.exit_code()),
    }
}

fn finish(
    session: &Session,
    id: &Oid,
    attempt: EventId,
    args: &Args,
    result: String,
    exit: Option<i32>,
) -> Result<Outcome> {
    let (hypothesis, bug) = args.outcome.sides();
    // What was said counts. Else only one thing follows by itself: the repro command that still shows the bug.
    let repro = session.incident(id)?.repro;
    let is_repro = repro
        .command
        .iter()
        .map(String::as_str)
        .eq(args.command.iter().map(|a| a.to_str().unwrap_or("\u{fffd}")));
    let shown = is_repro
        && repro.fails_when == crate::model::status::FailsWhen::Exit
        && exit.is_some_and(|status| status != 0);
    let outcome = Outcome {
        hypothesis: hypothesis.unwrap_or_default(),
        bug: bug.unwrap_or(if shown { Bug::Remains } else { Bug::Unknown }),
    };
    let conclusion = args.message.clone().unwrap_or_default();
    session.end_attempt(
        id,
        Ending { attempt, outcome, action: String::new(), result, conclusion, rules_out: Vec::new() },
    )?;
    Ok(outcome)
}
