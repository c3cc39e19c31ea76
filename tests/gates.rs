//! Gates in real repositories: what a push must show, what runs, what is remembered, who is asked.

mod common;

use std::path::Path;

use common::finish;
use common::gates::{counted, on_remote, runs, with_gates};

#[test]
fn untrusted_failing_fixed_cached_and_changed() {
    let (repo, bare) = with_gates("");
    repo.write(".git-incident.toml", &counted(&repo.root()));
    repo.commit("Count");

    // Nobody has approved the commands.
    let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
    assert_ne!(ran.status, 0);
    let tip = repo.git(&["rev-parse", "HEAD"]);
    ran.says("git incident trust").says(&tip[..12]);
    assert_eq!((on_remote(&repo, &bare, "refs/heads/topic"), runs(&repo)), (String::new(), 0));
    repo.incident(&["validate"]).expect(1).says("git incident trust");
    repo.incident(&["trust"]).expect(1).says("test -e good");
    assert_eq!(runs(&repo), 0);
    repo.incident(&["trust", "--yes"]).expect(0);

    // The gate fails, also when an untracked file would make it pass in the working tree.
    repo.write("good", "");
    let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
    assert_ne!(ran.status, 0);
    ran.says("fail")
        .says("unit")
        .says("looking for good")
        .says(&format!("git incident validate {} --gate unit", &tip[..12]));
    assert_eq!((on_remote(&repo, &bare, "refs/heads/topic"), runs(&repo)), (String::new(), 1));
    repo.incident(&["validate"]).expect(4);

    // Fixed: passes, and the record serves whoever asks again.
    repo.commit("Fix");
    let fixed = repo.git(&["rev-parse", "HEAD"]);
    let before = runs(&repo);
    repo.try_git(&["push", "-q", "origin", "topic"]).expect(0).says("pass");
    assert_eq!(on_remote(&repo, &bare, "refs/heads/topic"), fixed);
    assert_eq!(runs(&repo), before + 1);
    repo.try_git(&["push", "-q", "origin", "topic:refs/heads/other"]).expect(0);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "Same tree"]);
    repo.try_git(&["push", "-q", "origin", "topic"]).expect(0).says("recorded before");
    assert_eq!(runs(&repo), before + 1);
    let view = repo.incident_json(&["validate"]);
    assert_eq!(
        (view["verdict"].as_str(), view["records"][0]["cached"].as_bool()),
        (Some("pass"), Some(true))
    );
    for key in ["gate", "verdict", "device", "tree", "record"] {
        assert!(view["records"][0][key].is_string(), "{key} in {view}");
    }

    // Other bytes need a new approval.
    repo.write(".git-incident.toml", &format!("# changed\n{}", counted(&repo.root())));
    repo.commit("Change the configuration");
    let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
    assert_ne!(ran.status, 0);
    ran.says("not the one that was approved");
    repo.incident(&["trust", "--revoke"]).expect(0);
    repo.incident(&["validate"]).expect(1).says("nobody has approved");
}

#[test]
fn deletions_tags_and_the_notebook_pass() {
    let (repo, bare) = with_gates("[[gate]]\nid = \"never\"\nkind = \"command\"\nrun = \"false\"\n");
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.git(&["push", "-q", "--no-verify", "origin", "topic"]);
    repo.git(&["tag", "-a", "v1", "-m", "Version 1"]);
    repo.git(&["tag", "light"]);
    repo.incident(&["open", "x"]).expect(0);
    repo.try_git(&["push", "-q", "origin", "v1", "light", "refs/notes/incidents", ":topic"]).expect(0);
    assert_eq!(on_remote(&repo, &bare, "refs/heads/topic"), "");
    assert_ne!(on_remote(&repo, &bare, "refs/notes/incidents"), "");
    // A tag that brings commits of its own is judged like a branch.
    repo.git(&["commit", "-q", "--allow-empty", "-m", "Only on a tag"]);
    repo.git(&["tag", "v2"]);
    assert_ne!(repo.try_git(&["push", "-q", "origin", "v2"]).status, 0);
    assert_eq!(on_remote(&repo, &bare, "refs/tags/v2"), "");
}

