//! Which documents are checked, and writing repaired ones.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::document::lint::{Diagnostic, MAX_BYTES, unreadable};
use crate::git::Repo;
use crate::git::whole::{self, Access};
use crate::model::{Error, Oid, Result};
use crate::session::Session;

/// Documents that one run checks.
const MOST: usize = 20_000;

/// How deep folders are searched.
const DEEPEST: usize = 32;

/// A document to be checked.
#[derive(Debug, Clone)]
pub struct Source {
    /// How it is called: from the top of the working tree where it lies in one, else as it was typed.
    pub path: String,
    /// Its text; empty when it is unreadable.
    pub text: String,
    /// Why it cannot be read.
    pub unreadable: Option<Diagnostic>,
    /// Where it can be written; `None` for what comes from a commit.
    file: Option<PathBuf>,
}

impl Source {
    fn new(path: String, bytes: std::result::Result<Vec<u8>, String>, file: Option<PathBuf>) -> Self {
        let bad = |line, column, message: String, help: &str| {
            let diagnostic = unreadable(&path, line, column, message, help);
            Self { path: path.clone(), text: String::new(), unreadable: Some(diagnostic), file: None }
        };
        let bytes = match bytes {
            Ok(bytes) if bytes.len() > MAX_BYTES => {
                return bad(
                    1,
                    1,
                    "the document is larger than 8 MiB".to_owned(),
                    "keep logs and data beside it, as evidence",
                );
            }
            Ok(bytes) => bytes,
            Err(why) => return bad(1, 1, why, "name a regular file"),
        };
        match String::from_utf8(bytes) {
            Ok(text) => Self { path, text, unreadable: None, file },
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let before = &error.as_bytes()[..valid];
                let line = memchr::memchr_iter(b'\n', before).count() + 1;
                let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
                let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
                bad(line, column, "the document is not valid UTF-8".to_owned(), "save it as UTF-8")
            }
        }
    }
}

/// The documents that are meant: files and folders that were named, else the configured folder.
///
/// # Errors
/// A path that is not there; a folder that was named and holds no Markdown; neither paths nor a repository.
pub fn collect(session: Option<&Session>, named: &[PathBuf]) -> Result<Vec<Source>> {
    let top = session.and_then(|s| s.repo.workdir()).map(Path::to_path_buf);
    let mut found: Vec<Source> = Vec::new();
    if named.is_empty() {
        let Some(session) = session else {
            return Err(Error::usage("outside of a repository, name the documents to check")
                .hint("git incident postmortem check FILE.md"));
        };
        let folder = session.config()?.postmortem.directory.clone();
        match &top {
            Some(top) => {
                let folder = top.join(&folder);
                if folder.is_dir() && !is_link(&folder) {
                    walk(&folder, 0, &mut |file| found.push(read(&file, Some(top))))?;
                }
            }
            None => found = at_head(&session.repo, &folder)?,
        }
        return Ok(found);
    }
    for path in named {
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            let taken = std::io::stdin().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
            let bytes = taken.map(|_| bytes).map_err(|e| format!("standard input cannot be read: {e}"));
            found.push(Source::new("-".to_owned(), bytes, None));
            continue;
        }
        let Ok(meta) = std::fs::metadata(path) else {
            if let (None, Some(session)) = (&top, session)
                && let Some(text) = path.to_str()
            {
                let from_head = at_head(&session.repo, text)?;
                if !from_head.is_empty() {
                    found.extend(from_head);
                    continue;
                }
            }
            return Err(Error::refused(format!("there is no {}", path.display())).hint(
                "name a Markdown file or a folder of them, or name none to check the configured folder",
            ));
        };
        if meta.is_dir() {
            let before = found.len();
            walk(path, 0, &mut |file| found.push(read(&file, top.as_deref())))?;
            if found.len() == before {
                return Err(Error::refused(format!("{} is a folder without Markdown files", path.display()))
                    .hint("name the documents themselves"));
            }
        } else {
            found.push(read(path, top.as_deref()));
        }
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|s| seen.insert(s.path.clone()));
    Ok(found)
}

fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_symlink())
}

/// Whether a file of a folder is a post-mortem: pages about the folder and templates are none.
fn is_document(name: &str) -> bool {
    let lower = name.to_lowercase();
    let Some(stem) = lower.strip_suffix(".md").or_else(|| lower.strip_suffix(".markdown")) else {
        return false;
    };
    !stem.starts_with(['.', '_']) && !matches!(stem, "readme" | "index") && !stem.contains("template")
}

