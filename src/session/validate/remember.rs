//! Finds and keeps what gates said: records, ledger events, durations.

use std::collections::BTreeMap;
use std::time::Duration;

use super::execute::Ran;
use super::machine::Found;
use super::{Examination, GateResult, Job, Report, Run, Session, gpu};
use crate::event::GateRecorded;
use crate::git::lock;
use crate::git::signing::fingerprint;
use crate::model::Result;
use crate::model::status::Verdict;
use crate::redact;
use crate::session::signing::Recorded;
use crate::store::evidence::{self, Policy};
use crate::store::records::{self, Descriptor, Record};

/// How many lines of output a result shows.
const LINES_SHOWN: usize = 20;

/// The file with how long gates took, in milliseconds. Disposable: without it the time is unknown.
const DURATIONS: &str = "durations";

impl Run<'_> {
    /// A record that settles the job, if there is one. The newest decides: one that failed after it had passed
    /// has failed.
    pub(super) fn recorded(
        &self,
        job: &Job,
        found: &Found,
        descriptor: &Descriptor,
        report: &mut Report,
    ) -> Result<Option<GateResult>> {
        let repo = &self.session.repo;
        let signers = self.session.signers(job.signers_from.as_ref());
        let records = records::find(repo, descriptor, &signers)?;
        let usable = records.iter().filter(|f| f.counts && (f.record.fresh || !job.fresh));
        let Some(newest) = usable.max_by_key(|f| f.record.at) else {
            if let Some(claim) = records.iter().rev().find(|f| !f.counts && f.record.verdict == Verdict::Pass)
            {
                report.remarks.push(format!(
                    "a record that was made elsewhere claims that {} passes, and counts for nothing: {} (allowed: {})",
                    job.gate.id,
                    claim.doubt,
                    signers.place()
                ));
            }
            return Ok(None);
        };
        let record = &newest.record;
        let stands = match record.verdict {
            Verdict::Pass => true,
            Verdict::NotRun => false,
            // While a connection is held open, what takes too long to run again stands as it is.
            Verdict::Fail | Verdict::Inconclusive => {
                self.options.failures_stand
                    || self.options.deadline.is_some_and(|deadline| {
                        let left = deadline.saturating_duration_since(std::time::Instant::now());
                        Duration::from_millis(record.millis) > left
                    })
            }
        };
        if !stands {
            return Ok(None);
        }
        report.remarks.extend(contradiction(&job.gate.id, &records, newest));
        let mut result = job.result(record.verdict, record.reason.clone());
        result.device.clone_from(&found.class);
        result.signed_by.clone_from(&newest.signed_by);
        result.notes = gpu::notes(&record.gpu);
        result.record = Some(crate::git::Repo::blob_name(&descriptor.line()?)?);
        result.cached = true;
        result.millis = record.millis;
        result.details = record.details.clone();
        if record.verdict != Verdict::Pass
            && let Some(evidence) = &record.evidence
        {
            result.output = last_lines(&repo.blob(evidence).unwrap_or_default());
        }
        Ok(Some(result))
    }

    /// Keeps what a gate said.
    pub(super) fn remember(
        &self,
        examined: &Examination,
        job: &Job,
        found: &Found,
        descriptor: &Descriptor,
        ran: &Ran,
        report: &mut Report,
    ) -> Result<GateResult> {
        let session = self.session;
        let mut result = job.result(ran.verdict, ran.reason.clone());
        result.device.clone_from(&found.class);
        result.millis = ran.millis;
        result.details = ran.details.clone();
        result.lines.clone_from(&ran.lines);
        result.notes = gpu::notes(&ran.gpu);
        let output = redact::redact(&ran.output).bytes.into_owned();
        if ran.verdict != Verdict::Pass {
            result.output = last_lines(&output);
        }
        session.note_duration(&job.gate.id, &found.class, ran.millis);
        // Nothing was checked, so there is nothing to look up later.
        if ran.verdict == Verdict::NotRun {
            return Ok(result);
        }
        match session.store_record(job, found, descriptor, ran, &output) {
            Ok(recorded) => {
                result.signed_by = fingerprint(&recorded.record.signature);
                result.record = Some(recorded.descriptor);
                report.remarks.extend(recorded.remark);
            }
            Err(error) => {
                report.remarks.push(format!("the result of {} could not be recorded: {error}", job.gate.id));
                return Ok(result);
            }
        }
        if ran.verdict == Verdict::Pass {
            session.settle_pending(&job.gate.id, &job.tree)?;
        }
        for incident in session.incidents_between(&job.commit, examined.base.as_ref())? {
            let event = GateRecorded {
                gate: job.gate.id.clone(),
                verdict: ran.verdict,
                tree: Some(job.tree.clone()),
                device: found.class.clone(),
                descriptor: result.record.clone(),
            };
            if let Err(error) = session.append(&incident, &[], |draft| draft.add(event)) {
                report.remarks.push(format!("incident {} was not told: {error}", incident.short()));
            }
        }
        Ok(result)
    }
}

