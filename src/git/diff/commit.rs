//! What a commit is: its people, message and patch-id.

use std::io::Write;
use std::process::Stdio;

use super::paths::refuse_options;
use super::{fields, text};
use crate::git::program::{Git, cannot_start};
use crate::model::{Error, Result};

/// Somebody in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The name, as recorded.
    pub name: String,
    /// The address, as recorded.
    pub email: String,
    /// When, in seconds since 1970-01-01 UTC.
    pub seconds: i64,
}

/// A commit in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// Its object id.
    pub oid: String,
    /// Its tree.
    pub tree: String,
    /// Its parents.
    pub parents: Vec<String>,
    /// Who wrote it.
    pub author: Person,
    /// Who committed it.
    pub committer: Person,
    /// The first paragraph of the message, in one line.
    pub subject: String,
    /// The message.
    pub message: String,
}

/// Looks up a revision, through annotated tags; an error when it names no commit.
pub fn commit_info(git: &Git, revision: &str) -> Result<CommitInfo> {
    refuse_options(&[revision])?;
    let format = "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%s%x00%B";
    let bytes = git
        .call(["log", "-1", "--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8", format])
        .args([&format!("{revision}^{{commit}}"), "--"])
        .bytes()
        .map_err(|error| {
            error.while_doing(format!("`{revision}` names no commit")).hint("see `git log --oneline --all`")
        })?;
    let found: Vec<String> = bytes.split(|byte| *byte == 0).map(text).collect();
    let [
        oid,
        tree,
        parents,
        author,
        author_email,
        author_at,
        committer,
        committer_email,
        committer_at,
        subject,
        message,
    ] = found.as_slice()
    else {
        return Err(Error::refused(format!("cannot read commit `{revision}`")));
    };
    let person = |name: &str, email: &str, at: &str| Person {
        name: name.to_owned(),
        email: email.to_owned(),
        seconds: at.parse().unwrap_or(0),
    };
    Ok(CommitInfo {
        oid: oid.clone(),
        tree: tree.clone(),
        parents: parents.split_whitespace().map(str::to_owned).collect(),
        author: person(author, author_email, author_at),
        committer: person(committer, committer_email, committer_at),
        subject: subject.clone(),
        message: format!("{}\n", message.trim_end_matches('\n')),
    })
}

/// The patch-id of a commit; `None` for merges and for commits that change nothing.
pub fn patch_id(git: &Git, commit: &str) -> Result<Option<String>> {
    let oid = commit_info(git, commit)?.oid;
    Ok(patch_ids(git, &[&oid])?.into_iter().next().map(|(_, id)| id))
}

/// The patch-ids of many commits, as pairs of commit and id in the order git gives them; merges and
/// commits that change nothing are left out. The commits must be full object ids.
///
/// White space counts (`--verbatim`): with `--stable` a line inside and outside a Python `if` has
/// the same id. Two programs run, connected to each other, however many commits there are.
pub fn patch_ids(git: &Git, commits: &[&str]) -> Result<Vec<(String, String)>> {
    if let Some(odd) =
        commits.iter().find(|oid| oid.len() < 40 || !oid.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        return Err(Error::usage(format!("`{}` is no full object id", odd.escape_debug())));
    }
    let mut differ = git
        .clone()
        .config("diff.orderFile", "/dev/null")
        .call(["diff-tree", "--stdin", "--root", "-p", "--no-renames", "--full-index", "--no-ext-diff"])
        .args(["--no-textconv", "--no-color", "-U3", "--diff-algorithm=myers", "--ignore-submodules=none"])
        .into_command();
    let mut namer = git.call(["patch-id", "--verbatim"]).into_command();
    let broken = |error: std::io::Error| Error::refused("lost a pipe to git").because(error);

    let mut differ = differ
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| cannot_start("git diff-tree", &error))?;
    let patches = differ.stdout.take().ok_or_else(|| Error::bug("git diff-tree has no output"))?;
    let namer = namer.stdin(patches).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let (mut input, list) = (differ.stdin.take(), commits.join("\n") + "\n");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            if let Some(mut input) = input.take() {
                let _ = input.write_all(list.as_bytes());
            }
        });
        namer.map_err(|error| cannot_start("git patch-id", &error))?.wait_with_output().map_err(broken)
    });
    let differ = differ.wait().map_err(broken)?;
    let output = output?;
    if !output.status.success() || !differ.success() {
        let words = text(&output.stderr);
        let mut error = Error::refused("cannot compute patch-ids");
        if words.contains("usage:") || words.contains("unknown option") {
            error =
                error.because("this git has no `git patch-id --verbatim`").hint("install git 2.39 or newer");
        } else if !words.trim().is_empty() {
            error = error.because(words.trim());
        } else {
            error = error.because("`git diff-tree` failed: a commit or one of its files is missing here");
        }
        return Err(error);
    }
    let lines = text(&output.stdout);
    let pair = |line: &str| line.split_once(' ').map(|(id, commit)| (commit.to_owned(), id.to_owned()));
    Ok(lines.lines().filter_map(pair).collect())
}

/// Whether git knows an object of that name; nothing is fetched for it.
pub fn object_exists(git: &Git, oid: &str) -> Result<bool> {
    refuse_options(&[oid])?;
    let call = git.clone().env("GIT_NO_LAZY_FETCH", "1").call(["cat-file", "--batch-check"]);
    let answer = call.stdin(format!("{oid}\n")).bytes()?;
    Ok(fields(&answer).next().is_some_and(|line| !text(line).trim_end().ends_with(" missing")))
}
