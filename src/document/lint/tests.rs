//! What holds for every rule, and documents as people write them.

use proptest::prelude::*;

use super::*;

fn with(
    path: &str,
    text: &str,
    known: &Known,
    ledger: Option<&Ledger>,
    settings: &Settings,
) -> Vec<Diagnostic> {
    let document = Document::read(path, text, Profile::Bugfix);
    check(&document, &Facts { known, ledger, incident_missing: false }, settings)
}

fn plain(text: &str) -> Vec<Diagnostic> {
    with("x.md", text, &Known::default(), None, &Settings::new())
}

fn brief(found: &[Diagnostic]) -> Vec<(&str, &str, usize)> {
    found.iter().map(|d| (d.severity.word(), d.rule, d.line)).collect()
}

fn errors(found: &[Diagnostic]) -> Vec<&Diagnostic> {
    found.iter().filter(|d| d.severity == Severity::Error).collect()
}

#[test]
fn names_are_stable_and_listed_once() {
    let names: Vec<&str> = rules::ALL.iter().map(|r| r.name).collect();
    assert_eq!(names, crate::model::lint::RULES, "model/lint.rs lists them in the same order");
    for name in names {
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{name}");
        assert_eq!(rules::named(name).map(|r| r.name), Some(name));
    }
    assert_eq!(rules::closest("blme"), Some("blame"));
    assert_eq!(rules::closest("quite-something-else-42"), None);
}

#[test]
fn every_example_is_what_it_says() {
    for rule in rules::ALL.iter().filter(|r| !r.bad.is_empty()) {
        let (known, ledger) = (rule.facts)();
        let fires = |example: &str| {
            let text = format!("<!-- git-incident: profile=bugfix -->\n\n# Example\n\n{example}");
            let found = with("example.md", &text, &known, ledger.as_ref(), &Settings::new());
            found.into_iter().filter(|d| d.rule == rule.name).collect::<Vec<_>>()
        };
        assert!(!fires(rule.bad).is_empty(), "{}: the bad example is not found", rule.name);
        let found = fires(rule.good);
        assert!(found.is_empty(), "{}: the good example is found: {found:#?}", rule.name);
    }
}

#[test]
fn the_rules_page_is_made_from_the_rules() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/RULES.md");
    let page = catalog::page();
    if std::env::var_os("UPDATE_RULES").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(there == page, "docs/RULES.md is old: UPDATE_RULES=1 cargo test --lib rules_page");
}

/// Our own text in the shape of the standard's worked example: all blocks as bold leads in one quote, the last action
/// item filed and owned by nobody.
const WORKED: &str = include_str!("worked.md");

