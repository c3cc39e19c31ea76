//! What messages ask for: trailers, changes of Gerrit, pull requests.

use super::*;

#[test]
fn every_incident_that_a_squash_names_is_linked() {
    let b = Bench::new();
    let second = b.repo.open("another bug");
    let message = format!(
        "Both (!7)\n\n* first\n\nIncident: {}\n\n* second\n\nIncident: {}\nCo-authored-by: B <b@example.org>\n\n\
         See merge request group/name!7",
        &b.id[..12],
        &second[..12]
    );
    b.git(&["commit", "-q", "--allow-empty", "-m", &message]);
    let head = b.head();
    b.expect_in(&b.id, &head);
    b.expect_in(&second, &head);
    assert_eq!(b.repo.incident_json(&["show", &second])["links"][0]["pr"], "!7");
}

impl Bench {
    #[track_caller]
    fn expect_in(&self, id: &str, commit: &str) {
        let view = self.repo.incident_json(&["show", id]);
        assert_eq!(view["links"][0]["commit"], commit, "{:#}", view["links"]);
    }
}

#[test]
fn gerrit_names_the_change() {
    let b = Bench::without_hooks();
    let change = format!("Change-Id: I{}", "ab".repeat(20));
    b.repo.write("kernel.cu", &FILE.replace("k2\n", "first patch set\n"));
    b.git(&["commit", "-q", "-a", "-m", &format!("Mask\n\n{change}")]);
    let first = b.head();
    b.repo.incident(&["link", &first, "--as", "fix"]).expect(0);
    b.git(&["reset", "-q", "--hard", "HEAD~1"]);
    b.repo.write("kernel.cu", &FILE.replace("k2\n", "second patch set, all other\n"));
    b.git(&["commit", "-q", "-a", "-m", &format!("Mask the tail\n\n{change}")]);
    b.relink(1, &[]);
    b.expect(&[(&b.head(), "fix", 0)]);
}

#[test]
fn commits_made_without_hooks_are_linked_when_they_are_pushed() {
    let b = Bench::new();
    b.repo.with_remote();
    b.git(&["push", "-q", "origin", "main"]);
    let quiet = |message: &str| {
        b.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", message]);
        b.head()
    };
    let one = quiet(&format!("one\n\nIncident: {}", &b.id[..12]));
    quiet("nothing");
    let two = quiet(&format!("two\n\nThis reverts commit {one}."));
    b.expect(&[]);
    b.try_git(&["push", "origin", "main"], &[]).expect(0).says("2 link(s) made");
    b.expect(&[(&one, "related", 0), (&two, "revert", 0)]);
    b.try_git(&["push", "-f", "origin", "main~1:main"], &[]).expect(0).never_says("link(s) made");
}
