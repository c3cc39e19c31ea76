//! The notes of the ledger ref: what each is, and its lines.

use std::borrow::Cow;

use crate::event::{Data, Line, line};
use crate::fold::Ledger;
use crate::git::examine::Stored;
use crate::git::repo::from_git;
use crate::git::{Repo, bulk};
use crate::model::{EventId, Oid, Result};

use super::super::ledger::is_anchor;
use super::super::records::{Descriptor, Record};
use super::super::segments::is_segment_of;
use super::super::travelling::{LEDGER, union_of_lines};
use super::{Check, MAX_NOTE, Problem};

/// Notes are read in groups of so many.
const GROUP: usize = 4096;

/// A larger note is read alone.
const SMALL: u64 = 64 << 10;

/// Of the damaged lines of a note so many are told.
pub(super) const MAX_DAMAGED: usize = 20;

/// What stands in a note, line by line.
pub(super) struct Note {
    pub(super) key: Oid,
    /// Events, in the order of their lines.
    pub(super) lines: Vec<Line>,
    /// The line number of each event.
    pub(super) at: Vec<usize>,
    pub(super) damaged: Damaged,
    pub(super) other_versions: Vec<(usize, u64)>,
    pub(super) other_versions_count: usize,
    /// The descriptor's line, when it is here: whether it belongs under this key.
    pub(super) descriptor: Option<(Descriptor, bool)>,
    pub(super) records: Vec<(usize, Record, Vec<u8>)>,
}

/// Damaged lines, bounded.
#[derive(Default)]
pub(super) struct Damaged {
    pub(super) count: usize,
    /// Line number, why, and the id it claims.
    pub(super) first: Vec<(usize, String, Option<EventId>)>,
}

impl Note {
    /// Reads a note's lines. Only events and records are kept in memory.
    pub(super) fn read(key: &Oid, bytes: &[u8]) -> Self {
        let mut note = Self {
            key: key.clone(),
            lines: Vec::new(),
            at: Vec::new(),
            damaged: Damaged::default(),
            other_versions: Vec::new(),
            other_versions_count: 0,
            descriptor: None,
            records: Vec::new(),
        };
        for (n, raw) in bytes.split(|b| *b == b'\n').enumerate().filter(|(_, raw)| !raw.is_empty()) {
            note.take(n + 1, raw);
        }
        note
    }

    fn take(&mut self, n: usize, raw: &[u8]) {
        match Line::parse(raw) {
            line @ Line::Event(_) => {
                self.lines.push(line);
                self.at.push(n);
            }
            Line::OtherVersion { version, .. } => {
                self.other_versions_count += 1;
                if self.other_versions.len() < MAX_DAMAGED {
                    self.other_versions.push((n, version));
                }
            }
            Line::Damaged { reason, .. } => {
                if raw.len() <= line::MAX_LINE_BYTES && raw.first() == Some(&b'{') {
                    if let Ok(descriptor) = serde_json::from_slice::<Descriptor>(raw) {
                        let own = is_anchor(&self.key, raw);
                        // The one that belongs here wins over any other.
                        if own || self.descriptor.is_none() {
                            self.descriptor = Some((descriptor, own));
                        }
                        return;
                    }
                    if let Ok(record) = serde_json::from_slice::<Record>(raw)
                        && record.v == 1
                    {
                        self.records.push((n, record, raw.to_vec()));
                        return;
                    }
                }
                self.damaged.count += 1;
                if self.damaged.first.len() < MAX_DAMAGED {
                    self.damaged.first.push((n, reason, claimed_id(raw)));
                }
            }
        }
    }

    /// Whether it is a ledger's segment, and of which incident.
    fn segment_of(&self) -> Option<Oid> {
        let named = self.lines.iter().filter_map(Line::event).find_map(|e| match &e.body {
            line::Body::Known(Data::LedgerSegment(data)) => Some(data.incident.clone()),
            _ => None,
        })?;
        is_segment_of(&named, &self.key, &self.lines).then_some(named)
    }
}

