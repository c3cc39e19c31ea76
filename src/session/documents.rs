//! The pull request's text, and what documents ask the repository for.

use std::path::Path;

use super::Session;
use crate::event::PrDrafted;
use crate::git::diff::{self, BlameLimits};
use crate::model::change::{ChangedFile, CommitFacts};
use crate::model::incident::{Incident, Link};
use crate::model::status::Role;
use crate::model::{Error, Oid, Result, canonical};
use crate::report::codeowners::{self, Codeowners};
use crate::report::pull_request::{self, PullRequestInput, PullRequestText};
use crate::report::standing::Standing;
use crate::report::workflows;

/// A range of commits: everything after `base` up to `tip`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The last commit that does not belong to the change; `None` when the change is the root commit.
    pub base: Option<Oid>,
    /// The last one that does.
    pub tip: Oid,
}

impl Session {
    /// The pull request's text.
    ///
    /// # Errors
    /// No change to describe; git fails.
    pub fn pull_request(
        &self,
        incident: &Incident,
        standing: &Standing,
        range: &Range,
    ) -> Result<PullRequestText> {
        let changed = self.changed_files(range)?;
        let paths: Vec<String> = changed.iter().map(|c| c.path.clone()).collect();
        let fixes = self.commit_facts(incident.links_as(Role::Fix));
        let owners = codeowners::PLACES
            .iter()
            .find_map(|place| self.repo.file_at(&range.tip, place).ok().flatten())
            .map(|bytes| Codeowners::parse(&bytes))
            .unwrap_or_default();
        let authors: Vec<(String, u32)> = match &range.base {
            // Whoever wrote the lines that the change touches is asked; that git cannot tell is no reason to print nothing.
            Some(base) => diff::log_authors_of_lines(
                &self.git(),
                base.as_str(),
                range.tip.as_str(),
                BlameLimits::default(),
            )
            .unwrap_or_default()
            .into_iter()
            .map(|a| (a.name, u32::try_from(a.lines).unwrap_or(u32::MAX)))
            .collect(),
            None => Vec::new(),
        };
        let recommended = workflows::recommend(&self.workflow_files(&range.tip)?, &paths);
        let co_authors = self.co_authors(incident);
        Ok(pull_request::text(&PullRequestInput {
            incident,
            standing,
            fixes: &fixes,
            changed: &changed,
            workflows: &recommended,
            developers: &codeowners::developers(&owners, &paths, &authors),
            co_authors: &co_authors,
        }))
    }

    /// Records that a text was made.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn record_pull_request(&self, id: &Oid, text: &PullRequestText) -> Result<()> {
        let drafted =
            PrDrafted { title: text.title.clone(), sha256: canonical::sha256_hex(text.body.as_bytes()) };
        self.append(id, &[], |draft| draft.add(drafted)).map(|_| ())
    }

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
        let base = match base {
            Some(revision) => Some(self.repo.resolve_commit(revision)?),
            None => self.default_base(),
        };
        if let Some(base) = base
            && let Some(from) =
                diff::merge_base(&self.git(), base.as_str(), tip.as_str())?.and_then(|b| Oid::parse(&b))
            && from != tip
        {
            return Ok(Range { base: Some(from), tip });
        }
        self.fix_range(incident)
    }

    /// The branch changes go to: the configuration's, the remote's default, or `main`, `master`.
    fn default_base(&self) -> Option<Oid> {
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
        candidates.into_iter().find_map(|name| self.repo.resolve_commit(&name).ok())
    }

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

    /// The workflow files of a commit.
    fn workflow_files(&self, commit: &Oid) -> Result<Vec<(String, Vec<u8>)>> {
        const FOLDER: &str = ".github/workflows";
        let names = self
            .git()
            .call(["ls-tree", "-z", "--name-only", commit.as_str(), &format!("{FOLDER}/")])
            .bytes()?;
        let mut files = Vec::new();
        for name in names.split(|b| *b == 0).filter_map(|n| std::str::from_utf8(n).ok()) {
            let is_yaml = Path::new(name).extension().is_some_and(|e| e == "yml" || e == "yaml");
            if is_yaml && let Some(bytes) = self.repo.file_at(commit, name)? {
                files.push((name.to_owned(), bytes));
            }
        }
        Ok(files)
    }

    /// People who recorded attempts of the incident, other than the one who makes the text.
    fn co_authors(&self, incident: &Incident) -> Vec<String> {
        let me = self.author().ok();
        let mut all: Vec<String> = incident
            .attempts
            .iter()
            .filter_map(|a| a.started.by.as_ref())
            .filter(|a| !a.email.is_empty() && me.as_ref().is_none_or(|m| m.email != a.email))
            .map(|a| format!("{} <{}>", a.name, a.email))
            .collect();
        all.sort();
        all.dedup();
        all
    }
}
