//! How near the first pass comes to the rate at which the device copies.

use std::time::Duration;

use super::Comparator;
use super::passes::Part;
use crate::device::cuda::{Buffer, CudaError, Event, Gpu, Result};
use crate::validate::compare::Tolerance;

/// How often either is done for one measurement, and how many measurements there are.
const TIMES: u32 = 10;
const ROUNDS: usize = 15;

/// The rates of one type, the first pass and the copy taken in turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// The stored type: `f32`, `f16` or `bf16`.
    pub kind: &'static str,
    /// Pairs of elements.
    pub elements: u64,
    /// Bytes read by the first pass, a second; the median.
    pub pass: f64,
    /// Bytes read and bytes written by a copy on the device, a second; the median.
    pub copy: f64,
}

impl Rates {
    /// The first pass in proportion to the copy.
    pub fn ratio(&self) -> f64 {
        self.pass / self.copy
    }
}

/// Measures the first pass on pairs that are on the device already, all unequal and all within tolerance.
///
/// # Errors
/// Too little memory for three tensors, or a lost device; or the pass counts wrongly, which makes its rate worthless.
pub fn measure(on: &Comparator, elements: u64) -> Result<Vec<Rates>> {
    [("f32", 4), ("f16", 2), ("bf16", 2)]
        .into_iter()
        .map(|(kind, size)| one(on, kind, size, elements))
        .collect()
}

fn one(on: &Comparator, kind: &'static str, size: usize, elements: u64) -> Result<Rates> {
    let gpu = on.gpu();
    let bytes = elements as usize * size;
    let padded = bytes.next_multiple_of(16);
    let (candidate, reference, copied) =
        (gpu.allocate(padded)?, gpu.allocate(padded)?, gpu.allocate(padded)?);
    fill(&reference, kind, 0)?;
    fill(&candidate, kind, 1)?;
    let part = Part { kind, candidate: &candidate, reference: &reference, base: 0, elements };
    let tolerance = Tolerance { atol: 1e-1, rtol: 1e-1, equal_nan: false, bitwise: false };

    let found = on.kernels.summary(gpu, &part, &tolerance)?;
    let mut total = super::Partial::default();
    found.iter().for_each(|partial| total.join(partial));
    let summary = total.finish(elements);
    if summary.mismatches != 0 || summary.finite != elements || summary.max_abs == 0.0 {
        return Err(CudaError::plain(format!("the first pass of {kind} does not count right: {summary:?}")));
    }

    let partials = gpu.allocate(on.kernels.most_partials())?;
    let mut passes = Vec::with_capacity(ROUNDS);
    let mut copies = Vec::with_capacity(ROUNDS);
    for round in 0..=ROUNDS {
        let pass = timed(gpu, || on.kernels.start_summary(&part, &tolerance, &partials).map(|_| ()))?;
        let copy = timed(gpu, || copied.copy_from(&candidate))?;
        // The first round warms up.
        if round > 0 {
            passes.push(pass);
            copies.push(copy);
        }
    }
    let rate = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        2.0 * bytes as f64 * f64::from(TIMES) / times[times.len() / 2].as_secs_f64().max(1e-12)
    };
    Ok(Rates { kind, elements, pass: rate(&mut passes), copy: rate(&mut copies) })
}

fn timed(gpu: &Gpu, mut what: impl FnMut() -> Result<()>) -> Result<Duration> {
    let from: Event = gpu.event()?;
    for _ in 0..TIMES {
        what()?;
    }
    gpu.event()?.since(&from)
}

/// Numbers between 1 and 2, different in their last place where `last` differs.
fn fill(buffer: &Buffer, kind: &str, last: u32) -> Result<()> {
    const BLOCK: usize = 1 << 20;
    let one = |i: u32| -> Vec<u8> {
        // A few bits of a counter that does not repeat within a vector.
        let noise = i.wrapping_mul(0x9e37_79b9) >> 12;
        match kind {
            "f32" => (0x3f80_0000 | (noise & 0x7f_fffe) | last).to_le_bytes().to_vec(),
            "f16" => (0x3c00 | (noise as u16 & 0x3fe) | last as u16).to_le_bytes().to_vec(),
            _ => (0x3f80 | (noise as u16 & 0x7e) | last as u16).to_le_bytes().to_vec(),
        }
    };
    let mut block: Vec<u8> = Vec::with_capacity(BLOCK + 4);
    let mut i = 0;
    while block.len() < BLOCK.min(buffer.len()) {
        block.extend(one(i));
        i += 1;
    }
    let mut at = 0;
    while at < buffer.len() {
        let count = block.len().min(buffer.len() - at);
        buffer.write(at, &block[..count])?;
        at += count;
    }
    Ok(())
}
