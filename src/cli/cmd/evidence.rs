//! `evidence`: files kept with the incident.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::list::one_line;
use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session, ui};
use crate::event::EvidenceAdded;
use crate::git::partial;
use crate::model::incident::{Evidence, Incident};
use crate::model::{Error, EventId, Oid, Result};
use crate::redact::AllowedFinding;
use crate::report::views;
use crate::session::{Session, locate};
use crate::store::evidence::{Check, check, read_file};

/// Kinds of evidence.
const KINDS: [&str; 11] = [
    "file",
    "log",
    "diff",
    "untracked",
    "profile",
    "sizes",
    "tensor",
    "samples",
    "capture",
    "record",
    "arithmetic",
];

/// Arguments of `evidence`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Id or ticket of the incident; the active one when left out
    #[arg(long, short = 'i', global = true)]
    pub incident: Option<String>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Store files with the incident; secrets are cut out first
    Add {
        /// The files; `-` for standard input
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// What they are
        #[arg(long, short = 'k', value_parser = clap::builder::PossibleValuesParser::new(KINDS))]
        kind: Option<String>,
        /// The name it is kept under (for one file)
        #[arg(long)]
        name: Option<String>,
        /// Number or id of the attempt; the active one when left out
        #[arg(long, short = 'n')]
        attempt: Option<String>,
        /// Do not store it: record its digest, size and place
        #[arg(long)]
        external: bool,
        /// Keep this finding of the secret scan, named as RULE:LINE:COLUMN (may be repeated)
        #[arg(long, value_name = "FINDING")]
        allow_secret: Vec<String>,
    },
    /// List what is kept
    List,
    /// Print a stored file
    Show {
        /// First digits of its blob, or its name
        evidence: String,
        /// Write it into this file
        #[arg(long, short = 'o', value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Check that everything is there and is what was recorded
    Verify,
}

/// Stores, lists, prints or checks.
///
/// # Errors
/// A file that may not be stored; one that is not here.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    let session = open_session()?;
    let (id, incident) = session.named_incident(args.incident.as_deref())?;
    match args.action {
        None | Some(Action::List) => Ok(list(&id, &incident)),
        Some(Action::Add { files, kind, name, attempt, external, allow_secret }) => {
            if name.is_some() && files.len() > 1 {
                return Err(Error::usage("--name is for one file"));
            }
            let attempt = match attempt {
                Some(named) => Some(locate::attempt(&incident, &named)?.started.event),
                None => session.active_attempt(&id),
            };
            let allow = allow_secret
                .iter()
                .map(|text| {
                    text.parse::<AllowedFinding>().map_err(|_| {
                        Error::usage(format!("{text:?} names no finding"))
                            .hint("--allow-secret RULE:LINE:COLUMN, as the scan prints it")
                    })
                })
                .collect::<Result<Vec<_>>>()?;
            let adding = Adding { kind, name, attempt, external, allow };
            add(&session, &id, &files, &adding)
        }
        Some(Action::Show { evidence, output }) => {
            show(&session, &incident, &evidence, output.as_deref(), json)
        }
        Some(Action::Verify) => Ok(verify(&session, &id, &incident)),
    }
}

struct Adding {
    kind: Option<String>,
    name: Option<String>,
    attempt: Option<EventId>,
    external: bool,
    allow: Vec<AllowedFinding>,
}

fn add(session: &Session, id: &Oid, files: &[PathBuf], adding: &Adding) -> Result<Reply> {
    // Everything is read and judged before anything is recorded: all of them or none.
    let events = files.iter().map(|path| one(session, path, adding)).collect::<Result<Vec<_>>>()?;
    let oids: Vec<Oid> = events.iter().filter_map(|e| e.oid.clone()).collect();
    session.append(id, &oids, |draft| {
        for event in &events {
            draft.add(event.clone())?;
        }
        Ok(())
    })?;
    let mut text = Text::new();
    for event in &events {
        let place = event
            .oid
            .as_ref()
            .map_or_else(|| format!("outside, at {}", event.location), |o| o.short().to_owned());
        text.add_line(format!("kept {} ({}, {} bytes): {place}", event.name, event.kind, event.bytes));
    }
    let rows: Vec<_> = events
        .iter()
        .map(|e| json!({"oid": e.oid, "sha256": e.sha256, "bytes": e.bytes, "name": e.name, "kind": e.kind, "location": e.location, "redacted": e.redacted}))
        .collect();
    Ok(Reply::new(json!({"incident": id, "evidence": rows}), text))
}

fn one(session: &Session, path: &Path, adding: &Adding) -> Result<EvidenceAdded> {
    let own_name = path.file_name().map_or_else(|| "stdin".to_owned(), |n| n.to_string_lossy().into_owned());
    let name =
        adding.name.clone().unwrap_or(if path.as_os_str() == "-" { "stdin".to_owned() } else { own_name });
    let kind = adding.kind.clone().unwrap_or_else(|| guess_kind(&name).to_owned());
    if adding.external {
        return session.describe_outside(path, &kind, adding.attempt);
    }
    let limit = session.evidence_policy()?.max;
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().take(limit + 1).read_to_end(&mut bytes)?;
        bytes
    } else {
        read_file(path, limit)?
    };
    let kept = session.keep(&name, &kind, &bytes, adding.attempt, &adding.allow)?;
    if let Some(remark) = &kept.remark {
        ui::remark(remark);
    }
    Ok(kept.event)
}

