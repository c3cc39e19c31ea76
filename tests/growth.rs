//! Growth: what an event costs does not depend on how many there are. Counted in bytes of objects, never in time;
//! docs/RELIABILITY.md has the times.

use std::path::Path;
use std::process::Command;

use git_incident::event::{IncidentOpened, NextAdded};
use git_incident::git::Repo;
use git_incident::model::canonical::sha256_hex;
use git_incident::model::incident::Author;
use git_incident::model::{Oid, Timestamp};
use git_incident::store::ledger::{self, Writer};

/// A text that does not compress to nothing, as long as a talkative event's.
const TEXT: usize = 8000;

/// So many such events fill a segment.
const PER_SEGMENT: usize = ledger::SEGMENT_BYTES / TEXT;

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

struct Growing {
    directory: tempfile::TempDir,
    repo: Repo,
    incident: Oid,
    events: usize,
}

impl Growing {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        git2::Repository::init(directory.path()).expect("made");
        let repo = Repo::open(directory.path()).expect("opened");
        let opened = ledger::open(&repo, &writer(0), &[], |draft| {
            draft.add(IncidentOpened { title: "growing".into(), ..Default::default() })
        });
        let incident = opened.expect("opened").incident;
        Self { directory, repo, incident, events: 0 }
    }

    fn append(&mut self, count: usize) {
        for _ in 0..count {
            self.events += 1;
            let text: String =
                (0..TEXT / 64).map(|i| sha256_hex(format!("{} {i}", self.events).as_bytes())).collect();
            ledger::append(&self.repo, &writer(self.events as i64), &self.incident, &[], |draft| {
                draft.add(NextAdded { text })
            })
            .expect("appended");
        }
    }

    /// Number of objects, and their bytes before compression: all that was ever written, as nothing is packed.
    fn written(&self) -> (usize, u64) {
        let sizes =
            git(self.directory.path(), &["cat-file", "--batch-all-objects", "--batch-check=%(objectsize)"]);
        (sizes.lines().count(), sizes.lines().map(|size| size.parse::<u64>().expect("a size")).sum())
    }

    /// Kilobytes on disk, packed.
    fn packed(&self) -> u64 {
        git(self.directory.path(), &["reflog", "expire", "--expire=now", "--all"]);
        git(self.directory.path(), &["gc", "-q", "--prune=now"]);
        let counts = git(self.directory.path(), &["count-objects", "-v"]);
        let size = counts.lines().find_map(|line| line.strip_prefix("size-pack: ")).expect("a size");
        size.parse().expect("a number")
    }
}

fn writer(n: i64) -> Writer<'static> {
    Writer {
        signature: git2::Signature::new("Ada", "ada@example.org", &git2::Time::new(n, 0))
            .expect("a signature"),
        author: Author { name: "Ada".into(), email: "ada@example.org".into(), ..Default::default() },
        now: Timestamp::from_millis(1_772_000_000_000 + n),
        salt: &|| Ok("00".repeat(16)),
    }
}

#[test]
fn an_event_costs_the_same_however_many_there_are() {
    let mut growing = Growing::new();
    // Whole segments, so that both halves see notes of every length.
    let step = 3 * PER_SEGMENT;
    growing.append(PER_SEGMENT);
    let start = growing.written();
    growing.append(step);
    let middle = growing.written();
    growing.append(step);
    growing.append(step);
    let late = growing.written();
    growing.append(step);
    let end = growing.written();
    let (early_objects, early_bytes) = (middle.0 - start.0, middle.1 - start.1);
    let (late_objects, late_bytes) = (end.0 - late.0, end.1 - late.1);
    assert!(
        late_objects <= early_objects + step / 20,
        "{early_objects} objects at first, {late_objects} later"
    );
    assert!(late_bytes * 10 <= early_bytes * 11, "{early_bytes} bytes at first, {late_bytes} later");
    // A write is a note, two trees and a commit, and not more than a segment of bytes.
    assert!(late_objects <= 4 * step + step / 4, "{late_objects} objects for {step} events");
    let bound = (ledger::SEGMENT_BYTES + 2 * TEXT) as u64 * step as u64;
    assert!(late_bytes < bound, "{late_bytes} bytes for {step} events");
    let incident = ledger::incident(&growing.repo, &growing.incident).expect("folded");
    assert_eq!((incident.next.len(), incident.damaged.len()), (growing.events, 0));
}

#[test]
fn after_maintenance_the_space_is_that_of_the_events() {
    let mut growing = Growing::new();
    growing.append(4 * PER_SEGMENT);
    let first = growing.packed();
    growing.append(4 * PER_SEGMENT);
    let second = growing.packed();
    let raw = (growing.events * TEXT) as u64 / 1024;
    assert!(second * 10 <= first * 22, "{first} KiB for half of the events, {second} KiB for all");
    // The texts are hexadecimal digits, half of which is noise; git keeps one copy, and deltas for the rest.
    assert!(second < 2 * raw, "{second} KiB for {raw} KiB of events");
    let incident = ledger::incident(&growing.repo, &growing.incident).expect("folded");
    assert_eq!((incident.next.len(), incident.damaged.len()), (growing.events, 0));
}
