//! What a device must be able to do to compare tensors.

use super::outcome::{Details, Summary, Tolerance};
use crate::validate::tensor::{Dtype, Tensor};

/// Two tensors of one shape.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// What is right: `b` of the formulas.
    pub reference: &'a Tensor<'a>,
    /// What is judged: `a` of the formulas.
    pub candidate: &'a Tensor<'a>,
}

/// What a pair's arithmetic is done in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compute {
    /// binary32.
    F32,
    /// binary64.
    F64,
    /// Both are i64: distances are exact before they are rounded to binary64.
    I64,
    /// Both are u64: likewise.
    U64,
}

impl Pair<'_> {
    /// What this pair's arithmetic is done in.
    pub fn compute(&self) -> Compute {
        match (self.reference.dtype, self.candidate.dtype) {
            (Dtype::I64, Dtype::I64) => Compute::I64,
            (Dtype::U64, Dtype::U64) => Compute::U64,
            (a, b) if is_narrow(a) && is_narrow(b) => Compute::F32,
            _ => Compute::F64,
        }
    }

    /// Whether one element's type is the other's: what a device other than the CPU may insist on.
    pub fn same_type(&self) -> bool {
        self.reference.dtype == self.candidate.dtype
    }

    /// How many pairs there are.
    ///
    /// # Errors
    /// The shapes differ, or a tensor's bytes are not as many as its shape and type say: what readers refuse before.
    pub fn elements(&self) -> Result<u64, DeviceError> {
        if self.reference.shape != self.candidate.shape {
            return Err(DeviceError { what: "the two tensors are not of one shape".into() });
        }
        for tensor in [self.reference, self.candidate] {
            let product = tensor.shape.iter().try_fold(1_u64, |product, axis| product.checked_mul(*axis));
            let bytes = product.and_then(|elements| elements.checked_mul(tensor.dtype.size() as u64));
            if bytes != Some(tensor.bytes.len() as u64) {
                return Err(DeviceError {
                    what: "a tensor has more or fewer bytes than its shape says".into(),
                });
            }
        }
        Ok(self.reference.elements())
    }
}

/// Whether every value of the type is a binary32 and arithmetic is done in that.
const fn is_narrow(dtype: Dtype) -> bool {
    matches!(
        dtype,
        Dtype::F32
            | Dtype::F16
            | Dtype::BF16
            | Dtype::F8E4M3
            | Dtype::F8E5M2
            | Dtype::F8E4M3Fnuz
            | Dtype::F8E5M2Fnuz
            | Dtype::F8E8M0
    )
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
    /// The device failed, or cannot compare such a pair; then the CPU can.
    fn summary(&self, pair: Pair<'_>, tolerance: &Tolerance) -> Result<Summary, DeviceError>;

    /// What is asked for only where there are mismatches; `worst` says how many of the worst elements.
    ///
    /// # Errors
    /// The device failed, or cannot compare such a pair; then the CPU can.
    fn details(&self, pair: Pair<'_>, tolerance: &Tolerance, worst: usize) -> Result<Details, DeviceError>;
}
