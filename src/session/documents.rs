//! The post-mortem and the pull request's text: what the repository adds to the ledger for them.

use std::path::{Path, PathBuf};

use super::Session;
use crate::document::postmortem::{self, DraftInput, Validation};
use crate::event::{PostmortemDrafted, PrDrafted};
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
    /// Drafts the post-mortem.
    ///
    /// # Errors
    /// The record does not show all four preconditions: each missing one is named.
    pub fn draft_postmortem(&self, incident: &Incident, standing: &Standing) -> Result<String> {
        if !standing.complete() {
            let mut error = Error::refused("the record does not hold a post-mortem yet");
            for line in &standing.missing {
                error = error.because(format!("missing: {line}"));
            }
            return Err(error.hint("git incident status shows where it stands"));
        }
        let fixes = self.commit_facts(incident.links_as(Role::Fix));
        let offending = self.commit_facts(incident.links_as(Role::Offending));
        let range = self.fix_range(incident)?;
        let changed = self.changed_files(&range)?;
        let owner = fixes.last().map(|f| f.author.clone()).unwrap_or_default();
        let repro = &standing.repro;
        postmortem::draft(&DraftInput {
            incident,
            validation: Validation {
                runs: repro.runs,
                failures: repro.failures,
                needed: repro.needed,
                fix_runs: repro.fix_runs,
                fix_failures: repro.fix_failures,
                commit: standing.fix.as_ref().map(|f| f.commit.clone()),
                tree: standing.fix.as_ref().map(|f| f.tree.clone()),
                rate_series: standing.rate_series.clone(),
                fix_series: standing.fix_series.clone(),
            },
            fixes: &fixes,
            offending: &offending,
            changed: &changed,
            owner: &owner,
        })
    }

    /// Where an incident's post-mortem stands, from the top of the working tree.
    ///
    /// # Errors
    /// The configuration is wrong.
    pub fn postmortem_path(&self, incident: &Incident) -> Result<PathBuf> {
        let name: String = incident
            .ticket
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
            .collect();
        let name = name.trim_matches(['-', '.']);
        let id = incident.id.as_ref().map_or("incident", |i| i.short());
        let name = if name.is_empty() { id } else { name };
        Ok(Path::new(&self.config()?.postmortem.directory).join(format!("{name}.md")))
    }

    /// Writes a draft where nobody has written, and records it.
    ///
    /// # Errors
    /// Somebody changed the document since it was drafted (unless forced); a link on the way; a disk that is full.
    pub fn write_postmortem(
        &self,
        id: &Oid,
        incident: &Incident,
        path: &Path,
        text: &str,
        force: bool,
    ) -> Result<()> {
        let top = self.workdir()?;
        let shown = path.display();
        let mut here = top.clone();
        for part in path.components() {
            here.push(part);
            if std::fs::symlink_metadata(&here).is_ok_and(|m| m.file_type().is_symlink()) {
                return Err(Error::refused(format!("{} is a symbolic link", here.display()))
                    .because("a draft is written into the repository itself, never through a link")
                    .hint("remove the link, or name another place: --output FILE"));
            }
        }
        if let Ok(old) = std::fs::read(&here)
            && !force
            && old != text.as_bytes()
        {
            let digest = canonical::sha256_hex(&old);
            let ours = incident.postmortems.iter().any(|d| d.sha256 == digest);
            if !ours {
                return Err(Error::refused(format!("{shown} is there, and somebody has written in it"))
                    .hint("see the new draft: git incident postmortem draft --print")
                    .hint("or write it elsewhere: --output FILE; or replace it: --force"));
            }
        }
        let write = || -> std::io::Result<()> {
            if let Some(parent) = here.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&here, text)
        };
        write().map_err(|e| Error::refused(format!("{shown} cannot be written")).because(e))?;
        let drafted = PostmortemDrafted {
            path: path.to_string_lossy().into_owned(),
            sha256: canonical::sha256_hex(text.as_bytes()),
            blocks: Vec::new(),
        };
        self.append(id, &[], |draft| draft.add(drafted)).map(|_| ())
    }

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
    fn fix_range(&self, incident: &Incident) -> Result<Range> {
        let fixes = self.fixes(incident);
        let (Some(first), Some(last)) = (fixes.first(), fixes.last()) else {
            return Err(Error::refused("no change to describe: no commit is linked as the fix")
                .hint("git incident link COMMIT --as fix")
                .hint("or name the branch it goes to: git incident pr --base main"));
        };
        let base = self.repo.resolve_commit(&format!("{}^", first.commit)).ok();
        Ok(Range { base, tip: last.commit.clone() })
    }

    fn changed_files(&self, range: &Range) -> Result<Vec<ChangedFile>> {
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

    fn commit_facts<'l>(&self, links: impl Iterator<Item = &'l Link>) -> Vec<CommitFacts> {
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
