//! Patches as evidence of what was touched: files with the blobs before and after, and hunks by the lines they change.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::patch::{self, FilePatch, Side};

/// A patch larger than this is read only so far.
const MOST_BYTES: usize = 4 << 20;
/// And no more files of it.
const MOST_FILES: usize = 2_000;

/// A file of a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    /// Its path, from the top of the repository.
    pub path: String,
    /// The first digits of its blob before; empty when it was new or is not said.
    pub before: String,
    /// The first digits of its blob after.
    pub after: String,
    /// The lines it adds (`+`) and removes (`-`), white space aside, as numbers.
    pub lines: BTreeSet<u64>,
}

/// Reads a patch as `git diff` prints it; whatever is none of it is passed over.
pub fn parse(bytes: &[u8]) -> Vec<Touched> {
    let files = patch::files(&bytes[..bytes.len().min(MOST_BYTES)]).into_iter().take(MOST_FILES);
    files.filter(|file| !file.path().is_empty()).map(touched).collect()
}

fn touched(file: FilePatch) -> Touched {
    let mut lines = BTreeSet::new();
    for (side, line) in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
        let sign = match side {
            Side::Both => continue,
            Side::Old => b'-',
            Side::New => b'+',
        };
        let mut text: Vec<u8> = line.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
        // Braces and empty lines are in every patch.
        if text.len() > 2 {
            text.push(sign);
            lines.insert(super::hash(&text));
        }
    }
    Touched { path: file.path().to_owned(), before: file.before, after: file.after, lines }
}

/// How alike two patches are, from 0 to 1: the changed lines they share, and a little for the files.
pub fn likeness(one: &[Touched], other: &[Touched]) -> f64 {
    fn all(files: &[Touched]) -> (BTreeMap<&str, &Touched>, usize) {
        let map: BTreeMap<&str, &Touched> = files.iter().map(|f| (f.path.as_str(), f)).collect();
        let lines = map.values().map(|f| f.lines.len()).sum();
        (map, lines)
    }
    let ((a, in_a), (b, in_b)) = (all(one), all(other));
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let both: Vec<_> = a.iter().filter_map(|(path, f)| b.get(path).map(|g| (*f, *g))).collect();
    let shared: usize = both.iter().map(|(f, g)| f.lines.intersection(&g.lines).count()).sum();
    let lines = if in_a.min(in_b) == 0 { 0.0 } else { shared as f64 / in_a.min(in_b) as f64 };
    let jaccard = shared as f64 / (in_a + in_b - shared).max(1) as f64;
    let files = both.len() as f64 / a.len().min(b.len()) as f64;
    (0.25 * files + 0.35 * lines + 0.4 * jaccard).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATCH: &str = "diff --git a/k/a.cu b/k/a.cu\nindex 1111111..2222222 100644\n--- a/k/a.cu\n+++ b/k/a.cu\n@@ -1,3 +1,4 @@ void f()\n one\n-  old line;\n+  new line;\n+  __syncthreads();\n three\ndiff --git \"a/sp \\303\\244.txt\" \"b/sp \\303\\244.txt\"\nnew file mode 100644\nindex 0000000..3333333\n--- /dev/null\n+++ \"b/sp \\303\\244.txt\"\n@@ -0,0 +1 @@\n+--- not a header\n";

    #[test]
    fn files_blobs_and_lines_are_read() {
        let files = parse(PATCH.as_bytes());
        assert_eq!(files.len(), 2);
        assert_eq!((files[0].path.as_str(), files[0].before.as_str()), ("k/a.cu", "1111111"));
        assert_eq!(files[0].lines.len(), 3);
        assert_eq!((files[1].path.as_str(), files[1].before.as_str()), ("sp ä.txt", ""));
        assert_eq!(files[1].lines.len(), 1);
        assert!(likeness(&files, &files) >= 0.999);
        assert!(likeness(&files, &parse(b"")) <= 0.0);
        let other = PATCH.replace("new line", "another line");
        let likeness = likeness(&files, &parse(other.as_bytes()));
        assert!(likeness > 0.5 && likeness < 1.0, "{likeness}");
    }

    proptest! {
        #[test]
        fn any_patch_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..2000), cut in 0_usize..500) {
            let _ = parse(&bytes);
            let broken = &PATCH.as_bytes()[..cut.min(PATCH.len())];
            let score = likeness(&parse(broken), &parse(PATCH.as_bytes()));
            prop_assert!((0.0..=1.0).contains(&score));
        }
    }
}
