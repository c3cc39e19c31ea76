//! Ledgers as several clones write, lose, erase and merge them.

use git_incident::event::line::{MAX_PARENTS, seal};
use git_incident::event::{
    AttemptStarted, Data, IncidentClosed, IncidentOpened, IncidentReopened, LedgerContinued, Line, NextAdded,
};
use git_incident::fold::{Ledger, split_lines, unite};
use git_incident::git::{Repo, notes, refs};
use git_incident::model::canonical::sha256_hex;
use git_incident::model::status::Status;
use git_incident::model::{EventId, Oid, Timestamp};
use git_incident::store::guard::mend;
use git_incident::store::ledger::{self, Writer};
use git_incident::store::travelling::{LEDGER, read};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::ledgers::{author, erase, random_ledger};
use crate::view::{python, reader, view};

const NOW: i64 = 1_772_000_000_000;

struct Clone {
    repo: Repo,
    directory: tempfile::TempDir,
}

fn repository() -> Clone {
    let directory = tempfile::tempdir().expect("a directory");
    git2::Repository::init(directory.path()).expect("made");
    Clone { repo: Repo::open(directory.path()).expect("opened"), directory }
}

fn with_writer<T>(now: i64, then: impl FnOnce(&Writer<'_>) -> T) -> T {
    let count = std::cell::Cell::new(0_i64);
    then(&Writer {
        signature: signature(),
        author: author(0),
        now: Timestamp::from_millis(now),
        salt: &|| {
            count.set(count.get() + 1);
            Ok(sha256_hex(format!("{now} {}", count.get()).as_bytes())[..32].to_owned())
        },
    })
}

fn signature() -> git2::Signature<'static> {
    git2::Signature::new("Ada", "ada@example.org", &git2::Time::new(0, 0)).expect("a signature")
}

fn opening(title: &str) -> IncidentOpened {
    IncidentOpened { title: title.into(), ..Default::default() }
}

fn idea(text: &str) -> NextAdded {
    NextAdded { text: text.into() }
}

fn open(clone: &Clone, more: impl FnOnce(&mut ledger::Draft<'_>)) -> Oid {
    with_writer(NOW, |writer| {
        let opened = ledger::open(&clone.repo, writer, &[], |d| {
            d.add(opening("mine"))?;
            more(d);
            Ok(())
        });
        opened.expect("opened").incident
    })
}

fn append(clone: &Clone, incident: &Oid, data: impl Into<Data>) -> EventId {
    with_writer(NOW, |writer| {
        ledger::append(&clone.repo, writer, incident, &[], |d| d.add(data)).expect("appended").value
    })
}

fn load(clone: &Clone, incident: &Oid) -> Ledger {
    ledger::load(&clone.repo, incident).expect("loaded")
}

/// Writes notes as another program would, without a look at what stands there.
fn put(clone: &Clone, reference: &str, contents: Vec<(Oid, Vec<u8>)>) {
    let repo = &clone.repo;
    let current = refs::read(repo, reference).expect("read");
    let tree = current.as_ref().map(|c| notes::tree_of(repo, c).expect("a tree"));
    let changes = contents
        .into_iter()
        .map(|(key, bytes)| notes::Change { key, blob: Some(repo.write_blob(&bytes).expect("written")) })
        .collect();
    let tree = notes::apply(repo, tree.as_ref(), changes).expect("written");
    let commit = notes::commit(repo, &tree, &[], &signature(), "elsewhere\n").expect("written");
    let swap =
        refs::compare_and_swap(repo, reference, &commit, current.as_ref(), "elsewhere").expect("written");
    assert_eq!(swap, refs::Swap::Done);
    assert_eq!(refs::read(repo, reference).expect("read"), Some(commit));
}

fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|l| [l.as_slice(), b"\n"].concat()).collect()
}

fn note(clone: &Clone, incident: &Oid) -> Vec<u8> {
    read(&clone.repo, LEDGER.notes, incident).expect("read")
}

/// An event of another clone, sealed by hand.
fn elsewhere(at: i64, data: impl Into<Data>, parents: &[EventId]) -> git_incident::event::Event {
    let salt = sha256_hex(&at.to_be_bytes());
    seal(Timestamp::from_millis(at), &author(1), &data.into(), parents, &salt).expect("sealed")
}

fn second_view(clone: &Clone, incident: &Oid) -> Value {
    let path = clone.directory.path().to_string_lossy().into_owned();
    let text = python(&[&reader(), "--repo", &path, "--incident", incident.as_str()], None);
    serde_json::from_str(&text).expect("JSON")
}

