//! Whether everything in the repository's refs is right, and putting it right.

use super::{Session, identity};
use crate::model::{Oid, Result, Timestamp};
use crate::store::fsck::{self, Problem, Quarantined, Repaired, Report, Severity};
use crate::store::index::{Condition, condition, forget};

/// What a finding about the index names, where others name a ref.
const INDEX: &str = "index";

/// What came of a check.
pub struct Integrity {
    /// What is wrong; after a repair, what is still wrong.
    pub report: Report,
    /// What was put right.
    pub repaired: Vec<Repaired>,
    /// What was moved aside.
    pub quarantined: Vec<Quarantined>,
}

impl Session {
    /// Checks everything, or some incidents; repairs when asked to.
    ///
    /// # Errors
    /// The refs cannot be read at all; with `repair`, a repository that cannot be written.
    pub fn fsck(&self, wanted: Option<&[Oid]>, repair: bool) -> Result<Integrity> {
        let (repaired, quarantined) = if repair {
            let signature = identity::signature(&self.repo, true)?;
            fsck::repair(&self.repo, wanted, &signature, &compact(self.now()))?
        } else {
            (Vec::new(), Vec::new())
        };
        let mut integrity = Integrity { report: fsck::check(&self.repo, wanted)?.0, repaired, quarantined };
        if wanted.is_none() {
            self.look_at_index(&mut integrity, repair);
        }
        Ok(integrity)
    }

    /// The index holds nothing of its own: a damaged one is worth a word, and no error.
    fn look_at_index(&self, integrity: &mut Integrity, repair: bool) {
        let Condition::Damaged(how) = condition(&self.repo, true) else { return };
        if repair {
            forget(&self.repo);
            let what = format!("the damaged index was removed ({how}); the next search makes it anew");
            integrity.repaired.push(Repaired { reference: INDEX.to_owned(), key: None, what });
        } else {
            integrity.report.problems.push(Problem {
                check: "index",
                severity: Severity::Note,
                reference: INDEX,
                key: None,
                incident: None,
                line: None,
                message: format!("damaged ({how}); nothing is lost, the next search makes it anew"),
                repairable: true,
            });
        }
    }
}

/// A time as it can stand in the name of a ref: `20260102T030405Z`.
fn compact(at: Timestamp) -> String {
    let text = at.to_string();
    let seconds: String = text.chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
    format!("{seconds}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_names() {
        assert_eq!(compact(Timestamp::from_millis(1_767_323_045_678)), "20260102T030405Z");
    }
}
