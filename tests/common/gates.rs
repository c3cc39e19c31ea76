//! Repositories with gates, for the tests of pushes and of trust.

use std::path::{Path, PathBuf};

use super::Repo;

/// A repository with hooks, a remote that has `main`, and a configuration with these gates, on the
/// branch `topic`.
pub fn with_gates(configuration: &str) -> (Repo, PathBuf) {
    let repo = Repo::new();
    let bare = repo.with_remote();
    repo.write("a.txt", "one\n");
    repo.commit("First");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.incident(&["init"]).expect(0);
    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.write(".git-incident.toml", configuration);
    repo.commit("Add gates");
    (repo, bare)
}

/// What the remote has under a name; empty when it has nothing.
pub fn on_remote(repo: &Repo, bare: &Path, name: &str) -> String {
    repo.try_git(&["-C", &bare.display().to_string(), "rev-parse", "-q", "--verify", name]).line().to_owned()
}

/// A gate that notes each of its runs beside the repository, and passes when `good` is in the tree.
pub fn counted(repo_root: &Path) -> String {
    let runs = repo_root.join("runs").display().to_string();
    format!(
        "[[gate]]\nid = \"unit\"\nkind = \"command\"\nrun = \"echo ran >> {runs}; echo looking for good; test -e good\"\n"
    )
}

/// How often the gate of [`counted`] has run.
pub fn runs(repo: &Repo) -> usize {
    std::fs::read_to_string(repo.root().join("runs")).map_or(0, |text| text.lines().count())
}
