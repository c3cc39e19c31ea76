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

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A dead writer may leave a ref's lock behind; nobody waits ten seconds for it in a test.
fn age_locks(repo: &Repo) {
    let long_ago = SystemTime::now() - Duration::from_mins(1);
    for name in [
        "refs/notes/incidents",
        "refs/notes/incidents-evidence",
        "refs/incident/kept/ledger",
        "refs/incident/kept/evidence",
    ] {
        let lock = repo.path().join(format!(".git/{name}.lock"));
        if let Ok(file) = std::fs::File::options().write(true).open(lock) {
            file.set_modified(long_ago).expect("the time of a lock");
        }
    }
}

#[test]
fn writers_killed_at_any_point_leave_every_acknowledged_event_and_a_sound_repository() {
    let repo = Repo::new();
    repo.commit("first");
    let id = repo.open("killed");
    repo.write("evidence.txt", "kept\n");
    // One whole run tells how long there is to kill in.
    let started = std::time::Instant::now();
    repo.note("whole");
    let whole = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX).max(2000);
    let mut dice = Dice(7);
    let mut acknowledged = vec!["whole".to_owned()];
    let mut killed = 0;
    for n in 0..2000 {
        let text = format!("event {n:04}");
        let mut command = repo.command("git-incident");
        if n % 4 == 3 {
            // Evidence moves all four refs.
            repo.write("evidence.txt", &format!("kept, {n}\n"));
            command.args(["try", "-H", &text, "--", "cat", "evidence.txt"]);
        } else {
            command.args(["attempt", "note", &text, "-i", &id]);
        }
        let mut writer = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a writer");
        std::thread::sleep(Duration::from_micros(dice.below(whole)));
        writer.kill().expect("a signal");
        let ran = finish(writer.wait_with_output());
        // 137 is 128 + SIGKILL: everything else ended by itself.
        if ran.stdout.contains("noted on the") {
            acknowledged.push(text);
        }
        killed += usize::from(ran.status == 137);
        age_locks(&repo);
        if killed % 30 == 29 {
            repo.incident(&["show", &id]).expect(0);
        }
        if killed >= 160 {
            break;
        }
    }
    assert!(killed >= 150, "only {killed} were killed");
    repo.note("after all");
    let there: BTreeSet<String> = notes_in(&repo.incident_json(&["show", &id])).into_iter().collect();
    let lost: Vec<&String> = acknowledged.iter().filter(|text| !there.contains(*text)).collect();
    assert!(lost.is_empty(), "{} acknowledged events lost: {lost:?}", lost.len());
    assert!(there.contains("after all"));
    each_once(&repo, &id);
    repo.git(&["fsck", "--strict", "--no-progress"]);
    repo.incident(&["evidence", "verify", "-i", &id]).expect(0);
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
