//! Row 5: the command line. Printing happens here alone; one file per subcommand in [`cmd`].

pub mod cmd;
pub mod live;
pub mod reply;
pub mod ui;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser};

use crate::model::{Error, Kind};
use crate::session::Session;

pub use reply::Reply;

/// The lab notebook inside git: record attempts at a hard bug as they happen, keep the evidence with the
/// repository, and make the post-mortem and the draft pull request from what was recorded.
#[derive(Debug, Parser)]
#[command(
    name = "git-incident",
    bin_name = "git incident",
    version,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "First steps: git incident open \"what is broken\", then: git incident try -H \"why\" -- COMMAND…\n\
                  A whole incident in a scratch repository: git incident demo\n\
                  Exit codes: 0 done, 1 refused or problems found, 2 usage, 3 tried already, 4 a gate failed,\n\
                  5 a gate was not run or decides nothing, 6 a remote said no, 70 a bug of ours"
)]
pub struct Cli {
    /// Print one JSON object on stdout instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: cmd::Command,
}

/// The whole program: reads the arguments, does it, prints, and returns the exit status.
pub fn main(arguments: Vec<OsString>) -> i32 {
    // Scripts and prompts ask for the version all the time: answer before anything is built.
    if arguments.len() == 2 && (arguments[1] == "--version" || arguments[1] == "-V") {
        ui::print(&format!("git-incident {}\n", env!("CARGO_PKG_VERSION")).into());
        return 0;
    }
    let wants_json = arguments.iter().take_while(|a| *a != "--").any(|a| a == "--json");
    let parsed = Cli::command().try_get_matches_from(arguments).and_then(|m| Cli::from_arg_matches(&m));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return usage(&error, wants_json),
    };
    match cmd::run(cli.command, cli.json) {
        Ok(reply) => reply.print(cli.json),
        Err(error) => fail(&error, cli.json),
    }
}

/// clap's own help, version and complaints.
fn usage(error: &clap::Error, json: bool) -> i32 {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    match error.kind() {
        DisplayHelp | DisplayVersion => {
            let _ = error.print();
            0
        }
        DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Kind::Usage.exit_code()
        }
        _ if json => {
            let text = error.to_string();
            let text = text.trim();
            fail(&Error::usage(text.strip_prefix("error: ").unwrap_or(text)), true)
        }
        _ => {
            let _ = error.print();
            Kind::Usage.exit_code()
        }
    }
}

fn fail(error: &Error, json: bool) -> i32 {
    if json {
        let view = serde_json::json!({
            "schema": reply::SCHEMA,
            "error": { "what": error.what(), "causes": error.causes(), "hints": error.hints(), "exit": error.kind().exit_code() },
        });
        ui::write_all(&mut std::io::stdout(), ui::json_line(&view).as_bytes());
    }
    ui::error(error);
    error.kind().exit_code()
}

/// Opens the repository without mending its refs first, for commands that look at what is wrong.
pub(crate) fn open_session_as_it_is() -> crate::model::Result<Session> {
    Session::open_as_it_is()
}

/// Opens the repository and says what was mended.
pub(crate) fn open_session() -> crate::model::Result<Session> {
    let session = Session::open()?;
    for mended in &session.mended {
        ui::remark(&mended.to_text());
    }
    for text in &session.remarks {
        ui::remark(text);
    }
    Ok(session)
}
