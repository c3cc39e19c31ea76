//! The first pass over a run of groups: a branch-free loop, and a careful one for blocks that hold a NaN or an infinity.
//!
//! - The largest relative error takes no division for each element: where `d / |b|` rounds to more than the largest so
//!   far, `m`, it is more than `m`, so `d > m·|b|`, so `d ≥ fl(m·|b|)` because rounding is monotonic. Only groups with such
//!   an element are divided, exactly.
//! - A NaN or an infinity on either side makes `d` a NaN or infinite and poisons the block's Σ d². Then the block is
//!   done again with care, and what the first try found is dropped. So the common case pays nothing for it.
//! - A block's sums stand in sixteen lanes, are added up in a fixed order, and go on to a sum that carries what it rounds
//!   away: threads and instruction sets change no bit of them.

#![expect(clippy::inline_always, reason = "they have to become part of callers with wider instruction sets")]

use super::lanes::{LANES, Load, Real};
use super::outcome::{Special, Summary, Tolerance};

/// Groups of a block: few, so that a NaN costs little; enough to pay for the sums at its end.
const BLOCK: usize = 64;

/// A tolerance in the compute type.
#[derive(Debug, Clone, Copy)]
pub struct Limits<R> {
    /// Absolute.
    pub atol: R,
    /// Relative.
    pub rtol: R,
    /// Whether NaN matches NaN.
    pub equal_nan: bool,
    /// Whether equal numbers are sure to be within: neither is negative or NaN, `rtol` is finite.
    usual: bool,
}

impl<R: Real> Limits<R> {
    /// Rounded to the compute type.
    pub fn new(tolerance: &Tolerance) -> Self {
        let (atol, rtol) = (R::narrow(tolerance.atol), R::narrow(tolerance.rtol));
        let usual = atol >= R::ZERO && rtol >= R::ZERO && rtol.ordinary();
        Self { atol, rtol, equal_nan: tolerance.equal_nan, usual }
    }

    /// Whether equal numbers are sure to be within the tolerance, so that nobody has to ask for them.
    pub const fn is_usual(&self) -> bool {
        self.usual
    }
}

/// A tolerance in both compute types: which of them a pair needs, its groups say.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// In f32.
    pub narrow: Limits<f32>,
    /// In f64.
    pub wide: Limits<f64>,
    /// As it was given.
    pub tolerance: Tolerance,
}

impl Bounds {
    /// Rounded to both.
    pub fn new(tolerance: &Tolerance) -> Self {
        Self { narrow: Limits::new(tolerance), wide: Limits::new(tolerance), tolerance: *tolerance }
    }
}

