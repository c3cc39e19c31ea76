//! Whether CUDA works here, asked of a child process: a broken driver may crash, hang or panic whoever calls it.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::Result;
use super::library::{self, Unusable};
use super::{Argument, CudaError, Gpu, Image, Info, Launch, count, nvrtc};
use crate::device::bounded;

/// How long a driver may take to start, run one kernel and answer. Machines with many GPUs need seconds.
pub const LIMIT: Duration = Duration::from_secs(30);

/// The most devices that are described.
const MOST: i32 = 64;

/// The kernel that shows that a device runs code at all.
const PROBE_PTX: &str = include_str!("../../../kernels/ptx/probe.ptx");

/// What the child found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Health {
    /// Every device that this process may use ran a kernel.
    Here {
        /// The devices, in CUDA's order.
        devices: Vec<Info>,
        /// The version of the compiler that was found, such as `13.0`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nvrtc: Option<String>,
    },
    /// There is no driver or no device.
    Absent {
        /// Which.
        why: String,
    },
    /// There is a driver that does not work.
    Broken {
        /// How that showed.
        why: String,
    },
}

/// Looks, in this process. Call it only in a process that may die of it; see [`ask`].
pub fn look() -> Health {
    if let Err(why) = library::look() {
        let text = CudaError::from(why.clone()).to_string();
        return match why {
            Unusable::Absent => Health::Absent { why: text },
            Unusable::Lacks(_) => Health::Broken { why: text },
        };
    }
    let devices = match count() {
        Ok(0) => return Health::Absent { why: "the CUDA driver sees no device".into() },
        Ok(devices) => devices,
        Err(error) if error.name == "CUDA_ERROR_NO_DEVICE" => {
            return Health::Absent { why: error.to_string() };
        }
        Err(error) => return Health::Broken { why: error.to_string() },
    };
    let tried: Result<Vec<Info>> = (0..devices.min(MOST).cast_unsigned()).map(one).collect();
    match tried {
        Ok(devices) => {
            let nvrtc = nvrtc::version().ok().map(|(major, minor)| format!("{major}.{minor}"));
            Health::Here { devices, nvrtc }
        }
        Err(error) => Health::Broken { why: error.to_string() },
    }
}

/// Opens a device and has it run the smallest kernel.
fn one(ordinal: u32) -> Result<Info> {
    const WORD: u32 = 0x0bad_cafe;
    let gpu = Gpu::open(ordinal)?;
    let out = gpu.allocate(4)?;
    out.write(0, &WORD.to_ne_bytes())?;
    let module = gpu.load(Image::Ptx(PROBE_PTX))?;
    let launch = Launch { grid: [1; 3], block: [1; 3], shared: 0 };
    module.function("git_incident_probe_u32")?.launch(&launch, &[Argument::from(&out), WORD.into()])?;
    gpu.synchronize()?;
    let mut answer = [0; 4];
    out.read(0, &mut answer)?;
    if u32::from_ne_bytes(answer) != !WORD {
        return Err(CudaError::plain(format!(
            "device {ordinal} says that a kernel ran, but the kernel's result is not there"
        )));
    }
    Ok(gpu.info().clone())
}

/// What a child of this program finds: `program` is our own executable. It has `limit` and is killed then.
pub fn ask(program: &Path, limit: Duration) -> Health {
    let answer = bounded::put(program, &["--json", "device", "probe"], limit);
    match answer {
        Ok(text) => read(&text).unwrap_or_else(|| Health::Broken {
            why: format!("the probe's answer cannot be read: {}", last_line(&text)),
        }),
        Err(bounded::Silence::TooLong) => Health::Broken {
            why: format!("the CUDA driver did not answer within {} seconds", limit.as_secs()),
        },
        Err(bounded::Silence::Ended { how, said }) => {
            let said = last_line(&said);
            let said = if said.is_empty() { String::new() } else { format!(": {said}") };
            Health::Broken { why: format!("the process that tried the CUDA driver ended with {how}{said}") }
        }
        Err(bounded::Silence::NotStarted(why)) => {
            Health::Broken { why: format!("the process that tries the CUDA driver did not start: {why}") }
        }
    }
}

/// The answer is the last line; a driver may have written before it.
fn read(text: &str) -> Option<Health> {
    text.lines().rev().find(|l| l.starts_with('{')).and_then(|line| serde_json::from_str(line).ok())
}

fn last_line(text: &str) -> String {
    text.lines().map(crate::device::one_line).rfind(|l| !l.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_driver_may_talk_before_the_answer() {
        let text = "driver: hello\n{\"schema\":1,\"state\":\"absent\",\"why\":\"no driver\"}\n";
        assert_eq!(read(text), Some(Health::Absent { why: "no driver".into() }));
        assert_eq!(read("{}"), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn a_child_that_crashes_is_a_broken_driver() {
        let Health::Broken { why } = ask(Path::new("/bin/false"), LIMIT) else { panic!("not broken") };
        assert!(why.contains("status 1"), "{why}");
        let Health::Broken { why } = ask(Path::new("/no/such/program"), LIMIT) else { panic!("not broken") };
        assert!(why.contains("did not start"), "{why}");
    }

    proptest! {
        #[test]
        fn no_answer_breaks_the_reader(text in any::<String>()) {
            let _ = (read(&text), last_line(&text));
        }
    }
}
