//! Validation records: what a gate said of a tree on a class of devices.
//!
//! A record stands under its descriptor, a blob that says for what it counts. A record made in this clone
//! carries a code that only this clone's key can make. One that was fetched counts when an allowed signer signed it;
//! else it is claimed, and decides nothing.
//!
//! | file | what it knows |
//! |---|---|
//! | `line` | a record's line, and what is signed of it |
//! | `key` | this clone's key, and codes made with it |
//! | `vouch` | whether somebody who may vouches for a record |

mod key;
pub mod line;
mod vouch;

use serde::{Deserialize, Serialize};

use crate::git::{Repo, lock};
use crate::model::status::Verdict;
use crate::model::{Error, Oid, Result, Timestamp, canonical};
use crate::redact;

use super::ledger::{Writer, store_own_names, write_notes};
use super::travelling::{LEDGER, read};
use super::{guard, travelling};
use key::{clone_key, clone_name, code};

pub use vouch::{Signers, Source};

/// So many signatures under one descriptor are checked, the newest first: each takes a process, and anybody can write
/// lines.
const MOST_CHECKED: usize = 32;

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
    /// When the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// Every command that ran, in order; [`Record::command`] is the gate's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// What was seen of the GPUs it ran on. Null for gates that need none.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub gpu: serde_json::Value,
    /// Which clone it ran in: a digest of that clone's key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub clone: String,
    /// Code made with the key of the clone where it ran.
    #[serde(default)]
    pub mac: String,
    /// Signature by an SSH key, base 64 without its armour; empty when there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// Version of this format.
    pub v: u64,
}

/// A record as it is found: with whether it may decide anything here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The record.
    pub record: Record,
    /// Run in this clone, or signed by somebody who may. Else it is only claimed.
    pub counts: bool,
    /// The allowed signer who vouches for one that was made elsewhere; the key's fingerprint for one of ours.
    pub signed_by: Option<String>,
    /// Why it does not count; empty when it does.
    pub doubt: String,
}

/// Records under a descriptor, oldest first. Lines that are no records are passed over.
///
/// # Errors
/// An object is not here.
pub fn find(repo: &Repo, descriptor: &Descriptor, signers: &Signers) -> Result<Vec<Found>> {
    under(repo, &Repo::blob_name(&descriptor.line()?)?, signers)
}

/// As [`find`], by the descriptor's name.
///
/// # Errors
/// An object is not here.
pub fn under(repo: &Repo, key: &Oid, signers: &Signers) -> Result<Vec<Found>> {
    let note = read(repo, LEDGER.notes, key)?;
    let secret = if note.is_empty() { None } else { clone_key(repo, false)? };
    let mut lines: Vec<line::Read> = crate::fold::split_lines(&note).filter_map(line::read).collect();
    lines.sort_by(|a, b| {
        (a.record.at, &a.record.mac, &a.record.signature).cmp(&(
            b.record.at,
            &b.record.mac,
            &b.record.signature,
        ))
    });
    let mut checked = 0;
    let mut found: Vec<Found> = lines
        .into_iter()
        .rev()
        .map(|read| {
            let ours = secret
                .as_ref()
                .is_some_and(|s| code(s, key, &read.value).is_ok_and(|c| c == read.record.mac));
            let standing = if ours {
                Ok(crate::git::signing::fingerprint(&read.record.signature))
            } else if checked == MOST_CHECKED && !read.record.signature.is_empty() {
                Err(format!("only the newest {MOST_CHECKED} signatures are checked"))
            } else {
                checked += usize::from(!read.record.signature.is_empty());
                signers.vouch(repo, key, &read).map(Some)
            };
            let record = read.record;
            match standing {
                Ok(signed_by) => Found { record, counts: true, signed_by, doubt: String::new() },
                Err(doubt) => Found { record, counts: false, signed_by: None, doubt },
            }
        })
        .collect();
    found.reverse();
    Ok(found)
}

/// A larger object is no descriptor.
const MOST_DESCRIPTOR: u64 = 4096;

