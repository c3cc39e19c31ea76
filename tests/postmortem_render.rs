//! Post-mortems for readers: pages, Jira's format, plain text, the page of a folder, and briefs.

mod common;

use std::path::Path;
use std::process::Command;

use common::Repo;
use serde_json::Value;

const EVERYTHING: &str = include_str!("fixtures/render/everything.md");

fn with_documents() -> Repo {
    let repo = Repo::new();
    repo.write("docs/postmortems/SHOP-77.md", EVERYTHING);
    repo.write("docs/postmortems/OLD-1.md", "# An old one\n\n2020-05-06: it broke. More words.\n");
    repo.write("docs/postmortems/README.md", "# How to write these\n");
    repo.commit("Write what happened");
    repo
}

#[test]
fn one_document_is_printed_as_a_page_that_stands_alone() {
    let repo = with_documents();
    let page = repo.typed("postmortem render docs/postmortems/SHOP-77.md").expect(0).stdout;
    assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">"), "{page}");
    for part in [
        "<title>Post-mortem: the queue stalls under load</title>",
        "default-src 'none'",
        "<a class=\"skip\" href=\"#gi:main\">",
        "<nav aria-label=\"Contents\">",
        "<a href=\"#timeline-utc\">Timeline (UTC)</a>",
        "<h2 id=\"action-items\">",
        "aria-labelledby=\"gi:timeline-title gi:timeline-desc\"",
        "1: 2026-03-01 14:05, the alert fires.",
        "before: small: 12.4 ms; large: 431 ms.",
    ] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    // Nothing is fetched: no address of the web but in links.
    for loading in ["src=\"http", "url(", "@import", "<link", "<script", "srcset"] {
        assert!(!page.contains(loading), "{loading}");
    }
    let again = repo.typed("postmortem render docs/postmortems/SHOP-77.md").expect(0).stdout;
    assert_eq!(page, again, "the same document makes the same page");
}

#[test]
fn files_go_where_they_are_asked_to_and_never_over_the_document() {
    let repo = with_documents();
    let view = repo.view("postmortem render docs/postmortems/SHOP-77.md -f text --width 60 -o out.txt");
    assert_eq!(view["schema"], 1);
    let row = &view["outputs"][0];
    assert_eq!((row["path"].as_str(), row["format"].as_str()), (Some("out.txt"), Some("text")));
    let text = repo.read("out.txt");
    assert_eq!(row["bytes"].as_u64(), Some(text.len() as u64));
    assert!(
        text.contains("SHOP-77") && text.contains("[1] https://tracker.example/browse/SHOP-77"),
        "{text}"
    );

    repo.typed("postmortem render docs/postmortems/SHOP-77.md docs/postmortems/OLD-1.md")
        .refuses(2)
        .says("-o DIR");
    repo.typed("postmortem render docs/postmortems/SHOP-77.md docs/postmortems/OLD-1.md -f adf -o pages")
        .expect(0);
    assert!(
        repo.path().join("pages/SHOP-77.adf.json").is_file()
            && repo.path().join("pages/OLD-1.adf.json").is_file()
    );

    repo.typed("postmortem render docs/postmortems/SHOP-77.md -o docs/postmortems/SHOP-77.md").refuses(1);
    assert_eq!(repo.read("docs/postmortems/SHOP-77.md"), EVERYTHING);
    std::os::unix::fs::symlink("/dev/null", repo.path().join("link")).unwrap();
    repo.typed("postmortem render docs/postmortems/SHOP-77.md -o link").refuses(1).says("symbolic link");
    repo.typed("postmortem render docs/postmortems/NONE.md").refuses(1);
    repo.typed("postmortem render docs/postmortems").refuses(1).says("--index");
    repo.write("a/same.md", "a");
    repo.write("b/same.md", "b");
    repo.typed("postmortem render a/same.md b/same.md -o pages").refuses(1).says("two documents");
    repo.typed("postmortem render").refuses(2);
}

