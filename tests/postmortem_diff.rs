//! `postmortem diff`: what a reviewer sees, from our command and from plain git.

mod common;

use common::Repo;
use serde_json::Value;

const PAGE: &str = "docs/postmortems/ROW-17.md";

const OLD: &str = "# Post-mortem: row 17\n\n## Summary\n\nThe last tile was read without its mask. Owner: Alex.\n\n## Root cause\n\nThe gate likely skips the event. See [the change](https://forge.test/c/9).\n\n## Validation\n\nThe workload completes (3 runs). Not retested on other models.\n\n## Action items\n\n- Audit the other fast paths. (Alex, JIRA-13)\n";

fn widened() -> String {
    OLD.replace("(3 runs)", "(30 runs)").replace(" See [the change](https://forge.test/c/9).", "")
}

fn reviewed() -> Repo {
    let repo = Repo::new();
    repo.write(PAGE, OLD);
    repo.commit("Write the post-mortem");
    repo.write(PAGE, &widened());
    repo
}

fn kinds(view: &Value) -> Vec<String> {
    let changes = view["documents"][0]["changes"].as_array().expect("changes");
    changes.iter().map(|c| c["kind"].as_str().expect("a kind").to_owned()).collect()
}

#[test]
fn the_working_tree_the_index_and_commits_are_compared() {
    let repo = reviewed();
    let view = repo.view("postmortem diff");
    assert_eq!((&view["schema"], &view["compared"]), (&1.into(), &"HEAD → working tree".into()));
    assert_eq!(kinds(&view), ["claim-widened", "evidence-removed", "prose"]);
    let first = &view["documents"][0]["changes"][0];
    assert_eq!((&first["section"], &first["new"]["line"]), (&"Validation".into(), &13.into()));
    assert_eq!(view["documents"][0]["status"], "modified");
    assert_eq!(repo.view("postmortem diff --staged")["documents"], serde_json::json!([]));
    repo.git(&["add", "."]);
    assert_eq!(kinds(&repo.view("postmortem diff --staged")).len(), 3);
    repo.commit("Widen it");
    for range in ["HEAD~1..HEAD", "HEAD~1..", "HEAD~1", "HEAD~1...HEAD"] {
        assert_eq!(kinds(&repo.view(&format!("postmortem diff {range}"))).len(), 3, "{range}");
    }
    assert_eq!(repo.view("postmortem diff")["documents"], serde_json::json!([]));
    repo.typed("postmortem diff").expect(0).says("no post-mortem changed");
    repo.typed("postmortem diff HEAD~1.. --exit-code").expect(1);
    repo.typed("postmortem diff --exit-code").expect(0);
}

#[test]
fn paths_choose_documents_from_where_one_stands() {
    let repo = reviewed();
    repo.write("docs/other.md", "# Other\n");
    assert_eq!(repo.view("postmortem diff docs")["documents"].as_array().expect("two").len(), 2);
    let inside = repo.at(repo.path().join("docs/postmortems"));
    inside.typed("postmortem diff ROW-17.md").expect(0).says("30 runs");
    inside.typed("postmortem diff ../other.md").expect(0).says("New: read it whole");
    inside.typed("postmortem diff ../../../elsewhere.md").refuses(2).says("--no-index");
    repo.typed("postmortem diff nothing-here").refuses(2).says("neither a commit nor a file");
    repo.typed("postmortem diff v1..v2").expect(1).says("hint");
}

#[test]
fn new_renamed_and_removed_documents_are_told() {
    let repo = Repo::new();
    repo.write(PAGE, OLD);
    repo.write("docs/postmortems/B.md", &OLD.replace("row 17", "row 18").replace("mask", "fence"));
    repo.commit("Two");
    repo.git(&["mv", PAGE, "docs/postmortems/ROW-0017.md"]);
    repo.git(&["rm", "-q", "docs/postmortems/B.md"]);
    repo.write("docs/postmortems/C.md", "# New\n");
    let view = repo.view("postmortem diff");
    let told: Vec<_> = view["documents"]
        .as_array()
        .expect("documents")
        .iter()
        .map(|d| (d["path"].as_str().expect("a path"), d["status"].as_str().expect("a status")))
        .collect();
    assert_eq!(
        told,
        [
            ("docs/postmortems/B.md", "removed"),
            ("docs/postmortems/C.md", "added"),
            ("docs/postmortems/ROW-0017.md", "renamed")
        ]
    );
    let lost = view["documents"][0]["changes"].as_array().expect("changes");
    assert!(lost.iter().any(|c| c["kind"] == "action-item"), "its open action item is lost: {lost:?}");
    assert_eq!(view["documents"][2]["former"], PAGE);
    assert_eq!(view["documents"][2]["changes"], serde_json::json!([]));
}

#[test]
fn a_document_that_was_renamed_and_edited_is_read_from_the_disk() {
    let repo = reviewed();
    repo.git(&["checkout", "-q", PAGE]);
    repo.git(&["mv", PAGE, "docs/postmortems/B.md"]);
    repo.write("docs/postmortems/B.md", &widened());
    let view = repo.view("postmortem diff");
    assert_eq!(view["documents"][0]["status"], "renamed");
    assert_eq!(kinds(&view), ["claim-widened", "evidence-removed", "prose"]);
}

