//! Bringing the index up to date with the ledgers, in one transaction: whoever is killed in it leaves the index as it
//! was, and the next one begins again.

use std::collections::{BTreeSet, HashSet};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::fill::{self, Grown};
use super::objects;
use super::open::{Patience, Trouble};
use crate::event::{Data, Line, line};
use crate::fold::split_lines;
use crate::git::{Repo, notes, pairs, refs};
use crate::model::{Error, Oid};
use crate::store::ledger;
use crate::store::tombstones::may_hold_tombstones;
use crate::store::travelling::{LEDGER, union_of};

/// The commit of the ledgers that the index was made from.
pub(super) const COMMIT: &str = "commit";
/// How many documents there are.
const DOCUMENTS: &str = "documents";
/// So many objects that were not here are looked for again each time.
const MOST_ABSENT: usize = 200;

/// A member of the state.
pub(super) fn state(connection: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    connection
        .prepare("SELECT value FROM state WHERE key = ?1")?
        .query_row(params![key], |row| row.get(0))
        .optional()
}

fn set_state(connection: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    connection
        .execute("INSERT OR REPLACE INTO state(key, value) VALUES(?1, ?2)", params![key, value])
        .map(|_| ())
}

/// How many documents there are.
pub(super) fn documents(connection: &Connection) -> rusqlite::Result<i64> {
    Ok(state(connection, DOCUMENTS)?.and_then(|n| n.parse().ok()).unwrap_or_default())
}

/// Whether there is something to be read again although the ledgers stand where they stood: notes that could not be
/// read, objects that have come since.
pub(super) fn has_loose_ends(connection: &Connection, repo: &Repo) -> rusqlite::Result<bool> {
    let unread = connection.query_row("SELECT EXISTS(SELECT 1 FROM unread)", [], |row| row.get(0))?;
    Ok(unread || !arrived(connection, repo)?.is_empty())
}

/// The incidents whose files or commits were not here, and are now.
fn arrived(connection: &Connection, repo: &Repo) -> rusqlite::Result<BTreeSet<Oid>> {
    let mut found = BTreeSet::new();
    let mut statement = connection.prepare("SELECT oid, incident FROM absent LIMIT ?1")?;
    let mut rows = statement.query(params![MOST_ABSENT as i64])?;
    while let Some(row) = rows.next()? {
        let (oid, incident): (String, String) = (row.get(0)?, row.get(1)?);
        if Oid::parse(&oid).is_some_and(|oid| objects::is_here(repo, &oid)) {
            found.extend(Oid::parse(&incident));
        }
    }
    Ok(found)
}

/// Fills empty tables with everything a commit of the ledgers says. Returns the notes that cannot be read.
pub(super) fn fill(connection: &mut Connection, repo: &Repo, commit: &Oid) -> Result<Vec<Oid>, Trouble> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut grown = Grown::default();
    let mut trouble = None;
    let read = ledger::each(repo, commit, &mut |incident| {
        fill::put(&transaction, repo, &incident, &mut grown).map_err(|error| {
            trouble = Some(error);
            Error::bug("the index cannot be filled")
        })
    });
    if let Some(error) = trouble {
        return Err(error.into());
    }
    let unread: Vec<Oid> = read?.into_iter().map(|(key, _)| key).collect();
    for key in &unread {
        transaction.execute("INSERT OR IGNORE INTO unread(note) VALUES(?1)", params![key.as_str()])?;
    }
    set_state(&transaction, COMMIT, commit.as_str())?;
    set_state(&transaction, DOCUMENTS, &grown.documents.to_string())?;
    grown.write(&transaction)?;
    transaction.commit()?;
    Ok(unread)
}

