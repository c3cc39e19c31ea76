//! `postmortem draft` and `postmortem note`: refused until the record holds it, from what was recorded alone, and never
//! over what people wrote.

mod common;

use common::Repo;
use common::proven::proven;
use serde_json::json;

const PLACE: &str = "docs/postmortems/VAL-1.md";

#[test]
fn a_draft_is_refused_with_the_list_of_what_is_missing() {
    let repo = Repo::new();
    repo.commit("Start");
    repo.incident(&["open", "it hangs"]).expect(0);
    let refused = repo.incident(&["postmortem", "draft"]).expect(1);
    for missing in ["repro", "cause", "fix"] {
        assert!(refused.stderr.contains(missing), "{missing} is not named in {}", refused.stderr);
    }
    assert!(!repo.path().join("docs").exists(), "nothing was written");
}

#[test]
fn each_precondition_alone_keeps_it_back() {
    let repo = proven();
    repo.incident(&["postmortem", "draft", "--print"]).expect(0);
    // A fix that was amended is not the commit that was validated.
    repo.incident(&["link", "HEAD", "--remove"]).expect(0);
    repo.incident(&["postmortem", "draft", "--print"]).expect(1).says("fix");
    repo.write("value", "good enough\n");
    repo.commit("Another fix");
    repo.incident(&["link", "HEAD", "--as", "fix"]).expect(0);
    repo.incident(&["postmortem", "draft", "--print"]).expect(1).says("repro run");
    repo.incident(&["repro", "run", "-n", "5", "--at", "HEAD", "-q"]).expect(0);
    repo.incident(&["postmortem", "draft", "--print"]).expect(0);
}

/// The text of a block, heading included, up to the next one.
#[track_caller]
fn block<'t>(text: &'t str, title: &str) -> &'t str {
    let start = text.find(&format!("## {title}")).unwrap_or_else(|| panic!("no {title} in\n{text}"));
    let rest = &text[start..];
    rest[3..].find("\n## ").map_or(rest, |end| &rest[..end + 4])
}

#[test]
fn a_draft_goes_to_its_ticket_and_drafting_again_changes_no_byte() {
    let repo = proven();
    let view = repo.incident_json(&["postmortem", "draft"]);
    assert_eq!((view["path"].as_str(), view["created"].as_bool()), (Some(PLACE), Some(true)));
    let first = repo.read(PLACE);
    assert!(first.contains("VAL-1") && first.contains("> **Gap:**"));
    assert_eq!(view["text"], first);
    assert_eq!(view["gaps"], first.matches("> **Gap:**").count());
    let ledger = repo.git(&["rev-parse", common::LEDGER]);
    for _ in 0..2 {
        let again = repo.incident_json(&["postmortem", "draft"]);
        assert_eq!((&again["changed"], &again["kept"]), (&json!(false), &json!([])));
        assert_eq!(repo.read(PLACE), first);
    }
    assert_eq!(repo.git(&["rev-parse", common::LEDGER]), ledger, "nothing new, nothing recorded");
    repo.incident(&["postmortem", "draft"]).expect(0).says("nothing to change in");
    assert_eq!(
        repo.git(&["status", "--porcelain", "-uall"]),
        format!("?? {PLACE}"),
        "nothing is left beside it"
    );
}

