//! Which pairs of a block do not match, how far they are apart, and by how many steps.

#![expect(clippy::inline_always, reason = "it has to become part of callers with wider instruction sets")]

use crate::validate::compare::block::{Limits, matches};
use crate::validate::compare::lanes::{LANES, Load, Real};

/// Groups of a block.
pub(super) const BLOCK: usize = 64;

/// Elements of a block.
pub(super) const SIZE: usize = BLOCK * LANES;

/// What one block's elements are.
pub(super) struct Marks {
    /// 1 where a pair does not match.
    pub(super) wrong: [u8; SIZE],
    /// `d` of each pair.
    pub(super) d: [f64; SIZE],
    /// How many do not match.
    pub(super) count: u32,
    /// Whether there may be a NaN or an infinity.
    pub(super) special: bool,
}

impl Marks {
    pub(super) fn new() -> Self {
        Self { wrong: [0; SIZE], d: [0.0; SIZE], count: 0, special: false }
    }
}

/// Looks at a block of at most [`BLOCK`] groups. `steps`, where it is wanted, grows to the most steps in each lane.
///
/// Of a block with a NaN or an infinity, `steps` covers the pairs of finite numbers alone.
#[inline(always)]
pub(super) fn mark<L: Load, const BITWISE: bool>(
    a: &[L::Group],
    b: &[L::Group],
    limits: &Limits<L::Real>,
    marks: &mut Marks,
    steps: Option<&mut [u64; LANES]>,
) {
    let (atol, rtol) = (limits.atol, limits.rtol);
    let mut total = [0_u32; LANES];
    let mut unusual = [0_u32; LANES];
    let mut most = [0_u64; LANES];
    let (wrong, _) = marks.wrong.as_chunks_mut::<LANES>();
    let (far, _) = marks.d.as_chunks_mut::<LANES>();
    for (((ga, gb), wrong), far) in a.iter().zip(b).zip(wrong.iter_mut()).zip(far.iter_mut()) {
        let (a, b) = (L::load(ga), L::load(gb));
        let mut d = [L::Real::ZERO; LANES];
        for i in 0..LANES {
            d[i] = (a[i] - b[i]).magnitude();
        }
        for i in 0..LANES {
            let same =
                if BITWISE { a[i].bits() == b[i].bits() } else { d[i] <= atol + rtol * b[i].magnitude() };
            wrong[i] = u8::from(!same);
        }
        for i in 0..LANES {
            total[i] += u32::from(wrong[i]);
        }
        for i in 0..LANES {
            unusual[i] |= u32::from(!d[i].ordinary());
        }
        for i in 0..LANES {
            far[i] = d[i].wide();
        }
        if steps.is_some() {
            L::steps(ga, gb, &mut most);
        }
    }
    marks.special = !limits.is_usual() || unusual.iter().any(|&u| u != 0);
    if marks.special {
        most = [0; LANES];
        careful::<L, BITWISE>(a, b, limits, marks, &mut most);
    } else {
        marks.count = total.iter().sum();
    }
    if let Some(steps) = steps {
        for (steps, most) in steps.iter_mut().zip(most) {
            *steps = (*steps).max(most);
        }
    }
}

/// A block with anything in it, one pair at a time.
#[inline(never)]
fn careful<L: Load, const BITWISE: bool>(
    a: &[L::Group],
    b: &[L::Group],
    limits: &Limits<L::Real>,
    marks: &mut Marks,
    most: &mut [u64; LANES],
) {
    marks.count = 0;
    for (at, (ga, gb)) in a.iter().zip(b).enumerate() {
        let (a, b) = (L::load(ga), L::load(gb));
        let mut steps = [0; LANES];
        for i in 0..LANES {
            let d = (a[i] - b[i]).magnitude();
            let wrong = !matches::<L::Real, BITWISE>(a[i], b[i], d, limits);
            marks.wrong[at * LANES + i] = u8::from(wrong);
            marks.d[at * LANES + i] = d.wide();
            marks.count += u32::from(wrong);
        }
        L::steps(ga, gb, &mut steps);
        for i in 0..LANES {
            if a[i].ordinary() && b[i].ordinary() {
                most[i] = most[i].max(steps[i]);
            }
        }
    }
}
