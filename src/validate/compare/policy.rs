//! When a comparison passes: `allclose`, `bitwise`, `baseline`, and a cap on ‖a − b‖ / ‖b‖ for any of them.

use super::comparison::{BaselineError, Comparison};
use super::device::{Device, DeviceError, Pair};
use super::outcome::{Summary, Tolerance};
use crate::validate::tensor::{Dtype, Tensor};

/// How many steps of the stored type the `baseline` policy forgives by default: one rounding of each side.
pub const SLACK: f64 = 2.0;

/// The most elements that are called the worst: more would be a list, and memory that nobody counted on.
pub const MOST_WORST: usize = 1000;

/// What has to hold of every pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// |a − b| ≤ atol + rtol·|b|.
    Allclose {
        /// Absolute.
        atol: f64,
        /// Relative.
        rtol: f64,
    },
    /// The same bits.
    Bitwise,
    /// The error against the reference is at most twice that of a baseline, and `slack` steps of the candidate's type.
    Baseline {
        /// In steps of the candidate's type at the largest |b|.
        slack: f64,
    },
}

/// When a comparison passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// What has to hold of every pair.
    pub rule: Rule,
    /// Whether NaN matches NaN.
    pub equal_nan: bool,
    /// The largest ‖a − b‖ / ‖b‖ that passes; no cap when absent.
    pub norm: Option<f64>,
    /// How many of the worst elements are asked for; [`MOST_WORST`] at most are given.
    pub worst: usize,
    /// Whether the details are asked for although all pairs match.
    pub details: bool,
}

/// What `allclose` means for a type when nothing is said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Defaults {
    /// Absolute.
    pub atol: f64,
    /// Relative.
    pub rtol: f64,
    /// A cap on ‖a − b‖ / ‖b‖.
    pub norm: Option<f64>,
}

/// The defaults of a type: those of `torch.testing.assert_close`, which has none for 8-bit floats.
///
/// Two right computations of one 8-bit result differ by one step where the rounding flips: an eighth or a quarter of the
/// value, which alone would pass a result scaled by 0.95. Flips are few, so the norm of the difference is capped.
pub const fn defaults(dtype: Dtype) -> Defaults {
    let (rtol, atol, norm) = match dtype {
        Dtype::F64 => (1e-7, 1e-7, None),
        Dtype::F32 => (1.3e-6, 1e-5, None),
        Dtype::F16 => (1e-3, 1e-5, None),
        Dtype::BF16 => (1.6e-2, 1e-5, None),
        Dtype::F8E4M3 | Dtype::F8E4M3Fnuz => (0.125, 1e-5, Some(0.04)),
        Dtype::F8E5M2 | Dtype::F8E5M2Fnuz => (0.25, 1e-5, Some(0.04)),
        _ => (0.0, 0.0, None),
    };
    Defaults { atol, rtol, norm }
}

impl Policy {
    /// `allclose` for a pair. What is not given comes from the types' defaults, the larger of the two as torch has it; the
    /// cap of 8-bit floats is for those who give neither tolerance.
    pub fn allclose(pair: Pair<'_>, atol: Option<f64>, rtol: Option<f64>) -> Self {
        let (a, b) = (defaults(pair.candidate.dtype), defaults(pair.reference.dtype));
        let norm = if atol.is_none() && rtol.is_none() { a.norm.or(b.norm) } else { None };
        let rule = Rule::Allclose {
            atol: atol.unwrap_or(a.atol.max(b.atol)),
            rtol: rtol.unwrap_or(a.rtol.max(b.rtol)),
        };
        Self { norm, ..Self::of(rule) }
    }

    /// A rule with nothing else declared, and the five worst elements.
    pub const fn of(rule: Rule) -> Self {
        Self { rule, equal_nan: false, norm: None, worst: 5, details: false }
    }
}