#[test]
fn paths_and_linked_fixes_make_a_gate_due() {
    let (repo, _bare) = with_gates(
        "[[gate]]\nid = \"kernels\"\nkind = \"command\"\npaths = [\"kernels/**\"]\nrun = \"false\"\n",
    );
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.write("docs.md", "words\n");
    repo.commit("Words");
    repo.try_git(&["push", "-q", "origin", "topic"]).expect(0);
    repo.write("kernels/a.cu", "code\n");
    repo.commit("Code");
    let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
    assert_ne!(ran.status, 0);
    ran.says("kernels/a.cu changed");

    // Words again, and this time they are said to be the fix.
    repo.git(&["checkout", "-q", "-b", "words", "HEAD~1"]);
    repo.write("docs.md", "other words\n");
    repo.commit("Other words");
    repo.try_git(&["push", "-q", "origin", "words"]).expect(0);
    repo.incident(&["open", "x"]).expect(0);
    repo.write("docs.md", "better words\n");
    repo.commit("Better words");
    repo.incident(&["link", "HEAD", "--as", "fix"]).expect(0);
    let ran = repo.try_git(&["push", "-q", "origin", "words"]);
    assert_ne!(ran.status, 0);
    ran.says("a commit is linked as a fix");
}

#[test]
fn every_way_to_end_has_its_verdict() {
    let gate = |keys: &str| format!("[[gate]]\nid = \"g\"\nkind = \"command\"\n{keys}\n");
    let (repo, _bare) = with_gates("");
    for (keys, exit, says) in [
        ("run = \"sleep 1000\"\ntimeout = \"300ms\"", 4, "hang: it ran longer"),
        ("run = \"sleep 1000\"\nidle = \"300ms\"", 4, "hang: it was silent longer"),
        ("run = \"no-such-program-here\"", 5, "not installed"),
        ("run = \"exit 125\"", 5, "cannot decide"),
        ("run = \"true\"\nprepare = \"exit 2\"", 4, "prepare: exit status 2"),
        ("run = \"kill -SEGV $$\"", 4, "signal 11"),
        ("run = \"read answer && test -n \\\"$answer\\\"\"", 4, "exit status 1"),
        ("run = \"touch $GATE_OUT/x $TRITON_CACHE_DIR/y && test -z \\\"$GIT_DIR\\\"\"", 0, "pass"),
    ] {
        repo.write(".git-incident.toml", &gate(keys));
        repo.commit(keys);
        repo.incident(&["trust", "--yes"]).expect(0);
        repo.incident(&["validate"]).expect(exit).says(says);
    }
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_secret_in_the_output_is_not_kept() {
    // Put together here, so that the source holds nothing that looks like one.
    let secret = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0xR3uL6");
    let (repo, _bare) = with_gates("[[gate]]\nid = \"g\"\nkind = \"command\"\nrun = \"cat token; false\"\n");
    repo.write("token", &secret);
    repo.commit("Token");
    repo.incident(&["trust", "--yes"]).expect(0);
    let ran = repo.incident(&["validate"]).expect(4);
    assert!(!ran.stdout.contains(&secret) && ran.stdout.contains("[redacted:"), "{ran:?}");
}

#[test]
fn modes_and_kinds_of_later_versions() {
    for (mode, passes) in [("enforce", false), ("warn", true), ("off", true)] {
        let gate = "[[gate]]\nid = \"g\"\nkind = \"perf\"\nrun = \"true\"\n";
        let (repo, bare) = with_gates(&format!("[pre-push]\nmode = \"{mode}\"\n{gate}"));
        repo.incident(&["trust", "--yes"]).expect(0);
        let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
        assert_eq!(ran.status == 0, passes, "{mode}: {ran:?}");
        assert_eq!(on_remote(&repo, &bare, "refs/heads/topic").is_empty(), !passes);
        match mode {
            "off" => assert_eq!(ran.stderr, ""),
            _ => drop(ran.says("kind perf comes with a later one")),
        }
        repo.incident(&["validate"]).expect(5);
    }
}

#[test]
fn a_missing_device_waits_on_a_branch_and_refuses_on_a_protected_one() {
    let gate = "[[gate]]\nid = \"gpu\"\nkind = \"command\"\ndevice = \"custom:false\"\nrun = \"true\"\n";
    let (repo, bare) = with_gates(gate);
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(5).says("no such device here");
    repo.try_git(&["push", "-q", "origin", "topic"]).expect(0).says("pending");
    assert_ne!(on_remote(&repo, &bare, "refs/heads/topic"), "");
    let pending = repo.read(".git/incident/pending");
    assert!(pending.contains("\"gate\":\"gpu\""), "{pending}");
    // Seen with no incident open, too.
    repo.incident(&["status"]).expect(0).says("no incident is active").says("pending gate gpu on ");
    let ran = repo.try_git(&["push", "-q", "origin", "topic:main"]);
    assert_ne!(ran.status, 0);
    ran.says("no such device here").says("where that device is: git incident validate ");
    assert_ne!(on_remote(&repo, &bare, "refs/heads/main"), repo.git(&["rev-parse", "topic"]));
}

#[test]
fn a_protected_branch_keeps_its_gate() {
    let strict =
        "[[gate]]\nid = \"unit\"\nkind = \"command\"\noracle = [\"check.sh\"]\nrun = \"sh check.sh\"\n";
    let (repo, bare) = with_gates(strict);
    repo.write("check.sh", "test \"$(cat a.txt)\" = one\n");
    repo.commit("A check");
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.try_git(&["push", "-q", "origin", "topic:main"]).expect(0).says("pass");
    // Weaker in the oracle: the protected version of it decides.
    repo.write("a.txt", "two\n");
    repo.write("check.sh", "true\n");
    repo.commit("Weaken the oracle");
    let ran = repo.try_git(&["push", "-q", "origin", "topic:main"]);
    assert_ne!(ran.status, 0, "{ran:?}");
    let ran = ran.says("this push changes the protected gate unit").says("fail");
    // Both commands that are named fail in the same way: the commit's own oracle would pass.
    let after = |start: &str| {
        let line = ran.stderr.lines().find_map(|line| line.split_once(start)).expect(start).1;
        repo.run("sh", &["-c", &format!("{line}; s=$?; git restore . && git switch -q topic; exit $s")])
    };
    let again = after("run it again: ");
    assert_eq!(again.status, 4, "{again:?}");
    let by_hand = after("by hand: ").never_says("usage");
    assert_eq!(by_hand.status, 1, "{by_hand:?}");
    // Elsewhere the branch's own version does.
    repo.try_git(&["push", "-q", "origin", "topic"]).expect(0);
    // Removed altogether, and the hook turned off: the same.
    repo.write(".git-incident.toml", "[pre-push]\nmode = \"off\"\nprotected = []\n");
    repo.commit("Remove the gate");
    let ran = repo.try_git(&["push", "-q", "origin", "topic:main"]);
    assert_ne!(ran.status, 0);
    ran.says("removes the protected gate unit").says("git incident trust");
    repo.incident(&["trust", "--yes"]).expect(0);
    let ran = repo.try_git(&["push", "-q", "origin", "topic:main"]);
    assert_ne!(ran.status, 0);
    let ran = ran.says("fail");
    let again = ran.stderr.lines().find_map(|line| line.split_once("run it again: ")).expect("a line").1;
    let again = repo.run("sh", &["-c", again]);
    assert_eq!(again.status, 4, "{again:?}");
    assert_ne!(on_remote(&repo, &bare, "refs/heads/main"), repo.git(&["rev-parse", "topic"]));
}

#[test]
fn a_gate_that_commits_somewhere_touches_nothing_of_the_user() {
    let gate = "[[gate]]\nid = \"nested\"\nkind = \"command\"\n\
                run = \"git init -q x && cd x && git commit -q --allow-empty -m inner && test $(git rev-list --count HEAD) = 1\"\n";
    let (repo, bare) = with_gates(gate);
    repo.incident(&["trust", "--yes"]).expect(0);
    let linked = repo.root().join("linked");
    repo.git(&["worktree", "add", "-q", "-b", "side", &linked.display().to_string()]);
    let beside = repo.at(&linked);
    let commit = beside.run("git", &["commit", "-q", "--allow-empty", "-m", "On side"]);
    commit.expect(0);
    let tip = beside.git(&["rev-parse", "HEAD"]);
    beside.run("git", &["-c", "user.name=Other", "push", "-q", "origin", "side"]).expect(0).says("pass");
    assert_eq!(beside.git(&["rev-parse", "HEAD", "side"]), format!("{tip}\n{tip}"));
    assert_eq!(on_remote(&repo, &bare, "refs/heads/side"), tip);
    assert_eq!(beside.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_takes_longer_than_a_connection_goes_to_the_background() {
    let (repo, bare) = with_gates("");
    // Waits until this test says so, which is after the push was refused.
    let go = repo.root().join("go").display().to_string();
    let gate = format!(
        "[pre-push]\ninline = \"700ms\"\n[[gate]]\nid = \"slow\"\nkind = \"command\"\n\
         run = \"while ! test -e {go}; do sleep 0.05; done\"\n"
    );
    repo.write(".git-incident.toml", &gate);
    repo.commit("A slow gate");
    repo.incident(&["trust", "--yes"]).expect(0);
    let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
    assert_ne!(ran.status, 0);
    ran.says("git incident validate --wait && git push");
    // A second push joins it.
    assert_ne!(repo.try_git(&["push", "-q", "origin", "topic"]).status, 0);
    assert_eq!(on_remote(&repo, &bare, "refs/heads/topic"), "");
    std::fs::write(&go, "").unwrap();
    repo.incident(&["validate", "--wait"]).expect(0).says("pass");
    repo.try_git(&["push", "-q", "origin", "topic"]).expect(0).says("recorded before");
    assert_ne!(on_remote(&repo, &bare, "refs/heads/topic"), "");
}

#[test]
fn a_gate_that_fails_in_the_background_is_told_and_not_run_for_ever() {
    let (repo, _bare) = with_gates("");
    let (go, runs_file) =
        (repo.root().join("go").display().to_string(), repo.root().join("runs").display().to_string());
    let gate = format!(
        "[pre-push]\ninline = \"700ms\"\n[[gate]]\nid = \"slow\"\nkind = \"command\"\n\
         run = \"while ! test -e {go}; do sleep 0.05; done; echo ran >> {runs_file}; sleep 1; exit 3\"\n"
    );
    repo.write(".git-incident.toml", &gate);
    repo.commit("A slow gate");
    repo.incident(&["trust", "--yes"]).expect(0);
    assert_ne!(repo.try_git(&["push", "-q", "origin", "topic"]).status, 0);
    std::fs::write(&go, "").unwrap();
    repo.incident(&["validate", "--wait"]).expect(4).says("exit status 3");
    let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
    assert_ne!(ran.status, 0);
    ran.says("exit status 3").says("recorded before");
    assert_eq!(runs(&repo), 1);
}

#[test]
fn an_interruption_leaves_no_process_and_no_lock() {
    let (repo, _bare) = with_gates("");
    let mark = repo.root().join("started");
    let gate = format!(
        "[[gate]]\nid = \"slow\"\nkind = \"command\"\nrun = \"echo $$ > {0}.new; mv {0}.new {0}; sleep 1000\"\n",
        mark.display()
    );
    repo.write(".git-incident.toml", &gate);
    repo.commit("A slow gate");
    repo.incident(&["trust", "--yes"]).expect(0);
    let mut command = repo.command("git-incident");
    command.arg("validate").stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    while !mark.exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let gate_pid = std::fs::read_to_string(&mark).unwrap().trim().to_owned();
    repo.run("kill", &["-INT", &child.id().to_string()]).expect(0);
    let ran = finish(child.wait_with_output());
    assert_ne!(ran.status, 0);
    ran.says("interrupted");
    assert!(!Path::new(&format!("/proc/{gate_pid}/status")).exists(), "the gate lives on");
    // The lock is free, and nothing was recorded.
    repo.write(".git-incident.toml", "[[gate]]\nid = \"slow\"\nkind = \"command\"\nrun = \"true\"\n");
    repo.commit("A fast gate");
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(0).says("pass");
    let found = repo.run("find", &[".git", "-name", "index.lock", "-o", "-name", "HEAD.lock"]);
    assert_eq!(found.line(), "");
}

#[test]
fn results_are_told_to_the_incidents_of_the_commits() {
    let (repo, _bare) = with_gates(
        "[[gate]]\nid = \"unit\"\nkind = \"repeat\"\nrepeat = 3\nrun = \"echo $GATE_OUT; ls -A $GATE_OUT | wc -l | grep -qx 0\"\n",
    );
    repo.incident(&["trust", "--yes"]).expect(0);
    let id = repo.incident_json(&["open", "x"])["incident"].as_str().unwrap().to_owned();
    repo.write("a.txt", "two\n");
    repo.commit("Belongs to it");
    repo.try_git(&["push", "-q", "origin", "topic"]).expect(0);
    let ledger = repo.git(&["notes", "--ref=incidents", "show", &id]);
    assert!(ledger.contains("\"type\":\"gate.recorded\""), "{ledger}");
    repo.git(&["fsck", "--strict"]);
}

#[test]
fn a_wrong_configuration_and_nothing_to_do_say_so() {
    let (repo, bare) = with_gates("[[gate]]\nid = \"x\"\nkind = \"comand\"\nrun = \"true\"\n");
    let ran = repo.try_git(&["push", "-q", "origin", "topic"]);
    assert_ne!(ran.status, 0);
    ran.says("command");
    assert_eq!(on_remote(&repo, &bare, "refs/heads/topic"), "");
    repo.write(".git-incident.toml", "");
    repo.commit("No gates");
    repo.incident(&["validate"]).expect(0).says("no gates are configured");
    repo.incident(&["validate", "--require"]).expect(5);
    repo.incident(&["validate", "--gate", "nope"]).expect(2);
    repo.incident(&["validate", "no-such-commit"]).expect(1);
    repo.try_git(&["push", "-q", "origin", "topic"]).expect(0);
}

#[test]
fn two_push_urls_run_a_gate_once() {
    let (repo, bare) = with_gates("");
    let second = repo.root().join("second.git");
    repo.git(&["init", "-q", "--bare", &second.display().to_string()]);
    for url in [&bare, &second] {
        repo.git(&["remote", "set-url", "--add", "--push", "origin", &url.display().to_string()]);
    }
    repo.write(".git-incident.toml", &counted(&repo.root()));
    repo.write("good", "");
    repo.commit("Count");
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.try_git(&["push", "-q", "origin", "topic"]).expect(0);
    assert_eq!(runs(&repo), 1);
    let tip = repo.git(&["rev-parse", "topic"]);
    assert_eq!((on_remote(&repo, &bare, "topic"), on_remote(&repo, &second, "topic")), (tip.clone(), tip));
}

#[test]
fn what_cannot_be_judged_is_said_and_refused() {
    let (repo, _bare) = with_gates("");
    let missing = "1".repeat(40);
    let tip = repo.git(&["rev-parse", "HEAD"]);
    for (input, says) in [
        (format!("refs/heads/a {missing} refs/heads/a {}\n", "0".repeat(40)), "is not in this repository"),
        ("nonsense\n".to_owned(), "not understood"),
        // What the remote has is not known here: everything counts as changed, and nothing is due.
        (format!("refs/heads/a {tip} refs/heads/a {missing}\n"), ""),
        (String::new(), ""),
    ] {
        let path = repo.root().join("input");
        std::fs::write(&path, input).unwrap();
        let mut hook = repo.command("git-incident");
        hook.args(["hook", "pre-push", "origin", "/nowhere"]).stdin(std::fs::File::open(&path).unwrap());
        let ran = finish(hook.output());
        assert_eq!(ran.status, i32::from(!says.is_empty()), "{ran:?}");
        ran.says(says);
    }
}

#[test]
fn a_person_at_a_terminal_sees_time_pass() {
    let (repo, _bare) = with_gates(
        "[[gate]]\nid = \"slow\"\nkind = \"command\"\nrun = \"sleep 3\"\n[[gate]]\nid = \"next\"\nkind = \"command\"\nrun = \"true\"\n",
    );
    repo.incident(&["trust", "--yes"]).expect(0);
    let script = "import pty, sys\nsys.exit(pty.spawn(['git-incident', 'validate']) >> 8)";
    let seen = repo.run("python3", &["-c", script]).expect(0);
    assert!(seen.stdout.contains("\r\u{1b}[Kslow: 1"), "{:?}", seen.stdout);
    assert!(seen.stdout.contains("; 1 more gate"), "{:?}", seen.stdout);
}

#[test]
fn a_failure_can_be_seen_by_hand() {
    let (repo, _bare) = with_gates(
        "[[gate]]\nid = \"unit\"\nkind = \"command\"\nprepare = \"touch made\"\nrun = \"test -e made && echo it\\\\'s wrong >&2 && exit 3\"\n",
    );
    repo.incident(&["trust", "--yes"]).expect(0);
    let ran = repo.incident(&["validate"]).expect(4);
    let by_hand =
        ran.stderr.lines().chain(ran.stdout.lines()).find_map(|l| l.split_once("by hand: ")).unwrap().1;
    let seen = repo.run("sh", &["-c", by_hand]);
    assert_eq!(seen.status, 3, "{by_hand}: {}", seen.stderr);
    let _ = seen.says("it's wrong");
}
