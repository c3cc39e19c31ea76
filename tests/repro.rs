//! The repro command: when a run shows the bug, how often it does, on which commit, and what follows from the rate.

mod common;

use common::Repo;
use serde_json::{Value, json};

fn opened() -> Repo {
    let repo = Repo::new();
    repo.write(".gitignore", "count\n");
    repo.commit("first");
    repo.open("sums drift");
    repo
}

/// A script that shows the bug when its counter is a multiple of `every`, and says so.
fn flaky(repo: &Repo, every: u32) {
    let script = format!(
        "n=$(($(cat count 2>/dev/null || echo 0) + 1)); echo $n > count; \
         if [ $((n % {every})) -eq 0 ]; then echo drift; exit 1; fi\n"
    );
    repo.write("flaky.sh", &script);
}

/// Sets the repro and runs it once: the exit status of `repro run`.
fn once(repo: &Repo, how: &str, script: &str) -> i32 {
    let mut words = vec!["repro", "set"];
    words.extend(how.split_whitespace());
    words.extend(["--", "sh", "-c", script]);
    repo.incident(&words).expect(0);
    repo.typed("repro run").never_says("panicked").status
}

#[test]
fn an_exit_status_shows_the_bug() {
    let repo = opened();
    assert_eq!(once(&repo, "--fails-when exit", "exit 3"), 1);
    assert_eq!(once(&repo, "--fails-when exit", "true"), 0);
    assert_eq!(once(&repo, "", "kill -SEGV $$"), 1, "a crash is a failure, and exit the default");
    assert_eq!(once(&repo, "--timeout 1s", "sleep 60"), 1, "so is a hang where a limit is set");
    for status in [125, 126, 127] {
        assert_eq!(once(&repo, "", &format!("exit {status}")), 125, "git bisect's word for cannot be tested");
    }
}

#[test]
fn a_time_out_shows_the_bug_and_nothing_else_does() {
    let repo = opened();
    assert_eq!(once(&repo, "--fails-when timeout --timeout 1s", "sleep 60"), 1);
    assert_eq!(once(&repo, "--fails-when timeout --timeout 30s", "exit 3"), 0);
}

#[test]
fn a_text_in_the_output_shows_the_bug() {
    let repo = opened();
    assert_eq!(once(&repo, "--fails-when output --pattern nan", "echo 1 nan 2"), 1);
    assert_eq!(once(&repo, "--fails-when output --pattern nan", "echo nan >&2"), 1);
    assert_eq!(once(&repo, "--fails-when output --pattern nan", "echo 1 2; exit 3"), 0);
}

#[test]
fn a_verdict_line_shows_the_bug_or_its_absence() {
    let repo = opened();
    let how = "--fails-when verdict";
    assert_eq!(once(&repo, how, "echo VERDICT: fail"), 1);
    assert_eq!(
        once(&repo, how, "echo Verdict: fail; echo '  verdict: PASS'; exit 9"),
        0,
        "the last one counts"
    );
    assert_eq!(once(&repo, how, "echo VERDICT: perhaps"), 125);
    assert_eq!(once(&repo, how, "true"), 125, "no verdict is no pass");
}

#[test]
fn what_cannot_run_exits_with_125_and_is_not_counted() {
    let repo = opened();
    repo.typed("repro run").expect(125).says("no repro command is set");
    repo.typed("repro set -- no-such-program-anywhere").expect(0);
    repo.typed("repro run -n 3").expect(125).says("hint: ");
    repo.typed("repro run --at no-such-commit").expect(125).says("names no commit");
    let view = repo.typed("--json repro run").expect(125).json();
    assert_eq!(view["error"]["exit"], 125);
    assert_eq!(repo.view("show")["repro"]["runs"], 0);
}

