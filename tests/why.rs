//! `why`: what a place in a file tells of incidents, through blame, through history, through diffs that were never
//! merged; and what it refuses.

mod common;

use common::Repo;
use serde_json::Value;

const CODE: &str = "import math\n\n\ndef mask(x):\n    # keeps the tail\n    y = x * 2\n    z = y + 1\n    return z\n\n\n\
                    def soften(x):\n    top = max(x)\n    low = min(x)\n    out = math.exp(low - top)\n    return out\n";

/// A repository with a Python file and an incident.
fn with_code() -> Repo {
    let repo = Repo::new();
    repo.write(".gitattributes", "*.py diff=python\n");
    repo.write("src/soft.py", CODE);
    repo.write("src/other.py", "x = 1\n");
    repo.write("picture.bin", "\0\u{1}\u{2}\n");
    repo.commit("Base");
    repo.open("softmax gives NaN");
    repo
}

/// An attempt that changes the file, commits it, and ends.
fn committed(repo: &Repo, from: &str, to: &str, what: &str, end: &str) -> String {
    repo.incident(&["attempt", "start", "-H", what]).expect(0);
    let text = repo.read("src/soft.py");
    assert!(text.contains(from), "{from} is in\n{text}");
    repo.write("src/soft.py", &text.replace(from, to));
    let commit = repo.commit(what);
    let role = if end == "--worked" { "fix" } else { "failed" };
    repo.incident(&["link", &commit, "--as", role]).expect(0);
    repo.incident(&["attempt", "end", end, "-m", &format!("{what} says so.\nMore of it.")]).expect(0);
    commit
}

/// An attempt whose change was tried in the working tree and thrown away.
fn thrown_away(repo: &Repo, from: &str, to: &str, what: &str) {
    let text = repo.read("src/soft.py");
    repo.write("src/soft.py", &text.replace(from, to));
    repo.incident(&["try", "-H", what, "--failed", "-m", &format!("{what} did not help"), "--", "true"])
        .expect(0);
    repo.git(&["checkout", "-q", "--", "."]);
}

/// Attempt and how, newest first.
fn found(repo: &Repo, place: &str) -> Vec<(u64, String)> {
    let view = repo.incident_json(&["why", place]);
    let matches = view["matches"].as_array().expect("matches");
    matches
        .iter()
        .map(|m| {
            (m["attempt"].as_u64().unwrap_or_default(), m["how"].as_str().unwrap_or_default().to_owned())
        })
        .collect()
}

fn pairs(wanted: &[(u64, &str)]) -> Vec<(u64, String)> {
    wanted.iter().map(|(n, how)| (*n, (*how).to_owned())).collect()
}

#[test]
fn lines_of_today_tell_who_wrote_them_and_in_which_attempt() {
    let repo = with_code();
    let commit = committed(&repo, "y = x * 2", "y = x * 3", "triple it", "--worked");
    committed(&repo, "out = math.exp(low - top)", "out = 0", "give up", "--failed");
    let view = repo.incident_json(&["why", "src/soft.py:6"]);
    let [only] = view["matches"].as_array().expect("matches").as_slice() else { panic!("{view:#}") };
    assert_eq!(
        (&only["attempt"], &only["how"], &only["commit"]),
        (&1.into(), &"blame".into(), &commit.as_str().into())
    );
    assert_eq!(only["outcome"]["bug"], "fixed");
    assert_eq!(only["conclusion"], "triple it says so.");
    assert_eq!(view["lines"], serde_json::json!([6, 6]));
    // The function around a line counts: its header line finds the same, another function does not.
    assert_eq!(view["function"][0].as_u64().map(|n| n <= 4), Some(true), "{view:#}");
    assert_eq!(found(&repo, "src/soft.py:8"), pairs(&[(1, "blame")]));
    assert_eq!(found(&repo, "src/soft.py:12,13"), pairs(&[(2, "blame")]));
    assert_eq!(found(&repo, "src/soft.py:/soften/"), pairs(&[(2, "blame")]));
    assert_eq!(found(&repo, "src/soft.py"), pairs(&[(2, "blame"), (1, "blame")]));
    assert_eq!(found(&repo, "src/soft.py:1"), pairs(&[]));
    let text = repo.incident(&["why", "src/soft.py:12"]).expect(0);
    text.says("One attempt failed here, because give up says so");
    repo.incident(&["why", "src/soft.py:1"]).expect(0).says("no incident has touched these lines");
    repo.incident(&["why", "src/other.py"]).expect(0).says("no incident has touched it");
}