/// Every descriptor of a gate and a tree, whatever the device and the environment.
///
/// This looks at the keys of all notes, so it is for those who cannot name the device.
///
/// # Errors
/// The notes cannot be read.
pub fn descriptors_of(repo: &Repo, gate: &str, tree: &Oid) -> Result<Vec<Descriptor>> {
    let Some(commit) = crate::git::refs::read(repo, LEDGER.notes)? else {
        return Ok(Vec::new());
    };
    let notes = crate::git::notes::tree_of(repo, &commit)?;
    let mut found: Vec<Descriptor> = Vec::new();
    for (key, _) in crate::git::notes::entries(repo, &notes)? {
        if repo.size_of(&key).is_none_or(|size| size > MOST_DESCRIPTOR) {
            continue;
        }
        let Ok(bytes) = repo.blob(&key) else { continue };
        let Ok(descriptor) = serde_json::from_slice::<Descriptor>(&bytes) else { continue };
        let own = descriptor.line().is_ok_and(|line| line == bytes);
        if own && descriptor.gate == gate && descriptor.tree == *tree && !found.contains(&descriptor) {
            found.push(descriptor);
        }
    }
    Ok(found)
}

/// What [`fsck`](super::fsck) can tell of a record without knowing whom to believe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integrity {
    /// Nothing to object to.
    Whole,
    /// It names this clone, and this clone's key makes another code.
    CodeDiffers,
    /// Its signature does not fit it.
    SignatureDiffers,
    /// Its signature could not be checked.
    Unchecked,
}

/// Holds a record against its code and its signature.
///
/// # Errors
/// This clone's key cannot be read.
pub(super) fn integrity(
    repo: &Repo,
    key: &Oid,
    raw: &[u8],
    program: Option<&std::path::Path>,
) -> Result<Integrity> {
    let Some(read) = line::read(raw) else { return Ok(Integrity::Whole) };
    if let Some(secret) = clone_key(repo, false)? {
        let own = read.record.clone == clone_name(&secret);
        if own && code(&secret, key, &read.value).map_or(true, |c| c != read.record.mac) {
            return Ok(Integrity::CodeDiffers);
        }
    }
    if read.record.signature.is_empty() {
        return Ok(Integrity::Whole);
    }
    let Some(program) = program else { return Ok(Integrity::Unchecked) };
    let signed = line::payload(key, &read.value);
    Ok(
        match signed
            .and_then(|signed| crate::git::signing::is_intact(program, &signed, &read.record.signature))
        {
            Ok(true) if read.canonical => Integrity::Whole,
            Ok(_) => Integrity::SignatureDiffers,
            Err(_) => Integrity::Unchecked,
        },
    )
}

/// Adds a record made here. `sign` is given what is to be signed and returns the signature, or nothing. Returns the
/// descriptor's name, and the record as it was written.
///
/// # Errors
/// The repository cannot be written.
pub fn add(
    repo: &Repo,
    writer: &Writer<'_>,
    descriptor: &Descriptor,
    mut record: Record,
    sign: &mut dyn FnMut(&[u8]) -> Option<String>,
) -> Result<(Oid, Record)> {
    let secret =
        clone_key(repo, true)?.ok_or_else(|| Error::bug("this clone's key was made and is not there"))?;
    let line = descriptor.line()?;
    let key = Repo::blob_name(&line)?;
    let as_value = |record: &Record| {
        serde_json::to_value(record).map_err(|e| Error::bug("a record cannot be written").because(e))
    };
    let mut value = as_value(&record)?;
    if redact::cut(&mut value) {
        record = serde_json::from_value(value)
            .map_err(|e| Error::bug("a record without its secrets cannot be read").because(e))?;
    }
    record.clone = clone_name(&secret);
    // Signed before anything is locked: somebody may have to touch a key.
    record.signature = sign(&line::payload(&key, &as_value(&record)?)?).unwrap_or_default();
    record.mac = code(&secret, &key, &as_value(&record)?)?;
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
    Ok((key, record))
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
