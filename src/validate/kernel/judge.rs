//! What the processes of a gate left behind means for the gate.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::report::{Finding, FindingKind, Output, Progress, Report, Stage, TroubleKind};
use super::request::{Request, What};
use crate::model::status::Verdict;
use crate::validate::gate::{End, Judged, one};

/// What one process left, and how it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Left {
    /// How it ended; `None` when it was not started because one before it did not end well.
    pub end: Option<End>,
    /// Its report, or why there is none.
    pub report: Result<Report, String>,
    /// How far it had come.
    pub progress: Option<Progress>,
}

/// Judges the two processes.
pub fn judge(request: &Request, first: &Left, second: &Left) -> Judged {
    let mut findings = Vec::new();
    for (left, which) in [(first, "first"), (second, "second")] {
        if left.end.is_none() {
            continue;
        }
        match alone(request, left) {
            Ok(found) => findings.extend(found),
            Err(judged) if findings.is_empty() => return with_device(judged, first),
            // What is known to be wrong is not excused by what went wrong after it.
            Err(judged) => return failed(request, first, findings, Some(format!("{which} process: {}", judged.reason))),
        }
        if !findings.is_empty() {
            return failed(request, first, findings, None);
        }
    }
    let (Ok(report), Ok(again)) = (&first.report, &second.report) else {
        return Judged::new(Verdict::Inconclusive, "our own process left no report");
    };
    if second.end.is_none() {
        return Judged::new(Verdict::Inconclusive, "the second process was not run");
    }
    let (outputs, others) = (by_place(&report.outputs), by_place(&again.outputs));
    for run in &request.runs {
        for &seed in &run.seeds {
            for argument in &run.arguments {
                let What::Tensor { role, .. } = &argument.what else {
                    continue;
                };
                if !role.is_compared() {
                    continue;
                }
                let place = (run.case.as_str(), seed, argument.name.as_str());
                let (Some(one), Some(other)) = (outputs.get(&place), others.get(&place)) else {
                    let what = format!("nothing was said of {} in case {}, seed {seed}", argument.name, run.case);
                    return with_device(Judged::new(Verdict::Inconclusive, what), first);
                };
                if one.matches != Some(true) {
                    let what = format!("{} was not compared in case {}, seed {seed}", argument.name, run.case);
                    return with_device(Judged::new(Verdict::Inconclusive, what), first);
                }
                if request.deterministic && one.sha256 != other.sha256 {
                    findings.push(Finding {
                        kind: FindingKind::Nondeterministic,
                        case: run.case.clone(),
                        seed: Some(seed),
                        argument: Some(argument.name.clone()),
                        what: format!("{} has other bytes in a second process", argument.name),
                        lines: Vec::new(),
                        details: json!({"first": one.sha256, "second": other.sha256}),
                    });
                }
            }
        }
    }
    if !findings.is_empty() {
        return failed(request, first, findings, None);
    }
    let details = json!({
        "device": report.device,
        "launches": request.launches,
        "deterministic": request.deterministic,
        "outputs": report.outputs,
        "mutants": report.mutants,
    });
    if let Some(loose) = &report.loose {
        let reason = format!(
            "too loose: the comparison passes {} of {} in case {}, seed {}",
            loose.mutant, loose.argument, loose.case, loose.seed
        );
        return Judged { verdict: Verdict::Inconclusive, reason, details, lines: Vec::new() };
    }
    let lines = vec![format!(
        "{} on {}: {} outputs match, {} launches each, a second process, {} mutants caught",
        counted(request.runs.len(), "case"),
        report.device.as_ref().map_or("a device", |device| device.name.as_str()),
        report.outputs.len(),
        request.launches,
        report.mutants,
    )];
    Judged { verdict: Verdict::Pass, reason: String::new(), details, lines }
}

/// The gate could not come to its launches.
pub fn not_prepared(what: &str, end: &End) -> Judged {
    let judged = one(end);
    // A reference that fails says nothing about the candidate.
    let verdict = if judged.verdict == Verdict::NotRun { Verdict::NotRun } else { Verdict::Inconclusive };
    Judged::new(verdict, format!("{what}: {}", judged.reason))
}