/// Brings the index up to date. Returns the notes that cannot be read.
pub(super) fn bring_up_to_date(
    connection: &mut Connection,
    repo: &Repo,
    commit: &Oid,
    patience: Patience,
) -> Result<Vec<Oid>, Trouble> {
    if state(connection, COMMIT)?.as_deref() == Some(commit.as_str()) && !has_loose_ends(connection, repo)? {
        return Ok(Vec::new());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Somebody else may have done it while we waited, and have seen newer ledgers than we did.
    let commit = &refs::read(repo, LEDGER.notes)?.unwrap_or_else(|| commit.clone());
    let stored = state(&transaction, COMMIT)?.and_then(|c| Oid::parse(&c)).ok_or(Trouble::Anew)?;
    let changed = if stored == *commit {
        Vec::new()
    } else {
        // Ledgers that were rewritten by a purge are gone, and what was read from them must go as well.
        let old = notes::tree_of(repo, &stored).map_err(|_| Trouble::Anew)?;
        let new = notes::tree_of(repo, commit)?;
        pairs::compare(repo, Some(&old), Some(&new)).map_err(|_| Trouble::Anew)?.pairs
    };
    if changed.len() > patience.most_changed() {
        return Err(Trouble::Busy);
    }
    let incidents: i64 = transaction.query_row("SELECT count(*) FROM incident", [], |row| row.get(0))?;
    if changed.len() > 2_000 && changed.len() as i64 > incidents / 2 {
        return Err(Trouble::Anew);
    }
    let tree = notes::tree_of(repo, commit)?;
    let mut again = arrived(&transaction, repo)?;
    {
        let mut statement = transaction.prepare("SELECT note FROM unread")?;
        let unread = statement.query_map([], |row| row.get::<_, String>(0))?;
        again.extend(unread.filter_map(|k| k.ok().and_then(|k| Oid::parse(&k))));
    }
    for pair in &changed {
        let new = union_of(repo, &pair.theirs);
        let old = union_of(repo, &pair.ours).map_err(|_| Trouble::Anew)?;
        if let Ok(new) = &new {
            if loses(&old, new) {
                return Err(Trouble::Anew);
            }
            again.extend(segment_of(new));
        }
        again.insert(pair.key.clone());
    }
    let mut grown = Grown::default();
    let mut unread = Vec::new();
    for key in again {
        transaction.execute("DELETE FROM unread WHERE note = ?1", params![key.as_str()])?;
        let blobs = notes::lookup(repo, &tree, &key)?;
        if let Ok(first) = union_of(repo, &blobs) {
            match ledger::of_note(repo, &key, &first) {
                Some(incident) => fill::put(&transaction, repo, &incident, &mut grown)?,
                None => fill::remove(&transaction, &key, &mut grown)?,
            }
        } else {
            fill::remove(&transaction, &key, &mut grown)?;
            transaction.execute("INSERT OR IGNORE INTO unread(note) VALUES(?1)", params![key.as_str()])?;
            unread.push(key);
        }
    }
    set_state(&transaction, COMMIT, commit.as_str())?;
    let count = documents(&transaction)? + grown.documents;
    set_state(&transaction, DOCUMENTS, &count.to_string())?;
    grown.write(&transaction)?;
    transaction.commit()?;
    Ok(unread)
}

/// Whether something was erased between two versions of a note. What it said may lie in pages and logs of the database
/// for a while, so the database goes.
fn loses(old: &[u8], new: &[u8]) -> bool {
    if new.starts_with(old) && !may_hold_tombstones(&new[old.len()..]) {
        return false;
    }
    let lines: HashSet<&[u8]> = split_lines(new).collect();
    let before: HashSet<&[u8]> = split_lines(old).collect();
    before.iter().any(|line| !lines.contains(line))
        || lines.iter().any(|line| !before.contains(line) && may_hold_tombstones(line))
}

/// The incident that a segment of a ledger belongs to.
fn segment_of(bytes: &[u8]) -> Option<Oid> {
    memchr::memmem::find(bytes, b"\"type\":\"ledger.segment\"")?;
    split_lines(bytes).map(Line::parse).find_map(|l| match &l.event()?.body {
        line::Body::Known(Data::LedgerSegment(data)) => Some(data.incident.clone()),
        _ => None,
    })
}
