//! How the text is made and shown: template, release note, editor, page.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::Reply;
use crate::cli::ui::{self, Text};
use crate::model::{Error, Result};
use crate::report::pull_request::gates::{GateLine, Proof};
use crate::report::pull_request::{PullRequestText, html, markers};
use crate::session::Session;
use crate::session::pull_request::{PullRequestDraft, TextOptions};

/// Arguments that decide what the text is, and how it is shown.
#[derive(Debug, clap::Args)]
pub(super) struct TextArgs {
    /// Which of the repository's pull request templates to fill, by its name
    #[arg(long, value_name = "NAME", conflicts_with = "no_template")]
    template: Option<String>,
    /// Leave the repository's template out
    #[arg(long)]
    no_template: bool,
    /// What stands in the template's release-note block; NONE when left out
    #[arg(long, value_name = "TEXT")]
    release_note: Option<String>,
    /// Edit it first, in the editor that git uses; an emptied text is no text
    #[arg(long)]
    pub(super) edit: bool,
    /// Show it as GitHub would: a page, into FILE, or onto stdout when no file is named
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    html: Option<PathBuf>,
}

impl TextArgs {
    /// What the text is made for.
    pub(super) fn options(&self, base: Option<&str>) -> TextOptions {
        TextOptions {
            base: base.map(str::to_owned),
            template: self.template.clone(),
            no_template: self.no_template,
            release_note: self.release_note.clone(),
            notes_from: None,
        }
    }

    /// The answer in the form that was asked for.
    pub(super) fn reply(&self, mut view: Value, draft: &PullRequestDraft) -> Result<Reply> {
        let text = &draft.text;
        match &self.html {
            None => Ok(Reply::new(view, format!("Title: {}\n\n{}", text.title, text.body)).paged()),
            Some(path) if path.as_os_str() == "-" => {
                let page = html::page(&text.title, &text.body);
                view["html"] = page.clone().into();
                Ok(Reply::new(view, page))
            }
            Some(path) => {
                let page = html::page(&text.title, &text.body);
                std::fs::write(path, page).map_err(|e| {
                    Error::refused(format!("{} cannot be written", path.display()))
                        .because(e)
                        .hint("name another file: --html FILE; or print the page: --html")
                })?;
                view["page"] = path.display().to_string().into();
                Ok(Reply::new(view, format!("wrote {}\n", path.display())))
            }
        }
    }
}

/// Says what the text itself does not.
pub(super) fn remarks(draft: &PullRequestDraft) {
    for remark in &draft.remarks {
        ui::remark(remark);
    }
    let open = draft.gates.iter().filter(|g| !g.ticked()).count();
    if open > 0 {
        let gates = if open == 1 { "gate is" } else { "gates are" };
        ui::remark(&format!("{open} {gates} not ticked; run what can be run here: git incident validate"));
    }
}

/// Has a person edit a text.
///
/// # Errors
/// There is nobody to edit it; the editor failed; the text was emptied.
pub(super) fn edit(session: &Session, text: &PullRequestText) -> Result<PullRequestText> {
    let named = ["GIT_EDITOR", "VISUAL", "EDITOR"].iter().any(|name| std::env::var_os(name).is_some());
    if !ui::can_ask() && !named && session.repo.config_string("core.editor").is_none() {
        return Err(Error::usage("--edit needs a terminal, or an editor that needs none")
            .hint("name one: GIT_EDITOR=… git incident pr --edit; or leave --edit out"));
    }
    let edited = session.edit_pull_request(text)?;
    match markers::find(&edited.body) {
        Ok(found) if found.edited() => {
            ui::remark(
                "you changed the generated part: an update of the pull request will ask before it replaces it",
            );
        }
        Ok(_) => {}
        Err(problem) => ui::remark(&format!("{}: it cannot be updated later", problem.explain())),
    }
    Ok(edited)
}

/// What programs are told beside the text.
pub(super) fn add_to_view(view: &mut Value, draft: &PullRequestDraft) {
    view["gates"] = draft.gates.iter().map(gate_view).collect();
    view["check_changes"] = draft.check_changes.iter().map(|c| c.line().replace('`', "")).collect();
    view["template"] = json!(draft.template);
    view["remarks"] = json!(draft.remarks);
}

pub(super) fn gate_view(gate: &GateLine) -> Value {
    let (state, verdict) = match gate.proof {
        Proof::Counts(verdict) => ("counts", Some(verdict)),
        Proof::Claimed(verdict) => ("claimed", Some(verdict)),
        Proof::Pending => ("pending", None),
        Proof::Missing => ("missing", None),
    };
    json!({
        "gate": gate.gate, "state": state, "verdict": verdict, "ticked": gate.ticked(),
        "reason": gate.reason, "device": gate.device, "record": gate.record,
        "before": gate.before.as_ref().map(|(verdict, tree)| json!({"verdict": verdict, "tree": tree})),
    })
}

/// Lines of a longer text, for the terminal.
pub(super) fn line(text: &mut Text, style: ui::Style, label: &str, rest: &str) {
    text.push(style, label);
    text.add_line(rest);
}
