//! `edit`: what is said of an incident changes.

use std::io::IsTerminal;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cli::{Reply, open_session};
use crate::event::IncidentEdited;
use crate::git::interactive;
use crate::model::incident::{FileRef, Incident};
use crate::model::{Error, Result};
use crate::session::keep::without_secrets;

/// Arguments of `edit`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without any option, on a terminal, the fields open in your editor (git var GIT_EDITOR)."
)]
pub struct Args {
    /// Id (7 digits or more) or ticket; the active one when left out
    pub incident: Option<String>,
    /// What the incident is called
    #[arg(long)]
    pub title: Option<String>,
    /// The tracker's key
    #[arg(long, short = 't')]
    pub ticket: Option<String>,
    /// What was observed
    #[arg(long, short = 's')]
    pub symptom: Option<String>,
    /// Where it was observed
    #[arg(long, short = 'e')]
    pub environment: Option<String>,
    /// Add a file it has to do with (may be repeated)
    #[arg(long = "file", short = 'f', value_name = "PATH")]
    pub files: Vec<String>,
    /// Take a file out (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub remove_file: Vec<String>,
    /// Add a label (may be repeated)
    #[arg(long = "label", short = 'l')]
    pub labels: Vec<String>,
    /// Take a label out (may be repeated)
    #[arg(long, value_name = "LABEL")]
    pub remove_label: Vec<String>,
}

/// The fields as they stand in the editor.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    title: String,
    ticket: String,
    labels: Vec<String>,
    files: Vec<String>,
    symptom: String,
    environment: String,
}

/// Changes it.
///
/// # Errors
/// Nothing to change; a form that cannot be read.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    let mut edited = from_flags(&args, &incident);
    if edited.is_empty() {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Err(Error::usage("nothing to change")
                .hint("git incident edit --symptom \"…\"; see git incident edit -h"));
        }
        edited = in_editor(&incident)?;
    }
    if edited.title.as_ref().is_some_and(|t| t.trim().is_empty()) {
        return Err(Error::usage("the title is empty"));
    }
    if edited.is_empty() {
        return Ok(Reply::new(json!({"incident": id, "changed": []}), "nothing changed\n"));
    }
    let changed: Vec<String> = serde_json::to_value(&edited)
        .ok()
        .and_then(|v| v.as_object().map(|o| o.keys().cloned().collect()))
        .unwrap_or_default();
    session.append(&id, &[], |draft| draft.add(edited))?;
    let after = session.incident(&id)?;
    session.project_lines(&after, &[])?;
    Ok(Reply::new(
        json!({"incident": id, "changed": changed}),
        format!("changed {} of {}\n", changed.join(", "), id.short()),
    ))
}

fn from_flags(args: &Args, incident: &Incident) -> IncidentEdited {
    let text = |t: &Option<String>| t.as_deref().map(without_secrets);
    let mut files = incident.files.get().clone();
    files.retain(|f| !args.remove_file.contains(&f.path));
    for path in &args.files {
        if !files.iter().any(|f| f.path == *path) {
            files.push(FileRef { path: without_secrets(path), note: String::new() });
        }
    }
    let mut labels = incident.labels.get().clone();
    labels.retain(|l| !args.remove_label.contains(l));
    for label in &args.labels {
        if !labels.contains(label) {
            labels.push(without_secrets(label));
        }
    }
    IncidentEdited {
        title: text(&args.title),
        ticket: text(&args.ticket),
        symptom: text(&args.symptom),
        environment: text(&args.environment),
        files: (files != *incident.files.get()).then_some(files),
        labels: (labels != *incident.labels.get()).then_some(labels),
        status_note: None,
        next_preface: None,
    }
}

fn in_editor(incident: &Incident) -> Result<IncidentEdited> {
    let form = Form {
        title: incident.title.get().clone(),
        ticket: incident.ticket.get().clone(),
        labels: incident.labels.get().clone(),
        files: incident.files.iter().map(|f| f.path.clone()).collect(),
        symptom: incident.symptom.get().clone(),
        environment: incident.environment.get().clone(),
    };
    let text = toml::to_string_pretty(&form)
        .map_err(|e| Error::bug("the fields cannot be written as TOML").because(e))?;
    let mut file = tempfile::Builder::new().prefix("incident-").suffix(".toml").tempfile()?;
    std::io::Write::write_all(
        &mut file,
        format!("# Change what you like, then save and leave the editor.\n{text}").as_bytes(),
    )?;
    interactive::edit(file.path())?;
    let back = std::fs::read_to_string(file.path())?;
    let new: Form = toml::from_str(&back)
        .map_err(|e| Error::usage("the form cannot be read; nothing was changed").because(e))?;
    let changed = |new: String, old: &String| (new != *old).then(|| without_secrets(&new));
    let note_of = |path: &str| {
        incident.files.iter().find(|f| f.path == path).map_or_else(String::new, |f| f.note.clone())
    };
    Ok(IncidentEdited {
        title: changed(new.title, &form.title),
        ticket: changed(new.ticket, &form.ticket),
        symptom: changed(new.symptom, &form.symptom),
        environment: changed(new.environment, &form.environment),
        files: (new.files != form.files).then(|| {
            new.files
                .into_iter()
                .map(|path| FileRef { note: note_of(&path), path: without_secrets(&path) })
                .collect()
        }),
        labels: (new.labels != form.labels).then(|| new.labels.iter().map(|l| without_secrets(l)).collect()),
        status_note: None,
        next_preface: None,
    })
}
