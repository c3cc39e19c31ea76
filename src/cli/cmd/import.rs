//! `import`: Markdown debug logs into the ledger.

use std::io::Read;
use std::path::PathBuf;

use serde_json::json;

use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session, ui};
use crate::document::debuglog;
use crate::model::{Error, Result};
use crate::session::active::Active;
use crate::session::import::to_log;
use crate::store::evidence;

/// Arguments of `import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A Markdown debug log; `-` for standard input
    pub file: PathBuf,
    /// Import incidents that are here already once more
    #[arg(long)]
    pub again: bool,
    /// Show what would be imported, and write nothing
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

/// The largest log that is read.
const LIMIT: u64 = 16 << 20;

/// Imports every incident of the file.
///
/// # Errors
/// A file that cannot be read, or that holds no incident.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let bytes = if args.file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(LIMIT + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LIMIT {
            return Err(Error::refused("the log is larger than 16 MiB").hint("split it"));
        }
        bytes
    } else {
        evidence::read_file(&args.file, LIMIT)?
    };
    let text = String::from_utf8(bytes).map_err(|e| {
        Error::refused(format!("{} is not UTF-8 text", args.file.display()))
            .because(e.utf8_error())
            .hint("convert it: iconv -t UTF-8")
    })?;
    let log = debuglog::parse(&text);
    for warning in &log.warnings {
        ui::remark(&format!("{}:{}: {}", args.file.display(), warning.line, warning.message));
    }
    if log.incidents.is_empty() {
        return Err(Error::refused(format!("{} holds no incident", args.file.display()))
            .because("an incident is a heading with a symptom, a status or attempts below it")
            .hint("git incident export --format markdown shows the layout"));
    }
    let session = open_session()?;
    // The same log imported twice is a mistake far more often than a wish.
    let here: Vec<_> =
        session.incidents()?.iter().map(|i| (i.id.clone(), debuglog::normalise(&to_log(i)))).collect();
    let mut rows = Vec::new();
    let mut shown = Text::new();
    for logged in &log.incidents {
        let same = debuglog::normalise(logged);
        let known =
            here.iter().find(|(_, l)| *l == same).and_then(|(id, _)| id.clone()).filter(|_| !args.again);
        let (id, word) = match known {
            Some(id) => (Some(id), "is here already as"),
            None if args.dry_run => (None, "would import"),
            None => (Some(session.import_incident(logged)?), "imported"),
        };
        shown = shown
            .plain(format!("{word} "))
            .styled(Style::Cyan, id.as_ref().map_or("", |i| i.short()))
            .line(format!(
                " {} ({} attempts, {} differences, {} ideas)",
                logged.title,
                logged.attempts.len(),
                logged.differences.len(),
                logged.next.len()
            ));
        rows.push(json!({
            "incident": id, "title": logged.title, "status": logged.status, "line": logged.line, "new": word == "imported",
            "attempts": logged.attempts.len(), "differences": logged.differences.len(), "next": logged.next.len(),
        }));
        if let (Some(id), 1, false) = (&id, log.incidents.len(), args.dry_run) {
            session.set_active(&Active { incident: Some(id.clone()), attempt: None })?;
        }
    }
    let warnings: Vec<_> =
        log.warnings.iter().map(|w| json!({"line": w.line, "message": w.message})).collect();
    let first = rows.first().map(|r| r["incident"].clone());
    Ok(Reply::new(json!({"incidents": rows, "incident": first, "warnings": warnings}), shown))
}
