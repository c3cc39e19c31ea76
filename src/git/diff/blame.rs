//! Who knows the lines that a change touches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::paths::refuse_options;
use super::{path, pinned_diff, text};
use crate::git::program::Git;
use crate::model::Result;
use crate::model::patch::{ranges as hunk, unquote};

/// How much is looked at: `git blame` costs a program run per file.
#[derive(Debug, Clone, Copy)]
pub struct BlameLimits {
    /// Files at most, those with the most removed lines first.
    pub files: usize,
    /// Ranges of lines per file at most.
    pub hunks: usize,
}

impl Default for BlameLimits {
    fn default() -> Self {
        Self { files: 12, hunks: 24 }
    }
}

/// Somebody who last touched lines that a change removes or replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The name, through the repository's mailmap.
    pub name: String,
    /// The address, through the repository's mailmap, without its angle brackets.
    pub email: String,
    /// How many of the lines.
    pub lines: usize,
    /// In how many of the files.
    pub files: usize,
}

/// The authors of the lines that the change from `base` to `tip` removes or replaces, those of the
/// most lines first. Lines that are only added have no author yet and count for nobody.
pub fn log_authors_of_lines(git: &Git, base: &str, tip: &str, limits: BlameLimits) -> Result<Vec<Author>> {
    refuse_options(&[base, tip])?;
    let patch = pinned_diff(git).args(["-M", "-U0", base, tip, "--", ":/"]).bytes()?;
    let mut files: Vec<(PathBuf, Vec<(u64, u64)>)> = removed_ranges(&patch).into_iter().collect();
    let removed = |ranges: &[(u64, u64)]| ranges.iter().map(|(_, count)| *count).sum::<u64>();
    files.sort_by(|(a, one), (b, other)| removed(other).cmp(&removed(one)).then_with(|| a.cmp(b)));
    files.truncate(limits.files);
    if files.is_empty() {
        return Ok(Vec::new());
    }
    // Blame takes a path relative to where it runs, unlike the patch.
    let top = git.call(["rev-parse", "--show-cdup"]).text()?;

    let mut people: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    for (file, ranges) in files {
        for (person, lines) in
            blame(git, base, &Path::new(&top).join(file), &ranges[..ranges.len().min(limits.hunks)])?
        {
            let entry = people.entry(person).or_default();
            entry.0 += lines;
            entry.1 += 1;
        }
    }
    let mut authors: Vec<Author> = people
        .into_iter()
        .map(|((name, email), (lines, files))| Author { name, email, lines, files })
        .collect();
    authors.sort_by_key(|author| std::cmp::Reverse(author.lines));
    Ok(authors)
}

/// The ranges of removed lines (first line, count) per file of the base, from a patch with `-U0`.
fn removed_ranges(patch: &[u8]) -> BTreeMap<PathBuf, Vec<(u64, u64)>> {
    let mut files: BTreeMap<PathBuf, Vec<(u64, u64)>> = BTreeMap::new();
    let mut file: Option<PathBuf> = None;
    // Lines of content still to come: one of them may look like a header.
    let mut content = 0_u64;
    for line in patch.split(|byte| *byte == b'\n') {
        if content > 0 && matches!(line.first(), Some(b'-' | b'+')) {
            content -= 1;
        } else if line.starts_with(b"diff --git ") {
            file = None;
        } else if let Some(name) = line.strip_prefix(b"--- ") {
            file = source_path(name);
        } else if line.starts_with(b"@@ ")
            && let Some(((start, removed), (_, added))) = hunk(line)
        {
            content = removed + added;
            if let Some(file) = file.as_ref().filter(|_| removed > 0) {
                files.entry(file.clone()).or_default().push((start, removed));
            }
        }
    }
    files
}

/// The path of a `---` line: `a/` before it, quotes around it when it needs them, a tab after it
/// when it has spaces.
fn source_path(name: &[u8]) -> Option<PathBuf> {
    let name = name.strip_suffix(b"\t").unwrap_or(name);
    let name = match name.strip_prefix(b"\"") {
        Some(quoted) => unquote(quoted.strip_suffix(b"\"")?)?,
        None => name.to_vec(),
    };
    name.strip_prefix(b"a/").map(path)
}

/// Counts the lines per person in the ranges of one file.
fn blame(
    git: &Git,
    base: &str,
    file: &Path,
    ranges: &[(u64, u64)],
) -> Result<BTreeMap<(String, String), usize>> {
    let mut call = Git::call(git, ["blame", "--line-porcelain", "--no-progress"]);
    for (start, count) in ranges {
        call = call.arg("-L").arg(format!("{start},+{count}"));
    }
    let output = call.args([base, "--"]).arg(file).output()?;
    let mut people = BTreeMap::new();
    if !output.success() {
        // A submodule or a file that a partial clone lacks: nobody to name.
        return Ok(people);
    }
    let (mut name, mut email) = (String::new(), String::new());
    for line in output.stdout.split(|byte| *byte == b'\n') {
        if let Some(word) = line.strip_prefix(b"author ") {
            name = text(word);
        } else if let Some(word) = line.strip_prefix(b"author-mail ") {
            let word = word.strip_prefix(b"<").unwrap_or(word);
            email = text(word.strip_suffix(b">").unwrap_or(word));
        } else if line.first() == Some(&b'\t') {
            *people.entry((name.clone(), email.clone())).or_default() += 1;
        }
    }
    Ok(people)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_patch_gives_its_removed_ranges() {
        let patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -2 +2 @@ f()\n-old\n+new\n@@ -9,0 +10,1 @@\n+--- a/no\n\
            @@ -20,3 +21,0 @@\n--- a/y\n-@@ -1 +1 @@\n-x\n\
            diff --git \"a/\\303\\244\\t\" b/z\n--- \"a/\\303\\244\\t\"\n+++ b/z\n@@ -1,2 +1 @@\n-1\n-2\n+3\n\
            diff --git a/new b/new\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n";
        let ranges: Vec<_> = removed_ranges(patch).into_iter().collect();
        assert_eq!(ranges, [("x".into(), vec![(2, 1), (20, 3)]), ("\u{e4}\t".into(), vec![(1, 2)])]);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), start in any::<u64>()) {
            let _ = removed_ranges(&bytes);
            let _ = source_path(&bytes);
            let _ = removed_ranges(format!("--- a/x\n@@ -{start},{start} +{start},{start} @@\n").as_bytes());
        }
    }
}
