//! Comparing two tensors: the reference and the candidate that wants its place.
//!
//! The arithmetic is specified, so that every device gives identical counts, positions, maxima and worst elements:
//!
//! - `a` is the candidate's element and `b` the reference's, converted to the compute type ([`Compute`]): f64 where
//!   either tensor is f64 or integers, f32 for everything else. The conversion is exact, but for integers of 64 bits,
//!   which are rounded. An 8-bit float is multiplied by its factor in f32, rounded once. A bool is 0 or 1.
//! - `d = fl(|a − b|)` and `t = fl(atol + fl(rtol · |b|))`, `atol` and `rtol` rounded to the compute type first. `fl`
//!   rounds to the compute type, to nearest, ties to even. Nothing is fused, no subnormal is flushed to zero. Two
//!   tensors of the same 64-bit integers are compared exactly: `d` is the exact distance, rounded once.
//! - A pair matches if `a = b`, or if both are finite and `d ≤ t`, or if both are NaN and NaNs were declared equal. So
//!   an infinity matches the infinity of its sign alone. Of finite numbers, `d` may overflow; it is infinite then.
//! - Bitwise, a pair matches if the bits of `a` and `b` are the same and not NaN, or if both are NaN (of any payload) and
//!   NaNs were declared equal. `−0` is not `+0`.
//! - Maxima are over pairs that are both finite: `d`, and `fl(d / |b|)` where `b ≠ 0`, correctly rounded.
//! - Ties go to the lowest position, counted in C order whatever the order in memory.
//! - The sums are of `d²` and `b²` in f64 and within [`SUM_BOUND`] of the exact ones, relatively, plus 2^−1074 for each
//!   element that underflowed. They are the only result in which two devices may differ.
//!
//! | file | what it knows |
//! |---|---|
//! | `outcome` | what a pass finds |
//! | `device` | what a device is asked |
//! | [`plain`] | the oracle: one element at a time, obviously right |
//! | [`conformance`] | the suite that every device must pass |
//! | [`policy`] | when a comparison passes |
//! | `mutants` | what a comparison must not pass |
//! | `comparison`, `lines`, `clusters` | what was found and judged, as JSON and in words |
//! | [`lanes`], [`block`], [`feed`] | the first pass as the CPU makes it |

pub mod block;
mod clusters;
mod comparison;
pub mod conformance;
mod device;
pub mod feed;
pub mod lanes;
mod lines;
mod mutants;
mod outcome;
pub mod plain;
pub mod policy;
#[cfg(test)]
mod tests;

pub use comparison::{BaselineError, Comparison, short};
pub use device::{Compute, Device, DeviceError, Pair};
pub use mutants::{MUTANTS, Tried, judge_mutants};
pub use outcome::{Axis, Details, Special, Summary, Tolerance, Worst};
pub use policy::{Policy, Rule, compare};

/// How far a device's sums may be from the exact ones, relatively.
pub const SUM_BOUND: f64 = 1.0 / (1_u64 << 40) as f64;

/// An axis longer than this gets no counts.
pub const LONGEST_AXIS: u64 = 1 << 20;
