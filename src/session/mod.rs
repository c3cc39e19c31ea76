//! Row 4: an opened repository with everything a command needs: configuration, identity, clock,
//! randomness, what is active here. The only door to row 3 for row 5.

pub mod active;
pub mod attempts;
pub mod budget;
pub mod causes;
pub mod checking;
pub mod closing;
pub mod compare;
pub mod demo;
pub mod devices;
pub mod doctor;
pub mod documents;
pub mod duration;
pub mod facts;
pub mod identity;
pub mod import;
pub mod integrity;
pub mod keep;
pub mod launching;
pub mod linking;
pub mod locate;
pub mod opening;
pub mod postmortem;
pub mod pull_request;
pub mod purge;
pub mod relink;
pub mod rendering;
pub mod repro;
pub mod review;
pub mod running;
pub mod searching;
pub mod signing;
pub mod sync;
pub mod tried;
pub mod trust;
pub mod validate;
pub mod why;
pub mod workflow;

use std::cell::OnceCell;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::config::{self, Config};
use crate::git::Repo;
use crate::git::durability;
use crate::git::maintenance;
use crate::git::program::Git;
use crate::model::incident::{Author, Incident};
use crate::model::{Error, Oid, Result, Timestamp, canonical};
use crate::store::guard::{self, Mended};
use crate::store::ledger::{self, Appended, Draft, Writer};
use crate::store::{lines, tombstones, travelling};

/// An opened repository.
pub struct Session {
    /// The repository.
    pub repo: Repo,
    /// What the last accident took out of the notes refs, and this command brought back.
    pub mended: Vec<Mended>,
    /// What a command wants to say beside its result, on stderr.
    pub remarks: Vec<String>,
    config: OnceCell<Config>,
}

impl Session {
    /// Opens the repository of the current directory and mends its notes refs.
    ///
    /// # Errors
    /// No repository, or one that cannot be read.
    pub fn open() -> Result<Self> {
        Self::with_repo(Repo::discover()?)
    }

    /// As [`Session::open`], for an opened repository.
    ///
    /// # Errors
    /// A notes ref that cannot be read.
    pub fn with_repo(repo: Repo) -> Result<Self> {
        let mut session = Self::as_it_is(repo);
        session.mend();
        Ok(session)
    }