#[test]
fn a_deterministic_bug_is_reliable_after_two_runs_and_needs_two_passes() {
    let repo = opened();
    repo.typed("repro set -- false").expect(0);
    assert_eq!(repo.view("repro show")["repro"]["reliable"], false, "never run");
    repo.typed("repro run").expect(1);
    assert_eq!(repo.view("repro show")["repro"]["reliable"], false, "once is no rate");
    let ran = repo.typed("repro run -n 19").expect(1);
    ran.says("bug seen in 19 of 19 runs").says("run 19 of 19");
    let repro = repo.view("show")["repro"].clone();
    assert_eq!(
        (&repro["runs"], &repro["failures"]),
        (&json!(20), &json!(20)),
        "series of one state are pooled"
    );
    assert_eq!((&repro["deterministic"], &repro["reliable"]), (&json!(true), &json!(true)));
    // 20 of 20: the lower end is 0.839, so ln 0.05 / ln(1 − 0.839) = 1.6.
    assert_eq!(repro["passes_needed"], 2);
    assert_eq!(repo.view("show")["preconditions"]["repro"], true);
    let text = repo.typed("repro").expect(0);
    text.says("20 of 20 runs (95 % interval 84–100 %), reliable");
}

#[test]
fn a_flaky_bug_needs_as_many_passes_as_its_rate_asks_for() {
    let repo = opened();
    flaky(&repo, 5);
    repo.commit("a flaky one");
    repo.typed("repro set -- sh flaky.sh").expect(0);
    let view = repo.typed("--json repro run -n 10").expect(1).json();
    assert_eq!((&view["runs"], &view["failures"]), (&json!(10), &json!(2)));
    // Wilson for 2 of 10: 0.0567 to 0.5098.
    let (low, high) = (view["interval"]["low"].as_f64(), view["interval"]["high"].as_f64());
    assert!(low.is_some_and(|l| (l - 0.0567).abs() < 1e-3), "{view}");
    assert!(high.is_some_and(|h| (h - 0.5098).abs() < 1e-3), "{view}");
    let repro = &view["repro"];
    assert_eq!((&repro["deterministic"], &repro["reliable"]), (&json!(false), &json!(true)));
    // ceil(ln 0.05 / ln(1 − 0.0567)) = 52.
    assert_eq!(repro["passes_needed"], 52);
    // One in five is not enough to know the rate by: more runs make the fix cheaper to prove.
    repo.typed("repro run -n 90 -q").expect(1);
    let needed = repo.view("show")["repro"]["passes_needed"].as_u64().expect("a number");
    assert!((15..=25).contains(&needed), "{needed} passes for 20 of 100");
}

#[test]
fn a_bug_that_never_showed_proves_no_fix() {
    let repo = opened();
    repo.typed("repro set -- true").expect(0);
    repo.typed("repro run -n 30 -q").expect(0);
    let view = repo.view("show");
    assert_eq!(view["repro"]["passes_needed"], Value::Null);
    assert_eq!(view["repro"]["reliable"], false);
    repo.typed("status").expect(0).says("never showed the bug in 30 runs");
}

#[test]
fn preconditions_are_computed_from_the_record_and_from_nothing_else() {
    let repo = opened();
    repo.write("bug", "here\n");
    repo.commit("the bug");
    repo.typed("repro set -- test ! -e bug").expect(0);
    repo.typed("repro run -n 4").expect(1);
    let state = || repo.view("status")["preconditions"].clone();
    let is = |repro, cause, fix, validation| json!({"repro": repro, "cause": cause, "fix": fix, "validation": validation});
    assert_eq!(state(), is(true, false, false, false));
    repo.git(&["rm", "-q", "bug"]);
    repo.commit("take it out");
    repo.typed("link HEAD --as fix").expect(0);
    assert_eq!(state(), is(true, false, true, false));
    repo.typed("status").expect(0).says("git incident repro run -n 5 --at");
    repo.typed("repro run -n 4").expect(0);
    assert_eq!(state(), is(true, false, true, false), "4 of 4 before ask for 5 passes");
    repo.typed("repro run --at HEAD").expect(0);
    assert_eq!(state(), is(true, false, true, true));
    // A run on the fix that shows the bug takes it back, whatever was passed before.
    repo.write("bug", "again\n");
    repo.typed("repro run").expect(1);
    assert_eq!(state(), is(true, false, true, true), "a dirty tree is not the fix");
    repo.typed("link HEAD --remove").expect(0);
    assert_eq!(state()["fix"], false);
}

