//! The kept refs, and the files that name their commits.

use crate::git::refs;
use crate::model::{Oid, Result};

use super::super::guard::{missing, named_in_file};
use super::super::travelling::{BOTH, Travelling};
use super::{Check, Problem};

impl Check<'_> {
    pub(super) fn kept_refs(&mut self) {
        for which in BOTH {
            if self.plan.broken.contains(&which) {
                continue;
            }
            if let Err(error) = self.kept(which) {
                let text = format!("it cannot be compared with {}: {error}", which.notes);
                self.tell(Problem::error("kept", which.kept, text));
            }
        }
    }

    fn kept(&mut self, which: Travelling) -> Result<()> {
        let (current, kept) = (refs::read(self.repo, which.notes)?, refs::read(self.repo, which.kept)?);
        match (&current, &kept) {
            (Some(_), None) => {
                let text = "there is none yet: the next command makes it";
                self.tell(Problem::note("kept", which.kept, text).repairable());
            }
            (None, Some(kept)) => {
                let text = format!("the ref is gone; {} has it at {}", which.kept, kept.short());
                self.tell(Problem::error("kept", which.notes, text).repairable());
            }
            (Some(current), Some(kept)) if current != kept => self.differs(which, current, kept)?,
            _ => {}
        }
        self.remembered(which, kept.as_ref())
    }

    fn differs(&mut self, which: Travelling, current: &Oid, kept: &Oid) -> Result<()> {
        let lost = missing(self.repo, which, kept, current)?.changes;
        if let Some(first) = lost.first() {
            let text = format!(
                "{} notes have lost what this clone acknowledged, such as this one; {} has it",
                lost.len(),
                which.kept
            );
            let key = first.key.clone();
            self.tell(Problem::error("kept", which.notes, text).key(key).repairable());
        } else {
            let text = "it is behind, and lacks nothing that this clone wrote: the next command moves it";
            self.tell(Problem::note("kept", which.kept, text).repairable());
        }
        Ok(())
    }

    /// The file that names the kept commit once more.
    fn remembered(&mut self, which: Travelling, kept: Option<&Oid>) -> Result<()> {
        let path = self.repo.common_dir().join("incident").join(which.remembered);
        let named = named_in_file(self.repo, which);
        if named.as_ref() == kept {
            return Ok(());
        }
        let shown = format!("incident/{}", which.remembered);
        match (named, kept) {
            (None, Some(_)) if path.exists() => {
                let text = format!("the file {shown} names no commit: the next write makes it anew");
                self.tell(Problem::warning("remembered", which.kept, text).repairable());
            }
            (None, _) => {}
            (Some(named), _) if !self.repo.is_commit(&named) => {
                let text = format!("the file {shown} names {}, which is not here", named.short());
                self.tell(Problem::warning("remembered", which.kept, text).repairable());
            }
            (Some(named), None) => {
                let text = format!("the kept ref is gone; the file {shown} names {}", named.short());
                self.tell(Problem::error("kept", which.kept, text).repairable());
            }
            (Some(named), Some(kept)) => {
                let lost = missing(self.repo, which, &named, kept)?.changes;
                if !lost.is_empty() {
                    let text = format!(
                        "{} notes lack what {} has, which the file {shown} names",
                        lost.len(),
                        named.short()
                    );
                    self.tell(Problem::error("kept", which.kept, text).repairable());
                }
            }
        }
        Ok(())
    }
}
