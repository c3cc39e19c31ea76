//! `repro`: the command that shows the bug, and how often it does.

use serde_json::json;

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session, ui};
use crate::event::ReproSet;
use crate::model::status::FailsWhen;
use crate::model::{Error, Result, command_line, rate};
use crate::redact;
use crate::report::views;
use crate::runner::Stream;
use crate::session::duration;
use crate::session::keep::without_secrets;
use crate::session::repro::{Seen, SeriesRequest};

/// Arguments of `repro`.
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
    /// Show the command and its measured rate
    Show,
    /// Set the command
    Set {
        /// When a run counts as having shown the bug
        #[arg(long, default_value = "exit", value_parser = clap::builder::PossibleValuesParser::new(FailsWhen::WORDS))]
        fails_when: String,
        /// With --fails-when output: the text its output holds when the bug shows
        #[arg(long)]
        pattern: Option<String>,
        /// Limit of one run (90s, 5m); needed by --fails-when timeout
        #[arg(long, value_parser = duration::parse)]
        timeout: Option<std::time::Duration>,
        /// The command
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Run it and record how often the bug was seen: exits 1 when it was, 0 when not, 125 when it could not run
    Run {
        /// How often
        #[arg(short = 'n', long = "runs", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        runs: u32,
        /// On this commit, in a worktree outside of the repository
        #[arg(long, value_name = "COMMIT")]
        at: Option<String>,
        /// Record the version of this tool (may be repeated)
        #[arg(long = "tool", value_name = "NAME")]
        tools: Vec<String>,
        /// Run a command that was set in another clone: you have read it
        #[arg(long)]
        approve: bool,
        /// Do not show the command's output
        #[arg(long, short = 'q')]
        quiet: bool,
    },
}

/// Shows, sets or runs.
///
/// # Errors
/// No command; one that could not be run exits with 125.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    let named = args.incident.as_deref();
    match args.action {
        None | Some(Action::Show) => show(named),
        Some(Action::Set { fails_when, pattern, timeout, command }) => {
            set(named, &fails_when, pattern, timeout, command)
        }
        Some(Action::Run { runs, at, tools, approve, quiet }) => {
            let options = Options { approve, quiet, json };
            match measure(named, runs, at.as_deref(), tools, options) {
                Ok(reply) => Ok(reply),
                Err(error) => {
                    ui::error(&error);
                    let view = json!({"error": {"what": error.what(), "causes": error.causes(), "hints": error.hints(), "exit": 125}});
                    Ok(Reply::new(view, "").exit(125))
                }
            }
        }
    }
}

fn show(named: Option<&str>) -> Result<Reply> {
    let session = open_session()?;
    let (id, incident) = session.named_incident(named)?;
    let standing = session.standing(&incident);
    let line = super::show::repro_line(&incident, &standing);
    let text = if line.is_empty() {
        "no repro command is set: git incident repro set -- COMMAND…\n".to_owned()
    } else {
        format!("{line}\n")
    };
    Ok(Reply::new(json!({"incident": id, "repro": views::repro(&incident, &standing)}), text))
}

fn set(
    named: Option<&str>,
    fails_when: &str,
    pattern: Option<String>,
    timeout: Option<std::time::Duration>,
    command: Vec<String>,
) -> Result<Reply> {
    let session = open_session()?;
    let id = session.incident_id(named)?;
    let fails_when: FailsWhen = fails_when.parse().map_err(Error::usage)?;
    if fails_when == FailsWhen::Output && pattern.as_deref().unwrap_or_default().is_empty() {
        return Err(Error::usage("--fails-when output needs the text to look for").hint("--pattern \"nan\""));
    }
    if fails_when == FailsWhen::Timeout && timeout.is_none() {
        return Err(Error::usage("--fails-when timeout needs the limit").hint("--timeout 60s"));
    }
    let pattern = pattern.unwrap_or_default();
    if without_secrets(&pattern) != pattern {
        return Err(Error::refused("the pattern holds a secret, and the ledger travels")
            .hint("look for the text around it"));
    }
    let set = ReproSet {
        // A secret in the command would travel with the ledger; cut out, the command does not run: say so.
        command: redact::cut_words(&command),
        fails_when,
        pattern,
        timeout_millis: timeout.map_or(0, |t| t.as_millis() as u64),
        // Runs on other commits happen in another worktree, so the place is kept from its top.
        directory: session.directory_below_top()?,
    };
    if set.command != command {
        return Err(Error::refused("the command holds a secret, and the ledger travels")
            .hint("pass it in the environment: --  sh -c 'tool --token \"$TOKEN\"'"));
    }
    let line = command_line::join(&set.command);
    let set = session.append(&id, &[], |draft| draft.add(set))?.value;
    session.approve_repro(set)?;
    let text = Text::new()
        .plain("repro: ")
        .line(&line)
        .styled(Style::Dim, "measure how often it shows the bug: git incident repro run -n 5\n");
    Ok(Reply::new(json!({"incident": id, "repro": {"command": command, "fails_when": fails_when}}), text))
}

/// The switches of `repro run`.
struct Options {
    approve: bool,
    quiet: bool,
    json: bool,
}

fn measure(
    named: Option<&str>,
    runs: u32,
    at: Option<&str>,
    tools: Vec<String>,
    options: Options,
) -> Result<Reply> {
    let Options { approve, quiet, json } = options;
    let mut session = open_session()?;
    let (id, incident) = session.named_incident(named)?;
    let stream = match (json, quiet) {
        (true, _) => Stream::Stderr,
        (false, true) => Stream::Quiet,
        (false, false) => Stream::Terminal,
    };
    let progress = |n: u32, seen: Seen, line: &str| {
        if runs > 1 {
            let word = if seen == Seen::Bug { "bug seen" } else { "not seen" };
            ui::remark(&format!("run {n} of {runs}: {word} ({line})"));
        }
    };
    let request = SeriesRequest { runs, at, stream, tools, approved: approve, progress: &progress };
    let series = session.run_repro(&id, &incident, &request)?;
    for remark in session.remarks.drain(..) {
        ui::remark(&remark);
    }
    let (low, high) = rate::wilson(series.failures, series.runs);
    let incident = session.incident(&id)?;
    let standing = session.standing(&incident);
    let style = if series.failures > 0 { Style::Red } else { Style::Green };
    let place = series
        .commit
        .as_ref()
        .filter(|_| at.is_some())
        .map_or_else(String::new, |c| format!(" on {}", c.short()));
    let text = Text::new()
        .styled(style, format!("bug seen in {} of {} runs{place}", series.failures, series.runs))
        .line(format!(" (95 % interval {:.0}–{:.0} %)", low * 100.0, high * 100.0));
    let view = json!({
        "incident": id, "runs": series.runs, "failures": series.failures,
        "interval": {"low": low, "high": high}, "commit": series.commit, "repro": views::repro(&incident, &standing),
    });
    Ok(Reply::new(view, text).exit(i32::from(series.failures > 0)))
}
