//! The oracle: the specification written down once more, one element at a time, with nothing clever in it. It shares no
//! code with the devices, not even the conversion of elements; the conformance suite holds every device to it.

use std::collections::BTreeMap;

use super::device::{Compute, Pair};
use super::outcome::{Axis, Details, Summary, Tolerance, Worst};
use crate::validate::tensor::{Dtype, Order, Tensor};

/// The first pass.
pub fn summary(pair: Pair<'_>, tolerance: &Tolerance) -> Summary {
    let mut found = Summary { elements: pair.reference.elements(), ..Summary::default() };
    let (mut differences, mut references) = (Sum::default(), Sum::default());
    for position in 0..found.elements {
        let one = judge(pair, tolerance, position);
        found.mismatches += u64::from(!one.matches);
        for (special, a, b) in [
            (&mut found.nan, one.a.is_nan(), one.b.is_nan()),
            (&mut found.inf, one.a.is_infinite(), one.b.is_infinite()),
        ] {
            special.candidate += u64::from(a);
            special.reference += u64::from(b);
            if a || b {
                special.first.get_or_insert(position);
            }
        }
        if one.finite {
            found.finite += 1;
            found.max_abs = found.max_abs.max(one.d);
            found.max_rel = found.max_rel.max(one.relative.unwrap_or(0.0));
            differences.add(one.d * one.d);
            references.add(one.b * one.b);
        }
    }
    found.sum_squared_difference = differences.total();
    found.sum_squared_reference = references.total();
    found
}

/// The details.
pub fn details(pair: Pair<'_>, tolerance: &Tolerance, worst: usize) -> Details {
    let shape = &pair.reference.shape;
    let mut axes: Vec<Axis> = shape
        .iter()
        .map(|&length| Axis {
            counts: vec![0; if length > super::LONGEST_AXIS { 0 } else { length as usize }],
        })
        .collect();
    let mut histogram = BTreeMap::new();
    let (mut finite, mut other) = (Vec::new(), Vec::new());
    let mut max_ulp = 0;
    for position in 0..pair.reference.elements() {
        let one = judge(pair, tolerance, position);
        if one.finite {
            max_ulp = max_ulp.max(one.steps);
        }
        if one.matches {
            continue;
        }
        for (axis, index) in axes.iter_mut().zip(pair.reference.index(position)) {
            if let Some(count) = axis.counts.get_mut(index as usize) {
                *count += 1;
            }
        }
        let element = Worst { position, reference: one.b, candidate: one.a, abs: one.d };
        if one.finite {
            finite.push(element);
            if one.d > 0.0 {
                let overflow = if pair.compute() == Compute::F32 { 128 } else { 1024 };
                *histogram
                    .entry(if one.d.is_infinite() { overflow } else { exponent(one.d) })
                    .or_insert(0) += 1;
            }
        } else {
            other.push(element);
        }
    }
    // A stable sort keeps the lowest position first among equals.
    finite.sort_by(|x, y| y.abs.total_cmp(&x.abs));
    finite.append(&mut other);
    finite.truncate(worst);
    Details { max_ulp, histogram: histogram.into_iter().collect(), worst: finite, axes }
}

/// ⌊log2 x⌋ of a positive finite number, by halving and doubling.
fn exponent(mut x: f64) -> i32 {
    let mut exponent = 0;
    while x >= 2.0 {
        x /= 2.0;
        exponent += 1;
    }
    while x < 1.0 {
        x *= 2.0;
        exponent -= 1;
    }
    exponent
}

/// What is to be known of one pair. Numbers of the compute type stand in f64, exactly.
struct One {
    a: f64,
    b: f64,
    d: f64,
    matches: bool,
    finite: bool,
    relative: Option<f64>,
    steps: u64,
}

