//! `postmortem check` as people and machines call it: against a repository, a ledger, or nothing at all.

mod common;

use common::Repo;
use serde_json::Value;

const GOOD: &str = "# Post-mortem: the value\n\n## Summary\n\nThe value was bad; fixed by writing a good one. VAL-1, owner Sam.\n\n## Root cause\n\n`value` held a word that `check.sh` refuses.\n\n## Fix\n\nCommit FIX writes a good one into `value`.\n\n## Validation\n\n`sh check.sh` passed 5 of 5 runs. Not run on any other machine.\n\n## Action items\n\nNone: nothing else writes the file.\n";

fn found(view: &Value, rule: &str) -> Vec<Value> {
    let all = view["diagnostics"].as_array().expect("a list");
    all.iter().filter(|d| d["rule"] == rule).cloned().collect()
}

fn check(repo: &Repo, arguments: &[&str]) -> Value {
    let whole: Vec<&str> = ["postmortem", "check", "--json"].iter().chain(arguments).copied().collect();
    repo.incident(&whole).json()
}

/// A repository with a fix on HEAD, its record, and one attempt that failed.
fn recorded() -> (Repo, String) {
    let repo = Repo::new();
    repo.write("value", "bad\n");
    repo.write("check.sh", "! grep -q bad value\n");
    repo.commit("Start");
    repo.incident(&["open", "the value is bad", "--ticket", "VAL-1", "-s", "check.sh exits with 1"])
        .expect(0);
    repo.incident(&["repro", "set", "--", "sh", "check.sh"]).expect(0);
    repo.incident(&["repro", "run", "-n", "5", "-q"]).expect(1);
    repo.incident(&["attempt", "start", "-H", "the grep pattern is anchored wrongly"]).expect(0);
    repo.incident(&["attempt", "end", "--failed", "-m", "the pattern has no anchor"]).expect(0);
    repo.incident(&["attempt", "start", "-H", "the value should be good"]).expect(0);
    repo.write("value", "good\n");
    let fix = repo.commit("Make the value good (#12)");
    repo.incident(&["link", "HEAD", "--as", "fix"]).expect(0);
    repo.incident(&["attempt", "end", "--worked", "-m", "it was the value"]).expect(0);
    repo.incident(&["repro", "run", "-n", "5", "--at", "HEAD", "-q"]).expect(0);
    (repo, fix)
}

#[test]
fn a_repository_without_a_ledger_is_enough() {
    let repo = Repo::new();
    repo.write("check.sh", "true\n");
    let fix = repo.commit("Start");
    repo.incident(&["postmortem", "check"]).expect(0).says("no post-mortem to check");
    let good = GOOD.replace("FIX", &fix[..10]);
    repo.write("docs/postmortems/VAL-1.md", &good);
    repo.write("docs/postmortems/README.md", "TODO\n");
    repo.write("docs/postmortems/2026/template.md", "TODO\n");
    repo.incident(&["postmortem", "check"]).expect(0).says("checked 1 document: no findings");
    repo.write("docs/postmortems/deep/er.md", &good.replace("Not run on any", "TODO run on any"));
    let ran = repo.incident(&["postmortem", "check"]).expect(1);
    assert!(
        ran.stdout.contains("error[placeholder]") && ran.stdout.contains("docs/postmortems/deep/er.md:17:"),
        "{}",
        ran.stdout
    );
    let view = check(&repo, &[]);
    assert_eq!((&view["schema"], &view["errors"]), (&1.into(), &1.into()));
    let one = &view["diagnostics"][0];
    for member in ["path", "line", "column", "rule", "severity", "message", "help"] {
        assert!(!one[member].is_null(), "{member} is missing in {one}");
    }
    // From a directory below, paths are still those of the top.
    let below = repo.at(repo.path().join("docs/postmortems"));
    assert_eq!(below.incident_json(&["postmortem", "check", "VAL-1.md"])["errors"], 0);
    repo.git(&["checkout", "-q", "--detach"]);
    repo.incident(&["postmortem", "check", "docs/postmortems/VAL-1.md"]).expect(0);
}

