//! The check of post-mortems: one file per rule below [`rules`], each the whole story of its rule.
//!
//! Pure: the document is bytes, and what the repository and the ledger know comes in as [`Facts`]. Any text is read,
//! nothing panics, every finding lies within the text, and nothing is ever changed but by the edits that a finding
//! carries ([`fix`]).

pub mod blocks;
pub mod catalog;
pub mod doc;
pub mod facts;
pub mod fix;
pub mod output;
pub mod rules;
mod suppress;
mod words;

use std::collections::BTreeMap;
use std::ops::Range;

pub use crate::model::lint::Severity;
pub use doc::{Document, Profile};
pub use facts::{CodePlace, Facts, FailedAttempt, Known, Ledger, Presence, Wants};

/// The largest document that is read, in bytes.
pub const MAX_BYTES: usize = 8 << 20;

/// The most findings of one rule in one document; one more says how many there were.
const MOST: usize = 50;

/// A rule: its name, what it weighs, what it is for, examples that tests hold it to, and its check.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its stable name, in kebab case.
    pub name: &'static str,
    /// What a finding weighs in a document that follows our standard.
    pub severity: Severity,
    /// What it weighs in any other document; `None` where it is not asked of those.
    pub elsewhere: Option<Severity>,
    /// What it finds, in one line.
    pub about: &'static str,
    /// Why, what counts, what does not: Markdown.
    pub docs: &'static str,
    /// A document that it finds fault with.
    pub bad: &'static str,
    /// The same without the fault.
    pub good: &'static str,
    /// What repository and ledger say in the examples.
    pub facts: fn() -> (Known, Option<Ledger>),
    /// The check.
    pub check: fn(&Document<'_>, &Facts<'_>, &mut Findings),
}

/// No repository and no ledger: what most examples need.
pub(crate) fn no_facts() -> (Known, Option<Ledger>) {
    (Known::default(), None)
}

/// A replacement of a range of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What goes.
    pub range: Range<usize>,
    /// What comes.
    pub with: String,
}

/// A finding as a rule makes it.
#[derive(Debug, Clone)]
pub struct Finding {
    span: Range<usize>,
    message: String,
    help: Option<String>,
    severity: Option<Severity>,
    fix: Option<(String, Vec<Edit>)>,
    elsewhere: Option<CodePlace>,
}

impl Finding {
    /// What to do about it.
    pub fn help(&mut self, text: impl Into<String>) -> &mut Self {
        self.help = Some(text.into());
        self
    }

    /// It weighs no more than this.
    pub fn at_most(&mut self, severity: Severity) -> &mut Self {
        self.severity = Some(severity);
        self
    }

    /// A mechanical repair that keeps the meaning: what it does, and the edits.
    pub fn fix(&mut self, what: impl Into<String>, edits: Vec<Edit>) -> &mut Self {
        self.fix = Some((what.into(), edits));
        self
    }
}

/// Where rules put what they find.
#[derive(Debug, Default)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// Adds a finding at a range of the source.
    pub fn add(&mut self, span: Range<usize>, message: impl Into<String>) -> &mut Finding {
        let at = self.0.len();
        self.0.push(Finding {
            span,
            message: message.into(),
            help: None,
            severity: None,
            fix: None,
            elsewhere: None,
        });
        &mut self.0[at]
    }
}

/// A finding as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The document, or the file of the code that is meant.
    pub path: String,
    /// Where, in bytes of the document; empty for another file.
    pub span: Range<usize>,
    /// First line, from 1.
    pub line: usize,
    /// First column, from 1, in characters.
    pub column: usize,
    /// Last line.
    pub end_line: usize,
    /// Column behind the last character.
    pub end_column: usize,
    /// The rule.
    pub rule: &'static str,
    /// What it weighs.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// A mechanical repair: what it does, and the edits.
    pub fix: Option<(String, Vec<Edit>)>,
}

/// What rules weigh here; `None` turns one off. Rules that are not named weigh what they weigh.
pub type Settings = BTreeMap<&'static str, Option<Severity>>;