fn judge(pair: Pair<'_>, tolerance: &Tolerance, position: u64) -> One {
    let bits = (bits_at(pair.candidate, position), bits_at(pair.reference, position));
    let mut one = match pair.compute() {
        Compute::I64 => {
            let (a, b) = (bits.0 as i64, bits.1 as i64);
            whole(a as f64, b as f64, a.abs_diff(b), a == b, tolerance)
        }
        Compute::U64 => {
            whole(bits.0 as f64, bits.1 as f64, bits.0.abs_diff(bits.1), bits.0 == bits.1, tolerance)
        }
        Compute::F64 => {
            let (a, b) = (value(pair.candidate, position), value(pair.reference, position));
            let d = (a - b).abs();
            let within = d <= tolerance.atol + tolerance.rtol * b.abs();
            real(a, b, d, within, d / b.abs(), a.to_bits() == b.to_bits(), tolerance)
        }
        Compute::F32 => {
            let (a, b) = (value(pair.candidate, position) as f32, value(pair.reference, position) as f32);
            let (atol, rtol) = (tolerance.atol as f32, tolerance.rtol as f32);
            let d = (a - b).abs();
            let within = d <= atol + rtol * b.abs();
            let relative = f64::from(d / b.abs());
            let same = a.to_bits() == b.to_bits();
            real(f64::from(a), f64::from(b), f64::from(d), within, relative, same, tolerance)
        }
    };
    one.steps = steps(pair, bits, (one.a, one.b));
    one
}

fn real(a: f64, b: f64, d: f64, within: bool, relative: f64, same_bits: bool, tolerance: &Tolerance) -> One {
    let finite = a.is_finite() && b.is_finite();
    let both_nan = a.is_nan() && b.is_nan();
    let matches = if both_nan {
        tolerance.equal_nan
    } else if tolerance.bitwise {
        same_bits
    } else {
        a == b || finite && within
    };
    let relative = (finite && b != 0.0).then_some(relative);
    One { a, b, d, matches, finite, relative, steps: 0 }
}

fn whole(a: f64, b: f64, distance: u64, same: bool, tolerance: &Tolerance) -> One {
    let d = distance as f64;
    let within = !tolerance.bitwise && d <= tolerance.atol + tolerance.rtol * b.abs();
    let relative = (b != 0.0).then(|| d / b.abs());
    One { a, b, d, matches: same || within, finite: true, relative, steps: 0 }
}

/// How many steps of the stored type lie between two elements.
fn steps(pair: Pair<'_>, bits: (u64, u64), values: (f64, f64)) -> u64 {
    let dtype = pair.reference.dtype;
    if !pair.same_type() {
        return 0;
    }
    if pair.reference.scale.is_some() || pair.candidate.scale.is_some() {
        let of = |value: f64| u64::from((value as f32).to_bits());
        return place(of(values.0), 32).abs_diff(place(of(values.1), 32)) as u64;
    }
    match dtype {
        Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::BF16 => {
            let width = dtype.size() as u32 * 8;
            place(bits.0, width).abs_diff(place(bits.1, width)) as u64
        }
        Dtype::F8E4M3 | Dtype::F8E5M2 | Dtype::F8E4M3Fnuz | Dtype::F8E5M2Fnuz => {
            place(bits.0, 8).abs_diff(place(bits.1, 8)) as u64
        }
        Dtype::I64 => (bits.0 as i64).abs_diff(bits.1 as i64),
        Dtype::U64 | Dtype::F8E8M0 => bits.0.abs_diff(bits.1),
        _ => (values.0 - values.1).abs() as u64,
    }
}

/// The place of a float of `width` bits on the line of all floats; both zeros are at 0.
fn place(bits: u64, width: u32) -> i128 {
    let sign = 1_u64 << (width - 1);
    let magnitude = i128::from(bits & (sign - 1));
    if bits & sign == 0 { magnitude } else { -magnitude }
}