/// A sum that carries what each addition rounds away (Neumaier).
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    /// Adds a number that is not negative.
    #[inline(always)]
    pub fn add(&mut self, x: f64) {
        let next = self.sum + x;
        self.lost += if self.sum >= x { (self.sum - next) + x } else { (x - next) + self.sum };
        self.sum = next;
    }

    /// Adds another sum.
    pub fn join(&mut self, other: Self) {
        self.add(other.sum);
        self.lost += other.lost;
    }

    /// The sum, rounded.
    pub fn total(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

/// Σ d² and Σ b².
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums {
    /// Σ d².
    pub differences: Sum,
    /// Σ b².
    pub references: Sum,
}

impl Sums {
    /// Adds others.
    pub fn join(&mut self, other: Self) {
        self.differences.join(other.differences);
        self.references.join(other.references);
    }
}

/// What one thread has found so far; its sums are kept apart, as their order matters.
#[derive(Debug, Clone)]
pub struct Running<R> {
    mismatches: u64,
    finite: u64,
    nan: Special,
    inf: Special,
    max_abs: [R; LANES],
    max_rel: R,
}

impl<R: Real> Running<R> {
    fn new() -> Self {
        Self {
            mismatches: 0,
            finite: 0,
            nan: Special::default(),
            inf: Special::default(),
            max_abs: [R::ZERO; LANES],
            max_rel: R::ZERO,
        }
    }

    fn add_to(&self, summary: &mut Summary) {
        summary.mismatches += self.mismatches;
        summary.finite += self.finite;
        for (into, from) in [(&mut summary.nan, self.nan), (&mut summary.inf, self.inf)] {
            into.reference += from.reference;
            into.candidate += from.candidate;
            into.first = into.first.into_iter().chain(from.first).min();
        }
        summary.max_abs = self.max_abs.iter().map(|d| d.wide()).fold(summary.max_abs, f64::max);
        summary.max_rel = summary.max_rel.max(self.max_rel.wide());
    }

    /// One pair that is not of two finite numbers.
    fn special(&mut self, a: R, b: R, position: u64) {
        for (special, of) in [
            (&mut self.nan, (a.nan(), b.nan())),
            (&mut self.inf, (!a.nan() && !a.ordinary(), !b.nan() && !b.ordinary())),
        ] {
            special.candidate += u64::from(of.0);
            special.reference += u64::from(of.1);
            if of.0 || of.1 {
                special.first = Some(special.first.map_or(position, |first| first.min(position)));
            }
        }
    }
}

/// What one thread has found, in either compute type.
#[derive(Debug, Clone)]
pub struct Findings {
    /// In f32.
    pub narrow: Running<f32>,
    /// In f64.
    pub wide: Running<f64>,
}

impl Findings {
    /// Nothing found.
    pub fn new() -> Self {
        Self { narrow: Running::new(), wide: Running::new() }
    }

    /// Adds what this thread found to a summary, all but the sums.
    pub fn add_to(&self, summary: &mut Summary) {
        self.narrow.add_to(summary);
        self.wide.add_to(summary);
    }

    /// Pairs that did not match so far.
    pub const fn mismatches(&self) -> u64 {
        self.narrow.mismatches + self.wide.mismatches
    }
}

impl Default for Findings {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether two elements match: the definition, one pair at a time.
#[inline(always)]
pub fn matches<R: Real, const BITWISE: bool>(a: R, b: R, d: R, limits: &Limits<R>) -> bool {
    if a.nan() && b.nan() {
        limits.equal_nan
    } else if BITWISE {
        a.bits() == b.bits()
    } else {
        a == b || a.ordinary() && b.ordinary() && d <= limits.atol + limits.rtol * b.magnitude()
    }
}

/// The first pass over `count` elements in groups, the first of which stands at `start`. Padding is zeros on both sides.
/// `FUSED` says that the caller's processor fuses multiplications with additions; it changes no result.
#[inline(always)]
pub fn scan<L: Load, const BITWISE: bool, const FUSED: bool>(
    a: &[L::Group],
    b: &[L::Group],
    start: u64,
    count: usize,
    limits: &Limits<L::Real>,
    running: &mut Running<L::Real>,
) -> Sums {
    let mut sums = Sums::default();
    let mut done = 0;
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        let inside = (a.len() * LANES).min(count - done);
        if !(limits.usual && usual::<L, BITWISE, FUSED>(a, b, inside, limits, running, &mut sums)) {
            careful::<L, BITWISE>(a, b, start + done as u64, inside, limits, running, &mut sums);
        }
        done += inside;
    }
    sums
}

/// A block of finite numbers; says `false`, with nothing changed, where it is not.
#[inline(always)]
fn usual<L: Load, const BITWISE: bool, const FUSED: bool>(
    a: &[L::Group],
    b: &[L::Group],
    count: usize,
    limits: &Limits<L::Real>,
    running: &mut Running<L::Real>,
    sums: &mut Sums,
) -> bool {
    let (atol, rtol) = (limits.atol, limits.rtol);
    let mut mismatches = [0_u32; LANES];
    let mut max_abs = running.max_abs;
    let mut max_rel = running.max_rel;
    let mut differences = [0.0_f64; LANES];
    let mut references = [0.0_f64; LANES];
    for (group_a, group_b) in a.iter().zip(b) {
        let (a, b) = (L::load(group_a), L::load(group_b));
        let mut d = [L::Real::ZERO; LANES];
        let mut size = [L::Real::ZERO; LANES];
        let mut hot = 0_u32;
        for i in 0..LANES {
            size[i] = b[i].magnitude();
            d[i] = (a[i] - b[i]).magnitude();
        }
        for i in 0..LANES {
            let same = if BITWISE { a[i].bits() == b[i].bits() } else { d[i] <= atol + rtol * size[i] };
            mismatches[i] += u32::from(!same);
        }
        for i in 0..LANES {
            max_abs[i] = if d[i] > max_abs[i] { d[i] } else { max_abs[i] };
        }
        for i in 0..LANES {
            hot |= u32::from((d[i] >= max_rel * size[i]) & (size[i] > L::Real::ZERO));
        }
        for i in 0..LANES {
            differences[i] = add_square::<L::Real, FUSED>(differences[i], d[i]);
        }
        for i in 0..LANES {
            references[i] = add_square::<L::Real, FUSED>(references[i], b[i]);
        }
        if hot != 0 {
            max_rel = relative::<L>(group_a, group_b, max_rel);
        }
    }
    let difference = tree(&differences);
    if !difference.is_finite() {
        return false;
    }
    running.mismatches += u64::from(mismatches.iter().sum::<u32>());
    running.finite += count as u64;
    running.max_abs = max_abs;
    running.max_rel = max_rel;
    sums.differences.add(difference);
    sums.references.add(tree(&references));
    true
}

/// The sum and the square of a number. The square of an f32 is exact in f64, so that fusing changes no bit and may be done
/// where the processor can.
#[inline(always)]
fn add_square<R: Real, const FUSED: bool>(sum: f64, x: R) -> f64 {
    let x = x.wide();
    if FUSED && R::EXACT_SQUARE { x.mul_add(x, sum) } else { sum + x * x }
}

/// The largest relative error of a group, and so far. Rarely needed, so it stays out of the loop.
#[cold]
#[inline(never)]
fn relative<L: Load>(a: &L::Group, b: &L::Group, mut most: L::Real) -> L::Real {
    let (a, b) = (L::load(a), L::load(b));
    for i in 0..LANES {
        let size = b[i].magnitude();
        let relative = (a[i] - b[i]).magnitude() / size;
        most = if size > L::Real::ZERO && relative > most { relative } else { most };
    }
    most
}

/// A block with anything in it, one pair at a time.
#[inline(never)]
fn careful<L: Load, const BITWISE: bool>(
    a: &[L::Group],
    b: &[L::Group],
    start: u64,
    count: usize,
    limits: &Limits<L::Real>,
    running: &mut Running<L::Real>,
    sums: &mut Sums,
) {
    let mut differences = [0.0_f64; LANES];
    let mut references = [0.0_f64; LANES];
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        let (a, b) = (L::load(a), L::load(b));
        for i in 0..LANES.min(count - at * LANES) {
            let (a, b) = (a[i], b[i]);
            let d = (a - b).magnitude();
            running.mismatches += u64::from(!matches::<L::Real, BITWISE>(a, b, d, limits));
            if a.ordinary() && b.ordinary() {
                running.finite += 1;
                let size = b.magnitude();
                running.max_abs[i] = if d > running.max_abs[i] { d } else { running.max_abs[i] };
                if size > L::Real::ZERO && d / size > running.max_rel {
                    running.max_rel = d / size;
                }
                differences[i] += d.wide() * d.wide();
                references[i] += b.wide() * b.wide();
            } else {
                running.special(a, b, start + (at * LANES + i) as u64);
            }
        }
    }
    sums.differences.add(tree(&differences));
    sums.references.add(tree(&references));
}

