//! Writers that are killed, and writes that fail: what was acknowledged is there, the refs are sound, and the next
//! command works. docs/RELIABILITY.md says what is promised.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::faults::{Dice, Traced, age_locks, traced};
use common::{EVIDENCE, LEDGER, Ran, Repo, finish, notes_in};

// ---- killed at random points ----

/// So many writers die in each of two repositories.
const KILLED: usize = 520;

/// What a lane of writers has been told is recorded: texts by incident, and files.
#[derive(Default)]
struct Acknowledged {
    notes: BTreeMap<String, BTreeSet<String>>,
    files: BTreeMap<String, BTreeSet<String>>,
    opened: BTreeSet<String>,
}

/// Kills each writer at its own time and collects what they said.
fn killed_at(writers: Vec<(Child, Duration)>, started: Instant) -> Vec<Ran> {
    let mut order: Vec<usize> = (0..writers.len()).collect();
    order.sort_by_key(|i| writers[*i].1);
    let mut writers = writers;
    for i in order {
        std::thread::sleep(writers[i].1.saturating_sub(started.elapsed()));
        writers[i].0.kill().expect("a signal");
    }
    writers.into_iter().map(|(writer, _)| finish(writer.wait_with_output())).collect()
}

fn kills_in_one_repository(seed: u64) {
    let repo = Repo::new();
    repo.commit("first");
    let mut dice = Dice(seed);
    let ids: Vec<String> = (0..6).map(|n| repo.open(&format!("killed {n}"))).collect();
    let mut acknowledged = Acknowledged::default();
    let (mut killed, mut event) = (0, 0);
    // How long writers get at most. It follows what this machine does, so that some end and most do not.
    let mut range = 20_000_u64;
    for round in 0.. {
        assert!(round < 3000, "only {killed} were killed");
        let id = &ids[round % ids.len()];
        let started = Instant::now();
        let mut texts = Vec::new();
        let writers: Vec<(Child, Duration)> = (0..=dice.below(6))
            .map(|_| {
                event += 1;
                let text = format!("event {event:05}");
                let file = format!("evidence-{event:05}.txt");
                let mut command = repo.command("git-incident");
                let kind = dice.below(8);
                match kind {
                    // Evidence moves all four refs.
                    0 => {
                        repo.write(&file, &format!("{text}\n"));
                        command.args(["evidence", "add", &file, "-i", id])
                    }
                    1 => command.args(["try", "-i", id, "-H", &text, "--", "echo", &text]),
                    2 => command.args(["open", &text]),
                    // Long ones, so that the ledger goes on in segments.
                    3 => command.args([
                        "attempt",
                        "note",
                        &format!("{text} {}", "long ".repeat(6000)),
                        "-i",
                        id,
                    ]),
                    _ => command.args(["attempt", "note", &text, "-i", id]),
                };
                texts.push((kind, text, file));
                let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a writer");
                (child, Duration::from_micros(dice.below(range)))
            })
            .collect();
        let count = writers.len();
        let mut died = 0;
        for (ran, (kind, text, file)) in killed_at(writers, started).into_iter().zip(texts) {
            // 137 is 128 + SIGKILL: everything else ended by itself.
            died += usize::from(ran.status == 137);
            assert!(matches!(ran.status, 0 | 137), "{} {}", ran.status, ran.stderr);
            let said = |word: &str| ran.stdout.contains(word);
            let notes = acknowledged.notes.entry(id.clone()).or_default();
            match kind {
                0 if said("kept evidence-") => {
                    acknowledged.files.entry(id.clone()).or_default().insert(file);
                }
                1 if ran.stderr.contains("recorded on the attempt") => {
                    notes.insert(format!("hypothesis {text}"));
                }
                2 if said("opened ") => {
                    acknowledged.opened.insert(text);
                }
                3.. if said("noted on the") => {
                    notes.insert(text);
                }
                _ => {}
            }
        }
        killed += died;
        range = if died * 4 < count * 3 { range * 7 / 8 } else { range * 9 / 8 };
        age_locks(&repo);
        holds(&repo, id, &acknowledged);
        if round % 60 == 59 {
            sound(&repo);
        }
        if killed >= KILLED {
            break;
        }
    }
    sound(&repo);
    for id in &ids {
        repo.incident(&["attempt", "note", "after all", "-i", id]).expect(0);
        holds(&repo, id, &acknowledged);
        repo.incident(&["evidence", "verify", "-i", id]).expect(0);
    }
    let listed = repo.view("list");
    let titles: BTreeSet<&str> =
        listed["incidents"].as_array().expect("rows").iter().filter_map(|i| i["title"].as_str()).collect();
    for title in &acknowledged.opened {
        assert!(titles.contains(title.as_str()), "the incident {title} is lost");
    }
    let all: usize = acknowledged.notes.values().map(BTreeSet::len).sum();
    assert!(all > 50 && acknowledged.opened.len() > 5, "hardly a writer was let live: {all}");
}

