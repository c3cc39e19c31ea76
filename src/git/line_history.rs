//! Who touched a file: `git blame` for the lines that are there, `git log --follow` for those that are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::program::Git;
use crate::model::patch::{self, FilePatch};
use crate::model::{Error, Oid, Result};

/// Which lines of a file are asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lines {
    /// All of them.
    All,
    /// From one to another, from 1.
    Range(u64, u64),
    /// Those of the function whose header this regular expression matches, as `git blame -L :NAME` finds it.
    Function(String),
}

/// What is known of a file's past.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Past {
    /// Lines that are there today, by the commit that wrote them: first and last line of each group.
    pub blamed: BTreeMap<Oid, Vec<(u64, u64)>>,
    /// Commits that touched the file, newest first.
    pub commits: Vec<Oid>,
    /// Names the file had, this one's included.
    pub names: BTreeSet<String>,
}

/// Looks at a file's past. `blame` says which lines are blamed; `None` for none (a folder, a file that is gone).
/// Both programs run at once.
///
/// # Errors
/// git fails: no such line, no such function.
pub fn past(git: &Git, path: &str, blame: Option<&Lines>, at_head: bool) -> Result<Past> {
    let (blamed, logged) = std::thread::scope(|scope| {
        let log = scope.spawn(|| log(git, path, blame.is_some()));
        let blamed = blame.map_or_else(|| Ok(BTreeMap::new()), |lines| blame_of(git, path, lines, at_head));
        (blamed, log.join())
    });
    let (commits, mut names) = logged.map_err(|_| Error::bug("the reader of git log died"))??;
    names.insert(path.to_owned());
    Ok(Past { blamed: blamed?, commits, names })
}

/// A path as git takes it: the top has no empty name.
fn pathspec(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// The commits that touched a path, and the names that it had.
fn log(git: &Git, path: &str, follow: bool) -> Result<(Vec<Oid>, BTreeSet<String>)> {
    // A file is followed through renames, which a folder cannot be.
    let options: &[&str] = if follow { &["--follow", "--name-only"] } else { &[] };
    let output = git
        .clone()
        .config("core.quotePath", "true")
        .call(["--literal-pathspecs", "log", "--no-show-signature", "--no-notes", "--no-color", "-z"])
        .args(["--no-ext-diff", "--format=%x01%H"])
        .args(options)
        .args(["HEAD", "--", pathspec(path)])
        .env("GIT_NO_LAZY_FETCH", "1")
        .output()?;
    let mut commits = Vec::new();
    let mut names = BTreeSet::new();
    // Before the first commit there is no past.
    for field in output.stdout.split(|b| *b == 0 || *b == b'\n').filter(|f| !f.is_empty()) {
        let text = String::from_utf8_lossy(field);
        match text.strip_prefix('\u{1}').and_then(Oid::parse) {
            Some(oid) => commits.push(oid),
            None => {
                names.insert(text.into_owned());
            }
        }
    }
    Ok((commits, names))
}

/// The groups of lines by commit. Lines that are not committed yet belong to nobody.
fn blame_of(git: &Git, path: &str, lines: &Lines, at_head: bool) -> Result<BTreeMap<Oid, Vec<(u64, u64)>>> {
    let mut call = git.call(["blame", "--incremental", "--no-progress"]);
    match lines {
        Lines::All => {}
        Lines::Range(first, last) => call = call.arg("-L").arg(format!("{first},{last}")),
        Lines::Function(name) => call = call.arg("-L").arg(format!(":{name}")),
    }
    if at_head {
        call = call.arg("HEAD");
    }
    let output = call.args(["--", path]).output()?;
    if !output.success() {
        let error = Error::refused(format!("git cannot tell who wrote {path}"));
        return Err(error.because(super::diff::words_of(&output.stderr)));
    }
    let mut found: BTreeMap<Oid, Vec<(u64, u64)>> = BTreeMap::new();
    for line in output.stdout.split(|b| *b == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let words: Vec<&str> = line.split(' ').collect();
        if let [oid, _, first, count] = words.as_slice()
            && let (Some(oid), Ok(first), Ok(count)) =
                (Oid::parse(oid), first.parse::<u64>(), count.parse::<u64>())
            && count > 0
            && !oid.is_zero()
        {
            found.entry(oid).or_default().push((first, first.saturating_add(count - 1)));
        }
    }
    Ok(found)
}

/// What commits did to some paths (all of a folder's files), by commit: one process for all of them.
pub fn patches(
    git: &Git,
    commits: &[&Oid],
    paths: &BTreeSet<String>,
) -> Result<BTreeMap<Oid, Vec<FilePatch>>> {
    let mut found = BTreeMap::new();
    if commits.is_empty() {
        return Ok(found);
    }
    let list: String = commits.iter().flat_map(|o| [o.as_str(), "\n"]).collect();
    let bytes = git
        .clone()
        .config("core.quotePath", "true")
        .config("diff.orderFile", "/dev/null")
        .call([
            "--literal-pathspecs",
            "diff-tree",
            "--stdin",
            "--root",
            "-r",
            "-m",
            "--first-parent",
            "-p",
            "-U3",
        ])
        .args([
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--diff-algorithm=myers",
            "--",
        ])
        .args(paths.iter().map(|p| pathspec(p)))
        .env("GIT_NO_LAZY_FETCH", "1")
        .stdin(list)
        .bytes()?;
    let mut start = 0;
    let mut current: Option<Oid> = None;
    let mut at = 0;
    // A commit's own line stands where no line of a patch does: after the last hunk, alone, 40 digits.
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let name = std::str::from_utf8(line).ok().and_then(|l| Oid::parse(l.trim_end_matches('\n')));
        if let Some(oid) = name {
            if let Some(former) = current.replace(oid) {
                found.insert(former, patch::files(&bytes[start..at]));
            }
            start = at + line.len();
        }
        at += line.len();
    }
    if let Some(last) = current {
        found.insert(last, patch::files(&bytes[start..]));
    }
    Ok(found)
}

/// Whether a path is there: as a file or a folder, in HEAD or in the working tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file of HEAD.
    File,
    /// A folder.
    Folder,
    /// A file of the working tree that HEAD lacks.
    New,
    /// It is not there.
    Missing,
}

/// What a path is.
pub fn kind_of(git: &Git, top: Option<&Path>, path: &str) -> Kind {
    if path.is_empty() {
        return Kind::Folder;
    }
    let kind = git.call(["cat-file", "-t", &format!("HEAD:{path}")]).text_if_any().ok().flatten();
    let here = top.and_then(|top| std::fs::symlink_metadata(top.join(path)).ok());
    match (kind.as_deref(), here) {
        (Some("tree"), _) => Kind::Folder,
        (Some("blob"), Some(_)) => Kind::File,
        (Some("blob"), None) if top.is_none() => Kind::File,
        (_, Some(meta)) if meta.is_dir() => Kind::Folder,
        (_, Some(_)) => Kind::New,
        _ => Kind::Missing,
    }
}