/// An element's stored bits.
fn bits_at(tensor: &Tensor<'_>, position: u64) -> u64 {
    let index = tensor.index(position);
    let mut offset = 0;
    match tensor.order {
        Order::C => index.iter().zip(&tensor.shape).for_each(|(i, n)| offset = offset * n + i),
        Order::Fortran => index.iter().zip(&tensor.shape).rev().for_each(|(i, n)| offset = offset * n + i),
    }
    let size = tensor.dtype.size();
    let mut bytes = tensor.bytes[offset as usize * size..][..size].to_vec();
    if tensor.big_endian {
        bytes.reverse();
    }
    bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// An element's value, its factor included.
fn value(tensor: &Tensor<'_>, position: u64) -> f64 {
    let stored = number(tensor.dtype, bits_at(tensor, position));
    match &tensor.scale {
        Some(scale) if tensor.dtype.size() == 1 && stored_as_float(tensor.dtype) => {
            let blocks = tensor.shape.iter().zip(&scale.block).map(|(n, block)| n.div_ceil(*block));
            let index = tensor.index(position);
            let at = index.iter().zip(&scale.block).map(|(i, block)| i / block);
            let offset = at.zip(blocks).fold(0, |offset, (i, n)| offset * n + i);
            let factor = number(scale.factors.dtype, bits_at(&scale.factors, offset));
            f64::from(stored as f32 * factor as f32)
        }
        _ => stored,
    }
}

const fn stored_as_float(dtype: Dtype) -> bool {
    !matches!(dtype, Dtype::Bool | Dtype::I8 | Dtype::U8)
}

/// The number that bits stand for.
fn number(dtype: Dtype, bits: u64) -> f64 {
    match dtype {
        Dtype::F64 => f64::from_bits(bits),
        Dtype::F32 => f64::from(f32::from_bits(bits as u32)),
        Dtype::F16 => small(bits, 5, 10, 15),
        Dtype::BF16 => small(bits, 8, 7, 127),
        Dtype::F8E5M2 => small(bits, 5, 2, 15),
        Dtype::F8E4M3 if bits & 0x7f == 0x7f => f64::NAN,
        Dtype::F8E4M3Fnuz | Dtype::F8E5M2Fnuz if bits == 0x80 => f64::NAN,
        Dtype::F8E4M3 => finite(bits, 4, 3, 7),
        Dtype::F8E4M3Fnuz => finite(bits, 4, 3, 8),
        Dtype::F8E5M2Fnuz => finite(bits, 5, 2, 16),
        Dtype::F8E8M0 if bits == 255 => f64::NAN,
        Dtype::F8E8M0 => 2.0_f64.powi(bits as i32 - 127),
        Dtype::I64 => bits as i64 as f64,
        Dtype::I32 => f64::from(bits as u32 as i32),
        Dtype::I16 => f64::from(bits as u16 as i16),
        Dtype::I8 => f64::from(bits as u8 as i8),
        Dtype::U64 => bits as f64,
        Dtype::U32 => f64::from(bits as u32),
        Dtype::U16 => f64::from(bits as u16),
        Dtype::U8 => f64::from(bits as u8),
        Dtype::Bool => f64::from(u8::from(bits != 0)),
    }
}

/// A float of a few bits with infinities and NaNs, as IEEE 754 has them.
fn small(bits: u64, exponent: u32, mantissa: u32, bias: i32) -> f64 {
    let all = (1 << exponent) - 1;
    if bits >> mantissa & all != all {
        return finite(bits, exponent, mantissa, bias);
    }
    match (bits & ((1 << mantissa) - 1), bits >> (exponent + mantissa)) {
        (0, 0) => f64::INFINITY,
        (0, _) => f64::NEG_INFINITY,
        _ => f64::NAN,
    }
}

/// A float of a few bits whose every pattern is a number.
fn finite(bits: u64, exponent: u32, mantissa: u32, bias: i32) -> f64 {
    let fraction = (bits & ((1 << mantissa) - 1)) as f64 / (1_u64 << mantissa) as f64;
    let power = (bits >> mantissa & ((1 << exponent) - 1)) as i32;
    let magnitude = match power {
        0 => fraction * 2.0_f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2.0_f64.powi(power - bias),
    };
    if bits >> (exponent + mantissa) & 1 == 0 { magnitude } else { -magnitude }
}

/// A sum that carries what each addition rounds away (Neumaier).
#[derive(Default)]
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

    fn total(&self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}
