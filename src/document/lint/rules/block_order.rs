//! The order of the blocks.

use crate::document::lint::blocks::Block;
use crate::document::lint::{Document, Edit, Facts, Findings, Rule, Severity, no_facts};
use crate::document::page::{Section, Start};

/// The rule.
pub const RULE: Rule = Rule {
    name: "block-order",
    severity: Severity::Error,
    elsewhere: None,
    about: "the blocks of the standard do not stand in its order",
    docs: "Summary, Symptom, Root cause, Why it produced the symptom, Fix, How it was found, Why it slipped through, \
           Validation, Action items: a reader who knows one post-mortem finds their way in all. Blocks that the \
           standard does not name may stand anywhere. Asked of documents that follow the standard only. `--fix` moves \
           whole sections, without changing a byte of them, where every block is a heading of the same level.",
    bad: "## Summary\n\nIt hung.\n\n## Fix\n\nThe lock is taken once.\n\n## Root cause\n\nA lock in `load()` was taken \
          twice.\n\n## Validation\n\n0 of 20 runs hung.\n",
    good: "## Summary\n\nIt hung.\n\n## Root cause\n\nA lock in `load()` was taken twice.\n\n## Fix\n\nThe lock is \
           taken once.\n\n## Validation\n\n0 of 20 runs hung.\n",
    facts: no_facts,
    check,
};

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    let blocks: Vec<(usize, &Section, Block)> = document
        .page
        .sections
        .iter()
        .enumerate()
        .zip(&document.titled)
        .filter_map(|((at, section), titled)| {
            let (block, ours) = (*titled)?;
            let standing = Block::STANDARD.iter().position(|b| *b == block)?;
            (ours || Block::MANDATORY.contains(&block)).then_some((at, standing, section, block))
        })
        .map(|(at, _, section, block)| (at, section, block))
        .collect();
    // A block inside of another block is a detail of that one.
    let top = blocks.iter().map(|(_, s, _)| s.level).min().unwrap_or(0);
    let blocks: Vec<_> = blocks.into_iter().filter(|(_, s, _)| s.level == top).collect();
    let mut highest: Option<Block> = None;
    let mut wrong = Vec::new();
    for (_, section, block) in &blocks {
        match highest {
            Some(before) if *block < before => wrong.push((*section, *block, before)),
            _ => highest = Some(*block),
        }
    }
    let repair = if wrong.is_empty() { None } else { repair(document, &blocks) };
    for (n, (section, block, before)) in wrong.iter().enumerate() {
        let finding = findings.add(
            section.heading.clone(),
            format!("\"{}\" stands behind \"{}\"", block.name(), before.name()),
        );
        finding.help(format!("move \"{}\" before \"{}\"", block.name(), before.name()));
        if n == 0
            && let Some(edit) = &repair
        {
            finding.fix("put the blocks in order", vec![edit.clone()]);
        }
    }
}

/// The blocks with what follows them, sorted; `None` where moving could change more than the order.
fn repair(document: &Document<'_>, blocks: &[(usize, &Section, Block)]) -> Option<Edit> {
    let text = document.page.text;
    let first = blocks.first()?.1;
    if blocks.iter().any(|(_, s, _)| s.start != Start::Heading) {
        return None;
    }
    // From each block to the next one, or to where their common section ends.
    let from = text[..first.heading.start].rfind('\n').map_or(0, |at| at + 1);
    let end = document
        .page
        .sections
        .iter()
        .find(|s| s.heading.start > first.heading.start && s.level < first.level && s.start == Start::Heading)
        .map_or(text.len(), |s| s.heading.start);
    let mut starts: Vec<usize> = Vec::new();
    for (_, section, _) in blocks {
        if !(section.heading.start >= from && section.heading.start < end) {
            return None;
        }
        starts.push(text[..section.heading.start].rfind('\n').map_or(0, |at| at + 1));
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut pieces: Vec<(Block, String)> = Vec::new();
    for (n, (_, _, block)) in blocks.iter().enumerate() {
        let to = starts.get(n + 1).copied().unwrap_or(end);
        let mut piece = text.get(starts[n]..to)?.to_owned();
        // The last one may lack the empty line that another heading needs before it.
        while !piece.ends_with("\n\n") && !piece.ends_with("\r\n\r\n") {
            piece.push_str(newline);
        }
        pieces.push((*block, piece));
    }
    pieces.sort_by_key(|(block, _)| *block);
    let mut with: String = pieces.into_iter().map(|(_, piece)| piece).collect();
    if end == text.len() {
        let keep = with.trim_end().len();
        with.truncate(keep);
        with.push_str(newline);
    }
    Some(Edit { range: from..end, with })
}