#[test]
fn new_events_reach_the_blocks_that_nobody_edited() {
    let repo = proven();
    repo.incident(&["postmortem", "draft"]).expect(0);
    let first = repo.read(PLACE);
    let edited = first
        .replace("## Root cause\n", "## Root cause\n\nIt was me, says Ada.\n")
        .replace("## Symptom\n", "## What I saw\n")
        + "\n## Appendix\n\nmine   \n\n\n";
    repo.write(PLACE, &edited);
    repo.typed("postmortem note slipped --reason ci-gap 'no job looked at the value'").expect(0);
    repo.typed("cause reject -m 'it was nobody'").expect(0);
    repo.typed("cause propose 'a typo'").expect(0);
    repo.typed("cause confirm --accounts 1=typos").expect(0);
    let view = repo.incident_json(&["postmortem", "draft"]);
    let now = repo.read(PLACE);
    assert_eq!(block(&now, "Root cause"), block(&edited, "Root cause"));
    assert_eq!(block(&now, "What I saw"), block(&edited, "What I saw"));
    assert_eq!(block(&now, "Appendix"), "## Appendix\n\nmine   \n\n\n");
    assert!(
        block(&now, "Why it slipped through").contains("**CI gap.** no job looked at the value. (event `")
    );
    assert!(view["updated"].as_array().unwrap().contains(&json!("Why it slipped through")), "{view}");
    let kept: Vec<(&str, bool)> = view["kept"]
        .as_array()
        .unwrap()
        .iter()
        .map(|k| (k["block"].as_str().unwrap(), k["news"].as_bool().unwrap()))
        .collect();
    assert_eq!(kept, [("Symptom", false), ("Root cause", true)]);
    let diff = view["kept"][1]["diff"].as_str().unwrap();
    assert!(diff.contains("\n-It was me, says Ada.\n") && diff.contains("\n+a typo\n"), "{diff}");
    // Told to people as well, each time until the block says it.
    repo.incident(&["postmortem", "draft"])
        .expect(0)
        .says("Root cause was edited, and is kept")
        .says("+a typo");
    assert_eq!(repo.read(PLACE), now);
    // A fresh draft has what the others have.
    let fresh = repo.incident_json(&["postmortem", "draft", "--print"]);
    for title in ["Summary", "Fix", "How it was found", "Why it slipped through", "Validation"] {
        assert_eq!(block(&now, title), block(fresh["text"].as_str().unwrap(), title));
    }
    repo.incident(&["postmortem", "draft", "--force"]).expect(0);
    assert_eq!(repo.read(PLACE), fresh["text"].as_str().unwrap());
}

#[test]
fn windows_line_ends_a_mark_and_a_missing_newline_stay() {
    let repo = proven();
    repo.incident(&["postmortem", "draft"]).expect(0);
    let windows = format!("\u{feff}{}", repo.read(PLACE).trim_end().replace('\n', "\r\n"));
    repo.write(PLACE, &windows);
    assert_eq!(repo.incident_json(&["postmortem", "draft"])["changed"], false);
    repo.typed("postmortem note action 'look at the others' --owner Ada --link '#7'").expect(0);
    let view = repo.incident_json(&["postmortem", "draft"]);
    assert_eq!(view["updated"], json!(["Action items"]));
    let now = repo.read(PLACE);
    assert!(now.starts_with('\u{feff}') && now.matches('\n').count() == now.matches("\r\n").count());
    assert!(now.contains("- look at the others. Owner: Ada. Tracked in: #7. (event `"), "{now}");
    assert_eq!(
        windows.split("## Action items").next(),
        now.split("## Action items").next(),
        "every byte before it stays"
    );
}

#[test]
fn a_document_that_was_moved_is_known_and_one_of_somebody_else_is_refused() {
    let repo = proven();
    repo.incident(&["postmortem", "draft"]).expect(0);
    let first = repo.read(PLACE).replace("## Fix\n", "## Fix\n\nby hand\n");
    repo.write("notes/value.md", &first);
    std::fs::remove_file(repo.path().join(PLACE)).unwrap();
    repo.typed("postmortem note owner 'the value team'").expect(0);
    let view = repo.incident_json(&["postmortem", "draft", "-o", "notes/value.md"]);
    assert_eq!(view["updated"], json!(["Summary"]));
    let now = repo.read("notes/value.md");
    assert!(block(&now, "Fix").contains("by hand") && now.contains("**Owner:** the value team (event `"));

    // Where no draft of this incident ever stood, what looks like a post-mortem is somebody's own.
    repo.write("own.md", "# By hand\n\n## Summary\n\nAll of it.\n");
    let refused = repo.incident(&["postmortem", "draft", "-o", "own.md"]).refuses(1);
    refused.says("somebody has written it").says("--force");
    assert_eq!(repo.read("own.md"), "# By hand\n\n## Summary\n\nAll of it.\n");
    let other = first.replace("incident=", "incident=0123");
    repo.write(PLACE, &other);
    repo.incident(&["postmortem", "draft"]).refuses(1).says("another incident");
    assert_eq!(repo.read(PLACE), other);
    std::fs::write(repo.path().join(PLACE), b"# caf\xe9\n").unwrap();
    repo.incident(&["postmortem", "draft"]).refuses(1).says("no UTF-8");
    std::fs::remove_file(repo.path().join(PLACE)).unwrap();
    std::fs::create_dir(repo.path().join(PLACE)).unwrap();
    repo.incident(&["postmortem", "draft"]).refuses(1).says("no regular file");
}