/// What a document would like to know of its repository, whose homes on the network are these.
pub fn wants(document: &Document<'_>, homes: &[String]) -> Wants {
    let mut wants = Wants { incident: document.incident.map(str::to_owned), ..Wants::default() };
    rules::unknown_commit::want(document, homes, &mut wants);
    rules::unknown_path::want(document, homes, &mut wants);
    rules::unknown_reference::want(document, homes, &mut wants);
    rules::unknown_identifier::want(document, &mut wants);
    wants
}

/// Checks a document: findings in the order of the text.
pub fn check(document: &Document<'_>, facts: &Facts<'_>, settings: &Settings) -> Vec<Diagnostic> {
    let mut all = Vec::new();
    for &rule in rules::ALL {
        let mut findings = Findings::default();
        (rule.check)(document, facts, &mut findings);
        let total = findings.0.len();
        for mut finding in findings.0.into_iter().take(MOST) {
            finding.span = within(document.page.text, finding.span);
            all.push((rule, finding));
        }
        if total > MOST {
            let place = document.place_of(None);
            let mut more = Findings::default();
            more.add(place, format!("{} more findings of `{}` are not shown", total - MOST, rule.name));
            all.extend(more.0.into_iter().map(|f| (rule, f)));
        }
    }
    let found = suppress::apply(document, settings, all);
    let mut shown: Vec<Diagnostic> =
        found.into_iter().filter_map(|(rule, f)| weigh(document, rule, f, settings)).collect();
    shown.sort_by(|a, b| {
        (a.span.start, a.span.end, a.rule, &a.message).cmp(&(b.span.start, b.span.end, b.rule, &b.message))
    });
    shown
}

fn weigh(document: &Document<'_>, rule: &Rule, finding: Finding, settings: &Settings) -> Option<Diagnostic> {
    let base = if document.house { Some(rule.severity) } else { rule.elsewhere };
    let severity = match (settings.get(rule.name), finding.severity) {
        (Some(None), _) => return None,
        // "Cannot tell" stays a note, whatever the rule weighs.
        (Some(Some(_)), Some(Severity::Note)) => Severity::Note,
        (Some(Some(set)), _) => *set,
        (None, most) => base?.min(most.unwrap_or(Severity::Error)),
    };
    let page = &document.page;
    let (from, to) =
        (page.lines.place(page.text, finding.span.start), page.lines.place(page.text, finding.span.end));
    let mut shown = Diagnostic {
        path: document.path.to_owned(),
        span: finding.span,
        line: from.line,
        column: from.column,
        end_line: to.line,
        end_column: to.column,
        rule: rule.name,
        severity,
        message: finding.message,
        help: finding.help,
        fix: finding.fix,
    };
    if let Some(place) = finding.elsewhere {
        shown.path = place.path;
        shown.line = place.line as usize;
        shown.end_line = shown.line;
        (shown.column, shown.end_column) = (1, 1);
        shown.span = 0..0;
    }
    Some(shown)
}

/// The range, cut to the text and to whole characters.
fn within(text: &str, range: Range<usize>) -> Range<usize> {
    let floor = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(range.start);
    start..floor(range.end).max(start)
}

/// A diagnostic about a file that could not be read as a document.
pub fn unreadable(path: &str, line: usize, column: usize, message: String, help: &str) -> Diagnostic {
    Diagnostic {
        path: path.to_owned(),
        span: 0..0,
        line,
        column,
        end_line: line,
        end_column: column,
        rule: rules::unreadable::RULE.name,
        severity: Severity::Error,
        message,
        help: Some(help.to_owned()),
        fix: None,
    }
}

/// Diagnostics for instrumentation tags that stand in the code though no document that was checked speaks of them.
pub fn unclaimed_tags(documents: &[Document<'_>], known: &Known, settings: &Settings) -> Vec<Diagnostic> {
    rules::leftover_instrumentation::unclaimed(documents, known, settings)
}

#[cfg(test)]
mod tests;
