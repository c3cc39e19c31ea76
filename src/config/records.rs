//! `[records]`: whose validation records from other machines count.

use super::section::Section;

/// The section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Records {
    /// `signers`: an `allowed_signers` file of the repository (the format of `ssh-keygen -Y verify`).
    /// Without it, fetched records are shown as claimed and count for nothing.
    pub signers: Option<String>,
}

pub(super) fn read(mut section: Section<'_, '_>) -> Records {
    let read = Records { signers: section.path("signers") };
    section.finish();
    read
}
