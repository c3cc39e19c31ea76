//! Making damage by hand, and asking `fsck` about it.

#![allow(unreachable_pub, reason = "`pub` says what the tests may use")]

use std::collections::BTreeSet;

use crate::common::{self, LEDGER, Ran, Repo};
use serde_json::Value;

/// `fsck --json`: its exit status and its view.
#[track_caller]
pub fn fsck(repo: &Repo, arguments: &[&str]) -> (i32, Value) {
    let ran: Ran = repo.incident(&[&["--json", "fsck"], arguments].concat());
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    (ran.status, ran.json())
}

/// The checks that found something of this weight.
pub fn checks(view: &Value, severity: &str) -> BTreeSet<String> {
    let problems = view["problems"].as_array().expect("a list").iter();
    let told = problems.filter(|p| p["severity"] == severity);
    told.map(|p| p["check"].as_str().expect("a word").to_owned()).collect()
}

/// Sets a travelling ref and its kept ref, as if there had never been anything else.
pub fn force(repo: &Repo, reference: &str, commit: &str) {
    let (kept, file) = if reference == LEDGER {
        ("refs/incident/kept/ledger", "kept-ledger")
    } else {
        ("refs/incident/kept/evidence", "kept-evidence")
    };
    repo.git(&["update-ref", reference, commit]);
    repo.git(&["update-ref", kept, commit]);
    let _ = std::fs::remove_file(repo.path().join(".git/incident").join(file));
}

/// The tree of a ref edited in an index of its own; `lines` are for `git update-index --index-info`.
pub fn edited(repo: &Repo, reference: &str, lines: &str) -> String {
    use std::io::Write;
    let index = repo.root().join("index");
    let git = |arguments: &[&str], input: &str| {
        let mut child = repo
            .command("git")
            .args(arguments)
            .env("GIT_INDEX_FILE", &index)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("git starts");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("written");
        common::finish(child.wait_with_output()).expect(0).line().to_owned()
    };
    git(&["read-tree", reference], "");
    git(&["update-index", "--index-info"], lines);
    let tree = git(&["write-tree"], "");
    let commit = repo.git(&["commit-tree", &tree, "-p", reference, "-m", "by hand"]);
    std::fs::remove_file(&index).expect("the index");
    commit
}

/// Writes a blob.
pub fn blob(repo: &Repo, bytes: &[u8]) -> String {
    let file = repo.root().join("blob");
    std::fs::write(&file, bytes).expect("a file");
    repo.git(&["hash-object", "-w", "--no-filters", &file.display().to_string()])
}

/// Replaces a note of the ledger, and the kept one.
pub fn set_note(repo: &Repo, key: &str, bytes: &[u8]) {
    let path = format!("{}/{}", &key[..2], &key[2..]);
    let commit = edited(repo, LEDGER, &format!("100644 {}\t{path}\n", blob(repo, bytes)));
    force(repo, LEDGER, &commit);
}

/// A note of the ledger.
pub fn note(repo: &Repo, key: &str) -> String {
    repo.run("git", &["notes", "--ref=incidents", "show", key]).expect(0).stdout
}

/// Takes a note out of a ref, and out of the kept one.
pub fn drop_entry(repo: &Repo, reference: &str, key: &str) {
    let path = format!("{}/{}", &key[..2], &key[2..]);
    let commit = edited(repo, reference, &format!("0 {}\t{path}\n", "0".repeat(40)));
    force(repo, reference, &commit);
}