#[test]
fn a_document_is_rendered_without_a_repository() {
    let repo = Repo::new();
    let outside = repo.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("x.md"), "# Title\n\nWords.\n").unwrap();
    let run = |arguments: &[&str]| {
        common::finish(
            repo.at(&outside)
                .command("git-incident")
                .env("GIT_CEILING_DIRECTORIES", repo.root())
                .args(arguments)
                .output(),
        )
    };
    run(&["postmortem", "render", "x.md"]).expect(0).says("<h1 id=\"title\">Title</h1>");
    run(&["postmortem", "brief", "x.md", "--channel", "chat"]).expect(0).says("**TL;DR:**");
}

#[test]
fn the_page_of_a_folder_leads_to_what_is_there() {
    let repo = with_documents();
    let listed = repo.typed("postmortem render --index").expect(0).stdout;
    assert!(listed.contains("href=\"SHOP-77.md\"") && !listed.contains("README"), "{listed}");

    let view = repo.view("postmortem render --index docs/postmortems -o site");
    assert_eq!(view["outputs"].as_array().unwrap().len(), 3);
    let index = repo.read("site/index.html");
    let newer = index.find("the queue stalls").expect("the newer one");
    assert!(newer < index.find("An old one").expect("the older one"), "newest first");
    for part in ["datetime=\"2026-03-01\"", "owner Ana Ruiz", "resolved", "2020-05-06: it broke."] {
        assert!(index.contains(part), "{part} is not in\n{index}");
    }
    for link in index.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(
            link.starts_with('#') || repo.path().join("site").join(link).is_file(),
            "{link} leads nowhere"
        );
    }
    assert!(repo.read("site/OLD-1.html").contains("<a href=\"index.html\">"));
}

#[test]
fn the_ledger_adds_its_attempts_and_evidence_where_a_document_names_its_incident() {
    let repo = Repo::new();
    repo.commit("Start");
    let id = repo.open("it is slow");
    repo.typed("attempt start -H 'the cache is cold'").expect(0);
    repo.write("times.txt", "3.1\n3.4\n3.3\n9.9\n3.2\n");
    repo.typed("evidence add times.txt -k samples").expect(0);
    repo.typed("attempt end --worked -m warm").expect(0);
    let oid = repo.view("evidence list")["evidence"][0]["oid"].as_str().unwrap()[..12].to_owned();
    repo.write(
        "x.md",
        &format!("# T\n\n<!-- git-incident: incident={id} profile=bugfix -->\n\n## How it was found\n\nevidence `{oid}`\n"),
    );
    let page = repo.typed("postmortem render x.md").expect(0).stdout;
    for part in [
        "Attempt 1 by Ada Tester",
        "supported, bug fixed",
        &format!("git incident evidence show {oid} --incident {}", &id[..12]),
        "5 samples, least 3.1",
    ] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    // Its text goes out only when asked for.
    assert!(!page.contains("3.1\n3.4"));
    let with = repo.typed("postmortem render x.md --embed-evidence").expect(0).stdout;
    assert!(with.contains("3.1\n3.4"), "{with}");
    let without = repo.typed("postmortem render x.md --no-ledger").expect(0).stdout;
    assert!(!without.contains("Ada Tester") && !without.contains("evidence show"));
    // The printed command is one that works.
    let shown = repo.typed(&format!("evidence show {oid} --incident {}", &id[..12])).expect(0);
    assert_eq!(shown.stdout, "3.1\n3.4\n3.3\n9.9\n3.2\n");
}

#[test]
fn pictures_beside_the_document_become_part_of_it_and_others_do_not() {
    let repo = with_documents();
    let png: &[u8] = b"\x89PNG\r\n\x1a\n0000";
    std::fs::write(repo.path().join("docs/postmortems/graph.png"), png).unwrap();
    std::fs::write(repo.root().join("secret.png"), png).unwrap();
    let page = repo.typed("postmortem render docs/postmortems/SHOP-77.md").expect(0).stdout;
    assert!(
        page.contains("<img src=\"data:image/png;base64,iVBORw0KGgowMDAw\" alt=\"a graph\" />"),
        "{page}"
    );
    repo.write("x.md", "![a](../secret.png) ![b](docs/x.svg) ![c](.git/config) ![d](/etc/passwd)");
    repo.write("docs/x.svg", "<svg/>");
    std::os::unix::fs::symlink(repo.root().join("secret.png"), repo.path().join("inside.png")).unwrap();
    repo.write("y.md", "![e](inside.png)");
    for name in ["x.md", "y.md"] {
        repo.typed(&format!("postmortem render {name}")).expect(0).never_says("<img");
    }
}

