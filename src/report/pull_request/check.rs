//! A description held against the record: what it says, and what is known of its head.

use super::boxes::{self, Item};
use super::gates::{CheckChange, GateLine, Proof};
use super::{Head, markers};
use crate::model::incident::Incident;
use crate::model::status::Verdict;
use crate::report::standing::Standing;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The check fails.
    Error,
    /// It is said, and the check goes on.
    Warning,
}

impl Severity {
    /// The word, which is also GitHub's name of the annotation.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The line of the description, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The rule.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, and what to do about it.
    pub message: String,
}

/// What is known of the head of a request.
pub struct Facts<'a> {
    /// Whether this clone has any ledger.
    pub has_ledger: bool,
    /// The incident that the description names, when it is here.
    pub incident: Option<(&'a Incident, &'a Standing)>,
    /// Whether commits of the request belong to an incident.
    pub concerns_incident: bool,
    /// The head.
    pub head: &'a Head,
    /// What is known of each gate that is due there.
    pub gates: &'a [GateLine],
    /// What the request does to its own checks.
    pub changes: &'a [CheckChange],
    /// Whether the head has a file at this path.
    pub has_file: &'a dyn Fn(&str) -> bool,
    /// Whether records that were made elsewhere and that nobody signed may stand behind a tick.
    pub accept_claimed: bool,
}

/// The incident that a description names: by the trailer at its end, else in its block; with its position.
pub fn named_incident(body: &str) -> Option<(String, usize)> {
    let word = |text: &str| {
        let word = text.trim();
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.#".contains(&b);
        ((1..=100).contains(&word.len()) && word.bytes().all(plain)).then(|| word.to_owned())
    };
    let mut lines = Vec::new();
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        lines.push((at, line.trim_end()));
        at += line.len();
    }
    let last = lines.iter().rev().skip_while(|(_, l)| l.is_empty()).take_while(|(_, l)| !l.is_empty());
    for (at, line) in last {
        if let Some((key, value)) = line.split_once(':')
            && key.eq_ignore_ascii_case("incident")
            && !value.trim().eq_ignore_ascii_case("none")
            && let Some(name) = word(value)
        {
            return Some((name, *at));
        }
    }
    let found = markers::find(body).ok()?;
    Some((word(in_block(&found.block)?)?, found.before.len()))
}

/// The incident that a block names.
fn in_block(block: &str) -> Option<&str> {
    let (_, rest) = block.split_once("Incident `")?;
    rest.split_once('`').map(|(name, _)| name)
}

/// Holds a description against what is known. Total; in the order of the description.
pub fn check(body: &str, facts: &Facts<'_>) -> Vec<Diagnostic> {
    let lines = std::iter::once(0).chain(body.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut check = Check { body, lines, found: Vec::new() };
    let items = boxes::read(body);
    let block = markers::find(body);
    let named = named_incident(body);
    let start = block.as_ref().map_or(0, |b| b.before.len());
    check.identity(facts, named.as_ref(), block.is_ok());
    match &block {
        Ok(found) => {
            if found.edited() {
                check.warn(start, "block-edited", "the generated part was edited by hand: git incident pr writes it anew; put your own words outside of it");
            }
            let meant = facts.incident.and_then(|(incident, _)| incident.id.as_ref());
            if let (Some(named), Some(meant)) = (in_block(&found.block), meant)
                && named != meant.short()
            {
                let meant = meant.short();
                check.error(start, "incident-mismatch", format!("the generated part is about incident {named}, and the last paragraph names {meant}: git incident pr writes it anew"));
            }
            let marker = start + body[start..].find("<!--").unwrap_or_default();
            if !boxes::is_comment(body, marker) {
                check.error(start, "markers", "the lines that begin and end the generated part stand in a block of code: git incident pr writes it anew");
            }
            check.behind(facts, &items, start, &found.block);
        }
        Err(markers::Problem::Missing) if facts.concerns_incident || named.is_some() => {
            check.warn(0, "no-block", "commits of this request belong to an incident, and the description has no generated part: git incident pr prints it");
        }
        Err(markers::Problem::Missing) => {}
        Err(problem) => {
            check.error(0, "markers", format!("{}: git incident pr writes it anew", problem.explain()));
        }
    }
    if block.is_ok() || facts.concerns_incident || named.is_some() {
        // What a list leaves out is believed of a list that nobody edited.
        let whole = block.as_ref().is_ok_and(|found| !found.edited());
        check.shown(facts, &items, start, whole);
    }
    check.ticks(facts, &items);
    for item in &items {
        if let Some(path) = item.postmortem()
            && !(facts.has_file)(path)
        {
            check.error(item.offset, "missing-postmortem", format!("the head has no {path}: commit the post-mortem (git incident postmortem draft), or take the line out"));
        }
    }
    check.found.sort_by_key(|d| (d.line, d.column));
    check.found
}

struct Check<'a> {
    body: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
    found: Vec<Diagnostic>,
}