/// What one process found; or that it decides nothing.
fn alone(request: &Request, left: &Left) -> Result<Vec<Finding>, Judged> {
    let Some(end) = &left.end else {
        return Ok(Vec::new());
    };
    match end {
        End::Hang(_) => return stopped(left, FindingKind::Hang, "did not end within the time limit"),
        // From outside, or for want of memory: they say nothing about the kernel.
        End::Signal(1 | 2 | 9 | 15) | End::NotStarted(_) => return Err(one(end)).map_err(as_inconclusive),
        End::Signal(number) => {
            return stopped(left, FindingKind::Crash, &format!("ended the process by signal {number}"));
        }
        End::Exit(_) => {}
    }
    let report = match &left.report {
        Ok(report) => report,
        Err(why) => {
            let reason = match end {
                End::Exit(127 | 126) => one(end).reason,
                _ => format!("our own process left no report: {why}"),
            };
            return Err(Judged::new(Verdict::Inconclusive, reason));
        }
    };
    if let Some(device) = &report.device {
        if device.emulated != request.emulated {
            let asked = if request.emulated { "the emulated device" } else { "a GPU" };
            let reason = format!("the gate asks for {asked}, and the device is \"{}\"", device.name);
            return Err(Judged::new(Verdict::Inconclusive, reason));
        }
    }
    if !report.findings.is_empty() {
        return Ok(report.findings.clone());
    }
    if let Some(trouble) = &report.trouble {
        let (verdict, whose) = match trouble.kind {
            TroubleKind::Device | TroubleKind::Compiler => (Verdict::NotRun, ""),
            TroubleKind::Reference => (Verdict::Inconclusive, "the reference: "),
            TroubleKind::Gate => (Verdict::Fail, ""),
            TroubleKind::Machine => (Verdict::Inconclusive, ""),
        };
        return Err(Judged::new(verdict, format!("{whose}{}", trouble.what)));
    }
    if *end != End::Exit(0) || !report.complete {
        return Err(Judged::new(Verdict::Inconclusive, "our own process did not come to its end"));
    }
    Ok(Vec::new())
}

fn as_inconclusive(judged: Judged) -> Judged {
    Judged { verdict: Verdict::Inconclusive, ..judged }
}

/// A process that was stopped: the candidate's fault only while the candidate ran.
fn stopped(left: &Left, kind: FindingKind, how: &str) -> Result<Vec<Finding>, Judged> {
    let Some(progress) = &left.progress else {
        return Err(Judged::new(Verdict::Inconclusive, format!("before anything ran, our own process {how}")));
    };
    let what = match progress.stage {
        Stage::Launch => format!("launch {} {how}", progress.launch),
        Stage::Compile => format!("compiling {how}"),
        stage => {
            let doing = match stage {
                Stage::Open => "opening the device",
                Stage::Prepare => "preparing the buffers",
                Stage::Reference => "the reference",
                _ => "comparing",
            };
            return Err(Judged::new(Verdict::Inconclusive, format!("{doing} {how}")));
        }
    };
    Ok(vec![Finding {
        kind,
        case: progress.case.clone(),
        seed: progress.seed,
        argument: None,
        what,
        lines: Vec::new(),
        details: Value::Null,
    }])
}

fn failed(request: &Request, first: &Left, findings: Vec<Finding>, also: Option<String>) -> Judged {
    let place = |finding: &Finding| match finding.seed {
        Some(seed) => format!("case {}, seed {seed}", finding.case),
        None => format!("case {}", finding.case),
    };
    let reason = findings.first().map_or_else(String::new, |finding| {
        let more = if findings.len() > 1 { format!(" (and {})", counted(findings.len() - 1, "more finding")) } else { String::new() };
        format!("{}: {}: {}{more}", finding.kind.word(), place(finding), finding.what)
    });
    let mut lines = Vec::new();
    for finding in findings.iter().take(10) {
        lines.push(format!("{}: {}: {}", finding.kind.word(), place(finding), finding.what));
        lines.extend(finding.lines.iter().map(|line| format!("  {line}")));
    }
    if findings.len() > 10 {
        lines.push(format!("and {}", counted(findings.len() - 10, "more finding")));
    }
    lines.extend(also);
    let outputs = first.report.as_ref().map(|report| report.outputs.clone()).unwrap_or_default();
    let details = json!({
        "device": first.report.as_ref().ok().and_then(|report| report.device.clone()),
        "launches": request.launches,
        "deterministic": request.deterministic,
        "findings": findings,
        "outputs": outputs,
    });
    Judged { verdict: Verdict::Fail, reason, details, lines }
}

/// What decides nothing says on which device.
fn with_device(mut judged: Judged, left: &Left) -> Judged {
    if let Some(device) = left.report.as_ref().ok().and_then(|report| report.device.as_ref()) {
        judged.details = json!({"device": device});
    }
    judged
}

fn by_place(outputs: &[Output]) -> BTreeMap<(&str, u32, &str), &Output> {
    outputs.iter().map(|output| ((output.case.as_str(), output.seed, output.name.as_str()), output)).collect()
}

fn counted(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}
