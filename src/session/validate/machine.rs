//! The device a gate needs: whether it is here, its class, and the digest of what surrounds it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::Session;
use crate::config::{Device, Gate};
use crate::device::{self, Environment};
use crate::model::canonical::{self, sha256_hex};
use crate::model::{Error, Result};
use crate::runner;

/// How long a `custom:` probe may take.
const PROBE_LIMIT: Duration = Duration::from_secs(30);

/// A device that is here.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Vendor, name and count; the processor for gates that need no GPU.
    pub(super) class: String,
    /// SHA-256 of the versions that matter to the gate.
    pub(super) env: String,
    /// Where it runs, for the record.
    pub(super) environment: Value,
}

/// Whether the device is here.
pub(super) enum Presence {
    Here(Found),
    /// Why not.
    Missing(String),
}

/// What was learned of this machine so far: probing takes time, and several gates ask.
#[derive(Default)]
pub(super) struct Machine {
    processor: RefCell<Option<String>>,
    probed: RefCell<BTreeMap<Vec<String>, Environment>>,
    custom: RefCell<BTreeMap<String, bool>>,
}

impl Machine {
    /// Looks for the device of a gate. Runs a `custom:` probe, so call it after the trust was shown.
    pub(super) fn look(&self, session: &Session, gate: &Gate) -> Result<Presence> {
        let class = match &gate.device {
            Device::Any | Device::Cpu => self.processor(),
            // It says what it is, and no class of a GPU is like it.
            Device::Emulated => format!("emulated/{}", self.processor()),
            Device::Cuda | Device::Hip => {
                let vendor = if gate.device == Device::Cuda { "nvidia" } else { "amd" };
                match self.gpus(vendor, &gate.environment, gate.gpus.unwrap_or(1)) {
                    Ok(class) => class,
                    Err(reason) => return Ok(Presence::Missing(reason)),
                }
            }
            Device::Custom(probe) => {
                if !self.custom(session, probe)? {
                    return Ok(Presence::Missing(format!("no such device here: `{probe}` says no")));
                }
                self.custom_class(probe)
            }
        };
        let (env, environment) = self.environment(gate)?;
        Ok(Presence::Here(Found { class, env, environment }))
    }

    /// The class and the environment that a record made here would have, as far as no command has to run for it
    /// that a repository names. `None` when the device is not here.
    pub(super) fn known(&self, session: &Session, gate: &Gate) -> Result<Option<Found>> {
        let Device::Custom(probe) = &gate.device else {
            return Ok(match self.look(session, gate)? {
                Presence::Here(found) => Some(found),
                Presence::Missing(_) => None,
            });
        };
        let class = self.custom_class(probe);
        let (env, environment) = self.environment(gate)?;
        Ok(Some(Found { class, env, environment }))
    }

    fn custom_class(&self, probe: &str) -> String {
        format!("custom/{}/{}", &sha256_hex(probe.as_bytes())[..12], self.processor())
    }

    fn processor(&self) -> String {
        self.processor
            .borrow_mut()
            .get_or_insert_with(|| {
                let (arch, cpu) = device::processor();
                let cpu = if cpu.is_empty() { "unknown".to_owned() } else { cpu };
                format!("cpu/{arch}/{cpu}")
            })
            .clone()
    }

    fn probe(&self, tools: &[String]) -> Environment {
        let mut tools = tools.to_vec();
        tools.sort_unstable();
        tools.dedup();
        self.probed.borrow_mut().entry(tools.clone()).or_insert_with(|| device::probe(&tools)).clone()
    }

    fn gpus(&self, vendor: &str, tools: &[String], needed: u32) -> std::result::Result<String, String> {
        let environment = self.probe(tools);
        let mut names: Vec<&str> =
            environment.gpus.iter().filter(|gpu| gpu.vendor == vendor).map(|gpu| gpu.name.as_str()).collect();
        if names.is_empty() {
            return Err(format!("no such device here: no {vendor} GPU"));
        }
        if names.len() < needed as usize {
            return Err(format!("no such device here: {needed} {vendor} GPUs needed, {} found", names.len()));
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        Ok(format!("{vendor}/{}/{count}", names.join(" + ")))
    }

    /// The driver where there is a GPU in play, and the tools that were asked for.
    fn environment(&self, gate: &Gate) -> Result<(String, Value)> {
        let gpu = matches!(gate.device, Device::Cuda | Device::Hip);
        if !gpu && gate.environment.is_empty() {
            return Ok((sha256_hex(b"{}"), Value::Null));
        }
        let probed = self.probe(&gate.environment);
        let drivers: Vec<&str> =
            if gpu { probed.gpus.iter().map(|g| g.driver.as_str()).collect() } else { Vec::new() };
        let matters = json!({"drivers": drivers, "tools": probed.tools});
        let environment = serde_json::to_value(&probed)
            .map_err(|e| Error::bug("the environment cannot be written as JSON").because(e))?;
        Ok((sha256_hex(canonical::to_string(&matters)?.as_bytes()), environment))
    }

    /// Runs the probe in an empty directory: it asks about the machine, not about a tree.
    fn custom(&self, session: &Session, probe: &str) -> Result<bool> {
        if let Some(known) = self.custom.borrow().get(probe) {
            return Ok(*known);
        }
        let scratch = session.scratch("probe")?;
        let mut command = runner::Command::new(super::execute::shell(probe), scratch.path().join("output"));
        command.cwd = Some(scratch.path().to_owned());
        command.env = super::execute::scrubbed();
        command.timeout = Some(PROBE_LIMIT);
        command.stream = runner::Stream::Quiet;
        command.max_output = 64 << 10;
        let found = runner::run(&command).is_ok_and(|outcome| outcome.end == runner::End::Exited(0));
        self.custom.borrow_mut().insert(probe.to_owned(), found);
        Ok(found)
    }
}
