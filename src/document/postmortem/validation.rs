//! How we know that the fix works, and what nobody tried.

use serde_json::{Value, json};

use super::DraftInput;
use super::sources::{commit_name, cut, event, line, sentence};
use crate::model::incident::{GateResult, Incident, ReproRun};
use crate::model::status::{FailsWhen, Verdict};
use crate::model::time::human_duration;
use crate::model::{EventId, Oid, describe, markdown, rate};

/// A gate of the fix's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredGate {
    /// Its id.
    pub id: String,
    /// The device it asks for, in the configuration's word.
    pub device: String,
}

/// A gate that was let through because its device was missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingGate {
    /// Its id.
    pub id: String,
    /// The tree it has to judge.
    pub tree: Oid,
    /// Why it was not run.
    pub reason: String,
}

/// What the newest record under a descriptor says beside its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordFacts {
    /// The descriptor.
    pub descriptor: Oid,
    /// How often it ran.
    pub runs: u32,
    /// How many runs passed.
    pub passes: u32,
    /// Exit status of the last run.
    pub exit: Option<i64>,
    /// Time of all runs in milliseconds.
    pub millis: u64,
    /// Whether the working directory held nothing from before.
    pub fresh: bool,
    /// Whether it was made in this clone; else it is only claimed.
    pub counts: bool,
    /// The outputs.
    pub evidence: Option<Oid>,
}

/// Series of runs, and gates, shown.
const MOST: usize = 40;

pub(super) fn validation(input: &DraftInput<'_>) -> Value {
    let incident = input.incident;
    let numbers = &input.validation;
    let measured = series(incident, &numbers.rate_series);
    let judged = series(incident, &numbers.fix_series);
    let mut facts = Vec::new();
    let mut gaps = Vec::new();
    let mut not_run = Vec::new();

    if incident.repro.command.is_empty() {
        gaps.push("no repro command is recorded (`git incident repro set -- COMMAND…`).".to_owned());
    } else {
        facts.push(format!(
            "**Repro:** {}; the bug counts as seen when {} ({})",
            markdown::code(&describe::command(&incident.repro.command), 400),
            seen_when(incident),
            event(incident.repro.set_by)
        ));
    }
    let sources = measured.iter().map(|r| event(Some(r.stamp.event))).collect();
    facts.push(if numbers.runs == 0 {
        "**Without the fix:** never run".to_owned()
    } else {
        let (low, high) = rate::wilson(numbers.failures, numbers.runs);
        format!(
            "**Without the fix:** the bug was seen in {} of {} runs (95 % interval {:.0} % to {:.0} %) on {} ({})",
            numbers.failures,
            numbers.runs,
            low * 100.0,
            high * 100.0,
            machines(&measured).join("; "),
            cut(sources, 6).join(", ")
        )
    });
    facts.push(asked(input, &mut gaps));
    if numbers.fix_runs == 0 {
        not_run.push("The repro on the fix.".to_owned());
    } else {
        let on = machines(&judged);
        facts.push(format!("**Configurations of the fix:** {}: {}", on.len(), on.join("; ")));
        for machine in machines(&measured).into_iter().filter(|m| !on.contains(m)) {
            not_run.push(format!("The fix on {machine}, where the bug was measured."));
        }
    }

    let newest = describe::newest_gates(incident);
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        newest.into_iter().partition(|g| numbers.tree.is_some() && g.tree == numbers.tree);
    let passed = |id: &str| here.iter().any(|g| g.gate == id && g.verdict == Verdict::Pass);
    let waits = |id: &str| {
        numbers.waiting.iter().any(|w| w.id == id && numbers.tree.as_ref() == Some(&w.tree)) && !passed(id)
    };
    for gate in here.iter().filter(|g| !waits(&g.gate)) {
        let name = markdown::code(&gate.gate, 80);
        if matches!(gate.verdict, Verdict::NotRun | Verdict::Inconclusive) {
            not_run.push(format!("Gate {name} on the fix: {}.", gate.verdict));
        } else if record_of(input, gate).is_some_and(|r| !r.counts) {
            not_run.push(format!(
                "Gate {name} on the fix, in this clone: its record was made elsewhere and is only claimed."
            ));
        }
    }
    for gate in &elsewhere {
        if !here.iter().any(|g| g.gate == gate.gate) {
            not_run.push(format!(
                "Gate {} on the fix: recorded for other trees only.",
                markdown::code(&gate.gate, 80)
            ));
        }
    }
    for gate in &numbers.waiting {
        if numbers.tree.as_ref() == Some(&gate.tree) && waits(&gate.id) {
            not_run.push(format!(
                "Gate {} on the fix waits for its device: {}",
                markdown::code(&gate.id, 80),
                sentence(line(&gate.reason))
            ));
        }
    }
    for gate in &numbers.configured {
        if !waits(&gate.id) && !incident.gates.iter().any(|g| g.gate == gate.id) {
            not_run.push(format!(
                "Gate {} (device {}): configured, and this incident has no result of it.",
                markdown::code(&gate.id, 80),
                line(&gate.device)
            ));
        }
    }
    not_run.dedup();
    let mut not_run = cut(not_run, MOST);
    not_run.push(
        "Anything else: the ledger holds no run of the fix on another device, configuration or workload."
            .to_owned(),
    );
    json!({
        "facts": facts,
        "series": cut(judged.iter().map(|r| one_series(r)).collect(), MOST),
        "gates": cut(here.iter().map(|g| one_gate(input, g)).collect(), MOST),
        "not_run": not_run,
        "gaps": gaps,
    })
}

