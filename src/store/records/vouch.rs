//! Whether a record that was made elsewhere counts: an allowed signer vouches for it.

use std::cell::OnceCell;

use super::line::{Read, payload};
use crate::git::Repo;
use crate::git::program::Git;
use crate::git::signing::{Checked, Rules, Settings, check};
use crate::model::{Error, Oid, Result, Timestamp};

/// So far ahead of our clock a record may be.
const AHEAD: i64 = 10 * 60 * 1000;

/// Where the list of allowed signers is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The person's own, `gpg.ssh.allowedSignersFile`.
    Own,
    /// A file of the repository, as a commit has it; a commit without it allows nobody.
    Repository {
        /// The commit that decides.
        commit: Oid,
        /// The allowed signers.
        signers: String,
        /// Keys that are not trusted any more.
        revoked: Option<String>,
    },
}

/// Who may sign records here.
#[derive(Debug)]
pub struct Signers {
    source: Source,
    git: Git,
    now: Timestamp,
    rules: OnceCell<std::result::Result<Rules, String>>,
}

impl Signers {
    /// Those of a source. Nothing is read before a signature has to be checked.
    pub fn new(source: Source, git: Git, now: Timestamp) -> Self {
        Self { source, git, now, rules: OnceCell::new() }
    }

    /// Where the list stands, for messages.
    pub fn place(&self) -> String {
        match &self.source {
            Source::Own => "gpg.ssh.allowedSignersFile".into(),
            Source::Repository { commit, signers, .. } => format!("{signers} at {}", commit.short()),
        }
    }

    fn rules(&self, repo: &Repo) -> std::result::Result<&Rules, String> {
        self.rules.get_or_init(|| self.load(repo).map_err(|e| e.to_string())).as_ref().map_err(Clone::clone)
    }

    fn load(&self, repo: &Repo) -> Result<Rules> {
        let settings = Settings::of(&self.git)?;
        let mut revoked = Vec::new();
        if let Some(path) = settings.revoked() {
            // A list that cannot be read must not make a revoked key good again.
            revoked.push(std::fs::read(&path).map_err(|e| {
                Error::refused(format!("gpg.ssh.revocationFile {} cannot be read", path.display())).because(e)
            })?);
        }
        let nobody = |what: String| Err(Error::refused(what));
        let allowed = match &self.source {
            Source::Own => match settings.allowed_signers() {
                None => return nobody(
                    "no signers are allowed: neither [records] signers nor gpg.ssh.allowedSignersFile is set"
                        .into(),
                ),
                Some(path) => match std::fs::read(&path) {
                    Ok(bytes) => bytes,
                    Err(error) => return nobody(format!("{}: {error}", path.display())),
                },
            },
            Source::Repository { commit, signers, revoked: list } => {
                if let Some(list) = list {
                    match repo.file_at(commit, list)? {
                        Some(bytes) => revoked.push(bytes),
                        None => return nobody(format!("{list} of [records] is not in {}", commit.short())),
                    }
                }
                match repo.file_at(commit, signers)? {
                    Some(bytes) => bytes,
                    None => return nobody(format!("{signers} of [records] is not in {}", commit.short())),
                }
            }
        };
        Ok(Rules { program: settings.program(), allowed, revoked })
    }

    /// The name of the signer who vouches for a record, or why nobody does.
    pub(super) fn vouch(&self, repo: &Repo, key: &Oid, read: &Read) -> std::result::Result<String, String> {
        let record = &read.record;
        if record.signature.is_empty() {
            return Err("it is not signed".into());
        }
        if !read.canonical {
            return Err("its line is not written as records are".into());
        }
        if record.at.millis() > self.now.millis().saturating_add(AHEAD) {
            return Err(format!("it is of {}, which is yet to come", record.at));
        }
        let rules = self.rules(repo)?;
        let signed = payload(key, &read.value).map_err(|e| e.to_string())?;
        match check(rules, &signed, &record.signature, record.at) {
            Ok(Checked::Good { principal }) => Ok(principal),
            Ok(Checked::Not(why)) => Err(why),
            Err(error) => Err(error.to_string()),
        }
    }
}