impl Session {
    fn store_record(
        &self,
        job: &Job,
        found: &Found,
        descriptor: &Descriptor,
        ran: &Ran,
        output: &[u8],
    ) -> Result<Recorded> {
        let stored = evidence::store(&self.repo, "gate output", output, Policy::default())?;
        let record = Record {
            at: self.now(),
            verdict: ran.verdict,
            reason: ran.reason.clone(),
            commit: job.commit.clone(),
            command: job.gate.run.clone().unwrap_or_default(),
            exit: ran.exit,
            runs: ran.runs,
            passes: ran.passes,
            millis: ran.millis,
            fresh: ran.fresh,
            details: ran.details.clone(),
            device: found.class.clone(),
            environment: found.environment.clone(),
            output_sha256: stored.sha256,
            evidence: Some(stored.oid),
            started: Some(ran.started),
            commands: ran.commands.clone(),
            gpu: ran.gpu.clone(),
            clone: String::new(),
            mac: String::new(),
            signature: String::new(),
            v: 1,
        };
        self.add_record(descriptor, record)
    }

    /// How long a gate took when it last ran here, on any tree.
    pub(super) fn expected_duration(&self, gate: &str, class: &str) -> Result<Option<Duration>> {
        Ok(self.durations()?.get(&format!("{gate} {class}")).map(|millis| Duration::from_millis(*millis)))
    }

    fn durations(&self) -> Result<BTreeMap<String, u64>> {
        let path = lock::state_dir(&self.repo)?.join(DURATIONS);
        let bytes = std::fs::read(path).unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Best effort: two writers at once lose one number, and a number is only an expectation.
    fn note_duration(&self, gate: &str, class: &str, millis: u64) {
        let Ok(mut known) = self.durations() else { return };
        known.insert(format!("{gate} {class}"), millis);
        if let Ok(text) = serde_json::to_vec(&known) {
            let _ = super::pending::write_state(self, DURATIONS, &text);
        }
    }
}

/// Says that makers of records do not agree. One maker who tries again contradicts nobody.
pub(super) fn contradiction(
    gate: &str,
    records: &[records::Found],
    newest: &records::Found,
) -> Option<String> {
    let other = records.iter().rev().find(|f| {
        f.counts
            && f.record.clone != newest.record.clone
            && (f.record.verdict == Verdict::Pass) != (newest.record.verdict == Verdict::Pass)
            && f.record.verdict != Verdict::NotRun
    })?;
    let who = |f: &records::Found| f.signed_by.clone().unwrap_or_else(|| "this clone".to_owned());
    Some(format!(
        "records of {gate} contradict each other: {} of {} by {}, {} of {} by {}; the newest decides",
        other.record.verdict,
        other.record.at.to_minute(),
        who(other),
        newest.record.verdict,
        newest.record.at.to_minute(),
        who(newest)
    ))
}

pub(super) fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}
