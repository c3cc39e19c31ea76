//! Whose commands may run: those of a configuration that a person has looked at.
//!
//! A configuration comes with whatever was cloned or fetched, and it names commands. None runs before a
//! person has approved exactly these bytes (and those of the files under `pin`). The approval stands
//! outside of the repository, in `$XDG_STATE_HOME/git-incident/trust/`, under a digest of the repository's path, in a
//! file that nobody else can write; no setting of a repository reaches it.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Session;
use crate::config::{self, Config, Device};
use crate::git::whole::{self, Access};
use crate::model::canonical::sha256_hex;
use crate::model::{Error, Oid, Result, Timestamp};

/// What stands for the digest of a pinned file that is not there.
const ABSENT: &str = "absent";

/// The largest trust file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Pinned files and their digests.
pub type Pins = BTreeMap<String, String>;

/// One approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// When it was given.
    pub at: Timestamp,
    /// SHA-256 of the configuration's bytes.
    pub config: String,
    /// SHA-256 of each pinned file.
    #[serde(default)]
    pub pins: Pins,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    /// For people who look: the file's name is a digest of it.
    common_dir: String,
    approvals: Vec<Approval>,
    v: u64,
}

/// Whether commands may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// A person has approved them.
    Given,
    /// Not, for this reason.
    Missing(String),
}

/// A command that a configuration can make us run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Power {
    /// Where it is named: `gate unit, run`.
    pub place: String,
    /// The shell command.
    pub command: String,
    /// Files of the same version that it names.
    pub scripts: Vec<Script>,
}

/// A file that a command names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Its path in the repository.
    pub path: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// Everything that is to be approved at once.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Where it comes from: a commit, or the working tree.
    pub source: String,
    /// SHA-256 of the configuration's bytes.
    pub digest: String,
    /// Every command it can make us run.
    pub powers: Vec<Power>,
    /// The files under `pin`.
    pub pins: Pins,
    /// Whether this was approved before.
    pub given: bool,
}

