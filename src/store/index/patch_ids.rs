//! Patch-ids of commits, kept so that no diff is made twice. They depend on nothing but the commit, so this cache is
//! never stale, and outlives the index of the ledgers.

use std::time::Duration;

use rusqlite::{Connection, params};

use crate::git::{Repo, lock};
use crate::model::Oid;

/// The file below the local state; another format gets another name.
const FILE: &str = "patch-ids-1.sqlite";

/// What is known. Where nothing can be stored, nothing is known: callers then ask git, as they would the first time.
pub struct PatchIds {
    connection: Option<Connection>,
}

impl PatchIds {
    /// Opens the cache; one that is damaged is begun anew.
    pub fn open(repo: &Repo) -> Self {
        let Ok(directory) = lock::state_dir(repo) else {
            return Self { connection: None };
        };
        let path = directory.join(FILE);
        if let Ok(connection) = connect(&path) {
            return Self { connection: Some(connection) };
        }
        super::place::remove_database(&path);
        Self { connection: connect(&path).ok() }
    }

    /// The patch-id of a commit; empty for one that has none (a merge, an empty commit).
    pub fn patch_id(&self, commit: &Oid) -> Option<String> {
        let mut statement =
            self.connection.as_ref()?.prepare("SELECT id FROM patch_ids WHERE oid = ?1").ok()?;
        statement.query_row(params![commit.as_str()], |row| row.get(0)).ok()
    }

    /// The commits that have a patch-id, in the order of their names.
    pub fn commits_with(&self, patch_id: &str) -> Vec<Oid> {
        let find = |connection: &Connection| -> rusqlite::Result<Vec<Oid>> {
            let mut statement = connection.prepare("SELECT oid FROM patch_ids WHERE id = ?1 ORDER BY oid")?;
            let rows = statement.query_map(params![patch_id], |row| row.get::<_, String>(0))?;
            Ok(rows.filter_map(|r| r.ok().and_then(|o| Oid::parse(&o))).collect())
        };
        self.connection.as_ref().and_then(|c| find(c).ok()).unwrap_or_default()
    }

    /// Remembers patch-ids. What cannot be stored is asked for again the next time.
    pub fn put_patch_ids(&self, ids: &[(Oid, String)]) {
        let put = |connection: &Connection| -> rusqlite::Result<()> {
            let transaction = connection.unchecked_transaction()?;
            {
                let mut statement =
                    transaction.prepare("INSERT OR REPLACE INTO patch_ids(oid, id) VALUES(?1, ?2)")?;
                for (oid, id) in ids {
                    statement.execute(params![oid.as_str(), id])?;
                }
            }
            transaction.commit()
        };
        if let Some(connection) = self.connection.as_ref().filter(|_| !ids.is_empty()) {
            let _ = put(connection);
        }
    }
}

fn connect(path: &std::path::Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(2))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS patch_ids(oid TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;
         CREATE INDEX IF NOT EXISTS patch_ids_by_id ON patch_ids(id) WHERE id <> '';",
    )?;
    connection.query_row("SELECT count(*) FROM (SELECT 1 FROM patch_ids LIMIT 1)", [], |_| Ok(()))?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_ids_are_kept_and_a_damaged_file_is_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        git2::Repository::init(directory.path()).unwrap();
        let repo = Repo::open(directory.path()).unwrap();
        let (a, b) = (Oid::parse(&"a".repeat(40)).unwrap(), Oid::parse(&"b".repeat(40)).unwrap());
        let cache = PatchIds::open(&repo);
        assert_eq!(cache.patch_id(&a), None);
        cache.put_patch_ids(&[(a.clone(), "p".repeat(40)), (b.clone(), String::new())]);
        drop(cache);
        let cache = PatchIds::open(&repo);
        assert_eq!(cache.patch_id(&a), Some("p".repeat(40)));
        assert_eq!(cache.patch_id(&b), Some(String::new()));
        assert_eq!(cache.commits_with(&"p".repeat(40)), std::slice::from_ref(&a));
        drop(cache);
        std::fs::write(repo.common_dir().join("incident").join(FILE), "no database ".repeat(1000)).unwrap();
        let cache = PatchIds::open(&repo);
        assert_eq!(cache.patch_id(&a), None);
        cache.put_patch_ids(&[(a.clone(), "q".into())]);
        assert_eq!(cache.patch_id(&a).as_deref(), Some("q"));
    }
}
