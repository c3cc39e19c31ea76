//! The suite that every computing device must pass: the same few hundred cases, made from a seed, each compared with the
//! oracle. Counts, positions, maxima and worst elements must be the same to the bit; sums within [`SUM_BOUND`].
//!
//! It is a part of the program and not of its tests, so that `git incident` can run it on a machine with a GPU.

mod cases;
#[cfg(test)]
mod tests;

use super::device::{Device, Pair};
use super::outcome::{Details, Special, Summary, Worst};
use super::{SUM_BOUND, plain};

pub use cases::{Case, cases};

/// What came of the suite.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// How many cases there were.
    pub cases: usize,
    /// How many pairs of different types the device refused, as it may.
    pub refused: usize,
    /// What differed from the oracle, one line each.
    pub failures: Vec<String>,
}

impl Report {
    /// Whether the device does what is specified.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Runs the suite on a device.
pub fn conformance(device: &dyn Device) -> Report {
    let mut report = Report::default();
    for case in cases() {
        report.cases += 1;
        if let Err(failure) = one(device, &case, &mut report.refused) {
            report.failures.push(format!("{}: {failure}", case.name));
        }
    }
    report
}

/// One case.
fn one(device: &dyn Device, case: &Case, refused: &mut usize) -> Result<(), String> {
    let pair = Pair { reference: &case.reference, candidate: &case.candidate };
    let found = match device.summary(pair, &case.tolerance) {
        Ok(found) => found,
        Err(_) if !pair.same_type() => {
            *refused += 1;
            return Ok(());
        }
        Err(error) => return Err(error.what),
    };
    same_summary(&found, &plain::summary(pair, &case.tolerance))?;
    let found = device.details(pair, &case.tolerance, case.worst).map_err(|error| error.what)?;
    same_details(&found, &plain::details(pair, &case.tolerance, case.worst))
}

/// Says what differs between two values, if they do.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, right: T) -> Result<(), String> {
    if found == right { Ok(()) } else { Err(format!("{what} is {found:?} and must be {right:?}")) }
}

/// The bits of a number, all NaNs alike.
fn bits(x: f64) -> u64 {
    if x.is_nan() { u64::MAX } else { x.to_bits() }
}

fn same_number(what: &str, found: f64, right: f64) -> Result<(), String> {
    if bits(found) == bits(right) {
        Ok(())
    } else {
        Err(format!("{what} is {found:e} and must be {right:e}"))
    }
}

fn close(what: &str, found: f64, right: f64, elements: u64) -> Result<(), String> {
    let bound = SUM_BOUND * right + elements as f64 * f64::from_bits(1);
    if bits(found) == bits(right) || (found - right).abs() <= bound {
        return Ok(());
    }
    Err(format!("{what} is {found:e}, too far from {right:e}"))
}

/// Compares what a device found in its first pass with what is right.
///
/// # Errors
/// What differs.
pub fn same_summary(found: &Summary, right: &Summary) -> Result<(), String> {
    same("the number of elements", found.elements, right.elements)?;
    same("the number of mismatches", found.mismatches, right.mismatches)?;
    same("the number of finite pairs", found.finite, right.finite)?;
    same::<Special>("the count of NaNs", found.nan, right.nan)?;
    same::<Special>("the count of infinities", found.inf, right.inf)?;
    same_number("the largest |a − b|", found.max_abs, right.max_abs)?;
    same_number("the largest |a − b| / |b|", found.max_rel, right.max_rel)?;
    let n = right.elements;
    close("Σ (a − b)²", found.sum_squared_difference, right.sum_squared_difference, n)?;
    close("Σ b²", found.sum_squared_reference, right.sum_squared_reference, n)
}

/// Compares a device's details with what is right.
///
/// # Errors
/// What differs.
pub fn same_details(found: &Details, right: &Details) -> Result<(), String> {
    same("the largest distance in steps", found.max_ulp, right.max_ulp)?;
    same("the histogram", &found.histogram, &right.histogram)?;
    let key = |worst: &Worst| (worst.position, bits(worst.reference), bits(worst.candidate), bits(worst.abs));
    same("how many of the worst there are", found.worst.len(), right.worst.len())?;
    for (at, (found, right)) in found.worst.iter().zip(&right.worst).enumerate() {
        if key(found) != key(right) {
            return Err(format!("number {} of the worst is {found:?} and must be {right:?}", at + 1));
        }
    }
    same("the number of axes", found.axes.len(), right.axes.len())?;
    for (axis, (found, right)) in found.axes.iter().zip(&right.axes).enumerate() {
        if found != right {
            return Err(format!("the counts along axis {axis} differ"));
        }
    }
    Ok(())
}
