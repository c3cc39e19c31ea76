//! What is proposed, and never made by a program.

use super::*;

#[test]
fn one_change_in_two_commits_is_proposed_and_made_by_a_person() {
    let b = Bench::without_hooks();
    let base = b.head();
    let fix = b.attempt(2, "one", true);
    b.git(&["branch", "-q", "a", &base]);
    b.git(&["checkout", "-q", "-b", "b", &base]);
    b.repo.write("other.txt", "b\n");
    b.git(&["commit", "-q", "-a", "-m", "b"]);
    b.git(&["cherry-pick", &fix]);
    let on_b = b.head();
    b.git(&["checkout", "-q", "a"]);
    b.repo.write("other.txt", "a\n");
    b.git(&["commit", "-q", "-a", "-m", "a"]);
    b.git(&["cherry-pick", &fix]);
    b.git(&["branch", "-q", "-f", "main", &base]);
    let report = b.relink(0, &[]);
    assert_eq!(
        (&report["proposed"], &report["links"][0]["state"]),
        (&1.into(), &"proposed".into()),
        "{report:#}"
    );
    assert_eq!(report["links"][0]["matches"].as_array().expect("matches").len(), 2);
    b.expect(&[(&fix, "fix", 1)]);
    let text = b.repo.incident(&["relink"]).expect(0);
    text.says(&format!("git incident link {} --as fix -n 1 -i {}", &on_b[..12], &b.id[..12]));
}

#[test]
fn the_same_words_of_the_same_author_propose() {
    let b = Bench::without_hooks();
    let fix = b.attempt(2, "one", true);
    let date = b.git(&["log", "-1", "--format=%aI"]);
    b.git(&["reset", "-q", "--hard", "HEAD~1"]);
    b.repo.write("kernel.cu", &FILE.replace("k2\n", "k2 resolved by hand\n"));
    b.git(&["commit", "-q", "-a", "-m", "one", "--date", &date]);
    let report = b.relink(0, &[]);
    let m = &report["links"][0]["matches"][0];
    assert_eq!(
        (&m["sure"], &m["how"][0], &m["action"]),
        (&"likely".into(), &"author".into(), &"proposed".into()),
        "{report:#}"
    );
    b.expect(&[(&fix, "fix", 1)]);
}

#[test]
fn white_space_is_a_difference_and_nothing_is_invented() {
    let b = Bench::without_hooks();
    b.repo.write("x.py", "if x:\n    a()\n");
    b.repo.commit("py");
    b.repo.write("x.py", "if x:\n    a()\n    b()\n");
    let inside = b.repo.commit("inside");
    b.repo.incident(&["link", &inside, "--as", "fix"]).expect(0);
    b.git(&["reset", "-q", "--hard", "HEAD~1"]);
    b.repo.write("x.py", "if x:\n    a()\nb()\n");
    b.git(&["commit", "-q", "-a", "-m", "outside"]);
    let report = b.relink(0, &[]);
    assert_eq!((&report["unplaced"], &report["proposed"]), (&1.into(), &0.into()), "{report:#}");
    b.repo.incident(&["relink"]).expect(0).says("unplaced");
}

#[test]
fn bad_ranges_and_names_are_refused() {
    let b = Bench::without_hooks();
    b.repo.incident(&["relink", "--range", "nowhere..HEAD"]).refuses(1);
    b.repo.incident(&["relink", "--range=--output=x"]).refuses(2);
    b.repo.incident(&["relink", "-i", "1234567"]).refuses(1);
    b.repo.incident(&["link", "HEAD", "--as", "fix", "--reverts", "HEAD"]).refuses(2);
    b.repo.incident(&["relink"]).expect(0).says("every link stands");
    let only = b.attempt(2, "one", true);
    let view = b.repo.incident_json(&["relink", "--range", "HEAD~1..HEAD"]);
    assert_eq!(view["links"], serde_json::json!([]), "{only} is where it is");
}