/// Where the files of a version are read.
#[derive(Clone, Copy)]
enum Place<'a> {
    Commit(&'a Oid),
    WorkingTree(&'a Path),
}

impl Session {
    /// Whether a configuration's commands may run, given the digests of its pinned files.
    ///
    /// # Errors
    /// No home directory is known.
    pub fn is_trusted(&self, config: &[u8], pins: &Pins) -> Result<Trust> {
        let file = match self.read_trust()? {
            Ok(file) => file,
            Err(reason) => return Ok(Trust::Missing(reason)),
        };
        let digest = sha256_hex(config);
        let same: Vec<&Approval> = file.approvals.iter().filter(|a| a.config == digest).collect();
        Ok(if same.iter().any(|a| a.pins == *pins) {
            Trust::Given
        } else if same.is_empty() && file.approvals.is_empty() {
            Trust::Missing("nobody has approved the commands of this repository".to_owned())
        } else if same.is_empty() {
            Trust::Missing("the configuration is not the one that was approved".to_owned())
        } else {
            Trust::Missing("a pinned file is not the one that was approved".to_owned())
        })
    }

    /// Whether the commands of a commit's configuration may run.
    ///
    /// # Errors
    /// The configuration is wrong; no home directory is known.
    pub fn commit_trust(&self, commit: &Oid) -> Result<Trust> {
        let Some(bytes) = self.repo.file_at(commit, config::FILE_NAME)? else {
            return Ok(Trust::Given);
        };
        let config = self.config_at(commit)?;
        self.is_trusted(&bytes, &self.pins(&config, Place::Commit(commit))?)
    }

    /// Whether what the working tree's configuration names may run.
    ///
    /// # Errors
    /// The configuration is wrong; no home directory is known.
    pub fn working_trust(&self) -> Result<Trust> {
        let Some((bytes, config, top)) = self.working_configuration()? else {
            return Ok(Trust::Given);
        };
        self.is_trusted(&bytes, &self.pins(&config, Place::WorkingTree(top))?)
    }

    /// The `[on-hang]` captures of the working tree's configuration, if a person has approved it.
    ///
    /// # Errors
    /// Why they may not run.
    pub fn trusted_captures(&self) -> Result<Vec<String>> {
        let Some((bytes, config, top)) = self.working_configuration()? else {
            return Ok(Vec::new());
        };
        if config.on_hang.capture.is_empty() {
            return Ok(Vec::new());
        }
        match self.is_trusted(&bytes, &self.pins(&config, Place::WorkingTree(top))?)? {
            Trust::Given => Ok(config.on_hang.capture),
            Trust::Missing(reason) => Err(Error::refused("they wait for an approval: git incident trust")
                .because(reason)
                .hint("look at them and approve them: git incident trust")),
        }
    }

    /// The working tree's configuration, read once, so that what was approved is what runs.
    fn working_configuration(&self) -> Result<Option<(Vec<u8>, Config, &Path)>> {
        let Some(top) = self.repo.workdir() else {
            return Ok(None);
        };
        let Some(bytes) = working_file(&top.join(config::FILE_NAME))? else {
            return Ok(None);
        };
        let config = config::parse(&bytes, config::FILE_NAME)?;
        Ok(Some((bytes, config, top)))
    }

    /// What can be approved: a commit's configuration, or without one the working tree's and HEAD's.
    ///
    /// # Errors
    /// No such commit; the configuration is wrong.
    pub fn proposals(&self, commit: Option<&Oid>) -> Result<Vec<Proposal>> {
        let mut proposals: Vec<Proposal> = Vec::new();
        let head = if commit.is_none() { self.repo.head_commit()? } else { None };
        if commit.is_none()
            && let Some(top) = self.repo.workdir()
            && let Some(bytes) = working_file(&top.join(config::FILE_NAME))?
        {
            let config = config::parse(&bytes, config::FILE_NAME)?;
            proposals.push(self.proposal("the working tree", &bytes, &config, Place::WorkingTree(top))?);
        }
        if let Some(commit) = commit.or(head.as_ref())
            && let Some(bytes) = self.repo.file_at(commit, config::FILE_NAME)?
        {
            let config = self.config_at(commit)?;
            let source = format!("commit {}", commit.short());
            let proposal = self.proposal(&source, &bytes, &config, Place::Commit(commit))?;
            if !proposals.iter().any(|p| p.digest == proposal.digest && p.pins == proposal.pins) {
                proposals.push(proposal);
            }
        }
        Ok(proposals)
    }

    /// Records an approval.
    ///
    /// # Errors
    /// The state directory cannot be written, or others can write it.
    pub fn approve(&self, proposal: &Proposal) -> Result<PathBuf> {
        let path = self.trust_file()?;
        let mut file = self.read_trust()?.unwrap_or_default();
        file.v = 1;
        file.common_dir = self.repo.common_dir().display().to_string();
        file.approvals.retain(|a| a.config != proposal.digest || a.pins != proposal.pins);
        let approval =
            Approval { at: self.now(), config: proposal.digest.clone(), pins: proposal.pins.clone() };
        file.approvals.push(approval);
        let write = || -> std::io::Result<()> {
            let directory = path.parent().unwrap_or(Path::new("/"));
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            whole::replace_durably(&path, &serde_json::to_vec_pretty(&file)?, Access::Owner)
        };
        write().map_err(|e| {
            Error::refused(format!("{} cannot be written", path.display()))
                .because(e)
                .hint("see who owns it, or set XDG_STATE_HOME")
        })?;
        // What cannot be read back as ours would be an approval without effect.
        match self.read_trust()? {
            Ok(_) => Ok(path),
            Err(reason) => Err(Error::refused("the approval has no effect").because(reason)),
        }
    }

    /// The approvals given for this repository.
    ///
    /// # Errors
    /// A trust file that is not to be believed.
    pub fn approvals(&self) -> Result<Vec<Approval>> {
        match self.read_trust()? {
            Ok(file) => Ok(file.approvals),
            Err(reason) => Err(Error::refused("the approvals are ignored").because(reason)),
        }
    }

    /// Takes every approval for this repository back. Says how many there were.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn revoke_trust(&self) -> Result<usize> {
        let count = self.read_trust()?.map_or(0, |file| file.approvals.len());
        let path = self.trust_file()?;
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(count),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(e) => Err(Error::refused(format!("{} cannot be removed", path.display())).because(e)),
        }
    }

    fn trust_file(&self) -> Result<PathBuf> {
        let name = sha256_hex(self.repo.common_dir().as_os_str().as_bytes());
        Ok(self.trust_dir()?.join("trust").join(format!("{name}.json")))
    }

    /// The file, or why it is ignored.
    fn read_trust(&self) -> Result<std::result::Result<File, String>> {
        let path = self.trust_file()?;
        Ok(read_own_file(&path).and_then(|bytes| match bytes {
            None => Ok(File::default()),
            Some(bytes) => serde_json::from_slice::<File>(&bytes)
                .map_err(|e| format!("{} is damaged: {e}", path.display())),
        }))
    }

    fn pins(&self, config: &Config, place: Place<'_>) -> Result<Pins> {
        let mut pins = Pins::new();
        for path in config.gates.iter().flat_map(|gate| &gate.pin) {
            let digest =
                self.file(place, path)?.map_or_else(|| ABSENT.to_owned(), |bytes| sha256_hex(&bytes));
            pins.insert(path.clone(), digest);
        }
        Ok(pins)
    }

    fn file(&self, place: Place<'_>, path: &str) -> Result<Option<Vec<u8>>> {
        match place {
            Place::Commit(commit) => self.repo.file_at(commit, path),
            Place::WorkingTree(top) => working_file(&top.join(path)),
        }
    }

    fn proposal(&self, source: &str, bytes: &[u8], config: &Config, place: Place<'_>) -> Result<Proposal> {
        let mut named: Vec<(String, &str)> = Vec::new();
        for gate in &config.gates {
            if let Device::Custom(probe) = &gate.device {
                named.push((format!("gate {}, device probe", gate.id), probe));
            }
            named.extend(gate.prepare.as_deref().map(|c| (format!("gate {}, prepare", gate.id), c)));
            named.extend(gate.run.as_deref().map(|c| (format!("gate {}, run", gate.id), c)));
            named.extend(gate.kernel.command().map(|c| (format!("gate {}, reference", gate.id), c)));
        }
        named.extend(config.on_hang.capture.iter().map(|c| ("on-hang capture".to_owned(), c.as_str())));
        let mut powers = Vec::new();
        for (place_named, command) in named {
            let mut scripts = Vec::new();
            for path in paths_in(command) {
                if let Some(content) = self.file(place, &path)? {
                    scripts.push(Script { path, sha256: sha256_hex(&content), content });
                }
            }
            powers.push(Power { place: place_named, command: command.to_owned(), scripts });
        }
        for gate in &config.gates {
            for (path, entry) in gate.kernel.launched() {
                let content = self.file(place, path)?;
                let scripts = content
                    .map(|content| Script { path: path.to_owned(), sha256: sha256_hex(&content), content })
                    .into_iter()
                    .collect();
                powers.push(Power {
                    place: format!("gate {}, kernel", gate.id),
                    command: format!("launch {entry} of {path}"),
                    scripts,
                });
            }
        }
        let pins = self.pins(config, place)?;
        Ok(Proposal {
            source: source.to_owned(),
            digest: sha256_hex(bytes),
            powers,
            given: self.is_trusted(bytes, &pins)? == Trust::Given,
            pins,
        })
    }
}

