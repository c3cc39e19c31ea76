//! Kind `sanitizer`: what the tools of compute-sanitizer say of a command.
//!
//! A tool passes only when it ended with 0, its log ends in a summary of zero, and neither its log nor its report has a
//! finding. Whatever else happens is no clean bill: a finding fails, and a tool that did not check is `inconclusive`.

use serde_json::{Value, json};

use super::{End, Judged, one};
use crate::model::status::Verdict;
use crate::validate::verdict;

pub mod finding;
pub mod log;
pub mod xml;

use finding::Finding;
use log::Log;

/// The status that the tool is told to end with when it found something.
pub const FOUND: i32 = 86;

/// How many lines are shown.
const LINES: usize = 10;

/// How many findings a record describes.
const DESCRIBED: usize = 100;

/// What one tool left behind.
#[derive(Debug, Default)]
pub struct Ran<'a> {
    /// Its name.
    pub tool: &'a str,
    /// How its command ended; `None` when it was never started.
    pub end: Option<&'a End>,
    /// Its log.
    pub log: Option<&'a [u8]>,
    /// Its XML report.
    pub xml: Option<&'a [u8]>,
    /// Why one of the two cannot be read.
    pub unfit: Option<String>,
}

/// What a tool says.
struct Said {
    tool: String,
    verdict: Verdict,
    reason: String,
    findings: Vec<Finding>,
    total: u64,
    /// How many findings its report has, where it has left one.
    reported: Option<usize>,
}

