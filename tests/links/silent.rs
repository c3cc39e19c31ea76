//! Rewrites that git does not report: picks, squashes, forges, whole histories.

use super::*;

#[test]
fn cherry_picks_with_and_without_the_line() {
    let b = Bench::new();
    let base = b.head();
    let fix = b.attempt(2, "mask it", true);
    b.git(&["checkout", "-q", "-b", "release", &base]);
    b.repo.write("other.txt", "released\n");
    b.plain("Release");
    let release = b.head();
    b.git(&["cherry-pick", "-x", &fix]);
    let with = b.head();
    b.expect(&[(&fix, "fix", 1), (&with, "fix", 1)]);
    // A pick without the line, and without hooks: its patch is the only proof, and two have it already.
    b.git(&["checkout", "-q", "-b", "older", &base]);
    b.git(&["-c", "core.hooksPath=/dev/null", "cherry-pick", &fix]);
    let report = b.repo.incident_json(&["relink", "--all"]);
    assert_eq!(report["certain"], 1, "its trailer names the incident: {report:#}");
    b.git(&["checkout", "-q", "--detach", &release]);
    b.git(&["branch", "-q", "-D", "older"]);
    b.relink(0, &[]);
    b.expect(&[(&fix, "fix", 1), (&with, "fix", 1)]);
}

#[test]
fn a_pick_of_a_commit_without_trailers_is_known_while_it_happens() {
    let b = Bench::new();
    let base = b.head();
    b.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "nothing"]);
    b.repo.write("kernel.cu", "mine\n");
    b.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "-a", "-m", "no trailer"]);
    let plain = b.head();
    b.repo.incident(&["link", &plain, "--as", "partial"]).expect(0);
    b.git(&["checkout", "-q", "-b", "release", &base]);
    b.git(&["cherry-pick", &plain]);
    b.expect(&[(&plain, "partial", 0), (&b.head(), "partial", 0)]);
}

#[test]
fn merge_squash_carries_every_attempt() {
    let b = Bench::new();
    b.git(&["checkout", "-q", "-b", "topic"]);
    let one = b.attempt(2, "one", false);
    let two = b.attempt(8, "two", true);
    b.git(&["checkout", "-q", "main"]);
    b.git(&["merge", "-q", "--squash", "topic"]);
    b.git(&["commit", "-q", "--no-edit"]);
    let squash = b.head();
    let both = [(squash.as_str(), "failed", 1), (squash.as_str(), "fix", 2)];
    b.expect(&[&[(one.as_str(), "failed", 1), (two.as_str(), "fix", 2)], both.as_slice()].concat());
    // The branch goes; what it held is still linked through the squash.
    b.git(&["branch", "-q", "-D", "topic"]);
    b.relink(2, &[]);
    b.expect(&both);
}

#[test]
fn merge_squash_with_a_message_of_ones_own_is_found_by_its_patch() {
    let b = Bench::without_hooks();
    b.git(&["checkout", "-q", "-b", "topic"]);
    b.attempt(2, "one", false);
    b.attempt(8, "two", true);
    b.change(14, "not linked");
    b.git(&["checkout", "-q", "main"]);
    b.repo.write("other.txt", "moved on\n");
    b.plain("Somebody else's");
    b.git(&["merge", "-q", "--squash", "topic"]);
    b.git(&["commit", "-q", "-m", "All of it"]);
    let squash = b.head();
    b.git(&["branch", "-q", "-D", "topic"]);
    let report = b.relink(2, &[]);
    assert_eq!(report["links"][0]["matches"][0]["how"], serde_json::json!(["squash"]), "{report:#}");
    b.expect(&[(&squash, "failed", 1), (&squash, "fix", 2)]);
}

#[test]
fn a_forge_squashes_and_the_number_is_in_the_subject() {
    let b = Bench::without_hooks();
    b.git(&["checkout", "-q", "-b", "topic"]);
    let fix = b.attempt(2, "one", true);
    b.git(&["checkout", "-q", "main"]);
    // Somebody resolved a conflict in the browser: neither patch nor author is the same.
    b.repo.write("kernel.cu", &FILE.replace("k2\n", "k2 one, more or less\n"));
    let message =
        format!("Mask it (#12)\n\n* one\n\nIncident: {}\n\nCo-authored-by: B <b@example.org>", &b.id[..12]);
    b.git(&["commit", "-q", "-a", "-m", &message]);
    let squash = b.head();
    b.git(&["branch", "-q", "-D", "topic"]);
    // The trailer alone names the incident; which attempt, a person says.
    let report = b.repo.incident_json(&["relink", "--apply"]);
    assert_eq!(report["links"][0]["state"], "unplaced", "{report:#}");
    assert_eq!(report["told"][0]["commit"], squash.as_str(), "{report:#}");
    b.expect(&[(&fix, "fix", 1), (&squash, "related", 0)]);
    b.repo.incident(&["link", &squash, "--as", "fix", "-n", "1"]).expect(0);
    b.repo.incident(&["link", &fix, "--remove"]).expect(0);
    b.expect(&[(&squash, "fix", 1)]);
    b.relink(0, &[]);
}

