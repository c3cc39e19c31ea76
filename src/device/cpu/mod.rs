//! The device that every machine has: all its processors, and the widest vectors they know.
//!
//! | file | what it does |
//! |---|---|
//! | `wide` | the loops of the passes, once for each instruction set |
//! | `marks` | which pairs of a block do not match |
//! | `collect` | what the details are made of |
//! | `axes` | where mismatches fall |
//!
//! Both passes cut the tensors into chunks whose size depends on the tensors alone, which threads take in order. Each
//! chunk has sums of its own that are added up in order at the end: so neither the number of threads nor the instruction
//! set changes a bit of the result.

mod axes;
mod collect;
mod marks;
#[cfg(test)]
mod tests;
mod wide;

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::validate::compare::block::{Bounds, Findings, Sums, scan_integers};
use crate::validate::compare::feed::{Scratch, Visitor, feed};
use crate::validate::compare::lanes::{Load, Real};
use crate::validate::compare::{Details, Device, DeviceError, Pair, Summary, Tolerance};

use axes::Axes;
use collect::{Collect, Collected};
use wide::Level;

/// The fewest elements of a chunk: big enough to pay for its handing out, small enough for the caches.
const CHUNK: u64 = 1 << 16;

/// The most chunks, so that what is kept of each stays small.
const MOST_CHUNKS: u64 = 1 << 14;

/// The most threads: memory is read no faster by more, and each needs some of its own.
const MOST_THREADS: usize = 32;

/// This machine's processors.
#[derive(Debug, Clone)]
pub struct Cpu {
    threads: usize,
    level: Level,
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

impl Cpu {
    /// All processors that this process may use, 32 at most.
    pub fn new() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::with_threads(threads.min(MOST_THREADS))
    }

    /// So many threads.
    pub fn with_threads(threads: usize) -> Self {
        Self { threads: threads.max(1), level: Level::best() }
    }

    /// The instruction set in use: `avx512`, `avx2` or `portable`.
    pub const fn instructions(&self) -> &'static str {
        self.level.name()
    }

    /// The same device on every instruction set that this machine has, for tests of all of them.
    pub fn every_level(threads: usize) -> Vec<Self> {
        Level::all().into_iter().map(|level| Self { threads: threads.max(1), level }).collect()
    }

    /// Hands chunks to threads, each with a state of its own, in order; gives the states back.
    fn each_chunk<S: Send>(
        &self,
        elements: u64,
        new: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, usize, u64, usize) + Sync,
    ) -> Vec<S> {
        let (size, chunks) = chunks(elements);
        let next = AtomicU64::new(0);
        let run = || {
            let mut state = new();
            loop {
                let chunk = next.fetch_add(1, Ordering::Relaxed);
                if chunk >= chunks {
                    return state;
                }
                let start = chunk * size;
                work(&mut state, chunk as usize, start, size.min(elements - start) as usize);
            }
        };
        let threads = self.threads.min(chunks.max(1) as usize);
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
            let mut states = vec![run()];
            for other in others {
                match other.join() {
                    Ok(state) => states.push(state),
                    // A panic of a worker is ours: it goes on here.
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            states
        })
    }

    fn first_pass(&self, pair: Pair<'_>, tolerance: &Tolerance, elements: u64) -> Summary {
        let (_, chunks) = chunks(elements);
        let bounds = Bounds::new(tolerance);
        let sums = Mutex::new(vec![Sums::default(); chunks as usize]);
        let states = self.each_chunk(
            elements,
            || (Findings::new(), Scratch::default()),
            |(findings, scratch), chunk, start, count| {
                let mut scan = Scan { level: self.level, bounds: &bounds, findings, sums: Sums::default() };
                feed(pair, start, count, scratch, &mut scan);
                if let Ok(mut sums) = sums.lock() {
                    sums[chunk] = scan.sums;
                }
            },
        );
        let mut summary = Summary { elements, ..Summary::default() };
        let mut total = Sums::default();
        for sums in sums.into_inner().unwrap_or_default() {
            total.join(sums);
        }
        summary.sum_squared_difference = total.differences.total();
        summary.sum_squared_reference = total.references.total();
        for (findings, _) in &states {
            findings.add_to(&mut summary);
        }
        summary
    }

    fn second_pass(&self, pair: Pair<'_>, tolerance: &Tolerance, elements: u64, worst: usize) -> Details {
        let bounds = Bounds::new(tolerance);
        let axes = Axes::new(&pair.reference.shape, self.threads);
        let states = self.each_chunk(
            elements,
            || (Collected::new(&axes, worst), Scratch::default()),
            |(collected, scratch), _, start, count| {
                let mut collect = Collect { level: self.level, pair, bounds: &bounds, collected };
                feed(pair, start, count, scratch, &mut collect);
            },
        );
        let found = states.into_iter().map(|(collected, _)| collected).reduce(Collected::join);
        let Some((mut details, counts)) = found.map(Collected::finish) else {
            return Details::default();
        };
        details.axes = axes.finish(counts);
        details
    }
}

impl Device for Cpu {
    fn name(&self) -> String {
        "cpu".into()
    }

    fn summary(&self, pair: Pair<'_>, tolerance: &Tolerance) -> Result<Summary, DeviceError> {
        let elements = pair.elements()?;
        Ok(self.first_pass(pair, tolerance, elements))
    }

    fn details(&self, pair: Pair<'_>, tolerance: &Tolerance, worst: usize) -> Result<Details, DeviceError> {
        let elements = pair.elements()?;
        Ok(self.second_pass(pair, tolerance, elements, worst))
    }
}

/// How large chunks are, and how many there are.
fn chunks(elements: u64) -> (u64, u64) {
    let size = CHUNK.max(elements.div_ceil(MOST_CHUNKS).next_multiple_of(CHUNK));
    (size, elements.div_ceil(size))
}

/// The first pass over one chunk.
struct Scan<'a> {
    level: Level,
    bounds: &'a Bounds,
    findings: &'a mut Findings,
    sums: Sums,
}

impl Visitor for Scan<'_> {
    fn groups<L: Load>(&mut self, a: &[L::Group], b: &[L::Group], start: u64, count: usize) {
        let limits = L::Real::limits(self.bounds);
        let running = L::Real::running(self.findings);
        let sums = if self.bounds.tolerance.bitwise {
            wide::scan::<L, true>(self.level, a, b, start, count, limits, running)
        } else {
            wide::scan::<L, false>(self.level, a, b, start, count, limits, running)
        };
        self.sums.join(sums);
    }

    fn integers(&mut self, a: &[u64], b: &[u64], signed: bool, _: u64) {
        let running = &mut self.findings.wide;
        self.sums.join(scan_integers(a, b, signed, &self.bounds.tolerance, running));
    }
}
