//! The cases of the suite, from a seed: every type, in every style of numbers, in shapes that end in the middle of a
//! vector, in every layout, with tolerances from nothing to more than everything.

use std::borrow::Cow;

use crate::validate::compare::Tolerance;
use crate::validate::tensor::{Dtype, Order, Scale, Tensor};

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// What it is, for a report.
    pub name: String,
    /// What is right.
    pub reference: Tensor<'static>,
    /// What is judged.
    pub candidate: Tensor<'static>,
    /// When elements match.
    pub tolerance: Tolerance,
    /// How many of the worst are asked for.
    pub worst: usize,
}

/// How the numbers of a case are drawn.
#[derive(Debug, Clone, Copy)]
enum Style {
    /// Any bits: NaNs, infinities, subnormals, differences that overflow.
    Bits,
    /// The candidate is a few steps off, everywhere.
    Near,
    /// Few distinct values: ties.
    Ties,
    /// Zeros of both signs, the smallest, the largest, infinities, NaNs.
    Special,
    /// Equal but for a few.
    Few,
    /// Finite and equal, and NaNs in the same places.
    Same,
    /// Tiny numbers of either sign: subnormals, and quotients that underflow or overflow.
    Tiny,
}

const STYLES: [Style; 7] =
    [Style::Bits, Style::Near, Style::Ties, Style::Special, Style::Few, Style::Same, Style::Tiny];

const SHAPES: [&[u64]; 13] = [
    &[],
    &[1],
    &[15],
    &[16],
    &[17],
    &[1023],
    &[1025],
    &[2, 3, 5],
    &[7, 9, 65],
    &[33, 64],
    &[1, 130, 1],
    &[0],
    &[3, 0, 2],
];

/// (atol, rtol): nothing, usual, absurd, and what no configuration admits but arithmetic has to bear.
const TOLERANCES: [(f64, f64); 14] = [
    (0.0, 0.0),
    (1e-5, 1.3e-6),
    (1e-3, 1e-5),
    (1e-2, 5e-2),
    (1.0, 0.0),
    (0.0, 0.5),
    (1e-45, 0.0),
    (3e-39, 1e-40),
    (1e30, 1e30),
    (1e300, 0.0),
    (f64::INFINITY, 0.0),
    (0.0, f64::INFINITY),
    (-1.0, 0.0),
    (f64::NAN, 0.0),
];

/// Random bits from a seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 32) as usize % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Every case, always the same.
pub fn cases() -> Vec<Case> {
    let mut random = Random(20_260_101);
    let mut cases = Vec::new();
    for dtype in Dtype::ALL {
        for (round, style) in STYLES.into_iter().cycle().take(STYLES.len() * 4).enumerate() {
            let shape = SHAPES[random.below(SHAPES.len())];
            let plain = round < STYLES.len();
            cases.push(case(dtype, dtype, style, shape, plain, &mut random));
        }
        for shape in SHAPES {
            cases.push(case(dtype, dtype, Style::Few, shape, true, &mut random));
        }
    }
    // Long enough for several chunks and threads, each ending in the middle of a vector.
    for dtype in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::I64, Dtype::F8E4M3] {
        cases.push(case(dtype, dtype, Style::Few, &[3, 22_003], true, &mut random));
    }
    for style in [Style::Near, Style::Bits] {
        cases.push(case(Dtype::F32, Dtype::F32, style, &[131_077], true, &mut random));
    }
    for (reference, candidate) in [
        (Dtype::F64, Dtype::F16),
        (Dtype::F64, Dtype::F32),
        (Dtype::F32, Dtype::BF16),
        (Dtype::F32, Dtype::F8E4M3),
        (Dtype::I32, Dtype::F16),
        (Dtype::I64, Dtype::U64),
    ] {
        for style in STYLES {
            cases.push(case(reference, candidate, style, &[5, 67], false, &mut random));
        }
    }
    cases
}

fn case(
    reference: Dtype,
    candidate: Dtype,
    style: Style,
    shape: &[u64],
    plain: bool,
    random: &mut Random,
) -> Case {
    let count = shape.iter().product::<u64>() as usize;
    let b: Vec<u64> = (0..count).map(|_| draw(reference, style, random)).collect();
    let a: Vec<u64> = b
        .iter()
        .map(|&b| {
            if reference == candidate {
                partner(candidate, style, b, random)
            } else {
                draw(candidate, style, random)
            }
        })
        .collect();
    let (atol, rtol) = TOLERANCES[random.below(TOLERANCES.len())];
    let tolerance = Tolerance { atol, rtol, equal_nan: random.one_in(2), bitwise: random.one_in(6) };
    let worst = [0, 1, 5, 40][random.below(4)];
    let reference_tensor = tensor(reference, shape, &b, plain, random);
    let candidate_tensor = tensor(candidate, shape, &a, plain, random);
    let name = format!(
        "{reference:?} against {candidate:?}, {style:?}, shape {shape:?}, {:?}/{:?}, big-endian {}/{}, scaled {}/{}, {tolerance:?}, worst {worst}",
        reference_tensor.order,
        candidate_tensor.order,
        reference_tensor.big_endian,
        candidate_tensor.big_endian,
        reference_tensor.scale.is_some(),
        candidate_tensor.scale.is_some(),
    );
    Case { name, reference: reference_tensor, candidate: candidate_tensor, tolerance, worst }
}

