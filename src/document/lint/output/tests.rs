use serde_json::Value;

use super::*;
use crate::document::lint::{Document, Facts, Known, Profile, Settings, check};

fn checked(path: &str, text: &str) -> Checked {
    let document = Document::read(path, text, Profile::Bugfix);
    let known = Known::default();
    let facts = Facts { known: &known, ledger: None, incident_missing: false };
    let diagnostics = check(&document, &facts, &Settings::new());
    Checked { path: path.to_owned(), text: text.to_owned(), diagnostics }
}

const TEXT: &str = "# T\n\n## Summary\n\nüber TODO x\n\n## Root cause\n\n`f()` hangs.\n\n## Fix\n\nIt is removed.\n\n## Validation\n\n0 of 5 runs.\n\n## Action items\n\n- \u{1b}[31mAudit\u{202e} the rest\n- \n";

#[test]
fn people_see_place_line_and_help_and_no_control_characters() {
    let shown = human::render(&[checked("docs/a\u{1b}b.md", TEXT)], false);
    assert!(shown.contains("error[placeholder]: placeholder text: \"TODO\""), "{shown}");
    assert!(shown.contains("docs/a␛b.md:5:6"), "{shown}");
    assert!(shown.contains("5 | über TODO x") && !shown.contains(":::"), "{shown}");
    assert!(shown.contains("^^^^"), "{shown}");
    assert!(shown.contains("help: "), "{shown}");
    assert!(shown.ends_with("(1 can be repaired with --fix)\n"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    let coloured = human::render(&[checked("a.md", TEXT)], true);
    assert!(coloured.contains('\u{1b}') && !coloured.contains("\u{1b}[31mAudit"));
    assert_eq!(human::render(&[], false), "checked 0 documents: no findings\n");
}

#[test]
fn a_line_without_end_is_cut() {
    let text = format!("# T\n\n{} TODO {}\n", "word ".repeat(20_000), "word ".repeat(20_000));
    let shown = human::render(&[checked("a.md", &text)], false);
    assert!(shown.contains("TODO") && shown.len() < 5_000, "{}", shown.len());
    assert!(shown.contains("a.md:3:100002"), "{shown}");
}

#[test]
fn github_escapes_what_would_end_a_command() {
    let shown = github::render(&[checked("a,b:c%\nd.md", TEXT)]);
    let first = shown.lines().find(|l| l.contains("title=placeholder")).expect("there");
    assert!(
        first.starts_with("::error file=a%2Cb%3Ac%25 d.md,line=5,col=6,endColumn=10,title=placeholder::"),
        "{first}"
    );
    assert!(first.contains("%0Ahelp: "), "{first}");
    assert_eq!(
        shown.lines().count(),
        shown.matches("::error ").count() + shown.matches("::warning ").count()
    );
}

/// The members that the schema of SARIF 2.1.0 requires, and those that code scanning asks for.
#[test]
fn sarif_has_what_the_schema_requires() {
    let log = sarif::log(&[checked("docs/ü b.md", TEXT)]);
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().expect("text").contains("sarif-schema-2.1.0"));
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    assert!(run["tool"]["driver"]["name"].is_string());
    assert_eq!(rules.len(), crate::model::lint::RULES.len(), "all rules are declared");
    for rule in rules {
        assert!(rule["id"].is_string() && rule["shortDescription"]["text"].is_string());
        assert!(
            ["error", "warning", "note"]
                .contains(&rule["defaultConfiguration"]["level"].as_str().expect("text"))
        );
    }
    let results = run["results"].as_array().expect("results");
    assert!(results.len() >= 3);
    let mut prints = std::collections::BTreeSet::new();
    for result in results {
        assert!(result["message"]["text"].is_string());
        let index = result["ruleIndex"].as_u64().expect("a number") as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "docs/%C3%BC%20b.md");
        assert_eq!(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
        assert!(run["originalUriBaseIds"]["%SRCROOT%"].is_object());
        for member in ["startLine", "startColumn", "endLine", "endColumn"] {
            assert!(place["region"][member].as_u64().expect("a number") >= 1);
        }
        let print = result["partialFingerprints"].as_object().expect("there").values().next().cloned();
        assert!(prints.insert(print.and_then(|p| p.as_str().map(str::to_owned))), "each its own");
        for change in result["fixes"].as_array().into_iter().flatten() {
            let replacement = &change["artifactChanges"][0]["replacements"][0];
            assert!(replacement["deletedRegion"]["startLine"].is_u64());
        }
    }
}

#[test]
fn fingerprints_outlive_lines_above() {
    let print = |text: &str| {
        let log = sarif::log(&[checked("a.md", text)]);
        let results = log["runs"][0]["results"].as_array().cloned().unwrap_or_default();
        let one = results.iter().find(|r| r["ruleId"] == "placeholder").cloned().unwrap_or(Value::Null);
        one["partialFingerprints"].clone()
    };
    let moved = TEXT.replace("# T\n", "# T\n\nOne more paragraph.\n");
    assert_eq!(print(TEXT), print(&moved));
    assert!(print(TEXT).is_object());
}

#[test]
fn json_counts_lines_and_columns_from_one() {
    let view = json::view(&[checked("a.md", TEXT)]);
    let all = view["diagnostics"].as_array().expect("a list");
    let one = all.iter().find(|d| d["rule"] == "placeholder").expect("there");
    assert_eq!((&one["line"], &one["column"], &one["severity"]), (&5.into(), &6.into(), &"error".into()));
    assert!(one["path"] == "a.md" && one["message"].is_string() && one["help"].is_string());
    let fix = all.iter().find(|d| d.get("fix").is_some()).expect("one with a repair");
    assert!(fix["fix"]["edits"][0]["start"].is_u64());
    assert_eq!(view["errors"].as_u64().map(|n| n > 0), Some(true));
}
