//! The section on testing: what was run, on which tree, what may be ticked, and what is still missing.

use super::PullRequestInput;
use super::gates::{CheckChange, GateLine, Proof};
use super::limits::{Limits, join, list};
use super::table::{on, repro_verdict};
use crate::model::status::Verdict;
use crate::model::{describe, rate};

pub(super) fn testing(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let mut boxes = Vec::new();
    if !input.incident.repro.command.is_empty() {
        boxes.push(format!("- {}", repro(input, limits)));
    }
    let gates = list(input.gates, limits.gates, |gate| gate_box(gate, limits));
    boxes.extend((!gates.is_empty()).then_some(gates));
    let missing = list(&input.standing.missing, limits.missing, |m| limits.line(m));
    let missing = if missing.is_empty() { missing } else { format!("Not shown yet:\n\n{missing}") };
    join(&[changes(input, limits), judged(input), boxes.join("\n"), missing])
}

/// What the boxes speak of.
fn judged(input: &PullRequestInput<'_>) -> String {
    // Words stand between two lists, or they would be one.
    input.head.as_ref().map_or_else(
        || "What was recorded:".to_owned(),
        |head| {
            format!(
                "Judged at `{}` (tree `{}`). A box is ticked only for what was recorded on it.",
                head.commit.short(),
                head.tree.short()
            )
        },
    )
}

/// Nobody should have to find out from the diff that the checks were changed.
fn changes(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let lines = list(input.check_changes, limits.gates, CheckChange::line);
    if lines.is_empty() { lines } else { format!("**The checks themselves are changed:**\n\n{lines}") }
}

fn gate_box(gate: &GateLine, limits: Limits) -> String {
    let tick = if gate.ticked() { "x" } else { " " };
    let device = limits.line(&gate.device);
    let on = if device.is_empty() { String::new() } else { format!(" on {device}") };
    let record = gate.record.as_ref().map_or_else(String::new, |d| format!(" (record `{}`)", d.short()));
    let stated = limits.line(&gate.reason);
    let reason = match (&gate.proof, stated.is_empty()) {
        (Proof::Claimed(_), true) => ": made elsewhere, and nobody the team allows has signed it".to_owned(),
        (Proof::Missing, true) => ": nothing is recorded on this tree".to_owned(),
        (Proof::Counts(Verdict::Pass), _) | (_, true) => String::new(),
        (_, false) => format!(": {stated}"),
    };
    format!("[{tick}] gate {}: {}{on}{reason}{record}", limits.code(&gate.gate), gate.word())
}

/// The repro: ticked only when it passed often enough on a fix that the head holds.
fn repro(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let numbers = &input.standing.repro;
    let tick = if repro_verdict(input) == Verdict::Pass { "x" } else { " " };
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
    let elsewhere = match (&input.head, &input.standing.fix) {
        (Some(head), Some(_)) if !head.holds_fix => "; the head does not hold that fix",
        (Some(head), Some(fix)) if head.tree != fix.tree => "; the head has changed since",
        _ => "",
    };
    format!(
        "[{tick}] repro {}: {before}, {after}; {asked}{elsewhere}",
        limits.code(&describe::command(&input.incident.repro.command))
    )
}
