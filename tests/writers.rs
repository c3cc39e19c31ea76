//! Writers that race with each other and with git, and writers that die: what was acknowledged is there, once.

mod common;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use common::{Beside, LEDGER, Repo, finish, notes_in};

/// Every id of an event in the ledger, as often as it stands there.
fn event_ids(repo: &Repo, id: &str) -> Vec<String> {
    let ledger = repo.incident(&["export", id, "--format", "ledger"]).expect(0);
    ledger
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("an event")["id"].to_string())
        .collect()
}

#[track_caller]
fn each_once(repo: &Repo, id: &str) {
    let ids = event_ids(repo, id);
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "an event stands in the ledger twice");
}

#[test]
fn parallel_notes_from_two_worktrees_are_all_there_and_none_twice() {
    let repo = Repo::new();
    repo.commit("first");
    let id = repo.open("races");
    repo.git(&["worktree", "add", "-q", "../other"]);
    let other = repo.at(repo.root().join("other"));
    let here = repo.here();
    let writers: Vec<_> = (0..32)
        .map(|n| {
            let place: &Beside<'_> = if n % 2 == 0 { &here } else { &other };
            let mut command = place.command("git-incident");
            command.args(["attempt", "note", &format!("note {n}"), "-i", &id]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("a writer")
        })
        .collect();
    for writer in writers {
        finish(writer.wait_with_output()).expect(0);
    }
    let mut expected: Vec<String> = (0..32).map(|n| format!("note {n}")).collect();
    expected.sort();
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), expected);
    each_once(&repo, &id);
    repo.git(&["fsck", "--strict", "--no-progress"]);
}

/// git rewrites notes of amended commits without compare and swap; no key of ours is a commit, so it has no reason to
/// write our refs. Measured without that: 38 of 300 events lost.
#[test]
fn an_amend_loop_beside_a_writer_loses_no_event() {
    let repo = Repo::new();
    repo.git(&["config", "notes.rewriteRef", "refs/notes/*"]);
    repo.git(&["config", "notes.rewriteMode", "concatenate"]);
    let commit = repo.commit("first");
    let id = repo.open("races with git");
    repo.incident(&["link", &commit, "--as", "offending"]).expect(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = Ends(&stop);
        let amends = scope.spawn(|| {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                repo.git(&["commit", "-q", "--amend", "--allow-empty", "-m", &format!("first, {n}")]);
                n += 1;
            }
            n
        });
        for n in 0..100 {
            repo.note(&format!("event {n:03}"));
        }
        stop.store(true, Ordering::Relaxed);
        assert!(amends.join().expect("the amend loop") > 10, "git was not beside the writer");
    });
    let expected: Vec<String> = (0..100).map(|n| format!("event {n:03}")).collect();
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), expected);
    each_once(&repo, &id);
}

/// `git notes append` reads, then writes without compare and swap: it may throw away what came between. The next
/// command has it back.
#[test]
fn a_plain_git_notes_loop_on_our_own_ref_loses_no_event() {
    let repo = Repo::new();
    repo.commit("first");
    let id = repo.open("races with git notes");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = Ends(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // It fails when it meets our lock; that is its own business.
                repo.try_git(&["notes", "--ref=incidents", "append", "-m", "a stranger's line", "HEAD"]);
            }
        });
        for n in 0..60 {
            repo.note(&format!("event {n:03}"));
        }
    });
    let expected: Vec<String> = (0..60).map(|n| format!("event {n:03}")).collect();
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), expected);
    each_once(&repo, &id);
}

/// Ends the other thread of a race, also when this one fails: else a failure would hang for ever.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_stale_ref_lock_is_removed() {
    let repo = Repo::new();
    let id = repo.open("locked");
    let lock = repo.path().join(format!(".git/{LEDGER}.lock"));
    let file = std::fs::File::create(&lock).expect("a lock");
    file.set_modified(SystemTime::now() - Duration::from_secs(11)).expect("its time");
    drop(file);
    repo.note("written all the same");
    assert!(!lock.exists());
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), ["written all the same"]);
}

#[test]
fn a_fresh_ref_lock_is_waited_for() {
    let repo = Repo::new();
    let id = repo.open("locked for a moment");
    let lock = repo.path().join(format!(".git/{LEDGER}.lock"));
    std::fs::write(&lock, "").expect("a lock");
    let mut command = repo.command("git-incident");
    command.args(["attempt", "note", "patience"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut writer = command.spawn().expect("a writer");
    std::thread::sleep(Duration::from_millis(300));
    assert!(writer.try_wait().expect("its state").is_none(), "it did not wait");
    assert!(lock.exists(), "it removed a lock that may be somebody's");
    std::fs::remove_file(&lock).expect("the owner is done");
    finish(writer.wait_with_output()).expect(0);
    assert_eq!(notes_in(&repo.incident_json(&["show", &id])), ["patience"]);
}

#[test]
fn a_lock_whose_owner_lives_is_refused_with_a_hint_and_loses_nothing() {
    let repo = Repo::new();
    let id = repo.open("locked by the living");
    let lock = repo.path().join(format!(".git/{LEDGER}.lock"));
    // Old, and held open by this very process.
    let owner = std::fs::File::create(&lock).expect("a lock");
    owner.set_modified(SystemTime::now() - Duration::from_mins(1)).expect("its time");
    let ran = repo.typed("attempt note 'in vain'").refuses(1);
    ran.says("refs/notes/incidents is locked by another process").says("refs/notes/incidents.lock");
    assert!(lock.exists());
    drop(owner);
    std::fs::remove_file(&lock).expect("the owner is done");
    repo.note("later");
    let there = notes_in(&repo.incident_json(&["show", &id]));
    assert!(there.contains(&"later".to_owned()), "{there:?}");
}
