//! Mutants of a candidate: what a comparison must not pass. One that does is too loose.
//!
//! Scaling goes both ways: where the candidate is itself too small, what is smaller still is caught by a tolerance that
//! would have had to catch the candidate.
//!
//! A mutant is never made as a whole: the candidate is read a few thousand elements at a time, changed, and compared. One
//! that is caught is caught at its first mismatch, mostly within the first few thousand; only a cap on the norm, or a
//! comparison that is too loose, makes for whole passes.

use super::block::{Bounds, Findings, Sums, scan, scan_integers};
use super::comparison::Comparison;
use super::device::{DeviceError, Pair};
use super::feed::{Numbers, Scratch, Visitor, feed_altered};
use super::lanes::{Load, Real};
use super::outcome::Summary;
use super::policy::relative_norm;
use crate::validate::tensor::{Dtype, Tensor};

/// The mutants, by what a reason calls them.
pub const MUTANTS: [&str; 6] =
    ["zeros", "scaled by 0.95", "scaled by 1/0.95", "one tile dropped", "a stale buffer", "one NaN"];

/// The side of a tile.
const TILE: u64 = 64;

/// Elements between two looks at whether the mutant is caught.
const STEP: u64 = 1 << 14;

/// What came of the mutants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tried {
    /// The first that passed: the comparison is too loose. Those after it were not tried.
    pub passed: Option<&'static str>,
    /// Those that were caught.
    pub caught: Vec<&'static str>,
    /// Those that are no different from the candidate, and so say nothing.
    pub skipped: Vec<&'static str>,
}

impl Tried {
    /// Whether no mutant said anything: the candidate is empty, or of integers and all zero.
    pub fn says_nothing(&self) -> bool {
        self.passed.is_none() && self.caught.is_empty()
    }
}

/// Tries the mutants of a candidate that has passed as `judged`. `other` is the output of another case, of the same type
/// and shape, if there is one: the stale buffer then.
///
/// # Errors
/// The shapes differ.
pub fn judge_mutants(
    pair: Pair<'_>,
    judged: &Comparison,
    other: Option<&Tensor<'_>>,
) -> Result<Tried, DeviceError> {
    pair.elements()?;
    let mut tried = Tried::default();
    for name in MUTANTS {
        let Some(change) = Change::new(name, pair.candidate, other) else {
            tried.skipped.push(name);
            continue;
        };
        match try_one(pair, judged, &change) {
            None => tried.skipped.push(name),
            Some(false) => tried.caught.push(name),
            Some(true) => {
                tried.passed = Some(name);
                break;
            }
        }
    }
    Ok(tried)
}

/// What is done to a candidate.
enum Change<'a> {
    Zeros,
    Scaled {
        up: bool,
    },
    /// Everything from a row and a column of the last matrix on is zero.
    Tile {
        base: u64,
        columns: u64,
        row: u64,
        column: u64,
    },
    /// Each matrix's elements come from this far behind, around its end.
    Shifted {
        matrix: u64,
        by: u64,
    },
    Other(&'a Tensor<'a>),
    Nan {
        position: u64,
    },
}

impl<'a> Change<'a> {
    /// `None` where there is no such mutant of such a tensor.
    fn new(name: &str, candidate: &Tensor<'_>, other: Option<&'a Tensor<'a>>) -> Option<Self> {
        let elements = candidate.elements();
        if elements == 0 {
            return None;
        }
        let mut inner = candidate.shape.iter().rev().copied();
        let (columns, rows) = (inner.next().unwrap_or(1), inner.next().unwrap_or(1));
        match name {
            "zeros" => Some(Self::Zeros),
            "scaled by 0.95" => Some(Self::Scaled { up: false }),
            "scaled by 1/0.95" => Some(Self::Scaled { up: true }),
            "one tile dropped" => Some(Self::Tile {
                base: elements - rows * columns,
                columns,
                row: (rows - 1) / TILE * TILE,
                column: (columns - 1) / TILE * TILE,
            }),
            "a stale buffer" => {
                if let Some(other) =
                    other.filter(|other| other.dtype == candidate.dtype && other.shape == candidate.shape)
                {
                    return Some(Self::Other(other));
                }
                // As many rows as a tile has, or half of them where there are no more; of one row, its columns.
                let by = |length: u64| if length > TILE { TILE } else { length / 2 };
                match (by(rows), by(columns)) {
                    (0, 0) => None,
                    (0, columns_back) => Some(Self::Shifted { matrix: columns, by: columns_back }),
                    (rows_back, _) => Some(Self::Shifted { matrix: rows * columns, by: rows_back * columns }),
                }
            }
            _ => Some(Self::Nan { position: a_number(candidate)? }),
        }
    }

    /// Where it changes anything.
    const fn touched(&self, elements: u64) -> (u64, u64) {
        match self {
            Self::Tile { base, columns, row, .. } => (*base + *row * *columns, elements),
            Self::Nan { position } => (*position, *position + 1),
            _ => (0, elements),
        }
    }

