//! What a commit is: its people and message.

use super::paths::refuse_options;
use super::{fields, text};
use crate::git::program::Git;
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

/// Whether git knows an object of that name; nothing is fetched for it.
pub fn object_exists(git: &Git, oid: &str) -> Result<bool> {
    refuse_options(&[oid])?;
    let call = git.clone().env("GIT_NO_LAZY_FETCH", "1").call(["cat-file", "--batch-check"]);
    let answer = call.stdin(format!("{oid}\n")).bytes()?;
    Ok(fields(&answer).next().is_some_and(|line| !text(line).trim_end().ends_with(" missing")))
}
