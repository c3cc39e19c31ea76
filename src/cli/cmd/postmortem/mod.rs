//! `postmortem`: the documents in docs/postmortems, one file an action. To add one: its file, its module, its line below.

pub mod diff;
pub mod draft;
pub mod note;

use crate::cli::Reply;
use crate::model::Result;

/// Arguments of `postmortem`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Write the draft into docs/postmortems; refuses until the record shows repro, cause, fix and validation
    Draft(draft::Args),
    /// What a reviewer must see of changed post-mortems: widened claims and lost evidence first
    Diff(diff::Args),
    /// Say what no attempt, run or commit tells: impact, detection, lessons, action items, …; list what was said
    Note(note::Args),
}

/// Does it.
///
/// # Errors
/// Whatever the action refuses.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    match args.action {
        Action::Draft(args) => draft::run(args, json),
        Action::Diff(args) => diff::run(args, json),
        Action::Note(args) => note::run(args, json),
    }
}
