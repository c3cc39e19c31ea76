//! Rewrites that git reports: amend, rebase in all its forms.

use super::*;

#[test]
fn amend_keeps_role_and_attempt_and_the_hook_may_fire_twice() {
    let b = Bench::new();
    let failed = b.attempt(2, "mask the tail", false);
    b.expect(&[(&failed, "failed", 1)]);
    b.git(&["commit", "-q", "--amend", "-m", "another message"]);
    let amended = b.head();
    b.expect(&[(&amended, "failed", 1)]);
    // The message and the change.
    b.repo.write("kernel.cu", "all new\n");
    b.git(&["commit", "-q", "--amend", "-a", "--no-edit"]);
    let again = b.head();
    b.expect(&[(&again, "failed", 1)]);
    let before = b.events();
    for _ in 0..2 {
        let mut command = b.repo.command("git-incident");
        command.args(["hook", "post-rewrite", "amend"]).stdin(std::process::Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let line = format!("{amended} {again}\n{failed} {amended}\n");
        std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), line.as_bytes())
            .expect("written");
        assert!(child.wait().expect("it ends").success());
    }
    b.expect(&[(&again, "failed", 1)]);
    assert_eq!(b.events(), before, "the same rewrite again says nothing new");
}

#[test]
fn rebase_reorders_drops_fixes_up_and_squashes() {
    let b = Bench::new();
    let base = b.head();
    b.git(&["checkout", "-q", "-b", "topic"]);
    b.attempt(2, "one", false);
    b.attempt(8, "two", false);
    b.attempt(14, "three", true);
    // The last one first, the others behind it.
    b.rebase(
        &base,
        r#"sh -c 'tail -r "$1" 2>/dev/null >"$1.n" || tac "$1" | grep ^pick >"$1.n"; mv "$1.n" "$1"' x"#,
    );
    let at = |n: usize| b.at(&format!("HEAD~{n}"));
    b.expect(&[(&at(0), "failed", 1), (&at(1), "failed", 2), (&at(2), "fix", 3)]);
    // Onto something else.
    b.git(&["checkout", "-q", "main"]);
    b.repo.write("other.txt", "two\n");
    b.plain("Somebody else's");
    b.git(&["checkout", "-q", "topic"]);
    b.git(&["rebase", "-q", "main"]);
    b.expect(&[(&at(0), "failed", 1), (&at(1), "failed", 2), (&at(2), "fix", 3)]);
    // The two that failed become one commit, which carries both attempts.
    b.rebase("main", r#"sh -c 'sed "3s/^pick/fixup/" "$1" >"$1.n"; mv "$1.n" "$1"' x"#);
    b.expect(&[(&at(0), "failed", 1), (&at(0), "failed", 2), (&at(1), "fix", 3)]);
    b.rebase("main", r#"sh -c 'sed "2s/^pick/squash/" "$1" >"$1.n"; mv "$1.n" "$1"' x"#);
    b.expect(&[(&at(0), "failed", 1), (&at(0), "failed", 2), (&at(0), "fix", 3)]);
    assert_eq!(b.at("HEAD~1"), b.at("main"));
}

#[test]
fn autosquash_follows_too() {
    let b = Bench::new();
    let base = b.head();
    let first = b.attempt(2, "one", true);
    b.git(&["checkout", "-q", "-b", "topic"]);
    b.repo.write("other.txt", "three\n");
    b.git(&["commit", "-q", "-a", "--fixup", &first]);
    b.git(&["rebase", "-q", "-i", "--autosquash", &base]);
    let head = b.head();
    assert_eq!(b.at("HEAD~1"), base);
    // The branch it came from holds it as it was.
    b.expect(&[(&first, "fix", 1), (&head, "fix", 1)]);
}

#[test]
fn a_split_leaves_the_role_on_the_last_part() {
    let b = Bench::new();
    let base = b.head();
    b.repo.incident(&["attempt", "start", "-H", "both at once"]).expect(0);
    b.repo.write("other.txt", "two\n");
    b.change(2, "two files");
    b.repo.incident(&["attempt", "end", "--worked", "-m", "told"]).expect(0);
    let todo = r#"sh -c 'sed "1s/^pick/edit/" "$1" >"$1.n"; mv "$1.n" "$1"' x"#;
    b.try_git(&["rebase", "-q", "-i", &base], &[("GIT_SEQUENCE_EDITOR", todo)]).expect(0);
    b.git(&["reset", "-q", "HEAD^"]);
    b.git(&["commit", "-q", "-m", "first part", "-m", &format!("Incident: {}", &b.id[..12]), "other.txt"]);
    let first = b.head();
    b.git(&["commit", "-q", "-a", "-m", "second part"]);
    b.git(&["rebase", "--continue"]);
    let last = b.head();
    assert_eq!(b.at("HEAD~1"), first);
    b.expect(&[(&first, "related", 0), (&last, "fix", 1)]);
}

#[test]
fn an_aborted_rebase_leaves_everything_as_it_was() {
    let b = Bench::new();
    let base = b.head();
    b.git(&["checkout", "-q", "-b", "topic"]);
    b.attempt(2, "one", true);
    let tip = b.attempt(8, "two", false);
    let first = b.at("HEAD~1");
    b.git(&["checkout", "-q", "-b", "side", &base]);
    b.repo.write("kernel.cu", &FILE.replace("k8\n", "other\n"));
    b.plain("conflicts with two");
    b.git(&["checkout", "-q", "topic"]);
    assert_ne!(b.try_git(&["rebase", "-q", "side"], &[]).status, 0);
    b.git(&["rebase", "--abort"]);
    b.expect(&[(&first, "fix", 1), (&tip, "failed", 2)]);
}