/// The exponent's and the mantissa's bits of a float that has both.
const fn fields(dtype: Dtype) -> Option<(u32, u32)> {
    Some(match dtype {
        Dtype::F64 => (11, 52),
        Dtype::F32 => (8, 23),
        Dtype::F16 => (5, 10),
        Dtype::BF16 => (8, 7),
        Dtype::F8E4M3 | Dtype::F8E4M3Fnuz => (4, 3),
        Dtype::F8E5M2 | Dtype::F8E5M2Fnuz => (5, 2),
        _ => return None,
    })
}

const fn mask(dtype: Dtype) -> u64 {
    u64::MAX >> (64 - dtype.size() as u32 * 8)
}

/// The bits of an element of the reference.
fn draw(dtype: Dtype, style: Style, random: &mut Random) -> u64 {
    let any = random.next() & mask(dtype);
    if dtype == Dtype::Bool {
        return any & 3;
    }
    let Some((exponent, mantissa)) = fields(dtype) else {
        return match style {
            Style::Ties | Style::Few | Style::Near | Style::Same => any % 5,
            Style::Special | Style::Tiny => {
                let top = mask(dtype);
                [0, 1, top, top >> 1, (top >> 1) + 1][random.below(5)]
            }
            Style::Bits => any,
        };
    };
    let sign = any & 1 << (exponent + mantissa);
    let bias = (1_u64 << (exponent - 1)) - 1;
    let fraction = any & ((1 << mantissa) - 1);
    let top = (1_u64 << exponent) - 1;
    match style {
        Style::Bits => any,
        Style::Same if random.one_in(40) => top << mantissa | fraction | 1,
        // Between a half and four.
        Style::Near | Style::Few | Style::Same => sign | (bias - 1 + any % 3) << mantissa | fraction,
        Style::Ties => sign | (bias + any % 2) << mantissa,
        Style::Tiny => sign | (any % 3) << mantissa | fraction,
        Style::Special => {
            let infinity = top << mantissa;
            sign | [0, 1, infinity - 1, infinity, infinity | fraction | 1, bias << mantissa, 1 << mantissa]
                [random.below(7)]
        }
    }
}

/// The bits of the candidate's element that stands against the reference's `b`.
fn partner(dtype: Dtype, style: Style, b: u64, random: &mut Random) -> u64 {
    let off = |random: &mut Random, steps: usize| {
        let step = random.below(2 * steps + 1) as u64;
        b.wrapping_add(step).wrapping_sub(steps as u64) & mask(dtype)
    };
    match style {
        Style::Bits | Style::Special | Style::Tiny => {
            if random.one_in(4) {
                b
            } else {
                draw(dtype, style, random)
            }
        }
        Style::Near => off(random, 3),
        Style::Ties => {
            if random.one_in(2) {
                b
            } else {
                draw(dtype, style, random)
            }
        }
        Style::Few if random.one_in(200) => draw(dtype, Style::Bits, random),
        Style::Few if random.one_in(100) => off(random, 100),
        Style::Few | Style::Same => b,
    }
}

/// Lays elements, given in C order, out as a tensor: plainly, or in some other way.
fn tensor(dtype: Dtype, shape: &[u64], bits: &[u64], plain: bool, random: &mut Random) -> Tensor<'static> {
    let order = if plain || random.one_in(2) { Order::C } else { Order::Fortran };
    let big_endian = !plain && random.one_in(2);
    let size = dtype.size();
    let mut bytes = vec![0; bits.len() * size];
    let mut tensor =
        Tensor { dtype, shape: shape.to_vec(), bytes: Cow::Borrowed(&[]), order, big_endian, scale: None };
    for (position, &element) in bits.iter().enumerate() {
        let offset = match order {
            Order::C => position,
            Order::Fortran => {
                let index = tensor.index(position as u64);
                index.iter().zip(shape).rev().fold(0, |offset, (i, n)| offset * n + i) as usize
            }
        };
        let little = element.to_le_bytes();
        let target = &mut bytes[offset * size..][..size];
        target.copy_from_slice(&little[..size]);
        if big_endian {
            target.reverse();
        }
    }
    tensor.bytes = Cow::Owned(bytes);
    if !plain && is_quantised(dtype) && random.one_in(2) {
        tensor.scale = Some(Box::new(scale(shape, random)));
    }
    tensor
}

const fn is_quantised(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F8E4M3 | Dtype::F8E5M2 | Dtype::F8E4M3Fnuz | Dtype::F8E5M2Fnuz)
}

/// Factors in blocks that do not divide the shape.
fn scale(shape: &[u64], random: &mut Random) -> Scale<'static> {
    let block: Vec<u64> = shape.iter().map(|_| [1, 2, 3, 32, 1000][random.below(5)]).collect();
    let blocks: Vec<u64> = shape.iter().zip(&block).map(|(n, block)| n.div_ceil(*block)).collect();
    let dtype = [Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::F8E8M0][random.below(4)];
    let count = blocks.iter().product::<u64>() as usize;
    let bits: Vec<u64> = (0..count)
        .map(|_| match dtype {
            Dtype::F8E8M0 => 120 + random.next() % 16,
            _ => draw(dtype, Style::Near, random),
        })
        .collect();
    Scale { factors: tensor(dtype, &blocks, &bits, true, random), block }
}
