//! `try`: it runs a command as the shell would, and records what is needed to understand the run later.

mod common;

use common::Repo;
use serde_json::{Value, json};

fn opened() -> Repo {
    let repo = Repo::new();
    repo.write(".gitignore", "ignored.txt\n");
    repo.commit("first");
    repo.open("row 17 is NaN");
    repo
}

fn names(repo: &Repo) -> Vec<String> {
    let view = repo.view("evidence list");
    let rows = view["evidence"].as_array().expect("rows").iter();
    rows.map(|e| e["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn it_exits_with_the_commands_status() {
    let repo = opened();
    for (script, status) in
        [("exit 0", 0), ("exit 3", 3), ("exit 125", 125), ("kill -TERM $$", 143), ("kill -SEGV $$", 139)]
    {
        repo.try_sh(&[], script).expect(status);
        assert_eq!(repo.last_run()["exit"], status, "{script}");
    }
    repo.typed("try -- no-such-program-anywhere").refuses(127);
    repo.write("not-executable", "x");
    repo.typed("try -- ./not-executable").refuses(126);
    assert_eq!(repo.last_run()["exit"], Value::Null, "it never ran");
}

#[test]
fn trouble_of_its_own_exits_with_125() {
    let repo = Repo::new();
    repo.typed("try -- true").refuses(125).says("no incident is active");
    let outside = repo.at("/").typed("try -- true");
    outside.expect(125).says("no git repository");
}

#[test]
fn both_streams_come_through_apart_and_intact() {
    let repo = opened();
    let ran = repo.try_sh(&[], "printf 'out\\001\\377\\n'; printf 'err, no end of line' >&2");
    assert_eq!(ran.stdout, "out\u{1}\u{fffd}\n");
    assert!(ran.stderr.starts_with("err, no end of line"), "{}", ran.stderr);
    let raw = repo.command("git-incident").args(["try", "--", "printf", "\\377\\376\\000"]).output();
    assert_eq!(raw.expect("a run").stdout, b"\xff\xfe\0");
}

#[test]
fn one_stream_for_both_keeps_its_order() {
    let repo = opened();
    let script = "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let shell = format!("git-incident try -- sh -c '{script}' 2>&1");
    let ran = repo.run("sh", &["-c", &shell]).expect(0);
    let expected: String = (0..200).flat_map(|i| [format!("out {i}\n"), format!("err {i}\n")]).collect();
    assert!(ran.stdout.starts_with(&expected), "{}", ran.stdout);
    assert_eq!(repo.typed("evidence show output.log").expect(0).stdout, expected);
}

#[test]
fn the_output_is_kept_byte_for_byte() {
    let repo = opened();
    let ran = repo.try_sh(&[], "seq 1 20000; printf '\\000\\377 end'");
    let mut shown = repo.command("git-incident");
    let shown = shown.args(["evidence", "show", "output.log"]).output().expect("a file");
    assert!(shown.stdout.starts_with(b"1\n2\n3\n") && shown.stdout.ends_with(b"20000\n\0\xff end"));
    assert_eq!(String::from_utf8_lossy(&shown.stdout), ran.stdout);
}

#[test]
fn what_it_ran_on_is_recorded() {
    let repo = opened();
    repo.write("tracked.txt", "one\n");
    let head = repo.commit("second");
    repo.write("tracked.txt", "two\n");
    repo.write("new/file.txt", "untracked\n");
    repo.write("ignored.txt", "ignored\n");
    let view = repo.view("try -- sh -c 'echo $0 \"$1\"' name 'two words'");
    let run = &view["run"];
    assert_eq!(run["argv"], json!(["sh", "-c", "echo $0 \"$1\"", "name", "two words"]));
    assert_eq!((&run["commit"], &run["dirty"]), (&json!(head), &json!(true)));
    assert!(run["seconds"].as_f64().is_some_and(|s| s >= 0.0));
    let environment = run["environment"].as_object().expect("an environment");
    assert!(!environment.is_empty(), "nothing about the machine");
    assert_eq!(names(&repo), ["output.log", "dirty.diff", "new/file.txt"]);
    let diff = repo.typed("evidence show dirty.diff").expect(0);
    diff.says("-one").says("+two").never_says("untracked");
    assert_eq!(repo.typed("evidence show new/file.txt").expect(0).stdout, "untracked\n");
    // The tree has a name: that of the commit that `git add --all` would make.
    repo.git(&["add", "-A"]);
    assert_eq!(run["tree"], repo.git(&["write-tree"]).as_str());
}

/// git takes a file for unchanged when size and time are those of its index, unless the index is of the same second.
#[test]
fn a_change_within_the_second_of_the_commit_makes_another_tree() {
    let second = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.expect("a clock").as_secs()
    };
    for _ in 0..100 {
        let repo = opened();
        let before = second();
        repo.write("tracked.txt", "one\n");
        repo.commit("second");
        repo.write("tracked.txt", "two\n");
        if second() != before {
            continue;
        }
        while second() == before {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let view = repo.view("try -- true");
        repo.git(&["add", "-A"]);
        assert_eq!(view["run"]["tree"], repo.git(&["write-tree"]).as_str());
        return;
    }
    panic!("no commit within a second in 100 tries");
}

#[test]
fn recording_leaves_index_and_working_tree_alone() {
    let repo = opened();
    repo.write("staged.txt", "staged\n");
    repo.git(&["add", "staged.txt"]);
    repo.write("loose.txt", "loose\n");
    let before = (repo.git(&["status", "--porcelain"]), repo.git(&["ls-files", "-s"]));
    repo.try_sh(&["-H", "why"], "true").expect(0);
    let after = (repo.git(&["status", "--porcelain"]), repo.git(&["ls-files", "-s"]));
    assert_eq!(before, after);
}

#[test]
fn with_a_hypothesis_it_is_a_whole_attempt() {
    let repo = opened();
    let options =
        ["-H", "the scale is wrong", "-d", "NaN stays", "-m", "it does not", "--refuted", "--remains"];
    repo.try_sh(&options, "echo nan; exit 1").expect(1);
    let attempt = &repo.view("show")["attempts"][0];
    assert_eq!(attempt["hypothesis"], "the scale is wrong");
    assert_eq!(attempt["disproof"], "NaN stays");
    assert_eq!(attempt["conclusion"], "it does not");
    assert_eq!(attempt["outcome"], json!({"hypothesis": "refuted", "bug": "remains"}));
    assert!(attempt["ended"].is_string() && attempt["action"].as_str().expect("a text").contains("echo nan"));
    assert!(attempt["result"].as_str().expect("a text").starts_with("exit 1"));
    assert_eq!(attempt["evidence"][0]["name"], "output.log");
    // Without words on the outcome, nothing is claimed: an exit status says nothing of a hypothesis.
    repo.try_sh(&["-H", "another"], "true").expect(0);
    let attempt = &repo.view("show")["attempts"][1];
    assert_eq!(attempt["outcome"], json!({"hypothesis": "undecided", "bug": "unknown"}));
    repo.typed("try --failed -- true").refuses(2).says("an outcome belongs to an attempt");
}

#[test]
fn within_an_attempt_a_run_is_a_note_on_it() {
    let repo = opened();
    repo.typed("attempt start -H 'the mask is stale'").expect(0);
    repo.try_sh(&[], "echo inside").expect(0);
    let attempt = &repo.view("show")["attempts"][0];
    assert_eq!(attempt["notes"][0]["run"]["exit"], 0);
    assert_eq!((&attempt["evidence"][0]["name"], &attempt["ended"]), (&json!("output.log"), &Value::Null));
}

#[test]
fn versions_of_the_tools_asked_for_are_recorded() {
    let repo = opened();
    let view = repo.view("try --tool git --tool no-such-tool -- true");
    let environment = view["run"]["environment"].to_string();
    assert!(environment.contains("git version "), "{environment}");
}

#[test]
fn it_runs_in_a_repository_without_a_commit() {
    let repo = Repo::new();
    repo.open("before anything");
    repo.write("new.txt", "new\n");
    let view = repo.view("try -H why -- echo hi");
    assert_eq!((&view["exit"], &view["run"]["commit"]), (&json!(0), &Value::Null));
    assert_eq!(names(&repo), ["output.log", "new.txt"]);
}

#[test]
fn json_has_stdout_for_itself_and_shows_the_last_40_lines() {
    let repo = opened();
    let ran = repo
        .typed("--json try -- sh -c 'for i in $(seq 1 100); do echo line $i; done; echo the end >&2; exit 3'")
        .expect(3);
    assert_eq!(ran.json()["exit"], 3);
    let shown: Vec<&str> = ran.stderr.lines().filter(|l| l.starts_with("line ")).collect();
    assert_eq!((shown.len(), shown.first()), (39, Some(&"line 62")), "{}", ran.stderr);
    assert!(ran.stderr.contains("the end"));
    assert_eq!(repo.typed("evidence show output.log").expect(0).stdout.lines().count(), 101);
}

#[test]
fn the_runs_stdin_is_the_commands() {
    let repo = opened();
    let ran = repo.run("sh", &["-c", "echo typed | git-incident try -- cat"]).expect(0);
    assert_eq!(ran.stdout, "typed\n");
}
