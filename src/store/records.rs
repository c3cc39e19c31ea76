//! Validation records: what a gate said of a tree on a class of devices.
//!
//! A record stands under its descriptor, a blob that says for what it counts. A record made in this clone
//! carries a code that only this clone's key can make, so that one which was fetched is never taken for one
//! that was run here.

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::git::{Repo, lock};
use crate::model::status::Verdict;
use crate::model::{Error, Oid, Result, Timestamp, canonical};
use crate::redact;

use super::ledger::{Writer, store_own_names, write_notes};
use super::travelling::{LEDGER, read};
use super::{guard, travelling};

/// For what a record counts. Its canonical JSON line is the descriptor blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// The gate: its id, a colon, its configuration's digest.
    pub gate: String,
    /// The tree that was judged.
    pub tree: Oid,
    /// Vendor, architecture, name and count of the devices; `cpu` for gates that need none.
    pub device_class: String,
    /// SHA-256 of the driver, toolkit and framework versions the gate asks for.
    pub env: String,
}

impl Descriptor {
    /// The descriptor's line, newline included.
    ///
    /// # Errors
    /// Never in practice.
    pub fn line(&self) -> Result<Vec<u8>> {
        let mut line = canonical::to_string(self)?.into_bytes();
        line.push(b'\n');
        Ok(line)
    }
}

/// What a gate said, with what it takes to trust it and to run it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When the run ended.
    pub at: Timestamp,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in one line.
    #[serde(default)]
    pub reason: String,
    /// The commit it ran on.
    pub commit: Oid,
    /// The command.
    #[serde(default)]
    pub command: String,
    /// Exit status of the last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
    /// How often it ran.
    #[serde(default)]
    pub runs: u32,
    /// How many runs passed.
    #[serde(default)]
    pub passes: u32,
    /// Time of all runs in milliseconds.
    #[serde(default)]
    pub millis: u64,
    /// Whether the working directory held nothing from before.
    #[serde(default)]
    pub fresh: bool,
    /// What the gate's kind found: counts, maxima, findings. Null when the verdict says it all.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub details: serde_json::Value,
    /// The device it ran on, in words.
    #[serde(default)]
    pub device: String,
    /// Where it ran.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub environment: serde_json::Value,
    /// SHA-256 of the outputs.
    #[serde(default)]
    pub output_sha256: String,
    /// The outputs, as evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Oid>,
    /// Code made with the key of the clone where it ran.
    #[serde(default)]
    pub mac: String,
    /// Version of this format.
    pub v: u64,
}

/// A record as it is found: with whether it may decide anything here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The record.
    pub record: Record,
    /// Run in this clone. Else it is only claimed, until signatures are checked.
    pub counts: bool,
}

/// Records under a descriptor, oldest first. Lines that are no records are passed over.
///
/// # Errors
/// An object is not here.
pub fn find(repo: &Repo, descriptor: &Descriptor) -> Result<Vec<Found>> {
    under(repo, &Repo::blob_name(&descriptor.line()?)?)
}

/// As [`find`], by the descriptor's name.
///
/// # Errors
/// An object is not here.
pub fn under(repo: &Repo, key: &Oid) -> Result<Vec<Found>> {
    let note = read(repo, LEDGER.notes, key)?;
    let secret = if note.is_empty() { None } else { clone_key(repo, false)? };
    let mut found: Vec<Found> = crate::fold::split_lines(&note)
        .filter_map(|l| serde_json::from_slice::<Record>(l).ok())
        .filter(|r| r.v == 1)
        .map(|record| {
            let counts =
                secret.as_ref().is_some_and(|s| code(s, key, &record).is_ok_and(|c| c == record.mac));
            Found { record, counts }
        })
        .collect();
    found.sort_by(|a, b| (a.record.at, &a.record.mac).cmp(&(b.record.at, &b.record.mac)));
    Ok(found)
}