/// The words of a shell command that may be paths inside the repository, each once.
fn paths_in(command: &str) -> Vec<String> {
    let separators = |c: char| c.is_whitespace() || "\"'`$(){}<>|&;=,:".contains(c);
    let mut paths: Vec<String> = Vec::new();
    for word in command.split(separators) {
        let word = word.trim_start_matches("./");
        let inner = !word.is_empty()
            && !word.starts_with(['/', '-', '~'])
            && word.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        if inner && !paths.iter().any(|known| known == word) {
            paths.push(word.to_owned());
        }
    }
    paths
}

/// A regular file of the working tree; `None` when there is none.
fn working_file(path: &Path) -> Result<Option<Vec<u8>>> {
    let trouble = |e: std::io::Error| Error::refused(format!("{} cannot be read", path.display())).because(e);
    match std::fs::symlink_metadata(path) {
        Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(e) => Err(trouble(e)),
        Ok(meta) if !meta.is_file() => Ok(None),
        Ok(_) => std::fs::read(path).map(Some).map_err(trouble),
    }
}

/// A file that only we can have written; `None` when there is none. The error says why it is ignored.
fn read_own_file(path: &Path) -> std::result::Result<Option<Vec<u8>>, String> {
    let us = rustix::process::geteuid().as_raw();
    let shown = path.display();
    let mut directory = path.parent();
    // Both directories that are ours: whoever can write one can put another file in place.
    for _ in 0..2 {
        let Some(at) = directory else { break };
        match std::fs::symlink_metadata(at) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(format!("{} cannot be read: {e}", at.display())),
            Ok(meta) if !meta.is_dir() => return Err(format!("{} is not a directory", at.display())),
            Ok(meta) => mine(&meta, us, at)?,
        }
        directory = at.parent();
    }
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(format!("{shown} is a symbolic link"));
        }
        Err(e) => return Err(format!("{shown} cannot be read: {e}")),
    };
    let meta = file.metadata().map_err(|e| format!("{shown} cannot be read: {e}"))?;
    if !meta.is_file() {
        return Err(format!("{shown} is not a regular file"));
    }
    mine(&meta, us, path)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|e| format!("{shown} cannot be read: {e}"))?;
    Ok(Some(bytes))
}

