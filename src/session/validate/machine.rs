//! The device a gate needs: whether it is here, its class, and the digest of what surrounds it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::Session;
use crate::config::{Device, Gate};
use crate::device::cards::{self, Card};
use crate::device::watch::Eye;
use crate::device::{self, Environment};
use crate::model::canonical::{self, sha256_hex};
use crate::model::{Error, Result};
use crate::runner;

/// How long a `custom:` probe may take.
const PROBE_LIMIT: Duration = Duration::from_secs(30);

/// How long a driver may take to say what is here.
const DRIVER_LIMIT: Duration = Duration::from_secs(10);

/// A device that is here.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Vendor, architecture, name and count; the processor for gates that need no GPU.
    pub(super) class: String,
    /// SHA-256 of the versions that matter to the gate.
    pub(super) env: String,
    /// Where it runs, for the record.
    pub(super) environment: Value,
    /// The GPUs it may be given, all of this class; none for a gate that needs none.
    pub(super) cards: Vec<Card>,
    /// What can look at them while it runs.
    pub(super) eye: Option<Eye>,
}

/// Whether the device is here.
pub(super) enum Presence {
    Here(Found),
    /// Why not.
    Missing(String),
}

/// What was learned of this machine so far: probing takes time, and several gates ask.
pub(super) struct Machine {
    /// Where AMD's compute driver publishes what it knows.
    kfd: PathBuf,
    processor: RefCell<Option<String>>,
    probed: RefCell<BTreeMap<Vec<String>, Environment>>,
    custom: RefCell<BTreeMap<String, bool>>,
    cards: RefCell<BTreeMap<&'static str, Cards>>,
    /// Why a vendor's devices cannot be used any more.
    sick: RefCell<BTreeMap<&'static str, String>>,
}

/// A vendor's devices and what can look at them, or why there are none.
type Cards = std::result::Result<(Vec<Card>, Option<Eye>), String>;

impl Default for Machine {
    fn default() -> Self {
        Self::with_kfd(PathBuf::from(cards::KFD))
    }
}

impl Machine {
    fn with_kfd(kfd: PathBuf) -> Self {
        Self {
            kfd,
            processor: RefCell::default(),
            probed: RefCell::default(),
            custom: RefCell::default(),
            cards: RefCell::default(),
            sick: RefCell::default(),
        }
    }