/// The id that a line claims to have, found by its place: a damaged line need not be JSON.
fn claimed_id(raw: &[u8]) -> Option<EventId> {
    let at = memchr::memmem::find(raw, b"\"id\":\"")? + 6;
    EventId::parse(std::str::from_utf8(raw.get(at..at + 64)?).ok()?)
}

impl Check<'_> {
    /// Every note of the ledger ref.
    pub(super) fn notes(&mut self) -> Result<()> {
        let ledger = std::mem::take(&mut self.ledger);
        for group in ledger.chunk_by(|a, b| a.0 == b.0).collect::<Vec<_>>().chunks(GROUP) {
            self.group(group)?;
        }
        if self.wanted.is_none() {
            let orphans: Vec<Oid> = self.segments.difference(&self.named_segments).cloned().collect();
            for segment in orphans {
                let text = "it is a segment that no ledger names: its events do not count";
                self.tell(Problem::warning("segment", LEDGER.notes, text).key(&segment));
            }
        }
        Ok(())
    }

    /// A few thousand notes. The small ones that stand at one depth are read in one go.
    fn group(&mut self, group: &[&[(git2::Oid, git2::Oid)]]) -> Result<()> {
        let mut together: Vec<(Oid, Oid)> = Vec::new();
        for entries in group {
            let Some((key, blob)) = entries.first().copied() else { continue };
            let key = from_git(key);
            if !self.is_wanted(&key) {
                continue;
            }
            if entries.len() == 1 && matches!(self.objects.look(blob), Stored::Blob(size) if size <= SMALL) {
                together.push((key, from_git(blob)));
                continue;
            }
            let blobs: Vec<git2::Oid> = entries.iter().map(|(_, blob)| *blob).collect();
            if let Some(bytes) = self.read_note(&key, &blobs) {
                self.one(&key, &bytes)?;
            }
        }
        if together.len() < bulk::WORTH_A_PROCESS {
            for (key, blob) in together {
                let bytes = self.repo.blob(&blob);
                self.one_read(&key, bytes)?;
            }
            return Ok(());
        }
        let blobs: Vec<Oid> = together.iter().map(|(_, blob)| blob.clone()).collect();
        let repo = self.repo;
        bulk::read_blobs(repo, &blobs, |i, bytes| self.one_read(&together[i].0, bytes))
    }

    /// The bytes of a note that may be large, missing, or no blob at all; `None` after telling so.
    pub(super) fn read_note(&mut self, key: &Oid, blobs: &[git2::Oid]) -> Option<Vec<u8>> {
        let mut texts = Vec::with_capacity(blobs.len());
        let mut total = 0;
        for blob in blobs {
            match self.objects.look(*blob) {
                Stored::Blob(size) => {
                    total += size;
                    if total > MAX_NOTE {
                        let text = format!("its note has {size} bytes: more than {MAX_NOTE} are not read");
                        if self.is_known_anchor(key) {
                            // An incident of ours, whatever else somebody wrote into its note.
                            self.tell(Problem::error("note-size", LEDGER.notes, text).key(key));
                            return None;
                        }
                        self.tell(
                            Problem::error("note-size", LEDGER.notes, text.clone()).key(key).repairable(),
                        );
                        self.move_aside(key, text);
                        return None;
                    }
                    match self.repo.blob(&from_git(*blob)) {
                        Ok(text) => texts.push(text),
                        Err(error) => {
                            self.unreadable(key, &error);
                            return None;
                        }
                    }
                }
                Stored::Missing if self.partial => {
                    let text = "its note was not fetched (partial clone): `git incident show` fetches it";
                    self.tell(Problem::note("not-fetched", LEDGER.notes, text).key(key));
                    return None;
                }
                Stored::Missing => {
                    let text = format!("the blob {blob} of its note is not here");
                    self.tell(Problem::error("note-missing", LEDGER.notes, text).key(key));
                    return None;
                }
                Stored::Other(kind) => {
                    let text = format!("its note is a {kind}, no blob");
                    self.tell(Problem::error("note", LEDGER.notes, text.clone()).key(key).repairable());
                    self.move_aside(key, text);
                    return None;
                }
                Stored::Damaged(why) => {
                    let text = format!("its note cannot be read: {why}");
                    self.tell(Problem::error("note-missing", LEDGER.notes, text).key(key));
                    return None;
                }
            }
        }
        Some(if texts.len() == 1 { texts.remove(0) } else { union_of_lines(&texts) })
    }

    /// A note whose bytes may turn out to be damaged only when they are read.
    fn one_read(&mut self, key: &Oid, bytes: Result<Vec<u8>>) -> Result<()> {
        match bytes {
            Ok(bytes) => self.one(key, &bytes),
            Err(error) => {
                self.unreadable(key, &error);
                Ok(())
            }
        }
    }

    fn unreadable(&mut self, key: &Oid, error: &crate::model::Error) {
        let text = format!("its note cannot be read: {error}");
        self.tell(Problem::error("note-missing", LEDGER.notes, text).key(key));
    }

    /// Whether a key names an event with which a ledger or a segment begins, and which is here.
    fn is_known_anchor(&self, key: &Oid) -> bool {
        self.small_blob(key).is_some_and(|bytes| {
            let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            matches!(Line::parse(line), Line::Event(_)) && is_anchor(key, line)
        })
    }

    fn move_aside(&mut self, key: &Oid, reason: impl Into<Cow<'static, str>>) {
        if let Ok(id) = crate::git::repo::to_git(key) {
            self.aside_notes(LEDGER, id, reason);
        }
    }

    fn one(&mut self, key: &Oid, bytes: &[u8]) -> Result<()> {
        let note = Note::read(key, bytes);
        if !note.lines.is_empty() {
            if note.segment_of().is_some() {
                self.anchor_of(&note, "ledger.segment");
                self.segments.insert(key.clone());
                return Ok(());
            }
            return self.ledger_note(note);
        }
        if note.descriptor.is_some() || !note.records.is_empty() {
            self.record_note(&note);
        } else if note.other_versions_count > 0 {
            self.damaged_lines(&note, None, &|_| false);
        } else if !self.first_line_is_anchored(key, "incident.opened") {
            let text = "its note is neither a ledger nor a segment nor records: no line of it can be read";
            self.tell(Problem::error("note", LEDGER.notes, text).key(key).repairable());
            self.move_aside(key, text);
        }
        Ok(())
    }

    /// A note that holds events.
    fn ledger_note(&mut self, note: Note) -> Result<()> {
        let key = note.key.clone();
        let ledger = Ledger::from_lines(note.lines.clone());
        let incident = ledger.incident(&key, &|raw| is_anchor(&key, raw));
        if incident.opened.is_some() {
            drop((ledger, incident));
            return self.incident(note);
        }
        self.damaged_lines(&note, Some(&key), &|_| false);
        if !self.first_line_is_anchored(&key, "incident.opened") {
            let text = "its events do not say which incident they are of: the opening event is not here";
            self.tell(Problem::error("anchor", LEDGER.notes, text).key(&key).of(&key));
        }
        Ok(())
    }

    /// When the anchor's blob is here and is an opening event: plans to add its line, which the ledger has lost.
    fn first_line_is_anchored(&mut self, key: &Oid, type_name: &str) -> bool {
        let Some(bytes) = self.small_blob(key) else { return false };
        let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let opens = matches!(Line::parse(line), Line::Event(e) if e.type_name == type_name);
        if opens && is_anchor(key, line) {
            let text = "the ledger has lost its first event, which its anchor still holds";
            self.tell(Problem::error("anchor", LEDGER.notes, text).key(key).of(key).repairable());
            self.plan.add_lines.insert(key.clone(), line.to_vec());
            return true;
        }
        false
    }

    /// A blob no larger than a line may be.
    pub(super) fn small_blob(&self, oid: &Oid) -> Option<Vec<u8>> {
        let id = crate::git::repo::to_git(oid).ok()?;
        let small = matches!(self.objects.look(id), Stored::Blob(n) if n <= line::MAX_LINE_BYTES as u64 + 1);
        if small { self.repo.blob(oid).ok() } else { None }
    }

    /// Tells of the lines that are no events of version 1. `is_here`: whether an event stands there whole.
    pub(super) fn damaged_lines(
        &mut self,
        note: &Note,
        incident: Option<&Oid>,
        is_here: &dyn Fn(&EventId) -> bool,
    ) {
        let finish = |problem: Problem, n: usize| {
            let problem = problem.key(&note.key).line(n);
            if let Some(incident) = incident { problem.of(incident) } else { problem }
        };
        for (n, version) in &note.other_versions {
            let text = format!("a line of format version {version}: kept, not understood");
            self.tell(finish(Problem::note("version", LEDGER.notes, text), *n));
        }
        for (n, reason, claimed) in &note.damaged.first {
            let problem = match claimed {
                Some(id) if is_here(id) => {
                    let text =
                        format!("a damaged copy of event {}, which is here whole: {reason}", id.short());
                    Problem::warning("line", LEDGER.notes, text)
                }
                Some(_) if reason.starts_with("its id is ") => {
                    let text = format!(
                        "the event was altered after it was written: {reason}; it is kept as it stands"
                    );
                    Problem::error("event-id", LEDGER.notes, text)
                }
                _ => {
                    let text = format!("a damaged line: {reason}; it is kept as it stands");
                    Problem::warning("line", LEDGER.notes, text)
                }
            };
            self.tell(finish(problem, *n));
        }
        let more = note.damaged.count.saturating_sub(note.damaged.first.len());
        if more > 0 {
            let text = format!("{more} more damaged lines");
            let problem = Problem::warning("line", LEDGER.notes, text).key(&note.key);
            self.tell(if let Some(incident) = incident { problem.of(incident) } else { problem });
        }
    }

    /// The first event of a ledger or segment, as an object of its own that the evidence ref holds.
    pub(super) fn anchor_of(&mut self, note: &Note, type_name: &str) {
        let anchor = note
            .lines
            .iter()
            .filter_map(Line::event)
            .filter(|e| e.type_name == type_name)
            .find(|e| is_anchor(&note.key, &e.raw));
        let what = if type_name == "ledger.segment" { "segment" } else { "incident" };
        let Some(anchor) = anchor else {
            let text =
                format!("the {what}'s first event was erased, so nothing tells its anchor's name any more");
            self.tell(Problem::note("anchor", LEDGER.notes, text).key(&note.key));
            return;
        };
        let mut bytes = anchor.raw.clone();
        bytes.push(b'\n');
        self.noted_under_own_name(&note.key, bytes, "anchor");
    }

    /// An anchor or a descriptor must be an object, and stand in the evidence ref.
    pub(super) fn noted_under_own_name(&mut self, key: &Oid, bytes: Vec<u8>, check: &'static str) {
        let Ok(id) = crate::git::repo::to_git(key) else { return };
        let absent = self.absent.remove(&id);
        let why = if !self.evidence.contains(&id) {
            "is not noted in the evidence ref, so `git notes prune` elsewhere may drop the note"
        } else if absent && !self.partial {
            "is no object here"
        } else {
            return;
        };
        let reference = super::super::travelling::EVIDENCE.notes;
        self.tell(Problem::error(check, reference, format!("the {check} {why}")).key(key).repairable());
        self.plan.restore.insert(key.clone(), bytes);
    }
}

/// The name of a line's blob.
pub(super) fn name_of(line: &[u8]) -> Option<Oid> {
    let mut bytes = line.to_vec();
    bytes.push(b'\n');
    Repo::blob_name(&bytes).ok()
}
