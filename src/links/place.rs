//! Where the hunks of a diff lie in a file of today, which may have moved on since: by their own lines and the lines
//! around them. The diff of an attempt that was never merged has no commit that blame could find.

use std::collections::HashMap;

use crate::model::patch::{Hunk, Side};

/// Where a hunk lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// First and last line that it changes, from 1. Where it only removes lines: the two around them.
    pub lines: (u64, u64),
    /// Of its lines the hundredths that are there.
    pub percent: u32,
}

/// Fewer hundredths of a hunk's lines than this, and it is somewhere else.
const ENOUGH: u32 = 60;

/// A text of today, ready to be searched.
pub struct Today<'t> {
    lines: Vec<&'t [u8]>,
    at: HashMap<&'t [u8], Vec<u32>>,
}

/// A line that stands this often says nothing of where a hunk lies.
const COMMON: usize = 64;

impl<'t> Today<'t> {
    /// Reads a text.
    pub fn of(text: &'t [u8]) -> Self {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let lines: Vec<&[u8]> =
            if text.is_empty() { Vec::new() } else { text.split(|b| *b == b'\n').collect() };
        let mut at: HashMap<&[u8], Vec<u32>> = HashMap::new();
        for (n, line) in lines.iter().enumerate() {
            at.entry(line).or_default().push(n as u32);
        }
        Self { lines, at }
    }

    /// How many lines it has.
    pub fn len(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Where a hunk lies: as it was before the change or after it, whichever is there; `None` when neither is.
    pub fn place(&self, hunk: &Hunk) -> Option<Place> {
        [(Side::New, hunk.new_start), (Side::Old, hunk.old_start)]
            .into_iter()
            .filter_map(|(side, start)| self.best(hunk, side, start))
            .max_by_key(|p| p.percent)
    }

    /// The best place of one side of a hunk.
    fn best(&self, hunk: &Hunk, side: Side, start: u64) -> Option<Place> {
        let image: Vec<(bool, &[u8])> = hunk
            .lines
            .iter()
            .filter(|(s, _)| *s == side || *s == Side::Both)
            .map(|(s, text)| (*s == side, text.as_slice()))
            .collect();
        let telling = |text: &[u8]| text.iter().any(u8::is_ascii_alphanumeric);
        let weight: u32 = image.iter().map(|(_, t)| if telling(t) { 2 } else { 1 }).sum();
        if !image.iter().any(|(_, t)| telling(t)) {
            return None;
        }
        // Each rare line of the hunk votes for the places that would put it where it stands today.
        let mut votes: HashMap<i64, u32> = HashMap::new();
        for (n, (_, text)) in image.iter().enumerate() {
            let Some(places) = self.at.get(text).filter(|p| p.len() <= COMMON && telling(text)) else {
                continue;
            };
            for place in places {
                *votes.entry(i64::from(*place) - n as i64).or_default() += 1;
            }
        }
        let mut offsets: Vec<(i64, u32)> = votes.into_iter().collect();
        let far = |offset: i64| (offset + 1 - start as i64).abs();
        offsets.sort_by_key(|(offset, votes)| (std::cmp::Reverse(*votes), far(*offset), *offset));
        let scored = offsets.iter().take(8).map(|(offset, _)| {
            let there = image.iter().enumerate().filter(|(n, (_, text))| {
                usize::try_from(offset + *n as i64).ok().and_then(|at| self.lines.get(at)) == Some(text)
            });
            let found: u32 = there.map(|(_, (_, t))| if telling(t) { 2 } else { 1 }).sum();
            (found * 100 / weight.max(1), *offset)
        });
        let (percent, offset) = scored.max_by_key(|(percent, offset)| (*percent, -far(*offset)))?;
        (percent >= ENOUGH).then(|| Place { lines: self.span(&image, hunk, offset), percent })
    }

    /// The lines that the change is about, within the text.
    fn span(&self, image: &[(bool, &[u8])], hunk: &Hunk, offset: i64) -> (u64, u64) {
        let changed: Vec<i64> =
            image.iter().enumerate().filter(|(_, (own, _))| *own).map(|(n, _)| n as i64).collect();
        let (first, last) = if let (Some(first), Some(last)) = (changed.first(), changed.last()) {
            (*first, *last)
        } else {
            // Nothing of this side: the lines around the gap.
            let before = hunk.lines.iter().take_while(|(s, _)| *s == Side::Both).count() as i64;
            (before - 1, before)
        };
        let within = |n: i64| (offset + n).clamp(0, (self.lines.len() as i64 - 1).max(0)) as u64 + 1;
        (within(first), within(last))
    }
}

/// Whether two ranges of lines have a line in common.
pub fn meet(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::patch;
    use proptest::prelude::*;

    const OLD: &str = "int a;\nint b;\nint c;\n\nint f() {\n  return a;\n}\n\nint g() {\n  return b;\n}\n";

    fn hunk(text: &str) -> Hunk {
        patch::files(format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n{text}").as_bytes())[0].hunks[0].clone()
    }

    #[test]
    fn a_hunk_is_found_where_the_file_has_moved_it() {
        let change = hunk("@@ -5,3 +5,3 @@\n int f() {\n-  return a;\n+  return a + 1;\n }\n");
        assert_eq!(Today::of(OLD.as_bytes()).place(&change).map(|p| p.lines), Some((6, 6)));
        let moved = format!("{}{OLD}", "// more\n".repeat(40));
        assert_eq!(Today::of(moved.as_bytes()).place(&change).map(|p| p.lines), Some((46, 46)));
        let applied = OLD.replace("return a;", "return a + 1;");
        assert_eq!(Today::of(applied.as_bytes()).place(&change).map(|p| p.lines), Some((6, 6)));
        assert_eq!(Today::of(b"something else\n").place(&change), None);
        assert_eq!(Today::of(b"").place(&change), None);
    }

    #[test]
    fn of_equal_places_the_nearest_counts_and_a_removal_lies_in_its_gap() {
        let twice = format!("{OLD}{OLD}");
        let change = hunk("@@ -16,3 +16,3 @@\n int f() {\n-  return a;\n+  return 0;\n }\n");
        assert_eq!(Today::of(twice.as_bytes()).place(&change).map(|p| p.lines), Some((17, 17)));
        let removal = hunk("@@ -1,3 +1,2 @@\n int a;\n-int b;\n int c;\n");
        let without = OLD.replace("int b;\n", "");
        assert_eq!(Today::of(without.as_bytes()).place(&removal).map(|p| p.lines), Some((1, 2)));
    }

    proptest! {
        #[test]
        fn every_place_lies_within(text in "[ab{}\n]{0,80}", patch in "[ab{}\n +-]{0,80}", start in any::<u32>()) {
            let text = text.into_bytes();
            let today = Today::of(&text);
            let patch = format!("diff --git a/x b/x\n@@ -{start},20 +{start},20 @@\n{patch}");
            for hunk in patch::files(patch.as_bytes()).iter().flat_map(|f| &f.hunks) {
                if let Some(place) = today.place(hunk) {
                    prop_assert!(place.lines.0 >= 1 && place.lines.0 <= place.lines.1 && place.lines.1 <= today.len());
                    prop_assert!(place.percent <= 100);
                }
            }
        }
    }
}
