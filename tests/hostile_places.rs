//! Refs, objects, local state, commands and configuration that somebody made to do harm; `hostile.rs` has the ledgers.

mod common;

use std::os::unix::fs::symlink;

use common::stranger::{Ledger, READING, bounded, fanned, harmless, own_is_well, with_own_incident};
use common::{EVIDENCE, LEDGER, Repo};

#[test]
fn a_notes_ref_that_leads_elsewhere_comes_back() {
    let (repo, own) = with_own_incident();
    let blob = repo.git(&["hash-object", "-w", ".git/HEAD"]);
    repo.git(&["tag", "-a", "-m", "x", "annotated", "HEAD"]);
    let tag = repo.git(&["rev-parse", "annotated"]);
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    for target in [&blob, &tag, &tree] {
        for name in [LEDGER, EVIDENCE, "refs/incident/kept/ledger", "refs/incident/kept/evidence"] {
            repo.git(&["update-ref", name, target]);
            harmless(name, bounded(&repo, &["list"])).expect(0).says("our own");
            own_is_well(&repo, &own);
        }
    }
    // As a power loss leaves refs that git was not asked to sync; and as a careless script does.
    for text in [
        "",
        "\0\0\0\0",
        "0000000000000000000000000000000000000000\n",
        "ref: refs/notes/incidents\n",
        "ref: ../../../etc/passwd\n",
    ] {
        for name in [LEDGER, EVIDENCE, "refs/incident/kept/ledger", "refs/incident/kept/evidence"] {
            std::fs::write(repo.path().join(".git").join(name), text).expect("a ref");
            harmless(name, bounded(&repo, &["list"])).expect(0).says("our own");
            own_is_well(&repo, &own);
        }
    }
    repo.git(&["fsck", "--strict", "--no-progress"]);
    // In a clone that knows nothing better it is refused, with the way out.
    let clone = Repo::new();
    clone.commit("first");
    let blob = clone.git(&["hash-object", "-w", ".git/HEAD"]);
    clone.git(&["update-ref", LEDGER, &blob]);
    harmless("list", bounded(&clone, &["list"])).refuses(1).says("points at a blob").says("update-ref -d");
    harmless("open", bounded(&clone, &["open", "x"])).refuses(1).says("update-ref -d");
}

#[test]
fn a_damaged_object_hides_nothing_else() {
    let (repo, own) = with_own_incident();
    let other = repo.open("the damaged one");
    repo.note("lost to the disk");
    let blob = repo.git(&["rev-parse", &format!("{LEDGER}:{}", fanned(&other))]);
    let file = repo.path().join(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]));
    for damage in [&b""[..], b"no zlib stream", b"x\x9c\x01"] {
        std::fs::remove_file(&file).expect("the object");
        std::fs::write(&file, damage).expect("damage");
        let said = harmless("list", bounded(&repo, &["list"])).expect(0);
        said.says("our own").says("cannot be read");
        harmless("show", bounded(&repo, &["show", &other])).refuses(1).says(&blob[..12]);
        harmless("note", bounded(&repo, &["attempt", "note", "x", "-i", &other])).refuses(1);
        own_is_well(&repo, &own);
    }
}

// ---- what stands beside the ledgers ----

#[test]
fn local_state_behind_a_link_is_not_written() {
    let (repo, own) = with_own_incident();
    let elsewhere = repo.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    std::fs::remove_dir_all(repo.path().join(".git/incident")).expect("local state");
    symlink(&elsewhere, repo.path().join(".git/incident")).expect("a link");
    for line in ["attempt note x -i ID", "open x", "use ID", "next add x -i ID"] {
        let words: Vec<&str> = line.split(' ').map(|word| if word == "ID" { &own } else { word }).collect();
        harmless(line, bounded(&repo, &words)).refuses(1).says("not a directory").says("rm ");
    }
    harmless("show", bounded(&repo, &["show", &own])).expect(0).says("our own");
    assert_eq!(std::fs::read_dir(&elsewhere).expect("the folder").count(), 0, "it was written");
    std::fs::remove_file(repo.path().join(".git/incident")).expect("the link");
    own_is_well(&repo, &own);
}

/// What stands in a ledger was written by a stranger: it does not run here because somebody asks for "the repro".
#[test]
fn a_command_of_a_strangers_ledger_runs_only_when_approved() {
    let (repo, _) = with_own_incident();
    let mark = repo.root().join("ran");
    let mut ledger = Ledger::opened("run me", "x");
    let command = serde_json::json!({"command": ["touch", mark.display().to_string()]});
    ledger.says("repro.set", &command.to_string());
    let id = ledger.plant(&repo);
    for line in [vec!["repro", "run", "-i", &id], vec!["repro", "run", "-n", "3", "--at", "HEAD", "-i", &id]]
    {
        let ran = repo.incident(&line).refuses(125);
        ran.says("set in another clone").says("touch").says("--approve");
    }
    for line in READING {
        let words: Vec<&str> = line.split(' ').map(|word| if word == "ID" { &id } else { word }).collect();
        harmless(line, bounded(&repo, &words));
    }
    assert!(!mark.exists(), "a stranger's command ran");
    repo.incident(&["repro", "run", "--approve", "-i", &id]).expect(0);
    assert!(mark.exists());
    // Seen once is enough; another command is another question.
    repo.incident(&["repro", "run", "-i", &id]).expect(0);
    ledger.says("repro.set", &serde_json::json!({"command": ["touch", "x"]}).to_string());
    ledger.plant(&repo);
    repo.incident(&["repro", "run", "-i", &id]).refuses(125);
    // One's own needs no second word.
    repo.incident(&["repro", "set", "-i", &id, "--", "true"]).expect(0);
    repo.incident(&["repro", "run", "-i", &id]).expect(0);
}

#[test]
fn a_configuration_that_changes_with_a_pull_is_asked_about_anew() {
    let repo = Repo::new();
    let bare = repo.with_remote();
    let mark = repo.root().join("ran");
    let capture = |word: &str| format!("[on-hang]\ncapture = [\"touch {}-{word}\"]\n", mark.display());
    repo.write(".git-incident.toml", &capture("first"));
    repo.commit("A configuration");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.open("pulled");
    repo.incident(&["trust", "--yes"]).expect(0);
    let hang = ["try", "-H", "it hangs", "--timeout", "200ms", "--", "sleep", "1000"];
    repo.incident(&hang).never_says("git incident trust");
    assert!(repo.root().join("ran-first").exists());
    let other = repo.at(repo.root().join("other"));
    repo.git(&["clone", "-q", &bare.display().to_string(), "../other"]);
    std::fs::write(other.path().join(".git-incident.toml"), capture("second")).expect("a file");
    other.git(&["commit", "-q", "-am", "Another capture"]);
    other.git(&["push", "-q", "origin", "main"]);
    repo.git(&["pull", "-q", "--ff-only", "origin", "main"]);
    repo.incident(&hang).says("git incident trust");
    assert!(!repo.root().join("ran-second").exists(), "what nobody approved ran");
}

#[test]
fn the_file_that_names_the_kept_commit_is_written_through_no_link() {
    let repo = Repo::new();
    repo.open("row 17 is NaN");
    let elsewhere = repo.root().join("elsewhere");
    std::fs::write(&elsewhere, "dear to somebody\n").expect("a file");
    let file = repo.path().join(".git/incident/kept-ledger");
    std::fs::remove_file(&file).expect("it was there");
    symlink(&elsewhere, &file).expect("a link");
    repo.note("after it");
    assert_eq!(std::fs::read_to_string(&elsewhere).expect("readable"), "dear to somebody\n");
    assert!(!file.is_symlink());
}
