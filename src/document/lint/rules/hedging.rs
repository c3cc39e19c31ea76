//! Hedging where the document must know.

use std::sync::LazyLock;

use regex::Regex;

use crate::document::lint::blocks::Block;
use crate::document::lint::words::{after, before, re};
use crate::document::lint::{Document, Facts, Findings, Rule, Severity, no_facts};

/// The rule.
pub const RULE: Rule = Rule {
    name: "hedging",
    severity: Severity::Warning,
    elsewhere: Some(Severity::Warning),
    about: "Root cause, Fix or Validation hedges",
    docs: "A post-mortem is written when the cause is known: a mechanism, not a hypothesis. Found are \"likely\", \
           \"probably\", \"may have\", \"seems to\", \"we believe\" and the like, in Root cause, Fix and Validation only. \
           \"more likely to\" (a rate), \"may\" as a permission, a race that \"might read\" old data, quotations, and what \
           was suspected and then refuted are fine. What is truly unknown belongs under Open questions.",
    bad: "## Root cause\n\nThe ring flag was probably read before it was written.\n",
    good: "## Root cause\n\nThe ring flag was read before it was written. A larger batch makes that more likely.\n",
    facts: no_facts,
    check,
};

static HEDGE: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:likely|probabl[ye]|possibly|perhaps|maybe|in theory|as far as (?:we|i) (?:know|can tell)|to (?:the best of )?our knowledge|presumabl[ye]|seemingly|apparently|supposedly|hopefully|we (?:believe|think|suspect|assume|guess)|i (?:believe|think|suspect|assume|guess)|(?:it )?(?:seems?|seemed|appears?|appeared) (?:to|that|like|as if|as though)|(?:may|might) have|could have been|(?:may|might) be (?:caused|due|related|because|the (?:cause|reason|root))|not (?:entirely |completely |totally |yet |fully |exactly |really )*(?:sure|clear|certain|known|understood)|unclear (?:why|what|whether|how|if|which|where|when)|(?:is|was|remains|remained|are|were|still) (?:still |yet |somewhat )?unclear|our (?:best )?(?:guess|theory|working theory|hypothesis)|best guess|suspected (?:root )?(?:cause|trigger|reason)|should (?:now )?(?:fix|resolve|work now|be (?:now )?(?:gone|fixed|resolved|solved|enough|sufficient|the cause)))\b",
    )
});

static REFUTED: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:disprove[dn]?|disproven|refuted|ruled out|turned out|wrong|but (?:it )?was(?:n['’]t| not)|rejected|at first|initially|first hypothesis|was not the cause|in hindsight|originally|previously)\b",
    )
});

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    for block in [Block::RootCause, Block::Fix, Block::Validation] {
        for (leaf, mask) in document.prose(block) {
            if document.is_quotation(leaf) || !HEDGE.is_match(mask) {
                continue;
            }
            for range in leaf.prose.sentences() {
                let Some(sentence) = mask.get(range.clone()) else { continue };
                if sentence.trim_end().ends_with('?') || REFUTED.is_match(sentence) {
                    continue;
                }
                let Some(found) = HEDGE.find_iter(sentence).find(|m| hedges(sentence, m.range())) else {
                    continue;
                };
                let at = range.start + found.start()..range.start + found.end();
                findings
                    .add(
                        leaf.prose.source(&at),
                        format!("\"{}\" hedges where \"{}\" must know", found.as_str(), block.name()),
                    )
                    .help("say what was shown and by which run, or move it to \"Open questions\"");
            }
        }
    }
}

/// "more likely", "less likely to", "how likely", "not likely": a rate, no doubt of the writer's.
fn hedges(sentence: &str, range: std::ops::Range<usize>) -> bool {
    let word = sentence[range.clone()].to_lowercase();
    let front = before(sentence, range.start, 24).to_lowercase();
    let last = front.split_whitespace().next_back().unwrap_or_default();
    if word == "likely" {
        let compared = ["more", "less", "most", "least", "how", "as", "equally", "not", "very", "un", "so"];
        let next = after(sentence, range.end, 12).trim_start().to_lowercase();
        return !compared.contains(&last) || last == "most" && !next.starts_with("to ") || last == "very";
    }
    if word.starts_with("not ") || word.contains("unclear") {
        return true;
    }
    if word == "could have been" {
        // What might have gone otherwise is no doubt about the cause.
        let next = after(sentence, range.end, 24).trim_start().to_lowercase();
        let otherwise = [
            "avoid", "prevent", "caught", "detect", "found", "noticed", "seen", "mitigat", "worse", "better",
            "shorter", "faster",
        ];
        return !otherwise.iter().any(|w| next.starts_with(w));
    }
    // "no longer appears to", "does not seem to" are observations; so is "it appears that" of a log line in quotes.
    !matches!(last, "not" | "longer" | "never")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubts(sentence: &str) -> bool {
        HEDGE.find_iter(sentence).any(|m| hedges(sentence, m.range()))
    }

    #[test]
    fn doubts_are_told_from_rates_and_other_outcomes() {
        for sentence in [
            "Maybe the lock was taken twice.",
            "It could have been the lock.",
            "The hang should be gone now.",
            "In theory this is enough.",
            "As far as we know, nothing else takes the lock.",
        ] {
            assert!(doubts(sentence), "{sentence}");
        }
        for sentence in [
            "A larger batch makes it more likely.",
            "This could have been avoided by a lock.",
            "The flag should be set by the writer.",
            "The ring might read old data.",
        ] {
            assert!(!doubts(sentence), "{sentence}");
        }
    }
}
