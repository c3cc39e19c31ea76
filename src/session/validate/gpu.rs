//! The GPUs of one gate's run: held by it alone, watched while it runs, and what is said of them afterwards.

use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use serde::Deserialize;
use serde_json::{Value, json};

use super::machine::Found;
use super::{Job, Session};
use crate::config::Device;
use crate::device::cards::Card;
use crate::device::lock::{self, Asked, Held};
use crate::device::nvml::{POWER_CAP, SPOILS_TIMES, State, throttle_words};
use crate::device::watch::{Eye, SOME_MEMORY, Seen, SeenOn, Watch};
use crate::model::Result;
use crate::model::canonical::sha256_hex;

/// The variable by which the processes of a gate are known.
const MARK: &str = "GIT_INCIDENT_GATE";

/// What the Python helper writes of the device it used.
const REPORT: &str = "git-incident-device.json";

/// The GPUs that one run has for itself.
pub(super) struct Use {
    held: Held,
    eye: Option<Eye>,
    mark: String,
    watch: Option<Watch>,
    trouble: String,
}

/// What came of asking for them.
pub(super) enum Taken {
    /// The gate needs none.
    NotNeeded,
    Ours(Box<Use>),
    /// Somebody else has them, and nobody may wait.
    Busy,
}

/// What was seen, for the record and for the verdict.
#[derive(Debug, Clone, Default)]
pub(super) struct Observed {
    /// For the record; null when the gate needs no GPU.
    pub(super) gpu: Value,
    /// Why no use was seen; empty when it was.
    pub(super) doubt: String,
    /// A process of the run that is still on a device; empty when there is none.
    pub(super) left: String,
}

impl Use {
    /// Takes the GPUs a gate needs, waiting for them when nobody holds a connection open for us.
    pub(super) fn take(
        session: &Session,
        job: &Job,
        found: &Found,
        deadline: Option<Instant>,
        waiting: &mut dyn FnMut(&str),
    ) -> Result<Taken> {
        if !matches!(job.gate.device, Device::Cuda | Device::Hip) {
            return Ok(Taken::NotNeeded);
        }
        let folder = session.cache_dir()?.join("gpus");
        let who = format!("gate {} on {}", job.gate.id, job.commit.short());
        let wanted = job.gate.gpus.unwrap_or(1) as usize;
        match lock::take(&folder, &found.cards, wanted, &who, deadline, waiting)? {
            Asked::Busy(_) => Ok(Taken::Busy),
            Asked::Taken(held) => {
                let mark = sha256_hex(super::super::random_salt()?.as_bytes())[..32].to_owned();
                Ok(Taken::Ours(Box::new(Self {
                    held,
                    eye: found.eye.clone(),
                    mark,
                    watch: None,
                    trouble: String::new(),
                })))
            }
        }
    }

    /// What the gate's commands get: only these devices, and how many they are.
    pub(super) fn env(&self) -> Vec<(OsString, Option<OsString>)> {
        let cards = &self.held.cards;
        let handles = |of: &dyn Fn(usize, &Card) -> String| -> OsString {
            let all: Vec<String> = cards.iter().enumerate().map(|(n, card)| of(n, card)).collect();
            all.join(",").into()
        };
        let mut env = vec![
            ("GATE_RANKS".into(), Some(cards.len().to_string().into())),
            (MARK.into(), Some(self.mark.clone().into())),
        ];
        if cards.iter().any(|card| card.vendor == "amd") {
            env.push(("ROCR_VISIBLE_DEVICES".into(), Some(handles(&|_, card| card.handle()))));
            // These count what the variable above has left.
            env.push(("HIP_VISIBLE_DEVICES".into(), Some(handles(&|n, _| n.to_string()))));
            env.push(("CUDA_VISIBLE_DEVICES".into(), None));
        } else {
            env.push(("CUDA_DEVICE_ORDER".into(), Some("PCI_BUS_ID".into())));
            env.push(("CUDA_VISIBLE_DEVICES".into(), Some(handles(&|_, card| card.handle()))));
        }
        env
    }

    /// Begins to look; what is on the devices now is not the gate's.
    pub(super) fn begin(&mut self) {
        let Some(eye) = &self.eye else {
            self.trouble = "libnvidia-ml.so.1 cannot be loaded, so nothing can look at the device".into();
            return;
        };
        match Watch::start(eye, &self.held.cards, &format!("{MARK}={}", self.mark)) {
            Ok(watch) => self.watch = Some(watch),
            Err(why) => self.trouble = why,
        }
    }

