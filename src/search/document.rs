//! What is looked through: a document for each incident and for each attempt, made of what the ledger says.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::concepts::concepts;
use super::query::{path_tag, tag};
use super::similar::Profile;
use super::words::terms;
use super::{fingerprint, patch};
use crate::model::incident::{Attempt, Author, Incident, Note};
use crate::model::{EventId, Oid, Timestamp, command_line};

/// So much of a field is looked through; what stands behind it is shown by `show` alone.
const LONGEST_FIELD: usize = 32 * 1024;
/// So many paths and stored files of an attempt are looked at.
const MOST_PATHS: usize = 256;
const MOST_SOURCES: usize = 16;

/// The sign before a concept, which no word of a text can hold either.
const CONCEPT: char = '\u{a4}';

/// A document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// The attempt; `None` for the incident itself.
    pub attempt: Option<EventId>,
    /// The attempt's number, from 1; 0 for the incident itself.
    pub ordinal: usize,
    /// When it began.
    pub at: Timestamp,
    /// Its texts: what each is, and the text. An attempt has its incident's title as `of`.
    pub fields: Vec<(String, String)>,
    /// Marks that filters ask for.
    pub tags: BTreeSet<String>,
    /// Fingerprints of the errors that were seen.
    pub prints: BTreeSet<i64>,
}

/// Where more is said than in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A stored patch.
    Patch(Oid),
    /// A stored log.
    Log(Oid),
    /// A commit.
    Commit(Oid),
}

impl Source {
    /// Its object.
    pub fn oid(&self) -> &Oid {
        match self {
            Self::Patch(oid) | Self::Log(oid) | Self::Commit(oid) => oid,
        }
    }
}

/// What a source says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Files it touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Fingerprints of its errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prints: Vec<i64>,
}

impl Facts {
    /// Of a patch.
    pub fn of_patch(bytes: &[u8]) -> Self {
        let paths = patch::parse(bytes).into_iter().map(|f| f.path).take(MOST_PATHS).collect();
        Self { paths, prints: Vec::new() }
    }

    /// Of a log.
    pub fn of_log(bytes: &[u8]) -> Self {
        let prints = fingerprint::prints(&String::from_utf8_lossy(bytes));
        Self { paths: Vec::new(), prints: prints.into_iter().map(|p| p.value).collect() }
    }

    /// Of a list of files.
    pub fn of_paths(paths: impl IntoIterator<Item = String>) -> Self {
        Self { paths: paths.into_iter().take(MOST_PATHS).collect(), prints: Vec::new() }
    }
}

/// The sources of an attempt, the newest last.
pub fn sources(incident: &Incident, attempt: &Attempt) -> Vec<Source> {
    let own = Some(attempt.started.event);
    let mut found: Vec<Source> = Vec::new();
    for evidence in incident.evidence.iter().filter(|e| e.attempt == own && !e.erased) {
        let Some(oid) = evidence.oid.clone().filter(|o| !incident.erased_blobs.contains(o)) else { continue };
        match evidence.kind.as_str() {
            "diff" => found.push(Source::Patch(oid)),
            "log" | "capture" => found.push(Source::Log(oid)),
            _ => {}
        }
    }
    let linked = incident.links.iter().filter(|l| l.attempt == own && !l.unlinked);
    found.extend(linked.map(|l| Source::Commit(l.commit.clone())));
    found.truncate(MOST_SOURCES);
    found
}

impl Document {
    fn new(at: Timestamp) -> Self {
        Self { at, ..Self::default() }
    }

