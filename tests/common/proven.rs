//! An incident that is ready for its post-mortem.

use super::Repo;

/// An incident whose record holds everything, with the fix on HEAD.
pub fn proven() -> Repo {
    let repo = Repo::new();
    repo.write("value", "bad\n");
    repo.write("check.sh", "! grep -q bad value\n");
    repo.write(".github/CODEOWNERS", "value @owners/values\n");
    repo.write(
        ".github/workflows/unit.yml",
        "name: unit tests\non:\n  pull_request:\n    paths: ['value']\n",
    );
    repo.commit("Start");
    repo.incident(&["open", "the value is bad", "--ticket", "VAL-1", "-s", "check.sh exits with 1"])
        .expect(0);
    repo.incident(&["repro", "set", "--", "sh", "check.sh"]).expect(0);
    repo.incident(&["repro", "run", "-n", "5", "-q"]).expect(1);
    repo.incident(&["attempt", "start", "-H", "the value should be good", "-d", "check.sh still fails"])
        .expect(0);
    repo.write("value", "good\n");
    repo.commit("Make the value good");
    repo.incident(&["link", "HEAD", "--as", "fix"]).expect(0);
    repo.incident(&["attempt", "end", "--worked", "-m", "it was the value"]).expect(0);
    repo.incident(&["cause", "propose", "somebody wrote bad"]).expect(0);
    repo.incident(&["cause", "confirm", "--accounts", "1=good is not bad"]).expect(0);
    repo.incident(&["repro", "run", "-n", "5", "--at", "HEAD", "-q"]).expect(0);
    repo
}
