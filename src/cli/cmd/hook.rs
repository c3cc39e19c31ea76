//! `hook`: what the installed hooks call. Everything it says goes to stderr.

use std::io::Read;

use serde_json::json;

use crate::cli::live::Live;
use crate::cli::ui::{self, Style, Text};
use crate::cli::{Reply, open_session};
use crate::hook::{Line, Tone, commit_msg, post_commit, post_rewrite, pre_push};
use crate::model::{Error, Kind, Result};

/// No push or rewrite says more, in bytes.
const MOST_INPUT: u64 = 64 << 20;

/// Arguments of `hook`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The hook's name, as git calls it
    #[arg(value_parser = ["commit-msg", "pre-push", "post-commit", "post-rewrite"])]
    pub name: String,
    /// What git gives the hook
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// Runs it. Hooks that come after the fact never fail.
///
/// # Errors
/// None of its own; trouble is said, and decides only where a hook may decide.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let Args { name, arguments } = args;
    let session = match open_session() {
        Ok(session) => session,
        Err(error) if name == "pre-push" => return Err(error),
        Err(error) => {
            ui::remark(&format!("the {name} hook did nothing: {error}"));
            return Ok(quiet(0));
        }
    };
    let mut say = |line: Line| print(&line);
    let done: Result<i32> = match name.as_str() {
        "commit-msg" => commit_msg::run(&session, &arguments, &mut say),
        "pre-push" => input().map(|bytes| {
            let mut live = Live::new(print);
            pre_push::run(&session, &arguments, &bytes, &mut |step| live.show(&step), &mut say)
        }),
        "post-commit" => post_commit::run(&session, &mut say).map(|()| 0),
        "post-rewrite" => input().and_then(|bytes| post_rewrite::run(&session, &bytes, &mut say)).map(|()| 0),
        other => Err(Error::bug(format!("there is no hook {other:?}"))),
    };
    match done {
        Ok(exit) => Ok(quiet(exit)),
        Err(error) if name == "pre-push" => Err(error),
        Err(error) => {
            ui::remark(&format!("{name}: {error}"));
            Ok(quiet(if error.kind() == Kind::Usage { Kind::Usage.exit_code() } else { 0 }))
        }
    }
}

fn input() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().take(MOST_INPUT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn quiet(exit: i32) -> Reply {
    Reply::new(json!({"exit": exit}), Text::new()).exit(exit)
}

/// Says a line of a hook or of a validation.
pub(crate) fn print(line: &Line) {
    ui::say(&styled(Text::new().styled(Style::Dim, "git incident: "), line));
}

/// Adds a line in the style of its tone.
pub(crate) fn styled(text: Text, line: &Line) -> Text {
    let style = match line.tone {
        Tone::Plain => Style::Plain,
        Tone::Quiet => Style::Dim,
        Tone::Good => Style::Green,
        Tone::Bad => Style::Red,
        Tone::Look => Style::Yellow,
    };
    text.styled(style, &line.text).plain("\n")
}
