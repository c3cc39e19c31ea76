//! `refs/notes/incident-lines`: readable lines on commits, for `git log --notes=incident-lines`.
//!
//! A projection of the ledgers, local, rebuilt at will, never pushed: `git commit --amend` rewrites a notes ref
//! without compare and swap, so nothing that matters may stand in a ref whose keys are commits.

use std::collections::BTreeMap;

use crate::git::refs::{Swap, compare_and_swap};
use crate::git::{Repo, lock, notes, refs};
use crate::model::incident::{Incident, Link};
use crate::model::outcome::Bug;
use crate::model::{Error, Oid, Result};

use super::travelling::union_of;

/// The ref.
pub const REF: &str = "refs/notes/incident-lines";

/// Makes the lines of these commits say what the incident's ledger says of them, and leaves the lines of
/// other incidents alone. A commit that the incident no longer links loses its line.
///
/// # Errors
/// The repository cannot be written.
pub fn project(
    repo: &Repo,
    signature: &git2::Signature<'_>,
    incident: &Incident,
    commits: &[Oid],
) -> Result<()> {
    project_many(repo, signature, &[(incident, commits)])
}

/// As [`project`], for several incidents with the commits they linked before, in one commit.
///
/// # Errors
/// The repository cannot be written.
pub fn project_many(
    repo: &Repo,
    signature: &git2::Signature<'_>,
    incidents: &[(&Incident, &[Oid])],
) -> Result<()> {
    let wanted = wanted(incidents);
    if wanted.is_empty() {
        return Ok(());
    }
    let _lock = lock::WriterLock::acquire(repo)?;
    for _ in 0..super::guard::ATTEMPTS {
        let current = refs::read(repo, REF)?;
        let tree = current.as_ref().map(|c| notes::tree_of(repo, c)).transpose()?;
        let mut changes = Vec::new();
        for (commit, about) in &wanted {
            let old = match &tree {
                Some(tree) => union_of(repo, &notes::lookup(repo, tree, commit)?)?,
                None => Vec::new(),
            };
            let text = text(&String::from_utf8_lossy(&old), commit, about);
            if text.as_bytes() == old {
                continue;
            }
            let blob = if text.is_empty() { None } else { Some(repo.write_blob(text.as_bytes())?) };
            changes.push(notes::Change { key: (*commit).clone(), blob });
        }
        if changes.is_empty() {
            return Ok(());
        }
        let written = notes::apply(repo, tree.as_ref(), changes)?;
        let parents: Vec<Oid> = current.iter().cloned().collect();
        let commit = notes::commit(repo, &written, &parents, signature, "incident lines\n")?;
        if compare_and_swap(repo, REF, &commit, current.as_ref(), "git incident: lines")? == Swap::Done {
            return Ok(());
        }
    }
    Err(Error::refused(format!("{REF} moves all the time")).hint("run the command again"))
}

/// Makes the whole ref anew, without a history. Call with the writer lock held.
///
/// # Errors
/// The repository cannot be written.
pub fn rebuild(repo: &Repo, signature: &git2::Signature<'_>, incidents: &[Incident]) -> Result<()> {
    if refs::read(repo, REF)?.is_none() {
        return Ok(());
    }
    let pairs: Vec<(&Incident, &[Oid])> = incidents.iter().map(|i| (i, &[][..])).collect();
    let mut changes = Vec::new();
    for (commit, about) in wanted(&pairs) {
        let blob = repo.write_blob(text("", commit, &about).as_bytes())?;
        changes.push(notes::Change { key: commit.clone(), blob: Some(blob) });
    }
    let tree = notes::apply(repo, None, changes)?;
    let commit = notes::commit(repo, &tree, &[], signature, "incident lines\n")?;
    refs::set(repo, REF, &commit, "git incident: lines")
}

/// The commits that have a line to gain or to lose, each with the incidents it is about.
fn wanted<'a>(incidents: &[(&'a Incident, &'a [Oid])]) -> BTreeMap<&'a Oid, Vec<&'a Incident>> {
    let mut wanted: BTreeMap<&Oid, Vec<&Incident>> = BTreeMap::new();
    for (incident, former) in incidents.iter().filter(|(i, _)| i.id.is_some()) {
        let linked = incident.links.iter().filter(|l| !l.unlinked).map(|l| &l.commit);
        let commits: std::collections::BTreeSet<&Oid> = former.iter().chain(linked).collect();
        for commit in commits {
            wanted.entry(commit).or_default().push(incident);
        }
    }
    wanted
}

/// A commit's lines after those of some incidents were made anew.
fn text(old: &str, commit: &Oid, about: &[&Incident]) -> String {
    let marks: Vec<String> = about.iter().filter_map(|i| i.id.as_ref()).map(mark).collect();
    let mut lines: Vec<String> = old
        .lines()
        .filter(|l| !l.is_empty() && !marks.iter().any(|mark| l.starts_with(mark)))
        .map(str::to_owned)
        .collect();
    for incident in about {
        let Some(id) = &incident.id else { continue };
        let links = incident.links.iter().filter(|l| !l.unlinked && l.commit == *commit);
        lines.extend(links.map(|l| line(incident, id, l)));
    }
    lines.sort();
    lines.iter().flat_map(|l| [l.as_str(), "\n"]).collect()
}

/// How a line of an incident begins: what tells it from those of others.
pub(super) fn mark(id: &Oid) -> String {
    format!("incident {} ", id.short())
}

/// Every line of an incident, with the commit on which it stands.
pub(super) fn of_incident(incident: &Incident) -> Vec<(Oid, String)> {
    let Some(id) = &incident.id else { return Vec::new() };
    let in_force = incident.links.iter().filter(|l| !l.unlinked);
    in_force.map(|l| (l.commit.clone(), line(incident, id, l))).collect()
}

fn line(incident: &Incident, id: &Oid, link: &Link) -> String {
    // `git log` prints notes as they are: nothing that a terminal obeys may stand in one.
    let one_line = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").replace(crate::model::markdown::is_unseen, "")
    };
    let ticket =
        if incident.ticket.is_empty() { String::new() } else { format!("[{}] ", one_line(&incident.ticket)) };
    let mut text = format!("{}{}{}: {}", mark(id), ticket, one_line(&incident.title), link.role);
    if let Some(attempt) = link.attempt.and_then(|a| incident.attempt(a)) {
        text.push_str(&format!(" (attempt {}", attempt.ordinal));
        if attempt.outcome.bug == Bug::Remains && !attempt.conclusion.is_empty() {
            text.push_str(&format!(": {}", one_line(attempt.conclusion.lines().next().unwrap_or_default())));
        }
        text.push(')');
    }
    if let Some(by) = &link.reverted_by {
        text.push_str(&format!(", reverted by {}", by.short()));
    }
    text
}

/// The incidents (by the first digits of their ids) whose lines stand on a commit: an index for hooks.
///
/// # Errors
/// An object is not here.
pub fn incidents_on(repo: &Repo, commit: &Oid) -> Result<Vec<String>> {
    let note = super::travelling::read(repo, REF, commit)?;
    let mut ids: Vec<String> = String::from_utf8_lossy(&note)
        .lines()
        .filter_map(|l| l.strip_prefix("incident ")?.split(' ').next().map(str::to_owned))
        .filter(|id| crate::model::id::is_lower_hex(id))
        .collect();
    ids.dedup();
    Ok(ids)
}