    /// Looks for the device of a gate. Runs a `custom:` probe, so call it after the trust was shown.
    pub(super) fn look(&self, session: &Session, gate: &Gate) -> Result<Presence> {
        let (mut cards, mut eye) = (Vec::new(), None);
        let class = match &gate.device {
            Device::Any | Device::Cpu => self.processor(),
            // It says what it is, and no class of a GPU is like it.
            Device::Emulated => format!("emulated/{}", self.processor()),
            Device::Cuda | Device::Hip => {
                let vendor = vendor(&gate.device);
                match self.gpus(vendor, gate.gpus.unwrap_or(1) as usize) {
                    Ok(found) => {
                        (cards, eye) = (found.cards, found.eye);
                        found.class
                    }
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
        let (env, environment) = self.environment(gate, &cards)?;
        Ok(Presence::Here(Found { class, env, environment, cards, eye }))
    }

    /// Forgets what probes said: a hang may have taken their devices with it. What is known to be sick stays so.
    pub(super) fn forget(&self) {
        self.custom.borrow_mut().clear();
        self.probed.borrow_mut().clear();
        self.cards.borrow_mut().clear();
    }

    /// Looks at a vendor's devices again after a run that hung. What is wrong then is wrong for every gate that follows.
    pub(super) fn look_again(&self, device: &Device, left: &str) {
        let vendor = vendor(device);
        self.cards.borrow_mut().remove(vendor);
        self.probed.borrow_mut().clear();
        let sick = match self.cards(vendor) {
            Err(why) => why,
            Ok((cards, _)) if cards.is_empty() => format!("no {vendor} GPU answers"),
            Ok(_) if !left.is_empty() => left.to_owned(),
            Ok(_) => return,
        };
        self.sick.borrow_mut().insert(vendor, format!("the device is not healthy after a hang: {sick}"));
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
        let (env, environment) = self.environment(gate, &[])?;
        Ok(Some(Found { class, env, environment, cards: Vec::new(), eye: None }))
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

    fn cards(&self, vendor: &'static str) -> Cards {
        self.cards
            .borrow_mut()
            .entry(vendor)
            .or_insert_with(|| {
                let variable = |name: &str| std::env::var(name).ok();
                if vendor == "nvidia" {
                    let (cards, watched) = cards::nvidia(DRIVER_LIMIT)?;
                    let cards = cards::visible(cards, variable("CUDA_VISIBLE_DEVICES").as_deref());
                    return Ok((cards, watched.then_some(Eye::Nvml)));
                }
                let cards =
                    cards::visible(cards::amd(&self.kfd), variable("ROCR_VISIBLE_DEVICES").as_deref());
                let cards = cards::renumbered(cards, variable("HIP_VISIBLE_DEVICES").as_deref());
                Ok((cards, Some(Eye::Kfd(self.kfd.clone()))))
            })
            .clone()
    }

    fn gpus(&self, vendor: &'static str, needed: usize) -> std::result::Result<Gpus, String> {
        if let Some(sick) = self.sick.borrow().get(vendor) {
            return Err(sick.clone());
        }
        let (cards, eye) = self.cards(vendor)?;
        if cards.is_empty() {
            return Err(format!("no such device here: no {vendor} GPU"));
        }
        if cards.len() < needed {
            return Err(format!("no such device here: {needed} {vendor} GPUs needed, {} found", cards.len()));
        }
        let cards = alike(cards, needed);
        let mut kinds: Vec<String> =
            cards.iter().map(|card| format!("{}/{}", or_unknown(&card.arch), card.name)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        Ok(Gpus { class: format!("{vendor}/{}/{needed}", kinds.join(" + ")), cards, eye })
    }

    /// The driver where there is a GPU in play, and the tools that were asked for.
    fn environment(&self, gate: &Gate, cards: &[Card]) -> Result<(String, Value)> {
        let gpu = matches!(gate.device, Device::Cuda | Device::Hip);
        if !gpu && gate.environment.is_empty() {
            return Ok((sha256_hex(b"{}"), Value::Null));
        }
        let probed = self.probe(&gate.environment);
        let mut drivers: Vec<&str> = cards.iter().map(|card| card.driver.as_str()).collect();
        drivers.sort_unstable();
        drivers.dedup();
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

struct Gpus {
    class: String,
    cards: Vec<Card>,
    eye: Option<Eye>,
}

fn vendor(device: &Device) -> &'static str {
    if *device == Device::Hip { "amd" } else { "nvidia" }
}

fn or_unknown(arch: &str) -> &str {
    if arch.is_empty() { "unknown" } else { arch }
}

/// Devices of one architecture and name, if there are enough of some: those of the newest architecture. Else all.
///
/// A record is of one class, so the choice must be the same every time, whichever of them happens to be free.
fn alike(cards: Vec<Card>, needed: usize) -> Vec<Card> {
    let mut kinds: BTreeMap<(String, String), Vec<Card>> = BTreeMap::new();
    for card in &cards {
        kinds.entry((card.arch.clone(), card.name.clone())).or_default().push(card.clone());
    }
    // "sm_90" comes before "sm_100", so the number decides.
    let number =
        |arch: &str| arch.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().unwrap_or(0);
    kinds
        .into_iter()
        .filter(|(_, group)| group.len() >= needed)
        .max_by_key(|((arch, name), _)| (number(arch), std::cmp::Reverse(name.clone())))
        .map_or(cards, |(_, group)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(arch: &str, name: &str) -> Card {
        Card { vendor: "nvidia".into(), arch: arch.into(), name: name.into(), ..Card::default() }
    }

    #[test]
    fn amds_devices_are_found_in_the_folder_of_their_driver() {
        let folder = tempfile::tempdir().unwrap();
        let nodes = folder.path().join("topology/nodes");
        let write = |path: PathBuf, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(nodes.join("0/properties"), "cpu_cores_count 64\nsimd_count 0\nvendor_id 0\n");
        for (node, unique) in [("1", 17), ("2", 18)] {
            let text =
                format!("simd_count 1216\nvendor_id 4098\ngfx_target_version 90402\nunique_id {unique}\n");
            write(nodes.join(node).join("properties"), &text);
            write(nodes.join(node).join("gpu_id"), &format!("10{node}\n"));
            write(nodes.join(node).join("name"), "example\n");
        }
        write(folder.path().join("proc/77/vram_101"), "4096\n");
        let machine = Machine::with_kfd(folder.path().to_owned());
        let found = machine.gpus("amd", 2).unwrap();
        assert_eq!(found.class, "amd/gfx942/example/2");
        assert_eq!(found.eye, Some(Eye::Kfd(folder.path().to_owned())));
        let seen: Vec<_> = found.cards.iter().map(|c| (c.uuid.as_str(), c.node, c.busy)).collect();
        assert_eq!(
            seen,
            [("GPU-0000000000000011", Some(101), true), ("GPU-0000000000000012", Some(102), false)]
        );
        assert!(machine.gpus("amd", 3).is_err_and(|why| why.contains("3 amd GPUs needed, 2 found")));
        // After a hang: gone devices, or a process that does not die, are the end of it.
        machine.look_again(&Device::Hip, "");
        assert!(machine.gpus("amd", 1).is_ok());
        machine.look_again(&Device::Hip, "process 77 is still there");
        assert!(machine.gpus("amd", 1).is_err_and(|why| why.contains("process 77")));
        let machine = Machine::with_kfd(folder.path().to_owned());
        assert!(machine.gpus("amd", 1).is_ok());
        std::fs::remove_dir_all(&nodes).unwrap();
        machine.look_again(&Device::Hip, "");
        assert!(machine.gpus("amd", 1).is_err_and(|why| why.contains("not healthy after a hang")));
    }

    #[test]
    fn a_class_is_chosen_whoever_is_free() {
        let all = vec![card("sm_90", "H"), card("sm_100", "B"), card("sm_90", "H")];
        let names =
            |needed| -> Vec<String> { alike(all.clone(), needed).into_iter().map(|c| c.name).collect() };
        assert_eq!(names(1), ["B"]);
        assert_eq!(names(2), ["H", "H"]);
        assert_eq!(names(3), ["H", "B", "H"], "a mixed class, when there is no other way");
    }
}
