//! The post-mortem, and what the repository adds to the ledger for it and for the pull request's text.

use std::path::{Path, PathBuf};

use super::Session;
use crate::document::postmortem::{self, DraftInput, Validation};
use crate::event::PostmortemDrafted;
use crate::git::diff;
use crate::model::change::{ChangedFile, CommitFacts};
use crate::model::incident::{Incident, Link};
use crate::model::status::Role;
use crate::model::{Error, Oid, Result, canonical};
use crate::report::standing::Standing;

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
        };
        self.append(id, &[], |draft| draft.add(drafted)).map(|_| ())
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
}
