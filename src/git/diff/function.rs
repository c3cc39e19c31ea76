//! The function around a line, as git sees functions: by the attributes and patterns that its hunk headers come from.

use std::path::Path;

use super::text;
use crate::git::program::Git;
use crate::model::Result;
use crate::model::patch;

/// What is put in a line's place; no file holds it.
const MARK: &[u8] = b"\x01 git incident looks at this line \x01";

/// The first and last line of the function around a line of a file, with the comment above it; `None` when git sees
/// none there, in a bare repository, and for a file that HEAD lacks.
///
/// git tells with a diff in which that line alone has changed, shown with the whole function (`-W`). The changed file
/// stands in a scratch directory; nothing of the repository is touched.
pub fn function_around(git: &Git, path: &str, content: &[u8], line: u64) -> Result<Option<(u64, u64)>> {
    let scratch = tempfile::tempdir()?;
    let file = scratch.path().join(path);
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let Ok(at) = usize::try_from(line.saturating_sub(1)) else { return Ok(None) };
    let mut lines: Vec<&[u8]> = content.split(|b| *b == b'\n').collect();
    let Some(place) = lines.get_mut(at) else { return Ok(None) };
    *place = MARK;
    std::fs::write(&file, lines.join(&b'\n'))?;
    let git_dir = git.call(["rev-parse", "--absolute-git-dir"]).text()?;
    let output = git
        .in_directory(scratch.path())
        .git_dir(Path::new(git_dir.trim()))
        .work_tree(scratch.path())
        .config("core.quotePath", "true")
        .config("diff.interHunkContext", "0")
        .config("core.fsmonitor", "false")
        .call([
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--no-renames",
            "--diff-algorithm=myers",
        ])
        .args(["-U0", "-W", "HEAD", "--", path])
        .output()?;
    if !output.success() {
        return Ok(None);
    }
    Ok(patch::files(&output.stdout).iter().flat_map(|f| &f.hunks).find_map(|hunk| {
        let new: Vec<&[u8]> = hunk
            .lines
            .iter()
            .filter(|(side, _)| *side != patch::Side::Old)
            .map(|(_, text)| text.as_slice())
            .collect();
        let marked = new.contains(&MARK);
        // One line long, it is the mark alone: there is no function.
        (marked && new.len() > 1).then(|| (hunk.new_start, hunk.new_start + new.len() as u64 - 1))
    }))
}

/// The whole of a file in the working tree, or as HEAD has it where there is none; `None` when neither is there.
pub fn content_of(git: &Git, top: Option<&Path>, path: &str) -> Option<Vec<u8>> {
    if let Some(top) = top {
        std::fs::read(top.join(path)).ok()
    } else {
        let call = git.call(["cat-file", "blob", &format!("HEAD:{path}")]);
        call.bytes_if_any().ok().flatten()
    }
}

/// The words of git for a failure, for a person to read.
pub fn words_of(stderr: &[u8]) -> String {
    text(stderr).trim().trim_start_matches("fatal: ").to_owned()
}
