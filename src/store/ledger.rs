//! Ledgers: reading them, and appending events to them.

use std::collections::BTreeMap;

use crate::event::{Data, Event, LedgerContinued, LedgerSegment, line};
use crate::fold::Ledger;
use crate::git::refs::Swap;
use crate::git::{Repo, bulk, lock, notes, partial, refs};
use crate::model::incident::{Author, Incident};
use crate::model::{Error, EventId, Oid, Result, Timestamp};
use crate::redact;

use super::guard;
use super::segments::{self, End, Tail};
use super::travelling::{EVIDENCE, LEDGER, bearable, read, union_of};

/// A note that has grown past this continues in a segment: every append writes a whole note anew.
pub const SEGMENT_BYTES: usize = 256 * 1024;

/// Who writes, when, and with what randomness.
pub struct Writer<'a> {
    /// Name and e-mail of the notes commits.
    pub signature: git2::Signature<'a>,
    /// Person and agent of the events; its salt is replaced for each event.
    pub author: Author,
    /// The clock's reading.
    pub now: Timestamp,
    /// 128 random bits in hexadecimal, anew at each call.
    pub salt: &'a dyn Fn() -> Result<String>,
}

/// Events being written, each knowing of all before it.
pub struct Draft<'a> {
    writer: &'a Writer<'a>,
    heads: Vec<EventId>,
    after: Timestamp,
    events: Vec<Event>,
}

impl Draft<'_> {
    /// Adds an event after everything so far, and returns its id.
    ///
    /// # Errors
    /// Data that may not stand in a ledger; no randomness.
    pub fn add(&mut self, data: impl Into<Data>) -> Result<EventId> {
        // At the last instant there is (somebody's clock was far off) time stands still, and the parents alone tell
        // what came first.
        let data = without_secrets(data.into())?;
        let at = self.writer.now.max(Timestamp::from_millis(self.after.millis() + 1));
        let author = Author { salt: (self.writer.salt)()?, ..self.writer.author.clone() };
        let event = line::seal(at, &author, &data, &self.heads, &(self.writer.salt)()?)?;
        let id = event.id;
        self.heads = vec![id];
        self.after = at;
        self.events.push(event);
        Ok(id)
    }
}

/// The last net: whatever a command forgot to look at, no secret is written into a ledger.
fn without_secrets(data: Data) -> Result<Data> {
    let text = data.encode("")?;
    let mut value: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| Error::bug("an event cannot be read as JSON").because(e))?;
    if !redact::cut(&mut value) {
        return Ok(data);
    }
    match Data::decode(data.type_name(), &value.to_string()) {
        Some(Ok(clean)) => Ok(clean),
        _ => Err(Error::refused("an event holds a secret that cannot be cut out of it")
            .hint("leave the secret away, or name it by a variable of the environment")),
    }
}

/// What an append wrote.
pub struct Appended<T> {
    /// The incident.
    pub incident: Oid,
    /// What the caller's closure returned.
    pub value: T,
}

