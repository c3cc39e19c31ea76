//! `purge`: erase for good.

use serde_json::{Value, json};

use crate::cli::ui::{self, Style, Text};
use crate::cli::{Reply, open_session};
use crate::model::{Error, Result};
use crate::session::Session;
use crate::session::purge::{Plan, Target};
use crate::store::cleanse::Cleansed;

/// Arguments of `purge`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "What is erased stays erased: its digest stands in its place, and no sync brings it back. Both refs \
                        and this clone's guards are written anew without their history, and the objects are removed from \
                        the object store. Then: git incident sync, which does the same to the remote's refs; other clones \
                        follow with their next sync."
)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    /// Why, in a few words that everybody may read
    #[arg(long, short = 'm', global = true, default_value = "", hide_default_value = true)]
    reason: String,
    /// Erase without being asked, where there is no terminal
    #[arg(long, short = 'y', global = true)]
    yes: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Stored files
    Evidence {
        /// First digits of blobs, or names in the incident
        #[arg(required = true, value_name = "OID|NAME")]
        files: Vec<String>,
        /// Id or ticket of the incident whose names are meant; the active one when left out
        #[arg(long, short = 'i')]
        incident: Option<String>,
    },
    /// What events say
    Text {
        /// First digits of the ids of events
        #[arg(required = true, value_name = "EVENT_ID")]
        events: Vec<String>,
    },
    /// Who wrote: name and address in all events of a person
    Person {
        /// The e-mail address
        email: String,
    },
}

/// Shows, asks, erases.
///
/// # Errors
/// No terminal and no `--yes`; the answer is no; nothing or too much is meant.
pub fn run(args: Args, json: bool) -> Result<Reply> {
    let session = open_session()?;
    let person = matches!(args.action, Action::Person { .. });
    let target = match args.action {
        Action::Evidence { files, incident } => Target::Evidence { named: files, incident },
        Action::Text { events } => Target::Text(events),
        Action::Person { email } => Target::Person(email),
    };
    let plan = session.purge_plan(&target)?;
    if plan.is_empty() {
        return Ok(Reply::new(
            view(&plan, None),
            "nothing to erase: it was erased before, or never was here\n",
        ));
    }
    let mut shown = Text::new();
    describe(&mut shown, &session, &plan, person);
    ui::say(&shown);
    if !args.yes {
        let answer = if json { None } else { ui::ask("Erase this for good? (yes/no)") };
        match answer.as_deref() {
            Some("yes" | "y") => {}
            Some(_) => return Err(Error::refused("nothing was erased").hint("answer yes to erase it")),
            None => {
                return Err(Error::refused("nothing was erased")
                    .because("there is no terminal to ask on, or no answer")
                    .hint("when you have read the list above, give the same command with --yes"));
            }
        }
    }
    let cleansed = session.purge(&plan, args.reason.trim())?;
    let mut text = Text::new();
    done(&mut text, &plan, cleansed.as_ref());
    Ok(Reply::new(view(&plan, cleansed.as_ref()), text))
}

fn describe(text: &mut Text, session: &Session, plan: &Plan, person: bool) {
    text.push(Style::Bold, "This goes for good:\n");
    for file in &plan.files {
        text.push(Style::Cyan, format!("  file {}", file.oid.short()));
        text.add_line(format!(
            " {} ({} bytes), kept by {}",
            file.names.join(", "),
            file.bytes,
            some(file.incidents.len(), "incident")
        ));
    }
    let what = if person { "author" } else { "text" };
    let mut titles = std::collections::BTreeMap::new();
    for event in plan.events.iter().take(50) {
        let title = titles.entry(&event.note).or_insert_with(|| session.title_of(&event.note));
        text.push(Style::Cyan, format!("  {what} of {}", event.id.short()));
        text.add_line(format!(
            " {} {} in {} {title}",
            event.at.to_minute(),
            event.type_name,
            event.note.short()
        ));
        if event.type_name == "incident.opened" && !person {
            text.push(
                Style::Yellow,
                "    the incident's first event: its title goes too, its id stays, the object of that name does not\n",
            );
        }
    }
    if plan.events.len() > 50 {
        text.add_line(format!("  and {} more events", plan.events.len() - 50));
    }
}

/// A count with its word.
fn some(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What was done, and what no program here can do.
fn done(text: &mut Text, plan: &Plan, cleansed: Option<&Cleansed>) {
    text.push(
        Style::Green,
        format!("erased {} and {}\n", some(plan.events.len(), "event"), some(plan.files.len(), "file")),
    );
    let Some(cleansed) = cleansed else { return };
    if cleansed.rewritten {
        text.add_line(
            "both refs were written anew without their history; reflogs and fetched copies are dropped",
        );
    }
    text.add_line(format!(
        "{} removed from the object store ({} written anew)",
        some(cleansed.removal.removed, "object"),
        some(cleansed.removal.packs, "pack")
    ));
    for oid in &cleansed.removal.reachable {
        text.push(Style::Yellow, format!("still reached by another ref, a reflog or the index: {oid}"));
        text.add_line(format!(" (git log --all --find-object={oid})"));
    }
    for oid in &cleansed.removal.out_of_reach {
        text.push(
            Style::Yellow,
            format!("in a pack with a .keep file, or in a borrowed object store: {oid}\n"),
        );
    }
    text.push(Style::Bold, "Not reached from here:\n");
    for line in UNREACHED {
        text.add_line(format!("  {line}"));
    }
    text.push(Style::Green, "next: ");
    text.add_line("git incident sync");
}

/// What a purge cannot reach.
const UNREACHED: [&str; 4] = [
    "the remote, until the next sync replaces its refs; its unreachable objects, until somebody runs git gc there \
     (a forge: ask its support; what was pushed may stand in its caches and be read by name)",
    "other clones and forks, until they sync or fetch",
    "commits, documents and pull requests that say the same, drafts of post-mortems among them",
    "what people or programs have copied; a leaked secret has to be revoked all the same",
];

fn view(plan: &Plan, cleansed: Option<&Cleansed>) -> Value {
    let events: Vec<Value> = plan
        .events
        .iter()
        .map(|e| json!({"event": e.id, "type": e.type_name, "note": e.note, "at": e.at}))
        .collect();
    let files: Vec<Value> = plan
        .files
        .iter()
        .map(|f| json!({"oid": f.oid, "names": f.names, "incidents": f.incidents}))
        .collect();
    let removal = cleansed.map(|c| &c.removal);
    json!({
        "events": events,
        "evidence": files,
        "rewritten": cleansed.is_some_and(|c| c.rewritten),
        "dropped_refs": cleansed.map_or(&[][..], |c| &c.dropped[..]),
        "objects_removed": removal.map_or(0, |r| r.removed),
        "packs_rewritten": removal.map_or(0, |r| r.packs),
        "still_reachable": removal.map_or(&[][..], |r| &r.reachable[..]),
        "out_of_reach": removal.map_or(&[][..], |r| &r.out_of_reach[..]),
        "unreached": UNREACHED,
    })
}
