//! Was this tried before? The index names attempts; what they were, and whether the code has changed since, is read
//! from the ledgers and from HEAD.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::Session;
use crate::git::diff;
use crate::model::incident::{Attempt, Incident};
use crate::model::outcome::Bug;
use crate::model::{Error, EventId, Oid, Result, Timestamp};
use crate::search::document::{Source, sources};
use crate::search::patch::{self, Touched};
use crate::search::{fingerprint, similar};
use crate::store::index::{Claim, Index, Patience, patch as patch_of};

/// Errors that share less than this are not the same trouble.
const SAME_ERROR: f64 = 0.34;
/// Patches that share less than this share files, not changes.
const SAME_PATCH: f64 = 0.35;
/// So many patches are compared line by line.
const MOST_PATCHES: usize = 80;

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// A hypothesis.
    pub text: Option<String>,
    /// A log with errors.
    pub errors: Option<String>,
    /// The changes in the working tree.
    pub diff: bool,
    /// Files or folders; alone they are the question, else they restrict it.
    pub paths: Vec<String>,
    /// How many answers are wanted.
    pub limit: usize,
    /// Somebody is about to do something else and does not want to wait.
    pub in_passing: bool,
}

/// An attempt that was made before.
#[derive(Debug, Clone)]
pub struct Tried {
    /// Its incident.
    pub incident: Incident,
    /// The attempt.
    pub attempt: Attempt,
    /// How alike, from 0 to 1.
    pub score: f64,
    /// By what it was found: `words`, `error`, `diff`, `path`.
    pub by: Vec<&'static str>,
    /// Whether the code it touched has changed since; `None` when nobody can tell.
    pub changed_since: Option<bool>,
    /// The files of it that have.
    pub changed: Vec<String>,
    /// The files it touched.
    pub touched: Vec<String>,
}

impl Tried {
    /// Whether it ended and did not fix the bug.
    pub fn did_not_fix(&self) -> bool {
        self.attempt.ended.is_some() && self.attempt.outcome.bug != Bug::Fixed
    }
}

