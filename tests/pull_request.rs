//! The text of a pull request and `pr check`, against real repositories: templates, boxes, gates, people, editors.

mod common;

use common::{Ran, Repo};

const GATES: &str = "[[gate]]\nid = \"unit\"\nkind = \"command\"\nrun = \"sh check.sh\"\noracle = [\"check.sh\"]\n\n\
                     [[gate]]\nid = \"gpu\"\nkind = \"command\"\ndevice = \"custom:false\"\nrun = \"true\"\n";

/// A repository whose branch `topic` fixes an incident, with everything that is recorded of it.
fn proven(files: &[(&str, &str)]) -> Repo {
    let repo = Repo::new();
    repo.write("value", "bad\n");
    repo.write("check.sh", "! grep -q bad value\n");
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.commit("Start");
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.incident(&["open", "the value is bad", "--ticket", "VAL-1", "-s", "ask @ada, it fixes #12 <b>"])
        .expect(0);
    repo.incident(&["repro", "set", "--", "sh", "check.sh"]).expect(0);
    repo.incident(&["repro", "run", "-n", "5", "-q"]).expect(1);
    repo.incident(&["attempt", "start", "-H", "the file is stale", "-d", "a new one is bad too"]).expect(0);
    repo.incident(&["attempt", "end", "--failed", "-m", "it is new"]).expect(0);
    repo.incident(&["attempt", "start", "-H", "the value should be good", "-d", "it is bad still"]).expect(0);
    repo.write("value", "good\n");
    repo.commit("Make the value good");
    repo.incident(&["link", "HEAD", "--as", "fix"]).expect(0);
    repo.incident(&["attempt", "end", "--worked", "-m", "it was the value"]).expect(0);
    repo.incident(&["cause", "propose", "somebody wrote bad"]).expect(0);
    repo.incident(&["cause", "confirm", "--accounts", "1=bad is bad", "--accounts", "2=good is not"])
        .expect(0);
    repo.incident(&["repro", "run", "-n", "5", "--at", "HEAD", "-q"]).expect(0);
    repo
}

fn body(repo: &Repo, arguments: &[&str]) -> String {
    let mut all = vec!["pr"];
    all.extend(arguments);
    repo.incident_json(&all)["body"].as_str().expect("a body").to_owned()
}

fn check(repo: &Repo, body: &str, arguments: &[&str]) -> Ran {
    std::fs::write(repo.root().join("body.md"), body).expect("written");
    let path = repo.root().join("body.md").display().to_string();
    let mut all = vec!["pr", "check", "--body", &path];
    all.extend(arguments);
    repo.incident(&all)
}

/// The rules of a JSON answer.
fn rules(ran: &Ran) -> Vec<String> {
    let view = ran.json();
    assert_eq!(view["schema"], 1);
    let found = view["diagnostics"].as_array().expect("a list");
    found.iter().map(|d| d["rule"].as_str().expect("a rule").to_owned()).collect()
}

#[test]
fn boxes_follow_the_records_of_this_very_tree() {
    let repo = proven(&[(".git-incident.toml", GATES)]);
    let before = body(&repo, &[]);
    assert!(
        before.contains("- [x] repro `sh check.sh`") && before.contains("- [ ] gate `unit`: not-run"),
        "{before}"
    );
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(5);
    let after = body(&repo, &[]);
    assert!(after.contains("- [x] gate `unit`: pass on cpu/"), "{after}");
    assert!(
        after.contains("- [ ] gate `gpu`: ") && after.contains("| gate `unit` | no record | pass on"),
        "{after}"
    );
    assert!(after.contains("bug seen in 5 of 5 runs") && after.contains("bug seen in 0 of 5 runs"));
    check(&repo, &after, &[]).expect(0).says("the description says what the record says");
    // Another tree, and nothing of it is proven.
    repo.write("value", "better\n");
    repo.commit("Make it better");
    let later = body(&repo, &[]);
    assert!(later.contains("- [ ] gate `unit`: not-run"), "{later}");
    assert!(later.contains("; the head has changed since"), "{later}");
    let ran = check(&repo, &after, &["--format", "json"]).expect(1);
    assert_eq!(rules(&ran), ["behind", "ticked-without-record"]);
}

