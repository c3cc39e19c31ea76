use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::event::{Data, Event, IncidentOpened, NextAdded, line};
use crate::fold::{self, Ledger};
use crate::git::program::Git;
use crate::model::incident::Author;
use crate::model::{EventId, Timestamp};
use crate::store::ledger::is_anchor;

struct Scene {
    _directory: tempfile::TempDir,
    git: Git,
    repo: Repo,
}

fn signature() -> git2::Signature<'static> {
    git2::Signature::now("A", "a@example.org").unwrap()
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::at(directory.path())
            .scrubbed()
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .config("user.name", "A")
            .config("user.email", "a@example.org");
        git.call(["init", "-q", "--bare"]).run().unwrap();
        let repo = Repo::open(directory.path()).unwrap();
        Self { _directory: directory, git, repo }
    }

    /// A commit of notes, each at a fan-out of its own: 0, 1 or 2 directories.
    fn commit(&self, texts: &BTreeMap<Oid, Vec<u8>>, depth: impl Fn(usize) -> usize) -> Oid {
        let mut listing = String::new();
        let index = tempfile::NamedTempFile::new().unwrap();
        std::fs::remove_file(index.path()).unwrap();
        for (i, (key, text)) in texts.iter().enumerate() {
            let blob = self.repo.write_blob(text).unwrap();
            let digits = key.as_str();
            let path = match depth(i) {
                0 => digits.to_owned(),
                1 => format!("{}/{}", &digits[..2], &digits[2..]),
                _ => format!("{}/{}/{}", &digits[..2], &digits[2..4], &digits[4..]),
            };
            listing.push_str(&format!("100644 {blob}\t{path}\n"));
        }
        let git = self.git.clone().env("GIT_INDEX_FILE", index.path());
        git.call(["update-index", "--index-info"]).stdin(listing).run().unwrap();
        let tree = git.call(["write-tree"]).text().unwrap();
        let commit = git.call(["commit-tree", "-m", "x", &tree]).text().unwrap();
        Oid::parse(&commit).unwrap()
    }

    /// Where a clone stands whose ledgers are those of a commit.
    fn stand_at(&self, commit: &Oid) {
        for name in [LEDGER.kept, LEDGER.notes] {
            refs::set(&self.repo, name, commit, "test").unwrap();
        }
        let _ = std::fs::remove_dir_all(self.repo.common_dir().join("incident"));
    }

    fn merge(&self, ours: &Oid, theirs: &Oid) -> Merged {
        self.stand_at(ours);
        let theirs = Theirs { ledger: Some(theirs.clone()), evidence: None };
        merge(&self.repo, &signature(), &theirs, What::All, false).unwrap()
    }

    fn texts(&self, commit: &Oid) -> BTreeMap<Oid, Vec<u8>> {
        let tree = notes::tree_of(&self.repo, commit).unwrap();
        let all = notes::entries(&self.repo, &tree).unwrap();
        all.into_iter().map(|(key, blob)| (key, self.repo.blob(&blob).unwrap())).collect()
    }
}

/// Ledgers with random parents: of each event the indexes of some earlier ones.
fn ledgers(shape: &[Vec<Vec<usize>>]) -> Vec<(Oid, Vec<Event>)> {
    let author = Author {
        agent: String::new(),
        email: "a@example.org".into(),
        name: "A".into(),
        salt: "0".repeat(32),
    };
    shape
        .iter()
        .enumerate()
        .map(|(n, parents)| {
            let mut events: Vec<Event> = Vec::new();
            for (i, parents) in parents.iter().enumerate() {
                let parents: Vec<EventId> =
                    parents.iter().filter_map(|p| events.get(*p)).map(|e| e.id).collect();
                let data: Data = if i == 0 {
                    IncidentOpened { title: format!("incident {n}"), ..Default::default() }.into()
                } else {
                    NextAdded { text: format!("idea {i} of {n}") }.into()
                };
                let at = Timestamp::from_millis(1_700_000_000_000 + i as i64);
                events.push(line::seal(at, &author, &data, &parents, &"1".repeat(32)).unwrap());
            }
            let mut anchor = events[0].raw.clone();
            anchor.push(b'\n');
            (Repo::blob_name(&anchor).unwrap(), events)
        })
        .collect()
}

/// How an event stands on a side: not at all, whole, without its author, without its data, without both.
fn spelled(event: &Event, how: u8) -> Option<Vec<u8>> {
    match how {
        0 => None,
        1 => Some(event.raw.clone()),
        2 => line::erase(&event.raw, true, false),
        3 => line::erase(&event.raw, false, true),
        _ => line::erase(&event.raw, true, true),
    }
}

type Sides = [BTreeMap<Oid, Vec<u8>>; 2];

fn split(ledgers: &[(Oid, Vec<Event>)], choices: &[[u8; 2]], damaged: bool) -> Sides {
    let mut sides: Sides = Default::default();
    let mut next = choices.iter().cycle();
    for (key, events) in ledgers {
        for event in events {
            let choice = next.next().copied().unwrap_or([1, 1]);
            for (side, how) in sides.iter_mut().zip(choice) {
                if let Some(raw) = spelled(event, how) {
                    let text = side.entry(key.clone()).or_default();
                    text.extend_from_slice(&raw);
                    text.push(b'\n');
                }
            }
        }
        if damaged {
            sides[0].entry(key.clone()).or_default().extend_from_slice(b"not an event\n\nnor this");
        }
    }
    sides
}

