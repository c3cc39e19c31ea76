//! What the details are made of: the histogram, the worst elements, the counts along the axes, the most steps.

use std::cmp::Ordering;

use super::axes::{Axes, Counts};
use super::marks::{BLOCK, Marks, SIZE};
use super::wide::{self, Level};
use crate::validate::compare::block::{Bounds, distance, integers_match};
use crate::validate::compare::feed::Visitor;
use crate::validate::compare::lanes::{LANES, Load, Real};
use crate::validate::compare::{Details, Pair, Worst};
use crate::validate::tensor::Dtype;

/// ⌊log2⌋ of the smallest positive f64.
const LOWEST: i32 = -1074;

/// Where the exponent stands in an f64, and how many there are.
const FIELD: u32 = 52;
const FIELDS: usize = 1 << 11;

/// What one thread has found.
pub(super) struct Collected<'a> {
    axes: &'a Axes,
    counts: Counts,
    histogram: Vec<u64>,
    keep: usize,
    finite: Vec<Worst>,
    other: Vec<Worst>,
    steps: [u64; LANES],
    marks: Box<Marks>,
    bits: [Vec<u64>; 2],
    /// Counts by the exponent field of `d`, of even and of odd elements: neighbours mostly have the same exponent, and
    /// counting it twice in a row would wait for the first count.
    fields: Box<[[u64; FIELDS]; 2]>,
}

impl<'a> Collected<'a> {
    pub(super) fn new(axes: &'a Axes, keep: usize) -> Self {
        Self {
            axes,
            counts: axes.counts(),
            histogram: vec![0; (f64::OVERFLOW - LOWEST + 1) as usize],
            keep,
            finite: Vec::new(),
            other: Vec::new(),
            steps: [0; LANES],
            marks: Box::new(Marks::new()),
            bits: [vec![0; SIZE], vec![0; SIZE]],
            fields: Box::new([[0; FIELDS]; 2]),
        }
    }

    /// A block of finite numbers in which many do not match; says `false`, with nothing changed, where a difference is too
    /// small for its exponent field to say how large it is.
    fn sweep(&mut self, at: u64, inside: usize, numbers: impl Fn(usize) -> (f64, f64)) -> bool {
        let (wrong, d) = (&self.marks.wrong[..inside], &self.marks.d[..inside]);
        // Bits of numbers that are not negative are in the order of the numbers.
        let (mut largest, mut tiny) = (0, 0);
        for (wrong, d) in wrong.iter().zip(d) {
            largest = largest.max(d.to_bits() * u64::from(*wrong));
            tiny |= u64::from(d.to_bits() >> FIELD == 0) & u64::from(*wrong);
        }
        if tiny != 0 {
            return false;
        }
        let [even, odd] = &mut *self.fields;
        let (pairs, last) = d.as_chunks::<2>();
        for (d, wrong) in pairs.iter().zip(wrong.as_chunks::<2>().0) {
            even[(d[0].to_bits() >> FIELD) as usize % FIELDS] += u64::from(wrong[0]);
            odd[(d[1].to_bits() >> FIELD) as usize % FIELDS] += u64::from(wrong[1]);
        }
        if let ([d], Some(wrong)) = (last, wrong.last()) {
            even[(d.to_bits() >> FIELD) as usize % FIELDS] += u64::from(*wrong);
        }
        let full = self.finite.len() == self.keep;
        if full && self.finite.last().is_none_or(|least| f64::from_bits(largest) <= least.abs) {
            return true;
        }
        for i in 0..inside {
            if self.marks.wrong[i] != 0 && self.is_among_the_worst(self.marks.d[i]) {
                let (candidate, reference) = numbers(i);
                self.keep_it(Worst { position: at + i as u64, reference, candidate, abs: self.marks.d[i] });
            }
        }
        true
    }

    /// Whether an element with this difference would be kept; positions come in ascending order, so an equal one would not.
    fn is_among_the_worst(&self, d: f64) -> bool {
        self.finite.len() < self.keep || self.finite.last().is_some_and(|least| d > least.abs)
    }

    /// Puts an element among the worst, behind those that are as bad.
    fn keep_it(&mut self, element: Worst) {
        let at = self.finite.partition_point(|other| other.abs >= element.abs);
        self.finite.insert(at, element);
        self.finite.truncate(self.keep);
    }