#[test]
fn what_was_recorded_elsewhere_is_only_claimed() {
    let repo = proven(&[(".git-incident.toml", GATES)]);
    repo.with_remote();
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(5);
    let ticked = body(&repo, &[]);
    repo.git(&["push", "-q", "origin", "main", "topic"]);
    repo.push_notes();
    let clone = repo.clone_of_remote("clone");
    clone.git(&["switch", "-q", "topic"]);
    clone.merge_notes();
    let id = repo.incident_json(&["status"])["incident"].as_str().expect("an id").to_owned();
    let view = clone.incident_json(&["pr", &id]);
    let there = view["body"].as_str().expect("a body");
    assert!(there.contains("- [ ] gate `unit`: claimed pass on cpu/"), "{there}");
    assert_eq!((&view["gates"][0]["state"], &view["gates"][0]["ticked"]), (&"claimed".into(), &false.into()));
    std::fs::write(repo.root().join("body.md"), &ticked).expect("written");
    let path = repo.root().join("body.md").display().to_string();
    let ran = clone.incident(&["pr", "check", "--body", &path, "--format", "json"]).expect(1);
    assert_eq!(rules(&ran), ["ticked-without-record"]);
    let ran = clone.incident(&["--json", "pr", "check", "--body", &path, "--accept-claimed"]).expect(0);
    assert_eq!(rules(&ran), ["claimed"]);
}

#[test]
fn a_clone_without_the_ledger_cannot_tell() {
    let repo = proven(&[]);
    repo.with_remote();
    let text = body(&repo, &[]);
    repo.git(&["push", "-q", "origin", "main", "topic"]);
    let clone = repo.clone_of_remote("clone");
    std::fs::write(repo.root().join("body.md"), text).expect("written");
    let path = repo.root().join("body.md").display().to_string();
    let ran = clone.incident(&["pr", "check", "--head", "origin/topic", "--body", &path]).expect(1);
    ran.says("error[no-ledger]").says("git fetch origin");
}

#[test]
fn lies_are_found_wherever_they_stand() {
    let repo = proven(&[(".git-incident.toml", GATES)]);
    repo.incident(&["trust", "--yes"]).expect(0);
    repo.incident(&["validate"]).expect(5);
    let text = body(&repo, &[]);
    let forged = text.replace("- [ ] gate `gpu`", "- [x] gate `gpu`");
    let ran = check(&repo, &forged, &["--format", "json"]).expect(1);
    assert_eq!(rules(&ran), ["block-edited", "ticked-without-record"]);
    let found = &ran.json()["diagnostics"][1];
    let line = usize::try_from(found["line"].as_u64().expect("a line")).expect("small");
    assert!(forged.lines().nth(line - 1).is_some_and(|l| l.starts_with("- [x] gate `gpu`")));
    assert_eq!((&found["severity"], &found["column"]), (&"error".into(), &1.into()));
    let hidden: String = text.lines().filter(|l| !l.contains("gate `gpu`")).flat_map(|l| [l, "\n"]).collect();
    let ran = check(&repo, &hidden, &["--format", "json"]).expect(1);
    assert_eq!(rules(&ran), ["block-edited", "gate-not-shown"]);
    let elsewhere = format!("* [X] Gate `gpu` passed on my machine\n\n{text}");
    check(&repo, &elsewhere, &[]).expect(1).says("error[ticked-without-record]");
    let unknown = text.replace("Incident: ", "Incident: ffff");
    check(&repo, &unknown, &[]).expect(1).says("error[unknown-incident]");
    check(&repo, "Only words\n", &[]).expect(1).says("warning[no-block]").says("error[gate-not-shown]");
    // For annotations each finding is one line, whatever it quotes.
    let ran = check(&repo, &forged, &["--format", "github"]).expect(1);
    assert!(
        ran.stdout.lines().all(|l| l.starts_with("::error ") || l.starts_with("::warning ")),
        "{}",
        ran.stdout
    );
}

