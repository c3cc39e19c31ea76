//! What documents ask the repository for.

use super::Session;
use crate::git::diff;
use crate::model::change::{ChangedFile, CommitFacts};
use crate::model::incident::{Incident, Link};
use crate::model::{Error, Oid, Result};

/// A range of commits: everything after `base` up to `tip`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The last commit that does not belong to the change; `None` when the change is the root commit.
    pub base: Option<Oid>,
    /// The last one that does.
    pub tip: Oid,
}

impl Session {
    /// From before the first fix to the last one.
    pub(super) fn fix_range(&self, incident: &Incident) -> Result<Range> {
        let fixes = self.fixes(incident);
        let (Some(first), Some(last)) = (fixes.first(), fixes.last()) else {
            return Err(Error::refused("no change to describe: no commit is linked as the fix")
                .hint("git incident link COMMIT --as fix")
                .hint("or name the branch it goes to: git incident pr --base main"));
        };
        let base = self.repo.resolve_commit(&format!("{}^", first.commit)).ok();
        Ok(Range { base, tip: last.commit.clone() })
    }

    pub(super) fn changed_files(&self, range: &Range) -> Result<Vec<ChangedFile>> {
        // The empty tree stands in for the parent of a root commit.
        const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let base = range.base.as_ref().map_or(EMPTY_TREE, Oid::as_str);
        let stat = diff::diff_stat(&self.git(), base, range.tip.as_str())?;
        Ok(stat
            .into_iter()
            .map(|s| ChangedFile {
                path: s.path.to_string_lossy().into_owned(),
                added: s.added,
                deleted: s.deleted,
            })
            .collect())
    }

    pub(super) fn commit_facts<'l>(&self, links: impl Iterator<Item = &'l Link>) -> Vec<CommitFacts> {
        links
            .filter_map(|link| {
                let info = diff::commit_info(&self.git(), link.commit.as_str()).ok()?;
                let parent = info.parents.first().cloned();
                let paths = parent
                    .and_then(|p| diff::changed_paths(&self.git(), &p, link.commit.as_str()).ok())
                    .unwrap_or_default();
                Some(CommitFacts {
                    commit: link.commit.clone(),
                    subject: info.subject,
                    date: crate::model::Timestamp::from_millis(info.author.seconds.saturating_mul(1000))
                        .to_date(),
                    author: info.author.name,
                    pr: link.pr.clone(),
                    paths: paths.iter().map(|p| p.to_string_lossy().into_owned()).collect(),
                })
            })
            .collect()
    }
}