// ---- heads ----

#[test]
fn more_heads_than_an_event_may_name_are_joined_one_after_the_other() {
    let clone = repository();
    let incident = open(&clone, |_| ());
    let root = load(&clone, &incident).events[0].id;
    let heads = MAX_PARENTS + 10;
    let many: Vec<Vec<u8>> =
        (0..heads).map(|n| elsewhere(NOW + 1 + n as i64, idea("n"), &[root]).raw).collect();
    let bytes = [note(&clone, &incident), joined(&many)].concat();
    assert!(bytes.len() > ledger::SEGMENT_BYTES, "it goes on in a segment, too");
    put(&clone, LEDGER.notes, vec![(incident.clone(), bytes)]);
    assert_eq!(load(&clone, &incident).heads().len(), heads);
    let first = append(&clone, &incident, idea("first"));
    let after = load(&clone, &incident);
    assert!(after.damaged.is_empty() && after.events.iter().any(|e| e.id == first));
    assert_eq!(after.heads().len(), heads - MAX_PARENTS + 1);
    let largest = after.events.iter().map(|e| e.parents.len()).max();
    assert_eq!(largest, Some(MAX_PARENTS));
    let parents: Vec<EventId> = (0..=MAX_PARENTS as i64).map(|n| elsewhere(n, idea("n"), &[]).id).collect();
    let at = Timestamp::from_millis(NOW);
    assert!(seal(at, &author(0), &idea("x").into(), &parents, "00").is_err());
}

#[test]
fn a_writer_names_heads_only() {
    let clone = repository();
    let incident = open(&clone, |_| ());
    let long = |n: usize| idea(&format!("{n}{}", "x".repeat(150_000)));
    let mut sizes = Vec::new();
    for n in 0..12 {
        let before = load(&clone, &incident).heads();
        let event = if n == 9 {
            // Another clone, which knows of the first event alone, was merged: both sides are joined.
            let root = load(&clone, &incident).events[0].id;
            let foreign = elsewhere(NOW + 3, idea("theirs"), &[root]);
            let bytes = [note(&clone, &incident), foreign.raw, b"\n".to_vec()].concat();
            put(&clone, LEDGER.notes, vec![(incident.clone(), bytes)]);
            append(&clone, &incident, long(n))
        } else {
            assert_eq!(before.len(), 1, "{n}");
            append(&clone, &incident, long(n))
        };
        let after = load(&clone, &incident);
        let event = after.events.iter().find(|e| e.id == event).expect("there");
        assert!(after.heads() == [event.id], "{n}: {:?}", after.heads());
        sizes.push(event.parents.len());
    }
    assert!(sizes.iter().all(|s| *s <= 2), "{sizes:?}");
    assert_eq!(sizes.iter().filter(|s| **s == 2).count(), 1, "{sizes:?}");
    let kinds = |name: &str| {
        let events = load(&clone, &incident).events;
        events.iter().filter(|e| e.type_name == name).count()
    };
    assert!(kinds("ledger.segment") >= 4);
}

#[test]
fn segments_begun_at_the_same_time_are_joined() {
    let (ours, theirs) = (repository(), repository());
    let incident = open(&ours, |_| ());
    append(&ours, &incident, idea(&"x".repeat(ledger::SEGMENT_BYTES)));
    put(&theirs, LEDGER.notes, vec![(incident.clone(), note(&ours, &incident))]);
    let closed = IncidentClosed { status: Status::Resolved, note: String::new(), gaps: vec![] };
    with_writer(NOW + 60_000, |writer| {
        ledger::append(&theirs.repo, writer, &incident, &[], |d| d.add(closed)).expect("appended");
    });
    append(&ours, &incident, IncidentReopened::default());
    // Everything of the other clone arrives.
    let commit = refs::read(&theirs.repo, LEDGER.notes).expect("read").expect("a ref");
    let tree = notes::tree_of(&theirs.repo, &commit).expect("a tree");
    for (key, blob) in notes::entries(&theirs.repo, &tree).expect("read") {
        let bytes = theirs.repo.blob(&blob).expect("here");
        let both = unite([note(&ours, &key).as_slice(), &bytes]);
        put(&ours, LEDGER.notes, vec![(key, both)]);
    }
    assert_eq!(load(&ours, &incident).heads().len(), 2);
    let fold = |clone| ledger::incident(clone, &incident).expect("folded");
    assert_eq!(fold(&ours.repo).status.rivals().count(), 1);
    append(&ours, &incident, IncidentReopened::default());
    assert_eq!(load(&ours, &incident).heads().len(), 1);
    let settled = fold(&ours.repo);
    assert_eq!((*settled.status, settled.status.rivals().count()), (Status::Open, 0));
}

