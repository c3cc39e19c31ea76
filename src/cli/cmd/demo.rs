//! `demo`: a whole incident in a scratch repository.

use std::path::PathBuf;

use serde_json::json;

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, ui};
use crate::model::Result;
use crate::session::demo::{Tell, play};

/// Arguments of `demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to make the repository: an empty or new directory; a temporary one when left out
    pub directory: Option<PathBuf>,
    /// Do not show the commands and what they print
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// Plays it, and says where it left the repository.
///
/// # Errors
/// A directory that is not empty; a step that did not go as it must.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    let directory = match args.directory {
        Some(directory) => directory,
        None => tempfile::Builder::new().prefix("git-incident-demo-").tempdir()?.keep(),
    };
    let show = |text: &Text| if json { ui::say(text) } else { ui::print(text) };
    let tell = |tell: Tell<'_>| {
        if args.quiet {
            return;
        }
        match tell {
            Tell::Story(text) => {
                show(
                    &Text::new().plain("\n").styled(Style::Bold, "# ").styled(Style::Bold, text).plain("\n"),
                );
            }
            Tell::Command(line) => show(&Text::new().styled(Style::Cyan, format!("$ {line}\n"))),
            Tell::Output(text) => show(&Text::new().plain(text)),
        }
    };
    let scene = play(&directory, &tell)?;
    let text = Text::new()
        .plain("\n")
        .styled(Style::Green, "The demo is done. ")
        .plain("It left the repository in ")
        .styled(Style::Bold, scene.path.display().to_string())
        .plain("\n")
        .line(format!("  look around: git -C {} incident show", scene.path.display()))
        .line(format!("  the post-mortem: {}", scene.path.join(&scene.postmortem).display()));
    let view = json!({"path": scene.path, "incident": scene.incident, "postmortem": scene.postmortem, "pr": scene.pull_request});
    Ok(Reply::new(view, text))
}