#[test]
fn hostile_and_huge_documents_are_bounded() {
    let repo = Repo::new();
    repo.write("deep.md", &format!("{} deep\n", ">".repeat(10_000)));
    repo.write("long.md", &"# H\n\nwords and `code` in a *line* [x](javascript:alert(1))\n\n".repeat(9_000));
    for name in ["deep.md", "long.md"] {
        for format in ["html", "adf", "text"] {
            let shown = repo.typed(&format!("postmortem render {name} -f {format}")).expect(0);
            assert!(!shown.stdout.contains("javascript:"), "{name} {format}");
        }
        repo.typed(&format!("postmortem brief {name} -c email")).expect(0);
    }
    let file = std::fs::File::create(repo.path().join("huge.md")).unwrap();
    file.set_len(9 << 20).unwrap();
    repo.typed("postmortem render huge.md").refuses(1).says("evidence add");
    std::fs::write(repo.path().join("bytes.md"), b"\xff\xfe\x00 \x1b[31m# x\n").unwrap();
    for format in ["html", "adf", "text"] {
        let shown = repo.typed(&format!("postmortem render bytes.md -f {format}")).expect(0);
        assert!(!shown.stdout.contains('\u{1b}'), "{format}");
    }
}

/// The nesting that Jira's editor has, written down from Atlassian's schema (57.7.22) for the nodes we write.
fn well_formed(node: &Value, parent: &str) {
    let kind = node["type"].as_str().expect("a type");
    let allowed: &[&str] = match parent {
        "" => &["doc"],
        "doc" => &[
            "paragraph",
            "heading",
            "codeBlock",
            "blockquote",
            "panel",
            "bulletList",
            "orderedList",
            "taskList",
            "table",
            "rule",
        ],
        "panel" => &["paragraph", "heading", "bulletList", "orderedList", "codeBlock", "taskList", "rule"],
        "blockquote" | "listItem" => &["paragraph", "bulletList", "orderedList", "codeBlock"],
        "bulletList" | "orderedList" => &["listItem"],
        "taskList" => &["taskItem", "taskList"],
        "table" => &["tableRow"],
        "tableRow" => &["tableHeader", "tableCell"],
        "tableHeader" | "tableCell" => &["paragraph"],
        "codeBlock" => &["text"],
        "paragraph" | "heading" | "taskItem" => &["text", "hardBreak"],
        _ => &[],
    };
    assert!(allowed.contains(&kind), "{kind} in {parent}: {node}");
    let marks: Vec<&str> =
        node["marks"].as_array().into_iter().flatten().filter_map(|m| m["type"].as_str()).collect();
    for mark in node["marks"].as_array().into_iter().flatten().filter(|m| m["type"] == "link") {
        let href = mark["attrs"]["href"].as_str().expect("an address");
        assert!(
            ["http://", "https://", "mailto:"].iter().any(|s| href.to_lowercase().starts_with(s)),
            "{href}"
        );
    }
    match kind {
        "text" => {
            assert!(!node["text"].as_str().expect("text").is_empty());
            assert!(parent != "codeBlock" || marks.is_empty(), "{node}");
            assert!(
                !marks.contains(&"code") || marks.iter().all(|m| matches!(*m, "code" | "link")),
                "{node}"
            );
        }
        "heading" => assert!((1..=6).contains(&node["attrs"]["level"].as_u64().expect("a level"))),
        "taskItem" => assert!(matches!(node["attrs"]["state"].as_str(), Some("TODO" | "DONE"))),
        "blockquote" | "panel" | "bulletList" | "orderedList" | "taskList" | "listItem" | "table"
        | "tableCell" => {
            assert!(!node["content"].as_array().expect("content").is_empty(), "{node}");
        }
        _ => {}
    }
    for child in node["content"].as_array().into_iter().flatten() {
        well_formed(child, kind);
    }
}

