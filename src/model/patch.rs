//! Reads unified diffs as git prints them: which files, which blobs, which hunks. Whatever cannot be read is passed over:
//! stored diffs come from anybody.

use super::id::is_lower_hex;

/// What a line of a hunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// In both.
    Both,
    /// In the old file alone.
    Old,
    /// In the new file alone.
    New,
}

/// A part of a file that a diff changes, with what stands around it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// The first line in the old file, from 1.
    pub old_start: u64,
    /// The first line in the new file, from 1.
    pub new_start: u64,
    /// Its lines without their ends.
    pub lines: Vec<(Side, Vec<u8>)>,
}

/// What a diff does to one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilePatch {
    /// Its name before; empty when it was not there.
    pub old: String,
    /// Its name after; empty when it is gone.
    pub new: String,
    /// The first digits of its blob before; empty when it was new or the diff does not say.
    pub before: String,
    /// The first digits of its blob after.
    pub after: String,
    /// Its hunks; none for a binary file and for one that only moved.
    pub hunks: Vec<Hunk>,
}

impl FilePatch {
    /// Its name after; where it is gone, the one before. Empty when neither could be read.
    pub fn path(&self) -> &str {
        if self.new.is_empty() { &self.old } else { &self.new }
    }
}

/// More lines than this are not read of one hunk.
const MOST_LINES: usize = 20_000;

/// The files of a diff.
pub fn files(patch: &[u8]) -> Vec<FilePatch> {
    let mut found: Vec<FilePatch> = Vec::new();
    // Lines of the hunk that are still to come: one of them may look like a header.
    let (mut old_left, mut new_left) = (0_u64, 0_u64);
    for line in patch.split(|b| *b == b'\n') {
        if old_left > 0 || new_left > 0 {
            let (side, text) = match line.split_first() {
                Some((b' ', rest)) => (Some(Side::Both), rest),
                Some((b'-', rest)) => (Some(Side::Old), rest),
                Some((b'+', rest)) => (Some(Side::New), rest),
                // A blank line of both whose space somebody cut off.
                None => (Some(Side::Both), line),
                Some((b'\r', [])) => (Some(Side::Both), &line[..0]),
                Some((b'\\', _)) => (None, line),
                Some(_) => {
                    (old_left, new_left) = (0, 0);
                    (None, line)
                }
            };
            if let Some(side) = side {
                if side != Side::New {
                    old_left = old_left.saturating_sub(1);
                }
                if side != Side::Old {
                    new_left = new_left.saturating_sub(1);
                }
                if let Some(hunk) = found.last_mut().and_then(|f| f.hunks.last_mut())
                    && hunk.lines.len() < MOST_LINES
                {
                    hunk.lines.push((side, text.to_vec()));
                }
                continue;
            }
        }
        // Mail and editors end lines in their own way; git quotes names that do.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            let (old, new) = both_names(names).unwrap_or_default();
            found.push(FilePatch { old, new, ..FilePatch::default() });
        } else if let Some(ids) = line.strip_prefix(b"index ") {
            if let Some(file) = found.last_mut().filter(|f| f.hunks.is_empty())
                && let Some((before, after)) = blobs(ids)
            {
                (file.before, file.after) = (before, after);
            }
        } else if let Some(name) = line.strip_prefix(b"--- ") {
            set(&mut found, |file| &mut file.old, name, b"a/");
        } else if let Some(name) = line.strip_prefix(b"+++ ") {
            set(&mut found, |file| &mut file.new, name, b"b/");
        } else if let Some(name) = line.strip_prefix(b"rename from ") {
            set(&mut found, |file| &mut file.old, name, b"");
        } else if let Some(name) = line.strip_prefix(b"rename to ") {
            set(&mut found, |file| &mut file.new, name, b"");
        } else if line.starts_with(b"@@ ")
            && let Some(((old_start, old), (new_start, new))) = ranges(line)
            && let Some(file) = found.last_mut()
        {
            (old_left, new_left) = (old, new);
            file.hunks.push(Hunk { old_start, new_start, lines: Vec::new() });
        }
    }
    found
}

fn set(files: &mut [FilePatch], of: fn(&mut FilePatch) -> &mut String, name: &[u8], prefix: &[u8]) {
    if let Some(file) = files.last_mut().filter(|f| f.hunks.is_empty()) {
        *of(file) = path(name, prefix).unwrap_or_default();
    }
}

