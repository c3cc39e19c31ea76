//! `fsck`: whether the ledgers, the evidence and everything made from them are whole.

use serde_json::{Value, json};

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session_as_it_is};
use crate::model::{Oid, Result};
use crate::session::Session;
use crate::session::integrity::Integrity;
use crate::store::fsck::{Problem, Quarantined, Repaired, Severity};

/// So many lines of what was moved aside or put right are printed; `--json` has all.
const MAX_PRINTED: usize = 50;

/// Arguments of `fsck`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Make anew what is made from the ledgers, and move aside (never delete) what is none of ours
    #[arg(long)]
    pub repair: bool,
    /// Ids or tickets; everything when left out
    pub incidents: Vec<String>,
}

/// Checks.
///
/// # Errors
/// No such incident; a repository that cannot be read or, with `--repair`, written.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session_as_it_is()?;
    let wanted =
        args.incidents.iter().map(|named| incident(&session, named)).collect::<Result<Vec<Oid>>>()?;
    let found = session.fsck((!wanted.is_empty()).then_some(wanted.as_slice()), args.repair)?;
    let mut text = Text::new();
    for done in found.repaired.iter().take(MAX_PRINTED) {
        text.push(Style::Green, "repaired ");
        text.add_line(format!("{}{}: {}", done.reference, after(done.key.as_ref()), done.what));
    }
    more(&mut text, found.repaired.len());
    for moved in found.quarantined.iter().take(MAX_PRINTED) {
        text.push(Style::Yellow, "moved aside ");
        text.add_line(format!("{} {}: {}", moved.reference, moved.path, moved.reason));
        text.add_line(format!("             look at it: git show {}:{}", moved.quarantine, moved.name));
    }
    more(&mut text, found.quarantined.len());
    for problem in &found.report.problems {
        describe(&mut text, problem);
    }
    for (check, count) in &found.report.left_out {
        text.push(Style::Dim, format!("and {count} more findings of {check}\n"));
    }
    summary(&mut text, &found, args.repair);
    let exit = i32::from(found.report.errors > 0);
    Ok(Reply::new(view(&found), text).exit(exit))
}

/// A whole id names its ledger however damaged that is.
fn incident(session: &Session, named: &str) -> Result<Oid> {
    Oid::parse(named).map_or_else(|| session.incident_id(Some(named)), Ok)
}

fn more(text: &mut Text, count: usize) {
    if count > MAX_PRINTED {
        text.push(Style::Dim, format!("and {} more: --json lists them\n", count - MAX_PRINTED));
    }
}

fn after(key: Option<&String>) -> String {
    key.map_or_else(String::new, |k| format!(" {}", k.chars().take(12).collect::<String>()))
}

fn describe(text: &mut Text, problem: &Problem) {
    let style = match problem.severity {
        Severity::Error => Style::Red,
        Severity::Warning => Style::Yellow,
        Severity::Note => Style::Dim,
    };
    text.push(style, format!("{}: ", problem.severity.as_str()));
    text.push(Style::Bold, problem.check);
    let line = problem.line.map_or_else(String::new, |n| format!(", line {n}"));
    let place = format!(" {}{}{line}", problem.reference, after(problem.key.as_ref()));
    text.push(Style::Cyan, place);
    let message = problem.message.replace(['\n', '\r'], " ");
    text.add_line(format!(": {message}{}", if problem.repairable { " [--repair]" } else { "" }));
}

fn summary(text: &mut Text, found: &Integrity, repaired: bool) {
    let c = found.report.checked;
    let checked = format!(
        "checked {} incidents, {} events, {} files of evidence, {} records, {} links",
        c.incidents, c.events, c.evidence, c.records, c.links
    );
    let problems = &found.report.problems;
    let count = |severity| problems.iter().filter(|p| p.severity == severity).count();
    let (errors, warnings) = (found.report.errors, count(Severity::Warning));
    let style = if errors > 0 { Style::Red } else { Style::Green };
    let what = match (errors, warnings) {
        (0, 0) => "nothing is wrong".to_owned(),
        (0, n) => format!("no errors, {n} warnings"),
        (n, m) => format!("{n} errors, {m} warnings"),
    };
    text.push(style, format!("{checked}: {what}\n"));
    if problems.iter().any(|p| p.repairable) && !repaired {
        text.add_line("what is marked can be put right: git incident fsck --repair");
    }
    if errors > 0 && problems.iter().any(|p| p.severity == Severity::Error && !p.repairable) {
        text.add_line("what is lost here may be whole in another clone: fetch and merge its notes");
    }
}

fn view(found: &Integrity) -> Value {
    let c = found.report.checked;
    json!({
        "checked": {
            "incidents": c.incidents, "events": c.events, "evidence": c.evidence, "records": c.records, "links": c.links,
        },
        "problems": found.report.problems.iter().map(problem).collect::<Vec<_>>(),
        "left_out": found.report.left_out,
        "errors": found.report.errors,
        "repaired": found.repaired.iter().map(repair).collect::<Vec<_>>(),
        "quarantined": found.quarantined.iter().map(moved).collect::<Vec<_>>(),
    })
}

fn problem(problem: &Problem) -> Value {
    json!({
        "check": problem.check,
        "severity": problem.severity.as_str(),
        "ref": problem.reference,
        "key": problem.key,
        "incident": problem.incident,
        "line": problem.line,
        "message": problem.message,
        "repairable": problem.repairable,
    })
}

fn repair(done: &Repaired) -> Value {
    json!({"ref": done.reference, "key": done.key, "what": done.what})
}

fn moved(moved: &Quarantined) -> Value {
    json!({
        "ref": moved.reference,
        "path": moved.path,
        "object": moved.object,
        "reason": moved.reason,
        "quarantine": moved.quarantine,
        "look": format!("git show {}:{}", moved.quarantine, moved.name),
    })
}
