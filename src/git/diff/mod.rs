//! What changed: the dirty tree as evidence, patch-ids, changed paths, and the people who know the
//! lines.
//!
//! All commands name their options in full, so that a user's `diff.*` settings, external diff
//! programs and colours change neither bytes nor ids.

mod blame;
mod commit;
mod documents;
mod function;
mod patch_id;
mod paths;

pub use blame::{Author, BlameLimits, log_authors_of_lines};
pub use commit::{CommitInfo, Person, commit_info, object_exists};
pub use documents::{Target, Versions, changed_documents};
pub use function::{content_of, function_around, words_of};
pub use patch_id::{patch_id, patch_id_between, patch_ids};
pub use paths::{
    DiffStat, Untracked, UntrackedKind, UntrackedList, changed_paths, diff_stat, dirty_diff, merge_base,
    untracked,
};

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::program::{Call, Git};

/// `git diff` with its output pinned down.
fn pinned_diff(git: &Git) -> Call {
    git.clone()
        .config("diff.noprefix", "false")
        .config("diff.mnemonicPrefix", "false")
        .config("diff.orderFile", "/dev/null")
        .config("core.quotePath", "true")
        .call([
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--no-relative",
            "--diff-algorithm=myers",
        ])
        .args(["--ignore-submodules=none", "--submodule=short", "--inter-hunk-context=0"])
}

/// The fields of output made with `-z`.
fn fields(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    let empty = bytes.is_empty();
    bytes.split(|byte| *byte == 0).filter(move |_| !empty)
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
