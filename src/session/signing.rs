//! Who signs the records made here, and who may vouch for records made elsewhere.

use super::Session;
use crate::git::lock;
use crate::git::signing::{Choice, Settings};
use crate::model::{Oid, Result};
use crate::store::records::{self, Descriptor, Record, Signers, Source};

/// A record that was written.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The descriptor's name.
    pub descriptor: Oid,
    /// The record.
    pub record: Record,
    /// Why it is not signed, where that has to be said.
    pub remark: Option<String>,
}

/// How to have records signed, for those who have not heard of it.
const HOW: &str = "git config gpg.format ssh && git config user.signingKey ~/.ssh/id_ed25519.pub";

impl Session {
    /// Adds a validation record, signed when the person has a key for that.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn add_record(&self, descriptor: &Descriptor, record: Record) -> Result<Recorded> {
        let mut remark = None;
        let mut sign = |payload: &[u8]| match self.sign(payload) {
            Ok(signature) => Some(signature),
            Err(why) => {
                remark = why;
                None
            }
        };
        let (descriptor, record) = records::add(&self.repo, &self.writer()?, descriptor, record, &mut sign)?;
        Ok(Recorded { descriptor, record, remark })
    }

    /// The signature, or why there is none; what need not be said again is not.
    fn sign(&self, payload: &[u8]) -> std::result::Result<String, Option<String>> {
        if self.repo.config_bool("incident.signRecords") == Some(false) {
            return Err(None);
        }
        let settings = Settings::of(&self.git()).map_err(|e| Some(format!("a record is not signed: {e}")))?;
        match settings.choice() {
            Choice::Key(signer) => signer.sign(payload).map_err(|error| {
                let causes = error.causes().join("; ");
                let hint = error.hints().first().cloned().unwrap_or_default();
                Some(format!("{}: {causes} ({hint})", error.what()))
            }),
            Choice::Unsupported(why) => Err(self.say_once("unsigned-format", || {
                format!("records made here are not signed: {why}; to sign them: {HOW}")
            })),
            Choice::None => Err(self.say_once("unsigned", || {
                format!("records made here are not signed and count in this clone only; to sign them: {HOW}")
            })),
        }
    }

    /// A text that this clone has not been told yet; a mark is left behind.
    fn say_once(&self, what: &str, text: impl FnOnce() -> String) -> Option<String> {
        let mark = lock::state_dir(&self.repo).ok()?.join(format!("said-{what}"));
        std::fs::OpenOptions::new().write(true).create_new(true).open(mark).ok().map(|_| text())
    }

    /// Who may sign records, as the configuration at a commit has it; the person's own list where it names none.
    ///
    /// For what goes to a protected branch give the commit that stands there, never the one that is pushed: whoever
    /// pushes must not choose who vouches for it.
    pub fn signers(&self, decides: Option<&Oid>) -> Signers {
        let named = decides.and_then(|commit| {
            let records = self.config_at(commit).ok()?.records;
            Some(Source::Repository {
                commit: commit.clone(),
                signers: records.signers?,
                revoked: records.revoked,
            })
        });
        Signers::new(named.unwrap_or(Source::Own), self.git(), self.now())
    }
}