    fn field(&mut self, name: &str, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            let mut end = text.len().min(LONGEST_FIELD);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            self.fields.push((name.to_owned(), text[..end].to_owned()));
        }
    }

    fn list<'t>(&mut self, name: &str, texts: impl IntoIterator<Item = &'t str>) {
        let texts: Vec<&str> = texts.into_iter().filter(|t| !t.trim().is_empty()).collect();
        self.field(name, &texts.join("\n"));
    }

    fn author(&mut self, by: Option<&Author>) {
        for text in by.iter().flat_map(|a| [&a.name, &a.email, &a.agent]) {
            self.tags.extend(terms(text).iter().map(|w| tag("author", w)));
        }
    }

    fn machine(&mut self, text: &str) {
        self.tags.extend(terms(text).iter().map(|w| tag("gpu", w)));
    }

    fn path(&mut self, path: &str) {
        let path = path.trim().trim_start_matches("./").trim_matches('/');
        for (at, _) in path.match_indices('/') {
            self.tags.insert(path_tag(&path[..at]));
        }
        if !path.is_empty() {
            self.tags.insert(path_tag(path));
        }
    }

    fn notes(&mut self, notes: &[Note]) {
        let mut texts: Vec<String> = Vec::new();
        for note in notes {
            if !note.text.is_empty() {
                texts.push(note.text.clone());
            }
            if let Some(run) = &note.run {
                texts.push(command_line::join(&run.argv));
                for gpu in
                    run.environment.get("gpus").and_then(Value::as_array).into_iter().flatten().take(64)
                {
                    self.machine(gpu.get("name").and_then(Value::as_str).unwrap_or_default());
                }
            }
        }
        self.list("notes", texts.iter().map(String::as_str));
    }

    /// The text of a field; empty where there is none.
    pub fn text(&self, name: &str) -> &str {
        self.fields.iter().find(|(n, _)| n == name).map_or("", |(_, text)| text)
    }

    /// What an attempt claims, in the ways in which it can be read: for [`super::similar::likeness`].
    pub fn claims(&self) -> Vec<String> {
        let (title, hypothesis, action) = (self.text("title"), self.text("hypothesis"), self.text("action"));
        let mut claims: Vec<String> = Vec::new();
        for claim in [
            hypothesis.to_owned(),
            title.to_owned(),
            // A recorded command is no claim.
            if action.starts_with('`') { String::new() } else { action.to_owned() },
            format!("{title} {hypothesis}"),
        ] {
            let claim = claim.trim();
            if !claim.is_empty() && !claims.iter().any(|c| c == claim) {
                claims.push(claim.to_owned());
            }
        }
        claims
    }

    /// Everything it can be found by, each once: words, concepts, marks.
    pub fn keys(&self) -> BTreeSet<String> {
        let mut keys: BTreeSet<String> = self.tags.clone();
        for (_, text) in &self.fields {
            keys.extend(terms(text));
        }
        if self.attempt.is_some() {
            for claim in self.claims() {
                keys.extend(concepts(&claim).into_iter().map(|(c, _)| concept_key(&c)));
            }
        }
        keys
    }

    /// The number that equal hypotheses share; 0 when there is none.
    pub fn same(&self) -> i64 {
        if self.attempt.is_some() { Profile::of(self.text("hypothesis")).same() } else { 0 }
    }
}

/// The key under which a concept stands.
pub fn concept_key(concept: &str) -> String {
    format!("{CONCEPT}{concept}")
}

/// The mark of every document that is an attempt, or an incident.
pub fn kind_tag(attempt: bool) -> String {
    tag("kind", if attempt { "attempt" } else { "incident" })
}

/// The mark of everything that belongs to an incident.
pub fn incident_tag(incident: &Oid) -> String {
    tag("incident", incident.as_str())
}

/// The documents of an incident: its own first. `facts` reads what a source says.
pub fn documents(incident: &Incident, facts: &mut dyn FnMut(&Source) -> Facts) -> Vec<Document> {
    let mut all = vec![of_incident(incident)];
    if let Some(id) = &incident.id {
        all[0].tags.insert(incident_tag(id));
    }
    let shared: BTreeSet<String> = all[0].tags.iter().filter(|t| inherited(t)).cloned().collect();
    for attempt in &incident.attempts {
        let mut document = of_attempt(incident, attempt);
        document.tags.extend(shared.iter().cloned());
        for source in sources(incident, attempt) {
            let facts = facts(&source);
            for path in facts.paths.iter().take(MOST_PATHS) {
                document.path(path);
            }
            document.prints.extend(facts.prints);
        }
        all.push(document);
    }
    // What an attempt touched, its incident has to do with.
    let touched: BTreeSet<String> = all[1..]
        .iter()
        .flat_map(|d| d.tags.iter().filter(|t| t.starts_with(&tag("path", ""))).cloned())
        .collect();
    all[0].tags.extend(touched);
    all
}

/// Marks of an incident that hold for its attempts as well.
fn inherited(tag_text: &str) -> bool {
    ["status", "label", "gpu", "incident"].iter().any(|key| tag_text.starts_with(&tag(key, "")))
}