/// Opens an incident: the first event's line becomes its anchor.
///
/// # Errors
/// The repository cannot be written.
pub fn open<T>(
    repo: &Repo,
    writer: &Writer<'_>,
    evidence: &[Oid],
    build: impl FnOnce(&mut Draft<'_>) -> Result<T>,
) -> Result<Appended<T>> {
    let _lock = lock::WriterLock::acquire(repo)?;
    let mut draft = Draft { writer, heads: Vec::new(), after: Timestamp::default(), events: Vec::new() };
    let value = build(&mut draft)?;
    let first = draft.events.first().ok_or_else(|| Error::bug("an incident was opened without an event"))?;
    let anchor = write_line(repo, &first.raw)?;
    let mut kept_evidence = evidence.to_vec();
    kept_evidence.push(anchor.clone());
    store_own_names(repo, writer, &kept_evidence)?;
    let bytes = with_lines(Vec::new(), &draft.events);
    let subject = format!("open {}", anchor.short());
    write_notes(repo, writer, vec![(anchor.clone(), bytes)], &subject)?;
    Ok(Appended { incident: anchor, value })
}

/// Appends events to an incident's ledger. `build` sees the events a writer has to know: all of the ledger,
/// unless it has segments, then those of its first note and its last segment.
///
/// # Errors
/// No such incident; the repository cannot be written; whatever `build` refuses.
pub fn append<T>(
    repo: &Repo,
    writer: &Writer<'_>,
    incident: &Oid,
    evidence: &[Oid],
    build: impl FnOnce(&mut Draft<'_>) -> Result<T>,
) -> Result<Appended<T>> {
    let _lock = lock::WriterLock::acquire(repo)?;
    guard::mend_locked(repo, LEDGER, &writer.signature)?;
    let first = read(repo, LEDGER.kept, incident)?;
    if first.is_empty() {
        return Err(no_such_incident(incident.as_str()));
    }
    let mut tail = Tail::read(repo, incident, &first)?;
    let begins_segment = tail.bytes >= SEGMENT_BYTES;
    if begins_segment {
        // So that whoever reads this segment knows that it joins all there was.
        tail.end = End::of(&segments::load(repo, incident, &first));
    }
    let mut draft = Draft { writer, heads: tail.end.heads, after: tail.end.after, events: Vec::new() };
    let mut own_names = evidence.to_vec();
    let mut changed: Vec<(Oid, Vec<u8>)> = Vec::new();
    let mut first = first;
    let (target, bytes) = if begins_segment {
        draft.add(LedgerSegment { incident: incident.clone() })?;
        let segment_event = draft.events.remove(0);
        let anchor = write_line(repo, &segment_event.raw)?;
        own_names.push(anchor.clone());
        draft.add(LedgerContinued { segment: anchor.clone() })?;
        let continued = draft.events.remove(0);
        first = with_lines(first, &[continued]);
        changed.push((incident.clone(), first.clone()));
        (anchor, Some(with_lines(Vec::new(), &[segment_event])))
    } else {
        match tail.segment {
            None => (incident.clone(), None),
            Some((anchor, bytes)) => (anchor, Some(bytes)),
        }
    };
    let value = build(&mut draft)?;
    if draft.events.is_empty() {
        return Ok(Appended { incident: incident.clone(), value });
    }
    if !own_names.is_empty() {
        store_own_names(repo, writer, &own_names)?;
    }
    let subject = summary(incident, &draft.events);
    changed.push((target, with_lines(bytes.unwrap_or(first), &draft.events)));
    write_notes(repo, writer, changed, &subject)?;
    Ok(Appended { incident: incident.clone(), value })
}

/// The whole ledger of an incident, with its segments.
///
/// # Errors
/// No such incident; an object is not here.
pub fn load(repo: &Repo, incident: &Oid) -> Result<Ledger> {
    let first = read(repo, LEDGER.notes, incident)?;
    if first.is_empty() {
        return Err(no_such_incident(incident.as_str()));
    }
    Ok(segments::load(repo, incident, &first))
}

/// The lines of an incident's ledger as they stand, its segments' behind those of its first note.
///
/// # Errors
/// No such incident; an object is not here.
pub fn text(repo: &Repo, incident: &Oid) -> Result<Vec<u8>> {
    let first = read(repo, LEDGER.notes, incident)?;
    if first.is_empty() {
        return Err(no_such_incident(incident.as_str()));
    }
    let rest = segments::texts(repo, incident, &first);
    Ok([vec![first], rest].concat().concat())
}

/// An incident, folded.
///
/// # Errors
/// No such incident; an object is not here.
pub fn incident(repo: &Repo, id: &Oid) -> Result<Incident> {
    let incident = load(repo, id)?.incident(id, &|raw| is_anchor(id, raw));
    if incident.opened.is_none() {
        return Err(Error::refused(format!("{} is no incident", id.short()))
            .because("its note holds no opening event that can be read")
            .hint(format!("look at it with: git notes --ref=incidents show {id}")));
    }
    Ok(incident)
}

/// The incidents of a repository, and what could not be read among its ledgers.
#[derive(Default)]
pub struct All {
    /// The incidents, in the order of their ids.
    pub incidents: Vec<Incident>,
    /// Notes that are here by name and cannot be read: damaged, missing, or larger than any ledger is.
    pub unread: Vec<(Oid, Error)>,
}

/// Every incident of the repository, in the order of their ids. What cannot be read is left out.
///
/// # Errors
/// As [`everything`].
pub fn all(repo: &Repo) -> Result<Vec<Incident>> {
    everything(repo).map(|all| all.incidents)
}

/// Every incident, and what could not be read.
///
/// # Errors
/// The ref cannot be read; none of its notes can.
pub fn everything(repo: &Repo) -> Result<All> {
    let Some(commit) = refs::read(repo, LEDGER.notes)? else {
        return Ok(All::default());
    };
    let mut incidents = Vec::new();
    let unread = each(repo, &commit, &mut |incident| {
        incidents.push(incident);
        Ok(())
    })?;
    incidents.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(All { incidents, unread })
}

/// Hands over every incident of a commit of the ledgers, in no order to be relied on, and returns what could not be
/// read.
///
/// # Errors
/// The commit cannot be read; none of its notes can; whatever `found` refuses.
pub(super) fn each(
    repo: &Repo,
    commit: &Oid,
    found: &mut dyn FnMut(Incident) -> Result<()>,
) -> Result<Vec<(Oid, Error)>> {
    let tree = notes::tree_of(repo, commit)?;
    let mut notes_of: BTreeMap<Oid, Vec<Oid>> = BTreeMap::new();
    for (key, blob) in notes::entries(repo, &tree)? {
        notes_of.entry(key).or_default().push(blob);
    }
    let count = notes_of.len();
    let mut unread: Vec<(Oid, Error)> = Vec::new();
    let mut fold = |key: &Oid, first: Result<Vec<u8>>| match first {
        Ok(first) => of_note(repo, key, &first).map_or(Ok(()), &mut *found),
        Err(error) => {
            unread.push((key.clone(), error));
            Ok(())
        }
    };
    if count < bulk::WORTH_A_PROCESS {
        let blobs: Vec<Oid> = notes_of.values().flatten().cloned().collect();
        partial::ensure(repo, &blobs)?;
        for (key, blobs) in &notes_of {
            fold(key, union_of(repo, blobs))?;
        }
    } else {
        // A key stands at one depth; the few that some other program left at several are united by themselves.
        let (single, several): (Vec<_>, Vec<_>) =
            notes_of.into_iter().partition(|(_, blobs)| blobs.len() == 1);
        let blobs: Vec<Oid> = single.iter().flat_map(|(_, blobs)| blobs.iter().cloned()).collect();
        bulk::read_blobs(repo, &blobs, |i, bytes| {
            fold(&single[i].0, bytes.and_then(|bytes| bearable(&blobs[i], bytes)))
        })?;
        for (key, blobs) in &several {
            fold(key, union_of(repo, blobs))?;
        }
    }
    // One bad note hides no other. When all are bad, as in a clone without blobs, that is the answer.
    if unread.len() == count
        && let Some((_, error)) = unread.pop()
    {
        return Err(error);
    }
    Ok(unread)
}

/// The incident whose ledger a note begins; `None` when it begins none.
pub(super) fn of_note(repo: &Repo, key: &Oid, first: &[u8]) -> Option<Incident> {
    if !may_be_incident(first) {
        return None;
    }
    let incident = segments::load(repo, key, first).incident(key, &|raw| is_anchor(key, raw));
    incident.opened.is_some().then_some(incident)
}

/// A cheap look at a note before it is read: records and segments are no incidents.
fn may_be_incident(bytes: &[u8]) -> bool {
    const OPENED: &[u8] = b"\"type\":\"incident.opened\"";
    memchr::memmem::find(bytes, OPENED).is_some()
}

/// Whether a line is the anchor of that name.
pub fn is_anchor(id: &Oid, raw: &[u8]) -> bool {
    let mut bytes = Vec::with_capacity(raw.len() + 1);
    bytes.extend_from_slice(raw);
    bytes.push(b'\n');
    Repo::blob_name(&bytes).is_ok_and(|name| name == *id)
}

/// The incidents whose id begins with some digits.
///
/// # Errors
/// An object is not here.
pub fn with_prefix(repo: &Repo, prefix: &str) -> Result<Vec<Oid>> {
    let Some(commit) = refs::read(repo, LEDGER.notes)? else {
        return Ok(Vec::new());
    };
    let tree = notes::tree_of(repo, &commit)?;
    let mut found = Vec::new();
    for key in notes::keys_with_prefix(repo, &tree, prefix)? {
        // What cannot be read counts too: whoever names it is told why.
        if union_of(repo, &notes::lookup(repo, &tree, &key)?).is_ok_and(|bytes| !may_be_incident(&bytes)) {
            continue;
        }
        found.push(key);
    }
    Ok(found)
}

/// Of some notes those of incidents that link commits, segments counted for their incidents.
///
/// # Errors
/// An object is not here.
pub fn incidents_with_links(repo: &Repo, keys: &[Oid]) -> Result<Vec<Oid>> {
    let Some(commit) = refs::read(repo, LEDGER.notes)? else {
        return Ok(Vec::new());
    };
    let tree = notes::tree_of(repo, &commit)?;
    let mut places: Vec<(&Oid, Oid)> = Vec::with_capacity(keys.len());
    for key in keys {
        places.extend(notes::lookup(repo, &tree, key)?.into_iter().map(|blob| (key, blob)));
    }
    let blobs: Vec<Oid> = places.iter().map(|(_, blob)| blob.clone()).collect();
    let mut found = Vec::new();
    super::tombstones::read_all(repo, &blobs, |i, bytes| {
        let has = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
        if has("\"type\":\"ledger.segment\"") {
            found.extend(crate::fold::split_lines(bytes).map(line::Line::parse).find_map(|l| {
                match &l.event()?.body {
                    line::Body::Known(Data::LedgerSegment(data)) => Some(data.incident.clone()),
                    _ => None,
                }
            }));
        } else if has("\"type\":\"commit.linked\"") || has("\"type\":\"ledger.continued\"") {
            found.push(places[i].0.clone());
        }
        Ok(())
    })?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn no_such_incident(id: &str) -> Error {
    Error::refused(format!("there is no incident {id} here")).hint("list them with: git incident list")
}

fn write_line(repo: &Repo, raw: &[u8]) -> Result<Oid> {
    let mut bytes = raw.to_vec();
    bytes.push(b'\n');
    repo.write_blob(&bytes)
}

/// Appends events to a note's bytes; what stands there stays as it is, byte for byte.
fn with_lines(mut bytes: Vec<u8>, events: &[Event]) -> Vec<u8> {
    if bytes.last().is_some_and(|b| *b != b'\n') {
        bytes.push(b'\n');
    }
    for event in events {
        bytes.extend_from_slice(&event.raw);
        bytes.push(b'\n');
    }
    bytes
}

fn summary(incident: &Oid, events: &[Event]) -> String {
    match events {
        [one] => format!("{} {}", one.type_name, incident.short()),
        many => format!("{} events {}", many.len(), incident.short()),
    }
}

/// Stores blobs in the evidence ref under their own names. Call with the writer lock held.
///
/// # Errors
/// The repository cannot be written.
pub fn store_own_names(repo: &Repo, writer: &Writer<'_>, blobs: &[Oid]) -> Result<()> {
    for _ in 0..guard::ATTEMPTS {
        guard::mend_locked(repo, EVIDENCE, &writer.signature)?;
        let kept = refs::read(repo, EVIDENCE.kept)?;
        let tree = kept.as_ref().map(|c| notes::tree_of(repo, c)).transpose()?;
        let mut new = Vec::new();
        for blob in blobs {
            let there = match &tree {
                Some(tree) => !notes::lookup(repo, tree, blob)?.is_empty(),
                None => false,
            };
            if !there {
                new.push(notes::Change { key: blob.clone(), blob: Some(blob.clone()) });
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let message = format!("evidence: {} objects\n", new.len());
        let new_tree = notes::apply(repo, tree.as_ref(), new)?;
        let parents: Vec<Oid> = kept.iter().cloned().collect();
        let commit = notes::commit(repo, &new_tree, &parents, &writer.signature, &message)?;
        if guard::publish(repo, EVIDENCE, &commit, kept.as_ref())? == Swap::Done {
            return Ok(());
        }
    }
    Err(guard::busy(EVIDENCE))
}

/// Writes whole notes of the ledger ref. Call with the writer lock held, after mending.
///
/// # Errors
/// The repository cannot be written.
pub fn write_notes(
    repo: &Repo,
    writer: &Writer<'_>,
    contents: Vec<(Oid, Vec<u8>)>,
    subject: &str,
) -> Result<()> {
    let mut changes = Vec::with_capacity(contents.len());
    for (key, bytes) in contents {
        changes.push(notes::Change { key, blob: Some(repo.write_blob(&bytes)?) });
    }
    // On the kept ref, which nobody else moves: git may have taken events out of the notes ref since it was mended.
    let kept = refs::read(repo, LEDGER.kept)?;
    let tree = kept.as_ref().map(|c| notes::tree_of(repo, c)).transpose()?;
    let new_tree = notes::apply(repo, tree.as_ref(), changes)?;
    let parents: Vec<Oid> = kept.iter().cloned().collect();
    let commit = notes::commit(repo, &new_tree, &parents, &writer.signature, &format!("{subject}\n"))?;
    if guard::publish(repo, LEDGER, &commit, kept.as_ref())? == Swap::Raced {
        // A git command moved the notes ref in this instant. The kept ref has our events, so they are safe: whatever
        // keeps us from uniting the two now, the next command does it.
        let _ = guard::mend_locked(repo, LEDGER, &writer.signature);
    }
    Ok(())
}