    /// One mismatch.
    fn take(&mut self, element: Worst, finite: bool, overflow: i32) {
        if !finite {
            if self.other.len() < self.keep {
                self.other.push(element);
            }
            return;
        }
        if element.abs > 0.0 {
            let exponent = if element.abs.is_infinite() { overflow } else { exponent(element.abs) };
            self.histogram[(exponent - LOWEST) as usize] += 1;
        }
        if self.is_among_the_worst(element.abs) {
            self.keep_it(element);
        }
    }

    /// Both threads' together.
    pub(super) fn join(mut self, other: Self) -> Self {
        self.counts.join(&other.counts);
        for (own, other) in self.histogram.iter_mut().zip(&other.histogram) {
            *own += other;
        }
        for (own, other) in self.fields.as_flattened_mut().iter_mut().zip(other.fields.as_flattened()) {
            *own += other;
        }
        for (own, other) in self.steps.iter_mut().zip(other.steps) {
            *own = (*own).max(other);
        }
        self.finite.extend(other.finite);
        self.finite.sort_by(worse_first);
        self.finite.truncate(self.keep);
        self.other.extend(other.other);
        self.other.sort_by_key(|element| element.position);
        self.other.truncate(self.keep);
        self
    }

    /// The details, but for the counts along the axes where these are shared: those come back beside them.
    pub(super) fn finish(mut self) -> (Details, Counts) {
        // Field 0 is empty, as is the last: those blocks went the careful way.
        for field in 1..FIELDS - 1 {
            self.histogram[(field as i32 - 1023 - LOWEST) as usize] +=
                self.fields[0][field] + self.fields[1][field];
        }
        let mut worst = self.finite;
        worst.extend(self.other);
        worst.truncate(self.keep);
        let histogram = self.histogram.iter().enumerate().filter(|(_, count)| **count > 0);
        let histogram = histogram.map(|(at, count)| (at as i32 + LOWEST, *count)).collect();
        let max_ulp = self.steps.into_iter().max().unwrap_or(0);
        (Details { max_ulp, histogram, worst, axes: Vec::new() }, self.counts)
    }
}

/// The largest difference first, ties by position.
fn worse_first(x: &Worst, y: &Worst) -> Ordering {
    y.abs.total_cmp(&x.abs).then(x.position.cmp(&y.position))
}

/// ⌊log2 x⌋ of a positive finite number.
const fn exponent(x: f64) -> i32 {
    match (x.to_bits() >> 52) as i32 {
        0 => LOWEST + 63 - x.to_bits().leading_zeros() as i32,
        field => field - 1023,
    }
}

/// The second pass over one chunk.
pub(super) struct Collect<'a, 'b> {
    pub(super) level: Level,
    pub(super) pair: Pair<'a>,
    pub(super) bounds: &'a Bounds,
    pub(super) collected: &'a mut Collected<'b>,
}

impl Collect<'_, '_> {
    /// Whether steps can be counted between the groups as they come, and are not to be read from the stored bits.
    fn steps_of_groups(&self) -> bool {
        let scaled = self.pair.reference.scale.is_some() || self.pair.candidate.scale.is_some();
        matches!(self.pair.reference.dtype, Dtype::F32 | Dtype::F64)
            || scaled
            || matches!(self.pair.reference.dtype, Dtype::F16 | Dtype::BF16)
                && self.pair.reference.plain().is_some()
                && self.pair.candidate.plain().is_some()
    }

    /// The most steps, from the stored bits of elements whose types are not computed in.
    fn steps_of_bits(&mut self, start: u64, ordinary: impl Fn(usize) -> bool, count: usize) {
        let dtype = self.pair.reference.dtype;
        let [a, b] = &mut self.collected.bits;
        self.pair.candidate.decode_bits(start, &mut a[..count]);
        self.pair.reference.decode_bits(start, &mut b[..count]);
        let most = &mut self.collected.steps[0];
        for i in (0..count).filter(|&i| ordinary(i)) {
            *most = (*most).max(steps(dtype, a[i], b[i]));
        }
    }
}