/// Sixteen lanes added up, always in the same order. Not inlined: the compiler would shape the loop before it after the
/// order of these few additions.
#[inline(never)]
fn tree(lanes: &[f64; LANES]) -> f64 {
    let mut lanes = *lanes;
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// The first pass over 64-bit integers of one type: distances are exact, then rounded.
pub fn scan_integers(
    a: &[u64],
    b: &[u64],
    signed: bool,
    tolerance: &Tolerance,
    running: &mut Running<f64>,
) -> Sums {
    let mut sums = Sums::default();
    for (a, b) in a.iter().zip(b) {
        let (d, size) = distance(*a, *b, signed);
        running.mismatches += u64::from(!integers_match(*a, *b, d, size, tolerance));
        running.max_abs[0] = running.max_abs[0].max(d);
        if size > 0.0 {
            running.max_rel = running.max_rel.max(d / size);
        }
        sums.differences.add(d * d);
        sums.references.add(size * size);
    }
    running.finite += a.len() as u64;
    sums
}

/// Whether two 64-bit integers match.
pub fn integers_match(a: u64, b: u64, d: f64, size: f64, tolerance: &Tolerance) -> bool {
    a == b || !tolerance.bitwise && d <= tolerance.atol + tolerance.rtol * size
}

/// The distance of two 64-bit integers and the size of the second, rounded once.
pub const fn distance(a: u64, b: u64, signed: bool) -> (f64, f64) {
    if signed {
        let (a, b) = (a as i64, b as i64);
        (a.abs_diff(b) as f64, b.unsigned_abs() as f64)
    } else {
        (a.abs_diff(b) as f64, b as f64)
    }
}