impl Check<'_> {
    fn add(&mut self, offset: usize, rule: &'static str, severity: Severity, message: String) {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let line_start = self.lines.get(line - 1).copied().unwrap_or_default();
        let before = self.body.get(line_start..offset).unwrap_or_default();
        self.found.push(Diagnostic { line, column: before.chars().count() + 1, rule, severity, message });
    }

    fn error(&mut self, offset: usize, rule: &'static str, message: impl Into<String>) {
        self.add(offset, rule, Severity::Error, message.into());
    }

    fn warn(&mut self, offset: usize, rule: &'static str, message: impl Into<String>) {
        self.add(offset, rule, Severity::Warning, message.into());
    }

    /// Whether the incident it speaks of can be looked up.
    fn identity(&mut self, facts: &Facts<'_>, named: Option<&(String, usize)>, has_block: bool) {
        match (named, facts.incident) {
            (Some((name, at)), None) if facts.has_ledger => {
                self.error(*at, "unknown-incident", format!("the ledger here has no incident {name}: push its notes (git push origin refs/notes/incidents refs/notes/incidents-evidence), and fetch them here"));
            }
            (Some((name, at)), None) => {
                self.error(*at, "no-ledger", format!("cannot tell whether this is true of incident {name}: no ledger was fetched here: git fetch origin '+refs/notes/incidents*:refs/notes/incidents*'"));
            }
            (None, _) if has_block => {
                self.error(
                    0,
                    "no-incident",
                    "the generated part names no incident: git incident pr writes it anew",
                );
            }
            _ => {}
        }
        let trailer = named.is_some_and(|(_, at)| self.body[*at..].starts_with(['I', 'i']));
        if has_block && named.is_some() && !trailer {
            let end = self.body.trim_end().len();
            self.warn(
                end,
                "no-trailer",
                "the last paragraph has no line \"Incident: ID\", so a squash merge loses the link",
            );
        }
    }

    /// Ticks, wherever they stand.
    fn ticks(&mut self, facts: &Facts<'_>, items: &[Item]) {
        for item in items.iter().filter(|i| i.ticked == Some(true)) {
            if let Some(id) = item.gate() {
                self.gate_tick(facts, item, id);
            } else if item.is_repro() {
                let proven = facts.incident.is_some_and(|(_, standing)| standing.validation_ok);
                if !proven {
                    self.error(item.offset, "ticked-without-record", "the repro is ticked, and the record does not show that it passed often enough on the fix: git incident repro run --at HEAD");
                } else if !facts.head.holds_fix {
                    self.error(item.offset, "ticked-without-record", "the repro is ticked, and the head does not hold the fix that passed it: git incident link HEAD --as fix");
                }
            } else {
                // In other words it is a claim all the same.
                for gate in facts.gates.iter().filter(|gate| !gate.ticked() && item.says(&gate.gate)) {
                    self.gate_tick(facts, item, &gate.gate);
                }
            }
        }
    }

    fn gate_tick(&mut self, facts: &Facts<'_>, item: &Item, id: &str) {
        let rule = "ticked-without-record";
        let tree = facts.head.tree.short();
        let Some(gate) = facts.gates.iter().find(|g| g.gate == id) else {
            self.error(
                item.offset,
                rule,
                format!("gate {id} is ticked, and no gate of that name is due at the head"),
            );
            return;
        };
        match gate.proof {
            Proof::Counts(Verdict::Pass) => {}
            Proof::Counts(verdict) | Proof::Claimed(verdict) if verdict != Verdict::Pass => {
                self.error(
                    item.offset,
                    rule,
                    format!("gate {id} is ticked, and its record on tree {tree} says {verdict}"),
                );
            }
            Proof::Counts(_) | Proof::Claimed(_) => {
                let message = format!(
                    "gate {id} is ticked, and its record on tree {tree} is only claimed: it was made elsewhere, and nobody whom [records] signers allows has signed it"
                );
                if facts.accept_claimed {
                    self.warn(item.offset, "claimed", message);
                } else {
                    self.error(item.offset, rule, message);
                }
            }
            Proof::Pending => {
                self.error(item.offset, rule, format!("gate {id} is ticked, and waits for its device"));
            }
            Proof::Missing => {
                let why = if gate.reason.is_empty() { String::new() } else { format!(" ({})", gate.reason) };
                self.error(item.offset, rule, format!("gate {id} is ticked, and nothing is recorded for it on tree {tree}{why}: git incident validate"));
            }
        }
    }

    /// Whether what does not pass is to be seen.
    fn shown(&mut self, facts: &Facts<'_>, items: &[Item], start: usize, whole: bool) {
        let boxed: std::collections::BTreeSet<&str> = items.iter().filter_map(Item::gate).collect();
        let hidden: Vec<_> =
            facts.gates.iter().filter(|g| !g.ticked() && !boxed.contains(g.gate.as_str())).collect();
        let cut = items.windows(2).filter(|pair| pair[0].gate().is_some()).find_map(|pair| pair[1].more());
        if !(whole && cut.is_some_and(|more| more >= hidden.len())) {
            for gate in hidden {
                self.error(
                    start,
                    "gate-not-shown",
                    format!(
                        "gate {} is {} at the head, and the description does not show it",
                        gate.gate,
                        gate.word()
                    ),
                );
            }
        }
        let visible = boxes::visible(self.body);
        for change in facts.changes.iter().filter(|c| c.may_weaken()) {
            if !visible.contains(&boxes::squeezed(&change.line())) {
                self.error(
                    start,
                    "check-change-not-shown",
                    format!("{}, and the description does not say so", change.line().replace('`', "")),
                );
            }
        }
    }

    /// Whether it speaks of this head, as it stands now.
    fn behind(&mut self, facts: &Facts<'_>, items: &[Item], start: usize, block: &str) {
        let again = "git incident pr writes it anew";
        if block.contains("(tree `") && !block.contains(&format!("(tree `{}`)", facts.head.tree.short())) {
            self.warn(
                start,
                "behind",
                format!(
                    "the generated part was made for another commit than the head {}: {again}",
                    facts.head.commit.short()
                ),
            );
        }
        for gate in facts.gates.iter().filter(|g| g.ticked()) {
            let own = items.iter().find(|item| item.gate() == Some(gate.gate.as_str()));
            if let Some(item) = own.filter(|item| item.ticked == Some(false)) {
                self.warn(item.offset, "behind", format!("gate {} passes by now: {again}", gate.gate));
            }
        }
    }
}

#[cfg(test)]
mod tests;
