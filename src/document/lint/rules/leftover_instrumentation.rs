//! Instrumentation that was added to find the bug and is still in the code.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::document::lint::words::re_case;
use crate::document::lint::{
    CodePlace, Diagnostic, Document, Facts, Findings, Known, Rule, Settings, Severity,
};

/// The rule.
pub const RULE: Rule = Rule {
    name: "leftover-instrumentation",
    severity: Severity::Error,
    elsewhere: Some(Severity::Error),
    about: "an instrumentation tag of the investigation is still in the code",
    docs: "Instrumentation carries a tag, `DBG-` and a few digits in square brackets, so that one search finds all of it \
           when it has done its work. A tag that the document (or its incident's record) names, or one in a file that \
           the document names, is an error at the document; any other tag in the code is a warning at its line, since \
           somebody may still need it. Code is what the working tree tracks, or HEAD in a bare repository, without \
           Markdown.",
    bad: concat!("## How it was found\n\nConfirmed with [DB", "G-7af3] prints around the launch.\n"),
    good: concat!(
        "## How it was found\n\nConfirmed with [DB",
        "G-19c0] prints around the launch, removed since.\n"
    ),
    facts: || {
        let mut known = Known { repository: true, ..Known::default() };
        let place = CodePlace { path: "src/launch.c".to_owned(), line: 42 };
        known.tags.insert(concat!("[DB", "G-7af3]").to_owned(), vec![place]);
        (known, None)
    },
    check,
};

/// The shape of a tag; the placeholder of manuals, four times x, is none.
static TAG: LazyLock<Regex> = LazyLock::new(|| re_case(r"\[DBG-[A-Za-z0-9]{2,16}\]"));

/// The tags in a text.
pub fn tags_in(text: &str) -> impl Iterator<Item = &str> {
    TAG.find_iter(text).map(|m| m.as_str()).filter(|t| t[5..].bytes().any(|b| b.is_ascii_digit()))
}

/// Places that a document answers for: of tags it names, and of tags in files it names.
fn answers_for<'k>(document: &Document<'_>, tag: &str, places: &'k [CodePlace]) -> Vec<&'k CodePlace> {
    if document.page.text.contains(tag) {
        return places.iter().collect();
    }
    places.iter().filter(|p| p.path.len() > 3 && document.page.text.contains(&p.path)).collect()
}

fn check(document: &Document<'_>, facts: &Facts<'_>, findings: &mut Findings) {
    for (tag, places) in &facts.known.tags {
        let recorded = facts.ledger.is_some_and(|l| l.text.contains(tag.as_str()));
        let mine: Vec<&CodePlace> =
            if recorded { places.iter().collect() } else { answers_for(document, tag, places) };
        if mine.is_empty() {
            continue;
        }
        let span = document
            .page
            .text
            .find(tag.as_str())
            .map_or_else(|| document.place_of(None), |at| at..at + tag.len());
        let shown: Vec<String> = mine.iter().take(5).map(|p| format!("{}:{}", p.path, p.line)).collect();
        let more = mine.len().saturating_sub(5);
        let and = if more > 0 { format!(" and {more} more") } else { String::new() };
        findings
            .add(span, format!("instrumentation {tag} is still in the code: {}{and}", shown.join(", ")))
            .help("take it out: it has done its work");
    }
}

/// Tags in the code that no document answers for.
pub(in crate::document::lint) fn unclaimed(
    documents: &[Document<'_>],
    known: &Known,
    settings: &Settings,
) -> Vec<Diagnostic> {
    let severity = match settings.get(RULE.name) {
        Some(None) => return Vec::new(),
        Some(Some(set)) => *set,
        None => Severity::Warning,
    };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (tag, places) in &known.tags {
        for place in places {
            let claimed =
                documents.iter().any(|d| answers_for(d, tag, std::slice::from_ref(place)).contains(&place));
            if claimed || !seen.insert((tag, place)) || found.len() >= 100 {
                continue;
            }
            found.push(Diagnostic {
                path: place.path.clone(),
                span: 0..0,
                line: place.line as usize,
                column: 1,
                end_line: place.line as usize,
                end_column: 1,
                rule: RULE.name,
                severity,
                message: format!(
                    "instrumentation {tag} is in the code, and no document that was checked speaks of it"
                ),
                help: Some("take it out when it has done its work".to_owned()),
                fix: None,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_a_digit() {
        let text = format!("a {0}7af3] b {0}xxxx] c {0}9] [dbg-1234]", "[DBG-");
        assert_eq!(tags_in(&text).collect::<Vec<_>>(), [format!("{}7af3]", "[DBG-")]);
    }
}