fn of_incident(incident: &Incident) -> Document {
    let mut document = Document::new(incident.opened.as_ref().map(|s| s.at).unwrap_or_default());
    document.field("title", &incident.title);
    document.field("ticket", &incident.ticket);
    document.field("symptom", &incident.symptom);
    document.field("environment", &incident.environment);
    let files: Vec<String> = incident.files.iter().map(|f| format!("{} {}", f.path, f.note)).collect();
    document.list("files", files.iter().map(String::as_str));
    document.list("labels", incident.labels.iter().map(String::as_str));
    for cause in &incident.causes {
        document.list("cause", [cause.text.as_str(), &cause.mechanism, &cause.reason]);
    }
    document.field("status", &incident.status_note);
    document.list("gaps", incident.gaps.iter().map(String::as_str));
    let next: Vec<String> = incident.next.iter().map(|n| format!("{} {}", n.text, n.remark)).collect();
    document.list("next", next.iter().map(String::as_str));
    let differences: Vec<String> =
        incident.differences.iter().map(|d| format!("{}: {} | {}", d.factor, d.working, d.broken)).collect();
    document.list("difference", differences.iter().map(String::as_str));
    document.notes(&incident.notes);
    let said = incident.review.iter().filter(|n| n.withdrawn.is_none()).map(|n| n.text.as_str());
    document.list("review", said);
    document.field("repro", &command_line::join(&incident.repro.command));
    document.tags.insert(kind_tag(false));
    document.tags.insert(tag("status", incident.status.as_str()));
    document.tags.extend(incident.labels.iter().map(|l| tag("label", l)));
    document.machine(&incident.environment);
    for gate in &incident.gates {
        document.machine(&gate.device);
    }
    for file in incident.files.iter().take(MOST_PATHS) {
        document.path(&file.path);
    }
    document.author(incident.opened.as_ref().and_then(|s| s.by.as_ref()));
    document
}

fn of_attempt(incident: &Incident, attempt: &Attempt) -> Document {
    let mut document = Document::new(attempt.started.at);
    document.attempt = Some(attempt.started.event);
    document.ordinal = attempt.ordinal;
    document.field("title", &attempt.title);
    document.field("hypothesis", &attempt.hypothesis);
    document.field("disproof", &attempt.disproof);
    document.field("action", &attempt.action);
    document.field("result", &attempt.result);
    document.field("conclusion", &attempt.conclusion);
    document.list("rules out", attempt.rules_out.iter().map(String::as_str));
    document.notes(&attempt.notes);
    document.field("of", &incident.title);
    document.tags.insert(kind_tag(true));
    if attempt.ended.is_some() {
        document.tags.insert(tag("outcome", attempt.outcome.hypothesis.as_str()));
        document.tags.insert(tag("outcome", attempt.outcome.bug.as_str()));
    } else {
        document.tags.insert(tag("outcome", "running"));
    }
    document.author(attempt.started.by.as_ref());
    for note in &attempt.notes {
        document.author(note.stamp.by.as_ref());
    }
    let told = [attempt.result.as_str(), attempt.conclusion.as_str()];
    for text in told.into_iter().chain(attempt.notes.iter().map(|n| n.text.as_str())) {
        document.prints.extend(fingerprint::prints(text).into_iter().map(|p| p.value));
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::incident::Stamp;
    use crate::model::outcome::Outcome;

    fn stamp(n: u8) -> Stamp {
        Stamp { event: EventId::from_bytes([n; 32]), at: Timestamp::from_millis(1000), by: None }
    }

    #[test]
    fn an_attempt_is_found_by_what_it_says_and_by_what_its_incident_is() {
        let mut incident = Incident { opened: Some(stamp(1)), ..Incident::default() };
        incident.title.set("wrong rows".into(), stamp(1).event, &|_| true);
        incident.labels.set(vec!["Flaky".into()], stamp(1).event, &|_| true);
        incident.attempts.push(Attempt {
            ordinal: 1,
            started: stamp(2),
            title: String::new(),
            hypothesis: "a barrier is missing".into(),
            disproof: String::new(),
            action: "`make test`".into(),
            result: "CUDA error: misaligned address at 0x7f00".into(),
            conclusion: String::new(),
            rules_out: vec![],
            outcome: Outcome::default(),
            ended: None,
            reverted: None,
            rivals: crate::model::register::Rivals::default(),
            notes: vec![],
        });
        let all = documents(&incident, &mut |_| Facts::default());
        assert_eq!(all.len(), 2);
        let keys = all[1].keys();
        for key in
            ["barrier", "row", &concept_key("barrier"), &tag("label", "flaky"), &tag("outcome", "running")]
        {
            assert!(keys.contains(key), "{key}: {keys:?}");
        }
        assert_eq!(all[1].claims(), ["a barrier is missing"]);
        assert_eq!(all[1].prints.len(), 1);
        assert_ne!(all[1].same(), 0);
    }
}
