//! `doctor`: what can go wrong without anybody noticing, and the command that mends it.

use serde_json::{Value, json};

use super::init;
use crate::cli::Reply;
use crate::cli::ui::{Style, Text};
use crate::model::Result;
use crate::session::doctor::{self, Check, Status};

/// Arguments of `doctor`.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Args {
    /// Show what is well, too
    #[arg(long, short = 'a')]
    pub all: bool,
}

/// Looks, and says what it found. Exits with 1 when there is a problem; not for warnings.
///
/// # Errors
/// No repository, no git.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let checks = doctor::examine(&std::env::current_dir()?, &init::program())?;
    let count = |status| checks.iter().filter(|c| c.status == status).count();
    let mut text = Text::new();
    for check in checks.iter().filter(|c| args.all || c.status != Status::Ok) {
        describe(&mut text, check);
    }
    let (problems, warnings) = (count(Status::Problem), count(Status::Warn));
    let style = match (problems, warnings) {
        (0, 0) => Style::Green,
        (0, _) => Style::Yellow,
        _ => Style::Red,
    };
    let all = if args.all { "" } else { " (--all shows them)" };
    let unknown = match count(Status::Unknown) {
        0 => String::new(),
        n => format!(", {n} that could not be told"),
    };
    text.push(
        style,
        format!(
            "{problems} problems, {warnings} warnings{unknown}; {} checks are well{all}\n",
            count(Status::Ok)
        ),
    );
    let view = json!({
        "checks": checks.iter().map(view).collect::<Vec<_>>(),
        "problems": problems,
        "warnings": warnings,
    });
    Ok(Reply::new(view, text).exit(i32::from(problems > 0)))
}

fn describe(text: &mut Text, check: &Check) {
    let style = match check.status {
        Status::Problem => Style::Red,
        Status::Warn => Style::Yellow,
        Status::Ok => Style::Green,
        Status::Unknown => Style::Dim,
    };
    text.push(style, format!("{:<8}", check.status.as_str()));
    text.push(Style::Bold, check.check);
    text.add_line(format!(": {}", check.message.replace('\n', "\n         ")));
    if !check.why.is_empty() {
        text.push(Style::Dim, format!("         why:  {}\n", check.why));
    }
    if let Some(mend) = &check.mend {
        text.push(Style::Plain, "         mend: ");
        text.push(Style::Cyan, mend);
        text.push(Style::Plain, "\n");
    }
}

fn view(check: &Check) -> Value {
    json!({
        "check": check.check,
        "status": check.status.as_str(),
        "message": check.message,
        "why": check.why,
        "mend": check.mend,
    })
}
