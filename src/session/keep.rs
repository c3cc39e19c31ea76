//! Storing evidence: secrets are cut out before anything is written, then the file becomes a blob.

use std::path::Path;

use super::Session;
use crate::event::EvidenceAdded;
use crate::git::Repo;
use crate::model::incident::Redaction;
use crate::model::{Error, EventId, Result, canonical};
use crate::redact::{self, AllowedFinding};
use crate::store::evidence::{self, Policy, Stored};
use crate::store::tombstones;

/// A file that was written as a blob and waits for the event that names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The event to append.
    pub event: EvidenceAdded,
    /// What to tell the user, if anything was cut out.
    pub remark: Option<String>,
}

impl Session {
    /// The size policy of the configuration.
    ///
    /// # Errors
    /// The configuration is wrong.
    pub fn evidence_policy(&self) -> Result<Policy> {
        let evidence = &self.config()?.evidence;
        Ok(Policy { max_compressed: evidence.max, max: evidence.hard_max })
    }

    /// Writes bytes as evidence, secrets cut out except those that are allowed by name.
    ///
    /// # Errors
    /// Too large a file; a repository that cannot be written.
    pub fn keep(
        &self,
        name: &str,
        kind: &str,
        bytes: &[u8],
        attempt: Option<EventId>,
        allow: &[AllowedFinding],
    ) -> Result<Kept> {
        let redacted = redact::redact_except(bytes, allow);
        if tombstones::is_known(&self.repo, &Repo::blob_name(&redacted.bytes)?) {
            return Err(Error::refused(format!("{name:?} was purged, and no ledger takes it up again"))
                .because("a tombstone names its content, so the next sync would remove it")
                .hint("cut out what must not be kept, and store the rest"));
        }
        let Stored { oid, sha256, bytes: size } =
            evidence::store(&self.repo, name, &redacted.bytes, self.evidence_policy()?)?;
        let cut: Vec<Redaction> =
            redacted.found.iter().map(|f| Redaction { rule: f.rule.to_owned(), line: f.line }).collect();
        let remark = (!cut.is_empty()).then(|| {
            let list: Vec<String> = redacted
                .found
                .iter()
                .take(5)
                .map(|f| format!("{}:{}:{}", f.rule, f.line, f.column))
                .collect();
            let more = if cut.len() > 5 { format!(" and {} more", cut.len() - 5) } else { String::new() };
            format!("cut {} secrets out of {name} before storing it: {}{more}", cut.len(), list.join(", "))
        });
        let event = EvidenceAdded {
            oid: Some(oid),
            sha256,
            bytes: size,
            name: safe_name(&without_secrets(name)),
            kind: kind.to_owned(),
            attempt,
            location: String::new(),
            redacted: cut,
        };
        Ok(Kept { event, remark })
    }

    /// Describes a file that stays where it is.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn describe_outside(
        &self,
        path: &Path,
        kind: &str,
        attempt: Option<EventId>,
    ) -> Result<EvidenceAdded> {
        use sha2::{Digest, Sha256};
        use std::io::Read;
        let mut file = std::fs::File::open(path).map_err(|e| {
            crate::model::Error::refused(format!("{} cannot be opened", path.display())).because(e)
        })?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 20];
        let mut size = 0_u64;
        loop {
            let n = file.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            hash.update(&buffer[..n]);
            size += n as u64;
        }
        let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        Ok(EvidenceAdded {
            oid: None,
            sha256: canonical::hex(&hash.finalize()),
            bytes: size,
            name: safe_name(&without_secrets(
                &path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned()),
            )),
            kind: kind.to_owned(),
            attempt,
            location: without_secrets(&place.display().to_string()),
            redacted: Vec::new(),
        })
    }
}

/// A text with its secrets cut out, for fields of events.
pub fn without_secrets(text: &str) -> String {
    redact::redact_str(text).0.into_owned()
}

/// A name that stays a name: relative, without `..`, whatever it came from.
pub fn safe_name(name: &str) -> String {
    let parts: Vec<&str> =
        name.split(['/', '\\']).filter(|p| !p.is_empty() && *p != "." && *p != "..").collect();
    let joined: String = parts.join("/").chars().filter(|c| !c.is_control()).take(240).collect();
    if joined.is_empty() { "unnamed".to_owned() } else { joined }
}

#[cfg(test)]
mod tests {
    use super::safe_name;

    #[test]
    fn names_lead_nowhere() {
        assert_eq!(safe_name("../../x"), "x");
        assert_eq!(safe_name("/etc/passwd"), "etc/passwd");
        assert_eq!(safe_name("..\\a\u{1b}[31m"), "a[31m");
        assert_eq!(safe_name("../.."), "unnamed");
    }
}
