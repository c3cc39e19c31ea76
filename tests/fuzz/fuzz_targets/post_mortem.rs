//! Any bytes as a post-mortem: every rule, every output, every repair.

#![no_main]

use git_incident::document::lint::output::{Checked, github, human, json, sarif};
use git_incident::document::lint::{Document, Facts, Known, Ledger, Profile, Settings, check, fix, rules, wants};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    // Facts that say no to what the rules' own examples ask.
    let mut known = Known { repository: true, ..Known::default() };
    let mut ledger = Ledger::default();
    for rule in rules::ALL {
        let (k, l) = (rule.facts)();
        known.commits.extend(k.commits);
        known.paths.extend(k.paths);
        known.pulls.extend(k.pulls);
        known.identifiers.extend(k.identifiers);
        known.located.extend(k.located);
        known.tags.extend(k.tags);
        ledger.failed.extend(l.into_iter().flat_map(|l| l.failed));
    }
    let judge = |document: &Document<'_>| {
        check(document, &Facts { known: &known, ledger: Some(&ledger), incident_missing: false }, &Settings::new())
    };
    let document = Document::read("x.md", &text, Profile::Bugfix);
    let _ = wants(&document, &["example.org/a/b".to_owned()]);
    let diagnostics = judge(&document);
    for found in &diagnostics {
        assert!(text.get(found.span.clone()).is_some(), "{found:?} lies outside");
    }
    let checked = [Checked { path: "x.md".to_owned(), text: text.to_string(), diagnostics }];
    let shown = human::render(&checked, false);
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    let _ = (github::render(&checked), sarif::log(&checked), json::view(&checked));
    if let Ok(Some(fixed)) = fix::all("x.md", &text, Profile::Bugfix, judge) {
        assert_eq!(fix::all("x.md", &fixed, Profile::Bugfix, judge), Ok(None), "repairs are made once");
    }
});