/// Judges all tools.
pub fn judge(ran: &[Ran<'_>]) -> Judged {
    let said: Vec<Said> = ran.iter().map(hear).collect();
    let verdict = if said.is_empty() {
        Verdict::NotRun
    } else {
        verdict::combine(said.iter().map(|said| said.verdict))
    };
    // Tools that say the same say it once.
    let mut reasons: Vec<(Vec<&str>, &str)> = Vec::new();
    for said in said.iter().filter(|said| said.verdict == verdict && verdict != Verdict::Pass) {
        match reasons.iter_mut().find(|(_, reason)| *reason == said.reason) {
            Some((tools, _)) => tools.push(&said.tool),
            None => reasons.push((vec![&said.tool], &said.reason)),
        }
    }
    let reasons: Vec<String> =
        reasons.iter().map(|(tools, reason)| format!("{}: {reason}", tools.join(", "))).collect();
    let mut judged = Judged::new(verdict, reasons.join("; "));
    judged.lines = lines(&said);
    judged.details = details(&said);
    judged
}

fn hear(ran: &Ran<'_>) -> Said {
    let log = ran.log.map(log::read).unwrap_or_default();
    let report = ran.xml.map(xml::read);
    let reported = report.as_ref().and_then(|report| report.as_ref().ok()).map(Vec::len);
    let broken = match &report {
        Some(Err(why)) => Some(format!("its XML report {why}")),
        _ => ran.unfit.clone(),
    };
    let (verdict, reason) = decide(ran, &log, reported.unwrap_or(0), broken);
    let (findings, total) = match report {
        Some(Ok(from_report)) if log.findings.is_empty() => {
            let total = from_report.len() as u64;
            (from_report, total)
        }
        _ => (log.findings, log.total),
    };
    Said { tool: ran.tool.to_owned(), verdict, reason, findings, total, reported }
}

fn decide(ran: &Ran<'_>, log: &Log, reported: usize, broken: Option<String>) -> (Verdict, String) {
    let summary = if ran.tool == "racecheck" { log.hazards } else { log.errors };
    let both = [log.errors, log.hazards].into_iter().flatten().map(|summary| summary.findings);
    let counted = both.fold(0, u64::saturating_add).max(log.total).max(reported as u64);
    if counted > 0 {
        let first = log.findings.first().map(|finding| format!(", first: {}", finding.said()));
        let plural = if counted == 1 { "" } else { "s" };
        return (Verdict::Fail, format!("{counted} finding{plural}{}", first.unwrap_or_default()));
    }
    let unchecked = |why: &str| (Verdict::Inconclusive, format!("not checked: {why}"));
    let Some(end) = ran.end else {
        return unchecked("it was not started");
    };
    match (end, log.banner) {
        (End::Exit(126 | 127), false) => {
            return (Verdict::NotRun, "compute-sanitizer is not installed here".into());
        }
        (End::Hang(_) | End::Signal(_) | End::NotStarted(_), _) => {
            let judged = one(end);
            return (judged.verdict, judged.reason);
        }
        _ => {}
    }
    let status = match end {
        End::Exit(status) => *status,
        _ => -1,
    };
    let ended = if status == 0 { String::new() } else { format!(" (exit status {status})") };
    if status == FOUND {
        return (
            Verdict::Fail,
            format!("the tool ended with {FOUND}, so it found something, and its log says nothing"),
        );
    }
    if let Some(why) = &log.unchecked {
        return unchecked(&format!("{why}{ended}"));
    }
    if let Some(why) = broken {
        return unchecked(&format!("{why}{ended}"));
    }
    if !log.banner {
        return unchecked(&format!("there is no log{ended}"));
    }
    if summary.is_none() {
        return unchecked(&format!("its log has no summary{ended}"));
    }
    let judged = one(end);
    if judged.verdict == Verdict::Pass {
        return (Verdict::Pass, String::new());
    }
    (judged.verdict, format!("no finding, and the command itself failed: {}", judged.reason))
}

/// The findings in lines, those of one place together.
fn lines(said: &[Said]) -> Vec<String> {
    let mut groups: Vec<(&str, &Finding, u64)> = Vec::new();
    for one in said {
        for finding in &one.findings {
            let same = |group: &&mut (&str, &Finding, u64)| {
                group.0 == one.tool && group.1.place() == finding.place() && group.1.line() == finding.line()
            };
            match groups.iter_mut().rev().take(64).find(same) {
                Some(group) => group.2 += 1,
                None => groups.push((&one.tool, finding, 1)),
            }
        }
    }
    let mut lines: Vec<String> = groups
        .iter()
        .take(LINES)
        .map(|(tool, finding, times)| {
            let times = if *times > 1 { format!("  ({times} times)") } else { String::new() };
            format!("{tool}: {}{times}", finding.said())
        })
        .collect();
    if groups.len() > LINES {
        lines.push(format!("and {} more", groups.len() - LINES));
    }
    lines
}

fn details(said: &[Said]) -> Value {
    let tools: Vec<Value> = said
        .iter()
        .map(|one| {
            json!({
                "tool": one.tool, "verdict": one.verdict, "reason": one.reason,
                "findings": finding::fitting(one.total), "in_report": one.reported,
            })
        })
        .collect();
    let findings: Vec<Value> = said
        .iter()
        .flat_map(|one| one.findings.iter().map(|finding| finding.json(&one.tool)))
        .take(DESCRIBED)
        .collect();
    json!({"tools": tools, "findings": findings})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::gate::Limit;
    use proptest::prelude::*;

    const CLEAN: &[u8] = b"========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
    const FOUND_ONE: &[u8] =
        b"========= COMPUTE-SANITIZER\n========= Invalid __shared__ read of size 8 bytes\n\
        =========     at k()+0x10 in k.cu:7\n=========     by thread (1,0,0) in block (0,0,0)\n=========\n\
        ========= ERROR SUMMARY: 1 error\n";
    const NO_CALL: &[u8] =
        b"========= COMPUTE-SANITIZER\n========= Error: process didn't terminate successfully\n\
        ========= Error: Target application terminated before first instrumented API call\n";
    const EMPTY: &[u8] = b"<ComputeSanitizerOutput/>";

    fn said(tool: &str, end: &End, log: Option<&[u8]>, xml: Option<&[u8]>) -> Judged {
        judge(&[Ran { tool, end: Some(end), log, xml, unfit: None }])
    }

    #[test]
    fn only_a_clean_summary_passes() {
        type Case<'a> = (i32, Option<&'a [u8]>, Option<&'a [u8]>, Verdict, &'a str);
        use Verdict::{Fail, Inconclusive, NotRun, Pass};
        let cases: [Case<'_>; 13] = [
            (0, Some(CLEAN), Some(EMPTY), Pass, ""),
            (0, Some(CLEAN), None, Pass, ""),
            (86, Some(FOUND_ONE), Some(EMPTY), Fail, "1 finding, first: Invalid __shared__ read"),
            (0, Some(FOUND_ONE), None, Fail, "1 finding"),
            (
                0,
                Some(CLEAN),
                Some(b"<ComputeSanitizerOutput><record/></ComputeSanitizerOutput>"),
                Fail,
                "1 finding",
            ),
            (86, Some(CLEAN), None, Fail, "its log says nothing"),
            (255, Some(NO_CALL), None, Inconclusive, "before first instrumented API call (exit status 255)"),
            (0, Some(NO_CALL), None, Inconclusive, "not checked: Target application"),
            (0, Some(b"========= COMPUTE-SANITIZER\n"), None, Inconclusive, "no summary"),
            (0, Some(CLEAN), Some(b"<ComputeSanitizerOutput>"), Inconclusive, "its XML report is cut short"),
            (0, None, None, Inconclusive, "there is no log"),
            (127, None, None, NotRun, "not installed"),
            (3, Some(CLEAN), None, Fail, "the command itself failed: exit status 3"),
        ];
        for (status, log, xml, verdict, reason) in cases {
            let judged = said("memcheck", &End::Exit(status), log, xml);
            assert_eq!(judged.verdict, verdict, "{status} {judged:?}");
            assert!(judged.reason.contains(reason), "{status}: {}", judged.reason);
        }
        assert_eq!(said("memcheck", &End::Hang(Limit::Time), None, None).verdict, Fail);
        assert_eq!(said("memcheck", &End::Hang(Limit::Time), Some(CLEAN), None).verdict, Fail);
        assert_eq!(said("memcheck", &End::Signal(15), Some(CLEAN), None).verdict, Inconclusive);
        assert_eq!(judge(&[]).verdict, NotRun);
        assert_eq!(judge(&[Ran { tool: "memcheck", ..Ran::default() }]).verdict, Inconclusive);
    }

    #[test]
    fn racecheck_has_a_summary_of_its_own() {
        let judged = said("racecheck", &End::Exit(0), Some(CLEAN), None);
        assert_eq!(
            (judged.verdict, judged.reason.as_str()),
            (Verdict::Inconclusive, "racecheck: not checked: its log has no summary")
        );
        let summary =
            |text: &str| format!("========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: {text}\n");
        let clean = summary("0 hazards displayed (0 errors, 0 warnings)");
        assert_eq!(said("racecheck", &End::Exit(0), Some(clean.as_bytes()), None).verdict, Verdict::Pass);
        let warned = summary("1 hazard displayed (0 errors, 1 warning)");
        assert_eq!(said("racecheck", &End::Exit(0), Some(warned.as_bytes()), None).verdict, Verdict::Fail);
    }

    #[test]
    fn the_worst_tool_decides_and_all_are_recorded() {
        let (good, bad) = (End::Exit(0), End::Exit(86));
        let judged = judge(&[
            Ran { tool: "memcheck", end: Some(&good), log: Some(CLEAN), ..Ran::default() },
            Ran { tool: "initcheck", end: Some(&bad), log: Some(FOUND_ONE), ..Ran::default() },
            Ran { tool: "synccheck", end: Some(&End::Exit(255)), log: Some(NO_CALL), ..Ran::default() },
        ]);
        assert_eq!(judged.verdict, Verdict::Fail);
        assert!(judged.reason.starts_with("initcheck: 1 finding"), "{}", judged.reason);
        assert!(!judged.reason.contains("synccheck"));
        let words: Vec<&str> = judged.details["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["verdict"].as_str().unwrap())
            .collect();
        assert_eq!(words, ["pass", "fail", "inconclusive"]);
        assert_eq!(judged.details["findings"][0]["site"]["line"], 7);
        assert!(crate::model::canonical::to_string(&judged.details).is_ok());
    }

    #[test]
    fn findings_of_one_place_are_one_line() {
        let mut text = "========= COMPUTE-SANITIZER\n".to_owned();
        for n in 0..300 {
            text += &format!(
                "========= Invalid __global__ write of size 4 bytes\n=========     at k()+0x10 in k.cu:{}\n\
                 =========     by thread ({n},0,0) in block (0,0,0)\n=========\n",
                n % 15
            );
        }
        text += "========= ERROR SUMMARY: 300 errors\n";
        let judged = said("memcheck", &End::Exit(86), Some(text.as_bytes()), None);
        assert_eq!(judged.lines.len(), 11, "{:?}", judged.lines);
        assert!(judged.lines[0].ends_with("(20 times)"), "{}", judged.lines[0]);
        assert_eq!(judged.lines[10], "and 5 more");
        assert_eq!(judged.details["findings"].as_array().unwrap().len(), DESCRIBED);
    }

    proptest! {
        /// Whatever a log says: no pass without status 0 and a summary of zero.
        #[test]
        fn nothing_else_passes(status in prop::sample::select(vec![0, 1, 86, 125, 255]),
                               lines in prop::collection::vec(prop::sample::select(vec![
            "========= COMPUTE-SANITIZER", "========= ERROR SUMMARY: 0 errors", "========= ERROR SUMMARY: 2 errors",
            "========= Internal Sanitizer Error: x", "noise", "=========", "========= Leaked 4 bytes at 0x1",
        ]), 0..6)) {
            let judged = said("memcheck", &End::Exit(status), Some(lines.join("\n").as_bytes()), None);
            let clean = lines.contains(&"========= ERROR SUMMARY: 0 errors")
                && lines.contains(&"========= COMPUTE-SANITIZER")
                && !lines.iter().any(|l| l.contains("2 errors") || l.contains("Internal") || l.contains("Leaked"));
            prop_assert_eq!(judged.verdict == Verdict::Pass, clean && status == 0);
        }
    }
}
