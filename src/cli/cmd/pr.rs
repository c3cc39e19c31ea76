//! `pr`: the text of a draft pull request, printed, or opened as a draft with `--open`; and a description held
//! against the record. Nothing is pushed or merged.

mod check;
mod open;
mod text;

use serde_json::json;

use crate::cli::{Reply, open_session, ui};
use crate::forge::decide::edited_outside;
use crate::model::Result;

/// Arguments of `pr`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Id (7 digits or more) or ticket; the active one when left out
    pub incident: Option<String>,
    /// The branch it goes to; from .git-incident.toml or the remote when left out
    #[arg(long, value_name = "REVISION")]
    pub base: Option<String>,
    /// The change's last commit; HEAD when left out
    #[arg(long, value_name = "REVISION")]
    pub head: Option<String>,
    #[command(flatten)]
    text: text::TextArgs,
    /// Opening it.
    #[command(flatten)]
    pub open: open::OpenArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Hold a description against the ledger and the gates of its head; exits 1 on what is not true
    Check(check::Args),
}

/// Prints it: a line with the title, then the body.
///
/// # Errors
/// No change to describe.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    if let Some(Action::Check(args)) = args.action {
        return check::run(args, json);
    }
    args.open.demand_consent()?;
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    let standing = session.standing(&incident);
    let (base, head) = if args.open.open {
        let (base, branch) = session.ends_to_open(args.base.as_deref(), args.head.as_deref())?;
        (base, Some(branch))
    } else {
        (args.base.clone(), args.head)
    };
    let range = session.pull_request_range(&incident, base.as_deref(), head.as_deref())?;
    let options = args.text.options(base.as_deref());
    let mut draft = session.draft_pull_request(&incident, &standing, &range, &options)?;
    text::remarks(&draft);
    let mut past_block = false;
    if args.text.edit {
        let edited = text::edit(&session, &draft.text)?;
        let (before, after) = (&draft.text, &edited);
        past_block = edited_outside((&before.title, &before.body), (&after.title, &after.body));
        draft.text = edited;
    }
    if args.open.open {
        return open::run(
            &session,
            (&id, &incident),
            &range,
            &draft,
            (args.base, head),
            &args.open,
            past_block,
        );
    }
    if let Err(error) = session.record_pull_request(&id, &incident, &draft.text) {
        // The text is what was asked for; a repository that takes no notes is no reason to keep it back.
        ui::remark(&format!("that this text was made could not be recorded: {error}"));
    }
    let mut view = json!({
        "incident": id, "title": draft.text.title, "body": draft.text.body,
        "base": range.base, "head": range.tip, "missing": standing.missing,
    });
    text::add_to_view(&mut view, &draft);
    args.text.reply(view, &draft)
}