impl Session {
    /// The attempts that answer a question, the most alike first; `None` when there is no index yet and nobody wants
    /// to wait for it.
    ///
    /// # Errors
    /// A text without a word in it; ledgers that cannot be read.
    pub fn tried(&self, question: &Question) -> Result<Option<Vec<Tried>>> {
        if question.text.as_deref().is_some_and(|text| similar::Profile::of(text).is_empty()) {
            return Err(Error::usage("the text holds no word to look for")
                .hint("say what might help, and where: git incident tried \"the last tile is not masked\""));
        }
        let patience = if question.in_passing { Patience::Short } else { Patience::Endless };
        let changes = if question.diff { patch::parse(&diff::dirty_diff(&self.git())?) } else { Vec::new() };
        let prints: Vec<i64> = question
            .errors
            .as_deref()
            .map(|log| fingerprint::prints(log).into_iter().map(|p| p.value).collect())
            .unwrap_or_default();
        let paths = &question.paths;
        let limit = question.limit;
        let only_paths = question.text.is_none() && question.errors.is_none() && !question.diff;
        let find = |index: &Index| -> Result<Vec<(&'static str, Claim)>> {
            let mut claims: Vec<(&'static str, Claim)> = Vec::new();
            if let Some(text) = &question.text {
                let alike = index.alike(text, similar::MATCH, paths, limit)?;
                claims.extend(alike.into_iter().map(|c| ("words", c)));
            }
            if !prints.is_empty() {
                let same = index.with_errors(&prints, paths, limit)?;
                claims.extend(same.into_iter().filter(|c| c.score >= SAME_ERROR).map(|c| ("error", c)));
            }
            if !changes.is_empty() {
                let files: Vec<String> = changes.iter().map(|f| f.path.clone()).collect();
                let near = index.touching(&files, MOST_PATCHES)?;
                claims.extend(near.into_iter().map(|c| ("diff", c)));
            }
            if only_paths {
                claims.extend(index.touching(paths, limit)?.into_iter().map(|c| ("path", c)));
            }
            Ok(claims)
        };
        let Some(claims) = self.ask(patience, &find)? else { return Ok(None) };
        let began = Instant::now();
        let mut incidents: BTreeMap<Oid, Option<Incident>> = BTreeMap::new();
        let mut found: BTreeMap<(Oid, EventId), (Timestamp, f64, Vec<&'static str>)> = BTreeMap::new();
        for (by, mut claim) in claims {
            if by == "diff" {
                let incident = incidents
                    .entry(claim.incident.clone())
                    .or_insert_with(|| self.incident(&claim.incident).ok());
                let Some(incident) = incident else { continue };
                let Some(attempt) = incident.attempt(claim.attempt) else { continue };
                let theirs: Vec<Touched> =
                    sources(incident, attempt).iter().flat_map(|s| patch_of(&self.repo, s)).collect();
                let inside =
                    paths.is_empty() || theirs.iter().any(|f| paths.iter().any(|p| is_below(&f.path, p)));
                claim.score = patch::likeness(&changes, &theirs);
                if claim.score < SAME_PATCH || !inside {
                    continue;
                }
            }
            let slot = found.entry((claim.incident, claim.attempt)).or_insert((claim.at, 0.0, Vec::new()));
            slot.1 = slot.1.max(claim.score);
            if !slot.2.contains(&by) {
                slot.2.push(by);
            }
        }
        let mut order: Vec<_> = found.into_iter().collect();
        order.sort_by(|(a, x), (b, y)| y.1.total_cmp(&x.1).then(y.0.cmp(&x.0)).then(a.cmp(b)));
        let mut all = Vec::new();
        for ((id, attempt), (_, score, by)) in order.into_iter().take(limit) {
            let incident = incidents.entry(id.clone()).or_insert_with(|| self.incident(&id).ok());
            let Some(incident) = incident else { continue };
            let Some(attempt) = incident.attempt(attempt) else { continue };
            // In passing, what takes long is left out: whether the code has changed can be asked later.
            let hurry = question.in_passing && began.elapsed().as_millis() > 100;
            let change = if hurry { Change::default() } else { self.change_since(incident, attempt) };
            all.push(Tried {
                attempt: attempt.clone(),
                incident: incident.clone(),
                score: (score * 1000.0).round() / 1000.0,
                by,
                changed_since: change.known.then_some(!change.changed.is_empty()),
                changed: change.changed,
                touched: change.touched,
            });
        }
        Ok(Some(all))
    }

    /// Whether the files of an attempt stand at HEAD as they stood in it.
    fn change_since(&self, incident: &Incident, attempt: &Attempt) -> Change {
        let Ok(Some(head)) = self.repo.head_commit() else { return Change::default() };
        let Some(now) = Files::of(self, &head) else { return Change::default() };
        let mut then: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for source in sources(incident, attempt) {
            if matches!(source, Source::Log(_)) {
                continue;
            }
            for file in patch_of(&self.repo, &source) {
                then.entry(file.path).or_default().extend([file.before, file.after]);
            }
        }
        if then.is_empty() {
            // Nothing says what it touched: the incident's files, as they stood when it ran.
            let ran_at = attempt.runs().filter_map(|r| r.commit.clone()).last();
            let Some(old) = ran_at.and_then(|commit| Files::of(self, &commit)) else {
                return Change::default();
            };
            for file in incident.files.iter() {
                if let Some(blob) = old.blob(&file.path) {
                    then.entry(file.path.clone()).or_default().insert(blob);
                }
            }
        }
        let mut change = Change { known: !then.is_empty(), ..Change::default() };
        for (path, blobs) in then {
            let same = match now.blob(&path) {
                Some(now) => blobs.iter().any(|b| !b.is_empty() && now.starts_with(b.as_str())),
                // An empty name: it was not there before, or not there after.
                None => blobs.contains(""),
            };
            if !same {
                change.changed.push(path.clone());
            }
            change.touched.push(path);
        }
        change
    }
}

#[derive(Default)]
struct Change {
    known: bool,
    changed: Vec<String>,
    touched: Vec<String>,
}

/// The files of a commit.
struct Files<'s> {
    tree: git2::Tree<'s>,
}

impl<'s> Files<'s> {
    fn of(session: &'s Session, commit: &Oid) -> Option<Self> {
        let id = crate::git::repo::to_git(commit).ok()?;
        let tree = session.repo.raw().find_commit(id).ok()?.tree().ok()?;
        Some(Self { tree })
    }

    fn blob(&self, path: &str) -> Option<String> {
        self.tree.get_path(std::path::Path::new(path)).ok().map(|entry| entry.id().to_string())
    }
}

/// Whether a path is another one, or stands below it.
fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_start_matches("./").trim_matches('/');
    folder.is_empty() || path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
