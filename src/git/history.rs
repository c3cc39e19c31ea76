//! Many commits at once: what they say, which of them a ref still leads to, where rewriting tools wrote down what they did.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Repo;
use super::program::Git;
use super::repo::{from_git, to_git};
use crate::model::{Error, Oid, Result};

/// A commit as the matching of links sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its name.
    pub oid: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its parents.
    pub parents: Vec<Oid>,
    /// Its author, `Name <address>`.
    pub author: String,
    /// When it was authored, in seconds since 1970-01-01 UTC.
    pub authored: i64,
    /// When it was committed.
    pub committed: i64,
    /// Its message.
    pub message: String,
}

impl Commit {
    /// The first paragraph of the message in one line, as git shows it.
    pub fn subject(&self) -> String {
        let lines = self.message.lines().skip_while(|l| l.trim().is_empty());
        let first: Vec<&str> = lines.take_while(|l| !l.trim().is_empty()).map(str::trim).collect();
        first.join(" ")
    }
}

/// Where to look for commits.
#[derive(Debug, Clone)]
pub enum Place<'p> {
    /// Everything that branches, tags and remote branches lead to, and HEAD.
    Everywhere,
    /// A range as `git rev-list` takes it: `A..B`.
    Range(&'p str),
    /// These commits alone.
    These(&'p [Oid]),
    /// What these lead to and no branch of a remote does.
    NotOn(&'p str, &'p [Oid]),
    /// What one leads to and the other does not.
    Between(&'p Oid, &'p Oid),
}

/// The arguments that name a place, and what is to be read from standard input.
fn selection(repo: &Repo, place: &Place<'_>) -> Result<(Vec<String>, String)> {
    let list = |oids: &[Oid]| oids.iter().flat_map(|o| [o.as_str(), "\n"]).collect::<String>();
    let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<String>>();
    Ok(match place {
        Place::Everywhere => {
            let mut all = words(&["--branches", "--tags", "--remotes"]);
            if repo.head_commit()?.is_some() {
                all.push("HEAD".to_owned());
            }
            (all, String::new())
        }
        Place::Range(range) => {
            if range.starts_with('-') || range.is_empty() || range.contains(['\n', '\0']) {
                return Err(Error::usage(format!("{range:?} is no range of commits"))
                    .hint("name it as git does: A..B"));
            }
            (vec![(*range).to_owned()], String::new())
        }
        Place::These(oids) => (words(&["--no-walk=unsorted", "--stdin"]), list(oids)),
        Place::NotOn(remote, oids) => {
            let remotes =
                if remote.is_empty() { "--remotes".to_owned() } else { format!("--remotes={remote}") };
            (vec!["--stdin".to_owned(), "--not".to_owned(), remotes], list(oids))
        }
        Place::Between(base, tip) => (vec![format!("{base}..{tip}")], String::new()),
    })
}

/// The commits of a place, newest first, `most` at most; merges too.
pub fn commits(repo: &Repo, git: &Git, place: &Place<'_>, most: usize) -> Result<Vec<Commit>> {
    if let Place::These([]) | Place::NotOn(_, []) = place {
        return Ok(Vec::new());
    }
    let (selected, input) = selection(repo, place)?;
    let bytes = git
        .call(["log", "--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8", "--no-mailmap"])
        .args(["--no-decorate", "--format=%H%x00%T%x00%P%x00%an <%ae>%x00%at%x00%ct%x00%B%x00"])
        .arg(format!("--max-count={most}"))
        .args(selected)
        .arg("--")
        .env("GIT_NO_LAZY_FETCH", "1")
        .stdin(input)
        .bytes()
        .map_err(|e| e.hint("see which commits there are: git log --oneline --all"))?;
    let text = String::from_utf8_lossy(&bytes);
    let mut fields = text.split('\0');
    let mut found = Vec::new();
    // Between two commits stands the line end that follows each.
    while let Some(oid) = fields.next().and_then(|f| Oid::parse(f.trim_start_matches('\n'))) {
        let mut next = || fields.next().unwrap_or_default();
        let (tree, parents) = (next(), next());
        let (author, authored, committed, message) = (next(), next(), next(), next());
        let Some(tree) = Oid::parse(tree) else { break };
        found.push(Commit {
            oid,
            tree,
            parents: parents.split(' ').filter_map(Oid::parse).collect(),
            author: author.to_owned(),
            authored: authored.parse().unwrap_or_default(),
            committed: committed.parse().unwrap_or_default(),
            message: message.to_owned(),
        });
    }
    Ok(found)
}

/// Those of the commits that something else still leads to while a rewrite is reported: another branch, a tag, what a
/// remote has under another name than the rewritten branch.
pub fn kept_elsewhere(repo: &Repo, git: &Git, commits: &[Oid]) -> Result<HashSet<Oid>> {
    let here: Vec<&Oid> = commits.iter().filter(|c| repo.is_commit(c)).collect();
    let Some(head) = repo.head_commit()?.filter(|_| !here.is_empty()) else { return Ok(HashSet::new()) };
    let rewritten = being_rewritten(repo);
    let mut kept: Vec<String> = rewritten.iter().map(|name| format!("--exclude={name}")).collect();
    kept.push("--branches".to_owned());
    kept.push("--tags".to_owned());
    // What was pushed of the rewritten branch will be pushed again; a remote's HEAD is one of its branches.
    kept.push("--exclude=*/HEAD".to_owned());
    for name in &rewritten {
        kept.push(format!("--exclude=*/{name}"));
        kept.extend(upstream(repo, name).map(|upstream| format!("--exclude={upstream}")));
    }
    kept.push("--remotes".to_owned());
    kept.push(head.as_str().to_owned());
    let input: String = here.iter().flat_map(|o| [o.as_str(), "\n"]).collect();
    let bytes = git
        .call(["rev-list", "--stdin", "--not"])
        .args(kept)
        .env("GIT_NO_LAZY_FETCH", "1")
        .stdin(input)
        .bytes()?;
    let gone: HashSet<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    Ok(here.into_iter().filter(|c| !gone.contains(c.as_str().as_bytes())).cloned().collect())
}

/// The branches that the rewrite at hand moves, without `refs/heads/`. A rebase that goes on has not moved all of them.
fn being_rewritten(repo: &Repo) -> Vec<String> {
    let mut found: Vec<String> = repo.head_branch().into_iter().collect();
    for file in ["rebase-merge/head-name", "rebase-merge/update-refs", "rebase-apply/head-name"] {
        let text = std::fs::read_to_string(repo.git_dir().join(file)).unwrap_or_default();
        found.extend(text.lines().map(|line| line.trim().to_owned()));
    }
    // The older way of rebasing does not say which branch it was; it stood where HEAD did.
    if repo.git_dir().join("rebase-apply").is_dir()
        && let Ok(stood) = repo.resolve_commit("ORIG_HEAD")
    {
        let branches = super::refs::names(repo).into_iter().filter(|n| n.starts_with("refs/heads/"));
        found.extend(branches.filter(|name| repo.resolve_commit(name).is_ok_and(|tip| tip == stood)));
    }
    let mut found: Vec<String> =
        found.iter().filter_map(|name| Some(name.strip_prefix("refs/heads/")?.to_owned())).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The remote branch that a branch follows, as `remote/name`.
fn upstream(repo: &Repo, branch: &str) -> Option<String> {
    let name = repo.raw().branch_upstream_name(&format!("refs/heads/{branch}")).ok()?;
    Some(name.as_str().ok()?.strip_prefix("refs/remotes/")?.to_owned())
}

/// What the rebase that goes on in this worktree puts its commits on.
pub fn rebasing_onto(repo: &Repo) -> Option<Oid> {
    let read = |file: &str| std::fs::read_to_string(repo.git_dir().join(file)).ok();
    Oid::parse(read("rebase-merge/onto").or_else(|| read("rebase-apply/onto"))?.trim())
}

/// Those of the commits that are here, and that no branch, tag, remote branch or HEAD leads to.
pub fn lost(repo: &Repo, git: &Git, commits: &[Oid]) -> Result<HashSet<Oid>> {
    let here: Vec<&Oid> = commits.iter().filter(|c| repo.is_commit(c)).collect();
    if here.is_empty() {
        return Ok(HashSet::new());
    }
    let (kept, _) = selection(repo, &Place::Everywhere)?;
    let input: String = here.iter().flat_map(|o| [o.as_str(), "\n"]).collect();
    let bytes = git
        .call(["rev-list", "--stdin", "--not"])
        .args(kept)
        .env("GIT_NO_LAZY_FETCH", "1")
        .stdin(input)
        .bytes()?;
    let listed: HashSet<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    Ok(here.into_iter().filter(|c| listed.contains(c.as_str().as_bytes())).cloned().collect())
}

/// Tips of lines of commits that may have been squashed: branches, and what HEAD stood on, of the commits that hold one.
pub fn tips_above(repo: &Repo, commit: &Oid, most: usize) -> Vec<Oid> {
    let mut tips: BTreeSet<Oid> = BTreeSet::new();
    let mut order = Vec::new();
    let branches = super::refs::names(repo).into_iter().filter(|n| n.starts_with("refs/heads/"));
    let branch_tips = branches.filter_map(|name| super::refs::read(repo, &name).ok().flatten());
    let logged = super::refs::logged(repo, "HEAD").into_iter().rev().take(2000);
    for tip in std::iter::once(commit.clone()).chain(branch_tips).chain(logged) {
        if order.len() >= most {
            break;
        }
        if repo.is_ancestor(commit, &tip) && tips.insert(tip.clone()) {
            order.push(tip);
        }
    }
    order
}

/// Where two lines of commits parted.
pub fn merge_base(repo: &Repo, one: &Oid, other: &Oid) -> Option<Oid> {
    repo.raw().merge_base(to_git(one).ok()?, to_git(other).ok()?).ok().map(from_git)
}

/// The commits that branches and remote branches stand at, each once, HEAD's first.
pub fn branch_tips(repo: &Repo, most: usize) -> Vec<Oid> {
    let mut found: Vec<Oid> = repo.head_commit().ok().flatten().into_iter().collect();
    for name in super::refs::names(repo) {
        if !(name.starts_with("refs/heads/") || name.starts_with("refs/remotes/")) {
            continue;
        }
        if let Ok(tip) = repo.resolve_commit(&name)
            && !found.contains(&tip)
        {
            found.push(tip);
        }
        if found.len() >= most {
            break;
        }
    }
    found
}

/// A map that is larger than this is none of a repository that people work in.
const MOST_MAP: u64 = 256 << 20;

/// What `git filter-repo` wrote down of its last run: a commit's former name and its name now.
pub fn rewriting_map(repo: &Repo) -> HashMap<Oid, Oid> {
    let path = repo.common_dir().join("filter-repo").join("commit-map");
    let fits = std::fs::symlink_metadata(&path).is_ok_and(|m| m.is_file() && m.len() <= MOST_MAP);
    let text = if fits { std::fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (old, new) = (Oid::parse(words.next()?)?, Oid::parse(words.next()?)?);
            (old != new && !new.is_zero()).then_some((old, new))
        })
        .collect()
}

/// The commits between an older one and a newer one, newest first, `most` at most, each with its message. Nothing is run.
pub fn messages_since(repo: &Repo, older: &Oid, newer: &Oid, most: usize) -> Vec<(Oid, String)> {
    let walk = || -> Option<Vec<(Oid, String)>> {
        let mut walk = repo.raw().revwalk().ok()?;
        walk.push(to_git(newer).ok()?).ok()?;
        walk.hide(to_git(older).ok()?).ok()?;
        let mut found = Vec::new();
        for id in walk.take(most).flatten() {
            let commit = repo.raw().find_commit(id).ok()?;
            found.push((from_git(id), String::from_utf8_lossy(commit.message_bytes()).into_owned()));
        }
        Some(found)
    };
    walk().unwrap_or_default()
}
