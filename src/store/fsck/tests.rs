use proptest::prelude::*;

use super::*;
use crate::event::IncidentOpened;
use crate::model::Timestamp;
use crate::model::incident::Author;
use crate::store::ledger::{self, Writer};

fn scene() -> (tempfile::TempDir, Repo) {
    let directory = tempfile::tempdir().unwrap();
    git2::Repository::init(directory.path()).unwrap();
    let repo = Repo::open(directory.path()).unwrap();
    (directory, repo)
}

#[expect(clippy::unnecessary_wraps, reason = "the shape a writer wants")]
fn salt() -> Result<String> {
    Ok("5".repeat(32))
}

fn writer() -> Writer<'static> {
    Writer {
        signature: git2::Signature::now("A", "a@example.org").unwrap(),
        author: Author::default(),
        now: Timestamp::from_millis(1_700_000_000_000),
        salt: &salt,
    }
}

fn open(repo: &Repo, title: &str) -> Oid {
    let opened = ledger::open(repo, &writer(), &[], |draft| {
        draft.add(IncidentOpened { title: title.to_owned(), ..IncidentOpened::default() })
    });
    opened.unwrap().incident
}

#[test]
fn a_ledger_just_written_is_clean() {
    let (_directory, repo) = scene();
    for n in 0..3 {
        open(&repo, &format!("incident {n}"));
    }
    let (report, _) = check(&repo, None).unwrap();
    assert_eq!(report.problems, []);
    assert_eq!((report.checked.incidents, report.checked.events, report.errors), (3, 3, 0));
}

#[test]
fn many_findings_are_counted_and_the_first_are_told() {
    let (_directory, repo) = scene();
    open(&repo, "x");
    let raw = repo.raw();
    let commit = raw.find_reference(LEDGER.notes).unwrap().peel_to_commit().unwrap();
    let blob = raw.blob(b"no note").unwrap();
    let mut tree = raw.treebuilder(Some(&commit.tree().unwrap())).unwrap();
    for n in 0..MAX_TOLD + 50 {
        tree.insert(format!("file {n}"), blob, 0o100_644).unwrap();
    }
    let tree = raw.find_tree(tree.write().unwrap()).unwrap();
    let signature = writer().signature;
    raw.commit(Some(LEDGER.notes), &signature, &signature, "", &tree, &[&commit]).unwrap();
    let (report, _) = check(&repo, None).unwrap();
    assert_eq!(report.errors, MAX_TOLD + 50);
    assert_eq!(report.problems.iter().filter(|p| p.check == "path").count(), MAX_TOLD);
    assert_eq!(report.left_out["path"], 50);
    let (_, moved) = repair(&repo, None, &signature, "20260102T030405Z").unwrap();
    assert_eq!(moved.len(), MAX_TOLD + 50);
    assert_eq!(check(&repo, None).unwrap().0.problems, []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever stands in a note, it is told and nothing panics; what is there is there after a repair, too.
    #[test]
    fn any_bytes_in_a_note_are_bounded_and_never_deleted(
        bytes in prop::collection::vec(prop::sample::select(&b"{}\"\n:,[]v1ad \xff\0x"[..]), 0..200),
        onto in any::<bool>(),
    ) {
        let (_directory, repo) = scene();
        let id = open(&repo, "x");
        let raw = repo.raw();
        let key = if onto { id.clone() } else { Oid::parse(&"ab".repeat(20)).unwrap() };
        let before = ledger::load(&repo, &id).unwrap();
        let mut text = if onto { before.events[0].raw.clone() } else { Vec::new() };
        text.push(b'\n');
        text.extend_from_slice(&bytes);
        let blob = repo.write_blob(&text).unwrap();
        ledger::write_notes(&repo, &writer(), vec![(key, text)], "by hand").unwrap();
        let (report, _) = check(&repo, None).unwrap();
        prop_assert!(report.problems.len() < 100);
        let signature = writer().signature;
        let (_, moved) = repair(&repo, None, &signature, "20260102T030405Z").unwrap();
        prop_assert!(raw.find_blob(crate::git::repo::to_git(&blob).unwrap()).is_ok());
        let (after, _) = check(&repo, None).unwrap();
        prop_assert!(after.problems.iter().all(|p| !p.repairable), "{:?}", after.problems);
        prop_assert_eq!(ledger::load(&repo, &id).unwrap().events, before.events);
        for one in moved {
            let found = raw.revparse_single(&format!("{}:{}", one.quarantine, one.name)).unwrap();
            prop_assert_eq!(crate::git::repo::from_git(found.id()), one.object);
        }
    }
}