#[test]
fn the_event_of_github_actions_is_read() {
    let repo = proven(&[]);
    let text = body(&repo, &[]);
    let sha = |name: &str| repo.git(&["rev-parse", name]);
    let event = |body: serde_json::Value| {
        let event = serde_json::json!({"pull_request": {
            "body": body, "head": {"sha": sha("topic")}, "base": {"sha": sha("main"), "ref": "main"},
        }});
        std::fs::write(repo.root().join("event.json"), event.to_string()).expect("written");
        let mut command = repo.command("git");
        command
            .args(["incident", "--json", "pr", "check"])
            .env("GITHUB_EVENT_PATH", repo.root().join("event.json"));
        common::finish(command.output())
    };
    // Elsewhere than on the head: the event decides.
    repo.git(&["switch", "-q", "main"]);
    let ran = event(text.as_str().into()).expect(0);
    assert_eq!((rules(&ran).len(), &ran.json()["head"]), (0, &sha("topic").into()));
    assert_eq!(rules(&event(serde_json::Value::Null).expect(0)), ["no-block"]);
    repo.incident(&["pr", "check"]).refuses(2);
    repo.incident(&["pr", "check", "--body", "nowhere.md"]).refuses(1);
    repo.incident(&["pr", "check", "--body", "value", "--head", "nowhere"]).refuses(1);
}