#[test]
fn what_failed_is_told_though_its_lines_are_gone() {
    let repo = with_code();
    committed(&repo, "y = x * 2", "y = x * 3", "triple it", "--failed");
    committed(&repo, "y = x * 3", "y = x * 2", "back again", "--failed");
    thrown_away(&repo, "y = x * 2", "y = x * 5", "five times");
    // Lines above and between move what the stored diff speaks of.
    repo.write("src/soft.py", &format!("# a new head\n# of two lines\n{}", repo.read("src/soft.py")));
    repo.commit("Unrelated");
    assert_eq!(found(&repo, "src/soft.py:8"), pairs(&[(3, "diff"), (2, "blame"), (1, "history")]));
    assert_eq!(found(&repo, "src/soft.py:16"), pairs(&[]));
    let text = repo.incident(&["why", "src/soft.py:8"]).expect(0);
    text.says("Three attempts failed here; the last one because five times did not help");
    // Never committed anywhere, and not yet ended.
    repo.incident(&["attempt", "start", "-H", "six times"]).expect(0);
    repo.write("src/soft.py", &repo.read("src/soft.py").replace("y = x * 2", "y = x * 6"));
    repo.incident(&["try", "--", "true"]).expect(0);
    let view = repo.incident_json(&["why", "src/soft.py:8"]);
    assert_eq!((&view["matches"][0]["attempt"], &view["matches"][0]["outcome"]), (&4.into(), &Value::Null));
}

#[test]
fn commits_that_no_branch_leads_to_and_new_files_count() {
    let repo = with_code();
    repo.git(&["checkout", "-q", "-b", "topic"]);
    let commit = committed(&repo, "low = min(x)", "low = 0", "no minimum", "--failed");
    repo.git(&["checkout", "-q", "main"]);
    assert_eq!(found(&repo, "src/soft.py:13"), pairs(&[(1, "unmerged")]));
    repo.git(&["branch", "-q", "-D", "topic"]);
    assert_eq!(found(&repo, "src/soft.py:13"), pairs(&[(1, "unmerged")]));
    assert_eq!(repo.incident_json(&["why", "src"])["matches"][0]["commit"], commit.as_str());
    repo.write("src/new.py", "print(1)\n");
    repo.incident(&["try", "-H", "a new one", "--failed", "-m", "no", "--", "true"]).expect(0);
    assert_eq!(found(&repo, "src/new.py"), pairs(&[(2, "untracked")]));
    std::fs::remove_file(repo.path().join("src/new.py")).expect("removed");
    assert_eq!(found(&repo, "src/new.py"), pairs(&[(2, "untracked")]));
    repo.incident(&["edit", "--file", "src/other.py"]).expect(0);
    assert_eq!(found(&repo, "src/other.py"), pairs(&[(0, "named")]));
}

