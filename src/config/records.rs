//! `[records]`: whose validation records from other machines count.

use super::section::Section;

/// The section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Records {
    /// `signers`: an `allowed_signers` file of the repository (the format of `ssh-keygen -Y verify`).
    /// Without it, `gpg.ssh.allowedSignersFile` of the person decides; where that is not set either, fetched records
    /// are shown as claimed and count for nothing.
    pub signers: Option<String>,
    /// `revoked`: a file of keys that are not trusted any more: public keys, one a line, or a key revocation list.
    pub revoked: Option<String>,
}

pub(super) fn read(mut section: Section<'_, '_>) -> Records {
    let read = Records { signers: section.path("signers"), revoked: section.path("revoked") };
    if read.revoked.is_some() && read.signers.is_none() {
        section.problem_at_key("revoked", "\"revoked\" in [records] needs \"signers\"");
        section.hint("write signers = \".allowed_signers\", the keys that may sign");
    }
    section.finish();
    read
}
