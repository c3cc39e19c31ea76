//! `postmortem check`: what a reviewer would ask, asked before the review. Writes nothing unless asked to repair.

use std::path::PathBuf;

use serde_json::json;

use crate::cli::reply::SCHEMA;
use crate::cli::{Reply, open_session, ui};
use crate::document::lint::output::{Counts, github, human, json as view, sarif};
use crate::document::lint::rules;
use crate::model::{Error, Kind, Result};
use crate::session::checking;

/// Arguments of `postmortem check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Rules and how to allow or weigh them: docs/RULES.md, or --explain RULE.\n\
                  In a repository the documents are held against its commits, paths and ledger;\n\
                  outside of one, name the documents. In a folder, README.md, index.md and templates are left out.\n\
                  Exit status: 0 no errors, 1 errors found (with --strict: or warnings)")]
pub struct Args {
    /// Documents or folders, `-` for standard input; the configured folder (docs/postmortems) when left out
    #[arg(value_name = "PATHS")]
    paths: Vec<PathBuf>,
    /// How findings are written
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Make the mechanical repairs: order of blocks, empty items, comments that allow nothing
    #[arg(long)]
    fix: bool,
    /// Fail on warnings too
    #[arg(long)]
    strict: bool,
    /// The same: --deny warnings
    #[arg(long, value_name = "WHAT", value_enum)]
    deny: Option<Deny>,
    /// Say what a rule is for, with examples
    #[arg(long, value_name = "RULE", conflicts_with_all = ["paths", "fix"])]
    explain: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people, with the line
    Human,
    /// Annotations of a GitHub workflow
    Github,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// One JSON object
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Deny {
    /// Warnings are errors
    Warnings,
}

/// Checks.
///
/// # Errors
/// A path that is not there; a wrong configuration; no repository and no paths.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    if let Some(name) = &args.explain {
        return explain(name);
    }
    let session = match open_session() {
        Ok(session) => Some(session),
        // Outside of a repository documents can be read all the same. One that is there and cannot be read is told.
        Err(error) if !args.paths.is_empty() && error.kind() == Kind::Refused => {
            if !error.what().starts_with("no git repository") {
                ui::remark(&format!("{error}; checking without it"));
            }
            None
        }
        Err(error) => return Err(error),
    };
    let sources = checking::collect(session.as_ref(), &args.paths)?;
    if sources.is_empty() {
        ui::remark("there is no post-mortem to check");
    }
    let outcome = checking::check(session.as_ref(), sources, args.fix)?;
    let counts = Counts::of(&outcome.checked);
    for path in &outcome.fixed {
        ui::remark(&format!("repaired {path}"));
    }
    for (path, why) in &outcome.kept {
        ui::remark(&format!("{path} was not repaired: {why}"));
    }
    let strict = args.strict || args.deny == Some(Deny::Warnings);
    let bad = counts.errors > 0 || strict && counts.warnings > 0 || outcome.refused();
    let exit = i32::from(bad);
    let mut shown = view::view(&outcome.checked);
    if args.fix {
        let kept: Vec<_> = outcome.kept.iter().map(|(path, why)| json!({"path": path, "why": why})).collect();
        shown["fixed"] = json!(outcome.fixed);
        shown["not_fixed"] = json!(kept);
    }
    if json && args.format == Format::Human {
        return Ok(Reply::new(shown, "").exit(exit));
    }
    let text = match args.format {
        Format::Human => {
            use std::io::IsTerminal;
            // Everything foreign in it was made safe before the colours were added.
            human::render(&outcome.checked, ui::colour(std::io::stdout().is_terminal()))
        }
        Format::Github => github::render(&outcome.checked),
        Format::Sarif => ui::json_line(&sarif::log(&outcome.checked)),
        Format::Json => {
            shown["schema"] = json!(SCHEMA);
            ui::json_line(&shown)
        }
    };
    ui::write_all(&mut std::io::stdout(), text.as_bytes());
    // What was printed is the answer: --json adds nothing to a format that was asked for.
    Ok(Reply::silent(exit))
}

fn explain(name: &str) -> Result<Reply> {
    let Some(rule) = rules::named(name) else {
        let error = Error::usage(format!("there is no rule {name:?}"));
        return Err(match rules::closest(name) {
            Some(known) => error.hint(format!("did you mean {known:?}?")),
            None => error.hint("docs/RULES.md lists them"),
        });
    };
    let mut text = format!("{}: {}\n\n{}\n", rule.name, rule.about, rule.docs);
    for (label, example) in [("found", rule.bad), ("not found", rule.good)] {
        if !example.is_empty() {
            text.push_str(&format!("\n{label}:\n\n"));
            for line in example.trim_end().lines() {
                text.push_str(&format!("    {line}\n"));
            }
        }
    }
    Ok(Reply::new(
        json!({
            "rule": rule.name,
            "severity": rule.severity.word(),
            "elsewhere": rule.elsewhere.map(crate::document::lint::Severity::word),
            "about": rule.about,
            "docs": rule.docs,
            "bad": rule.bad,
            "good": rule.good,
        }),
        text,
    ))
}
