//! `post-rewrite`: links follow commits through amend and rebase. It may run twice for one rewrite.

use std::collections::BTreeMap;

use crate::event::{CommitRewritten, CommitUnlinked};
use crate::git::diff;
use crate::model::incident::Incident;
use crate::model::status::Role;
use crate::model::{Oid, Result};
use crate::session::Session;
use crate::store::lines;

use super::{Line, Say, Tone};

/// Reads `old new` lines and moves what is linked.
///
/// # Errors
/// The repository cannot be read or written; the rewrite is done all the same.
pub fn run(session: &Session, input: &[u8], say: Say<'_>) -> Result<()> {
    let mut by_incident: BTreeMap<String, Vec<(Oid, Oid)>> = BTreeMap::new();
    for (old, new) in pairs(input) {
        for id in lines::incidents_on(&session.repo, &old)? {
            by_incident.entry(id).or_default().push((old.clone(), new.clone()));
        }
    }
    for (short, moves) in by_incident {
        let Ok(id) = session.incident_id(Some(&short)) else {
            continue;
        };
        let moved = follow(session, &id, &moves)?;
        if moved > 0 {
            say(Line::new(
                Tone::Quiet,
                format!("{moved} link(s) of incident {} followed the rewrite", id.short()),
            ));
        }
    }
    Ok(())
}

/// `old SP new [SP extra]`, as githooks(5) says. Whatever else stands there is passed over.
fn pairs(input: &[u8]) -> Vec<(Oid, Oid)> {
    String::from_utf8_lossy(input)
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let (old, new) = (Oid::parse(fields.next()?)?, Oid::parse(fields.next()?)?);
            (old != new && !new.is_zero()).then_some((old, new))
        })
        .collect()
}

fn follow(session: &Session, id: &Oid, moves: &[(Oid, Oid)]) -> Result<usize> {
    let incident = session.incident(id)?;
    let linked = |commit: &Oid| incident.links.iter().any(|l| l.commit == *commit && !l.unlinked);
    let due: Vec<&(Oid, Oid)> =
        moves.iter().filter(|(old, new)| linked(old) && session.repo.is_commit(new)).collect();
    if due.is_empty() {
        return Ok(0);
    }
    let mut events = Vec::new();
    for (old, new) in &due {
        events.push(CommitRewritten {
            from: old.clone(),
            to: new.clone(),
            how: "post-rewrite".to_owned(),
            tree: Some(session.repo.tree_of(new)?),
            patch_id: diff::patch_id(&session.git(), new.as_str())?.unwrap_or_default(),
        });
    }
    session.append(id, &[], |draft| {
        for event in events {
            draft.add(event)?;
        }
        // post-commit has linked the new commit as related; the role that came with the old one says more.
        for new in doubled(&incident, &due) {
            draft.add(CommitUnlinked { commit: new, role: Some(Role::Related) })?;
        }
        Ok(())
    })?;
    let former: Vec<Oid> = due.iter().flat_map(|(old, new)| [old.clone(), new.clone()]).collect();
    session.project_lines(&session.incident(id)?, &former)?;
    Ok(due.len())
}

/// New commits that are linked as related already, and inherit a role that says more.
fn doubled(incident: &Incident, due: &[&(Oid, Oid)]) -> Vec<Oid> {
    let has = |commit: &Oid, wanted: fn(Role) -> bool| {
        incident.links.iter().any(|l| l.commit == *commit && !l.unlinked && wanted(l.role))
    };
    let mut doubled: Vec<Oid> = due
        .iter()
        .filter(|(old, new)| has(new, |role| role == Role::Related) && has(old, |role| role != Role::Related))
        .map(|(_, new)| new.clone())
        .collect();
    doubled.sort_unstable();
    doubled.dedup();
    doubled
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_git_writes() {
        let (a, b) = ("1".repeat(40), "2".repeat(40));
        let input = format!("{a} {b}\n{b} {a} extra words\nnonsense\n{a} {a}\n{a} {}\n", "0".repeat(40));
        assert_eq!(pairs(input.as_bytes()).len(), 2);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = pairs(&bytes);
        }
    }
}
