//! `sync`: fetch, unite, push the ledgers and their evidence.

use serde_json::{Value, json};

use crate::cli::ui::{self, Style, Text};
use crate::cli::{Reply, open_session};
use crate::model::Result;
use crate::session::Session;
use crate::session::sync::{Request, Synced};
use crate::store::merge::Amount;

/// Arguments of `sync`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Both refs, refs/notes/incidents and refs/notes/incidents-evidence, are fetched, united line by \
                        line and pushed, again and again until they land. Where a remote has several push addresses, \
                        the first is synced; name the others.\n\
                        Your pre-push hooks do not run for it (git config incident.pushHooks true: they do).\n\
                        To sync after each push: git config incident.sync true, or [pre-push] sync = true in \
                        .git-incident.toml."
)]
pub struct Args {
    /// Remotes or addresses; the one a push would go to when left out
    #[arg(value_name = "REMOTE")]
    pub remotes: Vec<String>,
    /// Fetch, and tell what would travel each way and how large it is; change nothing else
    #[arg(long, short = 'n')]
    pub dry_run: bool,
    /// Take over this incident alone, with its evidence and records, and push nothing: the first digits of its id
    #[arg(long, value_name = "ID")]
    pub incident: Option<String>,
}

/// Syncs with each.
///
/// # Errors
/// A remote says no; there is none; the repository cannot be written.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    let session = open_session()?;
    let remotes: Vec<Option<String>> =
        if args.remotes.is_empty() { vec![None] } else { args.remotes.iter().cloned().map(Some).collect() };
    let mut all = Vec::new();
    for remote in remotes {
        let request = Request {
            remote,
            incident: args.incident.clone(),
            dry_run: args.dry_run,
            terminal: ui::can_ask() && !json,
        };
        all.push(one(&session, &request)?);
    }
    let mut text = Text::new();
    for synced in &all {
        describe(&mut text, synced, &args);
    }
    Ok(Reply::new(view(&session, &all, args.dry_run), text))
}

fn one(session: &Session, request: &Request) -> Result<Synced> {
    let mut progress = |line: &str| {
        let end = if line.ends_with('\r') { "\r" } else { "\n" };
        ui::write_all(
            &mut std::io::stderr(),
            format!("{}{end}", ui::clean(line.trim_end_matches(['\r', '\n']))).as_bytes(),
        );
    };
    let synced = session.sync(request, &mut progress)?;
    for mended in &synced.mended {
        ui::remark(&mended.to_text());
    }
    for restored in &synced.restored {
        let lost = if restored.was_deleted {
            "it was deleted".to_owned()
        } else {
            format!("{} notes were missing or shorter", restored.notes)
        };
        ui::remark(&format!(
            "{} had lost what {} held ({lost}: a forced push does that); this sync brought it back",
            synced.remote, restored.reference
        ));
    }
    if synced.replaced {
        ui::remark(&format!(
            "{} still held what was purged: its refs were replaced. Ask whoever runs it for: git gc --prune=now",
            synced.remote
        ));
    }
    if let Some(cleansed) = &synced.cleansed {
        ui::remark(&cleansed.to_text());
    }
    for url in &synced.left_out {
        ui::remark(&format!(
            "{} has another push address, left alone: git incident sync {url}",
            synced.remote
        ));
    }
    Ok(synced)
}

fn describe(text: &mut Text, synced: &Synced, args: &Args) {
    text.push(Style::Cyan, &synced.remote);
    let verbs = if args.dry_run { ("would fetch", "would push") } else { ("fetched", "pushed") };
    let nothing = Amount::default();
    if synced.fetched == nothing && synced.pushed == nothing {
        let nothing_new =
            if synced.incident.is_some() { "nothing new in that incident" } else { "nothing new either way" };
        text.add_line(format!(": {nothing_new}"));
        return;
    }
    text.add_line("");
    for (verb, amount) in [(verbs.0, synced.fetched), (verbs.1, synced.pushed)] {
        if amount != nothing && !(verb == verbs.1 && args.incident.is_some()) {
            text.add_line(format!("  {verb:<11} {}", words(amount)));
        }
    }
    if let Some(id) = &synced.incident
        && !args.dry_run
    {
        text.add_line(format!("  look at it: git incident show {}", id.short()));
    }
    if synced.attempts > 1 {
        text.push(Style::Dim, format!("  landed at try {}: others pushed meanwhile\n", synced.attempts));
    }
}

fn words(amount: Amount) -> String {
    let some = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    format!(
        "{}, {}, {}, {}",
        some(amount.incidents, "incident", "incidents"),
        some(amount.events, "event", "events"),
        some(amount.evidence, "file", "files"),
        size(amount.bytes)
    )
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

fn view(session: &Session, all: &[Synced], dry_run: bool) -> Value {
    let amount = |a: Amount| json!({"incidents": a.incidents, "events": a.events, "evidence": a.evidence, "bytes": a.bytes});
    let one = |s: &Synced, before: &[crate::store::guard::Mended]| {
        let here = before.iter().chain(&s.mended);
        let mended: Vec<Value> = here
            .map(|m| json!({"where": "here", "ref": m.reference, "notes": m.notes, "was_deleted": m.was_deleted}))
            .chain(s.restored.iter().map(
                |r| json!({"where": s.remote, "ref": r.reference, "notes": r.notes, "was_deleted": r.was_deleted}),
            ))
            .collect();
        json!({
            "remote": s.remote,
            "fetched": amount(s.fetched),
            "pushed": amount(s.pushed),
            "attempts": s.attempts,
            "mended": mended,
            "replaced": s.replaced,
            "purged_objects": s.cleansed.as_ref().map_or(0, |c| c.removal.removed),
            "incident": s.incident,
        })
    };
    let mut views: Vec<Value> = Vec::new();
    for (i, synced) in all.iter().enumerate() {
        views.push(one(synced, if i == 0 { &session.mended } else { &[] }));
    }
    let mut view = views.first().cloned().unwrap_or_default();
    view["dry_run"] = dry_run.into();
    view["remotes"] = views.into();
    view
}
