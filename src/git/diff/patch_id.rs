//! Patch-ids: names for what a commit changes, whatever it stands on.
//!
//! One recipe for all, so that ids of any two commits compare: `git diff-tree -p` with every option that shapes a patch
//! spelled out, and the settings that have no option pinned, through `git patch-id --verbatim`. White space counts: with
//! `--stable` a line inside and outside a Python `if` has the same id.

use std::io::Write;
use std::process::Stdio;

use super::paths::refuse_options;
use super::text;
use crate::git::program::{Git, cannot_start};
use crate::model::{Error, Result};

/// The options that shape a patch.
const SHAPE: [&str; 10] = [
    "-p",
    "--no-renames",
    "--full-index",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "-U3",
    "--diff-algorithm=myers",
    "--ignore-submodules=none",
    "--indent-heuristic",
];

/// The patch-id of a commit; `None` for merges and for commits that change nothing.
pub fn patch_id(git: &Git, commit: &str) -> Result<Option<String>> {
    let oid = super::commit_info(git, commit)?.oid;
    Ok(patch_ids(git, &[&oid])?.into_iter().next().map(|(_, id)| id))
}

/// The patch-ids of many commits, as pairs of commit and id in the order git gives them; merges and
/// commits that change nothing are left out. The commits must be full object ids.
///
/// Two programs run, connected to each other, however many commits there are.
pub fn patch_ids(git: &Git, commits: &[&str]) -> Result<Vec<(String, String)>> {
    if let Some(odd) =
        commits.iter().find(|oid| oid.len() < 40 || !oid.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        return Err(Error::usage(format!("`{}` is no full object id", odd.escape_debug())));
    }
    if commits.is_empty() {
        return Ok(Vec::new());
    }
    named_patches(git, &["--stdin", "--root"], commits.join("\n") + "\n")
}

/// The patch-id that a squash of everything from one commit to another has; `None` when nothing differs.
pub fn patch_id_between(git: &Git, base: &str, tip: &str) -> Result<Option<String>> {
    refuse_options(&[base, tip])?;
    Ok(named_patches(git, &[base, tip], String::new())?.into_iter().next().map(|(_, id)| id))
}

/// What `git patch-id` makes of what `git diff-tree` prints: pairs of commit and id.
fn named_patches(git: &Git, what: &[&str], list: String) -> Result<Vec<(String, String)>> {
    let mut differ = git
        .clone()
        .config("diff.orderFile", "/dev/null")
        .config("diff.suppressBlankEmpty", "false")
        .config("core.quotePath", "true")
        .call(["diff-tree"])
        .args(SHAPE)
        .args(what)
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
    let mut input = differ.stdin.take();
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