#[test]
fn at_a_commit_it_runs_there_and_leaves_everything_here_alone() {
    let repo = opened();
    repo.write("value", "old\n");
    let old = repo.commit("old");
    repo.write("value", "new\n");
    repo.write("sub/only-new", "x\n");
    repo.commit("new");
    repo.write("value", "dirty\n");
    repo.write("loose", "untracked\n");
    repo.write("staged", "staged\n");
    repo.git(&["add", "staged"]);
    let state = || {
        (
            repo.git(&["rev-parse", "--symbolic-full-name", "HEAD"]),
            repo.git(&["rev-parse", "HEAD"]),
            repo.git(&["status", "--porcelain"]),
            repo.git(&["ls-files", "-s"]),
            repo.read("value"),
            repo.git(&["for-each-ref", "refs/heads", "refs/tags"]),
        )
    };
    let before = state();
    let script =
        "pwd; cat value; git status --porcelain; ls; test ! -e loose && grep -q old value && exit 1; exit 0";
    repo.incident(&["repro", "set", "--", "sh", "-c", script]).expect(0);
    let view = repo.typed("--json repro run --at HEAD^").expect(1);
    assert_eq!(view.json()["commit"], old.as_str());
    assert_eq!(state(), before);
    let shown = repo.typed("evidence show repro-bug.log").expect(0);
    let mut lines = shown.stdout.lines();
    let place = lines.next().expect("a directory");
    assert!(!place.starts_with(&repo.path().display().to_string()), "inside the repository: {place}");
    assert!(place.starts_with(&repo.root().join("cache").display().to_string()), "{place}");
    assert_eq!(lines.collect::<Vec<_>>(), ["old", "value"], "the tree was not the commit's");
    // Again, on another commit, in the same place: nothing of the first is left.
    repo.typed("repro run --at HEAD").expect(0);
    assert_eq!(state(), before);
    let names = repo.view("evidence list").to_string();
    assert!(!names.contains("dirty.diff"), "a run on a commit has no dirty state: {names}");
}

#[test]
fn bisect_finds_the_culprit() {
    let repo = opened();
    let mut commits = Vec::new();
    for n in 1..=10 {
        repo.write("n", &format!("{n}\n"));
        commits.push(repo.commit(&format!("commit {n}")));
    }
    // The seventh brings the bug; the fifth cannot be tested.
    let script = "n=$(cat n); test $n -eq 5 && exit 125; test $n -lt 7";
    repo.incident(&["repro", "set", "--", "sh", "-c", script]).expect(0);
    repo.git(&["bisect", "start", "HEAD", &commits[0]]);
    let ran = repo.try_git(&["bisect", "run", "git", "incident", "repro", "run"]).expect(0);
    ran.says(&format!("{} is the first bad commit", commits[6]));
    repo.git(&["bisect", "reset"]);
    let runs = &repo.view("show")["repro"];
    assert!(runs["failures"].as_u64() >= Some(1), "the runs were recorded: {runs}");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), commits[9]);
}

#[test]
fn a_secret_in_the_command_is_refused() {
    let repo = opened();
    let word = ["pass", "word"].concat();
    let command = format!("tool --{word}=kT9{}xQ2vLp7Zr", "wB4m");
    repo.incident(&["repro", "set", "--", "sh", "-c", &command]).refuses(1).says("secret");
}

#[test]
fn runs_within_an_attempt_carry_its_evidence() {
    let repo = opened();
    repo.typed("attempt start -H 'the order of sums'").expect(0);
    repo.typed("repro set -- sh -c 'echo drift; exit 1'").expect(0);
    repo.typed("repro run -n 3 -q").expect(1).never_says("drift\n");
    let evidence = &repo.view("show")["attempts"][0]["evidence"];
    assert_eq!(evidence.as_array().expect("files").len(), 1, "one output of each kind tells the story");
    assert_eq!(evidence[0]["name"], "repro-bug.log");
}

#[test]
fn it_runs_where_it_was_set_here_and_on_other_commits() {
    let repo = opened();
    repo.write("bench/check.sh", "pwd; exit 1\n");
    repo.commit("Add a check");
    let bench = repo.at(repo.path().join("bench"));
    bench.incident(&["repro", "set", "--", "sh", "check.sh"]).expect(0);
    repo.typed("repro run").expect(1);
    bench.incident(&["repro", "run"]).expect(1);
    repo.typed("repro run --at HEAD").expect(1);
    assert_eq!(repo.incident_json(&["show"])["repro"]["failures"], json!(3));
    let first = repo.git(&["rev-list", "--max-parents=0", "HEAD"]);
    repo.incident(&["repro", "run", "--at", &first]).expect(125).says("no directory");
}