/// What the fix showed against what the rate asks for.
fn asked(input: &DraftInput<'_>, gaps: &mut Vec<String>) -> String {
    let numbers = &input.validation;
    let on = numbers
        .commit
        .as_ref()
        .map_or_else(String::new, |c| format!(" (commit {})", commit_name(input.web, c)));
    let asked = if numbers.needed == rate::NEVER {
        gaps.push(
            "how often the fix must pass is unknown: the repro never showed the bug without it.".to_owned(),
        );
        "how many passes are needed is unknown".to_owned()
    } else if numbers.fix_failures > 0 {
        gaps.push("the bug was seen with the fix.".to_owned());
        format!("the rate asks for {} passes and no failure", numbers.needed)
    } else if numbers.fix_runs < numbers.needed {
        gaps.push(format!(
            "{} more passes are needed before the fix counts as validated.",
            numbers.needed - numbers.fix_runs
        ));
        format!("the rate asks for {} passes", numbers.needed)
    } else {
        format!("the rate asks for {} passes, so that is enough", numbers.needed)
    };
    format!(
        "**With the fix{on}:** the bug was seen in {} of {} runs; {asked}",
        numbers.fix_failures, numbers.fix_runs
    )
}

fn seen_when(incident: &Incident) -> String {
    match incident.repro.fails_when {
        FailsWhen::Exit => "it exits with another status than 0".to_owned(),
        FailsWhen::Timeout => "it does not end in time".to_owned(),
        FailsWhen::Output => format!("its output holds {}", markdown::code(&incident.repro.pattern, 120)),
        FailsWhen::Verdict => "it prints `VERDICT: fail`".to_owned(),
    }
}

fn series<'a>(incident: &'a Incident, events: &[EventId]) -> Vec<&'a ReproRun> {
    incident.repro.runs.iter().filter(|r| events.contains(&r.stamp.event)).collect()
}

fn machine(run: &ReproRun) -> String {
    let text = describe::machine(&run.environment);
    if text.is_empty() { "a device that was not recorded".to_owned() } else { line(&text) }
}

/// Where series ran, each machine once, in the order of the ledger.
fn machines(runs: &[&ReproRun]) -> Vec<String> {
    let mut seen = Vec::new();
    for run in runs {
        let machine = machine(run);
        if !seen.contains(&machine) {
            seen.push(machine);
        }
    }
    cut(seen, MOST)
}

fn one_series(run: &ReproRun) -> String {
    let stored = run.evidence.first().map_or_else(String::new, |oid| format!(", evidence `{}`", oid.short()));
    let dirty = if run.dirty { ", working tree of the same content" } else { "" };
    format!(
        "{} UTC: seen in {} of {} runs in {}, {}{dirty} ({}{stored})",
        run.stamp.at.to_minute(),
        run.failures,
        run.runs,
        human_duration(run.millis),
        machine(run),
        event(Some(run.stamp.event))
    )
}

fn record_of<'a>(input: &'a DraftInput<'_>, gate: &GateResult) -> Option<&'a RecordFacts> {
    let descriptor = gate.descriptor.as_ref()?;
    input.validation.records.iter().find(|r| r.descriptor == *descriptor)
}

fn one_gate(input: &DraftInput<'_>, gate: &GateResult) -> String {
    let device = line(&gate.device);
    let on = if device.is_empty() { String::new() } else { format!(" on {device}") };
    let record = gate
        .descriptor
        .as_ref()
        .map_or_else(|| event(Some(gate.stamp.event)), |d| format!("record `{}`", d.short()));
    let counts = record_of(input, gate).map_or_else(String::new, |r| {
        let exit = r.exit.map_or_else(String::new, |e| format!(", exit status {e}"));
        let place = if r.fresh { "a fresh tree" } else { "a tree with caches" };
        let claimed = if r.counts { "" } else { ", claimed: made elsewhere" };
        let stored = r.evidence.as_ref().map_or_else(String::new, |e| format!(", evidence `{}`", e.short()));
        let took = human_duration(r.millis);
        format!(", {} of {} runs passed in {took} in {place}{exit}{claimed}{stored}", r.passes, r.runs)
    });
    format!("{}: {}{on}{counts} ({record})", markdown::code(&gate.gate, 80), gate.verdict)
}
