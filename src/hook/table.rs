//! The verdicts of a validation as lines: for the hook, and for the command.

use crate::model::status::Verdict;
use crate::model::time::human_duration;
use crate::session::validate::{GateResult, Progress, Report};

use super::{Line, Tone};

/// What a person sees while gates run.
pub fn progress(progress: &Progress<'_>) -> Option<Line> {
    match progress {
        Progress::Waiting => {
            Some(Line::new(Tone::Quiet, "waiting for another validation of this repository …"))
        }
        Progress::WaitingForGpu(job, whom) => {
            let text = format!("{} waits for a GPU: {whom} has it …", job.gate.id);
            Some(Line::new(Tone::Quiet, text))
        }
        Progress::Started(job, _) => {
            let text = format!("{} on {} ({}) …", job.gate.id, job.commit.short(), job.because);
            Some(Line::new(Tone::Quiet, text))
        }
        Progress::Run(job, number, wanted) if *wanted > 1 => {
            Some(Line::new(Tone::Quiet, format!("{}: run {number} of {wanted}", job.gate.id)))
        }
        Progress::Run(..) | Progress::Ended(_) => None,
    }
}

/// One line for each gate, with the end of the output and the command to see it again for those that did not
/// pass.
pub fn lines(report: &Report) -> Vec<Line> {
    let mut lines = Vec::new();
    for remark in &report.remarks {
        lines.push(Line::new(Tone::Look, remark.clone()));
    }
    for (gate, change) in &report.changes {
        let text =
            format!("this push {} the protected gate {gate}; the protected version decides", change.word());
        lines.push(Line::new(Tone::Look, text));
    }
    let width = report.results.iter().map(|r| r.gate.chars().count()).max().unwrap_or(0);
    for result in &report.results {
        lines.push(row(result, width));
    }
    for result in &report.results {
        for note in &result.notes {
            lines.push(Line::new(Tone::Look, format!("  {}: {note}", result.gate)));
        }
    }
    for result in report.results.iter().filter(|r| r.verdict != Verdict::Pass && !r.deferred) {
        details(result, &mut lines);
    }
    lines
}

fn row(result: &GateResult, width: usize) -> Line {
    let (word, tone) = match (result.verdict, result.deferred) {
        (Verdict::Pass, _) => ("pass", Tone::Good),
        (Verdict::Fail, _) => ("fail", Tone::Bad),
        (_, true) => ("pending", Tone::Look),
        (Verdict::Inconclusive, _) => ("inconclusive", Tone::Bad),
        (Verdict::NotRun, _) => ("not-run", Tone::Bad),
    };
    let mut text = format!("{word:<12}  {:<width$}  {}", result.gate, result.device);
    if result.millis > 0 {
        text.extend(["  ", &human_duration(result.millis)]);
    }
    if result.cached {
        match &result.signed_by {
            Some(who) if !who.starts_with("SHA256:") => text.extend(["  (recorded by ", who, ")"]),
            _ => text.push_str("  (recorded before)"),
        }
    }
    if !result.reason.is_empty() {
        text.extend(["  ", &result.reason]);
    }
    Line::new(tone, text)
}

fn details(result: &GateResult, lines: &mut Vec<Line>) {
    for line in &result.lines {
        lines.push(Line::new(Tone::Plain, format!("  {line}")));
    }
    if !result.output.is_empty() {
        lines.push(Line::new(Tone::Quiet, format!("the end of what {} said:", result.gate)));
        for line in result.output.lines() {
            lines.push(Line::new(Tone::Plain, format!("  | {line}")));
        }
    }
    if result.verdict != Verdict::NotRun || result.record.is_some() {
        lines.push(Line::new(Tone::Look, format!("run it again: {}", result.again)));
        if !result.by_hand.is_empty() {
            let text =
                format!("by hand: git switch --detach {} && {}", result.commit.short(), result.by_hand);
            lines.push(Line::new(Tone::Look, text));
        }
    }
}
