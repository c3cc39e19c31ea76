//! What NVIDIA's management library says of its devices.
//!
//! The library comes with the driver and can hang with it, so it is only asked in threads that nobody has to wait for
//! (as `bounded` does). It is never unloaded: its answers are asked for again, and a library that is gone cannot hang.

use std::sync::mpsc;
use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, TemperatureSensor};
use nvml_wrapper::error::NvmlError;

use super::one_line;

/// The most devices that are listed.
const MOST: u32 = 64;

/// What the library knows of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The kernel driver's version.
    pub driver: String,
    /// The newest CUDA that the driver serves, such as `13.0`.
    pub cuda: String,
    /// Its devices; a GPU that is cut into MIG instances is there as those.
    pub devices: Vec<State>,
    /// Devices that did not answer, with what the library said of them.
    pub lost: Vec<String>,
}

/// One device at one moment. What could not be read is `None` and named in `missing`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// Its identity: `GPU-…`, or `MIG-…` for an instance.
    pub uuid: String,
    /// The GPU that an instance is a part of.
    pub parent: Option<String>,
    /// The model.
    pub name: String,
    /// Its place in the library's order, that of the PCI bus.
    pub index: u32,
    /// Compute capability, such as `sm_90`; empty where it does not tell.
    pub arch: String,
    /// Clock of the multiprocessors in MHz.
    pub sm_mhz: Option<u32>,
    /// Clock of the memory in MHz.
    pub memory_mhz: Option<u32>,
    /// Why the clocks are held down, as the library's bits.
    pub throttle: Option<u64>,
    /// Whether errors of the memory are corrected.
    pub ecc: Option<bool>,
    /// Errors that were corrected since the driver was loaded.
    pub ecc_corrected: Option<u64>,
    /// Errors that could not be corrected.
    pub ecc_uncorrected: Option<u64>,
    /// Whether the GPU is cut into instances.
    pub mig: Option<bool>,
    /// Whether the driver stays loaded when nobody uses the GPU.
    pub persistence: Option<bool>,
    /// Degrees Celsius.
    pub celsius: Option<u32>,
    /// Bytes of its memory in use.
    pub memory_used: Option<u64>,
    /// Processes with a compute context, by number; numbers may be those of the host.
    pub processes: Option<Vec<u32>>,
    /// What could not be read.
    pub missing: Vec<String>,
}

/// Runs `ask` where it may hang; what takes longer than the limit is left behind.
pub(super) fn bounded<T: Send + 'static>(
    limit: Duration,
    ask: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, answer) = mpsc::channel();
    std::thread::Builder::new()
        .name("device".into())
        .spawn(move || {
            let _ = sender.send(ask());
        })
        .ok()?;
    answer.recv_timeout(limit).ok()
}

/// Loads the library.
///
/// # Errors
/// It is not here, or the driver is not loaded; in its own words.
pub(super) fn open() -> Result<&'static Nvml, String> {
    match Nvml::init() {
        Ok(nvml) => Ok(Box::leak(Box::new(nvml))),
        Err(error) => Err(words(&error)),
    }
}

fn words(error: &NvmlError) -> String {
    match error {
        NvmlError::LibloadingError(_) => "libnvidia-ml.so.1 cannot be loaded".to_owned(),
        other => one_line(&other.to_string()),
    }
}

/// The machine as it is now, within a limit.
///
/// # Errors
/// The library is not here, does not answer in time, or says why not.
pub fn read(limit: Duration) -> Result<Machine, String> {
    bounded(limit, || open().map(machine))
        .unwrap_or_else(|| Err(format!("the driver did not answer within {} s", limit.as_secs().max(1))))
}

fn machine(nvml: &Nvml) -> Machine {
    let cuda = nvml.sys_cuda_driver_version().map(|v| format!("{}.{}", v / 1000, v % 1000 / 10));
    let mut machine = Machine {
        driver: one_line(&nvml.sys_driver_version().unwrap_or_default()),
        cuda: cuda.unwrap_or_default(),
        ..Machine::default()
    };
    for index in 0..nvml.device_count().unwrap_or(0).min(MOST) {
        match nvml.device_by_index(index) {
            Ok(device) => match state(&device, index) {
                Ok(whole) => machine.devices.extend(instances(&device, whole)),
                Err(why) => machine.lost.push(format!("GPU {index}: {why}")),
            },
            Err(error) => machine.lost.push(format!("GPU {index}: {}", words(&error))),
        }
    }
    machine
}

/// The state of devices by name, for those who watch: the whole, or only what changes from one moment to the next. A
/// device that is gone is not in the answer.
pub(super) fn look(nvml: &Nvml, uuids: &[String], whole: bool) -> Vec<State> {
    let one = |uuid: &String| {
        let device = nvml.device_by_uuid(uuid.as_str()).ok()?;
        if !whole {
            return Some(State {
                uuid: uuid.clone(),
                throttle: device.current_throttle_reasons().ok().map(|reasons| reasons.bits()),
                memory_used: device.memory_info().ok().map(|memory| memory.used),
                processes: processes(&device).ok(),
                ..State::default()
            });
        }
        let mut found = state(&device, 0).ok()?;
        if uuid.starts_with("MIG-")
            && let Ok(parent) = device.mig_parent_device()
            && let Ok(whole) = state(&parent, 0)
        {
            found = part_of(&whole, found);
        }
        found.uuid.clone_from(uuid);
        Some(found)
    };
    uuids.iter().filter_map(one).collect()
}

