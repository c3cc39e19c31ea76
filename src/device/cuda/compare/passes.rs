//! The launches, and what the host makes of their results. The layouts are those of `kernels/*.cu`.

use super::prepare::{Prepared, Steps};
use crate::device::cuda::{Argument, Buffer, CudaError, Gpu, Image, Launch, Module, Result};
use crate::validate::compare::{Special, Summary, Tolerance};

const SUMMARY: &str = include_str!("../../../../kernels/ptx/summary.ptx");
const DETAILS: &str = include_str!("../../../../kernels/ptx/details.ptx");
const WORST: &str = include_str!("../../../../kernels/ptx/worst.ptx");

/// Threads of a block, as the kernels are compiled for.
const THREADS: u32 = 256;

/// Bins of the histogram, and the binary exponent of the first.
const BINS: usize = 2099;
const LOWEST: i32 = -1074;

/// No position.
const NOWHERE: u64 = u64::MAX;

/// The most bytes of a tensor that are on the device at once.
const MOST_BYTES: u64 = 256 << 20;

/// The most bytes that the host copies at once where it has to bring elements into order.
const MOST_COPIED: u64 = 4 << 20;

/// The most terms that one thread sums up: their rounding errors stay well below the bound of the sums.
const MOST_TERMS: u64 = 1024;

/// A part of a pair on the device.
pub(super) struct Part<'a> {
    pub(super) kind: &'static str,
    pub(super) candidate: &'a Buffer,
    pub(super) reference: &'a Buffer,
    pub(super) base: u64,
    pub(super) elements: u64,
}

/// The loaded kernels, and how many blocks fill the device.
#[derive(Debug)]
pub(super) struct Kernels {
    summary: Module,
    details: Module,
    worst: Module,
    blocks: u32,
}

/// One of the worst, as the device names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// The bits of the distance as f64; 0 where it is not a number or infinite by itself.
    pub(super) key: u64,
    /// Its position.
    pub(super) position: u64,
}

impl Kernels {
    pub(super) fn load(gpu: &Gpu) -> Result<Self> {
        let info = gpu.info();
        let blocks = i64::from(info.multiprocessors) * i64::from(info.resident_threads) / i64::from(THREADS);
        Ok(Self {
            summary: gpu.load(Image::Ptx(SUMMARY))?,
            details: gpu.load(Image::Ptx(DETAILS))?,
            worst: gpu.load(Image::Ptx(WORST))?,
            blocks: blocks.clamp(1, 1 << 16) as u32,
        })
    }

    /// How many elements of a pair are on the device at once.
    pub(super) fn most_elements(&self, prepared: &Prepared<'_>) -> u64 {
        let bytes = if prepared.is_copied() { MOST_COPIED } else { MOST_BYTES };
        let terms = u64::from(self.blocks) * u64::from(THREADS) * MOST_TERMS;
        // A multiple of 16, so that no vector is cut but the last.
        (bytes / prepared.size as u64).min(terms) / 16 * 16
    }

    /// Enough blocks for a part, and no more than the device holds at once.
    fn launch(&self, kind: &str, elements: u64) -> Launch {
        let size = match kind {
            "f64" | "i64" | "u64" => 8,
            "f32" => 4,
            "f16" | "bf16" => 2,
            _ => 1,
        };
        let blocks =
            (elements * size).div_ceil(16 * u64::from(THREADS)).clamp(1, u64::from(self.blocks)) as u32;
        Launch { grid: [blocks, 1, 1], block: [THREADS, 1, 1], shared: 0 }
    }

    /// What every kernel of a part begins with.
    fn arguments(part: &Part<'_>, tolerance: &Tolerance) -> Vec<Argument> {
        let flags = u32::from(tolerance.equal_nan) | u32::from(tolerance.bitwise) << 1;
        vec![
            part.candidate.into(),
            part.reference.into(),
            part.elements.into(),
            part.base.into(),
            tolerance.atol.into(),
            tolerance.rtol.into(),
            flags.into(),
        ]
    }

    /// Starts the first pass of a part; `partials` has room for [`Kernels::most_partials`].
    pub(super) fn start_summary(
        &self,
        part: &Part<'_>,
        tolerance: &Tolerance,
        partials: &Buffer,
    ) -> Result<u32> {
        let launch = self.launch(part.kind, part.elements);
        let mut arguments = Self::arguments(part, tolerance);
        arguments.push(partials.into());
        self.summary.function(&format!("git_incident_summary_{}", part.kind))?.launch(&launch, &arguments)?;
        Ok(launch.grid[0])
    }

