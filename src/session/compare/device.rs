//! Which device compares. What it finds does not depend on it, only how fast.

use crate::device::cpu::Cpu;
use crate::model::{Error, Result};
use crate::validate::compare::Device;

/// Which device a person asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// Whatever is there.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

/// Opens a device. This is the one place that knows which there are.
///
/// # Errors
/// It is not there.
pub fn open(choice: Choice) -> Result<Box<dyn Device>> {
    match choice {
        Choice::Auto | Choice::Cpu => Ok(Box::new(Cpu::new())),
        Choice::Cuda => Err(Error::refused("this version does not compare on a GPU")
            .hint("leave --device out: the processor finds the same")),
    }
}
