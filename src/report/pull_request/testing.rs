//! The section on testing: what was run, how often, where, and what is still missing.

use super::sections::join;
use super::{Limits, PullRequestInput};
use crate::model::incident::ReproRun;
use crate::model::status::Verdict;
use crate::model::{EventId, describe, rate};

pub(super) fn testing(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let incident = input.incident;
    let standing = input.standing;
    let mut items = Vec::new();
    if !incident.repro.command.is_empty() {
        items.push(repro(input, limits));
    }
    let tree = standing.fix.as_ref().map(|f| &f.tree);
    for gate in describe::newest_gates(incident) {
        let here = tree.is_some() && gate.tree.as_ref() == tree;
        let tick = if here && gate.verdict == Verdict::Pass { "x" } else { " " };
        let device = limits.line(&gate.device);
        let on = if device.is_empty() { String::new() } else { format!(" on {device}") };
        let elsewhere = if here { "" } else { ", for another tree than the fix" };
        let record =
            gate.descriptor.as_ref().map_or_else(String::new, |d| format!(" (record `{}`)", d.short()));
        items.push(format!(
            "[{tick}] gate {}: {}{on}{elsewhere}{record}",
            limits.code(&gate.gate),
            gate.verdict
        ));
    }
    let missing = limits.list(standing.missing.iter().map(|m| limits.line(m)).collect());
    let missing = if missing.is_empty() { missing } else { format!("Not shown yet:\n\n{missing}") };
    join(vec![limits.list(items), missing])
}

/// The repro: ticked only when it passed often enough on the fix.
fn repro(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let numbers = &input.standing.repro;
    let tick = if input.standing.validation_ok { "x" } else { " " };
    let before = if numbers.runs == 0 {
        "never run without the fix".to_owned()
    } else {
        format!(
            "without the fix the bug was seen in {} of {} runs{}",
            numbers.failures,
            numbers.runs,
            on(input, &input.standing.rate_series, limits)
        )
    };
    let asked = if numbers.needed == rate::NEVER {
        "how many passes are needed is unknown".to_owned()
    } else {
        format!("the rate asks for {} passes", numbers.needed)
    };
    let after = match &input.standing.fix {
        None => "no fix to run".to_owned(),
        Some(fix) if numbers.fix_runs == 0 => format!("never run on the fix `{}`", fix.commit.short()),
        Some(fix) => format!(
            "on the fix `{}` in {} of {} runs{}",
            fix.commit.short(),
            numbers.fix_failures,
            numbers.fix_runs,
            on(input, &input.standing.fix_series, limits)
        ),
    };
    format!(
        "[{tick}] {}: {before}, {after}; {asked}",
        limits.code(&describe::command(&input.incident.repro.command))
    )
}

/// The machines of series of runs, each once.
fn on(input: &PullRequestInput<'_>, series: &[EventId], limits: Limits) -> String {
    let mut seen: Vec<String> = Vec::new();
    let runs = &input.incident.repro.runs;
    let machine = |r: &ReproRun| limits.line(&describe::machine(&r.environment));
    for name in runs.iter().filter(|r| series.contains(&r.stamp.event)).map(machine) {
        if !name.is_empty() && !seen.contains(&name) && seen.len() < limits.items.min(8) {
            seen.push(name);
        }
    }
    if seen.is_empty() { String::new() } else { format!(" (on {})", seen.join("; ")) }
}
