//! What a document speaks of, looked up in the repository: commits, paths, pull requests, words of the code.
//!
//! Everything is asked in one go for all documents, and nothing is ever fetched for an answer.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::Repo;
use super::program::Git;
use crate::model::Oid;

/// Commits whose subjects are read for the pull requests they name.
const MOST_COMMITS: usize = 20_000;

/// Names that one run looks for in the code.
pub const MOST_NAMES: usize = 256;

/// Lines with a tag that are looked at: nobody reads more.
const MOST_HITS: usize = 500;

/// A hit in the code: path, line, from 1.
pub type Hit = (String, u32);

/// Whether a clone may lack what others have.
pub fn is_partial(repo: &Repo) -> bool {
    repo.raw().is_shallow()
        || repo.config_string("extensions.partialclone").is_some()
        || repo.common_dir().join("shallow").exists()
        || has_promisor(repo)
}

fn has_promisor(repo: &Repo) -> bool {
    let Ok(remotes) = repo.raw().remotes() else { return false };
    let names: Vec<String> = remotes.iter().flatten().flatten().map(str::to_owned).collect();
    names.iter().any(|name| repo.config_bool(&format!("remote.{name}.promisor")) == Some(true))
}

/// Where the repository lives on the network, from its remotes: `host/owner/name`.
pub fn homes(repo: &Repo) -> Vec<String> {
    let Ok(remotes) = repo.raw().remotes() else { return Vec::new() };
    let names: Vec<String> = remotes.iter().flatten().flatten().map(str::to_owned).collect();
    let mut found: Vec<String> = names
        .iter()
        .filter_map(|name| repo.config_string(&format!("remote.{name}.url")))
        .filter_map(|url| home(&url))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// `host/owner/name` of an address in any of git's forms; nothing of a path on this machine.
fn home(url: &str) -> Option<String> {
    let rest = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.to_owned(),
        // `user@host:owner/name`
        None => {
            let (host, path) = url.split_once(':')?;
            if host.contains('/') || path.starts_with('/') {
                return None;
            }
            format!("{host}/{path}")
        }
    };
    let rest = rest.rsplit_once('@').map_or(rest.as_str(), |(_, behind)| behind);
    let (host, path) = rest.split_once('/')?;
    let host = host.split(':').next()?;
    let path = path.trim_matches('/').trim_end_matches(".git");
    (!host.is_empty() && path.contains('/')).then(|| format!("{host}/{path}").to_lowercase())
}

/// Which abbreviated object names are here. Ambiguous ones are.
pub fn objects<'a>(repo: &Repo, names: impl Iterator<Item = &'a String>) -> HashMap<String, bool> {
    let Ok(odb) = repo.raw().odb() else { return HashMap::new() };
    names
        .map(|name| {
            let there = match git2::Oid::from_str(name) {
                Ok(oid) if name.len() >= 40 => odb.exists(oid),
                Ok(oid) => match odb.exists_prefix(oid, name.len()) {
                    Ok(_) => true,
                    Err(e) => e.code() == git2::ErrorCode::Ambiguous,
                },
                Err(_) => false,
            };
            (name.clone(), there)
        })
        .collect()
}

/// For each path: whether it is at HEAD or in the working tree (`Some(true)`), is not though its first directory is
/// (`Some(false)`), or its first directory is unknown here (`None`).
pub fn paths<'a>(repo: &Repo, paths: impl Iterator<Item = &'a String>) -> HashMap<String, Option<bool>> {
    let raw = repo.raw();
    let tree = raw.head().ok().and_then(|h| h.peel_to_tree().ok());
    let top = repo.workdir();
    // No `..` reaches this: the caller's paths are of plain parts.
    let there = |path: &str| {
        tree.as_ref().is_some_and(|t| t.get_path(Path::new(path)).is_ok())
            || top.is_some_and(|top| std::fs::symlink_metadata(top.join(path)).is_ok())
    };
    paths
        .map(|path| {
            let plain =
                !path.starts_with('/') && path.split('/').all(|p| !p.is_empty() && p != "." && p != "..");
            let first = path.split('/').next().unwrap_or_default();
            let answer = if !plain {
                None
            } else if there(path) {
                Some(true)
            } else {
                there(first).then_some(false)
            };
            (path.clone(), answer)
        })
        .collect()
}

/// Those of the paths that any commit of any ref ever touched.
pub fn in_history(git: &Git, paths: &[&str]) -> HashSet<String> {
    let mut found = HashSet::new();
    for some in paths.chunks(500) {
        let log = git
            .call([
                "--literal-pathspecs",
                "log",
                "--all",
                "--format=",
                "--name-only",
                "--no-renames",
                "-z",
                "--",
            ])
            .args(some)
            .env("GIT_NO_LAZY_FETCH", "1")
            .output();
        let Ok(log) = log else { continue };
        found.extend(
            log.stdout
                .split(|b| *b == 0 || *b == b'\n')
                .filter_map(|p| std::str::from_utf8(p).ok())
                .filter(|p| !p.is_empty())
                .map(str::to_owned),
        );
    }
    found
}

