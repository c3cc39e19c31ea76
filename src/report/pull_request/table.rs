//! Before and after, as a table.

use super::PullRequestInput;
use super::gates::{GateLine, Proof};
use super::limits::{Limits, more};
use crate::model::incident::ReproRun;
use crate::model::status::Verdict;
use crate::model::{EventId, describe};

pub(super) fn before_and_after(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let mut rows = Vec::new();
    if !input.incident.repro.command.is_empty() {
        rows.push(repro(input, limits));
    }
    rows.extend(input.gates.iter().take(limits.gates).map(|gate| row(&gate_cells(gate, limits))));
    if rows.is_empty() {
        return String::new();
    }
    rows.extend(
        more(input.gates.len(), limits.gates)
            .map(|more| row(&[more, String::new(), String::new(), String::new()])),
    );
    format!("| check | before | after | verdict |\n|---|---|---|---|\n{}", rows.join("\n"))
}

/// A row whose cells hold no border.
fn row(cells: &[String; 4]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |", cells.join(" | "))
}

fn gate_cells(gate: &GateLine, limits: Limits) -> [String; 4] {
    let before = match &gate.before {
        Some((verdict, Some(tree))) => format!("{verdict} (tree `{}`)", tree.short()),
        Some((verdict, None)) => verdict.to_string(),
        None => "no record".to_owned(),
    };
    let after = match gate.proof {
        Proof::Missing => "no record".to_owned(),
        Proof::Pending => "waits for its device".to_owned(),
        Proof::Counts(verdict) | Proof::Claimed(verdict) => {
            let device = limits.line(&gate.device);
            if device.is_empty() { verdict.to_string() } else { format!("{verdict} on {device}") }
        }
    };
    [format!("gate {}", limits.code(&gate.gate)), before, after, gate.word()]
}

/// What the repro's runs come to.
pub(super) fn repro_verdict(input: &PullRequestInput<'_>) -> Verdict {
    let numbers = &input.standing.repro;
    if numbers.fix_failures > 0 {
        Verdict::Fail
    } else if input.standing.validation_ok && input.head.as_ref().is_none_or(|h| h.holds_fix) {
        Verdict::Pass
    } else if numbers.fix_runs > 0 {
        Verdict::Inconclusive
    } else {
        Verdict::NotRun
    }
}

fn repro(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let numbers = &input.standing.repro;
    let seen = |failures: u32, runs: u32, series: &[EventId]| {
        if runs == 0 {
            return "never run".to_owned();
        }
        format!("bug seen in {failures} of {runs} runs{}", on(input, series, limits))
    };
    row(&[
        limits.code(&describe::command(&input.incident.repro.command)),
        seen(numbers.failures, numbers.runs, &input.standing.rate_series),
        seen(numbers.fix_failures, numbers.fix_runs, &input.standing.fix_series),
        repro_verdict(input).to_string(),
    ])
}

/// The machines of series of runs, each once.
pub(super) fn on(input: &PullRequestInput<'_>, series: &[EventId], limits: Limits) -> String {
    let mut seen: Vec<String> = Vec::new();
    let runs = &input.incident.repro.runs;
    let machine = |r: &ReproRun| limits.line(&describe::machine(&r.environment));
    for name in runs.iter().filter(|r| series.contains(&r.stamp.event)).map(machine) {
        if !name.is_empty() && !seen.contains(&name) && seen.len() < limits.people.min(4) {
            seen.push(name);
        }
    }
    if seen.is_empty() { String::new() } else { format!(" (on {})", seen.join("; ")) }
}
