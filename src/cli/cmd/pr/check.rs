//! `pr check`: a description held against the record, for continuous integration.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::text::line;
use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::model::annotation::{data, property};
use crate::model::{Error, Result};
use crate::report::pull_request::check::{Diagnostic, Severity};

/// A description has 65,536 characters at most, and an event 25 MB.
const MOST_BODY: u64 = 4 << 20;
const MOST_EVENT: u64 = 32 << 20;

/// Arguments of `pr check`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The description: a file, or - for stdin; on GitHub Actions it is the pull request's when left out
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
    /// The change's last commit; the pull request's on GitHub Actions, else HEAD
    #[arg(long, value_name = "REVISION")]
    head: Option<String>,
    /// What it is to be merged into; the pull request's on GitHub Actions, else the remote's default branch
    #[arg(long, value_name = "REVISION")]
    base: Option<String>,
    /// Let records that were made elsewhere and that nobody signed stand behind a tick
    #[arg(long)]
    accept_claimed: bool,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Human,
    /// Annotations of GitHub Actions
    Github,
    /// As --json
    Json,
}

/// What is to be checked.
#[derive(Default)]
struct Asked {
    body: String,
    /// How the description is called.
    path: String,
    head: Option<String>,
    base: Option<String>,
    base_name: Option<String>,
}

/// Checks.
///
/// # Errors
/// No description; no such commits; a configuration that is wrong.
pub(super) fn run(args: Args, json: bool) -> Result<Reply> {
    let mut asked = asked(&args)?;
    asked.head = args.head.or(asked.head);
    if args.base.is_some() {
        asked.base = args.base;
        asked.base_name = None;
    }
    let session = open_session()?;
    let head = asked.head.as_deref().unwrap_or("HEAD");
    let checked = session
        .check_pull_request(
            &asked.body,
            head,
            asked.base.as_deref(),
            asked.base_name.as_deref(),
            args.accept_claimed,
        )
        .map_err(|e| e.hint("in CI, fetch the whole history: actions/checkout with fetch-depth: 0"))?;
    let errors = checked.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    let text = match args.format {
        _ if json => Text::new(),
        Format::Human => human(&checked.diagnostics, &asked),
        Format::Github => Text::new().plain(github(&checked.diagnostics, args.body.as_deref())),
        Format::Json => Text::new(),
    };
    for remark in &checked.remarks {
        crate::cli::ui::remark(remark);
    }
    let diagnostics: Vec<Value> = checked
        .diagnostics
        .iter()
        .map(|d| {
            json!({
                "path": asked.path, "line": d.line, "column": d.column, "rule": d.rule,
                "severity": d.severity.word(), "message": d.message,
            })
        })
        .collect();
    let view = json!({
        "incident": checked.incident, "head": checked.head, "errors": errors, "diagnostics": diagnostics,
    });
    let reply = Reply::new(view, text).exit(i32::from(errors > 0));
    Ok(if args.format == Format::Json { reply.as_json() } else { reply })
}

/// The description, and the commits it speaks of.
fn asked(args: &Args) -> Result<Asked> {
    let Some(file) = &args.body else {
        return from_event();
    };
    let (path, bytes) = if file == Path::new("-") {
        ("-".to_owned(), bounded(&mut std::io::stdin(), MOST_BODY)?)
    } else {
        let unreadable = |e: std::io::Error| {
            Error::refused(format!("{} cannot be read", file.display()))
                .because(e)
                .hint("name the file that holds the description, or - for stdin: --body FILE")
        };
        let mut opened = std::fs::File::open(file).map_err(unreadable)?;
        (file.display().to_string(), bounded(&mut opened, MOST_BODY)?)
    };
    Ok(Asked { body: String::from_utf8_lossy(&bytes).into_owned(), path, ..Asked::default() })
}

/// What GitHub Actions says of the pull request.
fn from_event() -> Result<Asked> {
    let none = || {
        Error::usage("there is no description to check")
            .hint("name it: git incident pr check --body FILE (or - for stdin)")
            .hint("on GitHub Actions, run it on the event pull_request")
    };
    let path = std::env::var_os("GITHUB_EVENT_PATH").filter(|p| !p.is_empty()).ok_or_else(none)?;
    let mut file = std::fs::File::open(&path)
        .map_err(|e| Error::refused(format!("{} cannot be read", Path::new(&path).display())).because(e))?;
    let bytes = bounded(&mut file, MOST_EVENT)?;
    let event: Value = serde_json::from_slice(&bytes)
        .map_err(|e| Error::refused("the event of GitHub Actions is no JSON").because(e))?;
    let request = event.get("pull_request").filter(|r| r.is_object()).ok_or_else(none)?;
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let commit = |side: &str| {
        let sha = text(request.get(side).and_then(|s| s.get("sha")))?;
        crate::model::Oid::parse(&sha).map(|oid| oid.to_string())
    };
    Ok(Asked {
        // A request without a description has null there.
        body: text(request.get("body")).unwrap_or_default(),
        path: "(description)".to_owned(),
        head: Some(commit("head").ok_or_else(|| Error::refused("the event names no head commit"))?),
        base: commit("base"),
        base_name: text(request.get("base").and_then(|b| b.get("ref"))),
    })
}

fn bounded(from: &mut dyn Read, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::refused(format!("the description is larger than {} MiB", most >> 20))
            .hint("a pull request's description has 65,536 characters at most"));
    }
    Ok(bytes)
}

fn human(diagnostics: &[Diagnostic], asked: &Asked) -> Text {
    let mut text = Text::new();
    let lines: Vec<&str> = asked.body.lines().collect();
    for found in diagnostics {
        let style = if found.severity == Severity::Error { Style::Red } else { Style::Yellow };
        line(
            &mut text,
            style,
            &format!("{}[{}]", found.severity.word(), found.rule),
            &format!(": {}", found.message),
        );
        line(&mut text, Style::Dim, "  --> ", &format!("{}:{}:{}", asked.path, found.line, found.column));
        if let Some(shown) = lines.get(found.line - 1).filter(|l| !l.trim().is_empty()) {
            let shown: String = shown.chars().take(120).collect();
            line(&mut text, Style::Dim, "   |  ", &shown);
        }
    }
    if diagnostics.is_empty() {
        text.add_line("the description says what the record says");
    }
    text
}

/// Workflow commands; the description is a file of the repository only when it was named as one.
fn github(diagnostics: &[Diagnostic], file: Option<&Path>) -> String {
    let file = file.filter(|f| *f != Path::new("-"));
    let mut out = String::new();
    for found in diagnostics {
        let place = match file {
            Some(file) => {
                let file = property(&file.display().to_string());
                format!("file={file},line={},col={},", found.line, found.column)
            }
            None => String::new(),
        };
        let title = property(&format!("git incident: {}", found.rule));
        let line =
            if file.is_some() { String::new() } else { format!(" (line {} of the description)", found.line) };
        let message = data(&format!("{}{line}", found.message));
        out.push_str(&format!("::{} {place}title={title}::{message}\n", found.severity.word()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_one_line_each() {
        let found = Diagnostic {
            line: 3,
            column: 1,
            rule: "unknown-incident",
            severity: Severity::Error,
            message: "100 % sure\r\n::error::forged".into(),
        };
        let out = github(std::slice::from_ref(&found), Some(Path::new("a,b:c.md")));
        assert_eq!(
            out,
            "::error file=a%2Cb%3Ac.md,line=3,col=1,title=git incident%3A unknown-incident::100 %25 sure%0D%0A::error::forged\n"
        );
        assert!(github(&[found], None).ends_with("forged (line 3 of the description)\n"));
    }
}