/// Calls `take` with each document below a folder, in order. Links are not followed.
fn walk(folder: &Path, depth: usize, take: &mut dyn FnMut(PathBuf)) -> Result<()> {
    let trouble = |e| Error::refused(format!("{} cannot be read", folder.display())).because(e);
    let mut entries: Vec<std::fs::DirEntry> =
        std::fs::read_dir(folder).and_then(Iterator::collect).map_err(trouble)?;
    if entries.len() > MOST {
        return Err(Error::refused(format!("{} holds more than {MOST} files", folder.display()))
            .hint("name the documents to check"));
    }
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !name.starts_with('.') && depth < DEEPEST {
            walk(&entry.path(), depth + 1, take)?;
        } else if kind.is_file() && is_document(&name) {
            take(entry.path());
        }
    }
    Ok(())
}

fn read(file: &Path, top: Option<&Path>) -> Source {
    let whole = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let below = top.and_then(|top| {
        let top = std::fs::canonicalize(top).ok()?;
        // A link inside of the working tree is called by its own name.
        let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let own = std::fs::canonicalize(folder).ok()?.join(file.file_name()?);
        own.strip_prefix(&top).or_else(|_| whole.strip_prefix(&top)).ok().map(Path::to_path_buf)
    });
    let shown = below.as_deref().unwrap_or(file).to_string_lossy().into_owned();
    Source::new(shown, bytes(file), Some(file.to_path_buf()))
}

/// The bytes of a regular file, one more than are read as a document at most.
fn bytes(file: &Path) -> std::result::Result<Vec<u8>, String> {
    let meta = std::fs::metadata(file).map_err(|e| format!("the document cannot be read: {e}"))?;
    // A pipe or a device could keep us waiting for ever.
    if !meta.is_file() {
        return Err("this is no regular file".to_owned());
    }
    let mut bytes = Vec::with_capacity(meta.len().min(MAX_BYTES as u64) as usize + 1);
    std::fs::File::open(file)
        .and_then(|f| f.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|e| format!("the document cannot be read: {e}"))?;
    Ok(bytes)
}

/// Documents of HEAD, for a repository without a working tree: a file, or all of a folder.
fn at_head(repo: &Repo, path: &str) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    let Some(head) = repo.head_commit()? else { return Ok(found) };
    let path = path.trim_matches('/');
    let raw = repo.raw();
    let trouble = |e: git2::Error| Error::refused("HEAD cannot be read").because(e.message());
    let commit = raw.find_commit(crate::git::repo::to_git(&head)?).map_err(trouble)?;
    let tree = commit.tree().map_err(trouble)?;
    let Ok(entry) = tree.get_path(Path::new(path)) else { return Ok(found) };
    let mut blobs: Vec<(String, git2::Oid)> = Vec::new();
    if entry.kind() == Some(git2::ObjectType::Blob) {
        blobs.push((path.to_owned(), entry.id()));
    } else if let Ok(folder) = raw.find_tree(entry.id()) {
        let walked = folder.walk(git2::TreeWalkMode::PreOrder, |root, entry| {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            let regular = entry.filemode() & 0o170_000 == 0o100_000;
            if regular && is_document(&name) && blobs.len() < MOST {
                blobs.push((format!("{path}/{root}{name}"), entry.id()));
            }
            git2::TreeWalkResult::Ok
        });
        walked.map_err(trouble)?;
    }
    for (name, oid) in blobs {
        let bytes = Oid::parse(&oid.to_string())
            .ok_or_else(|| "the document is not here".to_owned())
            .and_then(|oid| repo.blob(&oid).map_err(|e| format!("the document is not here: {e}")));
        found.push(Source::new(name, bytes, None));
    }
    Ok(found)
}

/// Replaces a document by its repaired text: whole or not at all, never through a link, never over what somebody
/// wrote in the meantime.
pub(super) fn replace(source: &Source, text: &str) -> std::result::Result<(), String> {
    let Some(file) = &source.file else {
        return Err("it comes from a commit, not from a working tree".to_owned());
    };
    let meta = std::fs::symlink_metadata(file).map_err(|e| e.to_string())?;
    if meta.file_type().is_symlink() {
        return Err("it is a symbolic link".to_owned());
    }
    if meta.permissions().readonly() {
        return Err("it is read-only".to_owned());
    }
    if std::fs::read(file).map_err(|e| e.to_string())? != source.text.as_bytes() {
        return Err("somebody changed it just now".to_owned());
    }
    whole::replace_durably(file, text.as_bytes(), Access::As(meta.permissions())).map_err(|e| e.to_string())
}
