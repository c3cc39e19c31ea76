//! The machine a result was measured on: system, processor, GPUs with their drivers, tool versions.
//!
//! A probe reads what the kernel publishes under `/proc` and `/sys` and starts programs only where
//! nothing else knows the answer: `nvidia-smi` when an NVIDIA driver is loaded, and the tools the
//! configuration asks for. Every program has five seconds and is killed with its group after that,
//! so a wedged driver costs a field, never the recording. What cannot be learned is left out, not
//! guessed. The parsers are pure and total; the texts they read are hostile input.

mod bounded;
pub mod cards;
pub mod cpu;
pub mod cuda;
mod gpu;
mod host;
pub mod kernel;
pub mod lock;
pub mod map;
pub mod nvml;
mod tool;
pub mod watch;

use serde::{Deserialize, Serialize};

/// The longest text taken over from a probe, in characters.
const LONGEST: usize = 200;

/// A machine as recorded with an attempt or a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// The system's own name for itself, such as `Debian GNU/Linux 13 (trixie)`.
    pub os: String,
    /// The kernel's release, such as `6.12.38`.
    pub kernel: String,
    /// The machine type as `uname -m` prints it.
    pub arch: String,
    /// The processor's model name; empty where the system does not tell.
    pub cpu: String,
    /// Logical processors that are online.
    pub cpus: u32,
    /// Main memory in bytes; 0 where the system does not tell.
    pub memory_bytes: u64,
    /// The GPUs, in the driver's order; empty on a machine without any.
    pub gpus: Vec<Gpu>,
    /// The tools asked for, in the order asked, each once.
    pub tools: Vec<Tool>,
}

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// `nvidia` or `amd`.
    pub vendor: String,
    /// The model.
    pub name: String,
    /// The kernel driver's version; empty where unknown.
    pub driver: String,
    /// The device's own identity, if it tells one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

/// One tool that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// The name as asked for.
    pub name: String,
    /// One line of what it says about its version; absent when it is not installed, refused to
    /// answer, took too long, or when the name is not a bare program name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Describes this machine and the versions of `tools`.
///
/// Never fails and never takes much longer than five seconds, whatever the drivers do. A tool is a
/// bare program name, looked up in the absolute entries of `PATH` only: a repository cannot point
/// the probe at a file of its own. At most 32 tools are asked.
pub fn probe(tools: &[String]) -> Environment {
    std::thread::scope(|scope| {
        // The driver and the tools answer at the same time, as each may take its whole limit.
        let gpus = scope.spawn(gpu::probe);
        let tools = scope.spawn(|| tool::probe(tools));
        let host = host::probe();
        Environment {
            os: host.os,
            kernel: host.kernel,
            arch: host.arch,
            cpu: host.cpu,
            cpus: host.cpus,
            memory_bytes: host.memory_bytes,
            gpus: gpus.join().unwrap_or_default(),
            tools: tools.join().unwrap_or_default(),
        }
    })
}

/// The machine type and the processor's model name, without starting any program.
pub fn processor() -> (String, String) {
    let host = host::probe();
    (host.arch, host.cpu)
}

/// A foreign text made safe for one line of a record: no control characters, single spaces at the
/// ends cut, at most [`LONGEST`] characters.
fn one_line(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c == '\t' { ' ' } else { c })
        .filter(|c| !c.is_control() && !is_formatting(*c))
        .collect();
    clean.trim().chars().take(LONGEST).collect::<String>().trim_end().to_owned()
}

/// Characters that are not "control" to Unicode but reorder or hide text all the same.
fn is_formatting(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The beginning of a small file as text; empty when it cannot be read.
fn read_start(path: impl AsRef<std::path::Path>, limit: u64) -> String {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn this_machine_is_described() {
        let environment = probe(&["git".into(), "no-such-tool-here".into(), "../git".into(), "git".into()]);
        assert!(!environment.os.is_empty() && !environment.kernel.is_empty() && !environment.arch.is_empty());
        assert!(environment.cpus >= 1);
        let names: Vec<&str> = environment.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["git", "no-such-tool-here", "../git"]);
        assert!(environment.tools[0].version.as_deref().is_some_and(|line| line.starts_with("git version")));
        assert_eq!(environment.tools[1].version, None);
        assert_eq!(environment.tools[2].version, None);
    }

    #[test]
    fn json_holds_no_floats_and_reads_back() {
        let environment = probe(&[]);
        let json = serde_json::to_value(&environment).unwrap();
        assert!(json["memory_bytes"].is_u64() && json["cpus"].is_u64());
        assert_eq!(serde_json::from_value::<Environment>(json).unwrap(), environment);
    }

    proptest! {
        #[test]
        fn one_line_is_short_and_harmless(text in any::<String>()) {
            let line = one_line(&text);
            prop_assert!(line.chars().count() <= LONGEST);
            prop_assert!(!line.chars().any(|c| c.is_control() || is_formatting(c)));
            prop_assert_eq!(one_line(&line), line.clone());
        }
    }
}