    /// Ends it, and says what was seen.
    pub(super) fn end(&mut self, out: &Path) -> Observed {
        let Some(watch) = self.watch.take() else {
            return self.unseen(&self.trouble.clone());
        };
        match watch.stop() {
            Ok(seen) => self.judge(&seen, report(out).as_ref()),
            Err(why) => self.unseen(&why),
        }
    }

    fn unseen(&self, why: &str) -> Observed {
        let cards: Vec<Value> =
            self.held.cards.iter().map(|c| json!({"uuid": c.uuid, "name": c.name, "arch": c.arch})).collect();
        Observed {
            gpu: json!({"complete": false, "devices": cards, "missing": [why], "observed": "nothing"}),
            doubt: format!("no GPU use observed: {why}"),
            left: if why.contains("did not answer") { why.to_owned() } else { String::new() },
        }
    }

    fn judge(&self, seen: &Seen, report: Option<&Report>) -> Observed {
        let kinds: Vec<Evidence> = seen.devices.iter().map(|on| evidence(on, report)).collect();
        let weakest = kinds.iter().max().copied().unwrap_or(Evidence::Nothing);
        let doubt = match weakest {
            Evidence::Nothing => {
                let idle: Vec<&str> = (seen.devices.iter().zip(&kinds))
                    .filter(|(_, kind)| **kind == Evidence::Nothing)
                    .map(|(on, _)| on.before.uuid.as_str())
                    .collect();
                let memory = seen.devices.iter().map(|on| on.memory_rise).max().unwrap_or(0);
                let hint = if memory >= SOME_MEMORY {
                    "; memory was taken, and by whom cannot be seen from here: let the Python helper report the device"
                } else {
                    ""
                };
                format!("no GPU use observed on {}{hint}", idle.join(", "))
            }
            _ => String::new(),
        };
        let missing: Vec<String> = seen
            .devices
            .iter()
            .flat_map(|on| on.before.missing.iter().chain(&on.after.missing))
            .cloned()
            .collect::<std::collections::BTreeSet<String>>()
            .into_iter()
            .collect();
        let first = self.held.cards.first();
        let devices: Vec<Value> =
            (seen.devices.iter().zip(&kinds)).map(|(on, kind)| device(on, *kind)).collect();
        let shared = seen.devices.iter().any(|on| !on.others.is_empty());
        let throttle = seen.devices.iter().fold(0, |all, on| all | bits(on));
        let left: Vec<String> = seen
            .devices
            .iter()
            .flat_map(|on| {
                on.left.iter().map(|pid| format!("process {pid} of the gate is still on {}", on.before.uuid))
            })
            .collect();
        Observed {
            gpu: json!({
                "complete": missing.is_empty(),
                "cuda": first.map(|card| card.cuda.clone()).unwrap_or_default(),
                "devices": devices,
                "driver": first.map(|card| card.driver.clone()).unwrap_or_default(),
                "looks": seen.looks,
                "missing": missing,
                "observed": weakest.word(),
                "shared": shared,
                "throttled": throttle_words(throttle),
                "times_valid": throttle & SPOILS_TIMES == 0 && !shared,
            }),
            doubt,
            left: left.join("; "),
        }
    }
}

/// How the use of a device was seen, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Evidence {
    /// The driver named a process of the run.
    Process,
    /// The helper in the run reported the device, and its memory in use grew.
    Helper,
    /// A process that cannot be placed came with the run, took memory, and went with it.
    Appeared,
    Nothing,
}

impl Evidence {
    const fn word(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Helper => "helper",
            Self::Appeared => "appeared",
            Self::Nothing => "nothing",
        }
    }
}

fn evidence(on: &SeenOn, report: Option<&Report>) -> Evidence {
    if !on.ours.is_empty() {
        return Evidence::Process;
    }
    let reported = report.is_some_and(|r| r.names(&on.before));
    if reported && (on.memory_rise >= SOME_MEMORY || !on.unknown.is_empty()) {
        return Evidence::Helper;
    }
    if on.came_and_went() { Evidence::Appeared } else { Evidence::Nothing }
}

fn bits(on: &SeenOn) -> u64 {
    on.throttle | on.before.throttle.unwrap_or(0) | on.after.throttle.unwrap_or(0)
}

fn device(on: &SeenOn, kind: Evidence) -> Value {
    let (before, after) = (&on.before, &on.after);
    let moment = |state: &State| {
        json!({
            "celsius": state.celsius,
            "ecc_corrected": state.ecc_corrected,
            "ecc_uncorrected": state.ecc_uncorrected,
            "memory_mhz": state.memory_mhz,
            "memory_used": state.memory_used,
            "sm_mhz": state.sm_mhz,
            "throttle": state.throttle,
        })
    };
    json!({
        "after": moment(after),
        "arch": before.arch,
        "before": moment(before),
        "ecc": before.ecc,
        "memory_rise": on.memory_rise,
        "mig": before.mig,
        "name": before.name,
        "observed": kind.word(),
        "others": on.others.len(),
        "parent": before.parent,
        "persistence": before.persistence,
        "throttle": bits(on),
        "uuid": before.uuid,
    })
}