#[test]
fn a_document_renamed_in_its_folder_is_found_and_an_emptied_one_is_refused() {
    let repo = proven();
    repo.incident(&["postmortem", "draft"]).expect(0);
    let renamed = "docs/postmortems/renamed.md";
    repo.write(renamed, &repo.read(PLACE));
    std::fs::remove_file(repo.path().join(PLACE)).unwrap();
    repo.typed("postmortem note owner 'the value team'").expect(0);
    let view = repo.incident_json(&["postmortem", "draft"]);
    assert_eq!((&view["path"], &view["created"]), (&json!(renamed), &json!(false)));
    assert!(repo.read(renamed).contains("the value team") && !repo.path().join(PLACE).exists());
    for text in ["", "# By hand\n\nAll of it.\n"] {
        repo.write(PLACE, text);
        repo.incident(&["postmortem", "draft"]).refuses(1).says("somebody has written it");
        assert_eq!(repo.read(PLACE), text);
    }
    let printed = repo.incident_json(&["postmortem", "draft", "-o", "-"]);
    assert!(printed["text"].as_str().unwrap().contains("## Summary") && !repo.path().join("-").exists());
    repo.incident(&["postmortem", "render", PLACE, "--lang", "en\" x"]).refuses(2).says("no language tag");
}

#[test]
fn a_draft_is_written_into_the_working_tree_alone() {
    let repo = proven();
    let outside = repo.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(repo.path().join("docs")).unwrap();
    std::os::unix::fs::symlink(&outside, repo.path().join("docs/postmortems")).unwrap();
    repo.incident(&["postmortem", "draft"]).refuses(1).says("symbolic link");
    for place in ["../x.md", "/tmp/never-written.md", ".git/x.md", "."] {
        repo.incident(&["postmortem", "draft", "-o", place]).refuses(2).says("no place in the working tree");
    }
    std::fs::write(outside.join("a.md"), "mine\n").unwrap();
    std::os::unix::fs::symlink(outside.join("a.md"), repo.path().join("a.md")).unwrap();
    repo.incident(&["postmortem", "draft", "--force", "-o", "a.md"]).refuses(1).says("symbolic link");
    assert_eq!(std::fs::read_to_string(outside.join("a.md")).unwrap(), "mine\n");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn two_clones_that_drafted_know_each_others_blocks() {
    let repo = proven();
    repo.with_remote();
    repo.incident(&["postmortem", "draft"]).expect(0);
    repo.commit("Add the post-mortem");
    repo.git(&["push", "-q", "origin", "main"]);
    repo.push_notes();
    let clone = repo.root().join("clone");
    let origin = repo.root().join("origin.git");
    repo.git(&["clone", "-q", &origin.display().to_string(), &clone.display().to_string()]);
    let beside = repo.at(&clone);
    beside.fetch_notes();
    beside.merge_notes();
    beside.typed("use VAL-1").expect(0);
    beside.typed("postmortem note lesson 'read the value'").expect(0);
    beside.typed("postmortem note slipped --reason review-miss 'nobody asked'").expect(0);
    let view = beside.view("postmortem draft --profile incident");
    assert_eq!(view["updated"], json!(["Title", "Why it slipped through"]));
    assert_eq!(view["added"], json!(["Impact", "Detection", "Timeline", "Lessons", "Open questions"]));
    assert_eq!(view["kept"], json!([]));
    // The document keeps the profile it has.
    let again = beside.view("postmortem draft");
    assert_eq!((&again["profile"], &again["changed"]), (&json!("incident"), &json!(false)));
    let back = beside.view("postmortem draft --profile bugfix");
    assert_eq!(back["removed"], json!(["Impact", "Detection", "Timeline", "Lessons", "Open questions"]));
}

#[test]
fn what_people_say_is_drafted_listed_and_taken_back() {
    let repo = proven();
    repo.write(".git-incident.toml", "[postmortem]\nprofile = \"incident\"\n");
    for line in [
        "postmortem note impact '3 of 9 users saw bad'",
        "postmortem note detection 'a user wrote'",
        "postmortem note timeline --at '2020-05-04 11:00 +02:00' 'the first user sees it'",
        "attempt note --important 'the value is read twice'",
        "attempt note 'beside the point'",
        "postmortem note slipped --reason latent-code 'nothing read it before'",
        "postmortem note lesson -m 'values are read'",
        "postmortem note question --none 'all values were read'",
        "postmortem note action --none 'there is one value'",
        "postmortem note owner 'the value team'",
    ] {
        repo.typed(line).expect(0);
    }
    let wrong = repo.view("postmortem note impact 'wrong one'");
    let listed = repo.view("postmortem note");
    assert_eq!(listed["notes"].as_array().unwrap().len(), 9);
    repo.incident(&[
        "postmortem",
        "note",
        "--withdraw",
        &wrong["note"].as_str().unwrap()[..8],
        "-m",
        "not ours",
    ])
    .expect(0);
    assert_eq!(repo.view("postmortem note")["notes"].as_array().unwrap().len(), 8);
    assert_eq!(repo.view("show")["review"].as_array().unwrap().len(), 9, "and stays in the ledger");
    let text = repo.view("postmortem draft")["text"].as_str().unwrap().to_owned();
    for (title, said) in [
        ("Impact", "3 of 9 users saw bad\n\nSource: event `"),
        ("Detection", "a user wrote\n\nSource: event `"),
        ("Timeline", "- 2020-05-04 09:00 UTC: the first user sees it. (event `"),
        ("Timeline", "the value is read twice. (event `"),
        ("Timeline", "The root cause was confirmed: somebody wrote bad. (event `"),
        ("Timeline", "The fix was linked: Make the value good. (`"),
        ("Why it slipped through", "**Latent code.** nothing read it before. (event `"),
        ("Lessons", "- values are read (event `"),
        ("Open questions", "None: all values were read (event `"),
        ("Action items", "None: there is one value (event `"),
        ("Summary", "**Owner:** the value team (event `"),
    ] {
        assert!(block(&text, title).contains(said), "{said} is not in\n{}", block(&text, title));
    }
    assert!(!text.contains("beside the point") || !block(&text, "Timeline").contains("beside the point"));
    assert!(!text.contains("wrong one"));
    for title in ["Impact", "Detection", "Timeline", "Lessons", "Open questions", "Action items"] {
        assert!(!block(&text, title).contains("Gap:"), "{}", block(&text, title));
    }
    for (line, why) in [
        ("postmortem note slipped 'no reason'", "the reason is not said"),
        ("postmortem note impact", "the text is empty"),
        ("postmortem note timeline --at '2020-05-04 11:00' x", "zone"),
        ("postmortem note impact --owner Ada x", "belongs to action"),
        ("postmortem note lesson --at 2020-05-04T11:00Z x", "belongs to timeline"),
    ] {
        repo.typed(line).refuses(2).says(why);
    }
    repo.typed("postmortem note --withdraw ffffffff").refuses(1).says("no note");
}

const TEMPLATE: &str = ".git-incident/templates/postmortem-bugfix.md";

#[test]
fn a_template_of_the_repository_is_used_as_head_has_it() {
    let repo = proven();
    repo.write(TEMPLATE, "# {{ title }} ({{ profile }})\n\n## Summary\n\n{% for fact in summary.facts -%}\n* {{ fact }}\n{% endfor %}\n");
    assert_eq!(repo.view("postmortem draft --print")["template"], "", "not before it is committed");
    repo.commit("Our template");
    let ran = repo.incident(&["postmortem", "draft"]).expect(0);
    ran.says("no block \"Validation\"").says("git-incident: incident=");
    let text = repo.read(PLACE);
    assert!(text.starts_with("# the value is bad (bugfix)\n\n## Summary\n\n* **Incident:** `"), "{text}");
    // And again, with an edit: what was said above holds for it, too.
    repo.write(PLACE, &text.replace("## Summary\n", "## Summary\n\nmine\n"));
    let view = repo.view("postmortem draft");
    assert_eq!((&view["changed"], &view["kept"][0]["block"]), (&json!(false), &json!("Summary")));
    // The other profile has none.
    assert_eq!(repo.view("postmortem draft --print --profile incident")["template"], "");
}

#[test]
fn a_template_that_is_wrong_or_hostile_is_an_error_with_its_line() {
    let repo = proven();
    for (text, why) in [
        ("a\n{{ nobody }}\n", "line 2"),
        ("{% for a in found.attempts %}", "line 1"),
        ("{% include \"../../value\" %}", "line 1: `include`"),
        ("x\n\n{% set a = title %}", "line 3: `set`"),
        ("{{ title * 100000000 }}", "line 1: `*`"),
        (&"{% if title %}".repeat(900), "inside each other"),
        (&"x".repeat(70_000), "64 KiB"),
    ] {
        repo.write(TEMPLATE, text);
        repo.commit("A template");
        let refused = repo.incident(&["postmortem", "draft"]).refuses(1);
        refused.says(TEMPLATE).says(why);
    }
    assert!(!repo.path().join("docs").exists());
}

#[test]
fn a_template_that_is_a_link_is_never_followed() {
    let repo = proven();
    let secret = repo.root().join("secret.md");
    std::fs::write(&secret, "# the secret\n").unwrap();
    let folder = repo.path().join(".git-incident/templates");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(&secret, folder.join("postmortem-bugfix.md")).unwrap();
    repo.commit("A link");
    repo.incident(&["postmortem", "draft", "--print"]).refuses(1).says("link").never_says("the secret");
    std::fs::remove_dir_all(repo.path().join(".git-incident")).unwrap();
    std::fs::create_dir(repo.path().join("elsewhere")).unwrap();
    repo.write("elsewhere/postmortem-bugfix.md", "# elsewhere\n");
    std::fs::create_dir(repo.path().join(".git-incident")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", repo.path().join(".git-incident/templates")).unwrap();
    repo.commit("A folder that is a link");
    repo.incident(&["postmortem", "draft", "--print"])
        .refuses(1)
        .says("is no folder")
        .never_says("# elsewhere");
}

#[test]
fn a_bare_repository_prints_and_writes_nothing() {
    let repo = proven();
    let bare = repo.root().join("bare.git");
    let shown = bare.display().to_string();
    repo.git(&["clone", "-q", "--mirror", &repo.path().display().to_string(), &shown]);
    let beside = repo.at(&bare);
    let printed = beside.typed("postmortem draft VAL-1 --print").expect(0);
    assert!(printed.stdout.starts_with("# Post-mortem: the value is bad\n"));
    beside.typed("postmortem draft VAL-1").refuses(1).says("bare repository");
}

#[test]
fn commits_are_links_where_the_forge_is_known() {
    let repo = proven();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let plain = repo.view("postmortem draft --print")["text"].as_str().unwrap().to_owned();
    assert!(plain.contains(&format!("commit `{}`", &head[..12])), "{plain}");
    assert!(!plain.contains("https:"));
    repo.git(&["remote", "add", "origin", "https://someone:word@github.com/example/values.git"]);
    let linked = repo.view("postmortem draft --print")["text"].as_str().unwrap().to_owned();
    let link = format!("[`{}`](https://github.com/example/values/commit/{head})", &head[..12]);
    assert!(linked.contains(&link) && !linked.contains("someone"), "{linked}");
}

#[test]
fn validation_says_what_was_not_run() {
    let repo = proven();
    repo.write("value", "good, and tested\n");
    repo.write(
        ".git-incident.toml",
        "[[gate]]\nid = \"unit\"\nkind = \"command\"\nrun = \"true\"\n\n\
         [[gate]]\nid = \"soak\"\nkind = \"command\"\ndevice = \"custom:false\"\nrun = \"true\"\n",
    );
    repo.commit("Add gates");
    repo.incident(&["link", "HEAD", "--as", "fix"]).expect(0);
    repo.incident(&["repro", "run", "-n", "5", "--at", "HEAD", "-q"]).expect(0);
    let text = repo.view("postmortem draft --print")["text"].as_str().unwrap().to_owned();
    let validation = block(&text, "Validation");
    for said in [
        "in 5 of 5 runs",
        "the rate asks for",
        "- Gate `unit` (device any): configured, and this incident has no result of it.",
        "- Gate `soak` (device custom:false): configured, and this incident has no result of it.",
    ] {
        assert!(validation.contains(said), "{said} is not in\n{validation}");
    }
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate", "HEAD"]);
    let text = repo.view("postmortem draft --print")["text"].as_str().unwrap().to_owned();
    let validation = block(&text, "Validation");
    assert!(validation.contains("- `unit`: pass on cpu/"), "{validation}");
    assert!(
        validation.contains(", 1 of 1 runs passed in ")
            && validation.contains("exit status 0")
            && validation.contains("(record `"),
        "{validation}"
    );
    assert!(!validation.contains("- Gate `unit`") && validation.contains("- Gate `soak`"), "{validation}");
}
