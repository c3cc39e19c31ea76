//! `trust`: look at the commands of the repository's configuration, and let them run.

use serde_json::{Value, json};

use crate::cli::ui::{self, Style, Text};
use crate::cli::{Reply, open_session};
use crate::model::{Error, Result};
use crate::session::Session;
use crate::session::trust::Proposal;

/// The most bytes of one script that are shown.
const SHOWN: usize = 16 * 1024;

/// Arguments of `trust`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The commit whose configuration is meant; the working tree's and HEAD's when left out
    pub commit: Option<String>,
    /// Approve without being asked, where there is no terminal
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Show what was approved
    #[arg(long, conflicts_with_all = ["yes", "revoke", "commit"])]
    pub list: bool,
    /// Take every approval for this repository back
    #[arg(long, conflicts_with_all = ["yes", "commit"])]
    pub revoke: bool,
}

/// Shows, asks, records.
///
/// # Errors
/// No terminal and no `--yes`; the answer is no; a configuration that is wrong.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    let session = open_session()?;
    if args.list {
        return list(&session);
    }
    if args.revoke {
        let count = session.revoke_trust()?;
        return Ok(Reply::new(json!({"revoked": count}), format!("took {count} approval(s) back\n")));
    }
    let commit = args.commit.map(|c| session.repo.resolve_commit(&c)).transpose()?;
    let proposals = session.proposals(commit.as_ref())?;
    if proposals.is_empty() {
        return Ok(Reply::new(
            json!({"trusted": []}),
            "there is no .git-incident.toml, so nothing to approve\n",
        ));
    }
    let mut shown = Text::new();
    for proposal in &proposals {
        describe(&mut shown, proposal, !json);
    }
    ui::say(&shown);
    let open: Vec<&Proposal> = proposals.iter().filter(|p| !p.given).collect();
    if !open.is_empty() && !args.yes {
        let answer = if json { None } else { ui::ask("Let these commands run on this machine? (yes/no)") };
        match answer.as_deref() {
            Some("yes" | "y") => {}
            Some(_) => return Err(Error::refused("nothing was approved")),
            None => {
                return Err(Error::refused("nothing was approved")
                    .because("there is no terminal to ask on, or no answer")
                    .hint("when you have read the commands above: git incident trust --yes"));
            }
        }
    }
    for proposal in &open {
        session.approve(proposal)?;
    }
    let text = if open.is_empty() {
        "approved before, unchanged\n"
    } else {
        "approved; take it back with: git incident trust --revoke\n"
    };
    Ok(Reply::new(json!({"trusted": proposals.iter().map(view).collect::<Vec<_>>()}), text))
}

fn list(session: &Session) -> Result<Reply> {
    let approvals = session.approvals()?;
    let mut text = Text::new();
    for approval in &approvals {
        text.add_line(format!(
            "{}  {}  {} pinned",
            approval.at.to_minute(),
            approval.config,
            approval.pins.len()
        ));
    }
    if approvals.is_empty() {
        text.add_line("nothing is approved for this repository");
    }
    Ok(Reply::new(json!({"approvals": approvals}), text))
}

fn view(proposal: &Proposal) -> Value {
    let commands: Vec<Value> = proposal
        .powers
        .iter()
        .map(|power| {
            let scripts: Vec<Value> =
                power.scripts.iter().map(|s| json!({"path": s.path, "sha256": s.sha256})).collect();
            json!({"place": power.place, "command": power.command, "scripts": scripts})
        })
        .collect();
    json!({"source": proposal.source, "config": proposal.digest, "commands": commands, "pins": proposal.pins})
}

/// What a person has to see: digests, commands, and the scripts they name.
fn describe(text: &mut Text, proposal: &Proposal, contents: bool) {
    text.push(Style::Bold, format!("The configuration of {}", proposal.source));
    text.push(Style::Dim, format!("  sha256 {}\n", proposal.digest));
    if proposal.powers.is_empty() {
        text.add_line("  it names no commands");
    }
    for power in &proposal.powers {
        text.push(Style::Cyan, format!("  {}\n", power.place));
        text.add_line(format!("    $ {}", power.command.replace('\n', "\n      ")));
    }
    for (path, digest) in &proposal.pins {
        text.add_line(format!("  pinned {path}  sha256 {digest}"));
    }
    let mut seen: Vec<&str> = Vec::new();
    for script in proposal.powers.iter().flat_map(|p| &p.scripts) {
        if seen.contains(&script.path.as_str()) {
            continue;
        }
        seen.push(&script.path);
        let size = script.content.len();
        text.push(Style::Cyan, format!("  {}", script.path));
        text.push(Style::Dim, format!("  sha256 {}, {size} bytes\n", script.sha256));
        if contents && ui::screen_lines().is_some() && !script.content.contains(&0) {
            let part = &script.content[..size.min(SHOWN)];
            for line in String::from_utf8_lossy(part).lines() {
                text.add_line(format!("    | {line}"));
            }
            if size > SHOWN {
                text.add_line(format!("    | … {} more bytes: read the file", size - SHOWN));
            }
        }
    }
}