#[test]
fn each_format_says_the_same() {
    let repo = reviewed();
    let text = repo.typed("postmortem diff").expect(0);
    text.says("Claims widened without new evidence (1)").says("3 runs → 30 runs").says("([30] runs)");
    let markdown = repo.typed("postmortem diff -f markdown").expect(0);
    markdown.says("**Claims widened without new evidence (1)**").says("<ins>");
    let html = repo.typed("postmortem diff -f html -o review.html").expect(0);
    html.says("wrote review.html");
    let page = repo.read("review.html");
    assert!(
        page.starts_with("<!doctype html>")
            && page.contains("<ins>")
            && !page.contains("http-equiv=\"refresh")
    );
    let json: Value =
        serde_json::from_str(&repo.typed("postmortem diff -f json").expect(0).stdout).expect("JSON");
    assert_eq!(json, repo.view("postmortem diff"));
    repo.typed("postmortem diff -f yaml").expect(2);
}

#[test]
fn two_files_need_no_repository() {
    let repo = reviewed();
    repo.write("old.md", OLD);
    repo.write("binary.md", "x");
    std::fs::write(repo.path().join("binary.md"), b"\xff\xfe").expect("written");
    repo.typed("postmortem diff --no-index old.md docs/postmortems/ROW-17.md")
        .expect(0)
        .says("3 runs → 30 runs");
    repo.typed("postmortem diff --no-index old.md old.md --exit-code").expect(0);
    repo.typed("postmortem diff --no-index old.md binary.md").expect(0).says("is not UTF-8");
    repo.typed("postmortem diff --no-index old.md missing.md").expect(1).says("missing.md cannot be read");
}

#[test]
fn no_control_character_reaches_the_terminal() {
    let repo = reviewed();
    repo.write(PAGE, &OLD.replace("Alex.", "Alex\u{1b}[2J\u{202e}."));
    for format in ["text", "markdown", "html"] {
        let shown = repo.typed(&format!("postmortem diff -f {format}")).expect(0).stdout;
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
    }
}

#[test]
fn git_itself_shows_the_review_where_it_is_wanted() {
    let repo = reviewed();
    repo.typed("init --no-hooks --diff-driver review").expect(0).says("diff driver  review");
    let diff = repo.git(&["diff"]);
    assert!(diff.contains("Claims widened without new evidence (1)"), "{diff}");
    repo.git(&["commit", "-qam", "Widen it"]);
    for command in [&["log", "-p", "-1"][..], &["show"]] {
        let shown = repo.git(command);
        // Without --ext-diff git runs no diff command here, but compares sentence by sentence.
        assert!(
            shown.contains("-The workload completes (3 runs).\n+The workload completes (30 runs)."),
            "{shown}"
        );
        let full = repo.git(&[command, &["--ext-diff"]].concat());
        assert!(full.contains("Claims widened without new evidence (1)"), "{full}");
    }
    // Patches stay patches, and a program that is gone ends no diff.
    let patch = repo.git(&["format-patch", "-1", "--stdout"]);
    assert!(patch.contains("+The workload completes (30 runs). Not retested"), "{patch}");
    let without = repo.run("sh", &["-c", "PATH=/usr/bin:/bin git diff --ext-diff HEAD~1"]).expect(0);
    without.says("+The workload completes (30 runs)");
    repo.typed("init --uninstall").expect(0).says("diff driver");
    let shown = repo.git(&["diff", "HEAD~1"]);
    assert!(shown.contains("@@ ") && !shown.contains("Claims widened"), "{shown}");
    assert!(!repo.path().join(".git/info/attributes").exists());
}

#[test]
fn hunks_name_their_section_by_default() {
    let repo = Repo::new();
    let filler = "More words about it.\n\n".repeat(8);
    let text = OLD.replace("## Action items", &format!("{filler}## Action items"));
    repo.write(PAGE, &text);
    repo.commit("Write it");
    repo.typed("init --no-hooks").expect(0).says("diff driver  headings");
    repo.typed("init --no-hooks").expect(0).never_says("diff driver");
    repo.write(PAGE, &text.replacen("More words about it.\n\n## Action", "Fewer words.\n\n## Action", 1));
    let diff = repo.git(&["diff"]);
    assert!(diff.lines().any(|l| l.starts_with("@@") && l.ends_with("## Validation")), "{diff}");
    repo.typed("init --no-hooks --diff-driver none").expect(0);
    assert!(!repo.git(&["diff"]).contains("@@ ## Validation"));
    repo.write(".gitattributes", "*.md diff=mine\n");
    repo.typed("init --no-hooks --diff-driver review").expect(0).says("left alone");
}

#[test]
fn a_bare_repository_compares_commits() {
    let repo = reviewed();
    repo.commit("Widen it");
    repo.git(&["clone", "-q", "--bare", ".", "bare.git"]);
    let bare = repo.at(repo.path().join("bare.git"));
    bare.typed("postmortem diff HEAD~1..HEAD").expect(0).says("3 runs → 30 runs");
    bare.typed("postmortem diff").refuses(1).says("bare repository");
}
