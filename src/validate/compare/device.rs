//! What a device must be able to do to compare tensors.

use super::outcome::{Details, Summary, Tolerance};
use crate::validate::tensor::Tensor;

/// Two tensors of one shape and one type.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// What is right: `b` of the formulas.
    pub reference: &'a Tensor<'a>,
    /// What is judged: `a` of the formulas.
    pub candidate: &'a Tensor<'a>,
}

/// Why a device could not compute: its own trouble, never the tensors'.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceError {
    /// What went wrong, in one line.
    pub what: String,
}

/// Something that compares.
pub trait Device {
    /// What it says of itself: `cpu`, `cuda:0 <name>`, `emulated`.
    fn name(&self) -> String;

    /// The first pass: counts, maxima, sums. It reads every element once.
    ///
    /// # Errors
    /// The device failed.
    fn summary(&self, pair: Pair<'_>, tolerance: &Tolerance) -> Result<Summary, DeviceError>;

    /// What is asked for only where there are mismatches; `worst` says how many of the worst elements.
    ///
    /// # Errors
    /// The device failed.
    fn details(&self, pair: Pair<'_>, tolerance: &Tolerance, worst: usize) -> Result<Details, DeviceError>;
}
