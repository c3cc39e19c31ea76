//! Erasing for good: a file, what an event says, or who wrote.

use std::collections::{BTreeMap, BTreeSet};

use super::Session;
use crate::event::{EvidenceErased, Line, line};
use crate::fold;
use crate::git::refs::Swap;
use crate::git::{lock, notes, refs};
use crate::model::{Error, EventId, Oid, Result, Timestamp};
use crate::store::cleanse::Cleansed;
use crate::store::tombstones::{self, Gone, Purged};
use crate::store::travelling::LEDGER;
use crate::store::{guard, ledger};

/// What is to be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Files: by the first digits of their blobs, or by their names in an incident.
    Evidence {
        /// What was typed.
        named: Vec<String>,
        /// The incident whose names are meant; the active one when absent.
        incident: Option<String>,
    },
    /// What events say: by the first digits of their ids.
    Text(Vec<String>),
    /// Who wrote: by e-mail address.
    Person(String),
}

/// An event of which something goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doomed {
    /// The note it stands in.
    pub note: Oid,
    /// Its id.
    pub id: EventId,
    /// When it was written.
    pub at: Timestamp,
    /// Its type.
    pub type_name: String,
}

/// A file that goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoomedFile {
    /// The blob.
    pub oid: Oid,
    /// Its names, in all incidents.
    pub names: Vec<String>,
    /// The incidents that keep it.
    pub incidents: Vec<Oid>,
    /// Its size.
    pub bytes: u64,
}

/// What a purge would take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Events.
    pub events: Vec<Doomed>,
    /// Files.
    pub files: Vec<DoomedFile>,
    gone: Gone,
}

impl Plan {
    /// Whether there is nothing to erase.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.files.is_empty()
    }
}

/// Types without which a ledger could not be read, or what was erased would come back; they say nothing themselves.
const STRUCTURE: [&str; 3] = ["ledger.segment", "ledger.continued", "evidence.erased"];

impl Session {
    /// Finds what is meant.
    ///
    /// # Errors
    /// Nothing, or more than one thing, is meant; it may not be erased.
    pub fn purge_plan(&self, target: &Target) -> Result<Plan> {
        match target {
            Target::Evidence { named, incident } => self.doomed_files(named, incident.as_deref()),
            Target::Text(ids) => self.doomed_texts(ids),
            Target::Person(email) => self.doomed_authors(email),
        }
    }

    /// Every event of every note.
    fn each_event(&self, mut each: impl FnMut(&Oid, &crate::event::Event)) -> Result<()> {
        let Some(commit) = refs::read(&self.repo, LEDGER.notes)? else { return Ok(()) };
        let tree = notes::tree_of(&self.repo, &commit)?;
        let entries = notes::entries(&self.repo, &tree)?;
        for (key, blob) in &entries {
            let text = self.repo.blob(blob)?;
            for line in fold::split_lines(&text).map(Line::parse) {
                if let Some(event) = line.event() {
                    each(key, event);
                }
            }
        }
        Ok(())
    }

    fn doomed_texts(&self, ids: &[String]) -> Result<Plan> {
        let digits: Vec<String> = ids.iter().map(|id| id.trim().to_ascii_lowercase()).collect();
        for id in &digits {
            if !crate::model::id::is_lower_hex(id) || id.len() < super::locate::SHORTEST_PREFIX {
                return Err(Error::usage(format!("{id:?} is no event's id"))
                    .because("it takes 7 hexadecimal digits or more")
                    .hint(
                        "the ids stand in: git incident show --json, git incident export --format ledger",
                    ));
            }
        }
        let mut found: BTreeMap<usize, BTreeMap<EventId, Doomed>> = BTreeMap::new();
        let mut erased = BTreeSet::new();
        self.each_event(|note, event| {
            let id = event.id.to_string();
            for (i, _) in digits.iter().enumerate().filter(|(_, d)| id.starts_with(*d)) {
                if event.body == line::Body::Erased {
                    erased.insert(i);
                } else {
                    found.entry(i).or_default().insert(event.id, doomed(note, event));
                }
            }
        })?;
        let mut plan = Plan { gone: Gone { by: false, data: true }, ..Plan::default() };
        for (i, typed) in digits.iter().enumerate() {
            let matching: Vec<Doomed> = found.remove(&i).unwrap_or_default().into_values().collect();
            match matching.as_slice() {
                [one] if STRUCTURE.contains(&one.type_name.as_str()) => {
                    return Err(Error::refused(format!(
                        "{typed} is a {} and cannot be erased",
                        one.type_name
                    ))
                    .because("it holds nothing that was said, and the ledger is not whole without it")
                    .hint("name the event that says it: git incident show --json"));
                }
                [_] => plan.events.extend(matching),
                [] if erased.contains(&i) => {}
                [] => {
                    return Err(Error::refused(format!("there is no event {typed} here")).hint(
                        "the ids stand in: git incident show --json, git incident export --format ledger",
                    ));
                }
                several => {
                    return Err(Error::refused(format!("{typed} means {} events", several.len()))
                        .hint("type more digits of the id"));
                }
            }
        }
        Ok(plan)
    }

