//! The index is disposable: with it, without it, damaged, purged, shared and raced for, every answer is the same.

mod common;

use common::Repo;
use std::path::PathBuf;

const QUESTIONS: &[&[&str]] = &[
    &["search", "tile"],
    &["search", "\"last tile\" status:open"],
    &["search", "author:ada", "--limit", "7"],
    &["search", "path:kernels"],
    &["search", "label:flaky -mask"],
    &["tried", "the last tile is not masked"],
    &["tried", "--path", "kernels"],
    &["list"],
    &["list", "--open"],
    &["list", "--label", "flaky"],
];

fn answers(repo: &Repo) -> Vec<String> {
    QUESTIONS
        .iter()
        .flat_map(|q| {
            let text = repo.incident(q);
            let mut all = vec!["--json"];
            all.extend(*q);
            let view = repo.incident(&all);
            [
                format!("{q:?} {} {}", text.status, text.stdout),
                format!("{q:?} {} {}", view.status, view.stdout),
            ]
        })
        .collect()
}

fn index_files(repo: &Repo) -> Vec<PathBuf> {
    let folder = repo.path().join(".git/incident");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the local state")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("index-")))
        .collect();
    found.sort();
    found
}

fn database(repo: &Repo) -> PathBuf {
    index_files(repo).into_iter().find(|p| p.extension().is_some_and(|e| e == "sqlite")).expect("a database")
}

fn holds(repo: &Repo, text: &str) -> bool {
    index_files(repo).iter().any(|p| {
        let bytes = std::fs::read(p).expect("readable");
        bytes.windows(text.len()).any(|w| w == text.as_bytes())
    })
}

fn with_index() -> Repo {
    let repo = Repo::new();
    repo.git(&["config", "incident.index", "always"]);
    repo.write("kernels/attn.cu", "one\n");
    repo.commit("Start");
    repo.typed("open 'The last tile is wrong' --ticket GPU-1 --label flaky").expect(0);
    repo.typed("attempt start -H 'the last tile is not masked'").expect(0);
    repo.typed("attempt end --failed -m 'mask is right'").expect(0);
    repo.typed("search tile").expect(0);
    repo
}

fn without_index(repo: &Repo) -> Vec<String> {
    repo.git(&["config", "incident.index", "never"]);
    let all = answers(repo);
    repo.git(&["config", "incident.index", "always"]);
    all
}

#[test]
fn every_answer_is_the_same_without_it() {
    let repo = with_index();
    let steps = [
        "attempt start -H 'the tile before the last one is masked'",
        "attempt note 'kernels run, tile 3 differs'",
        "attempt end --worked -m 'index was off by one'",
        "edit --title 'The last tile was wrong' --label slow",
        "open 'Another tile' --label flaky",
        "try -H 'mask the last tile twice' --failed -m 'no' -- true",
        "close --wont-fix -m 'not ours'",
        "use GPU-1",
        "attempt note 'one more tile'",
    ];
    for step in steps {
        repo.typed(step).expect(0);
        let incremental = answers(&repo);
        assert_eq!(incremental, without_index(&repo), "in memory, after {step}");
        for file in index_files(&repo) {
            std::fs::remove_file(file).expect("removed");
        }
        assert_eq!(incremental, answers(&repo), "built anew, after {step}");
    }
}

#[test]
fn a_damaged_index_is_made_anew() {
    let repo = with_index();
    let before = answers(&repo);
    let path = database(&repo);
    // Not a database, cut off, of another version, with a hole in the middle, a name that leads elsewhere.
    std::fs::write(&path, "no database ".repeat(5000)).expect("written");
    assert_eq!(before, answers(&repo));
    let path = database(&repo);
    let bytes = std::fs::read(&path).expect("read");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("written");
    assert_eq!(before, answers(&repo));
    let path = database(&repo);
    let mut bytes = std::fs::read(&path).expect("read");
    let end = bytes.len();
    bytes[4096..end].fill(0xa5);
    std::fs::write(&path, &bytes).expect("written");
    assert_eq!(before, answers(&repo));
    std::fs::write(repo.path().join(".git/incident/index"), "../../../etc/passwd\n").expect("written");
    assert_eq!(before, answers(&repo));
    std::fs::write(database(&repo), "").expect("written");
    assert_eq!(before, answers(&repo));
}

#[test]
fn where_nothing_can_be_written_the_answer_is_the_same() {
    let repo = with_index();
    let before = answers(&repo);
    let state = repo.path().join(".git/incident");
    let aside = repo.path().join(".git/aside");
    std::fs::rename(&state, &aside).expect("moved");
    std::fs::write(&state, "in the way").expect("written");
    let searched = repo.incident(&["--json", "search", "tile"]);
    assert!(
        before.contains(&format!("{:?} {} {}", QUESTIONS[0], searched.status, searched.stdout)),
        "{}",
        searched.stderr
    );
}