#[test]
fn a_forge_rebases_and_nobody_tells() {
    let b = Bench::without_hooks();
    b.git(&["checkout", "-q", "-b", "topic"]);
    let tip = {
        b.attempt(2, "one", false);
        b.attempt(8, "two", true)
    };
    b.git(&["checkout", "-q", "main"]);
    b.repo.write("other.txt", "moved on\n");
    b.plain("Somebody else's");
    b.git(&["cherry-pick", &format!("main..{tip}")]);
    b.git(&["branch", "-q", "-D", "topic"]);
    let report = b.relink(2, &[]);
    assert_eq!(report["links"][0]["matches"][0]["how"][0], "patch-id");
    b.expect(&[(&b.at("HEAD~1"), "failed", 1), (&b.head(), "fix", 2)]);
}

#[test]
fn history_is_rewritten_as_a_whole() {
    let b = Bench::without_hooks();
    let bad = b.attempt(2, "one", false);
    b.git(&["commit", "-q", "--allow-empty", "-m", "an empty commit"]);
    let empty = b.head();
    b.repo.incident(&["link", &empty, "--as", "related"]).expect(0);
    b.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    b.repo.write("side.txt", "x\n");
    b.git(&["add", "-A"]);
    b.git(&["commit", "-q", "-m", "on the side"]);
    b.git(&["checkout", "-q", "main"]);
    b.git(&["merge", "-q", "--no-ff", "-m", "Merge the side", "side"]);
    let merge = b.head();
    b.repo.incident(&["link", &merge, "--as", "partial"]).expect(0);
    let fix = b.attempt(8, "two", true);
    let before = [bad, empty, merge, fix];
    // As filter-repo does it: every commit by another committer, and without one file. No record is left.
    let dump = b.repo.root().join("dump").display().to_string();
    b.repo.command("sh").args(["-c", &format!("git fast-export --all --reference-excluded-parents -- ':!other.txt' refs/heads/main >{dump}.0 2>/dev/null; git fast-export --signed-tags=strip refs/heads/main | sed 's/^committer .* <.*>/committer Bot <bot@example.org>/' >{dump}")]).status().expect("a shell");
    b.git(&["update-ref", "-d", "refs/heads/side"]);
    b.repo
        .command("sh")
        .args(["-c", &format!("git fast-import --force --quiet <{dump}")])
        .status()
        .expect("a shell");
    b.git(&["reset", "-q", "--hard", "main"]);
    let after = [b.at("HEAD~1^1~1"), b.at("HEAD~1^1"), b.at("HEAD~1"), b.head()];
    assert!(before.iter().zip(&after).all(|(a, b)| a != b));
    let report = b.relink(4, &[]);
    b.expect(&[
        (&after[0], "failed", 1),
        (&after[1], "related", 0),
        (&after[2], "partial", 0),
        (&after[3], "fix", 2),
    ]);
    let how = |n: usize| report["links"][n]["matches"][0]["how"][0].clone();
    let hows: Vec<_> = (0..4).map(how).collect();
    assert_eq!(hows.iter().filter(|h| **h == "tree").count(), 2, "a merge and an empty commit: {hows:?}");
}

#[test]
fn a_record_of_filter_repo_is_believed() {
    let b = Bench::without_hooks();
    let fix = b.attempt(2, "one", true);
    b.git(&["reset", "-q", "--hard", "HEAD~1"]);
    b.repo.write("kernel.cu", "nothing alike\n");
    b.git(&["commit", "-q", "-a", "-m", "nothing alike"]);
    let folder = b.repo.path().join(".git/filter-repo");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("commit-map"), format!("old new\n{fix} {}\n", b.head())).expect("written");
    b.relink(1, &[]);
    b.expect(&[(&b.head(), "fix", 1)]);
}
