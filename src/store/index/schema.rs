//! The tables of the index. Any change of them, of what is put into them, or of how words are told apart, takes
//! another [`VERSION`]: an index of another version is built anew, never migrated.

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// The version of the tables and of their content.
pub(super) const VERSION: i64 = 2;

/// What there is:
/// - `state`: the commit of the ledgers that the rest was read from
/// - `incident`: one row each, with what `list` shows
/// - `doc`: one row for each incident and each attempt, with its texts; its number grows with its time, so that the
///   newest come first without being sorted
/// - `words`: which documents hold a word; only that, the rest is looked up in the document itself
/// - `tally`: in how many documents a word stands; counting it in `words` would read every one of them
/// - `print`: error fingerprints of attempts
/// - `object`: what was found in a stored file or a commit; `absent`: those that were not here when they were asked for
/// - `unread`: notes that could not be read
pub(super) const TABLES: &str = "
CREATE TABLE state(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE incident(number INTEGER PRIMARY KEY, oid TEXT NOT NULL UNIQUE, closed INTEGER NOT NULL,
  last_at INTEGER NOT NULL, ticket TEXT NOT NULL, row TEXT NOT NULL);
CREATE INDEX incident_by_ticket ON incident(ticket) WHERE ticket <> '';
CREATE TABLE doc(number INTEGER PRIMARY KEY, incident INTEGER NOT NULL, attempt TEXT NOT NULL, ordinal INTEGER NOT NULL,
  at INTEGER NOT NULL, same INTEGER NOT NULL, digest TEXT NOT NULL, tags TEXT NOT NULL, fields TEXT NOT NULL);
CREATE INDEX doc_by_incident ON doc(incident);
CREATE INDEX doc_by_same ON doc(same) WHERE same <> 0;
CREATE TABLE print(value INTEGER NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY(value, doc)) WITHOUT ROWID;
CREATE INDEX print_by_doc ON print(doc);
CREATE TABLE object(oid TEXT PRIMARY KEY, found TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE absent(oid TEXT NOT NULL, incident TEXT NOT NULL, PRIMARY KEY(oid, incident)) WITHOUT ROWID;
CREATE TABLE unread(note TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(terms, content='', detail='none', columnsize=0, tokenize='ascii');
CREATE TABLE tally(term TEXT PRIMARY KEY, docs INTEGER NOT NULL) WITHOUT ROWID;
";

/// So many pages of the log are kept: the first process that opens the index reads them all.
const MOST_LOGGED: i64 = 256;

/// Settings of every connection that writes.
pub(super) fn settle(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(patience)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // After a crash of the machine the newest changes may be missing, which the stored commit tells.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "secure_delete", "on")?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    // Cleaning up the log waits for the disk, more than once. It is done when there is enough of it, not by every
    // process that ends.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "wal_autocheckpoint", MOST_LOGGED)?;
    Ok(())
}

/// Makes the tables in an empty database.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    // Words of a text that was erased must not wait in old segments.
    connection.execute("INSERT INTO words(words, rank) VALUES('secure-delete', 1)", [])?;
    connection.pragma_update(None, "user_version", VERSION)
}

/// Whether a database has these tables.
pub(super) fn is_current(connection: &Connection) -> bool {
    connection
        .query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
        .is_ok_and(|version| version == VERSION)
}
