//! `refs/notes/incident-lines`: readable lines on commits, for `git log --notes=incident-lines`.
//!
//! A projection of the ledgers, local, rebuilt at will, never pushed: `git commit --amend` rewrites a notes ref
//! without compare and swap, so nothing that matters may stand in a ref whose keys are commits.

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
    let Some(id) = &incident.id else { return Ok(()) };
    let mut wanted: Vec<Oid> = commits.to_vec();
    wanted.extend(incident.links.iter().filter(|l| !l.unlinked).map(|l| l.commit.clone()));
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(());
    }
    let _lock = lock::WriterLock::acquire(repo)?;
    for _ in 0..super::guard::ATTEMPTS {
        let current = refs::read(repo, REF)?;
        let tree = current.as_ref().map(|c| notes::tree_of(repo, c)).transpose()?;
        let mut changes = Vec::new();
        for commit in &wanted {
            let old = match &tree {
                Some(tree) => union_of(repo, &notes::lookup(repo, tree, commit)?)?,
                None => Vec::new(),
            };
            let mine = mark(id);
            let mut lines: Vec<String> = String::from_utf8_lossy(&old)
                .lines()
                .filter(|l| !l.is_empty() && !l.starts_with(&mine))
                .map(str::to_owned)
                .collect();
            lines.extend(
                incident
                    .links
                    .iter()
                    .filter(|l| !l.unlinked && l.commit == *commit)
                    .map(|l| line(incident, id, l)),
            );
            lines.sort();
            let text: String = lines.iter().flat_map(|l| [l.as_str(), "\n"]).collect();
            if text.as_bytes() == old {
                continue;
            }
            let blob = if text.is_empty() { None } else { Some(repo.write_blob(text.as_bytes())?) };
            changes.push(notes::Change { key: commit.clone(), blob });
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

/// How a line of an incident begins: what tells it from those of others.
pub(super) fn mark(id: &Oid) -> String {
    format!("incident {} ", id.short())
}

/// Every line of an incident, with the commit on which it stands.
pub(super) fn wanted(incident: &Incident) -> Vec<(Oid, String)> {
    let Some(id) = &incident.id else { return Vec::new() };
    let in_force = incident.links.iter().filter(|l| !l.unlinked);
    in_force.map(|l| (l.commit.clone(), line(incident, id, l))).collect()
}

fn line(incident: &Incident, id: &Oid, link: &Link) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
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