/// The three ways people paste it.
fn forms() -> [(&'static str, String); 3] {
    let plain = WORKED.lines().map(|l| l.trim_start_matches('>').trim_start()).collect::<Vec<_>>().join("\n");
    let leads = plain.replace("**", "");
    let mut headings = plain.clone();
    for block in crate::document::page::BLOCKS {
        headings = headings.replace(&format!("**{block}.**"), &format!("## {block}\n\n"));
    }
    [("quote", WORKED.to_owned()), ("leads", leads), ("headings", headings)]
}

#[test]
fn the_worked_example_lacks_one_owner_and_nothing_else() {
    for (form, text) in forms() {
        let found = plain(&text);
        let errors = errors(&found);
        assert_eq!(errors.len(), 1, "{form}: {found:#?}\n{text}");
        assert_eq!(errors[0].rule, "action-item", "{form}");
        assert_eq!(errors[0].message, "this action item has no owner", "{form}");
        assert!(text[errors[0].span.clone()].starts_with("Related: audit"), "{form}");
        assert_eq!(found.len(), 1, "{form}: {found:#?}");
    }
}

#[test]
fn our_own_post_mortem_passes() {
    let text = include_str!("../../../docs/postmortems/LIST-1.md");
    assert_eq!(plain(text), []);
}

#[test]
fn other_houses_get_warnings_not_errors() {
    let text = "# Outage of the hub\n\n## What happened\n\nThe hub was down.\n\n## Timeline\n\n- 10:00 down\n- 10:30 up\n\n## Resolution\n\nThe certificate was renewed.\n\n## Action Items\n\n| Action | Owner | Ticket |\n|---|---|---|\n| Alert before it expires | Kim | OPS-1 |\n| Write the runbook | | OPS-2 |\n";
    let found = plain(text);
    assert_eq!(errors(&found), Vec::<&Diagnostic>::new());
    assert_eq!(
        brief(&found),
        [
            ("warning", "missing-block", 1),
            ("warning", "time-without-zone", 9),
            ("warning", "action-item", 21),
        ]
    );
    assert!(found[0].message.contains("Root cause") && found[0].message.contains("Validation"));
    assert!(!found[0].message.contains("Fix"), "Resolution is a Fix");
    assert!(found[2].message.contains("1 of 2 action items has no owner"));
}

#[test]
fn configuration_sets_weights() {
    let text = "## Root cause\n\nIt was probably the lock in `f()`.\n";
    let of = |setting: Option<Option<Severity>>| {
        let settings: Settings = setting.map(|s| ("hedging", s)).into_iter().collect();
        let found = with("x.md", text, &Known::default(), None, &settings);
        found.into_iter().find(|d| d.rule == "hedging").map(|d| d.severity)
    };
    assert_eq!(of(None), Some(Severity::Warning));
    assert_eq!(of(Some(Some(Severity::Error))), Some(Severity::Error));
    assert_eq!(of(Some(Some(Severity::Note))), Some(Severity::Note));
    assert_eq!(of(Some(None)), None);
}

#[test]
fn comments_allow_a_line_a_block_or_a_document() {
    let hedge = "It was probably the lock in `f()`.";
    let count = |text: &str, rule: &str| plain(text).iter().filter(|d| d.rule == rule).count();
    let allow = "<!-- git-incident: allow(hedging) the vendor's words -->";
    for text in [
        format!("## Root cause\n\n{allow}\n{hedge}\n"),
        format!("## Root cause\n\n{allow}\n\n{hedge}\n"),
        format!("## Root cause\n\n{hedge} {allow}\n"),
        format!(
            "## Root cause\n\n{hedge}\n\n<!-- git-incident: allow-file(hedging) all of it is hearsay -->\n"
        ),
    ] {
        assert_eq!(count(&text, "hedging"), 0, "{text}");
        assert_eq!(count(&text, "suppression"), 0, "{text}");
    }
    let later = format!("## Root cause\n\n{allow}\nFine: `f()`.\n\n{hedge}\n");
    assert_eq!((count(&later, "hedging"), count(&later, "suppression")), (1, 1), "the next block only");
    for (comment, says) in [
        ("allow(hegding) x", "there is no rule"),
        ("allow(hedging)", "gives no reason"),
        ("alow(hedging) x", "no word of this comment"),
        ("allow hedging", "names no rule"),
    ] {
        let found = plain(&format!("## Root cause\n\n<!-- git-incident: {comment} -->\n{hedge}\n"));
        let one = found.iter().find(|d| d.rule == "suppression").expect(comment);
        assert!(one.message.contains(says), "{comment}: {}", one.message);
    }
}

#[test]
fn repairs_are_made_once_and_change_nothing_else() {
    let text = "# T\n\n## Summary\n\nIt hung.\n\n## Fix\n\nIt is taken once.\n\n### Detail\n\nx\n\n## Root cause\n\nThe lock in `f()`.\n\n<!-- git-incident: allow(blame) nobody -->\n## Action items\n\n- Add it. (Sam, A-1)\n- \n\n## Validation\n\n0 of 5 runs hung.\n";
    let fixed = fix::all("x.md", text, Profile::Bugfix, |document| {
        check(
            document,
            &Facts { known: &Known::default(), ledger: None, incident_missing: false },
            &Settings::new(),
        )
    })
    .expect("no conflict")
    .expect("something to repair");
    let order: Vec<&str> = fixed.lines().filter(|l| l.starts_with("## ")).collect();
    assert_eq!(order, ["## Summary", "## Root cause", "## Fix", "## Validation", "## Action items"]);
    assert!(!fixed.contains("git-incident: allow") && !fixed.contains("\n- \n"), "{fixed}");
    assert!(fixed.contains("## Fix\n\nIt is taken once.\n\n### Detail\n\nx\n\n"));
    let again = fix::all("x.md", &fixed, Profile::Bugfix, |document| {
        check(
            document,
            &Facts { known: &Known::default(), ledger: None, incident_missing: false },
            &Settings::new(),
        )
    });
    assert_eq!(again, Ok(None));
    assert_eq!(
        fix::all("x.md", "<<<<<<< a\n- \n=======\n>>>>>>> b\n", Profile::Bugfix, |_| Vec::new()),
        Err(fix::Refused::Merge)
    );
}

/// Facts that answer no to everything, so that every rule has something to say.
fn hostile() -> (Known, Ledger) {
    let (mut known, mut ledger) = (Known { repository: true, ..Known::default() }, Ledger::default());
    for rule in rules::ALL {
        let (k, l) = (rule.facts)();
        known.commits.extend(k.commits);
        known.paths.extend(k.paths);
        known.pulls.extend(k.pulls);
        known.identifiers.extend(k.identifiers);
        known.located.extend(k.located);
        known.tags.extend(k.tags);
        if let Some(l) = l {
            ledger.failed.extend(l.failed);
        }
    }
    (known, ledger)
}

proptest! {
    #[test]
    fn any_text_is_checked_and_repaired_once(
        text in r"(#{1,3} |(Summary|Fix|Root cause|Validation|Action items|Timeline)[.:]?|\*\*|\n\n|\n|> |- |- \[ \] |1\. |\| |`|```|<!-- git-incident: (allow|allow-file)\((blame|hedging|x)\) |-->|commit 0badc0ffee11|`src/laoder\.c`|TODO|None|14:0[0-9]|probably|Bob forgot |\(Alex, A-1\)|all models|8 GPUs|100 runs|ü|“|”|[a-z .]{0,6}|\r\n|\t){0,60}"
    ) {
        let (known, ledger) = hostile();
        let judge = |document: &Document<'_>| {
            check(document, &Facts { known: &known, ledger: Some(&ledger), incident_missing: true }, &Settings::new())
        };
        let found = with("x.md", &text, &known, Some(&ledger), &Settings::new());
        for one in &found {
            prop_assert!(text.get(one.span.clone()).is_some(), "{:?}", one);
            prop_assert!(one.line >= 1 && one.column >= 1 && one.end_line >= one.line);
            for edit in one.fix.iter().flat_map(|(_, edits)| edits) {
                prop_assert!(text.get(edit.range.clone()).is_some(), "{:?}", one);
            }
        }
        let checked = [output::Checked { path: "x.md".to_owned(), text: text.clone(), diagnostics: found }];
        let shown = output::human::render(&checked, false);
        prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control()));
        let _ = (output::github::render(&checked), output::sarif::log(&checked), output::json::view(&checked));
        if let Ok(Some(fixed)) = fix::all("x.md", &text, Profile::Bugfix, judge) {
            prop_assert_eq!(fix::all("x.md", &fixed, Profile::Bugfix, judge), Ok(None), "{:?} -> {:?}", text, fixed);
        }
    }

    #[test]
    fn any_bytes_are_checked(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        let document = Document::read("x.md", &text, Profile::Incident);
        let _ = wants(&document, &["example.org/a/b".to_owned()]);
        for one in plain(&text) {
            prop_assert!(text.get(one.span.clone()).is_some());
        }
    }
}