/// A name of a header line, without its prefix; none for `/dev/null`.
fn path(name: &[u8], prefix: &[u8]) -> Option<String> {
    // A tab ends a name that holds spaces, and other programs put a date behind it.
    let name = name.split(|b| *b == b'\t').next().unwrap_or_default();
    let name = match name.strip_prefix(b"\"") {
        Some(quoted) => unquote(quoted.strip_suffix(b"\"")?)?,
        None => name.to_vec(),
    };
    if name == b"/dev/null" && !prefix.is_empty() {
        return None;
    }
    Some(String::from_utf8_lossy(name.strip_prefix(prefix)?).into_owned())
}

/// The blobs of `BEFORE..AFTER MODE`; digits that are all zero name none.
fn blobs(ids: &[u8]) -> Option<(String, String)> {
    let text = String::from_utf8_lossy(ids);
    let (before, after) = text.split(' ').next()?.split_once("..")?;
    let id = |text: &str| {
        let named = (7..=64).contains(&text.len()) && is_lower_hex(text) && text.bytes().any(|b| b != b'0');
        if named { text.to_owned() } else { String::new() }
    };
    Some((id(before), id(after)))
}

/// The names of `a/X b/X`: they say something where no `---` follows, as with binary files. Both are the same there.
fn both_names(names: &[u8]) -> Option<(String, String)> {
    if names.starts_with(b"\"") {
        let middle = names.windows(3).position(|w| w == b"\" \"")?;
        let (old, new) = (path(&names[..=middle], b"a/")?, path(&names[middle + 2..], b"b/")?);
        return (old == new).then_some((old, new));
    }
    let half = names.len() / 2;
    if names.len().is_multiple_of(2) || names.get(half) != Some(&b' ') {
        return None;
    }
    let (old, new) = (path(&names[..half], b"a/")?, path(&names[half + 1..], b"b/")?);
    (old == new).then_some((old, new))
}

/// Reads `@@ -START,COUNT +START,COUNT @@`: first lines and counts; a count left out is 1.
pub fn ranges(line: &[u8]) -> Option<((u64, u64), (u64, u64))> {
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ').skip(1);
    let mut side = |sign: char| {
        let word = words.next()?.strip_prefix(sign)?;
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((start.parse::<u64>().ok()?.min(1 << 32), count.parse::<u64>().ok()?.min(1 << 32)))
    };
    Some((side('-')?, side('+')?))
}

/// Undoes git's C-like quoting of a name.
pub fn unquote(quoted: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            first @ b'0'..=b'3' => {
                let mut value = first - b'0';
                for _ in 0..2 {
                    let digit = bytes.next().filter(|byte| (b'0'..=b'7').contains(byte))?;
                    value = value * 8 + (digit - b'0');
                }
                value
            }
            other => other,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_git_prints() {
        let patch = b"diff --git a/x.c b/x.c\nindex 1..2 100644\n--- a/x.c\n+++ b/x.c\n@@ -3,3 +3,3 @@ f()\n a\n--- b/y\n+new\n c\n\
            \\ No newline at end of file\ndiff --git \"a/\\303\\244\" \"b/\\303\\244\"\nnew file mode 100644\n--- /dev/null\n\
            +++ \"b/\\303\\244\"\n@@ -0,0 +1 @@\n+u\ndiff --git a/bin b/bin\nGIT binary patch\nliteral 1\nabc\n\n\
            diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n";
        let files = files(patch);
        let names: Vec<_> = files.iter().map(|f| (f.old.as_str(), f.new.as_str(), f.hunks.len())).collect();
        assert_eq!(names, [("x.c", "x.c", 1), ("", "\u{e4}", 1), ("bin", "bin", 0), ("o", "n", 0)]);
        let hunk = &files[0].hunks[0];
        assert_eq!((hunk.old_start, hunk.lines.len()), (3, 4));
        assert_eq!(hunk.lines[1], (Side::Old, b"-- b/y".to_vec()));
    }

    #[test]
    fn blobs_dates_and_foreign_line_ends() {
        let patch =
            b"diff --git a/x b/x\r\nindex 1111111..0000000 100644\r\n--- a/x\t2020-01-01\r\n+++ b/x\r\n\
            @@ -1,3 +1,3 @@\r\n a\r\n\r\n-b\r\n+c\r\n";
        let file = &files(patch)[0];
        assert_eq!((file.path(), file.before.as_str(), file.after.as_str()), ("x", "1111111", ""));
        assert_eq!(file.old, "x");
        assert_eq!(file.hunks[0].lines.len(), 4);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0_usize..5) {
            let starts: [&[u8]; 5] = [b"diff --git ", b"diff --git a/x b/x\n@@ -1,9 +1,9 @@\n", b"--- ", b"diff --git \"a/", b"@@ -"];
            let _ = files(&[starts[at], &bytes].concat());
            let _ = files(&bytes);
        }
    }
}