/// Compares on a device and judges.
///
/// `baseline` is asked for by [`Rule::Baseline`] alone: what an implementation that is known to be good computes in the
/// candidate's type. The pair may mix types there, which a device may refuse and the CPU does not.
///
/// # Errors
/// The device failed; the shapes differ; the baseline is missing.
pub fn compare(
    device: &dyn Device,
    policy: &Policy,
    pair: Pair<'_>,
    baseline: Option<&Tensor<'_>>,
) -> Result<Comparison, DeviceError> {
    let elements = pair.elements()?;
    let mut tolerance = Tolerance { atol: 0.0, rtol: 0.0, equal_nan: policy.equal_nan, bitwise: false };
    let mut norm_limit = policy.norm;
    let mut baseline_error = None;
    match policy.rule {
        Rule::Allclose { atol, rtol } => (tolerance.atol, tolerance.rtol) = (atol, rtol),
        Rule::Bitwise => tolerance.bitwise = true,
        Rule::Baseline { slack } => {
            let Some(baseline) = baseline else {
                return Err(DeviceError {
                    what: "the policy is `baseline`, and there is no baseline".into(),
                });
            };
            let against = Pair { reference: pair.reference, candidate: baseline };
            against.elements()?;
            let found = device.summary(against, &tolerance)?;
            let error = BaselineError { max_abs: found.max_abs, relative_norm: relative_norm(&found) };
            let dtype = pair.candidate.dtype;
            tolerance.atol = error.max_abs.mul_add(2.0, slack * step_at(dtype, largest(pair.reference)));
            let allowed = error.relative_norm.mul_add(2.0, slack * rounding(dtype));
            norm_limit = Some(norm_limit.map_or(allowed, |cap| cap.min(allowed)));
            baseline_error = Some(error);
        }
    }
    let summary = device.summary(pair, &tolerance)?;
    let details = if (summary.mismatches > 0 || policy.details) && elements > 0 {
        Some(device.details(pair, &tolerance, policy.worst.min(MOST_WORST))?)
    } else {
        None
    };
    Ok(Comparison::judge(
        device.name(),
        policy,
        pair,
        tolerance,
        norm_limit,
        baseline_error,
        summary,
        details,
    ))
}

/// ‖a − b‖ / ‖b‖ over pairs that are both finite; infinite where b is zero and a is not.
pub fn relative_norm(summary: &Summary) -> f64 {
    if summary.sum_squared_difference == 0.0 {
        return 0.0;
    }
    (summary.sum_squared_difference / summary.sum_squared_reference).sqrt()
}

/// Bits of the mantissa that are stored, and the exponent of the smallest normal number; `None` for what is no float.
const fn format(dtype: Dtype) -> Option<(i32, i32)> {
    Some(match dtype {
        Dtype::F64 => (52, -1022),
        Dtype::F32 => (23, -126),
        Dtype::F16 => (10, -14),
        Dtype::BF16 => (7, -126),
        Dtype::F8E4M3 => (3, -6),
        Dtype::F8E4M3Fnuz => (3, -7),
        Dtype::F8E5M2 => (2, -14),
        Dtype::F8E5M2Fnuz => (2, -15),
        _ => return None,
    })
}

/// From a value of this size to the next one of the type.
fn step_at(dtype: Dtype, value: f64) -> f64 {
    let Some((mantissa, smallest)) = format(dtype) else {
        return 0.0;
    };
    // The exponent field of an f64: below its smallest normal number the types' own smallest decides.
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    2.0_f64.powi(exponent.max(smallest) - mantissa)
}

/// The largest relative error of one rounding to the type.
fn rounding(dtype: Dtype) -> f64 {
    format(dtype).map_or(0.0, |(mantissa, _)| 2.0_f64.powi(-mantissa - 1))
}

/// The largest finite |b|.
fn largest(tensor: &Tensor<'_>) -> f64 {
    let mut chunk = vec![0.0; 4096];
    let (mut start, mut largest) = (0, 0.0_f64);
    loop {
        let count = tensor.decode_f64(start, &mut chunk);
        if count == 0 {
            return largest;
        }
        largest = chunk[..count].iter().map(|b| b.abs()).filter(|b| b.is_finite()).fold(largest, f64::max);
        start += count as u64;
    }
}
