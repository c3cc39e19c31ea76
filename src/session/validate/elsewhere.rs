//! Records of a gate whose device is not here: what a machine with the device has vouched for.

use super::remember::{contradiction, last_lines};
use super::{GateResult, Job, Report, Run, Session, gpu};
use crate::config::Device;
use crate::git::Repo;
use crate::model::Result;
use crate::model::canonical::sha256_hex;
use crate::model::status::Verdict;
use crate::store::records::{self, Descriptor, Found};

impl Run<'_> {
    /// The newest record that counts, of this very gate and tree, on any device of the kind that the gate asks for.
    ///
    /// Where the device is here its own class decides. Here none is, so any machine's word that counts does.
    pub(super) fn recorded_elsewhere(&self, job: &Job, report: &mut Report) -> Result<Option<GateResult>> {
        let repo = &self.session.repo;
        let signers = self.session.signers(job.signers_from.as_ref());
        let mut all: Vec<(Descriptor, Found)> = Vec::new();
        for descriptor in self.session.descriptors_elsewhere(job)? {
            let found = records::find(repo, &descriptor, &signers)?;
            all.extend(found.into_iter().map(|found| (descriptor.clone(), found)));
        }
        let usable = all.iter().filter(|(_, f)| f.counts && (f.record.fresh || !job.fresh));
        let Some((descriptor, newest)) = usable.max_by_key(|(_, f)| f.record.at) else {
            if let Some((_, claim)) = all.iter().find(|(_, f)| !f.counts && f.record.verdict == Verdict::Pass)
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
        if newest.record.verdict == Verdict::NotRun {
            return Ok(None);
        }
        let known: Vec<Found> = all.iter().map(|(_, found)| found.clone()).collect();
        report.remarks.extend(contradiction(&job.gate.id, &known, newest));
        let record = &newest.record;
        let mut result = job.result(record.verdict, record.reason.clone());
        result.device.clone_from(&descriptor.device_class);
        result.record = Some(Repo::blob_name(&descriptor.line()?)?);
        result.cached = true;
        result.millis = record.millis;
        result.details = record.details.clone();
        result.signed_by.clone_from(&newest.signed_by);
        result.notes = gpu::notes(&record.gpu);
        if record.verdict != Verdict::Pass
            && let Some(evidence) = &record.evidence
        {
            result.output = last_lines(&repo.blob(evidence).unwrap_or_default());
        }
        Ok(Some(result))
    }
}

impl Session {
    /// The descriptors under which machines with the gate's device have put records of it.
    pub(super) fn descriptors_elsewhere(&self, job: &Job) -> Result<Vec<Descriptor>> {
        let Some(class) = class_of(&job.gate.device) else { return Ok(Vec::new()) };
        let mut found = records::descriptors_of(&self.repo, &job.key, &job.tree)?;
        found.retain(|descriptor| descriptor.device_class.starts_with(&class));
        Ok(found)
    }
}

/// How the classes of a device begin; `None` for what every machine has.
fn class_of(device: &Device) -> Option<String> {
    match device {
        Device::Cuda => Some("nvidia/".into()),
        Device::Hip => Some("amd/".into()),
        Device::Custom(probe) => Some(format!("custom/{}/", &sha256_hex(probe.as_bytes())[..12])),
        Device::Any | Device::Cpu | Device::Emulated => None,
    }
}
