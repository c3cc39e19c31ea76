//! `init`: the hooks beside what is there, and the settings that notes need; and away with them again.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::config::Postmortem;
use crate::git::attributes::{self, Look};
use crate::git::hooks::{self, Done, Event, HookSet};
use crate::git::setup::{self, Setting};
use crate::git::worktree::ValidationWorktree;
use crate::model::Result;
use crate::session::{Session, workflow};

/// What the hooks call.
const PROGRAM: &str = "git-incident";

/// Arguments of `init`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Remove the hooks and the settings again
    #[arg(long)]
    pub uninstall: bool,
    /// Only the settings, no hooks
    #[arg(long, conflicts_with = "uninstall")]
    pub no_hooks: bool,
    /// How plain git diff shows post-mortems: with section names in hunk headers, or as the review diff
    #[arg(long, value_name = "LOOK", value_parser = ["headings", "review", "none"], conflicts_with = "uninstall")]
    pub diff_driver: Option<String>,
    /// Only write the workflow that checks pull requests on GitHub: .github/workflows/git-incident.yml
    #[arg(long, conflicts_with_all = ["uninstall", "no_hooks"])]
    pub workflow: bool,
    /// Only write the helper that Python projects check their kernels with: here, unless PATH says where
    #[arg(
        long,
        value_name = "PATH",
        num_args = 0..=1,
        default_missing_value = workflow::HELPER_NAME,
        conflicts_with_all = ["uninstall", "no_hooks", "workflow", "diff_driver"],
    )]
    pub python_helper: Option<PathBuf>,
}

/// Installs, or removes.
///
/// # Errors
/// The repository cannot be written.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    // A project may not be a repository yet.
    if let Some(path) = &args.python_helper {
        return write_helper(path);
    }
    let session = open_session()?;
    if args.workflow {
        return write_workflow(&session);
    }
    let git = session.git();
    if args.uninstall {
        let report = hooks::uninstall(&git)?;
        let settings = setup::unconfigure(&git)?;
        remove_worktree(&session)?;
        let shown =
            attributes::unset(&git)?.then(|| "removed        diff driver of the post-mortems".to_owned());
        return Ok(reply(&report, &settings, "removed", shown));
    }
    let report = if args.no_hooks {
        hooks::Report::default()
    } else {
        hooks::install(&git, &HookSet::default(), &program())?
    };
    let settings = setup::configure(&git)?;
    let look = args.diff_driver.as_deref().and_then(Look::parse);
    // A configuration that cannot be read is another command's trouble.
    let folder =
        session.config().map_or_else(|_| Postmortem::default().directory, |c| c.postmortem.directory.clone());
    let shown = match attributes::set(&git, &folder, look, &program())? {
        attributes::Done::Set(look) => Some(format!("diff driver  {} for {folder}/**/*.md", look.name())),
        attributes::Done::Unchanged(_) => None,
        attributes::Done::Theirs(name) => {
            Some(format!("diff driver  left alone: .gitattributes has diff={name} for {folder}"))
        }
    };
    Ok(reply(&report, &settings, "added", shown))
}

fn write_workflow(session: &Session) -> Result<Reply> {
    let written = session.write_workflow()?;
    let path = workflow::PATH;
    let text = if written {
        format!("wrote {path}\nsay in it where git incident is installed from (SOURCE), then commit it\n")
    } else {
        format!("in place     {path}\n")
    };
    Ok(Reply::new(json!({"workflow": path, "written": written, "text": workflow::TEXT}), text))
}

fn write_helper(path: &Path) -> Result<Reply> {
    let (path, written) = workflow::write_helper(path)?;
    let text = if written {
        format!(
            "wrote {}\nits first lines show how a script uses it, and the gate that reads the results\n",
            path.display()
        )
    } else {
        format!("in place     {}\n", path.display())
    };
    Ok(Reply::new(json!({"helper": path, "written": written}), text))
}

/// The name, where the shell finds it; the absolute path of this program, where it does not.
pub(super) fn program() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).filter(|d| d.is_absolute()).any(|d| d.join(PROGRAM).is_file());
    let own = std::env::current_exe().ok().and_then(|exe| exe.into_os_string().into_string().ok());
    match own {
        Some(own) if !found => own,
        _ => PROGRAM.to_owned(),
    }
}

/// The validation worktree has an entry in the repository.
fn remove_worktree(session: &Session) -> Result<()> {
    let folder = session.repo.common_dir().join("worktrees");
    let ours = std::fs::read_dir(&folder).is_ok_and(|entries| {
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("git-incident-"))
    });
    if ours {
        ValidationWorktree::open(session.repo.common_dir(), &session.cache_dir()?, "validate")?.remove()?;
        // git makes the folder for the first worktree, and removes it after the last.
        let _ = std::fs::remove_dir(&folder);
    }
    Ok(())
}

fn reply(report: &hooks::Report, settings: &[Setting], word: &str, shown: Option<String>) -> Reply {
    let mut text = Text::new();
    for (event, done) in &report.events {
        describe(&mut text, *event, done);
    }
    for setting in settings {
        text.add_line(format!("{word:<12} {} = {}", setting.key, setting.value));
    }
    if let Some(line) = &shown {
        text.add_line(line);
    }
    for note in &report.notes {
        text.push(Style::Yellow, format!("note: {note}\n"));
    }
    if text.is_empty() {
        text.add_line("nothing to do");
    }
    let hooks: Vec<Value> = report.events.iter().map(|(event, done)| view(*event, done)).collect();
    let settings: Vec<Value> = settings.iter().map(|s| json!({"key": s.key, "value": s.value})).collect();
    Reply::new(
        json!({"hooks": hooks, "settings": settings, "notes": report.notes, "diff_driver": shown}),
        text,
    )
}

fn describe(text: &mut Text, event: Event, done: &Done) {
    let name = event.name();
    match done {
        Done::Config(section) => text.add_line(format!("{name:<12} in the configuration: {section}")),
        Done::Created(path) => text.add_line(format!("{name:<12} new: {}", path.display())),
        Done::Block(path) => text.add_line(format!("{name:<12} added to what is there: {}", path.display())),
        Done::Wrapped(path, former) => {
            text.add_line(format!("{name:<12} {} runs the former {}", path.display(), former.display()));
        }
        Done::Unchanged(path) => text.add_line(format!("{name:<12} in place: {}", path.display())),
        Done::Manual { owner, path, lines } => {
            text.push(
                Style::Yellow,
                format!("{name:<12} not installed: {owner} owns it; add to {}:\n", path.display()),
            );
            for line in lines.lines() {
                text.add_line(format!("             {line}"));
            }
        }
        Done::Removed(path) => text.add_line(format!("{name:<12} removed: {}", path.display())),
        Done::Absent => {}
    }
}

fn view(event: Event, done: &Done) -> Value {
    let name = event.name();
    match done {
        Done::Config(section) => json!({"event": name, "done": "config", "section": section}),
        Done::Created(path) => json!({"event": name, "done": "created", "path": path}),
        Done::Block(path) => json!({"event": name, "done": "block", "path": path}),
        Done::Wrapped(path, former) => {
            json!({"event": name, "done": "wrapped", "path": path, "former": former})
        }
        Done::Unchanged(path) => json!({"event": name, "done": "unchanged", "path": path}),
        Done::Manual { owner, path, lines } => {
            json!({"event": name, "done": "manual", "owner": owner, "path": path, "lines": lines})
        }
        Done::Removed(path) => json!({"event": name, "done": "removed", "path": path}),
        Done::Absent => json!({"event": name, "done": "absent"}),
    }
}
