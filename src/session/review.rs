//! The review diff: which two versions of which documents are compared.

use std::path::{Component, Path, PathBuf};

use super::Session;
use crate::document::diff::Document;
use crate::git::diff::{self, Target, Versions};
use crate::model::{Error, Result};

/// Two versions to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The old one; `None` before the first commit.
    pub from: Option<String>,
    /// The new one.
    pub to: Target,
    /// Both in words: `HEAD → working tree`.
    pub shown: String,
}

impl Session {
    /// Whether a word names a range of commits or a commit, and no file here.
    ///
    /// # Errors
    /// It names both.
    pub fn is_revision(&self, word: &str) -> Result<bool> {
        if word.contains("..") && !word.starts_with("../") && word != ".." {
            return Ok(true);
        }
        let commit = self.repo.resolve_commit(word).is_ok();
        let file = Path::new(word).exists();
        if commit && file {
            return Err(Error::usage(format!("`{}` names both a commit and a file", word.escape_debug()))
                .hint(format!("a file: git incident postmortem diff -- {word}"))
                .hint(format!("a commit: git incident postmortem diff {word}..")));
        }
        Ok(commit)
    }

    /// What `A..B`, `A...B`, `A` or nothing compares: two commits; the merge base of two and the second; a commit and
    /// the working tree; HEAD and the working tree (or, `staged`, the index).
    ///
    /// # Errors
    /// No such commit; commits without a common ancestor; a bare repository without a range.
    pub fn compared(&self, range: Option<&str>, staged: bool) -> Result<Compared> {
        let named = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
        let commit = |name: &str| self.repo.resolve_commit(name).map(|oid| oid.as_str().to_owned());
        if let Some((a, b)) = range.and_then(|r| r.split_once("...")) {
            let (a, b) = (named(a), named(b));
            let (from, to) = (commit(&a)?, commit(&b)?);
            let base = diff::merge_base(&self.git(), &from, &to)?.ok_or_else(|| {
                Error::refused(format!("{a} and {b} have no common ancestor"))
                    .hint(format!("compare them as they are: git incident postmortem diff {a}..{b}"))
            })?;
            return Ok(Compared { from: Some(base), to: Target::Commit(to), shown: format!("{a}...{b}") });
        }
        if let Some((a, b)) = range.and_then(|r| r.split_once("..")) {
            let (a, b) = (named(a), named(b));
            let (from, to) = (commit(&a)?, commit(&b)?);
            return Ok(Compared { from: Some(from), to: Target::Commit(to), shown: format!("{a}..{b}") });
        }
        if self.repo.workdir().is_none() {
            return Err(Error::refused("this is a bare repository, without a working tree")
                .hint("name two commits: git incident postmortem diff A..B"));
        }
        let from = match range {
            Some(name) => Some(commit(name)?),
            None => self.repo.head_commit()?.map(|oid| oid.as_str().to_owned()),
        };
        let old = range.unwrap_or("HEAD");
        let (to, new) = if staged { (Target::Index, "index") } else { (Target::WorkingTree, "working tree") };
        Ok(Compared { from, to, shown: format!("{old} → {new}") })
    }

    /// Reviews the changed documents: those below the paths, which are taken from the current directory, or those in
    /// the configured folder.
    ///
    /// # Errors
    /// A path outside of the repository; git fails; the configuration is wrong.
    pub fn review(&self, compared: &Compared, paths: &[PathBuf]) -> Result<Vec<Document>> {
        let named: Vec<String> = paths.iter().map(|p| self.path_below_top(p)).collect::<Result<_>>()?;
        let pathspecs: Vec<String> = if named.is_empty() {
            let folder = &self.config()?.postmortem.directory;
            vec![format!(":(top,literal){folder}")]
        } else {
            named.iter().map(|path| format!(":(top,literal){path}")).collect()
        };
        let changed =
            diff::changed_documents(&self.git(), compared.from.as_deref(), &compared.to, &pathspecs)?;
        Ok(changed
            .into_iter()
            .filter(|v| is_markdown(&v.path) || named.contains(&v.path))
            .filter(|v| v.old.is_some() || v.new.is_some())
            .map(|Versions { path, former, old, new }| {
                Document::of(&path, former, old.as_deref(), new.as_deref())
            })
            .collect())
    }

    /// A path from the top of the working tree, with `/`, of one that was typed in the current directory.
    fn path_below_top(&self, path: &Path) -> Result<String> {
        let outside = || {
            Error::usage(format!("{} is outside of the repository", path.display()))
                .hint("compare any two files: git incident postmortem diff --no-index OLD NEW")
        };
        let full = match self.repo.workdir() {
            Some(top) if path.is_absolute() => {
                path.strip_prefix(top).map(Path::to_path_buf).map_err(|_| outside())?
            }
            Some(_) => Path::new(&self.directory_below_top()?).join(path),
            None => path.to_path_buf(),
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in full.components() {
            match part {
                Component::Normal(name) => parts.push(name.to_str().ok_or_else(outside)?),
                Component::CurDir => {}
                Component::ParentDir => {
                    parts.pop().ok_or_else(outside)?;
                }
                Component::RootDir | Component::Prefix(_) => return Err(outside()),
            }
        }
        Ok(parts.join("/"))
    }
}

fn is_markdown(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default();
    ending.eq_ignore_ascii_case("md") || ending.eq_ignore_ascii_case("markdown")
}