// ---- segments ----

#[test]
fn another_incident_is_no_segment() {
    let clone = repository();
    let other = with_writer(NOW + 5, |writer| {
        ledger::open(&clone.repo, writer, &[], |d| {
            d.add(opening("other"))?;
            d.add(AttemptStarted::default())
        })
        .expect("opened")
        .incident
    });
    let incident = open(&clone, |d| {
        let segment = other.clone();
        d.add(LedgerContinued { segment }).expect("added");
    });
    append(&clone, &incident, idea("more"));
    let folded = ledger::incident(&clone.repo, &incident).expect("folded");
    assert!(folded.attempts.is_empty(), "the other incident's attempt is not ours");
    assert_eq!(folded.next.len(), 1);
    assert!(folded.damaged[0].contains(other.as_str()), "{:?}", folded.damaged);
    let theirs = ledger::incident(&clone.repo, &other).expect("folded");
    assert!(theirs.next.is_empty(), "nothing was written to the other incident");
    assert_eq!(second_view(&clone, &incident)["damaged"], 1);
}

#[test]
fn a_missing_segment_is_said() {
    let clone = repository();
    let gone = Oid::parse(&"1".repeat(40)).expect("an id");
    let incident = open(&clone, |d| {
        let segment = gone.clone();
        d.add(LedgerContinued { segment }).expect("added");
    });
    append(&clone, &incident, idea("more"));
    let folded = ledger::incident(&clone.repo, &incident).expect("folded");
    assert!(folded.damaged.len() == 1 && folded.damaged[0].contains(gone.as_str()));
    assert_eq!(folded.next.len(), 1, "what is here counts");
    let view = second_view(&clone, &incident);
    assert_eq!((&view["damaged"], &view["next"][0]["text"]), (&1.into(), &"more".into()));
}

#[test]
fn a_segment_whose_writer_was_erased_still_counts() {
    let clone = repository();
    let incident = open(&clone, |_| ());
    append(&clone, &incident, idea(&"x".repeat(ledger::SEGMENT_BYTES)));
    append(&clone, &incident, idea("in the segment"));
    let events = load(&clone, &incident).events;
    let first = events.iter().find(|e| e.type_name == "ledger.segment").expect("begun");
    let anchor = Repo::blob_name(&[&first.raw[..], b"\n"].concat()).expect("hashed");
    let lines: Vec<Vec<u8>> = split_lines(&note(&clone, &anchor)).map(|l| erase(l, false)).collect();
    put(&clone, LEDGER.notes, vec![(anchor, joined(&lines))]);
    let after = append(&clone, &incident, idea("after"));
    let folded = ledger::incident(&clone.repo, &incident).expect("folded");
    assert_eq!((folded.next.len(), folded.damaged.len()), (3, 0));
    assert_eq!(load(&clone, &incident).heads(), [after]);
    assert_eq!(second_view(&clone, &incident)["damaged"], 0);
}

// ---- the clock ----

#[test]
fn an_event_from_the_end_of_time_does_not_stop_the_ledger() {
    let clone = repository();
    let incident = open(&clone, |_| ());
    let root = load(&clone, &incident).events[0].id;
    let last = elsewhere(i64::MAX, idea("late"), &[root]);
    let bytes = [note(&clone, &incident), last.raw, b"\n".to_vec()].concat();
    put(&clone, LEDGER.notes, vec![(incident.clone(), bytes)]);
    let added: Vec<EventId> = ["a", "b", "c"].map(|t| append(&clone, &incident, idea(t))).to_vec();
    let whole = load(&clone, &incident);
    assert!(whole.damaged.is_empty());
    assert!(whole.events[2..].iter().map(|e| e.id).eq(added), "the parents tell what came first");
    assert_eq!(whole.events[4].at.to_string(), "9999-12-31T23:59:59.999Z");
}

// ---- mending and merging ----