#[test]
fn jira_s_format_nests_as_jira_does() {
    let repo = with_documents();
    let printed = repo.typed("postmortem render docs/postmortems/SHOP-77.md --format adf").expect(0).stdout;
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(document["version"], 1);
    well_formed(&document, "");
    for part in [
        "taskList",
        "table",
        "panel",
        "code in an item",
        "A heading in an item",
        "hardBreak",
        "(src/queue.rs#L88)",
    ] {
        assert!(printed.contains(part), "{part} is not in\n{printed}");
    }
}

#[test]
fn what_is_too_long_for_jira_is_cut_at_sections_and_said() {
    let repo = Repo::new();
    let long = format!(
        "# T\n\n## Summary\n\nShort.\n\n## Root cause\n\n{}\n\n## Fix\n\nAlso short.\n",
        "A sentence with \"quotes\" that grow when they are written as JSON. ".repeat(485)
    );
    repo.write("long.md", &long);
    assert!(long.len() < 32_767, "it fits before conversion");
    let view = repo.view("postmortem render long.md -f adf");
    let row = &view["outputs"][0];
    assert_eq!(row["cut"], serde_json::json!(["Root cause"]));
    let text = row["text"].as_str().unwrap();
    assert!(text.encode_utf16().count() <= 32_767);
    assert!(text.contains("Short.") && text.contains("Also short.") && text.contains("long.md"), "{text}");
    well_formed(&serde_json::from_str(text).unwrap(), "");
    // One paragraph that is all there is cannot be cut at a border, and still the limit holds.
    repo.write("one.md", &"wörds 日本 \"x\" ".repeat(9_000));
    let view = repo.view("postmortem render one.md -f adf");
    assert!(view["outputs"][0]["text"].as_str().unwrap().encode_utf16().count() <= 32_767);
}

#[test]
fn jira_s_format_is_valid_by_atlassian_s_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(root.join("tests/render/adf_schema"))
        .arg(env!("CARGO_BIN_EXE_git-incident"))
        .arg(root.join("tests/fixtures/render/everything.md"))
        .arg(root.join("docs/postmortems/LIST-1.md"))
        .arg(root.join("docs/STORAGE.md"))
        .arg(root.join("README.md"))
        .output();
    match common::finish(output) {
        ran if ran.status == 77 => common::skipped(ran.stderr.trim()),
        ran => drop(ran.expect(0).says("4 documents, 0 not valid")),
    }
}

#[test]
fn a_brief_keeps_tickets_and_strips_code() {
    let repo = with_documents();
    let view = repo.view("postmortem brief docs/postmortems/SHOP-77.md --channel ticket");
    assert_eq!((view["schema"].as_u64(), view["channel"].as_str()), (Some(1), Some("ticket")));
    let text = view["text"].as_str().unwrap();
    assert!(
        text.contains("Status: resolved") && text.contains("Owner: Ana Ruiz") && text.contains("SHOP-80"),
        "{text}"
    );
    assert!(!text.contains("OrderQueue") && !text.contains("queue.rs"), "{text}");
    assert_eq!(view["words"].as_u64(), Some(text.split_whitespace().count() as u64));
    assert!(view["left_for_writer"].as_array().unwrap().iter().any(|l| l["line"] == 14), "{view}");
    let said = repo.typed("postmortem brief docs/postmortems/SHOP-77.md -c ticket").expect(0);
    assert!(
        said.stdout == text && said.stderr.contains("docs/postmortems/SHOP-77.md:14:"),
        "{}",
        said.stderr
    );
    repo.typed("postmortem brief docs/postmortems/SHOP-77.md").expect(2).says("--channel");
    assert!(!repo.git(&["status", "--porcelain"]).contains('?'), "nothing was written");
}
