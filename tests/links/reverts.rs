//! Reverts, and reverts of reverts.

use super::*;

impl Bench {
    fn fix_holds(&self) -> bool {
        let status = self.repo.incident_json(&["status"]);
        let attempt = &self.show()["attempts"][0];
        let fixed = attempt["outcome"]["bug"] == "fixed";
        assert_eq!(status["preconditions"]["fix"], fixed, "{status:#}");
        assert_eq!(attempt["reverted"].is_null(), fixed);
        fixed
    }
}

#[test]
fn a_revert_turns_a_fix_into_a_failed_attempt_and_its_revert_turns_it_back() {
    let b = Bench::new();
    let fix = b.attempt(2, "mask it", true);
    assert!(b.fix_holds());
    b.git(&["revert", "--no-edit", "HEAD"]);
    let revert = b.head();
    assert!(!b.fix_holds());
    b.expect(&[(&fix, "fix", 1), (&revert, "revert", 1)]);
    b.repo.incident(&["status"]).expect(0).says(&format!(
        "the fix {} was reverted by {}",
        &fix[..12],
        &revert[..12]
    ));
    b.repo.incident(&["show"]).expect(0).says("reverted by");
    let note = b.git(&["log", "-1", "--format=%N", "--notes=incident-lines", &fix]);
    assert!(
        note.contains(&format!(": fix (attempt 1: mask it: told), reverted by {}", &revert[..12])),
        "{note}"
    );
    b.repo.incident(&["close", "--resolved"]).refuses(1).says("was reverted by");
    b.git(&["revert", "--no-edit", "HEAD"]);
    assert!(b.fix_holds());
    b.git(&["revert", "--no-edit", "HEAD"]);
    assert!(!b.fix_holds());
    b.git(&["revert", "--no-edit", "HEAD"]);
    assert!(b.fix_holds());
    b.repo.incident(&["close", "--resolved"]).expect(0);
}

#[test]
fn several_in_one_message_and_through_a_rewrite() {
    let b = Bench::new();
    let one = b.attempt(2, "one", true);
    let two = b.attempt(8, "two", true);
    b.git(&["revert", "--no-commit", "HEAD", "HEAD~1"]);
    b.git(&[
        "commit",
        "-q",
        "-m",
        &format!("Back out\n\nThis reverts commit {one}.\nThis reverts commit {two}."),
    ]);
    assert!(!b.fix_holds());
    let reverted: Vec<bool> =
        b.show()["attempts"].as_array().expect("attempts").iter().map(|a| !a["reverted"].is_null()).collect();
    assert_eq!(reverted, [true, true]);
    // The message still names what a rebase has renamed.
    b.git(&["checkout", "-q", "-b", "topic"]);
    b.git(&[
        "commit",
        "-q",
        "--amend",
        "-m",
        &format!("In other words\n\nThis reverts commit {one}.\nThis reverts commit {two}."),
    ]);
    b.git(&["rebase", "-q", "--force-rebase", "--no-ff", "HEAD~3"]);
    assert_ne!(b.at("HEAD~2"), one);
    assert!(!b.fix_holds());
}

#[test]
fn on_a_release_branch_only_the_copy_is_undone_until_the_revert_is_picked() {
    let b = Bench::new();
    let base = b.head();
    let fix = b.attempt(2, "mask it", true);
    b.git(&["checkout", "-q", "-b", "release", &base]);
    b.git(&["cherry-pick", "-x", &fix]);
    b.git(&["revert", "--no-edit", "HEAD"]);
    let revert = b.head();
    b.git(&["checkout", "-q", "main"]);
    // Attempt 1 has a fix that stands: the one on main.
    let view = b.show();
    assert_eq!(view["attempts"][0]["outcome"]["bug"], "fixed", "{:#}", view["links"]);
    b.git(&["cherry-pick", &revert]);
    assert!(!b.fix_holds());
    assert_eq!(b.links().iter().filter(|l| l.1 == "revert").count(), 2);
}

#[test]
fn others_revert_without_hooks_and_status_sees_it_when_it_arrives() {
    let b = Bench::without_hooks();
    let fix = b.attempt(2, "mask it", true);
    assert!(b.fix_holds());
    let before = b.events();
    b.git(&["checkout", "-q", "-b", "theirs"]);
    b.git(&["revert", "--no-edit", "HEAD"]);
    b.git(&["checkout", "-q", "main"]);
    assert!(b.fix_holds(), "theirs is not merged");
    b.git(&["merge", "-q", "--no-ff", "-m", "Merge theirs", "theirs"]);
    assert!(!b.fix_holds());
    b.repo.incident(&["close", "--resolved"]).refuses(1);
    assert_eq!(b.events(), before, "looking writes nothing");
    b.relink(1, &[]);
    b.expect(&[(&fix, "fix", 1), (&b.at("theirs"), "revert", 1)]);
    assert!(!b.fix_holds());
    // A link by hand says what a message does not.
    b.git(&["commit", "-q", "--allow-empty", "-m", "Put it back"]);
    b.repo.incident(&["link", "HEAD", "--as", "revert", "--reverts", "theirs"]).expect(0);
    assert!(b.fix_holds());
}