/// Adds a record made here. Returns its descriptor's name.
///
/// # Errors
/// The repository cannot be written.
pub fn add(repo: &Repo, writer: &Writer<'_>, descriptor: &Descriptor, mut record: Record) -> Result<Oid> {
    let secret =
        clone_key(repo, true)?.ok_or_else(|| Error::bug("this clone's key was made and is not there"))?;
    let line = descriptor.line()?;
    let key = Repo::blob_name(&line)?;
    let mut value =
        serde_json::to_value(&record).map_err(|e| Error::bug("a record cannot be written").because(e))?;
    if redact::cut(&mut value) {
        record = serde_json::from_value(value)
            .map_err(|e| Error::bug("a record without its secrets cannot be read").because(e))?;
    }
    record.mac = code(&secret, &key, &record)?;
    let mut record_line = canonical::to_string(&record)?.into_bytes();
    record_line.push(b'\n');
    let _lock = lock::WriterLock::acquire(repo)?;
    guard::mend_locked(repo, LEDGER, &writer.signature)?;
    repo.write_blob(&line)?;
    let mut own_names = vec![key.clone()];
    own_names.extend(record.evidence.clone());
    store_own_names(repo, writer, &own_names)?;
    let mut note = read(repo, LEDGER.kept, &key)?;
    if note.is_empty() {
        note = line;
    }
    let note = travelling::union_of_lines(&[note, record_line]);
    write_notes(
        repo,
        writer,
        vec![(key.clone(), note)],
        &format!("record {} {}", record.verdict, key.short()),
    )?;
    Ok(key)
}

fn code(secret: &[u8], key: &Oid, record: &Record) -> Result<String> {
    let unsigned = Record { mac: String::new(), ..record.clone() };
    let text = canonical::to_string(&unsigned)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret)
        .map_err(|e| Error::bug("HMAC takes keys of any length").because(e))?;
    mac.update(key.as_str().as_bytes());
    mac.update(text.as_bytes());
    Ok(canonical::hex(&mac.finalize().into_bytes()))
}

/// This clone's key: 32 random bytes that never leave the git directory.
fn clone_key(repo: &Repo, make: bool) -> Result<Option<Vec<u8>>> {
    use std::io::Write;

    let directory = if make { lock::state_dir(repo)? } else { repo.common_dir().join("incident") };
    let path = directory.join("record-key");
    match std::fs::read(&path) {
        Ok(bytes) if bytes.len() == 32 => return Ok(Some(bytes)),
        Ok(_) => {
            return Err(Error::refused(format!("{} is damaged", path.display()))
                .hint("remove it; records made before then will only count as claimed"));
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && !make => return Ok(None),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::refused(format!("{} cannot be read", path.display())).because(e)),
    }
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|e| Error::refused("no randomness").because(e))?;
    // Written whole under another name, then linked: of two makers one wins, and both read the same key.
    let mut temporary = tempfile::Builder::new().prefix("record-key").tempfile_in(&directory)?;
    temporary.write_all(&bytes)?;
    temporary.as_file().sync_all()?;
    match temporary.persist_noclobber(&path) {
        Ok(_) => Ok(Some(bytes.to_vec())),
        Err(e) if e.error.kind() == std::io::ErrorKind::AlreadyExists => clone_key(repo, false),
        Err(e) => Err(Error::refused(format!("{} cannot be written", path.display())).because(e.error)),
    }
}

/// Records under a descriptor's name, whoever made them, in the order of the note. For showing and for holding what
/// a document claims against; nothing is decided by them.
///
/// # Errors
/// An object is not here.
pub fn claimed(repo: &Repo, descriptor: &Oid) -> Result<Vec<Record>> {
    let note = read(repo, LEDGER.notes, descriptor)?;
    Ok(crate::fold::split_lines(&note)
        .filter_map(|l| serde_json::from_slice::<Record>(l).ok())
        .filter(|r| r.v == 1)
        .collect())
}