/// How many steps lie between two elements of a type of at most 32 bits.
fn steps(dtype: Dtype, a: u64, b: u64) -> u64 {
    let float = |bits: u64, width: u32| {
        let sign = 1 << (width - 1);
        let magnitude = (bits & (sign - 1)) as i64;
        if bits & sign == 0 { magnitude } else { -magnitude }
    };
    match dtype {
        Dtype::F16 | Dtype::BF16 => float(a, 16).abs_diff(float(b, 16)),
        Dtype::F8E4M3 | Dtype::F8E5M2 | Dtype::F8E4M3Fnuz | Dtype::F8E5M2Fnuz => {
            float(a, 8).abs_diff(float(b, 8))
        }
        Dtype::I32 => u64::from((a as u32 as i32).abs_diff(b as u32 as i32)),
        Dtype::I16 => u64::from((a as u16 as i16).abs_diff(b as u16 as i16)),
        Dtype::I8 => u64::from((a as u8 as i8).abs_diff(b as u8 as i8)),
        Dtype::Bool => u64::from((a != 0) != (b != 0)),
        _ => a.abs_diff(b),
    }
}

impl Visitor for Collect<'_, '_> {
    fn groups<L: Load>(&mut self, a: &[L::Group], b: &[L::Group], start: u64, count: usize) {
        let limits = L::Real::limits(self.bounds);
        let of_groups = self.pair.same_type() && self.steps_of_groups();
        let of_bits = self.pair.same_type() && !of_groups;
        let overflow = L::Real::OVERFLOW;
        let mut done = 0;
        for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
            let inside = (a.len() * LANES).min(count - done);
            let at = start + done as u64;
            done += inside;
            let collected = &mut *self.collected;
            let steps = of_groups.then_some(&mut collected.steps);
            if self.bounds.tolerance.bitwise {
                wide::mark::<L, true>(self.level, a, b, limits, &mut collected.marks, steps);
            } else {
                wide::mark::<L, false>(self.level, a, b, limits, &mut collected.marks, steps);
            }
            if of_bits {
                let numbers =
                    |i: usize| (L::load(&a[i / LANES])[i % LANES], L::load(&b[i / LANES])[i % LANES]);
                let special = collected.marks.special;
                self.steps_of_bits(
                    at,
                    |i| {
                        !special || {
                            let (a, b) = numbers(i);
                            a.ordinary() && b.ordinary()
                        }
                    },
                    inside,
                );
            }
            let collected = &mut *self.collected;
            if collected.marks.count == 0 {
                continue;
            }
            collected.axes.count(&mut collected.counts, at, &collected.marks.wrong[..inside]);
            let dense = collected.marks.count as usize * 8 > inside && !collected.marks.special;
            if dense
                && collected.sweep(at, inside, |i| {
                    let (a, b) = (L::load(&a[i / LANES])[i % LANES], L::load(&b[i / LANES])[i % LANES]);
                    (a.wide(), b.wide())
                })
            {
                continue;
            }
            for word in 0..inside.div_ceil(8) {
                let flags = collected.marks.wrong[word * 8..].first_chunk::<8>().copied().unwrap_or_default();
                if flags == [0; 8] {
                    continue;
                }
                for i in (word * 8..inside.min(word * 8 + 8)).filter(|i| flags[i % 8] != 0) {
                    let (a, b) = (L::load(&a[i / LANES])[i % LANES], L::load(&b[i / LANES])[i % LANES]);
                    let element = Worst {
                        position: at + i as u64,
                        reference: b.wide(),
                        candidate: a.wide(),
                        abs: collected.marks.d[i],
                    };
                    let finite = !collected.marks.special || a.ordinary() && b.ordinary();
                    collected.take(element, finite, overflow);
                }
            }
        }
    }

    fn integers(&mut self, a: &[u64], b: &[u64], signed: bool, start: u64) {
        let collected = &mut *self.collected;
        for (i, (&a, &b)) in a.iter().zip(b).enumerate() {
            let steps = if signed { (a as i64).abs_diff(b as i64) } else { a.abs_diff(b) };
            collected.steps[0] = collected.steps[0].max(steps);
            let (d, size) = distance(a, b, signed);
            if integers_match(a, b, d, size, &self.bounds.tolerance) {
                continue;
            }
            let wide = |bits: u64| if signed { bits as i64 as f64 } else { bits as f64 };
            let position = start + i as u64;
            collected.take(
                Worst { position, reference: wide(b), candidate: wide(a), abs: d },
                true,
                f64::OVERFLOW,
            );
            collected.axes.count(&mut collected.counts, position, &[1]);
        }
    }
}