/// Every acknowledged event of an incident is there, and none twice.
#[track_caller]
fn holds(repo: &Repo, id: &str, acknowledged: &Acknowledged) {
    let view = repo.incident_json(&["show", id]);
    assert_eq!(view["damaged"].as_array().map_or(0, Vec::len), 0, "{}", view["damaged"]);
    let mut there: BTreeSet<String> = BTreeSet::new();
    for text in notes_in(&view) {
        there.insert(text.split(" long").next().unwrap_or_default().to_owned());
    }
    for attempt in view["attempts"].as_array().expect("attempts") {
        there.insert(format!("hypothesis {}", attempt["hypothesis"].as_str().expect("a text")));
    }
    let none = BTreeSet::new();
    let lost: Vec<_> = acknowledged.notes.get(id).unwrap_or(&none).difference(&there).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let files: BTreeSet<String> = view["evidence"]
        .as_array()
        .expect("evidence")
        .iter()
        .map(|e| e["name"].as_str().expect("a name").to_owned())
        .collect();
    let lost: Vec<_> = acknowledged.files.get(id).unwrap_or(&none).difference(&files).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
}

/// git finds nothing wrong, reads both refs, and finds each key at one depth.
#[track_caller]
fn sound(repo: &Repo) {
    repo.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]);
    for name in [LEDGER, EVIDENCE] {
        let paths = repo.git(&["ls-tree", "-r", "--name-only", name]);
        let keys: BTreeSet<String> = paths.lines().map(|p| p.replace('/', "")).collect();
        assert_eq!(keys.len(), paths.lines().count(), "a key stands at two depths");
        // One is enough to see that git reads the ref; all of them would take long.
        let key = keys.first().expect("a key");
        assert!(repo.try_git(&["notes", "--ref", name, "list", key]).status == 0, "{name} {key}");
    }
}

#[test]
fn a_thousand_writers_killed_at_random_points_lose_nothing_and_damage_nothing() {
    std::thread::scope(|scope| {
        let lanes: Vec<_> = [7, 19].map(|seed| scope.spawn(move || kills_in_one_repository(seed))).into();
        for lane in lanes {
            lane.join().expect("a lane of writers");
        }
    });
}

// ---- every write fails once, and every write is the last one ----

/// One command, tried with a fault at its first, second, … operation until it is through.
struct Command {
    /// What it is called in messages.
    name: &'static str,
    /// Its arguments; `TEXT` and `ID` are replaced.
    line: &'static str,
    /// Shown as this in the view, once it was acknowledged; none when it records no text.
    seen: fn(&serde_json::Value) -> Vec<String>,
    /// Every how many operations a fault is tried.
    step: usize,
}

fn hypotheses(view: &serde_json::Value) -> Vec<String> {
    let attempts = view["attempts"].as_array().into_iter().flatten();
    attempts.filter_map(|a| a["hypothesis"].as_str().map(str::to_owned)).collect()
}

fn files(view: &serde_json::Value) -> Vec<String> {
    let evidence = view["evidence"].as_array().into_iter().flatten();
    evidence.filter_map(|e| e["name"].as_str().map(str::to_owned)).collect()
}

fn roles(view: &serde_json::Value) -> Vec<String> {
    let links = view["links"].as_array().into_iter().flatten();
    links.map(|l| format!("{} {}", l["commit"].as_str().unwrap_or_default(), l["role"])).collect()
}

const COMMANDS: [Command; 7] = [
    Command { name: "note", line: "attempt note TEXT -i ID", seen: notes_in, step: 1 },
    Command { name: "evidence", line: "evidence add file.txt --name TEXT -i ID", seen: files, step: 1 },
    Command { name: "open", line: "open TEXT", seen: |_| Vec::new(), step: 1 },
    Command { name: "link", line: "link COMMIT --as fix -i ID", seen: roles, step: 1 },
    // git deletes the ledger's ref before, so that there is something to mend.
    Command { name: "mend", line: "attempt note TEXT -i ID", seen: notes_in, step: 1 },
    // The ledger goes on in a new segment; slow, as it is large.
    Command { name: "segment", line: "attempt note TEXT -i ID", seen: notes_in, step: 5 },
    Command { name: "try", line: "try -i ID -H TEXT -- true", seen: hypotheses, step: 2 },
];