/// The pull requests that subjects name: `Subject (#12)`, `Merge pull request #12 from …`, `See merge request …!12`.
/// `None` when the history is too long to be read whole.
pub fn pulls(git: &Git) -> Option<BTreeSet<u64>> {
    let most = format!("--max-count={}", MOST_COMMITS + 1);
    let log = git
        .call(["log", "--branches", "--tags", "--remotes", "HEAD", "--format=%s%x00", &most])
        .env("GIT_NO_LAZY_FETCH", "1")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&log.stdout);
    let mut count = 0;
    let mut found = BTreeSet::new();
    for subject in text.split('\0') {
        count += 1;
        let subject = subject.trim();
        let named = subject
            .strip_prefix("Merge pull request #")
            .or_else(|| subject.strip_suffix(')').and_then(|s| s.rsplit_once("(#")).map(|(_, n)| n))
            .or_else(|| subject.strip_suffix(')').and_then(|s| s.rsplit_once("(!")).map(|(_, n)| n));
        let digits: Option<String> = named.map(|n| n.chars().take_while(char::is_ascii_digit).collect());
        found.extend(digits.and_then(|d| d.parse::<u64>().ok()));
    }
    (count <= MOST_COMMITS).then_some(found)
}

/// Where `git grep` looks.
#[derive(Debug, Clone, Copy)]
pub enum At<'a> {
    /// The files of the working tree that are tracked.
    WorkingTree,
    /// A commit.
    Commit(&'a str),
}

fn grep(git: &Git, at: At<'_>, options: &[&str], patterns: &[&str]) -> Vec<u8> {
    let mut call = git
        .clone()
        .config("grep.lineNumber", "false")
        .config("grep.column", "false")
        .config("grep.fullName", "true")
        .config("submodule.recurse", "false")
        .call(["grep", "--no-color", "-I", "-z", "--full-name", "--no-textconv"])
        .args(options)
        .env("GIT_NO_LAZY_FETCH", "1");
    for pattern in patterns {
        call = call.arg("-e").arg(pattern);
    }
    if let At::Commit(commit) = at {
        call = call.arg(commit);
    }
    // A post-mortem that speaks of a name is not the code that has it.
    let call = call.args(["--", ":(top)", ":(top,exclude,icase)*.md", ":(top,exclude,icase)*.markdown"]);
    call.output().map(|o| o.stdout).unwrap_or_default()
}

/// Which of the names stand in the code as whole words; at most [`MOST_NAMES`] are looked for.
pub fn names(git: &Git, at: At<'_>, names: &[&str]) -> HashSet<String> {
    let names = &names[..names.len().min(MOST_NAMES)];
    if names.is_empty() {
        return HashSet::new();
    }
    let hits = grep(git, at, &["-h", "-o", "-w", "-F"], names);
    hits.split(|b| *b == b'\n' || *b == 0)
        .filter_map(|h| std::str::from_utf8(h).ok())
        .map(str::to_owned)
        .collect()
}

/// Lines of the code that hold a bracketed tag which starts like this, by tag.
pub fn tags(
    git: &Git,
    at: At<'_>,
    start: &str,
    read: impl Fn(&str) -> Vec<String>,
) -> BTreeMap<String, Vec<Hit>> {
    let hits = grep(git, at, &["-n", "-F"], &[start]);
    let mut found: BTreeMap<String, Vec<Hit>> = BTreeMap::new();
    // `path NUL line NUL text`; of a commit the path has the commit in front.
    for hit in hits.split(|b| *b == b'\n').take(MOST_HITS) {
        let mut parts = hit.splitn(3, |b| *b == 0);
        let (Some(path), Some(line), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let path = String::from_utf8_lossy(path).into_owned();
        let path = match at {
            At::Commit(commit) => {
                path.strip_prefix(&format!("{commit}:")).map_or(path.clone(), str::to_owned)
            }
            At::WorkingTree => path,
        };
        let Some(line) = std::str::from_utf8(line).ok().and_then(|l| l.parse().ok()) else { continue };
        for tag in read(&String::from_utf8_lossy(text)) {
            found.entry(tag).or_default().push((path.clone(), line));
        }
    }
    found
}

/// A commit's first parent, for looking at what stood there before it.
pub fn parent(repo: &Repo, name: &str) -> Option<Oid> {
    repo.resolve_commit(&format!("{name}^")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_all_forms_name_one_home() {
        for url in [
            "https://example.org/Owner/name.git",
            "https://user:word@example.org/owner/name",
            "ssh://git@example.org:2222/owner/name.git",
            "git@example.org:owner/name.git",
        ] {
            assert_eq!(home(url).as_deref(), Some("example.org/owner/name"), "{url}");
        }
        for url in
            ["/srv/git/name.git", "../name", "file:///srv/name", "C:/name/x", "https://example.org/name"]
        {
            assert_eq!(home(url), None, "{url}");
        }
    }
}