    /// Bytes for the results of all blocks.
    pub(super) fn most_partials(&self) -> usize {
        self.blocks as usize * Partial::BYTES
    }

    /// The first pass of a part: one result for each block, in order.
    pub(super) fn summary(&self, gpu: &Gpu, part: &Part<'_>, tolerance: &Tolerance) -> Result<Vec<Partial>> {
        let partials = gpu.allocate(self.most_partials())?;
        let blocks = self.start_summary(part, tolerance, &partials)?;
        let mut bytes = vec![0; blocks as usize * Partial::BYTES];
        partials.read(0, &mut bytes)?;
        Ok(bytes.chunks_exact(Partial::BYTES).map(Partial::read).collect())
    }

    /// Room for the details of a shape; axes longer than `longest` are not counted.
    pub(super) fn collector(&self, gpu: &Gpu, shape: &[u64], longest: u64) -> Result<Collector> {
        let mut offsets = Vec::with_capacity(shape.len());
        let mut total = 0;
        for &length in shape {
            offsets.push(if length > longest { NOWHERE } else { total });
            total += if length > longest { 0 } else { length };
        }
        let upload = |words: &[u64]| {
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let buffer = gpu.allocate(bytes.len().max(8))?;
            buffer.write(0, &bytes)?;
            Ok::<_, CudaError>(buffer)
        };
        let collector = Collector {
            shape: shape.to_vec(),
            longest,
            shape_there: upload(shape)?,
            offsets: upload(&offsets)?,
            counts: gpu.allocate(total as usize * 8 + 8)?,
            histogram: gpu.allocate(BINS * 8)?,
            most_steps: gpu.allocate(8)?,
        };
        for buffer in [&collector.counts, &collector.histogram, &collector.most_steps] {
            buffer.fill(0, buffer.len(), 0)?;
        }
        Ok(collector)
    }

    /// Adds a part's details to what was collected.
    pub(super) fn details(
        &self,
        part: &Part<'_>,
        tolerance: &Tolerance,
        steps: Steps,
        into: &Collector,
    ) -> Result<()> {
        let mut arguments = Self::arguments(part, tolerance);
        arguments.extend([
            Argument::from(steps as u32),
            (&into.shape_there).into(),
            (&into.offsets).into(),
            (into.shape.len() as u32).into(),
            (&into.counts).into(),
            (&into.histogram).into(),
            (&into.most_steps).into(),
        ]);
        let launch = self.launch(part.kind, part.elements);
        self.details.function(&format!("git_incident_details_{}", part.kind))?.launch(&launch, &arguments)
    }

    /// The worst `most` of a part: mismatches of finite numbers by their distance, or the others by position.
    pub(super) fn worst(
        &self,
        gpu: &Gpu,
        part: &Part<'_>,
        tolerance: &Tolerance,
        finite: bool,
        most: usize,
    ) -> Result<Vec<Found>> {
        let launch = self.launch(part.kind, part.elements);
        let function = self.worst.function(&format!("git_incident_worst_{}", part.kind))?;
        let blocks = launch.grid[0] as usize;
        let found = gpu.allocate(blocks * 16)?;
        let mut all: Vec<Found> = Vec::new();
        while all.len() < most {
            let after = all.last().copied().unwrap_or(Found { key: NOWHERE, position: NOWHERE });
            let mut arguments = Self::arguments(part, tolerance);
            arguments.extend([
                Argument::from(u32::from(finite)),
                after.key.into(),
                after.position.into(),
                (&found).into(),
            ]);
            function.launch(&launch, &arguments)?;
            let mut bytes = vec![0; blocks * 16];
            found.read(0, &mut bytes)?;
            let next = bytes
                .chunks_exact(16)
                .map(|b| Found { key: word(b, 0), position: word(b, 1) })
                .filter(|f| f.position != NOWHERE)
                .min_by(|x, y| y.key.cmp(&x.key).then(x.position.cmp(&y.position)));
            match next {
                Some(next) => all.push(next),
                None => break,
            }
        }
        Ok(all)
    }
}

/// The 64-bit word at `index`.
fn word(bytes: &[u8], index: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
    u64::from_le_bytes(word)
}

