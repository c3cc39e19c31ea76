//! Opening the index: as it is, brought up to date, built from nothing, or in memory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::place::{self, Builder};
use super::{schema, update};
use crate::git::{Repo, notes, refs};
use crate::model::{Error, Oid, Result};
use crate::store::travelling::LEDGER;

/// Fewer notes than this are read faster than a file is opened and kept up to date.
const WORTH_A_FILE: usize = 200;

/// How long somebody wants to wait for an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// As long as it takes.
    Endless,
    /// Only for one that is there, or soon made: somebody is about to do something else.
    Short,
}

impl Patience {
    pub(super) fn busy(self) -> Duration {
        match self {
            Self::Endless => Duration::from_secs(30),
            Self::Short => Duration::from_millis(150),
        }
    }

    /// So many changed notes are read.
    pub(super) fn most_changed(self) -> usize {
        match self {
            Self::Endless => usize::MAX,
            Self::Short => 200,
        }
    }
}

/// An opened index, which says what the ledgers of one commit say.
pub struct Index {
    pub(super) connection: Connection,
    /// Notes that could not be read, and are therefore not in it.
    pub unread: Vec<Oid>,
    /// Where it lies; `None` in memory.
    pub path: Option<PathBuf>,
}

/// Why an index cannot be used as it is.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It is damaged, of another version, or of ledgers that are gone: it must be built anew.
    Anew,
    /// Somebody else holds it, or it would take too long.
    Busy,
    /// The ledgers themselves cannot be read.
    Ledgers(Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => Self::Busy,
            _ => Self::Anew,
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Ledgers(error)
    }
}

impl Index {
    /// Opens the index of a repository. `None` when that would take longer than somebody wants to wait.
    ///
    /// # Errors
    /// The ledgers cannot be read.
    pub fn open(repo: &Repo, patience: Patience) -> Result<Option<Self>> {
        let Some(commit) = refs::read(repo, LEDGER.notes)? else {
            return in_memory(repo, None).map(Some);
        };
        let setting = repo.config_string("incident.index").unwrap_or_default();
        if setting == "never" {
            return Self::unless_long(repo, &commit, patience);
        }
        if let Some(path) = place::current(repo) {
            match Self::of_file(repo, &path, &commit, patience) {
                Ok(index) => return Ok(Some(index)),
                Err(Trouble::Busy) if patience == Patience::Short => return Ok(None),
                Err(Trouble::Busy) => return in_memory(repo, Some(&commit)).map(Some),
                Err(Trouble::Ledgers(error)) => return Err(error),
                Err(Trouble::Anew) => {}
            }
        } else if setting != "always" && count(repo, &commit)? < WORTH_A_FILE {
            return in_memory(repo, Some(&commit)).map(Some);
        }
        if patience == Patience::Short && count(repo, &commit)? > WORTH_A_FILE {
            return Ok(None);
        }
        match Self::build(repo, &commit, patience) {
            Ok(index) => Ok(Some(index)),
            Err(Trouble::Ledgers(error)) => Err(error),
            Err(_) => Self::unless_long(repo, &commit, patience),
        }
    }

    /// The index, if there is one that can be used at once; it is never built for those who have another way.
    pub fn if_there(repo: &Repo) -> Option<Self> {
        let path = place::current(repo)?;
        if repo.config_string("incident.index").is_some_and(|s| s == "never") {
            return None;
        }
        let commit = refs::read(repo, LEDGER.notes).ok()??;
        Self::of_file(repo, &path, &commit, Patience::Short).ok()
    }

    fn unless_long(repo: &Repo, commit: &Oid, patience: Patience) -> Result<Option<Self>> {
        if patience == Patience::Short && count(repo, commit)? > WORTH_A_FILE {
            return Ok(None);
        }
        in_memory(repo, Some(commit)).map(Some)
    }

    /// The index of a file, brought up to date.
    fn of_file(
        repo: &Repo,
        path: &Path,
        commit: &Oid,
        patience: Patience,
    ) -> std::result::Result<Self, Trouble> {
        if !is_writable(path) {
            return Self::of_foreign_file(repo, path, commit);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags)?;
        if !schema::is_current(&connection) {
            return Err(Trouble::Anew);
        }
        schema::settle(&connection, patience.busy())?;
        let unread = update::bring_up_to_date(&mut connection, repo, commit, patience)?;
        Ok(Self { connection, unread, path: Some(path.to_owned()) })
    }