/// What the Python helper says it used. It is the gate's own word, so it counts only with what the driver says.
#[derive(Debug, Deserialize)]
struct Report {
    #[serde(default)]
    uuid: String,
    #[serde(default)]
    name: String,
}

impl Report {
    /// PyTorch leaves out the beginning of an identity.
    fn names(&self, state: &State) -> bool {
        let bare = |uuid: &str| uuid.trim_start_matches("GPU-").to_lowercase();
        let wanted = bare(&self.uuid);
        // A process on an instance may be told the identity of the whole.
        let known = [Some(&state.uuid), state.parent.as_ref()];
        !wanted.is_empty()
            && known.into_iter().flatten().any(|uuid| bare(uuid) == wanted)
            && (state.name.starts_with(&self.name) || self.name.starts_with(&state.name))
    }
}

fn report(out: &Path) -> Option<Report> {
    use std::io::Read as _;
    let path = out.join(REPORT);
    // A link may lead to a report of another run.
    if !std::fs::symlink_metadata(&path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(&path).ok()?.take(64 << 10).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// What has to be said of a record's GPUs, whatever its verdict.
pub(super) fn notes(gpu: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    match gpu["observed"].as_str() {
        Some("appeared") => notes.push(
            "the GPU use was seen from a distance: a process came and went with the run, and cannot be told to be \
             the gate's (a container hides its number)"
                .to_owned(),
        ),
        Some("helper") => notes.push(
            "the GPU use was reported by the gate's helper, and the memory in use agrees; the driver named no process"
                .to_owned(),
        ),
        _ => {}
    }
    let devices = gpu["devices"].as_array().map(Vec::as_slice).unwrap_or_default();
    for device in devices.iter().take(64) {
        let uuid: String = device["uuid"].as_str().unwrap_or_default().chars().take(60).collect();
        let throttle = device["throttle"].as_u64().unwrap_or(0);
        if throttle & (SPOILS_TIMES | POWER_CAP) != 0 {
            let spoilt = if throttle & SPOILS_TIMES == 0 { "" } else { ": times measured on it say nothing" };
            notes.push(format!("{uuid} was throttled ({}){spoilt}", throttle_words(throttle).join(", ")));
        }
        if let Some(others @ 1..) = device["others"].as_u64() {
            notes.push(format!("{uuid} was shared with {others} other process(es)"));
        }
        let errors = |moment: &str| device[moment]["ecc_uncorrected"].as_u64();
        if let (Some(before), Some(after)) = (errors("before"), errors("after"))
            && after > before
        {
            notes.push(format!("{uuid} had {} memory error(s) that could not be corrected", after - before));
        }
    }
    if gpu["complete"] == Value::Bool(false) {
        let missing: Vec<&str> =
            gpu["missing"].as_array().into_iter().flatten().filter_map(Value::as_str).take(12).collect();
        notes.push(format!("what is known of the GPU is not complete: {}", missing.join(", ")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(uuid: &str) -> SeenOn {
        let before = State { uuid: uuid.into(), name: "A".into(), ..State::default() };
        SeenOn { after: before.clone(), before, ..SeenOn::default() }
    }

    fn used(devices: Vec<SeenOn>, report: Option<Report>) -> Observed {
        let cards: Vec<Card> = devices
            .iter()
            .map(|on| Card { uuid: on.before.uuid.clone(), vendor: "nvidia".into(), ..Card::default() })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let wanted = cards.len();
        let Asked::Taken(held) =
            lock::take(folder.path(), &cards, wanted, "test", None, &mut |_| {}).unwrap()
        else {
            panic!("busy")
        };
        let run = Use { held, eye: None, mark: "m".into(), watch: None, trouble: String::new() };
        run.judge(&Seen { devices, looks: 2 }, report.as_ref())
    }

    #[test]
    fn every_device_must_have_been_used() {
        let mut busy = on("GPU-1");
        busy.ours.insert(5);
        assert_eq!(used(vec![busy.clone()], None).doubt, "");
        let both = used(vec![busy, on("GPU-2")], None);
        assert_eq!(both.doubt, "no GPU use observed on GPU-2");
        assert_eq!(both.gpu["observed"], "nothing");
    }

    #[test]
    fn a_run_sees_the_devices_it_holds_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let env = |vendor: &str, uuids: [&str; 2]| {
            let cards = uuids.map(|uuid| Card {
                vendor: vendor.into(),
                uuid: uuid.into(),
                index: u32::from(uuid.is_empty()) * 3,
                ..Card::default()
            });
            let Asked::Taken(held) = lock::take(folder.path(), &cards, 2, "test", None, &mut |_| {}).unwrap()
            else {
                panic!("busy")
            };
            let run = Use { held, eye: None, mark: "m".into(), watch: None, trouble: String::new() };
            let all = run.env();
            move |name: &str| {
                let value = all.iter().find(|(known, _)| known == name)?.1.clone()?;
                value.into_string().ok()
            }
        };
        let cuda = env("nvidia", ["GPU-b", "GPU-a"]);
        assert_eq!(cuda("CUDA_VISIBLE_DEVICES").as_deref(), Some("GPU-a,GPU-b"));
        assert_eq!((cuda("GATE_RANKS").as_deref(), cuda(MARK).as_deref()), (Some("2"), Some("m")));
        let hip = env("amd", ["GPU-2", ""]);
        assert_eq!(hip("ROCR_VISIBLE_DEVICES").as_deref(), Some("GPU-2,3"));
        assert_eq!(hip("HIP_VISIBLE_DEVICES").as_deref(), Some("0,1"));
        assert_eq!(hip("CUDA_VISIBLE_DEVICES"), None);
    }

    #[test]
    fn the_helpers_word_needs_the_drivers() {
        let report = || Some(Report { uuid: "AB-1".into(), name: "A".into() });
        let quiet = on("GPU-ab-1");
        assert!(used(vec![quiet.clone()], report()).doubt.starts_with("no GPU use observed"));
        let mut grown = quiet;
        grown.memory_rise = SOME_MEMORY;
        let seen = used(vec![grown.clone()], report());
        assert_eq!((seen.doubt.as_str(), seen.gpu["observed"].as_str()), ("", Some("helper")));
        assert!(notes(&seen.gpu)[0].contains("helper"));
        assert!(used(vec![grown.clone()], None).doubt.contains("Python helper"));
        let other = Some(Report { uuid: "cd-2".into(), name: "A".into() });
        assert!(!used(vec![grown.clone()], other).doubt.is_empty());
        let lied = Some(Report { uuid: "ab-1".into(), name: "B".into() });
        assert!(!used(vec![grown], lied).doubt.is_empty());
    }

    #[test]
    fn throttling_and_company_are_said() {
        let mut seen = on("GPU-1");
        seen.ours.insert(1);
        seen.throttle = 0x4 | 0x40;
        seen.others.extend([7, 8]);
        seen.before.ecc_uncorrected = Some(1);
        seen.after.ecc_uncorrected = Some(3);
        seen.before.missing = vec!["ECC".into()];
        let gpu = used(vec![seen], None).gpu;
        assert_eq!(
            (&gpu["times_valid"], &gpu["complete"], &gpu["shared"]),
            (&json!(false), &json!(false), &json!(true))
        );
        let said = notes(&gpu).join("\n");
        for words in [
            "hardware thermal slowdown, power cap",
            "say nothing",
            "2 other",
            "2 memory error",
            "not complete: ECC",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        let mut capped = on("GPU-1");
        capped.ours.insert(1);
        capped.throttle = 0x4;
        let gpu = used(vec![capped], None).gpu;
        assert_eq!(gpu["times_valid"], json!(true));
        assert!(!notes(&gpu).join("\n").contains("say nothing"));
        assert!(crate::model::canonical::to_string(&gpu).is_ok());
    }

    #[test]
    fn a_report_is_a_file_of_the_run_and_no_link() {
        let folder = tempfile::tempdir().unwrap();
        assert!(report(folder.path()).is_none());
        let real = folder.path().join("real");
        std::fs::write(&real, r#"{"pid":1,"uuid":"u","name":"n","backend":"cuda"}"#).unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join(REPORT)).unwrap();
        assert!(report(folder.path()).is_none());
        std::fs::rename(&real, folder.path().join(REPORT)).unwrap();
        assert_eq!(report(folder.path()).unwrap().uuid, "u");
        std::fs::write(folder.path().join(REPORT), "[").unwrap();
        assert!(report(folder.path()).is_none());
    }

    #[test]
    fn notes_of_a_foreign_record_are_total() {
        for text in [
            "null",
            "[]",
            r#"{"devices":{"a":1}}"#,
            r#"{"devices":[1,{"uuid":2,"throttle":"x"}],"missing":3,"complete":false}"#,
        ] {
            let _ = notes(&serde_json::from_str(text).unwrap());
        }
    }
}