/// What one block, or all of them, found in the first pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Partial {
    mismatches: u64,
    not_finite: u64,
    nan: [u64; 3],
    inf: [u64; 3],
    max_abs: f64,
    max_rel: f64,
    differences: Sum,
    references: Sum,
}

impl Default for Partial {
    fn default() -> Self {
        Self {
            mismatches: 0,
            not_finite: 0,
            nan: [0, 0, NOWHERE],
            inf: [0, 0, NOWHERE],
            max_abs: 0.0,
            max_rel: 0.0,
            differences: Sum::default(),
            references: Sum::default(),
        }
    }
}

impl Partial {
    /// As the kernel writes it.
    pub(super) const BYTES: usize = 96;

    fn read(bytes: &[u8]) -> Self {
        let float = |index| f64::from_bits(word(bytes, index));
        Self {
            mismatches: word(bytes, 0),
            not_finite: word(bytes, 1),
            nan: [word(bytes, 2), word(bytes, 3), word(bytes, 4)],
            inf: [word(bytes, 5), word(bytes, 6), word(bytes, 7)],
            max_abs: float(8),
            max_rel: float(9),
            differences: Sum { sum: float(10), lost: 0.0 },
            references: Sum { sum: float(11), lost: 0.0 },
        }
    }

    /// Adds the next block.
    pub(super) fn join(&mut self, other: &Self) {
        self.mismatches += other.mismatches;
        self.not_finite += other.not_finite;
        for (mine, theirs) in [(&mut self.nan, &other.nan), (&mut self.inf, &other.inf)] {
            mine[0] += theirs[0];
            mine[1] += theirs[1];
            mine[2] = mine[2].min(theirs[2]);
        }
        self.max_abs = self.max_abs.max(other.max_abs);
        self.max_rel = self.max_rel.max(other.max_rel);
        self.differences.add(other.differences.sum);
        self.references.add(other.references.sum);
    }

    pub(super) fn finish(&self, elements: u64) -> Summary {
        let special = |counts: &[u64; 3]| Special {
            reference: counts[0],
            candidate: counts[1],
            first: (counts[2] != NOWHERE).then_some(counts[2]),
        };
        Summary {
            elements,
            mismatches: self.mismatches,
            max_abs: self.max_abs,
            max_rel: self.max_rel,
            nan: special(&self.nan),
            inf: special(&self.inf),
            sum_squared_difference: self.differences.total(),
            sum_squared_reference: self.references.total(),
            finite: elements - self.not_finite,
        }
    }
}

/// A sum that carries what each addition rounds away (Neumaier).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, x: f64) {
        let next = self.sum + x;
        self.lost += if self.sum >= x { (self.sum - next) + x } else { (x - next) + self.sum };
        self.sum = next;
    }

    fn total(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

/// Where details are collected on the device.
pub(super) struct Collector {
    shape: Vec<u64>,
    longest: u64,
    shape_there: Buffer,
    offsets: Buffer,
    counts: Buffer,
    histogram: Buffer,
    most_steps: Buffer,
}

/// What was collected.
pub(super) struct Counts {
    pub(super) most_steps: u64,
    pub(super) histogram: Vec<(i32, u64)>,
    pub(super) axes: Vec<Vec<u64>>,
}

impl Collector {
    pub(super) fn read(&self) -> Result<Counts> {
        let words = |buffer: &Buffer| {
            let bytes = buffer.to_vec()?;
            Ok::<_, CudaError>(bytes.chunks_exact(8).map(|b| word(b, 0)).collect::<Vec<u64>>())
        };
        let counts = words(&self.counts)?;
        let mut rest = counts.as_slice();
        let mut axes = Vec::with_capacity(self.shape.len());
        for &length in &self.shape {
            let length = if length > self.longest { 0 } else { length as usize };
            let (axis, others) = rest.split_at(length.min(rest.len()));
            axes.push(axis.to_vec());
            rest = others;
        }
        let histogram = words(&self.histogram)?;
        Ok(Counts {
            most_steps: words(&self.most_steps)?.first().copied().unwrap_or(0),
            histogram: histogram
                .iter()
                .enumerate()
                .filter(|(_, count)| **count > 0)
                .map(|(bin, count)| (bin as i32 + LOWEST, *count))
                .collect(),
            axes,
        })
    }
}
