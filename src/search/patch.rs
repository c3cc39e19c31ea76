//! Patches as evidence of what was touched: files with the blobs before and after, and hunks by the lines they change.

use std::collections::{BTreeMap, BTreeSet};

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
    let bytes = &bytes[..bytes.len().min(MOST_BYTES)];
    let mut files: Vec<Touched> = Vec::new();
    let mut in_hunk = (0_u64, 0_u64);
    for line in bytes.split(|b| *b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if in_hunk != (0, 0)
            && let Some(file) = files.last_mut()
        {
            let kind = line.first().copied().unwrap_or(b' ');
            match kind {
                b'+' => in_hunk.1 = in_hunk.1.saturating_sub(1),
                b'-' => in_hunk.0 = in_hunk.0.saturating_sub(1),
                b'\\' => {}
                _ => in_hunk = (in_hunk.0.saturating_sub(1), in_hunk.1.saturating_sub(1)),
            }
            if matches!(kind, b'+' | b'-') {
                let mut text: Vec<u8> =
                    line[1..].iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
                // Braces and empty lines are in every patch.
                if text.len() > 2 {
                    text.push(kind);
                    file.lines.insert(super::hash(&text));
                }
            }
            continue;
        }
        if let Some(rest) = line.strip_prefix(b"diff --git ") {
            if files.len() == MOST_FILES {
                break;
            }
            files.push(Touched { path: path_of_header(rest), ..Touched::default() });
        } else if let Some(file) = files.last_mut() {
            if let Some(rest) = line.strip_prefix(b"+++ ").or_else(|| line.strip_prefix(b"--- ")) {
                if let Some(path) = unquoted(rest)
                    .and_then(|p| p.strip_prefix("a/").or_else(|| p.strip_prefix("b/")).map(str::to_owned))
                {
                    file.path = path;
                }
            } else if let Some(rest) = line.strip_prefix(b"index ") {
                let text = String::from_utf8_lossy(rest);
                let ids = text.split(' ').next().unwrap_or_default();
                if let Some((before, after)) = ids.split_once("..") {
                    let id = |text: &str| {
                        let fits = text.len() >= 7 && crate::model::id::is_lower_hex(text);
                        if fits && text.bytes().any(|b| b != b'0') { text.to_owned() } else { String::new() }
                    };
                    (file.before, file.after) = (id(before), id(after));
                }
            } else if line.starts_with(b"@@ ") {
                in_hunk = hunk_of_header(&String::from_utf8_lossy(line)).unwrap_or((0, 0));
            }
        }
    }
    files.retain(|f| !f.path.is_empty());
    files
}

/// How many lines of either side follow `@@ -a,b +c,d @@`.
fn hunk_of_header(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split(' ').skip(1);
    let mut count = |sign: char| -> Option<u64> {
        let range = words.next()?.strip_prefix(sign)?;
        match range.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => Some(1),
        }
    };
    Some((count('-')?, count('+')?))
}

/// The path of `a/X b/X`, which `---` and `+++` lines make exact where there are any.
fn path_of_header(rest: &[u8]) -> String {
    let text = String::from_utf8_lossy(rest);
    if text.starts_with('"') {
        return unquoted(rest).map(|p| p.trim_start_matches("a/").to_owned()).unwrap_or_default();
    }
    let half = text.len() / 2;
    match (text.get(..half), text.get(half + 1..)) {
        (Some(a), Some(b)) if a.strip_prefix("a/") == b.strip_prefix("b/") => {
            a.strip_prefix("a/").unwrap_or_default().to_owned()
        }
        _ => text.rsplit_once(" b/").map(|(_, path)| path.to_owned()).unwrap_or_default(),
    }
}

/// A path as git prints it, its quotes and octal escapes taken away; `None` for `/dev/null`.
fn unquoted(bytes: &[u8]) -> Option<String> {
    let text = bytes.split(|b| *b == b'\t').next().unwrap_or_default();
    if text == b"/dev/null" {
        return None;
    }
    let Some(inner) = text.strip_prefix(b"\"") else {
        return Some(String::from_utf8_lossy(text).into_owned());
    };
    let mut out = Vec::new();
    let mut rest = inner.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => break,
            b'\\' => match rest.next()? {
                b'n' => out.push(b'\n'),
                b't' => out.push(b'\t'),
                digit @ b'0'..=b'7' => {
                    let mut value = u32::from(digit - b'0');
                    for _ in 0..2 {
                        if let Some(next) = rest.next_if(|b| (b'0'..=b'7').contains(b)) {
                            value = value * 8 + u32::from(next - b'0');
                        }
                    }
                    out.push((value & 0xff) as u8);
                }
                other => out.push(other),
            },
            other => out.push(other),
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
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
