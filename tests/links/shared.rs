//! Rewrites of commits that another branch holds as well, and of those that nothing is left of.

use super::*;

#[test]
fn what_another_branch_holds_keeps_its_link() {
    let b = Bench::new();
    let base = b.head();
    let one = b.attempt(2, "one", false);
    let two = b.attempt(8, "two", true);
    b.git(&["checkout", "-q", "-b", "topic"]);
    b.git(&["commit", "-q", "--amend", "-m", "told better"]);
    let amended = b.head();
    let old = [(one.as_str(), "failed", 1), (two.as_str(), "fix", 2)];
    b.expect(&[old.as_slice(), &[(&amended, "fix", 2)]].concat());
    b.rebase(&base, r#"sh -c 'sed "2s/^pick/fixup/" "$1" >"$1.n"; mv "$1.n" "$1"' x"#);
    let both = b.head();
    b.expect(&[old.as_slice(), &[(&both, "failed", 1), (&both, "fix", 2)]].concat());
    // When the other branch goes, one commit is left, and one link of each attempt.
    b.git(&["branch", "-q", "-D", "main"]);
    b.repo.incident(&["link", &one, "--remove"]).expect(0);
    b.repo.incident(&["link", &two, "--remove"]).expect(0);
    b.expect(&[(&both, "failed", 1), (&both, "fix", 2)]);
}

#[test]
fn what_was_pushed_of_the_branch_itself_holds_nothing() {
    let b = Bench::new();
    b.git(&["checkout", "-q", "-b", "topic"]);
    let fix = b.attempt(2, "one", true);
    b.git(&["update-ref", "refs/remotes/origin/topic", &fix]);
    b.git(&["commit", "-q", "--amend", "-m", "told better"]);
    b.expect(&[(&b.head(), "fix", 1)]);
    // Under another name it is somebody else's.
    let again = b.head();
    b.git(&["update-ref", "refs/remotes/origin/theirs", &again]);
    b.git(&["commit", "-q", "--amend", "-m", "told best"]);
    b.expect(&[(&again, "fix", 1), (&b.head(), "fix", 1)]);
}

#[test]
fn branches_that_a_rebase_takes_along_hold_nothing() {
    for backend in ["--update-refs", "--apply"] {
        let b = Bench::new();
        b.git(&["checkout", "-q", "-b", "lower"]);
        b.attempt(2, "one", false);
        if backend == "--update-refs" {
            b.git(&["checkout", "-q", "-b", "upper"]);
        }
        b.attempt(8, "two", true);
        b.git(&["checkout", "-q", "main"]);
        b.repo.write("other.txt", "moved on\n");
        b.plain("Somebody else's");
        b.git(&["checkout", "-q", "-"]);
        b.git(&["rebase", "-q", backend, "main"]);
        b.expect(&[(&b.at("HEAD~1"), "failed", 1), (&b.head(), "fix", 2)]);
    }
}

#[test]
fn a_commit_of_which_nothing_is_left_became_no_other_one() {
    let b = Bench::new();
    let base = b.head();
    b.git(&["checkout", "-q", "-b", "topic"]);
    let one = b.attempt(2, "one", true);
    b.git(&["checkout", "-q", "main"]);
    b.repo.write("other.txt", "moved on\n");
    b.plain("Somebody else's");
    b.git(&["-c", "core.hooksPath=/dev/null", "cherry-pick", &one]);
    let picked = b.head();
    b.repo.write("other.txt", "moved further\n");
    b.plain("Somebody else's again");
    // Dropped first: git says that it became what it was to stand on.
    b.git(&["checkout", "-q", "topic"]);
    b.git(&["rebase", "-q", "--reapply-cherry-picks", "--empty=drop", "main"]);
    assert_eq!(b.head(), b.at("main"));
    b.expect(&[(&one, "fix", 1), (&picked, "fix", 1)]);
    b.relink(1, &[]);
    b.expect(&[(&picked, "fix", 1)]);
    // Dropped behind another one: git says that it became that one.
    b.git(&["checkout", "-q", "-b", "second", &base]);
    b.change(8, "not an attempt");
    b.git(&["cherry-pick", &picked]);
    b.git(&["rebase", "-q", "--reapply-cherry-picks", "--empty=drop", "main"]);
    assert_eq!(b.at("HEAD~1"), b.at("main"));
    let links = b.links();
    assert!(links.iter().all(|l| l.1 != "fix" || l.0 != b.head()), "{links:?}\n{}", b.graph());
}

#[test]
fn one_squash_of_several_failed_attempts_holds_them_all() {
    let b = Bench::new();
    b.git(&["checkout", "-q", "-b", "topic"]);
    let old: Vec<String> = [2, 8, 14].iter().map(|n| b.attempt(*n, &format!("try {n}"), false)).collect();
    b.git(&["checkout", "-q", "main"]);
    b.git(&["merge", "-q", "--squash", "topic"]);
    b.git(&["commit", "-q", "--no-edit"]);
    let squash = b.head();
    let links: Vec<(&str, &str, u64)> = old
        .iter()
        .map(String::as_str)
        .zip(1..)
        .flat_map(|(c, n)| [(c, "failed", n), (squash.as_str(), "failed", n)])
        .collect();
    b.expect(&links);
}

#[test]
fn what_was_taken_back_stays_so_on_both_branches() {
    let b = Bench::new();
    let fix = b.attempt(2, "one", true);
    b.repo.incident(&["link", &fix, "--remove"]).expect(0);
    b.git(&["checkout", "-q", "-b", "topic"]);
    for message in ["told better", "told best"] {
        let trailers = b.git(&["log", "-1", "--format=%(trailers)"]);
        b.git(&["commit", "-q", "--amend", "-m", message, "-m", &trailers]);
        b.expect(&[]);
    }
    b.relink(0, &["--all"]);
    b.expect(&[]);
}
