//! "None" and not a word why.

use std::sync::LazyLock;

use regex::Regex;

use crate::document::lint::blocks::Block;
use crate::document::lint::words::re;
use crate::document::lint::{Document, Facts, Findings, Rule, Severity, no_facts};

/// The rule.
pub const RULE: Rule = Rule {
    name: "none-without-reason",
    severity: Severity::Error,
    elsewhere: Some(Severity::Warning),
    about: "Action items or Why it slipped through say \"None\" without a reason",
    docs: "That nothing is to do is a decision, and a decision has a reason: \"None: the fix is sufficient and no \
           class-of-bug follow-up is warranted\". The same holds for \"no good reason\" in Why it slipped through: say \
           what was looked at. Validation and the mandatory blocks cannot be \"None\" at all.",
    bad: "## Action items\n\nNone.\n",
    good: "## Action items\n\nNone: the check runs in every build now, and no other caller takes two locks.\n",
    facts: no_facts,
    check,
};

static NONE: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"^\s*(?:none|n/a|na|nothing|no action items?|no actions?(?: needed| required)?|not applicable|no follow-?ups?|-|—)(?:\s+(?:needed|required|at this time|for now|yet|identified|planned))*\s*[.!:;,—–-]*\s*",
    )
});

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    let asked = [Block::Actions, Block::Slipped].into_iter().chain(Block::MANDATORY);
    for block in asked {
        let leaves: Vec<_> = document.prose(block).collect();
        let Some((first, mask)) = leaves.first() else { continue };
        // The lead's own words are not the answer: `Action items. None.`
        let skip = lead_length(document, first.range.start, &first.prose);
        let words = mask.get(skip..).unwrap_or_default();
        let Some(found) = NONE.find(words).filter(|m| !m.as_str().trim().is_empty()) else { continue };
        let rest = &words[found.end()..];
        let ended = rest.is_empty()
            || found.as_str().trim_end().ends_with(['.', '!', ':', ';', ',', '—', '–', '-'])
            || rest.starts_with(|c: char| !c.is_alphanumeric());
        let reasons = rest.split_whitespace().filter(|w| w.chars().any(char::is_alphanumeric)).count();
        let more = leaves.len() > 1;
        if !ended && reasons > 0 {
            // "None of the tests ran …", "Nothing in the suite …": a sentence of its own.
            continue;
        }
        if reasons < 3 && !more {
            let at = skip + found.start()..skip + found.end();
            let finding = findings.add(
                first.prose.source(&at),
                format!(
                    "\"{}\" in \"{}\" needs a reason",
                    found.as_str().trim().trim_end_matches(['.', ',', ':']),
                    block.name()
                ),
            );
            match block {
                Block::Actions => finding
                    .help("write why, such as: None: the fix is sufficient, and no other code does this"),
                _ => finding.help("write what was looked at and why that is the answer"),
            };
        }
    }
}

/// How much of a leaf's plain text is the lead that starts its section.
pub(super) fn lead_length(
    document: &Document<'_>,
    start: usize,
    prose: &crate::document::page::Prose,
) -> usize {
    let Some(section) = document
        .page
        .sections
        .iter()
        .find(|s| s.start == crate::document::page::Start::Lead && s.heading.start == start)
    else {
        return 0;
    };
    prose.spans.iter().find(|s| s.source.end > section.heading.end).map_or(prose.text.len(), |s| {
        s.plain.start + section.heading.end.saturating_sub(s.source.start).min(s.plain.len())
    })
}
