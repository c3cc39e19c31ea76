//! `man`: manual pages, so that `git incident --help` finds one.

use std::path::PathBuf;

use clap::CommandFactory;
use serde_json::json;

use crate::cli::{Cli, Reply};
use crate::model::{Error, Result};

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write all pages into this directory (such as ~/.local/share/man/man1) instead of printing the first
    #[arg(long, value_name = "DIRECTORY")]
    pub install: Option<PathBuf>,
}

/// Prints or writes them.
///
/// # Errors
/// The directory cannot be written.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let command = Cli::command();
    let Some(directory) = args.install else {
        let page = render(&command, "git-incident")?;
        return Ok(Reply::new(json!({"page": page}), page));
    };
    std::fs::create_dir_all(&directory)
        .map_err(|e| Error::refused(format!("{} cannot be made", directory.display())).because(e))?;
    let mut written = Vec::new();
    let mut pages = vec![("git-incident".to_owned(), command.clone())];
    for sub in command.get_subcommands().filter(|s| !s.is_hide_set()) {
        pages.push((format!("git-incident-{}", sub.get_name()), sub.clone()));
    }
    for (name, command) in pages {
        let path = directory.join(format!("{name}.1"));
        std::fs::write(&path, render(&command, &name)?)
            .map_err(|e| Error::refused(format!("{} cannot be written", path.display())).because(e))?;
        written.push(path.display().to_string());
    }
    let text = format!("wrote {} pages to {}\n", written.len(), directory.display());
    Ok(Reply::new(json!({"written": written}), text))
}

fn render(command: &clap::Command, name: &str) -> Result<String> {
    let mut out = Vec::new();
    // The name is leaked to fit clap's type: once for each page, in a process that then ends.
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    clap_mangen::Man::new(command.clone().name(name))
        .render(&mut out)
        .map_err(|e| Error::bug("a manual page cannot be made").because(e))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}
