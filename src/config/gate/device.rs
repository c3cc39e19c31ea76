//! `device`: what a gate needs to run on.

use crate::config::section::Section;
use crate::config::values;

/// What a gate needs to run on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Device {
    /// Whatever there is.
    #[default]
    Any,
    /// The processor, named on purpose.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// An AMD GPU.
    Hip,
    /// The stand-in for a GPU that tests use. It satisfies no gate that asks for a GPU.
    Emulated,
    /// Something that this command finds (exit status 0).
    Custom(String),
}

impl Device {
    /// The word in the file.
    pub fn word(&self) -> String {
        match self {
            Self::Any => "any".into(),
            Self::Cpu => "cpu".into(),
            Self::Cuda => "cuda".into(),
            Self::Hip => "hip".into(),
            Self::Emulated => "emulated".into(),
            Self::Custom(probe) => format!("custom:{probe}"),
        }
    }
}

pub(super) fn read(section: &mut Section<'_, '_>) -> Device {
    let words = [
        ("any", Device::Any),
        ("cpu", Device::Cpu),
        ("cuda", Device::Cuda),
        ("hip", Device::Hip),
        ("emulated", Device::Emulated),
    ];
    let Some(word) = section.string("device") else {
        return Device::Any;
    };
    if let Some((_, device)) = words.iter().find(|(known, _)| *known == word) {
        return device.clone();
    }
    match word.strip_prefix("custom:").map(str::trim).filter(|probe| !probe.is_empty()) {
        Some(probe) => return Device::Custom(probe.to_owned()),
        None => section.problem(
            "device",
            format!(
                "\"device\" in [[gate]] must be any, cpu, cuda, hip, emulated or custom:<probe command>, not {}",
                values::shown(&word)
            ),
        ),
    }
    Device::Any
}
