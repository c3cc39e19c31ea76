//! `postmortem`: the documents in docs/postmortems, one file an action. To add one: its file, its module, its line below.

pub mod check;
pub mod draft;

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
}

/// Does it.
///
/// # Errors
/// Whatever the action refuses.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    match args.action {
        Action::Check(args) => check::run(args, json),
        Action::Draft(args) => draft::run(args, json),
    }
}