fn fold_of(key: &Oid, text: &[u8]) -> String {
    let ledger = Ledger::parse(text);
    let incident = ledger.incident(key, &|raw| is_anchor(key, raw));
    format!("{incident:?} {:?} {:?}", ledger.heads(), ledger.damaged)
}

fn shapes() -> impl Strategy<Value = Vec<Vec<Vec<usize>>>> {
    let event = proptest::collection::vec(0_usize..6, 0..3);
    proptest::collection::vec(proptest::collection::vec(event, 1..7), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Random ledgers, split at random between two clones at random fan-outs, some events erased on one side: both
    /// clones come to the same bytes, and plain git's own merge folds to the same.
    #[test]
    fn both_merges_and_git_agree(
        shape in shapes(),
        choices in proptest::collection::vec([0_u8..5, 0_u8..5], 1..12),
        depths in proptest::collection::vec(0_usize..3, 2..9),
        damaged in any::<bool>(),
    ) {
        let scene = Scene::new();
        let mut shape = shape;
        // The opening events have no parents.
        for events in &mut shape {
            events[0].clear();
        }
        let ledgers = ledgers(&shape);
        let sides = split(&ledgers, &choices, damaged);
        let a = scene.commit(&sides[0], |i| depths[i % depths.len()]);
        let b = scene.commit(&sides[1], |i| depths[(i * 5 + 1) % depths.len()]);
        let ab = scene.merge(&a, &b).ledger.commit.unwrap();
        let ba = scene.merge(&b, &a).ledger.commit.unwrap();
        let (one, other) = (scene.texts(&ab), scene.texts(&ba));
        prop_assert_eq!(&one, &other);

        // Nothing is lost but what either side has erased.
        for (key, events) in &ledgers {
            let text = one.get(key).cloned().unwrap_or_default();
            let lines: Vec<&[u8]> = fold::split_lines(&text).collect();
            for event in events {
                let on_a_side = sides.iter().any(|s| {
                    s.get(key).is_some_and(|t| Ledger::parse(t).events.iter().any(|e| e.id == event.id))
                });
                let standing = lines.iter().filter(|l| line::Line::parse(l).event().is_some_and(|e| e.id == event.id));
                prop_assert_eq!(standing.count(), usize::from(on_a_side));
            }
        }

        // git's own merge, on refs of its own.
        refs::set(&scene.repo, "refs/notes/plain", &a, "test").unwrap();
        refs::set(&scene.repo, "refs/notes/theirs", &b, "test").unwrap();
        scene.git.call(["notes", "--ref=plain", "merge", "-q", "-s", "cat_sort_uniq", "refs/notes/theirs"]).run().unwrap();
        let plain = scene.texts(&refs::read(&scene.repo, "refs/notes/plain").unwrap().unwrap());
        prop_assert_eq!(plain.keys().collect::<Vec<_>>(), one.keys().collect::<Vec<_>>());
        for (key, text) in &plain {
            prop_assert_eq!(fold_of(key, text), fold_of(key, &one[key]));
        }

        // And it is done: merged with either side nothing changes, and with what git made no more than the order.
        for with in [&a, &b, &ba] {
            let again = scene.merge(&ab, with).ledger.commit.unwrap();
            prop_assert_eq!(&scene.texts(&again), &one);
        }
        let with = refs::read(&scene.repo, "refs/notes/plain").unwrap().unwrap();
        let again = scene.texts(&scene.merge(&ab, &with).ledger.commit.unwrap());
        for (key, text) in &again {
            prop_assert_eq!(sorted(text), sorted(&one[key]));
        }
    }
}

#[test]
fn a_note_that_holds_all_of_the_other_is_taken_as_it_is() {
    let scene = Scene::new();
    let ledgers = ledgers(&[vec![vec![], vec![0], vec![1]]]);
    let (key, events) = &ledgers[0];
    let text = |order: &[usize]| -> Vec<u8> {
        order.iter().flat_map(|i| [&events[*i].raw[..], b"\n"].concat()).collect()
    };
    let side = |order: &[usize]| BTreeMap::from([(key.clone(), text(order))]);
    let large = scene.commit(&side(&[2, 0, 1]), |_| 1);
    let small = scene.commit(&side(&[0, 1]), |_| 1);
    // Theirs, as a commit: nothing of ours is missing there.
    let merged = scene.merge(&small, &large);
    assert_eq!(merged.ledger.commit.as_ref(), Some(&large));
    assert_eq!((merged.fetched.events, merged.pushed.events), (1, 0));
    let merged = scene.merge(&large, &small);
    assert_eq!(scene.texts(&merged.ledger.commit.unwrap())[key], text(&[2, 0, 1]));
    assert_eq!((merged.fetched.events, merged.pushed.events), (0, 1));
    // The same lines in another order come to one order.
    let other = scene.commit(&side(&[0, 2, 1]), |_| 1);
    let one = scene.merge(&large, &other).ledger.commit.unwrap();
    let two = scene.merge(&other, &large).ledger.commit.unwrap();
    assert_eq!(scene.texts(&one), scene.texts(&two));
}
