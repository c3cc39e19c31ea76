//! The change that is asked to be merged, and the branch it goes to.

use super::super::Session;
use super::super::documents::Range;
use crate::git::diff;
use crate::model::incident::Incident;
use crate::model::{Error, Oid, Result};

/// A branch that changes go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BaseBranch {
    /// Its tip, as this clone knows it.
    pub(super) commit: Oid,
    /// The full name it has on the remote; `None` when only the commit is known.
    pub(super) name: Option<String>,
}

impl Session {
    /// The change a pull request would show: from where the branch left the base to the tip. A fix that stands on
    /// the base already is shown by itself.
    ///
    /// # Errors
    /// No such revision; nothing to show.
    pub fn pull_request_range(
        &self,
        incident: &Incident,
        base: Option<&str>,
        head: Option<&str>,
    ) -> Result<Range> {
        let tip = match head {
            Some(revision) => self.repo.resolve_commit(revision)?,
            None => self
                .repo
                .head_commit()?
                .ok_or_else(|| Error::refused("there is no commit yet").hint("commit the fix first"))?,
        };
        if let Some(revision) = base {
            self.repo.resolve_commit(revision)?;
        }
        if let Some(base) = self.base_branch(base)
            && let Some(from) = diff::merge_base(&self.git(), base.commit.as_str(), tip.as_str())?
                .and_then(|b| Oid::parse(&b))
            && from != tip
        {
            return Ok(Range { base: Some(from), tip });
        }
        self.fix_range(incident)
    }

    /// The branch changes go to: the named one, the configuration's, the remote's default, or `main`, `master`.
    pub(super) fn base_branch(&self, named: Option<&str>) -> Option<BaseBranch> {
        if let Some(revision) = named {
            return Some(BaseBranch {
                commit: self.repo.resolve_commit(revision).ok()?,
                name: self.branch_name(revision),
            });
        }
        let configured = self.config().ok().and_then(|c| c.pr.base.clone());
        let candidates = configured
            .iter()
            .flat_map(|b| [format!("refs/remotes/origin/{b}"), format!("refs/heads/{b}")])
            .chain(
                [
                    "refs/remotes/origin/HEAD",
                    "refs/remotes/origin/main",
                    "refs/remotes/origin/master",
                    "refs/heads/main",
                    "refs/heads/master",
                ]
                .map(String::from),
            );
        candidates.into_iter().find_map(|name| {
            let commit = self.repo.resolve_commit(&name).ok()?;
            Some(BaseBranch { commit, name: self.branch_name(&name) })
        })
    }

    /// The full name on its remote of what a person calls a branch.
    fn branch_name(&self, revision: &str) -> Option<String> {
        let short = match revision.strip_prefix("refs/remotes/") {
            // Which branch is the remote's default, this name does not say.
            Some(rest) => {
                rest.split_once('/').map(|(_, branch)| branch).filter(|branch| *branch != "HEAD")?
            }
            None => revision.strip_prefix("refs/heads/").unwrap_or(revision),
        };
        let exists = |name: String| self.repo.resolve_commit(&name).is_ok();
        if exists(format!("refs/heads/{short}")) || revision.starts_with("refs/") {
            return Some(format!("refs/heads/{short}"));
        }
        let (_, branch) = short.split_once('/')?;
        exists(format!("refs/remotes/{short}")).then(|| format!("refs/heads/{branch}"))
    }
}