fn state(device: &nvml_wrapper::Device<'_>, index: u32) -> Result<State, String> {
    // A GPU that fell off the bus says so here.
    let uuid = one_line(&device.uuid().map_err(|e| words(&e))?);
    let mut state = State { uuid, index, ..State::default() };
    let mut missing = Vec::new();
    let mut note = |what: &str| missing.push(what.to_owned());
    macro_rules! ask {
        ($what:literal, $answer:expr) => {
            $answer.map_err(|_| note($what)).ok()
        };
    }
    state.name = one_line(&ask!("name", device.name()).unwrap_or_default());
    state.arch = ask!("compute capability", device.cuda_compute_capability())
        .map(|c| format!("sm_{}{}", c.major, c.minor))
        .unwrap_or_default();
    state.sm_mhz = ask!("SM clock", device.clock_info(Clock::SM));
    state.memory_mhz = ask!("memory clock", device.clock_info(Clock::Memory));
    state.throttle =
        ask!("throttle reasons", device.current_throttle_reasons()).map(|r: ThrottleReasons| r.bits());
    // A device without such memory has nothing to count.
    match device.is_ecc_enabled() {
        Ok(mode) => {
            state.ecc = Some(mode.currently_enabled);
            if mode.currently_enabled {
                let errors = |kind| device.total_ecc_errors(kind, EccCounter::Volatile);
                state.ecc_corrected = ask!("corrected errors", errors(MemoryError::Corrected));
                state.ecc_uncorrected = ask!("uncorrected errors", errors(MemoryError::Uncorrected));
            }
        }
        Err(NvmlError::NotSupported) => state.ecc = Some(false),
        Err(_) => note("ECC"),
    }
    match device.mig_mode() {
        Ok(mode) => state.mig = Some(mode.current == 1),
        Err(NvmlError::NotSupported) => state.mig = Some(false),
        Err(_) => note("MIG mode"),
    }
    state.persistence = ask!("persistence mode", device.is_in_persistent_mode());
    state.celsius = device.temperature(TemperatureSensor::Gpu).ok();
    state.memory_used = ask!("memory in use", device.memory_info()).map(|m| m.used);
    state.processes = ask!("processes", processes(device));
    state.missing = missing;
    Ok(state)
}

fn processes(device: &nvml_wrapper::Device<'_>) -> Result<Vec<u32>, NvmlError> {
    let mut all = device.running_compute_processes()?;
    // Where processes share the GPU through a server, the first list names the server alone.
    all.extend(device.mps_running_compute_processes().unwrap_or_default());
    Ok(all.into_iter().map(|process| process.pid).collect())
}

/// The GPU itself, or its instances when it is cut into some: then nobody can run on the whole.
fn instances(device: &nvml_wrapper::Device<'_>, whole: State) -> Vec<State> {
    if whole.mig != Some(true) {
        return vec![whole];
    }
    let count = device.mig_device_count().unwrap_or(0).min(MOST);
    (0..count)
        .filter_map(|at| device.mig_device_by_index(at).ok())
        .filter_map(|part| state(&part, whole.index).ok())
        .map(|part| part_of(&whole, part))
        .collect()
}

/// An instance has its own name, memory and processes; the rest belongs to the GPU.
fn part_of(whole: &State, part: State) -> State {
    State {
        uuid: part.uuid,
        parent: Some(whole.uuid.clone()),
        name: if part.name.is_empty() { whole.name.clone() } else { part.name },
        memory_used: part.memory_used,
        processes: part.processes,
        ..whole.clone()
    }
}

/// Bits that make a measured time worthless: the hardware slows down, heat, a power brake.
pub const SPOILS_TIMES: u64 = 0x8 | 0x20 | 0x40 | 0x80;

/// The power limit holds the clocks down: worth saying, and usual under load.
pub const POWER_CAP: u64 = 0x4;

/// The words for throttle bits, those that mean something first.
pub fn throttle_words(bits: u64) -> Vec<&'static str> {
    const WORDS: [(u64, &str); 5] = [
        (0x8, "hardware slowdown"),
        (0x20, "software thermal slowdown"),
        (0x40, "hardware thermal slowdown"),
        (0x80, "power brake"),
        (POWER_CAP, "power cap"),
    ];
    WORDS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, word)| *word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_left_behind() {
        assert_eq!(bounded(Duration::from_secs(10), || 1), Some(1));
        let began = std::time::Instant::now();
        let answer = bounded(Duration::from_millis(50), || std::thread::sleep(Duration::from_secs(30)));
        assert!(answer.is_none() && began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn throttle_bits_in_words() {
        assert_eq!(throttle_words(0), [""; 0]);
        assert_eq!(throttle_words(0x1 | 0x4), ["power cap"]);
        assert_eq!(throttle_words(0x8 | 0x40), ["hardware slowdown", "hardware thermal slowdown"]);
        assert_eq!(SPOILS_TIMES & POWER_CAP, 0);
    }

    #[test]
    fn an_instance_has_the_clocks_of_its_gpu() {
        let whole = State { uuid: "GPU-1".into(), sm_mhz: Some(5), memory_used: Some(9), ..State::default() };
        let part =
            State { uuid: "MIG-1".into(), name: "a 1g".into(), memory_used: Some(2), ..State::default() };
        let part = part_of(&whole, part);
        assert_eq!((part.uuid.as_str(), part.parent.as_deref()), ("MIG-1", Some("GPU-1")));
        assert_eq!((part.sm_mhz, part.memory_used), (Some(5), Some(2)));
    }
}
