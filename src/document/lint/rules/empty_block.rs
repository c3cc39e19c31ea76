//! Blocks without a word.

use crate::document::lint::blocks::Block;
use crate::document::lint::{Document, Facts, Findings, Rule, Severity, no_facts};

/// The rule.
pub const RULE: Rule = Rule {
    name: "empty-block",
    severity: Severity::Error,
    elsewhere: Some(Severity::Warning),
    about: "a block has a heading and nothing below it",
    docs: "A heading promises an answer. Where there is none, say so and why, or leave an optional block out.",
    bad: "## Summary\n\nIt hung.\n\n## Root cause\n\n## Fix\n\nThe lock is taken once.\n",
    good: "## Summary\n\nIt hung.\n\n## Root cause\n\nA lock in `load()` was taken twice.\n\n## Fix\n\nThe lock is taken \
           once.\n",
    facts: no_facts,
    check,
};

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    for (section, titled) in document.page.sections.iter().zip(&document.titled) {
        let Some((block, _)) = titled else { continue };
        let body = &document.page.text[section.whole.clone()];
        let said = body.lines().any(|line| {
            let line = line
                .trim_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '-' | '*' | '_' | '|' | ':'));
            let comment = line.starts_with("<!--") && line.ends_with("--");
            !(line.is_empty() || comment)
        });
        // Comments over several lines and images count through their leaves.
        let leaves = document.page.leaves_within(&section.whole);
        let comments_only = document
            .page
            .comments
            .iter()
            .any(|c| section.whole.start <= c.start && c.end <= section.whole.end);
        let subsections = document.page.sections.iter().any(|s| {
            s.heading.start >= section.whole.start
                && s.heading.end <= section.whole.end
                && !s.heading.is_empty()
        });
        let empty = leaves.is_empty() && !subsections && (!said || comments_only);
        // A lead has its words on its own line: the leaf starts before the section's body.
        let own_words = section.own.start > section.heading.start
            && document.page.text[section.own.clone()].chars().any(char::is_alphanumeric)
            && !comments_only;
        if empty && !own_words {
            let finding =
                findings.add(section.heading.clone(), format!("\"{}\" has nothing below it", section.title));
            match block {
                Block::Actions => {
                    finding.help("list each as what, owner and tracking link, or write \"None\" and why")
                }
                _ => finding.help("say it, or say that it is not known and why"),
            };
            if !Block::MANDATORY.contains(block) && *block != Block::Actions {
                finding.at_most(Severity::Warning);
            }
        }
    }
}