fn guess_kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "log" | "txt" | "out" | "err" => "log",
        "diff" | "patch" => "diff",
        "npy" | "npz" | "safetensors" | "pt" => "tensor",
        "ncu-rep" | "nsys-rep" | "qdrep" | "prof" | "pprof" => "profile",
        _ => "file",
    }
}

fn list(id: &Oid, incident: &Incident) -> Reply {
    let mut text = Text::new();
    for e in &incident.evidence {
        let attempt = e
            .attempt
            .and_then(|a| incident.attempt(a))
            .map_or_else(String::new, |a| format!(" attempt {}", a.ordinal));
        text.push(Style::Cyan, e.oid.as_ref().map_or("outside", |o| o.short()));
        let erased = if e.erased { " (erased)" } else { "" };
        let (kind, name) = (one_line(&e.kind), one_line(&e.name));
        text.add_line(format!(" {kind:<9} {:>9} {name}{attempt}{erased}", e.bytes));
    }
    if incident.evidence.is_empty() {
        text.add_line("nothing is kept yet: git incident evidence add FILE");
    }
    Reply::new(
        json!({"incident": id, "evidence": incident.evidence.iter().map(views::evidence).collect::<Vec<_>>()}),
        text,
    )
}

fn find<'i>(incident: &'i Incident, named: &str) -> Result<&'i Evidence> {
    let by_digits =
        |e: &&Evidence| named.len() >= 4 && e.oid.as_ref().is_some_and(|o| o.as_str().starts_with(named));
    let by_name = |e: &&Evidence| e.name == named;
    let mut found: Vec<&Evidence> = incident.evidence.iter().filter(by_digits).collect();
    if found.is_empty() {
        found = incident.evidence.iter().filter(by_name).collect();
    }
    let distinct: std::collections::BTreeSet<_> = found.iter().map(|e| &e.oid).collect();
    match (found.last(), distinct.len()) {
        (Some(e), 1) => Ok(e),
        (None, _) => Err(Error::refused(format!("the incident keeps no {named:?}"))
            .hint("list what it keeps: git incident evidence list")),
        (Some(_), n) => Err(Error::refused(format!("{named:?} means {n} files"))
            .hint("name one by the first digits of its blob: git incident evidence list")),
    }
}

fn show(
    session: &Session,
    incident: &Incident,
    named: &str,
    output: Option<&Path>,
    json: bool,
) -> Result<Reply> {
    let evidence = find(incident, named)?;
    let view = views::evidence(evidence);
    let Some(oid) = &evidence.oid else {
        return Err(Error::refused(format!("{} was not stored", evidence.name))
            .hint(format!("it stands at {}", evidence.location)));
    };
    if evidence.erased {
        return Err(Error::refused(format!("{} was erased for good", evidence.name)));
    }
    let bytes = session.repo.blob(oid)?;
    if let Some(path) = output {
        std::fs::write(path, &bytes)
            .map_err(|e| Error::refused(format!("{} cannot be written", path.display())).because(e))?;
        return Ok(Reply::new(
            json!({"evidence": view, "path": path}),
            format!("wrote {} bytes to {}\n", bytes.len(), path.display()),
        ));
    }
    if json {
        return Ok(Reply::new(json!({"evidence": view, "text": String::from_utf8_lossy(&bytes)}), ""));
    }
    if std::io::stdout().is_terminal() {
        return Ok(Reply::new(json!({}), String::from_utf8_lossy(&bytes).into_owned()).paged());
    }
    // Into a pipe or a file the bytes go as they are: that is what they were kept for.
    ui::write_all(&mut std::io::stdout(), &bytes);
    Ok(Reply::new(json!({}), ""))
}

fn verify(session: &Session, id: &Oid, incident: &Incident) -> Reply {
    let mut text = Text::new();
    let mut rows = Vec::new();
    let mut bad = 0;
    let stored: Vec<Oid> =
        incident.evidence.iter().filter(|e| !e.erased).filter_map(|e| e.oid.clone()).collect();
    if let Err(error) = partial::ensure(&session.repo, &stored) {
        ui::remark(&error.to_string());
    }
    for e in incident.evidence.iter().filter(|e| !e.erased) {
        let Some(oid) = &e.oid else { continue };
        let (word, detail) = match check(&session.repo, oid, &e.sha256) {
            Check::Intact => ("intact", String::new()),
            Check::Missing => ("missing", "; in a partial clone: git fetch --refetch".to_owned()),
            Check::Altered { found } => ("altered", format!("; recorded {}, found {found}", e.sha256)),
        };
        if word != "intact" {
            bad += 1;
            text.push(Style::Red, format!("{word} {} {}{detail}\n", oid.short(), one_line(&e.name)));
        }
        rows.push(json!({"oid": oid, "name": e.name, "state": word}));
    }
    if bad == 0 {
        text.push(Style::Green, format!("{} files intact\n", rows.len()));
    }
    Reply::new(json!({"incident": id, "evidence": rows, "problems": bad}), text).exit(i32::from(bad > 0))
}
