//! Validation records under a descriptor.

use crate::git::examine::Stored;
use crate::git::program::Git;
use crate::git::repo::to_git;
use crate::git::signing::{Settings, fingerprint};
use crate::model::Oid;

use super::super::records::{Descriptor, Integrity, Record, integrity};
use super::super::travelling::{EVIDENCE, LEDGER};
use super::notes::{Note, name_of};
use super::{Check, Problem};

/// So many signatures are checked: each takes a process.
const MOST_SIGNATURES: usize = 500;

impl Check<'_> {
    /// A note of records.
    pub(super) fn record_note(&mut self, note: &Note) {
        let key = &note.key;
        self.report.checked.records += note.records.len();
        self.damaged_lines(note, None, &|_| false);
        match &note.descriptor {
            Some((descriptor, true)) => {
                if let Ok(line) = descriptor.line() {
                    self.noted_under_own_name(key, line, "descriptor");
                }
                for (n, record, raw) in &note.records {
                    self.record(key, descriptor, *n, record);
                    self.record_integrity(key, *n, record, raw);
                }
            }
            Some((_, false)) => {
                let text = "its records stand under a descriptor that is not theirs: nothing finds them here";
                self.tell(Problem::error("descriptor", LEDGER.notes, text).key(key).repairable());
                if let Ok(id) = to_git(key) {
                    self.aside_notes(LEDGER, id, text);
                }
            }
            None => self.lost_descriptor(key),
        }
    }

    /// The line may still be there as the blob that is the key.
    fn lost_descriptor(&mut self, key: &Oid) {
        let line =
            self.small_blob(key).and_then(|b| b.strip_suffix(b"\n").map(<[u8]>::to_vec)).filter(|line| {
                name_of(line).as_ref() == Some(key) && serde_json::from_slice::<Descriptor>(line).is_ok()
            });
        if let Some(line) = line {
            let text = "the note has lost its descriptor's line, which the object still holds";
            self.tell(Problem::error("descriptor", LEDGER.notes, text).key(key).repairable());
            self.plan.add_lines.insert(key.clone(), line);
        } else {
            let text = "records without the descriptor that says for what they count";
            self.tell(Problem::error("descriptor", LEDGER.notes, text).key(key).repairable());
            if let Ok(id) = to_git(key) {
                self.aside_notes(LEDGER, id, text);
            }
        }
    }

    /// Whether code and signature fit. Whom to believe is not asked here: that depends on who asks, and for what.
    fn record_integrity(&mut self, key: &Oid, n: usize, record: &Record, raw: &[u8]) {
        let signed = !record.signature.is_empty();
        if signed && self.signatures == MOST_SIGNATURES {
            self.unchecked += 1;
            return;
        }
        if signed {
            self.signatures += 1;
        }
        let program = if signed { self.program() } else { None };
        let text = match integrity(self.repo, key, raw, program.as_deref()) {
            Ok(Integrity::Whole) => return,
            Ok(Integrity::CodeDiffers) => {
                "the record says it was made in this clone, and its code says otherwise: it was altered, or written \
                 by somebody else"
                    .to_owned()
            }
            Ok(Integrity::SignatureDiffers) => format!(
                "the signature of a record does not fit it: it was altered, or moved from another descriptor (key {})",
                fingerprint(&record.signature).unwrap_or_else(|| "unreadable".to_owned())
            ),
            Ok(Integrity::Unchecked) => {
                self.unchecked += 1;
                return;
            }
            Err(error) => error.to_string(),
        };
        self.tell(Problem::error("record", LEDGER.notes, text).key(key).line(n));
    }

    /// The program that checks signatures; `None` where the configuration cannot be read.
    fn program(&self) -> Option<std::path::PathBuf> {
        let load = || {
            let directory = self.repo.workdir().unwrap_or_else(|| self.repo.git_dir());
            Settings::of(&Git::at(directory)).ok().map(|settings| settings.program())
        };
        self.program.get_or_init(load).clone()
    }

    fn record(&mut self, key: &Oid, descriptor: &Descriptor, n: usize, record: &Record) {
        let say = |problem: Problem| problem.key(key).line(n);
        if let Ok(tree) = self.repo.tree_of(&record.commit)
            && tree != descriptor.tree
        {
            let text = format!(
                "the record is of commit {}, whose tree is not the one the descriptor names",
                record.commit.short()
            );
            self.tell(say(Problem::error("record", LEDGER.notes, text)));
        }
        let Some(evidence) = &record.evidence else { return };
        let Ok(id) = to_git(evidence) else { return };
        if !self.absent.remove(&id) {
            return;
        }
        match self.objects.look(id) {
            Stored::Missing if self.partial => self.not_fetched += 1,
            _ => {
                let text = format!("the outputs of a record are not here: {evidence}");
                self.tell(say(Problem::error("evidence-missing", EVIDENCE.notes, text)));
            }
        }
    }
}
