//! Which device compares. What it finds does not depend on it, only how fast.

use crate::device::cpu::Cpu;
use crate::model::Result;
use crate::session::devices;
use crate::validate::compare::Device;

/// Which device a person asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The processor, or a healthy GPU where the tensors are large.
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
        Choice::Auto => Ok(Box::new(devices::Auto::default())),
        Choice::Cpu => Ok(Box::new(Cpu::new())),
        Choice::Cuda => Ok(Box::new(devices::cuda(0)?)),
    }
}
