//! What is known of a gate without running anything: records that count, records that are only claimed, gates that
//! wait for their device.

use super::machine::Machine;
use super::{Job, Session};
use crate::git::Repo;
use crate::model::incident::Incident;
use crate::model::status::Verdict;
use crate::model::{Oid, Result};
use crate::store::records::{self, Descriptor, Found, Signers};

/// What is known of a gate on a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// A record that decides here.
    Counts {
        /// What it says.
        verdict: Verdict,
        /// Why, in one line.
        reason: String,
        /// The device class it was made on.
        device: String,
        /// Its descriptor.
        record: Oid,
        /// Who signed it, where it is signed.
        signed_by: Option<String>,
    },
    /// A record that was made elsewhere, and that nobody vouches for.
    Claimed {
        /// What it says.
        verdict: Verdict,
        /// The device class it names.
        device: String,
        /// Its descriptor.
        record: Oid,
    },
    /// It waits for a device, for this reason.
    Pending(String),
    /// Nothing; the reason where there is one.
    Nothing(String),
}

impl Session {
    /// What is known of jobs, in their order. No command of the repository runs.
    ///
    /// Records are looked for where the incident's ledger says that gates were recorded, on whatever device that
    /// was, and where this machine would have put them.
    ///
    /// # Errors
    /// An object of the notes is not here.
    pub fn known_of(&self, jobs: &[Job], incident: Option<&Incident>) -> Result<Vec<Known>> {
        let machine = Machine::default();
        jobs.iter().map(|job| self.known_of_one(job, incident, &machine)).collect()
    }

    fn known_of_one(&self, job: &Job, incident: Option<&Incident>, machine: &Machine) -> Result<Known> {
        if let Some(judged) = crate::validate::gate::unsupported(job.gate.kind.word()) {
            return Ok(Known::Nothing(judged.reason));
        }
        let signers = self.signers(job.signers_from.as_ref());
        let mut found: Vec<(Oid, Descriptor, Found)> = Vec::new();
        for descriptor in self.recorded_descriptors(job, incident) {
            self.collect(&mut found, descriptor, &signers)?;
        }
        let decides = |(_, _, f): &&(Oid, Descriptor, Found)| f.counts && (f.record.fresh || !job.fresh);
        if !found.iter().any(|f| decides(&f)) {
            match machine.known(self, &job.gate)? {
                Some(here) => self.collect(&mut found, job.descriptor(&here), &signers)?,
                // No such device here: what machines that have one said.
                None => {
                    for descriptor in self.descriptors_elsewhere(job)? {
                        self.collect(&mut found, descriptor, &signers)?;
                    }
                }
            }
        }
        if let Some((record, descriptor, newest)) =
            found.iter().filter(decides).max_by_key(|(_, _, f)| f.record.at)
        {
            return Ok(Known::Counts {
                verdict: newest.record.verdict,
                reason: newest.record.reason.clone(),
                device: descriptor.device_class.clone(),
                record: record.clone(),
                signed_by: newest.signed_by.clone(),
            });
        }
        if let Some(pending) =
            self.pending_gates().into_iter().find(|p| p.gate == job.gate.id && p.tree == job.tree)
        {
            return Ok(Known::Pending(pending.reason));
        }
        if let Some((record, descriptor, newest)) =
            found.iter().filter(|(_, _, f)| !f.counts).max_by_key(|(_, _, f)| f.record.at)
        {
            return Ok(Known::Claimed {
                verdict: newest.record.verdict,
                device: descriptor.device_class.clone(),
                record: record.clone(),
            });
        }
        Ok(Known::Nothing(if found.is_empty() {
            String::new()
        } else {
            "its record was made with left-overs of earlier runs, and a protected branch asks for a fresh one"
                .to_owned()
        }))
    }

    fn collect(
        &self,
        found: &mut Vec<(Oid, Descriptor, Found)>,
        descriptor: Descriptor,
        signers: &Signers,
    ) -> Result<()> {
        let name = Repo::blob_name(&descriptor.line()?)?;
        if found.iter().any(|(known, _, _)| *known == name) {
            return Ok(());
        }
        let records = records::find(&self.repo, &descriptor, signers)?;
        found.extend(records.into_iter().map(|record| (name.clone(), descriptor.clone(), record)));
        Ok(())
    }

    /// Descriptors of this very job that the ledger names; what else it may name is passed over.
    fn recorded_descriptors(&self, job: &Job, incident: Option<&Incident>) -> Vec<Descriptor> {
        let gates = incident.map(|i| i.gates.as_slice()).unwrap_or_default();
        let mut names: Vec<&Oid> = gates
            .iter()
            .filter(|g| g.gate == job.gate.id && g.tree.as_ref() == Some(&job.tree))
            .filter_map(|g| g.descriptor.as_ref())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
            .into_iter()
            .take(64)
            .filter_map(|name| serde_json::from_slice::<Descriptor>(&self.repo.blob(name).ok()?).ok())
            .filter(|d| d.gate == job.key && d.tree == job.tree)
            .collect()
    }
}
