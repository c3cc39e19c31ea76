//! Whether the index is whole, for those who look after a repository. Nothing depends on it: whoever asks the index
//! next makes a damaged one anew.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{place, schema, update};
use crate::git::Repo;

/// What there is of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// None: a small repository needs none, and another has none until somebody asks.
    None,
    /// One of so many bytes, of which nothing is known to be wrong.
    Whole(u64),
    /// One of another version of this program.
    Foreign,
    /// One that is damaged, and how.
    Damaged(String),
}

/// Looks at the index and changes nothing. `thorough` reads every page of it, which takes a second for each few hundred
/// megabytes.
pub fn condition(repo: &Repo, thorough: bool) -> Condition {
    let Some(path) = place::current(repo) else { return Condition::None };
    let look = || -> rusqlite::Result<Option<String>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(Duration::from_millis(150))?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version != schema::VERSION {
            return Ok(None);
        }
        let said = match update::state(&connection, update::COMMIT)? {
            None => "it does not say what it was made from".to_owned(),
            Some(_) if thorough => connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?,
            Some(_) => "ok".to_owned(),
        };
        Ok(Some(said))
    };
    match look() {
        Ok(None) => Condition::Foreign,
        Ok(Some(said)) if said == "ok" => Condition::Whole(std::fs::metadata(&path).map_or(0, |m| m.len())),
        Ok(Some(said)) => Condition::Damaged(said),
        // Somebody is writing it, or may be: that is no damage.
        Err(error)
            if matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::CannotOpen)
            ) =>
        {
            Condition::Whole(std::fs::metadata(&path).map_or(0, |m| m.len()))
        }
        Err(error) => Condition::Damaged(error.to_string()),
    }
}