fn mine(meta: &std::fs::Metadata, us: u32, path: &Path) -> std::result::Result<(), String> {
    if meta.uid() != us {
        return Err(format!("{} belongs to somebody else", path.display()));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(format!("{} can be written by others: chmod go-w {0}", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn scripts_are_found_in_commands() {
        assert_eq!(
            paths_in(
                "cd bench && python3 ./bench/oracle.py --out=$GATE_OUT; sh -c 'tools/x.sh' ../out /etc/x"
            ),
            ["cd", "bench", "python3", "bench/oracle.py", "GATE_OUT", "sh", "tools/x.sh"]
        );
    }

    #[test]
    fn a_file_that_others_could_have_written_is_ignored() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("a/b");
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).unwrap();
        let path = folder.join("x.json");
        assert_eq!(read_own_file(&path), Ok(None));
        std::fs::write(&path, b"{}").unwrap();
        let chmod = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        chmod(&path, 0o600);
        assert_eq!(read_own_file(&path), Ok(Some(b"{}".to_vec())));
        chmod(&path, 0o622);
        assert!(read_own_file(&path).unwrap_err().contains("written by others"));
        chmod(&path, 0o600);
        chmod(&folder, 0o777);
        assert!(read_own_file(&path).unwrap_err().contains("written by others"));
        chmod(&folder, 0o700);
        std::fs::rename(&path, folder.join("y.json")).unwrap();
        std::os::unix::fs::symlink("y.json", &path).unwrap();
        assert!(read_own_file(&path).unwrap_err().contains("symbolic link"));
    }

    proptest! {
        #[test]
        fn no_command_leads_outside(command in any::<String>()) {
            for path in paths_in(&command) {
                prop_assert!(!path.starts_with('/') && !path.split('/').any(|p| p == ".."));
            }
        }
    }
}