    /// Changes decoded numbers, the first of which stands at `at`; says whether any is another one then.
    fn apply(&self, candidate: &Tensor<'_>, at: u64, numbers: Numbers<'_>) -> bool {
        let whole = !is_float(candidate.dtype);
        let up = matches!(self, Self::Scaled { up: true });
        match numbers {
            Numbers::Single(values) => self.change(
                values,
                at,
                (0.0, f32::NAN),
                |x| if up { x / 0.95 } else { x * 0.95 },
                |tensor, start, out| tensor.decode_f32(start, out),
                candidate,
                |x, y| x.to_bits() == y.to_bits(),
            ),
            Numbers::Double(values) => self.change(
                values,
                at,
                (0.0, f64::NAN),
                |x| {
                    let x = if up { x / 0.95 } else { x * 0.95 };
                    if whole { x.trunc() } else { x }
                },
                |tensor, start, out| tensor.decode_f64(start, out),
                candidate,
                |x, y| x.to_bits() == y.to_bits(),
            ),
            Numbers::Bits(values, signed) => self.change(
                values,
                at,
                (0, 0),
                |x| {
                    let x = if signed { i128::from(x as i64) } else { i128::from(x) };
                    (if up { x * 100 / 95 } else { x * 95 / 100 }) as u64
                },
                |tensor, start, out| tensor.decode_bits(start, out),
                candidate,
                |x, y| x == y,
            ),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what differs between three types of numbers")]
    fn change<T: Copy>(
        &self,
        values: &mut [T],
        at: u64,
        (zero, nan): (T, T),
        scale: impl Fn(T) -> T,
        decode: impl Fn(&Tensor<'_>, u64, &mut [T]) -> usize,
        candidate: &Tensor<'_>,
        same: impl Fn(T, T) -> bool,
    ) -> bool {
        let mut new = values.to_vec();
        match self {
            Self::Zeros => new.fill(zero),
            Self::Scaled { .. } => new.iter_mut().for_each(|x| *x = scale(*x)),
            Self::Tile { base, columns, row, column } => {
                for (i, x) in new.iter_mut().enumerate() {
                    if let Some(inside) = (at + i as u64).checked_sub(*base)
                        && inside / columns >= *row
                        && inside % columns >= *column
                    {
                        *x = zero;
                    }
                }
            }
            Self::Shifted { matrix, by } => {
                let mut done = 0;
                while done < new.len() {
                    let position = at + done as u64;
                    let inside = position % matrix;
                    let from = (inside + by) % matrix;
                    let now = (matrix - from).min(matrix - inside).min((new.len() - done) as u64) as usize;
                    decode(candidate, position - inside + from, &mut new[done..done + now]);
                    done += now;
                }
            }
            Self::Other(other) => {
                decode(other, at, &mut new);
            }
            Self::Nan { position } => {
                if let Some(x) = position.checked_sub(at).and_then(|i| new.get_mut(i as usize)) {
                    *x = nan;
                }
            }
        }
        let differs = values.iter().zip(&new).any(|(x, y)| !same(*x, *y));
        values.copy_from_slice(&new);
        differs
    }
}

/// Whether a type has NaNs.
const fn is_float(dtype: Dtype) -> bool {
    matches!(
        dtype,
        Dtype::F64
            | Dtype::F32
            | Dtype::F16
            | Dtype::BF16
            | Dtype::F8E4M3
            | Dtype::F8E5M2
            | Dtype::F8E4M3Fnuz
            | Dtype::F8E5M2Fnuz
            | Dtype::F8E8M0
    )
}

/// A position that holds no NaN, the nearest after the middle if there is one.
fn a_number(tensor: &Tensor<'_>) -> Option<u64> {
    if !is_float(tensor.dtype) {
        return None;
    }
    let elements = tensor.elements();
    let middle = elements / 2;
    let mut chunk = vec![0.0; STEP as usize];
    for (from, to) in [(middle, elements), (0, middle)] {
        let mut at = from;
        while at < to {
            let count = tensor.decode_f64(at, &mut chunk[..(to - at).min(STEP) as usize]);
            if let Some(found) = chunk[..count].iter().position(|x| !x.is_nan()) {
                return Some(at + found as u64);
            }
            at += count.max(1) as u64;
        }
    }
    None
}

/// Whether a mutant passes; `None` where it is the candidate itself.
fn try_one(pair: Pair<'_>, judged: &Comparison, change: &Change<'_>) -> Option<bool> {
    let elements = pair.candidate.elements();
    let (from, to) = change.touched(elements);
    let mut look =
        Look { bounds: Bounds::new(&judged.tolerance), findings: Findings::new(), sums: Sums::default() };
    let mut scratch = Scratch::default();
    let mut differs = false;
    // What is not touched matches, as the candidate did; it is read for the norm alone.
    let untouched = if judged.norm_limit.is_some() { [(0, from), (to, elements)] } else { [(0, 0); 2] };
    for (begin, end) in [(from, to)].into_iter().chain(untouched) {
        let mut at = begin;
        while at < end {
            let count = (end - at).min(STEP);
            feed_altered(pair, at, count as usize, &mut scratch, &mut look, &mut |at, numbers| {
                differs |= change.apply(pair.candidate, at, numbers);
            });
            if look.findings.mismatches() > 0 {
                return Some(false);
            }
            at += count;
        }
        if !differs {
            return None;
        }
    }
    let summary = Summary {
        sum_squared_difference: look.sums.differences.total(),
        sum_squared_reference: look.sums.references.total(),
        ..Summary::default()
    };
    Some(judged.norm_limit.is_none_or(|limit| relative_norm(&summary) <= limit))
}

/// The first pass, on one thread and without wide vectors: what a mutant needs.
struct Look {
    bounds: Bounds,
    findings: Findings,
    sums: Sums,
}

impl Visitor for Look {
    fn groups<L: Load>(&mut self, a: &[L::Group], b: &[L::Group], start: u64, count: usize) {
        let limits = L::Real::limits(&self.bounds);
        let running = L::Real::running(&mut self.findings);
        self.sums.join(if self.bounds.tolerance.bitwise {
            scan::<L, true, false>(a, b, start, count, limits, running)
        } else {
            scan::<L, false, false>(a, b, start, count, limits, running)
        });
    }

    fn integers(&mut self, a: &[u64], b: &[u64], signed: bool, _: u64) {
        let running = &mut self.findings.wide;
        self.sums.join(scan_integers(a, b, signed, &self.bounds.tolerance, running));
    }
}
