//! `tried`: was this tried before?

use std::io::Read;

use serde_json::{Value, json};

use super::list::one_line;
use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session, ui};
use crate::model::outcome::Bug;
use crate::model::{Error, Result};
use crate::session::Session;
use crate::session::tried::{Question, Tried};

/// The status for what was tried before and did not fix the bug.
const ALREADY: i32 = 3;
/// So much of a log is read, from its end.
const MOST_LOG: usize = 16 << 20;

/// Arguments of `tried`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "It exits with 3 when an attempt like this was made and did not fix the bug, else with 0."
)]
pub struct Args {
    /// What is to be tried: the hypothesis, in your own words
    #[arg(num_args = 0..)]
    pub text: Vec<String>,
    /// A log; attempts that saw the same errors are found (- for standard input)
    #[arg(long, value_name = "FILE")]
    pub error: Option<String>,
    /// The changes in the working tree; attempts with patches like it are found
    #[arg(long)]
    pub diff: bool,
    /// Only attempts that touched this file or folder, from the top of the repository (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub path: Vec<String>,
    /// So many at most
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    pub limit: u16,
}

/// Asks.
///
/// # Errors
/// Nothing was asked; a file that cannot be read; ledgers that cannot be read.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let text = args.text.join(" ").trim().to_owned();
    if text.is_empty() && args.error.is_none() && !args.diff && args.path.is_empty() {
        return Err(Error::usage("nothing is asked")
            .hint("say what you want to try: git incident tried \"why it might work\"")
            .hint("or give --error FILE, --diff or --path PATH"));
    }
    let errors = args.error.as_deref().map(read_log).transpose()?;
    let session = open_session()?;
    if args.diff {
        session.workdir()?;
    }
    let question = Question {
        text: Some(text).filter(|t| !t.is_empty()),
        errors,
        diff: args.diff,
        paths: args.path,
        limit: usize::from(args.limit),
        in_passing: false,
    };
    let matches = session.tried(&question)?.unwrap_or_default();
    let already = matches.iter().any(Tried::did_not_fix);
    let view = json!({"matches": matches.iter().map(view).collect::<Vec<_>>(), "already_tried": already});
    let mut text = Text::new();
    for tried in &matches {
        add(&mut text, tried);
    }
    if matches.is_empty() {
        text.add_line("nothing like it was tried here");
    }
    Ok(Reply::new(view, text).exit(if already { ALREADY } else { 0 }).paged())
}

fn read_log(file: &str) -> Result<String> {
    let mut bytes = Vec::new();
    let read = if file == "-" {
        std::io::stdin().read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|mut f| f.read_to_end(&mut bytes))
    };
    read.map_err(|e| {
        Error::refused(format!("{file} cannot be read"))
            .because(e)
            .hint("name a file with the error's output: git incident tried --error FILE")
    })?;
    let from = bytes.len().saturating_sub(MOST_LOG);
    Ok(String::from_utf8_lossy(&bytes[from..]).into_owned())
}

/// An attempt that was made before, for programs.
pub(crate) fn view(tried: &Tried) -> Value {
    let attempt = &tried.attempt;
    json!({
        "incident": tried.incident.id,
        "title": *tried.incident.title,
        "ticket": *tried.incident.ticket,
        "attempt": attempt.started.event,
        "ordinal": attempt.ordinal,
        "score": tried.score,
        "by": tried.by,
        "hypothesis": attempt.hypothesis,
        "outcome": {"hypothesis": attempt.outcome.hypothesis, "bug": attempt.outcome.bug},
        "ended": attempt.ended.as_ref().map(|s| s.at),
        "result": attempt.result,
        "conclusion": attempt.conclusion,
        "changed_since": tried.changed_since,
        "changed": tried.changed,
        "touched": tried.touched,
    })
}

/// The same for people.
fn add(text: &mut Text, tried: &Tried) {
    let attempt = &tried.attempt;
    let (style, outcome) = match (&attempt.ended, attempt.outcome.bug) {
        (None, _) => (Style::Yellow, "still running"),
        (_, Bug::Fixed) => (Style::Green, "fixed the bug"),
        (_, Bug::Remains) => (Style::Red, "did not fix the bug"),
        (_, Bug::Unknown) => (Style::Yellow, "ended without a decision"),
    };
    text.push(Style::Cyan, tried.incident.id.as_ref().map_or("", |id| id.short()));
    text.push(Style::Bold, format!(" attempt {} ", attempt.ordinal));
    text.push(style, outcome);
    text.push(
        Style::Dim,
        format!(
            "  {}  {:.0} % alike by {}\n",
            attempt.started.at.to_date(),
            tried.score * 100.0,
            tried.by.join(", ")
        ),
    );
    text.field("of", &one_line(&tried.incident.title));
    text.field("tried", attempt.headline());
    text.field("why it ended", first_of(&[&attempt.conclusion, &attempt.result]));
    let since = match (tried.changed_since, tried.did_not_fix()) {
        (None, _) => String::new(),
        (Some(false), _) => "the files it touched have not changed since".to_owned(),
        (Some(true), true) => format!("changed since: {}; it may be worth retrying", some(&tried.changed)),
        (Some(true), false) => format!("changed since: {}", some(&tried.changed)),
    };
    text.field("code", &since);
    text.push(Style::Plain, "\n");
}

fn first_of<'t>(texts: &[&'t str]) -> &'t str {
    texts.iter().find(|t| !t.trim().is_empty()).copied().unwrap_or_default()
}

fn some(paths: &[String]) -> String {
    let shown = paths.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    if paths.len() > 3 { format!("{shown} and {} more", paths.len() - 3) } else { shown }
}

/// Asks in passing, before an attempt begins, and says on stderr what is found. Whatever goes wrong is no reason not to
/// begin.
pub(crate) fn look_before(session: &Session, hypothesis: &str) -> Vec<Value> {
    let question =
        Question { text: Some(hypothesis.to_owned()), limit: 5, in_passing: true, ..Question::default() };
    let matches = match session.tried(&question) {
        Ok(Some(matches)) => matches,
        Ok(None) => {
            ui::remark(
                "not looked up whether this was tried: the index is not ready; to build it and ask: git incident tried TEXT",
            );
            return Vec::new();
        }
        Err(_) => return Vec::new(),
    };
    for tried in matches.iter().filter(|t| t.did_not_fix()).take(3) {
        let why = one_line(first_of(&[&tried.attempt.conclusion, &tried.attempt.result]));
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        let again = match tried.changed_since {
            Some(true) => "; the code has changed since",
            Some(false) => "; the code has not changed since",
            None => "",
        };
        ui::remark(&format!(
            "tried before, and it did not fix the bug: {} attempt {} ({}){why}{again}",
            tried.incident.id.as_ref().map_or("", |id| id.short()),
            tried.attempt.ordinal,
            one_line(tried.attempt.headline()),
        ));
    }
    matches.iter().map(view).collect()
}
