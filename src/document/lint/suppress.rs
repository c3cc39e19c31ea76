//! Suppression by comment: `<!-- git-incident: allow(rule) reason -->` for its line or the next block,
//! `allow-file(rule)` for the document.

use std::ops::Range;

use super::rules::{self, suppression};
use super::{Document, Edit, Finding, Findings, Rule, Settings};
use crate::document::page::Kind;

/// One allowance.
struct Allow<'a> {
    rule: &'a str,
    /// Where it counts; `None`: everywhere.
    range: Option<Range<usize>>,
    comment: Range<usize>,
    alone: bool,
    used: bool,
}

/// Takes out what is allowed, and reports allowances that are unknown, unused or without a reason.
pub(super) fn apply<'r>(
    document: &Document<'_>,
    settings: &Settings,
    found: Vec<(&'r Rule, Finding)>,
) -> Vec<(&'r Rule, Finding)> {
    let mut findings = Findings::default();
    let mut allows = read(document, &mut findings);
    let mut kept: Vec<(&Rule, Finding)> = found
        .into_iter()
        .filter(|(rule, finding)| {
            let mut allowed = false;
            for allow in allows.iter_mut().filter(|a| a.rule == rule.name) {
                let hit = allow.range.as_ref().is_none_or(|r| {
                    r.start <= finding.span.start && finding.span.start < r.end.max(r.start + 1)
                });
                allow.used |= hit;
                allowed |= hit;
            }
            !allowed
        })
        .collect();
    for allow in allows.iter().filter(|a| !a.used && settings.get(a.rule) != Some(&None)) {
        let finding = findings.add(
            allow.comment.clone(),
            format!("nothing here is found by `{}`, so there is nothing to allow", allow.rule),
        );
        finding.help("remove the comment");
        // Of several rules in one comment only some may be idle: that is left to a person.
        if allow.alone {
            finding.fix("remove the comment", vec![removal(document.page.text, &allow.comment)]);
        }
    }
    kept.extend(findings.0.into_iter().take(super::MOST).map(|f| (&suppression::RULE, f)));
    kept
}

/// The comment, with its line when it stands alone on it.
fn removal(text: &str, comment: &Range<usize>) -> Edit {
    let line_start = text[..comment.start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[comment.end..].find('\n').map_or(text.len(), |at| comment.end + at + 1);
    let alone =
        text[line_start..comment.start].trim().is_empty() && text[comment.end..line_end].trim().is_empty();
    Edit { range: if alone { line_start..line_end } else { comment.clone() }, with: String::new() }
}

fn read<'a>(document: &Document<'a>, findings: &mut Findings) -> Vec<Allow<'a>> {
    let page = &document.page;
    let mut allows = Vec::new();
    for comment in &page.comments {
        let Some(rest) = page.comment(comment).strip_prefix("git-incident:") else { continue };
        let rest = rest.trim_start();
        let word_end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
        let (verb, behind) = rest.split_at(word_end);
        if behind.starts_with('=') {
            // `incident=… profile=…`: our own mark.
            continue;
        }
        let whole = match verb {
            "allow" => false,
            "allow-file" => true,
            _ => {
                findings
                    .add(comment.clone(), format!("`{}` is no word of this comment", short(verb)))
                    .help("write allow(RULE) reason, or allow-file(RULE) reason");
                continue;
            }
        };
        let inside = behind.trim_start().strip_prefix('(').and_then(|b| b.split_once(')'));
        let Some((names, reason)) = inside else {
            findings
                .add(comment.clone(), format!("`{verb}` names no rule"))
                .help(format!("write {verb}(RULE) reason"));
            continue;
        };
        if reason.trim_matches([' ', ':', '-', '—', '\n', '\t', '.']).is_empty() {
            findings
                .add(comment.clone(), "the comment gives no reason")
                .help("say behind the bracket why this is fine here");
        }
        let names: Vec<&str> = names.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
        let range = (!whole).then(|| reach(document, comment));
        for name in &names {
            if rules::named(name).is_none() {
                let finding = findings.add(comment.clone(), format!("there is no rule `{}`", short(name)));
                match rules::closest(name) {
                    Some(known) => finding.help(format!("did you mean `{known}`?")),
                    None => finding.help("docs/RULES.md lists them"),
                };
                continue;
            }
            let alone = names.len() == 1;
            allows.push(Allow {
                rule: name,
                range: range.clone(),
                comment: comment.clone(),
                alone,
                used: false,
            });
        }
    }
    allows
}

fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// Where an allowance counts: its own line where that holds more than the comment, else the next block. The next
/// block is a heading, or a whole list, table or paragraph.
fn reach(document: &Document<'_>, comment: &Range<usize>) -> Range<usize> {
    let text = document.page.text;
    let line_start = text[..comment.start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[comment.end..].find('\n').map_or(text.len(), |at| comment.end + at);
    let aside = |part: &str| part.trim_matches(|c: char| c.is_whitespace() || c == '>').is_empty();
    if !aside(&text[line_start..comment.start]) || !aside(&text[comment.end..line_end]) {
        return line_start..line_end;
    }
    let from = comment.end;
    let leaves = &document.page.leaves;
    let first = leaves.partition_point(|l| l.range.start < from);
    let heading = document.page.sections.iter().find(|s| s.heading.start >= from && !s.heading.is_empty());
    let Some(leaf) = leaves.get(first) else {
        return from..heading.map_or(text.len(), |s| s.heading.end);
    };
    if let Some(section) = heading.filter(|s| s.heading.start < leaf.range.start) {
        return from..section.heading.end;
    }
    let same = |kind: &Kind| {
        matches!(
            (&leaf.kind, kind),
            (Kind::Item { .. }, Kind::Item { .. }) | (Kind::Row { .. }, Kind::Row { .. })
        )
    };
    let limit = heading.map_or(text.len(), |s| s.heading.start);
    let last = leaves[first..]
        .iter()
        .skip(1)
        .take_while(|l| same(&l.kind) && l.range.start < limit)
        .last()
        .unwrap_or(leaf);
    from..last.range.end
}