    /// As [`Session::open`], but the refs stay as they are: for those who look at what is wrong with them.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open_as_it_is() -> Result<Self> {
        Ok(Self::as_it_is(Repo::discover()?))
    }

    fn as_it_is(repo: Repo) -> Self {
        durability::honour(&repo);
        Self { repo, mended: Vec::new(), remarks: Vec::new(), config: OnceCell::new() }
    }

    /// Brings back what the notes refs have lost. Trouble is told, not fatal: reading still works.
    fn mend(&mut self) {
        for which in travelling::BOTH {
            let result =
                identity::signature(&self.repo, true).and_then(|s| guard::mend(&self.repo, which, &s));
            match result {
                Ok(Some(mended)) => self.mended.push(mended),
                Ok(None) => {}
                Err(error) => self.remarks.push(format!("{} could not be checked: {error}", which.notes)),
            }
        }
        if tombstones::is_marked(&self.repo) {
            match self.cleanse("purge\n") {
                Ok(Some(done)) => self.remarks.push(done.to_text()),
                Ok(None) => {}
                Err(error) => self.remarks.push(format!("what was purged is not all gone yet: {error}")),
            }
        }
    }

    /// The clock's reading.
    pub fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(since.as_millis() as i64)
    }

    /// The team's configuration, from the working tree; the defaults when there is none.
    ///
    /// # Errors
    /// A file that cannot be read, or that is wrong (line, column, suggestion).
    pub fn config(&self) -> Result<&Config> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let config = match self.repo.workdir() {
            Some(top) => read_config_file(&top.join(config::FILE_NAME))?,
            None => match self.repo.head_commit()? {
                Some(head) => self.config_at(&head)?,
                None => Config::default(),
            },
        };
        Ok(self.config.get_or_init(|| config))
    }

    /// The team's configuration as a commit has it.
    ///
    /// # Errors
    /// It is wrong (line, column, suggestion).
    pub fn config_at(&self, commit: &Oid) -> Result<Config> {
        match self.repo.file_at(commit, config::FILE_NAME)? {
            Some(bytes) => config::parse(&bytes, &format!("{}:{}", commit.short(), config::FILE_NAME)),
            None => Ok(Config::default()),
        }
    }

    /// The `git` program at this repository.
    pub fn git(&self) -> Git {
        let directory = self.repo.workdir().unwrap_or_else(|| self.repo.git_dir());
        Git::at(directory)
    }

    /// The top of the working tree.
    ///
    /// # Errors
    /// A bare repository.
    pub fn workdir(&self) -> Result<PathBuf> {
        self.repo.workdir().map(PathBuf::from).ok_or_else(|| {
            Error::refused("this is a bare repository, without a working tree")
                .hint("run this in a clone of it, or in a worktree")
        })
    }

    /// The current directory from the top of the working tree, with `/`; empty at the top, and outside of it.
    ///
    /// # Errors
    /// The current directory is gone, or its name is no UTF-8.
    pub fn directory_below_top(&self) -> Result<String> {
        let Some(top) = self.repo.workdir() else {
            return Ok(String::new());
        };
        let here = std::env::current_dir()?;
        let top = std::fs::canonicalize(top)?;
        match here.strip_prefix(&top) {
            Ok(below) => below
                .to_str()
                .map(str::to_owned)
                .ok_or_else(|| Error::refused("the current directory's name is no UTF-8")),
            Err(_) => Ok(String::new()),
        }
    }

    /// Who writes.
    ///
    /// # Errors
    /// No name or e-mail address is configured.
    pub fn author(&self) -> Result<Author> {
        identity::author(&self.repo)
    }

    fn writer(&self) -> Result<Writer<'static>> {
        Ok(Writer {
            signature: identity::signature(&self.repo, false)?,
            author: self.author()?,
            now: self.now(),
            salt: &random_salt,
        })
    }

    /// Opens an incident.
    ///
    /// # Errors
    /// As [`ledger::open`].
    pub fn open_incident<T>(
        &self,
        evidence: &[Oid],
        build: impl FnOnce(&mut Draft<'_>) -> Result<T>,
    ) -> Result<Appended<T>> {
        ledger::open(&self.repo, &self.writer()?, evidence, build)
    }

    /// Appends events to an incident.
    ///
    /// # Errors
    /// As [`ledger::append`].
    pub fn append<T>(
        &self,
        incident: &Oid,
        evidence: &[Oid],
        build: impl FnOnce(&mut Draft<'_>) -> Result<T>,
    ) -> Result<Appended<T>> {
        let appended = ledger::append(&self.repo, &self.writer()?, incident, evidence, build)?;
        maintenance::hand_over(&self.repo);
        Ok(appended)
    }

    /// An incident, folded.
    ///
    /// # Errors
    /// No such incident.
    pub fn incident(&self, id: &Oid) -> Result<Incident> {
        ledger::incident(&self.repo, id)
    }

    /// Every incident.
    ///
    /// # Errors
    /// An object is not here.
    pub fn incidents(&self) -> Result<Vec<Incident>> {
        ledger::all(&self.repo)
    }

    /// Every incident that can be read, and what cannot.
    ///
    /// # Errors
    /// The ref cannot be read; none of its notes can.
    pub fn incidents_and_unread(&self) -> Result<ledger::All> {
        ledger::everything(&self.repo)
    }

    /// Makes the lines on commits agree with an incident's ledger.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn project_lines(&self, incident: &Incident, former: &[Oid]) -> Result<()> {
        lines::project(&self.repo, &identity::signature(&self.repo, true)?, incident, former)
    }

    /// `$XDG_CACHE_HOME/git-incident`, where validation worktrees live.
    ///
    /// # Errors
    /// Neither it nor a home directory is known.
    pub fn cache_dir(&self) -> Result<PathBuf> {
        base_dir("XDG_CACHE_HOME", ".cache")
    }

    /// `$XDG_STATE_HOME/git-incident`, where trust lives, out of reach of any repository.
    ///
    /// # Errors
    /// Neither it nor a home directory is known.
    pub fn trust_dir(&self) -> Result<PathBuf> {
        base_dir("XDG_STATE_HOME", ".local/state")
    }
}

/// 128 random bits in hexadecimal.
fn random_salt() -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::refused("no randomness from the operating system").because(e))?;
    Ok(canonical::hex(&bytes))
}

fn base_dir(variable: &str, below_home: &str) -> Result<PathBuf> {
    // Relative values are to be ignored (XDG Base Directory Specification).
    let named = std::env::var_os(variable).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = named.or_else(|| {
        std::env::var_os("HOME").map(|h| PathBuf::from(h).join(below_home)).filter(|p| p.is_absolute())
    });
    base.map(|b| b.join("git-incident")).ok_or_else(|| {
        Error::refused(format!("neither ${variable} nor $HOME is set"))
            .hint(format!("export {variable}=DIRECTORY"))
    })
}

fn read_config_file(path: &std::path::Path) -> Result<Config> {
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Config::default()),
        Err(e) => Err(Error::refused(format!("{} cannot be read", path.display())).because(e)),
        Ok(meta) if !meta.is_file() => Err(Error::usage(format!("{} is not a regular file", path.display()))
            .hint("replace the link or directory by the file itself")),
        Ok(meta) if meta.len() > config::MAX_BYTES as u64 => {
            Err(Error::usage(format!("{} is larger than 1 MiB", path.display()))
                .hint("keep only configuration in it"))
        }
        Ok(_) => {
            let bytes = std::fs::read(path)
                .map_err(|e| Error::refused(format!("{} cannot be read", path.display())).because(e))?;
            config::parse(&bytes, config::FILE_NAME)
        }
    }
}