#[test]
fn what_was_purged_is_in_no_file_of_it() {
    let repo = with_index();
    let secret = "xylophonequartz";
    repo.typed(&format!("attempt start -H 'the {secret} is stale'")).expect(0);
    repo.typed(&format!("attempt note 'seen {secret}'")).expect(0);
    repo.typed(&format!("search {secret}")).expect(0);
    assert!(holds(&repo, secret));
    let blob = repo.git(&["notes", "--ref=incidents", "list"]);
    let blob = blob.split_whitespace().next().expect("a note").to_owned();
    let ledger = repo.git(&["cat-file", "blob", &blob]);
    let said: Vec<serde_json::Value> = ledger
        .lines()
        .filter(|line| line.contains(secret))
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    assert_eq!(said.len(), 2, "the attempt and the note: {ledger}");
    for event in said {
        repo.incident(&["purge", "text", event["id"].as_str().expect("an id"), "--yes"]).expect(0);
    }
    assert!(!holds(&repo, secret), "after the purge");
    repo.typed("search tile").expect(0);
    assert!(!holds(&repo, secret), "after it was made anew");
    assert_eq!(repo.incident_json(&["search", secret])["total"], 0);
}

#[test]
fn worktrees_share_it_and_bare_repositories_have_their_own() {
    let repo = with_index();
    let path = database(&repo);
    repo.git(&["worktree", "add", "-q", "../tree"]);
    let tree = repo.at(repo.root().join("tree"));
    assert_eq!(tree.incident_json(&["search", "tile"]), repo.incident_json(&["search", "tile"]));
    assert_eq!(database(&repo), path, "one file for both");
    let bare = repo.root().join("bare.git");
    repo.git(&["clone", "-q", "--mirror", ".", &bare.display().to_string()]);
    let bare = repo.at(bare);
    bare.git(&["config", "incident.index", "always"]);
    assert_eq!(
        bare.incident_json(&["search", "tile"])["total"],
        repo.incident_json(&["search", "tile"])["total"]
    );
    assert!(bare.path().join("incident/index").is_file());
}

#[test]
fn many_processes_at_once_agree() {
    let repo = with_index();
    for round in 0..3 {
        if round == 1 {
            std::fs::remove_file(database(&repo)).expect("removed");
        }
        repo.typed(&format!("attempt note 'tile {round}'")).expect(0);
        let children: Vec<_> = (0..8)
            .map(|_| {
                let mut command = repo.command("git-incident");
                command.args(["--json", "search", "tile"]);
                command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
                command.spawn().expect("started")
            })
            .collect();
        let all: Vec<_> =
            children.into_iter().map(|c| common::finish(c.wait_with_output()).expect(0).stdout).collect();
        assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    }
    let databases =
        index_files(&repo).iter().filter(|p| p.extension().is_some_and(|e| e == "sqlite")).count();
    assert_eq!(databases, 1, "nothing is left behind");
}

#[test]
fn a_killed_process_leaves_a_good_index_or_none() {
    let repo = with_index();
    for round in 0..12_u64 {
        if round % 3 == 0 {
            std::fs::remove_file(repo.path().join(".git/incident/index")).ok();
        }
        repo.typed(&format!("attempt note 'tile number {round}'")).expect(0);
        let mut child = repo
            .command("git-incident")
            .args(["search", "tile"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("started");
        std::thread::sleep(std::time::Duration::from_millis(round * 3));
        child.kill().ok();
        child.wait().expect("ended");
        let with = repo.incident_json(&["search", "tile"]);
        let all = answers(&repo);
        assert_eq!(all, without_index(&repo), "{round}: {with}");
    }
}

#[test]
fn small_repositories_have_none() {
    let repo = Repo::new();
    repo.commit("Start");
    repo.open("The last tile is wrong");
    repo.typed("search tile").expect(0).says("last tile");
    assert!(index_files(&repo).is_empty());
}

#[test]
fn who_looks_after_a_repository_is_told_of_damage() {
    let repo = with_index();
    let check = |repo: &Repo| {
        let ran = repo.incident(&["--json", "doctor"]);
        let checks = ran.json()["checks"].as_array().expect("checks").clone();
        checks.into_iter().find(|c| c["check"] == "index").expect("a word of the index")
    };
    assert_eq!(check(&repo)["status"], "ok");
    repo.typed("fsck").expect(0).never_says("index");
    let damage = || std::fs::write(database(&repo), "no database ".repeat(5000)).expect("written");
    damage();
    let said = check(&repo);
    assert_eq!(said["status"], "warn", "{said}");
    repo.typed("fsck").expect(0).says("note: index").says("nothing is lost");
    repo.typed("fsck --repair").expect(0).says("the damaged index was removed");
    assert!(index_files(&repo).is_empty());
    repo.typed("search tile").expect(0).says("last tile");
    assert_eq!(check(&repo)["status"], "ok");
    // As `doctor` says it.
    damage();
    let mend = check(&repo)["mend"].as_str().expect("a command").to_owned();
    let status = repo.command("sh").args(["-c", &mend]).status().expect("sh");
    assert!(status.success() && index_files(&repo).is_empty());
}
