//! Several clones of one bare repository.

use super::{Beside, EVIDENCE, LEDGER, Ran, Repo, finish};

/// A repository whose remote `origin` is a bare one beside it, with a first commit.
pub fn with_hub() -> Repo {
    let repo = Repo::new();
    repo.commit("first");
    repo.with_remote();
    repo.git(&["push", "-q", "-u", "origin", "main"]);
    repo
}

/// The bare repository.
pub fn hub(repo: &Repo) -> Beside<'_> {
    repo.at(repo.root().join("origin.git"))
}

/// Another clone of the bare repository.
#[track_caller]
pub fn clone<'r>(repo: &'r Repo, name: &str) -> Beside<'r> {
    let clone = repo.at(repo.root().join(name));
    let url = repo.root().join("origin.git").display().to_string();
    repo.git(&["clone", "-q", &url, &clone.path().display().to_string()]);
    clone
}

/// `git incident sync --json …` that must succeed; its object.
#[track_caller]
pub fn sync(clone: &Beside<'_>, arguments: &[&str]) -> serde_json::Value {
    clone.incident(&[&["--json", "sync"], arguments].concat()).expect(0).json()
}

/// Both refs of a repository.
#[track_caller]
pub fn tips(clone: &Beside<'_>) -> [String; 2] {
    [LEDGER, EVIDENCE].map(|name| clone.git(&["rev-parse", "--verify", name]))
}

/// Everything in a repository: all objects, reachable or not, and all files of the git directory that are no objects.
pub fn everything(clone: &Beside<'_>) -> String {
    let mut all = clone.git(&["cat-file", "--batch-all-objects", "--batch"]);
    let folder = clone.git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    let mut todo = vec![std::path::PathBuf::from(folder)];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(&folder).expect("readable").map(|e| e.expect("an entry")) {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("objects/pack") {
                todo.push(path);
            } else if path.is_file() {
                all.push_str(&String::from_utf8_lossy(&std::fs::read(&path).expect("readable")));
            }
        }
    }
    all
}

/// A program with other words for who runs it.
pub fn as_person(clone: &Beside<'_>, name: &str, email: &str, arguments: &[&str]) -> Ran {
    let mut command = clone.command("git");
    command.args(arguments);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), name).env(format!("GIT_{role}_EMAIL"), email);
    }
    finish(command.output())
}
