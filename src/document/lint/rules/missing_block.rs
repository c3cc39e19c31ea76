//! Blocks that no post-mortem may lack.

use crate::document::lint::blocks::Block;
use crate::document::lint::{Document, Facts, Findings, Profile, Rule, Severity, no_facts};

/// The rule.
pub const RULE: Rule = Rule {
    name: "missing-block",
    severity: Severity::Error,
    elsewhere: Some(Severity::Warning),
    about: "a mandatory block is missing",
    docs: "Summary, Root cause, Fix and Validation are mandatory; the profile `incident` asks for Impact and Timeline as \
           well. Action items may be empty, but then it says `None` and why. Other houses' names count (`Resolution`, \
           `Verification`, `What happened`). A document of another house (without our comment, and with fewer than \
           three of the four by our names) gets one warning that lists what it lacks.",
    bad: "## Summary\n\nThe loader hung.\n\n## Root cause\n\nA lock in `load()` was taken twice.\n\n## Fix\n\nIt is \
          taken once.\n\n## Action items\n\nNone, the fix is enough.\n",
    good: "## Summary\n\nThe loader hung.\n\n## Root cause\n\nA lock in `load()` was taken twice.\n\n## Fix\n\nIt is \
           taken once.\n\n## Validation\n\n0 of 20 runs hung. Not run on other machines.\n\n## Action items\n\nNone, \
           the fix is enough.\n",
    facts: no_facts,
    check,
};

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    if document.page.leaves.is_empty() && document.page.sections.len() == 1 {
        findings.add(0..0, "the document is empty");
        return;
    }
    let mut asked = Block::MANDATORY.to_vec();
    if document.profile == Profile::Incident && document.house {
        asked.extend([Block::Impact, Block::Timeline]);
    }
    let missing: Vec<Block> = asked.into_iter().filter(|b| !document.has(*b)).collect();
    let place = document.place_of(None);
    if document.house {
        for block in &missing {
            findings.add(place.clone(), format!("the block \"{}\" is missing", block.name())).help(format!(
                "add a heading \"{}\"; {}",
                block.name(),
                purpose(*block)
            ));
        }
        if !document.has(Block::Actions) {
            findings
                .add(place, "the block \"Action items\" is missing")
                .help("list each as what, owner and tracking link, or write \"None\" and why")
                .at_most(Severity::Warning);
        }
    } else if !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|b| format!("\"{}\"", b.name())).collect();
        findings
            .add(place, format!("there is nothing like {}", names.join(", ")))
            .help("this document follows another standard, so only this once: a reader will look for them");
    }
}

const fn purpose(block: Block) -> &'static str {
    match block {
        Block::Summary => "a reader who stops there should have the right answer",
        Block::RootCause => "it walks the mechanism from the cause on",
        Block::Fix => "it says what changed and why that addresses the cause",
        Block::Validation => "it says what was run, on what, how often, and what was not",
        Block::Impact => "it says who was hit, how hard and how long",
        _ => "it says what happened when, with the zone",
    }
}