#[test]
fn a_change_to_the_checks_is_said() {
    let repo = proven(&[(".git-incident.toml", GATES)]);
    let honest = body(&repo, &[]);
    assert!(!honest.contains("The checks themselves"), "{honest}");
    repo.write("check.sh", "true\n");
    repo.write(
        ".git-incident.toml",
        &format!("[pre-push]\nmode = \"warn\"\n{}", GATES.replace("run = \"true\"", "run = \"false\"")),
    );
    repo.commit("Weaken the checks");
    let text = body(&repo, &[]);
    for line in [
        "- this change edits `check.sh`, which judges in the gate `unit`",
        "- this change changes the gate `gpu`",
        "- this change edits the policy `[pre-push]`",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let silent: String =
        text.lines().filter(|l| !l.starts_with("- this change")).flat_map(|l| [l, "\n"]).collect();
    let ran = check(&repo, &silent, &["--format", "json"]).expect(1);
    assert_eq!(
        rules(&ran),
        ["block-edited", "check-change-not-shown", "check-change-not-shown", "check-change-not-shown"]
    );
}

#[test]
fn the_template_of_the_base_is_filled() {
    let template = "## Summary\n\n<!-- say it -->\n\n- [ ] I read the guide\n";
    let repo = proven(&[(".github/PULL_REQUEST_TEMPLATE.md", template)]);
    let view = repo.incident_json(&["pr"]);
    assert_eq!(view["template"], ".github/PULL_REQUEST_TEMPLATE.md");
    let text = view["body"].as_str().expect("a body");
    assert!(text.starts_with("## Summary\n\nthe value is bad\n\nask `@ada`, it fixes `#12` \\<b>\n\n<!-- say it -->\n\n- [ ] I read the guide\n\n<!-- git-incident:begin"), "{text}");
    assert!(text.trim_end().lines().last().is_some_and(|l| l.starts_with("Incident: ")));
    // What the branch brings is not asked.
    repo.write(".github/PULL_REQUEST_TEMPLATE.md", "# Mine\n");
    repo.commit("Bring a template");
    assert!(body(&repo, &[]).starts_with("## Summary\n"));
    assert!(body(&repo, &["--no-template"]).starts_with("<!-- git-incident:begin"));
}

#[test]
fn of_several_templates_one_is_named() {
    let folder = ".github/PULL_REQUEST_TEMPLATE";
    let (bug, feature) = (format!("{folder}/bug.md"), format!("{folder}/feature.md"));
    let repo = proven(&[(&bug, "# Problem\n"), (&feature, "# Motivation\n")]);
    repo.incident(&["pr"]).expect(0).says("choose one with --template NAME (bug.md, feature.md)");
    assert!(body(&repo, &["--template", "bug"]).starts_with("# Problem\n\nthe value is bad"));
    repo.incident(&["pr", "--template", "other"]).refuses(2).says("bug.md, feature.md");
}

#[test]
fn a_template_that_is_a_link_is_not_followed() {
    let repo = Repo::new();
    repo.write("secret", "do not show\n");
    std::fs::create_dir_all(repo.path().join(".github")).expect("a folder");
    std::os::unix::fs::symlink("../secret", repo.path().join(".github/pull_request_template.md"))
        .expect("a link");
    repo.commit("Start");
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.open("it is bad");
    repo.write("value", "good\n");
    repo.commit("Make it good");
    let text = body(&repo, &[]);
    assert!(text.starts_with("<!-- git-incident:begin") && !text.contains("do not show"), "{text}");
}

#[test]
fn an_editor_comes_first_and_an_emptied_text_is_none() {
    let repo = proven(&[]);
    let edit = |editor: &str| {
        let mut command = repo.command("git");
        common::finish(command.args(["incident", "pr", "--edit"]).env("GIT_EDITOR", editor).output())
    };
    edit("sed -i '1s/.*/A better title/'").expect(0).says("Title: A better title\n\n<!-- git-incident:begin");
    edit("sed -i 's/somebody wrote bad/nobody knows/'").expect(0).says("you changed the generated part");
    let ran = edit("truncate -s 0").refuses(1);
    assert_eq!(ran.stdout, "");
    edit("false").refuses(1);
    repo.incident(&["pr", "--edit"]).refuses(2);
}

#[test]
fn the_page_shows_it_as_github_would() {
    let repo = proven(&[]);
    let page = repo.incident(&["pr", "--html"]).expect(0).stdout;
    for part in [
        "<!doctype html>",
        "<td><code>sh check.sh</code></td>",
        "<details>\n<summary>1 attempt</summary>",
        "checked",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    repo.incident(&["pr", "--html", "page.html"]).expect(0).says("wrote page.html");
    assert_eq!(repo.read("page.html"), page);
    repo.incident(&["pr", "--html", "no/such/folder.html"]).refuses(1);
}

#[test]
fn the_same_record_makes_the_same_text_and_no_event() {
    let repo = proven(&[]);
    let first = body(&repo, &[]);
    let tip = repo.git(&["rev-parse", "refs/notes/incidents"]);
    assert_eq!(body(&repo, &[]), first);
    assert_eq!(repo.git(&["rev-parse", "refs/notes/incidents"]), tip, "nothing to record anew");
}

#[test]
fn only_those_who_took_part_are_co_authors() {
    let repo = proven(&[]);
    let commit = |name: &str, email: &str, message: &str| {
        let mut command = repo.command("git");
        command.args(["commit", "-q", "--allow-empty", "-m", message]);
        command.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", email);
        common::finish(command.output()).expect(0);
    };
    commit("Bea", "bea@example.org", "Help\n\nCo-authored-by: Cyd <cyd@example.org>\nCo-authored-by: nobody");
    commit("Ada Tester", "ada@home.example.org", "Help myself");
    commit("[bot] <x>", "not an address", "Odd");
    let mut agent = repo.command("git");
    agent.args(["incident", "attempt", "start", "-H", "one more"]).env("GIT_INCIDENT_AGENT", "some-agent");
    common::finish(agent.output()).expect(0);
    let text = body(&repo, &[]);
    let tail = text.trim_end().rsplit("\n\n").next().expect("a paragraph");
    let names: Vec<&str> = tail.lines().map(|l| l.split(": ").next().expect("a key")).collect();
    assert_eq!(names, ["Assisted-by", "Co-authored-by", "Co-authored-by", "Incident"], "{tail}");
    assert!(
        tail.contains("Bea <bea@example.org>")
            && tail.contains("Cyd <cyd@example.org>")
            && !tail.contains("ada@")
    );
}

#[test]
fn the_post_mortem_is_linked_where_the_head_has_it() {
    let repo = proven(&[]);
    repo.git(&["remote", "add", "origin", "https://user:word@github.com/o/r.git"]);
    repo.incident(&["postmortem", "draft"]).expect(0);
    assert!(
        body(&repo, &[]).contains("drafted as `docs/postmortems/VAL-1.md`, which this change does not hold")
    );
    let head = repo.commit("Write it down");
    let text = body(&repo, &[]);
    let link = format!(
        "[`docs/postmortems/VAL-1.md`](https://github.com/o/r/blob/{head}/docs/postmortems/VAL-1.md)"
    );
    assert!(text.contains(&link), "{text}");
    assert!(text.contains(" https://github.com/o/r.git`") && !text.contains("word"), "{text}");
    check(&repo, &text, &[]).expect(0);
    repo.git(&["rm", "-q", "docs/postmortems/VAL-1.md"]);
    repo.commit("Take it away");
    check(&repo, &text, &[]).expect(1).says("error[missing-postmortem]");
}

#[test]
fn a_head_without_the_fix_proves_nothing() {
    let repo = proven(&[]);
    repo.git(&["switch", "-q", "-c", "other", "main"]);
    repo.write("more", "1\n");
    repo.commit("Something else");
    let text = body(&repo, &[]);
    assert!(
        text.contains("- [ ] repro `sh check.sh`") && text.contains("; the head does not hold that fix"),
        "{text}"
    );
}

#[test]
fn nothing_of_the_repository_is_run_for_a_text() {
    let repo = proven(&[]);
    let ran = repo.root().join("ran");
    let gate = format!(
        "[[gate]]\nid = \"probe\"\nkind = \"command\"\ndevice = \"custom:touch {0}\"\nrun = \"touch {0}\"\n",
        ran.display()
    );
    repo.write(".git-incident.toml", &gate);
    repo.commit("Bring a gate");
    let text = body(&repo, &[]);
    assert!(
        text.contains("- [ ] gate `probe`: not-run") && text.contains("- this change adds the gate `probe`"),
        "{text}"
    );
    check(&repo, &text, &[]).expect(0);
    assert!(!ran.exists(), "nobody has approved it");
}

#[test]
fn templates_stand_at_the_top_and_in_docs_too() {
    let repo = proven(&[("docs/Pull_Request_Template.md", "# Root cause\n")]);
    assert!(body(&repo, &[]).starts_with("# Root cause\n\nsomebody wrote bad\n"));
    repo.git(&["switch", "-q", "main"]);
    repo.write("PULL_REQUEST_TEMPLATE.md", "# Fix\n");
    repo.commit("Another one, which counts first");
    repo.git(&["switch", "-q", "topic"]);
    assert!(body(&repo, &[]).starts_with("# Fix\n\n- Make the value good\n"));
}

#[test]
fn a_template_that_cannot_be_used_is_said_to_be_left_out() {
    for (template, why) in [
        ("<!-- git-incident:end -->\n".to_owned(), "markers"),
        ("x\n".repeat(20_000), "larger than 24,000 bytes"),
    ] {
        let repo = proven(&[(".github/pull_request_template.md", &template)]);
        let ran = repo.incident(&["pr"]).expect(0).says("is not used").says(why);
        assert!(ran.stdout.contains("\n\n<!-- git-incident:begin"), "{}", ran.stdout);
    }
}

#[test]
fn the_base_names_the_owners_and_none_of_them_is_called() {
    let repo = proven(&[(".github/CODEOWNERS", "value @org/values\n")]);
    repo.write(".github/CODEOWNERS", "* @everybody @in @the @world\n");
    repo.commit("Call everybody");
    let text = body(&repo, &[]);
    assert!(text.contains("- `@org/values`: ") && !text.contains("@everybody"), "{text}");
}