#[test]
fn mending_takes_nothing_away_and_brings_nothing_erased_back() {
    let clone = repository();
    let incident = open(&clone, |_| ());
    let first = note(&clone, &incident);
    let root = load(&clone, &incident).events[0].id;
    // This clone kept the first version, which is the anchor itself; the notes have gone on elsewhere, without it.
    let foreign = elsewhere(NOW + 1, idea("secret"), &[root]).raw;
    put(&clone, LEDGER.notes, vec![(incident.clone(), [foreign.as_slice(), b"\n"].concat())]);
    let mended = mend(&clone.repo, LEDGER, &signature()).expect("mended");
    assert!(mended.is_some());
    let whole = unite([foreign.as_slice(), &first]);
    assert_eq!(note(&clone, &incident), whole);
    // Now the secret is erased elsewhere: no line is missing.
    let erased = joined(&[erase(&foreign, true), first[..first.len() - 1].to_vec()]);
    put(&clone, LEDGER.notes, vec![(incident.clone(), erased.clone())]);
    assert_eq!(mend(&clone.repo, LEDGER, &signature()).expect("mended"), None);
    assert_eq!(note(&clone, &incident), erased);
    // And when the full line comes back, it is erased again.
    put(&clone, LEDGER.notes, vec![(incident.clone(), whole)]);
    mend(&clone.repo, LEDGER, &signature()).expect("mended");
    assert_eq!(note(&clone, &incident), erased);
}

#[test]
fn unions_of_random_ledgers_fold_the_same_whoever_makes_them() {
    let text = proptest::string::string_regex("[a-zé\"\\\\\n]{0,5}").expect("a pattern");
    let steps = proptest::collection::vec((any::<u64>(), any::<u64>(), 0_i64..5, text), 0..40);
    let extra = proptest::collection::vec((0_u8..14, any::<u64>()), 0..20);
    let sides = proptest::collection::vec(0_u8..3, 80);
    let mut runner = TestRunner::default();
    let clone = repository();
    for _ in 0..24 {
        let (steps, extra, sides) =
            (&steps, &extra, &sides).new_tree(&mut runner).expect("generated").current();
        let (bytes, anchor) = random_ledger(&steps, &extra);
        let side = |n: u8| -> Vec<u8> {
            let of_side = split_lines(&bytes).zip(sides.iter().cycle()).filter(|(_, s)| **s != n);
            of_side.flat_map(|(line, _)| [line, b"\n"].concat()).collect()
        };
        let (key, a, b) = (&anchor, &side(0), &side(1));
        // Another clone each time: nothing of the former case is remembered.
        let _ = std::fs::remove_dir_all(clone.repo.common_dir().join("incident"));
        put(&clone, LEDGER.kept, vec![(anchor.clone(), a.clone())]);
        put(&clone, "refs/notes/theirs", vec![(anchor.clone(), a.clone())]);
        put(&clone, LEDGER.notes, vec![(anchor.clone(), b.clone())]);
        // git unites the two, and this program what it kept with what the other side had.
        crate::git(
            clone.directory.path(),
            &["notes", "--ref=theirs", "merge", "-q", "-s", "cat_sort_uniq", LEDGER.notes],
        );
        mend(&clone.repo, LEDGER, &signature()).expect("mended");
        let gits = read(&clone.repo, "refs/notes/theirs", key).expect("read");
        let ours = unite([a.as_slice(), b]);
        let turned = unite([b.as_slice(), a]);
        let sorted = |bytes: &[u8]| {
            let mut lines: Vec<Vec<u8>> = split_lines(bytes).map(<[u8]>::to_vec).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&ours), sorted(&turned), "the same lines, to the byte");
        // Where nothing is missing, mending leaves the note alone, with both spellings if git put them there.
        let mended = unite([note(&clone, key).as_slice()]);
        assert_eq!(sorted(&ours), sorted(&mended), "mending is a union");
        assert_eq!(sorted(&unite([gits.as_slice()])), sorted(&ours), "what git merged says the same");
        let seen = |bytes: &[u8]| {
            let ledger = Ledger::parse(bytes);
            let incident = ledger.incident(key, &|raw| ledger::is_anchor(key, raw));
            (view(&ledger, key), incident)
        };
        let expected = seen(&[a.as_slice(), b].concat());
        for bytes in [gits, [b.as_slice(), a].concat()] {
            assert_eq!(seen(&bytes), expected, "{}", String::from_utf8_lossy(&bytes));
        }
        // A union forgets full lines of erased events, the anchor's among them: then the events tell.
        assert_eq!(seen(&ours), seen(&turned));
        assert!(split_lines(&ours).all(|l| Line::parse(l).raw() == l));
    }
}