/// The faults. `ONCE` is one of three errors, in turn; `LASTING` a full disk and a read-only one, in turn; `TORN` the
/// death of the process, in the middle of a write or before anything else.
const FAULTS: [&str; 3] = ["ONCE", "LASTING", "TORN"];

fn at_every_point(command: &Command) -> usize {
    let repo = Repo::new();
    let head = repo.commit("first");
    let mut points = 0;
    for fault in FAULTS {
        let id = repo.open(&format!("{} {fault}", command.name));
        let mut acknowledged: BTreeSet<String> = BTreeSet::new();
        for at in (1..).step_by(command.step) {
            assert!(at < 400, "{} never ends", command.name);
            let text = format!("{}-{fault}-{at}", command.name);
            let mut commit = head.clone();
            match command.name {
                "evidence" => repo.write("file.txt", &format!("{text}\n")),
                "link" => commit = repo.git(&["commit-tree", "-m", &text, "HEAD^{tree}"]),
                "mend" => _ = repo.git(&["update-ref", "-d", LEDGER]),
                "segment" => {
                    for _ in 0..3 {
                        repo.incident(&["attempt", "note", &"x".repeat(90_000), "-i", &id]).expect(0);
                    }
                }
                _ => {}
            }
            let line = command.line.replace("TEXT", &text).replace("ID", &id).replace("COMMIT", &commit);
            let arguments: Vec<&str> = line.split(' ').collect();
            let word = match fault {
                "ONCE" => ["ENOSPC", "EIO", "EROFS"][at % 3],
                "LASTING" => ["FULL", "READONLY"][at / command.step % 2],
                other => other,
            };
            let Traced { ran, hit, .. } = traced(&repo, "git-incident", &arguments, word, at);
            let place = format!("{}, {word} at operation {at}:\n{}{}", command.name, ran.stdout, ran.stderr);
            match ran.status {
                0 => {
                    let shown = if command.name == "link" { format!("{commit} \"fix\"") } else { text };
                    acknowledged.insert(shown);
                }
                137 => assert!(hit && fault == "TORN", "{place}"),
                status => {
                    assert_eq!(status, if command.name == "try" { 125 } else { 1 }, "{place}");
                    assert!(hit, "it failed by itself: {place}");
                    assert!(ran.stderr.contains("error: ") && ran.stderr.contains("hint: "), "{place}");
                    assert!(!ran.stderr.contains("panicked"), "{place}");
                }
            }
            age_locks(&repo);
            // The next command works: in turn one that writes and one that reads.
            if command.name == "link" {
                repo.incident(&["link", &commit, "--as", "fix", "-i", &id]).expect(0);
            } else if at % 2 == 0 {
                repo.incident(&["next", "add", &format!("after {at}"), "-i", &id]).expect(0);
            }
            let view = repo.incident_json(&["show", &id]);
            assert_eq!(view["damaged"].as_array().map_or(0, Vec::len), 0, "{place}{}", view["damaged"]);
            let there: BTreeSet<String> = if command.name == "open" {
                let list = repo.view("list");
                let rows = list["incidents"].as_array().expect("rows");
                rows.iter().filter_map(|i| i["title"].as_str().map(str::to_owned)).collect()
            } else {
                (command.seen)(&view).into_iter().collect()
            };
            let lost: Vec<_> = acknowledged.difference(&there).collect();
            assert!(lost.is_empty(), "acknowledged and lost: {lost:?} after {place}");
            if !hit {
                assert_eq!(ran.status, 0, "{place}");
                break;
            }
            points += 1;
        }
        sound(&repo);
    }
    points
}

/// As many of the commands at once as CI has cores.
#[test]
fn whatever_write_fails_or_is_the_last_one_nothing_acknowledged_is_lost() {
    let points: usize = std::thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn(move || {
                COMMANDS.iter().skip(half).step_by(2).map(at_every_point).collect::<Vec<usize>>()
            })
        });
        let halves = halves.map(|half| half.join().expect("a half of the commands"));
        assert!(halves.iter().flatten().all(|n| *n > 20), "{halves:?}");
        halves.iter().flatten().sum()
    });
    assert!(points > 500, "only {points} faults");
}

#[test]
fn short_and_interrupted_writes_are_finished() {
    let repo = Repo::new();
    let commit = repo.commit("first");
    repo.write("file.txt", &"a line of evidence\n".repeat(5000));
    for fault in ["SHORT", "EINTR"] {
        let id = repo.open(fault);
        let through = |arguments: &[&str]| traced(&repo, "git-incident", arguments, fault, 0).ran.expect(0);
        let long = vec!["word"; 20_000].join(" ");
        through(&["attempt", "note", &long]);
        through(&["evidence", "add", "file.txt"]);
        through(&["try", "-H", "why", "--", "cat", "file.txt"]);
        through(&["link", &commit, "--as", "related"]);
        through(&["open", "another"]);
        let view = repo.incident_json(&["show", &id]);
        assert!(notes_in(&view).contains(&long), "the note is not whole");
        repo.incident(&["evidence", "verify", "-i", &id]).expect(0).says("files intact");
        sound(&repo);
    }
}

