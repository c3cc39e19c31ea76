//! `postmortem`: the documents in docs/postmortems, one file an action. To add one: its file, its module, its line below.

pub mod brief;
pub mod check;
pub mod diff;
pub mod draft;
pub mod note;
pub mod render;

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
    /// Check post-mortems: blocks, evidence, claims against the record, action items, blame, times
    Check(check::Args),
    /// Write the draft into docs/postmortems; refuses until the record shows repro, cause, fix and validation
    Draft(draft::Args),
    /// What a reviewer must see of changed post-mortems: widened claims and lost evidence first
    Diff(diff::Args),
    /// Say what no attempt, run or commit tells: impact, detection, lessons, action items, …; list what was said
    Note(note::Args),
    /// Render documents: a page that stands alone, Jira's format, plain text; a page of the folder
    Render(render::Args),
    /// Print the up-the-org version for a channel, from the document's own words; nothing is posted
    Brief(brief::Args),
}

/// Does it.
///
/// # Errors
/// Whatever the action refuses.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    match args.action {
        Action::Check(args) => check::run(args, json),
        Action::Draft(args) => draft::run(args, json),
        Action::Diff(args) => diff::run(args, json),
        Action::Note(args) => note::run(args, json),
        Action::Render(args) => render::run(args, json),
        Action::Brief(args) => brief::run(args, json),
    }
}
