//! `postmortem draft`: from what was recorded, and from nothing else.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session, ui};
use crate::config::Profile;
use crate::document::postmortem::GAP;
use crate::model::Result;
use crate::session::postmortem::{Draft, Written};

/// Arguments of `postmortem draft`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Drafting again replaces the blocks that nobody has edited, and shows what it would have \
changed in the others. Your own templates: .git-incident/templates/postmortem-PROFILE.md (docs/TEMPLATES.md)."
)]
pub struct Args {
    /// Id (7 digits or more) or ticket; the active one when left out
    incident: Option<String>,
    /// Which blocks there are: bugfix has nine, incident also impact, detection, timeline, lessons, open questions
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(["bugfix", "incident"]))]
    profile: Option<String>,
    /// Print a fresh draft and write nothing
    #[arg(long, short = 'p')]
    print: bool,
    /// Write it here instead (from the top of the working tree)
    #[arg(long, short = 'o', value_name = "FILE", conflicts_with = "print")]
    output: Option<PathBuf>,
    /// Replace the whole document, whatever people have written in it
    #[arg(long, conflicts_with = "print")]
    force: bool,
}

/// Drafts.
///
/// # Errors
/// A record that does not hold a post-mortem; a document that was not drafted from this incident.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let Args { incident: named, profile, print, output, force } = args;
    let session = open_session()?;
    let (id, incident) = session.named_incident(named.as_deref())?;
    let standing = session.standing(&incident);
    let asked = profile.as_deref().and_then(Profile::of_word);
    let path = match output {
        _ if print => None,
        // As everywhere: a dash is standard output.
        Some(path) if path.as_os_str() == "-" => None,
        Some(path) => Some(path),
        None => Some(session.postmortem_path(&incident)?),
    };
    let profile = session.postmortem_profile(asked, path.as_deref())?;
    let draft = session.draft_postmortem(&incident, &standing, profile)?;
    for warning in &draft.warnings {
        ui::remark(warning);
    }
    let Some(path) = path else {
        let view = json!({
            "incident": id, "profile": profile.word(), "template": draft.template, "text": draft.text,
            "gaps": gaps(&draft.text), "warnings": draft.warnings,
        });
        return Ok(Reply::new(view, draft.text).paged());
    };
    let written = session.write_postmortem(&id, &incident, &path, &draft, force)?;
    let mut view = view(&draft, &written);
    view["incident"] = json!(id);
    view["path"] = json!(path);
    Ok(Reply::new(view, text(&path.display().to_string(), &written)))
}

fn gaps(text: &str) -> usize {
    text.matches(GAP).count()
}

fn name(title: &str) -> &str {
    if title.is_empty() { "Title" } else { title }
}

fn view(draft: &Draft, written: &Written) -> Value {
    let names = |titles: &[String]| titles.iter().map(|t| name(t).to_owned()).collect::<Vec<_>>();
    json!({
        "profile": draft.profile.word(),
        "template": draft.template,
        "warnings": draft.warnings,
        "created": written.created,
        "changed": written.changed,
        "updated": names(&written.updated),
        "added": names(&written.added),
        "removed": names(&written.removed),
        "kept": written.kept.iter().map(|k| json!({
            "block": name(&k.title), "missing": k.missing, "news": k.news, "diff": k.diff,
        })).collect::<Vec<_>>(),
        "gaps": gaps(&written.text),
        "text": written.text,
    })
}

fn text(path: &str, written: &Written) -> Text {
    let said = if written.changed { "wrote " } else { "nothing to change in " };
    let mut shown = Text::new().plain(said).styled(Style::Bold, path).plain("\n");
    let list = |titles: &[String]| titles.iter().map(|t| name(t)).collect::<Vec<_>>().join(", ");
    if !written.created {
        for (label, titles) in
            [("updated", &written.updated), ("put in", &written.added), ("took out", &written.removed)]
        {
            if !titles.is_empty() {
                shown.add_line(format!("{label}: {}", list(titles)));
            }
        }
    }
    let quiet: Vec<&str> = written.kept.iter().filter(|k| !k.news).map(|k| name(&k.title)).collect();
    if !quiet.is_empty() {
        shown.add_line(format!(
            "kept as people left them, and the record has nothing new for them: {}",
            quiet.join(", ")
        ));
    }
    for kept in written.kept.iter().filter(|k| k.news) {
        let state = if kept.missing { "is not there any more" } else { "was edited, and is kept" };
        shown.push(Style::Bold, name(&kept.title));
        shown.add_line(format!(" {state}; a draft would have changed it:"));
        for line in kept.diff.lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => Style::Green,
                Some(b'-') => Style::Red,
                Some(b'@') => Style::Cyan,
                _ => Style::Plain,
            };
            shown.push(style, line);
            shown.push(Style::Plain, "\n");
        }
    }
    let gaps = gaps(&written.text);
    let wait = if gaps == 1 { "1 gap waits".to_owned() } else { format!("{gaps} gaps wait") };
    if gaps > 0 {
        shown.push(Style::Yellow, format!("{wait} for what nobody recorded; look for \"{GAP}\"\n"));
    }
    shown
}