#[test]
fn commits_paths_and_pull_requests_are_looked_up() {
    let repo = Repo::new();
    repo.write("src/loader.c", "int load_all(void);\n");
    repo.write("src/gone.c", "int gone;\n");
    let first = repo.commit("Start (#3)");
    repo.git(&["rm", "-q", "src/gone.c"]);
    repo.commit("Remove what nobody calls (#4)");
    let text = |fix: &str| {
        GOOD.replace("Commit FIX writes a good one into `value`.", fix).replace("passed 5 of 5", "passed 5")
    };
    let at = "docs/postmortems/a.md";
    repo.write(at, &text(&format!("Commit {} changes `src/loader.c:1` and `src/gone.c`, merged in PR #4. Pod `hub-7d9f8b6c5d` and `deadbeef00` had it; see `src/loader.c::load_all`.", &first[..9])));
    let view = check(&repo, &[]);
    assert_eq!(view["diagnostics"], serde_json::json!([]), "{view}");
    repo.write(at, &text("Commit 0badc0ffee11 changes `src/laoder.c`, merged in PR #99; see `src/loader.c::laod_all`, function `laod_one`."));
    let view = check(&repo, &[]);
    for (rule, severity) in [
        ("unknown-commit", "error"),
        ("unknown-path", "error"),
        ("unknown-reference", "error"),
        ("unknown-identifier", "error"),
    ] {
        let one = found(&view, rule);
        assert!(one.iter().any(|d| d["severity"] == severity && d["line"] == 13), "{rule}: {view}");
    }
    // A shallow clone cannot tell.
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "Write it down"]);
    let url = format!("file://{}", repo.path().display());
    repo.at(repo.root()).git(&["clone", "-q", "--depth=1", &url, "shallow"]);
    let shallow = repo.at(repo.root().join("shallow"));
    let view = shallow.incident_json(&["postmortem", "check"]);
    assert_eq!(view["errors"], 0, "{view}");
    let one = &found(&view, "unknown-commit")[0];
    assert_eq!(one["severity"], "note");
    assert!(one["message"].as_str().expect("text").contains("cannot tell"));
}

#[test]
fn the_record_is_held_against_the_document() {
    let (repo, fix) = recorded();
    let good = GOOD.replace("FIX", &fix[..12]);
    let at = "docs/postmortems/VAL-1.md";
    let tried = "\n## How it was found\n\nThat the grep pattern was anchored wrongly was tried first; it has no anchor.\n";
    let honest = good.replace("\n## Validation", &format!("{tried}\n## Validation"));
    repo.write(at, &honest);
    let view = check(&repo, &[]);
    assert_eq!(view["diagnostics"], serde_json::json!([]), "{view}");
    // By ticket in the file's name, the failed attempt is missed.
    repo.write(at, &good);
    let one = &found(&check(&repo, &[]), "hidden-attempt")[0];
    assert_eq!(one["severity"], "error");
    assert!(one["message"].as_str().expect("text").contains("attempt 1"), "{one}");
    for (claim, says) in [
        ("passed 100 runs", "5 runs"),
        ("passed 5 of 5 runs on 8 GPUs", "no record names a GPU"),
        ("passed 5 runs on an H100", "H100"),
        ("passed 5 of 5 runs in all configurations", "all configurations"),
        ("passed; the soak ran for 6 hours", "all recorded runs took"),
    ] {
        repo.write(at, &honest.replace("passed 5 of 5 runs", claim));
        let view = check(&repo, &[]);
        let one = found(&view, "wider-claim");
        assert_eq!(one.len(), 1, "{claim}: {view}");
        assert_eq!(one[0]["severity"], "error", "{claim}");
        assert!(one[0]["message"].as_str().expect("text").contains(says), "{claim}: {}", one[0]);
    }
    repo.write(
        at,
        &honest.replace(
            "Not run on any other machine",
            "Not run on 8 GPUs, on an H100 or in all configurations",
        ),
    );
    assert_eq!(check(&repo, &[])["errors"], 0);
    // Without a ledger a universal claim is a warning, and numbers are the writer's.
    let other = Repo::new();
    other.commit("Start");
    other.write(
        "a.md",
        &honest
            .replace(&fix[..12], "it")
            .replace("passed 5 of 5 runs", "passed 100 runs on 8 H100 GPUs in all configurations"),
    );
    let view = check(&other, &["a.md"]);
    assert_eq!((&view["errors"], found(&view, "wider-claim").len()), (&0.into(), 1), "{view}");
}