    fn doomed_authors(&self, email: &str) -> Result<Plan> {
        let wanted = email.trim();
        if wanted.is_empty() {
            return Err(Error::usage("an e-mail address is needed").hint("git incident purge person EMAIL"));
        }
        let mut plan = Plan { gone: Gone { by: true, data: false }, ..Plan::default() };
        self.each_event(|note, event| {
            if event.by.as_ref().is_some_and(|by| by.email.trim().eq_ignore_ascii_case(wanted)) {
                plan.events.push(doomed(note, event));
            }
        })?;
        Ok(plan)
    }

    fn doomed_files(&self, named: &[String], incident: Option<&str>) -> Result<Plan> {
        let mut by_oid: BTreeMap<Oid, DoomedFile> = BTreeMap::new();
        for incident in self.incidents()? {
            let Some(id) = &incident.id else { continue };
            for file in incident.evidence.iter().filter(|e| !e.erased) {
                let Some(oid) = &file.oid else { continue };
                let entry = by_oid.entry(oid.clone()).or_insert_with(|| DoomedFile {
                    oid: oid.clone(),
                    names: Vec::new(),
                    incidents: Vec::new(),
                    bytes: file.bytes,
                });
                if !entry.names.contains(&file.name) {
                    entry.names.push(file.name.clone());
                }
                if !entry.incidents.contains(id) {
                    entry.incidents.push(id.clone());
                }
            }
        }
        let mut plan = Plan::default();
        for text in named {
            let digits = text.to_ascii_lowercase();
            let is_id = crate::model::id::is_lower_hex(&digits) && digits.len() >= 4;
            let mut found: Vec<&DoomedFile> =
                by_oid.values().filter(|f| is_id && f.oid.as_str().starts_with(&digits)).collect();
            if found.is_empty() {
                // A name means a file of one incident; blobs are the same everywhere.
                let (_, incident) = self.named_incident(incident)?;
                let oids: BTreeSet<&Oid> = incident
                    .evidence
                    .iter()
                    .filter(|e| !e.erased && e.name == *text)
                    .filter_map(|e| e.oid.as_ref())
                    .collect();
                found = oids.into_iter().filter_map(|oid| by_oid.get(oid)).collect();
            }
            match found.as_slice() {
                [one] => plan.files.push((*one).clone()),
                [] => {
                    return Err(Error::refused(format!("no incident keeps {text:?}"))
                        .hint("list what is kept: git incident evidence list"));
                }
                several => {
                    return Err(Error::refused(format!("{text:?} means {} files", several.len()))
                        .hint("name one by the first digits of its blob: git incident evidence list"));
                }
            }
        }
        plan.files.dedup_by(|a, b| a.oid == b.oid);
        Ok(plan)
    }

    /// Erases, and removes every trace of it that this clone can reach.
    ///
    /// # Errors
    /// The repository cannot be written; what is left is done by the next command.
    pub fn purge(&self, plan: &Plan, reason: &str) -> Result<Option<Cleansed>> {
        for file in &plan.files {
            for incident in &file.incidents {
                self.append(incident, &[], |draft| {
                    draft.add(EvidenceErased { oid: file.oid.clone(), reason: reason.to_owned() })
                })?;
            }
        }
        // From here on the next command finishes what this one does not.
        tombstones::mark(&self.repo)?;
        if !plan.events.is_empty() {
            self.erase_events(plan)?;
        }
        let message = if reason.is_empty() { "purge\n".to_owned() } else { format!("purge\n\n{reason}\n") };
        self.cleanse(&message)
    }

    /// Writes the erased spellings, wherever the events stand.
    fn erase_events(&self, plan: &Plan) -> Result<()> {
        let mut purged = Purged::default();
        purged.events.extend(plan.events.iter().map(|e| (e.id, plan.gone)));
        let signature = git2::Signature::now("git incident", "git-incident@localhost")
            .map_err(|e| Error::bug("a fixed signature is refused").because(e.message()))?;
        let _lock = lock::WriterLock::acquire(&self.repo)?;
        for _ in 0..guard::ATTEMPTS {
            guard::mend_locked(&self.repo, LEDGER, &signature)?;
            let Some(kept) = refs::read(&self.repo, LEDGER.kept)? else { return Ok(()) };
            let tree = notes::tree_of(&self.repo, &kept)?;
            let mut changes = Vec::new();
            for note in plan.events.iter().map(|e| &e.note).collect::<BTreeSet<_>>() {
                let text = crate::store::travelling::read(&self.repo, LEDGER.kept, note)?;
                if let Some(erased) = purged.apply(&text) {
                    let blob = Some(self.repo.write_blob(&erased)?);
                    changes.push(notes::Change { key: note.clone(), blob });
                }
            }
            let new = notes::apply(&self.repo, Some(&tree), changes)?;
            let commit = notes::commit(&self.repo, &new, std::slice::from_ref(&kept), &signature, "purge\n")?;
            if guard::publish(&self.repo, LEDGER, &commit, Some(&kept))? == Swap::Done {
                return Ok(());
            }
        }
        Err(guard::busy(LEDGER))
    }

    /// The title of the incident whose note, or segment, this is.
    pub fn title_of(&self, note: &Oid) -> String {
        ledger::incident(&self.repo, note).map(|i| i.title.get().clone()).unwrap_or_default()
    }
}

fn doomed(note: &Oid, event: &crate::event::Event) -> Doomed {
    Doomed { note: note.clone(), id: event.id, at: event.at, type_name: event.type_name.clone() }
}