    /// A file that cannot be written, such as on a read-only medium: good for as long as it is up to date.
    fn of_foreign_file(repo: &Repo, path: &Path, commit: &Oid) -> std::result::Result<Self, Trouble> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        if std::fs::metadata(PathBuf::from(log)).is_ok_and(|m| m.len() > 0) {
            return Err(Trouble::Anew);
        }
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let escaped: String = path
            .to_str()
            .ok_or(Trouble::Anew)?
            .bytes()
            .map(|b| {
                let plain = b.is_ascii_alphanumeric() || b"/-_.".contains(&b);
                if plain { char::from(b).to_string() } else { format!("%{b:02x}") }
            })
            .collect();
        let connection = Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)?;
        let fresh = schema::is_current(&connection)
            && update::state(&connection, update::COMMIT)?.as_deref() == Some(commit.as_str())
            && !update::has_loose_ends(&connection, repo)?;
        if !fresh {
            return Err(Trouble::Anew);
        }
        Ok(Self { connection, unread: Vec::new(), path: Some(path.to_owned()) })
    }

    /// Builds it from nothing and puts it in force. One process does that at a time; who waited finds it done.
    fn build(repo: &Repo, commit: &Oid, patience: Patience) -> std::result::Result<Self, Trouble> {
        let before = place::current(repo);
        let _builder =
            Builder::acquire(repo, patience.busy().max(Duration::from_millis(150))).ok_or(Trouble::Busy)?;
        if let Some(path) = place::current(repo).filter(|path| Some(path) != before.as_ref())
            && let Ok(index) = Self::of_file(repo, &path, commit, patience)
        {
            return Ok(index);
        }
        let path = place::fresh(repo).ok_or(Trouble::Busy)?;
        let built = Self::build_at(repo, commit, &path, patience);
        if built.is_err() || !place::put_in_force(repo, &path) {
            place::remove_database(&path);
        }
        built
    }

    fn build_at(
        repo: &Repo,
        commit: &Oid,
        path: &Path,
        patience: Patience,
    ) -> std::result::Result<Self, Trouble> {
        let mut connection = Connection::open(path)?;
        // Nobody knows of this file yet: a crash leaves one that nobody will ever open.
        connection.pragma_update(None, "journal_mode", "off")?;
        connection.pragma_update(None, "synchronous", "off")?;
        connection.pragma_update(None, "locking_mode", "normal")?;
        connection.pragma_update(None, "cache_size", -65_536)?;
        schema::create(&connection)?;
        let unread = update::fill(&mut connection, repo, commit)?;
        if let Ok(file) = std::fs::File::open(path) {
            let _ = file.sync_all();
        }
        schema::settle(&connection, patience.busy())?;
        Ok(Self { connection, unread, path: Some(path.to_owned()) })
    }
}

/// The same tables, in memory.
fn in_memory(repo: &Repo, commit: Option<&Oid>) -> Result<Index> {
    let make = || -> std::result::Result<Index, Trouble> {
        let mut connection = Connection::open_in_memory()?;
        schema::create(&connection)?;
        let unread = match commit {
            Some(commit) => update::fill(&mut connection, repo, commit)?,
            None => Vec::new(),
        };
        Ok(Index { connection, unread, path: None })
    };
    make().map_err(|trouble| match trouble {
        Trouble::Ledgers(error) => error,
        Trouble::Anew | Trouble::Busy => Error::bug("the ledgers cannot be indexed in memory"),
    })
}

/// How many notes there are, without looking into them.
fn count(repo: &Repo, commit: &Oid) -> Result<usize> {
    Ok(notes::entries(repo, &notes::tree_of(repo, commit)?)?.len())
}

/// Whether a database and the folder around it can be written.
fn is_writable(path: &Path) -> bool {
    let may = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    may(path) && path.parent().is_some_and(may)
}