// ---- power loss ----

/// What a program synced before it gave the thing its name.
#[derive(Debug, PartialEq, Eq)]
struct Synced {
    objects: bool,
    references: bool,
}

/// What git itself syncs under a setting: the oracle.
fn synced_by_git(repo: &Repo, commit: &str) -> Synced {
    let said = traced(repo, "git", &["notes", "--ref=measured", "add", "-f", "-m", commit, commit], "", 0);
    assert_eq!(said.ran.status, 0, "{}", said.ran.stderr);
    let synced = |part: &str| {
        said.operations
            .iter()
            .any(|words| words[0] == "fsync" && words[1].contains(&format!("/.git/{part}/")))
    };
    Synced { objects: synced("objects"), references: synced("refs") }
}

/// What we sync, checked at each move: a file has its content on disk before it gets its name, and what a ref names
/// is on disk before the ref moves.
fn synced_by_us(repo: &Repo, arguments: &[&str]) -> Synced {
    let said = traced(repo, "git-incident", arguments, "", 0);
    assert_eq!(said.ran.status, 0, "{}", said.ran.stderr);
    let mut on_disk: BTreeSet<&str> = BTreeSet::new();
    let (mut objects, mut references) = (Vec::new(), Vec::new());
    let mut named_before = Vec::new();
    for words in &said.operations {
        match words[0].as_str() {
            "write" => {
                on_disk.remove(words[1].as_str());
            }
            "fsync" => {
                on_disk.insert(&words[1]);
            }
            "link" | "rename" if words[2].contains("/.git/objects/") => {
                objects.push(on_disk.contains(words[1].as_str()));
            }
            // A link that fails because the ref is there is followed by a rename.
            "rename" if words[2].contains("/.git/refs/") => {
                references.push(on_disk.contains(words[1].as_str()));
                named_before.push(objects.len());
            }
            _ => {}
        }
    }
    assert!(objects.len() >= 4 && references.len() >= 2, "{:?}", said.operations);
    assert!(named_before[0] >= 4, "a ref moved before its objects had names");
    Synced { objects: objects.iter().all(|o| *o), references: references.iter().all(|r| *r) }
}

#[test]
fn what_core_fsync_asks_for_is_on_disk_before_a_ref_moves() {
    let repo = Repo::new();
    repo.open("power loss");
    repo.note("first");
    let mut asked_for = (false, false);
    for (n, setting) in [
        "",
        "loose-object",
        "reference",
        "objects",
        "committed",
        "added",
        "all",
        "none",
        "default",
        "pack",
        "committed,-loose-object",
        "-loose-object,loose-object",
        "all,-reference",
        "none,reference",
        "reference,none",
        "-reference",
        "loose-object,unheard-of",
    ]
    .into_iter()
    .enumerate()
    {
        if setting.is_empty() {
            repo.try_git(&["config", "--unset", "core.fsync"]);
        } else {
            repo.git(&["config", "core.fsync", setting]);
        }
        let commit = repo.commit(&format!("commit {n}"));
        let git = synced_by_git(&repo, &commit);
        let ours = synced_by_us(&repo, &["attempt", "note", &format!("under {setting}")]);
        assert!(ours.objects || !git.objects, "core.fsync={setting}: git syncs objects, we do not");
        assert!(ours.references || !git.references, "core.fsync={setting}: git syncs refs, we do not");
        asked_for = (asked_for.0 || git.objects, asked_for.1 || git.references);
    }
    assert_eq!(asked_for, (true, true), "nothing was measured");
    repo.try_git(&["config", "--unset", "core.fsync"]);
    repo.git(&["config", "core.fsyncObjectFiles", "true"]);
    let commit = repo.commit("the old setting");
    let git = synced_by_git(&repo, &commit);
    let ours = synced_by_us(&repo, &["attempt", "note", "under the old setting"]);
    assert!(git.objects && ours.objects, "core.fsyncObjectFiles: {git:?} {ours:?}");
    repo.git(&["config", "core.fsyncObjectFiles", "false"]);
    let unasked = traced(&repo, "git-incident", &["attempt", "note", "unasked"], "", 0);
    assert!(unasked.operations.iter().all(|words| words[0] != "fsync"), "nobody asked");
}
