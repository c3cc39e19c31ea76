//! What a comparison finds.
//!
//! `a` is the candidate's element, `b` the reference's, both converted to the compute type; `d` is `fl(|a − b|)`. The
//! module above has the whole specification.

/// When two elements match.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Absolute, rounded to the compute type.
    pub atol: f64,
    /// Relative to |b|, rounded to the compute type.
    pub rtol: f64,
    /// Whether NaN matches NaN.
    pub equal_nan: bool,
    /// Whether the bits have to be the same instead; NaNs of any payload are the same then if `equal_nan`.
    pub bitwise: bool,
}

/// Counts of a special value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Special {
    /// In the reference.
    pub reference: u64,
    /// In the candidate.
    pub candidate: u64,
    /// The first position (in C order) where either has one.
    pub first: Option<u64>,
}

/// The first pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// How many pairs there are.
    pub elements: u64,
    /// Pairs that do not match.
    pub mismatches: u64,
    /// The largest |a − b| over pairs that are both finite; 0 where there is none.
    pub max_abs: f64,
    /// The largest |a − b| / |b| over pairs that are both finite and whose b is not 0; 0 where there is none.
    pub max_rel: f64,
    /// NaNs.
    pub nan: Special,
    /// Infinities of either sign.
    pub inf: Special,
    /// Σ (a − b)² over pairs that are both finite, accumulated in f64.
    pub sum_squared_difference: f64,
    /// Σ b² over the same pairs, accumulated in f64.
    pub sum_squared_reference: f64,
    /// Pairs that are both finite.
    pub finite: u64,
}

/// One of the worst elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worst {
    /// Its position, in C order.
    pub position: u64,
    /// The reference's value.
    pub reference: f64,
    /// The candidate's value.
    pub candidate: f64,
    /// |a − b|; NaN or infinite where one of them is.
    pub abs: f64,
}

/// Mismatches along one axis.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Axis {
    /// How many mismatches each index of this axis has. Empty where the axis is longer than
    /// [`LONGEST_AXIS`](super::LONGEST_AXIS).
    pub counts: Vec<u64>,
}

/// What is computed only where there are mismatches.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Details {
    /// The largest distance in steps of the stored type, over pairs that are both finite, whether they match or not. In
    /// steps of f32 where either has factors; 0 where the two types differ.
    pub max_ulp: u64,
    /// Mismatching finite pairs by ⌊log2 d⌋: (exponent, count), ascending. A `d` that overflowed counts at 128 (f32) or
    /// 1024 (f64); a `d` of 0 (zeros of different sign, bitwise) nowhere.
    pub histogram: Vec<(i32, u64)>,
    /// The worst mismatches: the largest |a − b| first, ties by position; then those that are not finite, by position.
    pub worst: Vec<Worst>,
    /// One for each axis of the shape.
    pub axes: Vec<Axis>,
}
