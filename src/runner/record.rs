//! The file that keeps a command's output, with a bounded size.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Room kept for the line that says how much is missing.
const MARKER_ROOM: u64 = 64;

/// How much of the end of the output is kept in memory for [`Record::last_lines`].
const RECENT: usize = 64 * 1024;

/// Writes output to a file as it arrives, so that even a crash of ours leaves what there was.
///
/// The first half of the allowance is kept as it comes. What follows goes round in the second half,
/// which [`Record::finish`] puts in order behind a line that says how much is missing. A failing
/// write (a full disk) ends the writing and is reported at the end, as the command must go on.
pub(super) struct Record {
    file: File,
    head: u64,
    ring: u64,
    marked: bool,
    total: u64,
    error: Option<io::Error>,
    recent: Vec<u8>,
}

/// What [`Record::finish`] reports.
pub(super) struct Recorded {
    pub(super) total: u64,
    pub(super) dropped: u64,
    pub(super) error: Option<String>,
}

impl Record {
    /// Creates or empties `path`.
    pub(super) fn create(path: &Path, max: u64) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        // Too small for a marker: then the counts alone tell.
        let marked = max >= 4 * MARKER_ROOM;
        let room = if marked { MARKER_ROOM } else { 0 };
        let head = max / 2;
        Ok(Self { file, head, ring: max - head - room, marked, total: 0, error: None, recent: Vec::new() })
    }

    /// The most bytes that are kept whole.
    fn capacity(&self) -> u64 {
        self.head + self.ring
    }

    /// Adds output.
    pub(super) fn write(&mut self, mut bytes: &[u8]) {
        self.recent.extend_from_slice(bytes);
        if self.recent.len() > 2 * RECENT {
            self.recent.drain(..self.recent.len() - RECENT);
        }
        while !bytes.is_empty() {
            let (at, room) = if self.total < self.head {
                (self.total, self.head - self.total)
            } else if self.ring == 0 {
                self.total += bytes.len() as u64;
                return;
            } else {
                let turn = (self.total - self.head) % self.ring;
                (self.head + turn, self.ring - turn)
            };
            let part = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            if self.error.is_none() {
                self.error = self.file.write_all_at(&bytes[..part], at).err();
            }
            self.total += part as u64;
            bytes = &bytes[part..];
        }
    }

    /// The last `count` lines, or less when they are longer than 64 KiB in all.
    pub(super) fn last_lines(&self, count: usize) -> &[u8] {
        let recent = &self.recent[self.recent.len().saturating_sub(RECENT)..];
        let body = recent.strip_suffix(b"\n").unwrap_or(recent);
        let mut from = body.len();
        for _ in 0..count {
            let Some(newline) = body[..from].iter().rposition(|byte| *byte == b'\n') else {
                return recent;
            };
            from = newline;
        }
        &recent[from + 1..]
    }

    /// Puts the end of the output behind its beginning.
    pub(super) fn finish(mut self) -> Recorded {
        let dropped = self.total.saturating_sub(self.capacity());
        if dropped > 0
            && self.error.is_none()
            && let Err(error) = self.straighten(dropped)
        {
            self.error = Some(error);
        }
        Recorded { total: self.total, dropped, error: self.error.map(|error| error.to_string()) }
    }

    fn straighten(&mut self, dropped: u64) -> io::Result<()> {
        let mut tail = vec![0; usize::try_from(self.ring).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut tail, self.head)?;
        if !tail.is_empty() {
            let oldest = (self.total - self.head) % self.ring;
            tail.rotate_left(usize::try_from(oldest).map_err(io::Error::other)?);
        }
        let mut at = self.head;
        let marker = format!("\n[{dropped} bytes left out here]\n");
        if self.marked {
            self.file.write_all_at(marker.as_bytes(), at)?;
            at += marker.len() as u64;
        }
        self.file.write_all_at(&tail, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(max: u64, parts: &[Vec<u8>]) -> (Vec<u8>, Recorded) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut record = Record::create(&path, max).unwrap();
        for part in parts {
            record.write(part);
        }
        let recorded = record.finish();
        (std::fs::read(path).unwrap(), recorded)
    }

    #[test]
    fn head_and_tail_of_a_flood() {
        let lines: Vec<Vec<u8>> = (0..1000).map(|n| format!("line {n:05}\n").into_bytes()).collect();
        let (kept, recorded) = record(1024, &lines);
        let text = String::from_utf8(kept).unwrap();
        assert!(text.len() <= 1024);
        assert!(text.starts_with("line 00000\n") && text.ends_with("line 00998\nline 00999\n"));
        assert!(text.contains(&format!("\n[{} bytes left out here]\n", recorded.dropped)));
        assert_eq!(recorded.total, 11_000);
        assert_eq!(recorded.dropped, 11_000 - 512 - (512 - MARKER_ROOM));
    }

    #[test]
    fn last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::create(&folder.path().join("out"), 10).unwrap();
        assert_eq!(record.last_lines(2), b"");
        record.write(b"a\nb\nc\n");
        assert_eq!(record.last_lines(2), b"b\nc\n");
        assert_eq!(record.last_lines(9), b"a\nb\nc\n");
        record.write(b"d");
        assert_eq!(record.last_lines(2), b"c\nd");
        for _ in 0..100_000 {
            record.write(b"xx\n");
        }
        record.write(b"y\n");
        assert_eq!(record.last_lines(2), b"xx\ny\n");
        assert!(record.recent.len() <= 2 * RECENT);
    }

    #[test]
    fn a_full_disk_is_reported_and_does_not_stop_anything() {
        if !Path::new("/dev/full").exists() {
            return;
        }
        let mut record = Record::create(Path::new("/dev/full"), 100).unwrap();
        record.write(b"lost");
        let recorded = record.finish();
        assert_eq!(recorded.total, 4);
        assert!(recorded.error.is_some());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_that_fits(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..40), max in 0_u64..2000) {
            let whole = parts.concat();
            let (kept, recorded) = record(max, &parts);
            prop_assert_eq!(recorded.total, whole.len() as u64);
            prop_assert!(kept.len() as u64 <= max);
            prop_assert!(recorded.error.is_none());
            let head = whole.len().min(usize::try_from(max / 2).unwrap());
            prop_assert_eq!(&kept[..head], &whole[..head]);
            if recorded.dropped == 0 {
                prop_assert_eq!(kept, whole);
            } else {
                let tail = usize::try_from(recorded.total - recorded.dropped).unwrap() - head;
                prop_assert_eq!(&kept[kept.len() - tail..], &whole[whole.len() - tail..]);
            }
        }
    }
}