#[test]
fn instrumentation_left_in_the_code_is_named_with_its_line() {
    let repo = Repo::new();
    let tag = ["[DB", "G-7af3]"].concat();
    repo.write("src/launch.c", &format!("int a;\nprintf(\"{tag} here\");\n"));
    let fix = repo.commit("Start");
    let how = format!("## How it was found\n\nWith {tag} prints.\n\n## Validation");
    let text = GOOD.replace("FIX", &fix[..10]).replace("## Validation", &how);
    repo.write("docs/postmortems/a.md", &text);
    let one = &found(&check(&repo, &[]), "leftover-instrumentation")[0];
    assert_eq!(one["severity"], "error");
    assert!(one["message"].as_str().expect("text").contains("src/launch.c:2"), "{one}");
    // One that nobody speaks of is a warning where it stands.
    repo.write("docs/postmortems/a.md", &GOOD.replace("FIX", &fix[..10]));
    let view = check(&repo, &[]);
    let one = &found(&view, "leftover-instrumentation")[0];
    assert_eq!(
        (&one["severity"], &one["path"], &one["line"]),
        (&"warning".into(), &"src/launch.c".into(), &2.into())
    );
    repo.incident(&["postmortem", "check"]).expect(0);
    repo.incident(&["postmortem", "check", "--strict"]).expect(1);
    repo.incident(&["postmortem", "check", "--deny", "warnings"]).expect(1);
    // A bare repository is read at HEAD.
    repo.write("docs/postmortems/a.md", &text);
    repo.commit("Write it down");
    repo.at(repo.root()).git(&["clone", "-q", "--bare", "work", "bare"]);
    let bare = repo.at(repo.root().join("bare"));
    let view = bare.incident(&["postmortem", "check", "--json"]).expect(1).json();
    assert_eq!(view["diagnostics"][0]["path"], "docs/postmortems/a.md", "{view}");
    assert!(
        found(&view, "leftover-instrumentation")[0]["message"]
            .as_str()
            .expect("text")
            .contains("src/launch.c:2")
    );
    repo.write("src/launch.c", "int a;\n");
    assert!(found(&check(&repo, &[]), "leftover-instrumentation").is_empty());
}

#[test]
fn outside_of_a_repository_named_documents_are_read() {
    let repo = Repo::new();
    let outside = repo.root().join("home");
    std::fs::write(outside.join("a.md"), GOOD.replace("FIX", "0badc0ffee11")).expect("written");
    let there = repo.at(&outside);
    let ran = there.incident(&["postmortem", "check", "a.md"]).expect(0);
    assert!(ran.stdout.contains("no findings"), "{}", ran.stdout);
    there.incident(&["postmortem", "check"]).refuses(1);
}

#[test]
fn weights_and_allowances_are_the_teams() {
    let repo = Repo::new();
    repo.commit("Start");
    let text = GOOD.replace("Commit FIX writes", "It probably writes");
    repo.write("docs/postmortems/a.md", &text);
    assert_eq!(found(&check(&repo, &[]), "hedging")[0]["severity"], "warning");
    repo.write(".git-incident.toml", "[postmortem.rules]\nhedging = \"error\"\n");
    repo.incident(&["postmortem", "check"]).expect(1);
    repo.write(
        "docs/postmortems/a.md",
        &text.replace("It probably", "<!-- git-incident: allow(hedging) the vendor's words -->\nIt probably"),
    );
    repo.incident(&["postmortem", "check"]).expect(0);
    repo.write(".git-incident.toml", "[postmortem.rules]\nhedgign = \"error\"\n");
    repo.incident(&["postmortem", "check"]).refuses(2).says("hedgign").says("did you mean \"hedging\"?");
    repo.write(".git-incident.toml", "[postmortem.rules]\nhedging = \"loud\"\n");
    repo.incident(&["postmortem", "check"]).expect(2).says("must be one of off, note, warning, error");
    repo.incident(&["postmortem", "check", "--explain", "blame"]).expect(0).says("Describe the gap");
    repo.incident(&["postmortem", "check", "--explain", "blme"]).refuses(2).says("blame");
}

