//! An unlinked commit stays unlinked, whatever happens to it.

use super::*;
use common::clones;

#[test]
fn stays_so_through_amend_rebase_pick_push_relink_and_repair() {
    let b = Bench::new();
    let base = b.head();
    b.git(&["checkout", "-q", "-b", "topic"]);
    let commit = b.change(2, "belongs to nothing");
    b.expect(&[(&commit, "related", 0)]);
    b.repo.incident(&["link", &commit, "--remove"]).expect(0);
    b.expect(&[]);
    b.git(&["commit", "-q", "--amend", "--no-edit"]);
    b.expect(&[]);
    b.git(&["commit", "-q", "--amend", "-m", "in other words"]);
    b.expect(&[]);
    b.repo.write("kernel.cu", &FILE.replace("k9\n", "something else\n"));
    b.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    b.expect(&[]);
    b.git(&["checkout", "-q", "main"]);
    b.repo.write("other.txt", "moved on\n");
    b.plain("Somebody else's");
    b.git(&["checkout", "-q", "topic"]);
    b.git(&["rebase", "-q", "main"]);
    b.expect(&[]);
    b.git(&["checkout", "-q", "-b", "release", &base]);
    b.git(&["cherry-pick", "topic"]);
    b.expect(&[]);
    b.repo.with_remote();
    b.git(&["push", "-q", "origin", "main", "topic", "release"]);
    b.expect(&[]);
    b.relink(0, &[]);
    b.relink(0, &["--all"]);
    b.repo.incident(&["fsck", "--repair"]);
    b.expect(&[]);
    // A person may think again.
    b.repo.incident(&["link", "topic", "--as", "fix"]).expect(0);
    b.expect(&[(&b.at("topic"), "fix", 0)]);
}

#[test]
fn stays_so_in_every_clone_whoever_hears_of_it_last() {
    let repo = clones::with_hub();
    repo.incident(&["init"]).expect(0);
    let id = repo.open("softmax gives NaN");
    repo.write("a", "one\n");
    let commit = repo.commit("made here");
    repo.git(&["push", "-q", "origin", "main"]);
    clones::sync(&repo.here(), &[]);
    let other = clones::clone(&repo, "other");
    clones::sync(&other, &[]);
    let links = |at: &common::Beside<'_>| {
        let view = at.incident_json(&["show", &id]);
        view["links"].as_array().expect("links").len()
    };
    assert_eq!(links(&other), 1);
    // Here it is taken back; there it is amended before anybody hears of that.
    repo.incident(&["link", &commit, "--remove", "-i", &id]).expect(0);
    other.incident(&["init"]).expect(0);
    other.git(&["commit", "-q", "--amend", "-m", "made there", "-m", &format!("Incident: {}", &id[..12])]);
    assert_eq!(links(&other), 1);
    clones::sync(&repo.here(), &[]);
    clones::sync(&other, &[]);
    clones::sync(&repo.here(), &[]);
    for at in [&repo.here(), &other] {
        assert_eq!(links(at), 0);
        at.incident(&["relink", "--all", "--apply"]).expect(0);
        at.incident(&["fsck", "--repair"]);
        assert_eq!(links(at), 0);
        assert_eq!(
            at.run("git", &["log", "--all", "--format=%N", "--notes=incident-lines"]).expect(0).stdout.trim(),
            ""
        );
    }
}
