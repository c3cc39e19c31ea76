//! `completions`: for the user's shell.

use clap::CommandFactory;
use serde_json::json;

use crate::cli::{Cli, Reply};
use crate::model::{Error, Result};

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// bash, zsh, fish, elvish or powershell
    pub shell: String,
}

/// Prints them.
///
/// # Errors
/// An unknown shell.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let shell: clap_complete::Shell = args.shell.parse().map_err(|_| {
        Error::usage(format!("{:?} is no shell we know", args.shell))
            .hint("bash, zsh, fish, elvish or powershell")
    })?;
    let mut out = Vec::new();
    // Completion is for the program's own name; `git incident` comes on top.
    let mut command = Cli::command().bin_name("git-incident");
    clap_complete::generate(shell, &mut command, "git-incident", &mut out);
    let mut script = String::from_utf8_lossy(&out).into_owned();
    if shell == clap_complete::Shell::Bash {
        // clap_complete writes a hyphenated program's labels in two spellings (clap#6421); one of them is never reached.
        script = script.replace("git__subcmd__incident", "git__incident");
        // git's own completion calls `_git_incident` for `git incident …` with the words of the whole line.
        script.push_str(
            "\n_git_incident() {\n    local COMP_WORDS=(git-incident \"${COMP_WORDS[@]:2}\") COMP_CWORD=$((COMP_CWORD - 1))\n    \
             _git__incident git-incident \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"\n}\n",
        );
    }
    Ok(Reply::new(json!({"shell": args.shell, "script": script}), script))
}
