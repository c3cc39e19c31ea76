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
            Err(judged) => {
                return failed(request, first, findings, Some(format!("{which} process: {}", judged.reason)));
            }
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
                    let what =
                        format!("nothing was said of {} in case {}, seed {seed}", argument.name, run.case);
                    return with_device(Judged::new(Verdict::Inconclusive, what), first);
                };
                if one.matches != Some(true) {
                    let what =
                        format!("{} was not compared in case {}, seed {seed}", argument.name, run.case);
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
    if report.mutants == 0 {
        let reason = "too loose: no mutant of any output differs from it, so the comparison was not tried";
        return Judged { verdict: Verdict::Inconclusive, reason: reason.into(), details, lines: Vec::new() };
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
        End::Signal(1 | 2 | 9 | 15) | End::NotStarted(_) => return Err(as_inconclusive(one(end))),
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
    if let Some(device) = &report.device
        && device.emulated != request.emulated
    {
        let asked = if request.emulated { "the emulated device" } else { "a GPU" };
        let reason = format!("the gate asks for {asked}, and the device is \"{}\"", device.name);
        return Err(Judged::new(Verdict::Inconclusive, reason));
    }
    if !report.findings.is_empty() {
        return Ok(report.findings.clone());
    }
    if let Some(trouble) = &report.trouble {
        let (verdict, whose) = match trouble.kind {
            TroubleKind::Device | TroubleKind::Compiler => (Verdict::NotRun, ""),
            TroubleKind::Reference => (Verdict::Inconclusive, "the reference: "),
            TroubleKind::Gate => return Ok(vec![declaration(left, &trouble.what)]),
            TroubleKind::Machine => (Verdict::Inconclusive, ""),
        };
        return Err(Judged::new(verdict, format!("{whose}{}", trouble.what)));
    }
    if *end != End::Exit(0) || !report.complete {
        return Err(Judged::new(Verdict::Inconclusive, "our own process did not come to its end"));
    }
    Ok(Vec::new())
}

/// What the gate declares is part of what is judged: that it does not fit is a finding like others.
fn declaration(left: &Left, what: &str) -> Finding {
    let progress = left.progress.as_ref();
    Finding {
        kind: FindingKind::Declaration,
        case: progress.map(|progress| progress.case.clone()).unwrap_or_default(),
        seed: progress.and_then(|progress| progress.seed),
        argument: None,
        what: what.to_owned(),
        lines: Vec::new(),
        details: Value::Null,
    }
}

fn as_inconclusive(judged: Judged) -> Judged {
    Judged { verdict: Verdict::Inconclusive, ..judged }
}

/// A process that was stopped: the candidate's fault only while the candidate ran.
fn stopped(left: &Left, kind: FindingKind, how: &str) -> Result<Vec<Finding>, Judged> {
    let Some(progress) = &left.progress else {
        return Err(Judged::new(
            Verdict::Inconclusive,
            format!("before anything ran, our own process {how}"),
        ));
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
        let more = if findings.len() > 1 {
            format!(" (and {})", counted(findings.len() - 1, "more finding"))
        } else {
            String::new()
        };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::gate::Limit;
    use crate::validate::kernel::{
        Argument, DeviceSeen, Judging, Launch, Loose, Reference, Role, Run, Trouble,
    };

    fn request() -> Request {
        let launch = Launch {
            source: "a.cu".into(),
            entry: "run".into(),
            options: Vec::new(),
            include: Vec::new(),
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
            arguments: vec![0],
        };
        Request {
            v: Request::VERSION,
            emulated: true,
            launches: 3,
            deterministic: true,
            judging: Judging::default(),
            runs: vec![Run {
                case: "n=4".into(),
                sizes: BTreeMap::new(),
                seeds: vec![1, 2],
                candidate: launch,
                reference: Reference::Written,
                arguments: vec![Argument {
                    name: "out".into(),
                    dtype: "f32".into(),
                    what: What::Tensor { shape: vec![4], role: Role::Out, content: None },
                }],
            }],
        }
    }

    fn report(matches: Option<bool>) -> Report {
        let output = |seed| Output {
            case: "n=4".into(),
            seed,
            name: "out".into(),
            sha256: format!("{seed}"),
            matches,
            comparison: Value::Null,
        };
        let device = DeviceSeen {
            name: "git-incident emulated device".into(),
            uuid: "GPU-0".into(),
            capability: "9.0".into(),
            driver: "13.0".into(),
            nvrtc: None,
            emulated: true,
            guarded: true,
        };
        let mut report = Report::new();
        report.device = Some(device);
        report.outputs = vec![output(1), output(2)];
        report.mutants = 3;
        report.complete = true;
        report
    }

    fn left(end: End, report: Report) -> Left {
        Left { end: Some(end), report: Ok(report), progress: None }
    }

    fn good() -> (Left, Left) {
        (left(End::Exit(0), report(Some(true))), left(End::Exit(0), report(None)))
    }

    fn stopped_at(end: End, stage: Stage) -> Left {
        let progress = Progress { stage, case: "n=4".into(), seed: Some(2), launch: 3 };
        Left { end: Some(end), report: Err("none".into()), progress: Some(progress) }
    }

    const NOT_STARTED: Left = Left { end: None, report: Err(String::new()), progress: None };

    fn said(first: &Left, second: &Left) -> (Verdict, String) {
        let judged = judge(&request(), first, second);
        assert!(crate::model::canonical::to_string(&judged.details).is_ok());
        (judged.verdict, judged.reason)
    }

    #[test]
    fn only_what_is_whole_passes() {
        let (first, second) = good();
        assert_eq!(said(&first, &second).0, Verdict::Pass);
        for change in 0..7 {
            let (mut first, mut second) = good();
            let (one, other) = (first.report.as_mut().unwrap(), second.report.as_mut().unwrap());
            match change {
                0 => drop(one.outputs.pop()),
                1 => one.outputs[1].matches = None,
                2 => one.complete = false,
                3 => drop(other.outputs.pop()),
                4 => second.end = None,
                5 => first.end = Some(End::Exit(5)),
                _ => one.device.as_mut().unwrap().emulated = false,
            }
            assert_eq!(said(&first, &second).0, Verdict::Inconclusive, "{change}");
        }
    }

    #[test]
    fn a_second_process_with_other_bytes_is_a_finding() {
        let (first, mut second) = good();
        second.report.as_mut().unwrap().outputs[1].sha256 = "other".into();
        let (verdict, reason) = said(&first, &second);
        assert_eq!(verdict, Verdict::Fail);
        assert!(reason.starts_with("nondeterministic: case n=4, seed 2: out"), "{reason}");
        let mut request = request();
        request.deterministic = false;
        assert_eq!(judge(&request, &first, &second).verdict, Verdict::Pass);
    }

    #[test]
    fn who_is_to_blame_follows_from_what_was_going_on() {
        let hang = || End::Hang(Limit::Time);
        let (verdict, reason) = said(&stopped_at(hang(), Stage::Launch), &NOT_STARTED);
        assert_eq!(verdict, Verdict::Fail);
        assert!(reason.starts_with("hang: case n=4, seed 2: launch 3"), "{reason}");
        assert!(said(&stopped_at(hang(), Stage::Compile), &NOT_STARTED).1.starts_with("hang: "));
        let (verdict, reason) = said(&stopped_at(End::Signal(11), Stage::Launch), &NOT_STARTED);
        assert_eq!(verdict, Verdict::Fail);
        assert!(reason.starts_with("crash: "), "{reason}");
        for stage in [Stage::Open, Stage::Prepare, Stage::Reference, Stage::Compare] {
            for end in [hang(), End::Signal(11)] {
                assert_eq!(said(&stopped_at(end, stage), &NOT_STARTED).0, Verdict::Inconclusive, "{stage:?}");
            }
        }
        // From outside, and for want of memory.
        for number in [1, 2, 9, 15] {
            let left = stopped_at(End::Signal(number), Stage::Launch);
            assert_eq!(said(&left, &NOT_STARTED).0, Verdict::Inconclusive);
        }
        // A panic of our own.
        assert_eq!(said(&stopped_at(End::Exit(101), Stage::Launch), &NOT_STARTED).0, Verdict::Inconclusive);
    }

    #[test]
    fn trouble_is_not_the_candidates() {
        for (kind, verdict) in [
            (TroubleKind::Device, Verdict::NotRun),
            (TroubleKind::Compiler, Verdict::NotRun),
            (TroubleKind::Reference, Verdict::Inconclusive),
            (TroubleKind::Machine, Verdict::Inconclusive),
            (TroubleKind::Gate, Verdict::Fail),
        ] {
            let (mut first, _) = good();
            first.end = Some(End::Exit(5));
            let report = first.report.as_mut().unwrap();
            report.complete = false;
            report.trouble = Some(Trouble { kind, what: "why".into() });
            assert_eq!(said(&first, &NOT_STARTED).0, verdict, "{kind:?}");
        }
        assert_eq!(not_prepared("the reference's command", &End::Exit(1)).verdict, Verdict::Inconclusive);
        assert_eq!(not_prepared("the reference's command", &End::Exit(127)).verdict, Verdict::NotRun);
    }

    #[test]
    fn a_comparison_that_passes_a_mutant_decides_nothing() {
        let (mut first, second) = good();
        let loose = Loose { mutant: "zeros".into(), case: "n=4".into(), seed: 1, argument: "out".into() };
        first.report.as_mut().unwrap().loose = Some(loose);
        let (verdict, reason) = said(&first, &second);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(reason.starts_with("too loose: ") && reason.contains("zeros"), "{reason}");
        let (mut first, second) = good();
        first.report.as_mut().unwrap().mutants = 0;
        let (verdict, reason) = said(&first, &second);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(reason.starts_with("too loose: no mutant"), "{reason}");
    }
}