#[test]
fn folders_renames_and_files_that_are_gone() {
    let repo = with_code();
    committed(&repo, "y = x * 2", "y = x * 3", "triple it", "--worked");
    thrown_away(&repo, "low = min(x)", "low = 1", "one");
    for place in ["src", ".", "./src/"] {
        assert_eq!(found(&repo, place), pairs(&[(2, "diff"), (1, "history")]), "{place}");
    }
    repo.git(&["mv", "src/soft.py", "src/softmax.py"]);
    repo.commit("Rename");
    let view = repo.incident_json(&["why", "src/softmax.py"]);
    assert_eq!(view["former"], serde_json::json!(["src/soft.py"]));
    assert_eq!(found(&repo, "src/softmax.py:6"), pairs(&[(1, "blame")]));
    assert_eq!(found(&repo, "src/softmax.py:13"), pairs(&[(2, "diff")]));
    let gone = repo.incident_json(&["why", "src/soft.py"]);
    assert_eq!(gone["gone"], true);
    assert_eq!(found(&repo, "src/soft.py"), pairs(&[(2, "diff"), (1, "history")]));
    let below = repo.at(repo.path().join("src"));
    assert_eq!(below.incident_json(&["why", "softmax.py:6"])["path"], "src/softmax.py");
    assert_eq!(below.incident_json(&["why", "../src/softmax.py:6"])["path"], "src/softmax.py");
    // A name with a colon and digits is a name first.
    repo.write("odd:12", "x\n");
    repo.commit("odd");
    assert_eq!(repo.incident_json(&["why", "odd:12"])["lines"], Value::Null);
    // In a bare clone HEAD is what counts.
    let bare = repo.at(repo.root().join("bare.git"));
    repo.git(&["clone", "-q", "--mirror", ".", &bare.path().display().to_string()]);
    let view = bare.incident_json(&["why", "src/softmax.py:6"]);
    assert_eq!((&view["matches"][0]["how"], &view["function"]), (&"blame".into(), &Value::Null), "{view:#}");
}

#[test]
fn a_reverted_fix_is_a_failed_attempt_here_too() {
    let repo = with_code();
    repo.incident(&["init"]).expect(0);
    committed(&repo, "y = x * 2", "y = x * 3", "triple it", "--worked");
    repo.git(&["revert", "--no-edit", "HEAD"]);
    let view = repo.incident_json(&["why", "src/soft.py:6"]);
    assert_eq!(view["failed"], 1, "{view:#}");
    repo.incident(&["why", "src/soft.py:6"]).expect(0).says("reverted by");
}

#[test]
fn places_that_are_none_are_refused() {
    let repo = with_code();
    repo.incident(&["why", "nowhere.py"]).refuses(1).says("there is no file");
    repo.incident(&["why", "src/soft.py:900"]).refuses(1).says("has 15 lines");
    repo.incident(&["why", "src/soft.py:0"]).refuses(2);
    repo.incident(&["why", "src/soft.py:x"]).refuses(2);
    repo.incident(&["why", "src:3"]).refuses(2).says("is a folder");
    repo.incident(&["why", "picture.bin:1"]).refuses(1).says("is no text");
    repo.incident(&["why", "../elsewhere"]).refuses(2).says("outside");
    repo.incident(&["why", "src/soft.py:/nothing_of_that_name/"]).refuses(1);
    repo.incident(&["why", "picture.bin"]).expect(0);
    repo.incident(&["why", "src/soft.py:10,9000"]).expect(0);
    repo.write("fresh.py", "x = 1\n");
    repo.incident(&["why", "fresh.py:1"]).expect(0);
    let empty = Repo::new();
    empty.write("a.py", "x\n");
    empty.incident(&["why", "a.py:1"]).expect(0);
    empty.incident(&["why", "b.py"]).refuses(1);
}

#[test]
fn a_hint_names_the_file_from_where_one_is() {
    let repo = with_code();
    let ran = common::finish(
        repo.command("git-incident")
            .args(["why", "soft.py:999"])
            .current_dir(repo.path().join("src"))
            .output(),
    );
    let ran = ran.expect(1);
    assert!(ran.stderr.contains("git incident why soft.py\n"), "{}", ran.stderr);
    repo.write("-odd name.py", "x = 1\n");
    repo.commit("Odd");
    let ran = repo.incident(&["why", "--", "-odd name.py:9"]);
    let ran = ran.expect(1);
    assert!(ran.stderr.contains("git incident why -- '-odd name.py'"), "{}", ran.stderr);
}
