//! Comparing tensors on a GPU, by the kernels of `kernels/`.
//!
//! | file | what it does |
//! |---|---|
//! | `prepare` | which kernel a pair needs, and its elements as that takes them |
//! | `passes` | one launch each: the first pass, the details, the next of the worst |
//! | [`bandwidth`] | how near the first pass comes to the device's own copying |
//!
//! Elements that lie contiguous, in C order and little-endian are copied as they are; all others are brought into that
//! shape on the host, a part at a time. Tensors larger than the device's memory come in parts.

pub mod bandwidth;
mod passes;
mod prepare;

use super::{CudaError, Gpu};
use crate::validate::compare::{
    Axis, Compute, Details, Device, DeviceError, LONGEST_AXIS, Pair, Summary, Tolerance, Worst,
};
use passes::{Kernels, Part, Partial};
use prepare::Prepared;

/// A GPU that compares.
#[derive(Debug)]
pub struct Comparator {
    gpu: Gpu,
    kernels: Kernels,
}

impl From<CudaError> for DeviceError {
    fn from(error: CudaError) -> Self {
        Self { what: error.to_string() }
    }
}

impl Comparator {
    /// The GPU at `ordinal`.
    ///
    /// # Errors
    /// There is none, or it does not work.
    pub fn open(ordinal: u32) -> super::Result<Self> {
        let gpu = Gpu::open(ordinal)?;
        let kernels = Kernels::load(&gpu)?;
        Ok(Self { gpu, kernels })
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Uploads the pair a part at a time and calls `each` for every part.
    fn each_part(
        &self,
        prepared: &Prepared<'_>,
        mut each: impl FnMut(&Part<'_>) -> super::Result<()>,
    ) -> super::Result<()> {
        let most = self.kernels.most_elements(prepared);
        if prepared.elements == 0 {
            return Ok(());
        }
        // Kernels read whole vectors of 16 bytes.
        let room = (most.min(prepared.elements) as usize * prepared.size).next_multiple_of(16);
        let candidate = self.gpu.allocate(room)?;
        let reference = self.gpu.allocate(room)?;
        let mut scratch = Vec::new();
        let mut base = 0;
        while base < prepared.elements {
            let elements = most.min(prepared.elements - base);
            candidate.write(0, prepared.candidate.bytes(base, elements, &mut scratch))?;
            reference.write(0, prepared.reference.bytes(base, elements, &mut scratch))?;
            each(&Part {
                kind: prepared.kind,
                candidate: &candidate,
                reference: &reference,
                base,
                elements,
            })?;
            base += elements;
        }
        Ok(())
    }

    fn first_pass(&self, prepared: &Prepared<'_>, tolerance: &Tolerance) -> super::Result<Summary> {
        let mut total = Partial::default();
        self.each_part(prepared, |part| {
            for partial in self.kernels.summary(&self.gpu, part, tolerance)? {
                total.join(&partial);
            }
            Ok(())
        })?;
        Ok(total.finish(prepared.elements))
    }

    fn second_pass(
        &self,
        pair: Pair<'_>,
        prepared: &Prepared<'_>,
        tolerance: &Tolerance,
        worst: usize,
    ) -> super::Result<Details> {
        let shape = &pair.reference.shape;
        let collected = self.kernels.collector(&self.gpu, shape, LONGEST_AXIS)?;
        let (mut finite, mut others) = (Vec::new(), Vec::new());
        self.each_part(prepared, |part| {
            self.kernels.details(part, tolerance, prepared.steps, &collected)?;
            finite.extend(self.kernels.worst(&self.gpu, part, tolerance, true, worst)?);
            others.extend(self.kernels.worst(&self.gpu, part, tolerance, false, worst)?);
            Ok(())
        })?;
        // The bits of a distance, which is never negative, are in the order of its value.
        finite.sort_by(|x, y| y.key.cmp(&x.key).then(x.position.cmp(&y.position)));
        others.sort_by_key(|found| found.position);
        finite.append(&mut others);
        let counts = collected.read()?;
        Ok(Details {
            max_ulp: counts.most_steps,
            histogram: counts.histogram,
            worst: finite.iter().take(worst).map(|found| element(pair, found.position)).collect(),
            axes: counts.axes.into_iter().map(|counts| Axis { counts }).collect(),
        })
    }
}

impl Device for Comparator {
    fn name(&self) -> String {
        let info = self.gpu.info();
        if info.emulated { "emulated".to_owned() } else { format!("cuda:{} {}", info.ordinal, info.name) }
    }

    fn summary(&self, pair: Pair<'_>, tolerance: &Tolerance) -> Result<Summary, DeviceError> {
        let prepared = Prepared::new(pair)?;
        Ok(self.first_pass(&prepared, tolerance)?)
    }

    fn details(&self, pair: Pair<'_>, tolerance: &Tolerance, worst: usize) -> Result<Details, DeviceError> {
        let prepared = Prepared::new(pair)?;
        Ok(self.second_pass(pair, &prepared, tolerance, worst)?)
    }
}

/// One pair, read on the host: the device says only where it is.
fn element(pair: Pair<'_>, position: u64) -> Worst {
    let (reference, candidate, abs) = match pair.compute() {
        Compute::F32 => {
            let (mut a, mut b) = ([0.0_f32], [0.0_f32]);
            pair.candidate.decode_f32(position, &mut a);
            pair.reference.decode_f32(position, &mut b);
            (f64::from(b[0]), f64::from(a[0]), f64::from((a[0] - b[0]).abs()))
        }
        compute => {
            let (mut a, mut b, mut x, mut y) = ([0.0_f64], [0.0_f64], [0_u64], [0_u64]);
            pair.candidate.decode_f64(position, &mut a);
            pair.reference.decode_f64(position, &mut b);
            pair.candidate.decode_bits(position, &mut x);
            pair.reference.decode_bits(position, &mut y);
            let abs = match compute {
                Compute::I64 => x[0].cast_signed().abs_diff(y[0].cast_signed()) as f64,
                Compute::U64 => x[0].abs_diff(y[0]) as f64,
                Compute::F32 | Compute::F64 => (a[0] - b[0]).abs(),
            };
            (b[0], a[0], abs)
        }
    };
    Worst { position, reference, candidate, abs }
}
