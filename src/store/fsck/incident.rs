//! One incident's ledger: its events among themselves, and what they name.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::event::Line;
use crate::event::line::Body;
use crate::fold::Ledger;
use crate::git::examine::{self, Stored};
use crate::git::repo::to_git;
use crate::git::{notes, refs};
use crate::model::incident::{Evidence, Incident, Link};
use crate::model::{EventId, Oid, Result, Timestamp};

use super::super::ledger::is_anchor;
use super::super::lines;
use super::super::segments::{is_segment_of, segments_in};
use super::super::travelling::{EVIDENCE, LEDGER};
use super::notes::Note;
use super::{Check, MAX_LEDGER, Problem};

/// Where an event's line stands.
type Places = HashMap<EventId, (Oid, usize)>;

impl Check<'_> {
    /// A note that opens an incident.
    pub(super) fn incident(&mut self, first: Note) -> Result<()> {
        let id = first.key.clone();
        self.report.checked.incidents += 1;
        let mut places = Places::new();
        let mut lines: Vec<Line> = Vec::new();
        let mut whole = true;
        let segments = self.segments_of(&first, &mut whole)?;
        self.anchor_of(&first, "incident.opened");
        let here: HashSet<EventId> = std::iter::once(&first)
            .chain(&segments)
            .flat_map(|n| n.lines.iter())
            .filter_map(|l| l.event().map(|e| e.id))
            .collect();
        let mut claimed: HashSet<EventId> = HashSet::new();
        let mut unread = 0;
        for note in std::iter::once(first).chain(segments) {
            self.damaged_lines(&note, Some(&id), &|event| here.contains(event));
            claimed.extend(note.damaged.first.iter().filter_map(|(_, _, claimed)| *claimed));
            unread += note.damaged.count + note.other_versions_count;
            for (line, n) in note.lines.into_iter().zip(note.at) {
                if let Some(event) = line.event() {
                    places.entry(event.id).or_insert_with(|| (note.key.clone(), n));
                }
                lines.push(line);
            }
        }
        let ledger = Ledger::from_lines(lines);
        let incident = ledger.incident(&id, &|raw| is_anchor(&id, raw));
        self.report.checked.events += ledger.events.len();
        if whole {
            self.parents(&id, &ledger, &places, &claimed, unread);
        }
        self.shapes(&id, &ledger, &incident, &places);
        self.evidence_of(&id, &incident);
        self.links_of(&id, &incident);
        for (commit, line) in lines::of_incident(&incident) {
            self.lines.entry(commit).or_default().insert(line);
        }
        Ok(())
    }

    /// The segments that a ledger's first note names. `whole` becomes false when one cannot be read.
    fn segments_of(&mut self, first: &Note, whole: &mut bool) -> Result<Vec<Note>> {
        let named = segments_in(&first.lines);
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let id = &first.key;
        let Some(commit) = refs::read(self.repo, LEDGER.notes)? else { return Ok(Vec::new()) };
        let repo = self.repo;
        let tree = notes::tree_of(repo, &commit)?;
        let mut found = Vec::new();
        let mut bytes_so_far = 0;
        for segment in named {
            self.named_segments.insert(segment.clone());
            let blobs = notes::lookup(repo, &tree, &segment)?;
            if blobs.is_empty() {
                *whole = false;
                let text = format!(
                    "its segment {} is not here, and with it some of its events: fetch the ledgers again",
                    segment.short()
                );
                self.tell(Problem::error("segment", LEDGER.notes, text).key(&segment).of(id));
                continue;
            }
            let blobs = blobs.iter().map(to_git).collect::<Result<Vec<_>>>()?;
            let Some(bytes) = self.read_note(&segment, &blobs) else {
                *whole = false;
                continue;
            };
            bytes_so_far += bytes.len() as u64;
            if bytes_so_far > MAX_LEDGER {
                *whole = false;
                let text = format!("its segments hold more than {MAX_LEDGER} bytes: the rest was not read");
                self.tell(Problem::warning("segment", LEDGER.notes, text).key(&segment).of(id));
                break;
            }
            let note = Note::read(&segment, &bytes);
            if !is_segment_of(id, &segment, &note.lines) {
                *whole = false;
                let text = format!(
                    "the note {} is named as its segment and is none of this incident: its events do not count",
                    segment.short()
                );
                self.tell(Problem::error("segment", LEDGER.notes, text).key(&segment).of(id));
                continue;
            }
            if self.wanted.is_some() {
                // Else it comes by as a note of its own.
                self.anchor_of(&note, "ledger.segment");
            }
            found.push(note);
        }
        Ok(found)
    }

    /// Every parent here, and none newer than its child.
    fn parents(
        &mut self,
        id: &Oid,
        ledger: &Ledger,
        places: &Places,
        claimed: &HashSet<EventId>,
        unread: usize,
    ) {
        let times: HashMap<EventId, Timestamp> = ledger.events.iter().map(|e| (e.id, e.at)).collect();
        let mut absent: BTreeSet<EventId> = BTreeSet::new();
        for event in &ledger.events {
            let place = |problem: Problem| match places.get(&event.id) {
                Some((key, n)) => problem.of(id).key(key).line(*n),
                None => problem.of(id),
            };
            for parent in &event.parents {
                let Some(at) = times.get(parent) else {
                    if !absent.insert(*parent) {
                        continue;
                    }
                    let text =
                        format!("the parent {} of event {} is not here", parent.short(), event.id.short());
                    // Its line may be here, and unreadable: then nothing was lost on the way.
                    let problem = if claimed.contains(parent) || unread > super::notes::MAX_DAMAGED {
                        let text = format!("{text} in a form that can be read");
                        Problem::warning("parent", LEDGER.notes, text)
                    } else {
                        let text = format!("{text}: an event was lost; a clone that has it brings it back");
                        Problem::error("parent", LEDGER.notes, text)
                    };
                    self.tell(place(problem));
                    continue;
                };
                // At the last instant there is, time stands still.
                if event.at <= *at && event.at.millis() < line_end() {
                    let text = format!(
                        "event {} is dated {}, not after its parent {} ({at})",
                        event.id.short(),
                        event.at,
                        parent.short()
                    );
                    self.tell(place(Problem::warning("time", LEDGER.notes, text)));
                }
            }
        }
    }

    /// Events that say nothing to this version.
    fn shapes(&mut self, id: &Oid, ledger: &Ledger, incident: &Incident, places: &Places) {
        let opening = incident.opened.as_ref().map(|s| s.event);
        for event in &ledger.events {
            let problem = match &event.body {
                Body::UnknownType => {
                    let text =
                        format!("an event of a type that this version does not know: {:?}", event.type_name);
                    Problem::note("type", LEDGER.notes, text)
                }
                Body::Malformed(reason) => {
                    let text = format!("a {} event of a shape that has no effect: {reason}", event.type_name);
                    Problem::warning("shape", LEDGER.notes, text)
                }
                _ if event.type_name == "incident.opened" && opening != Some(event.id) => {
                    let text = "an opening event of another ledger: it has no effect here";
                    Problem::warning("opening", LEDGER.notes, text)
                }
                _ => continue,
            };
            let problem = problem.of(id);
            self.tell(match places.get(&event.id) {
                Some((key, n)) => problem.key(key).line(*n),
                None => problem,
            });
        }
    }

    /// Stored files against what the ledger says of them.
    fn evidence_of(&mut self, id: &Oid, incident: &Incident) {
        let mut checked: HashSet<(&Oid, &str)> = HashSet::new();
        for evidence in incident.evidence.iter().filter(|e| !e.erased) {
            if let Some(oid) = &evidence.oid
                && checked.insert((oid, &evidence.sha256))
            {
                self.report.checked.evidence += 1;
                self.one_file(id, evidence, oid);
            }
        }
        for oid in &incident.erased_blobs {
            let Ok(key) = to_git(oid) else { continue };
            self.absent.remove(&key);
            if self.evidence.contains(&key) {
                let text =
                    "it was erased for good and is noted all the same: `git incident purge` takes it out";
                self.tell(Problem::warning("erased", EVIDENCE.notes, text).key(oid).of(id));
            }
        }
    }

    fn one_file(&mut self, id: &Oid, evidence: &Evidence, oid: &Oid) {
        let name = &evidence.name;
        let say = |problem: Problem| problem.key(oid).of(id);
        let Ok(key) = to_git(oid) else {
            let text = format!("{name:?} has a SHA-256 object name, which this repository cannot have");
            self.tell(say(Problem::warning("evidence-missing", EVIDENCE.notes, text)));
            return;
        };
        self.absent.remove(&key);
        match self.objects.look(key) {
            Stored::Blob(size) => {
                if !self.evidence.contains(&key) {
                    let text =
                        format!("{name:?} is here and not noted: it would not travel, and git may drop it");
                    self.tell(say(Problem::error("evidence-key", EVIDENCE.notes, text)).repairable());
                    self.plan.restore.insert(oid.clone(), Vec::new());
                }
                if size != evidence.bytes {
                    let text = format!("{name:?} has {size} bytes, and {} were recorded", evidence.bytes);
                    self.tell(say(Problem::error("evidence-size", EVIDENCE.notes, text)));
                }
                match examine::digest(self.repo, oid, size) {
                    Ok((found, _)) if found == evidence.sha256 => {}
                    Ok((found, _)) => {
                        let text = format!(
                            "{name:?} is not what was recorded: SHA-256 {found}, recorded {}",
                            evidence.sha256
                        );
                        self.tell(say(Problem::error("evidence-digest", EVIDENCE.notes, text)));
                    }
                    Err(error) => {
                        let text = format!("{name:?} cannot be read: {error}");
                        self.tell(say(Problem::error("evidence-missing", EVIDENCE.notes, text)));
                    }
                }
            }
            Stored::Missing if self.partial => self.not_fetched += 1,
            Stored::Missing => {
                let text = format!("the stored file {name:?} is not here");
                self.tell(say(Problem::error("evidence-missing", EVIDENCE.notes, text)));
            }
            Stored::Other(kind) => {
                let text = format!("{name:?} names a {kind}, no blob");
                self.tell(say(Problem::error("evidence-missing", EVIDENCE.notes, text)));
            }
            Stored::Damaged(why) => {
                let text = format!("{name:?} cannot be read: {why}");
                self.tell(say(Problem::error("evidence-missing", EVIDENCE.notes, text)));
            }
        }
    }

    /// Links: whether the commits are here and are what was linked.
    fn links_of(&mut self, id: &Oid, incident: &Incident) {
        let links: Vec<&Link> = incident.links.iter().filter(|l| !l.unlinked).collect();
        for link in links {
            self.report.checked.links += 1;
            let say = |problem: Problem| problem.key(&link.commit).of(id);
            match self.repo.tree_of(&link.commit) {
                Ok(tree) => {
                    if let Some(recorded) = link.tree.as_ref().filter(|t| **t != tree) {
                        let text = format!(
                            "the commit's tree is {}, and {} was recorded with the link",
                            tree.short(),
                            recorded.short()
                        );
                        self.tell(say(Problem::error("link", LEDGER.notes, text)));
                    }
                }
                Err(_) if self.shallow => self.beyond += 1,
                Err(_) => {
                    let text = format!(
                        "the {} commit {} is not here: it was rewritten, dropped, or never fetched",
                        link.role,
                        link.commit.short()
                    );
                    self.tell(say(Problem::warning("link", LEDGER.notes, text)));
                }
            }
        }
    }
}

/// The last millisecond that a time can name.
fn line_end() -> i64 {
    Timestamp::from_millis(i64::MAX).millis()
}
