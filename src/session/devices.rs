//! Which device compares, and whether the GPUs here are healthy. What is found does not depend on the device.
//!
//! Nothing in this process touches a driver before a child process has shown that it works: see
//! [`crate::device::cuda::probe`].

use std::cell::{Cell, OnceCell};
use std::path::PathBuf;

use crate::device::cpu::Cpu;
use crate::device::cuda::compare::Comparator;
use crate::device::cuda::compare::bandwidth::{self, Rates};
use crate::device::cuda::probe;
use crate::model::{Error, Kind, Result};
use crate::validate::compare::conformance::{Report, conformance};
use crate::validate::compare::{Details, Device, DeviceError, Pair, Summary, Tolerance};

pub use crate::device::cuda::probe::Health;

/// From so many bytes on, both tensors together, a GPU is worth its start and the copying. Never measured on a GPU.
pub const LARGE: u64 = 1 << 30;

/// Tries the driver in this very process, which may die of it: what the child does.
pub fn look() -> Health {
    probe::look()
}

/// What a child process finds of the driver.
pub fn health() -> Health {
    std::env::current_exe().map_or_else(
        |error| Health::Broken { why: format!("this program cannot find itself: {error}") },
        |program: PathBuf| probe::ask(&program, probe::LIMIT),
    )
}

/// The GPU at `ordinal`, after a child has shown that the driver works.
///
/// # Errors
/// There is none, or it does not work.
pub fn cuda(ordinal: u32) -> Result<Comparator> {
    match health() {
        Health::Here { .. } => Comparator::open(ordinal).map_err(|error| {
            Error::refused("the GPU cannot be used")
                .because(error)
                .hint("leave --device out: the processor finds the same")
        }),
        Health::Absent { why } | Health::Broken { why } => {
            Err(Error::refused("no GPU can be used here").because(why).hint("see: git incident device probe"))
        }
    }
}

/// The processor, or a healthy GPU where the tensors are large.
#[derive(Default)]
pub struct Auto {
    cpu: Cpu,
    /// Looked for when the first large pair comes; the emulated device is none.
    gpu: OnceCell<Option<Comparator>>,
    used_gpu: Cell<bool>,
}

impl Auto {
    /// The GPU, if this pair is worth it.
    fn gpu(&self, pair: Pair<'_>) -> Option<&Comparator> {
        let bytes = pair.reference.bytes.len() as u64 + pair.candidate.bytes.len() as u64;
        if bytes < LARGE {
            return None;
        }
        let found = self.gpu.get_or_init(|| match health() {
            Health::Here { devices, .. } if devices.first().is_some_and(|d| !d.emulated) => {
                Comparator::open(0).ok()
            }
            _ => None,
        });
        found.as_ref()
    }

    /// Asks the GPU where it is worth it, and the processor where the GPU says no.
    fn either<T>(
        &self,
        pair: Pair<'_>,
        ask: impl Fn(&dyn Device) -> std::result::Result<T, DeviceError>,
    ) -> std::result::Result<T, DeviceError> {
        if let Some(found) = self.gpu(pair).and_then(|gpu| ask(gpu).ok()) {
            self.used_gpu.set(true);
            return Ok(found);
        }
        ask(&self.cpu)
    }
}

impl Device for Auto {
    fn name(&self) -> String {
        match self.gpu.get() {
            Some(Some(gpu)) if self.used_gpu.get() => gpu.name(),
            _ => self.cpu.name(),
        }
    }

    fn summary(&self, pair: Pair<'_>, tolerance: &Tolerance) -> std::result::Result<Summary, DeviceError> {
        self.either(pair, |device| device.summary(pair, tolerance))
    }

    fn details(
        &self,
        pair: Pair<'_>,
        tolerance: &Tolerance,
        worst: usize,
    ) -> std::result::Result<Details, DeviceError> {
        self.either(pair, |device| device.details(pair, tolerance, worst))
    }
}

/// Runs the conformance suite; `cpu` or `cuda:N`.
///
/// # Errors
/// No such device.
pub fn conform(device: &str) -> Result<(String, Report)> {
    let device: Box<dyn Device> = match device {
        "cpu" => Box::new(Cpu::new()),
        other => Box::new(cuda(ordinal(other)?)?),
    };
    Ok((device.name(), conformance(&*device)))
}

/// Measures the first pass against the device's own copy rate.
///
/// # Errors
/// No such device, or it fails.
pub fn measure(device: &str, elements: u64) -> Result<(String, Vec<Rates>)> {
    let device = cuda(ordinal(device)?)?;
    let rates = bandwidth::measure(&device, elements)
        .map_err(|e| Error::new(Kind::Refused, "the device cannot be measured").because(e))?;
    Ok((device.name(), rates))
}

fn ordinal(device: &str) -> Result<u32> {
    let rest = device.strip_prefix("cuda").unwrap_or("?");
    let number = if rest.is_empty() { Some(0) } else { rest.strip_prefix(':').and_then(|n| n.parse().ok()) };
    number.ok_or_else(|| Error::usage(format!("{device:?} is no device")).hint("it is cpu, cuda or cuda:N"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_by_their_number() {
        assert_eq!(ordinal("cuda").unwrap(), 0);
        assert_eq!(ordinal("cuda:3").unwrap(), 3);
        for wrong in ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "cudax", "hip"] {
            assert_eq!(ordinal(wrong).unwrap_err().kind(), Kind::Usage, "{wrong}");
        }
    }
}