#[test]
fn repairs_are_written_once_and_never_through_a_link() {
    let repo = Repo::new();
    let fix = repo.commit("Start");
    let good = GOOD
        .replace("FIX", &fix[..10])
        .replace("None: nothing else writes the file.", "- Watch the file in nightly. (Sam, VAL-2)\n- ");
    let (head, rest) = good.split_once("## Root cause").expect("there");
    let (cause, rest) = rest.split_once("## Fix").expect("there");
    let turned = format!("{head}## Fix{}## Root cause{cause}", rest.trim_end().to_owned() + "\n\n");
    repo.write("a.md", &turned);
    repo.incident(&["postmortem", "check", "a.md"]).expect(1).says("--fix");
    let before = repo.read("a.md");
    assert_eq!(before, turned, "checking writes nothing");
    let view = check(&repo, &["--fix", "a.md"]);
    assert_eq!((&view["fixed"], &view["errors"]), (&serde_json::json!(["a.md"]), &0.into()), "{view}");
    let fixed = repo.read("a.md");
    assert!(fixed.find("## Root cause") < fixed.find("## Fix") && !fixed.contains("\n- \n"), "{fixed}");
    assert_eq!(check(&repo, &["--fix", "a.md"])["fixed"], serde_json::json!([]));
    assert_eq!(repo.read("a.md"), fixed);
    repo.write("real.md", &turned);
    std::os::unix::fs::symlink("real.md", repo.path().join("link.md")).expect("a link");
    repo.incident(&["postmortem", "check", "--fix", "link.md"]).expect(1).says("symbolic link");
    assert_eq!(repo.read("real.md"), turned);
    let unfinished = format!("{turned}\n<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n");
    repo.write("merge.md", &unfinished);
    repo.incident(&["postmortem", "check", "--fix", "merge.md"]).expect(1).says("merge was never finished");
    assert_eq!(repo.read("merge.md"), unfinished);
}

#[test]
fn what_is_no_document_is_said() {
    let repo = Repo::new();
    repo.commit("Start");
    repo.incident(&["postmortem", "check", "nowhere.md"]).refuses(1).says("nowhere.md");
    std::fs::create_dir(repo.path().join("empty")).expect("a folder");
    repo.incident(&["postmortem", "check", "empty"]).refuses(1).says("without Markdown");
    std::fs::write(repo.path().join("latin.md"), b"# T\n\nna\xefve\n").expect("written");
    let view = check(&repo, &["latin.md"]);
    let one = &view["diagnostics"][0];
    assert_eq!((&one["rule"], &one["line"], &one["column"]), (&"unreadable".into(), &3.into(), &3.into()));
    repo.incident(&["postmortem", "check", "latin.md"]).expect(1).says("UTF-8");
    std::fs::write(repo.path().join("huge.md"), vec![b'a'; (8 << 20) + 1]).expect("written");
    repo.incident(&["postmortem", "check", "huge.md"]).expect(1).says("larger than 8 MiB");
    repo.run("mkfifo", &["pipe.md"]).expect(0);
    repo.incident(&["postmortem", "check", "pipe.md"]).expect(1).says("no regular file");
    repo.write("blank.md", "");
    repo.incident(&["postmortem", "check", "blank.md"]).says("the document is empty");
}

#[test]
fn machines_get_their_formats_and_terminals_no_control_characters() {
    let repo = Repo::new();
    repo.commit("Start");
    repo.write("docs/postmortems/a.md", &GOOD.replace("Commit FIX writes", "TODO \u{1b}]0;x\u{7} writes"));
    let human = repo.incident(&["postmortem", "check"]).expect(1);
    assert!(!human.stdout.contains('\u{1b}') && !human.stdout.contains('\u{7}'), "{:?}", human.stdout);
    let lines = repo.incident(&["postmortem", "check", "--format", "github"]).expect(1).stdout;
    assert!(
        lines.starts_with("::error file=docs/postmortems/a.md,line=13,col=1,endColumn=5,title=placeholder::"),
        "{lines}"
    );
    let sarif = repo.incident(&["postmortem", "check", "--format", "sarif"]).expect(1).json();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "placeholder");
    assert!(sarif["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules").len() > 20);
    let view = repo.incident(&["postmortem", "check", "--format", "json"]).expect(1).json();
    assert_eq!(view, check(&repo, &[]));
}
