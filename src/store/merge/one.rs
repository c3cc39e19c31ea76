//! One incident out of all that another clone has.

use std::collections::BTreeSet;

use crate::fold;
use crate::git::{Repo, notes};
use crate::model::{Error, Oid, Result};
use crate::store::ledger::is_anchor;

use super::Theirs;

/// Keys of one incident in a commit of another clone: its note, its segments, the records and evidence that they name.
///
/// # Errors
/// No such incident there, or several whose ids begin so.
pub fn keys_of_incident(
    repo: &Repo,
    theirs: &Theirs,
    prefix: &str,
) -> Result<(Oid, BTreeSet<Oid>, BTreeSet<Oid>)> {
    use crate::event::{Data, Line, line::Body};
    let absent = || {
        Error::refused(format!("there is no incident {prefix} there"))
            .hint("see that its ledger was pushed: git ls-remote REMOTE 'refs/notes/incidents*'")
    };
    let commit = theirs.ledger.as_ref().ok_or_else(absent)?;
    let tree = notes::tree_of(repo, commit)?;
    let text_of = |key: &Oid| -> Result<Vec<u8>> {
        crate::store::travelling::union_of(repo, &notes::lookup(repo, &tree, key)?)
    };
    let mut found = Vec::new();
    for key in notes::keys_with_prefix(repo, &tree, prefix)? {
        if memchr::memmem::find(&text_of(&key)?, b"\"type\":\"incident.opened\"").is_some() {
            found.push(key);
        }
    }
    let id = match found.as_slice() {
        [only] => only.clone(),
        [] => return Err(absent()),
        several => {
            return Err(Error::refused(format!("{prefix} means {} incidents there", several.len()))
                .hint("type more digits of the id"));
        }
    };
    let (mut ledger, mut evidence) = (BTreeSet::from([id.clone()]), BTreeSet::from([id.clone()]));
    let mut waiting = vec![id.clone()];
    while let Some(key) = waiting.pop() {
        let text = text_of(&key)?;
        for event in fold::split_lines(&text).map(Line::parse).filter_map(|l| l.event().cloned()) {
            let Body::Known(data) = event.body else { continue };
            match data {
                Data::LedgerContinued(data) if key == id && ledger.insert(data.segment.clone()) => {
                    evidence.insert(data.segment.clone());
                    waiting.push(data.segment);
                }
                Data::EvidenceAdded(data) => evidence.extend(data.oid),
                Data::ReproRan(data) => evidence.extend(data.evidence),
                Data::AttemptNoted(data) => evidence.extend(data.run.into_iter().flat_map(|r| r.evidence)),
                Data::GateRecorded(data) => {
                    if let Some(descriptor) = data.descriptor {
                        let record = text_of(&descriptor)?;
                        if fold::split_lines(&record).any(|l| is_anchor(&descriptor, l)) {
                            evidence.extend(fold::split_lines(&record).filter_map(evidence_of_record));
                            evidence.insert(descriptor.clone());
                            ledger.insert(descriptor);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    Ok((id, ledger, evidence))
}

fn evidence_of_record(line: &[u8]) -> Option<Oid> {
    serde_json::from_slice::<crate::store::records::Record>(line).ok()?.evidence
}
