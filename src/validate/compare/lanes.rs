//! Sixteen elements at a time: how stored groups become numbers, and the two floating-point types to compute in.
//!
//! Everything is written over arrays of sixteen without a branch, so that the compiler makes vectors of whatever width the
//! caller's target features allow. The functions are inlined into that caller by force: it is what makes them fast.

#![expect(clippy::inline_always, reason = "they have to become part of callers with wider instruction sets")]

use std::ops::{Add, Div, Mul, Sub};

use super::block::{Bounds, Findings, Limits, Running};

/// Elements of a group.
pub const LANES: usize = 16;

/// A compute type.
pub trait Real:
    Copy
    + PartialOrd
    + Send
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + 'static
{
    /// Where a difference that overflowed counts in a histogram.
    const OVERFLOW: i32;
    /// Whether its squares are exact in f64.
    const EXACT_SQUARE: bool;
    /// Zero.
    const ZERO: Self;
    /// The magnitude.
    fn magnitude(self) -> Self;
    /// As f64, exactly.
    fn wide(self) -> f64;
    /// From f64, rounded.
    fn narrow(wide: f64) -> Self;
    /// Its bits, zero-extended.
    fn bits(self) -> u64;
    /// Whether it is neither infinite nor NaN.
    fn ordinary(self) -> bool;
    /// Whether it is NaN.
    fn nan(self) -> bool;
    /// Of the limits in both types, its own.
    fn limits(both: &Bounds) -> &Limits<Self>;
    /// Of what was found in both types, its own.
    fn running(both: &mut Findings) -> &mut Running<Self>;
}

impl Real for f32 {
    const OVERFLOW: i32 = 128;
    const EXACT_SQUARE: bool = true;
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn narrow(wide: f64) -> Self {
        wide as Self
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
    #[inline(always)]
    fn ordinary(self) -> bool {
        self.is_finite()
    }
    #[inline(always)]
    fn nan(self) -> bool {
        self.is_nan()
    }
    #[inline(always)]
    fn limits(both: &Bounds) -> &Limits<Self> {
        &both.narrow
    }
    #[inline(always)]
    fn running(both: &mut Findings) -> &mut Running<Self> {
        &mut both.narrow
    }
}

impl Real for f64 {
    const OVERFLOW: i32 = 1024;
    const EXACT_SQUARE: bool = false;
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn narrow(wide: f64) -> Self {
        wide
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }
    #[inline(always)]
    fn ordinary(self) -> bool {
        self.is_finite()
    }
    #[inline(always)]
    fn nan(self) -> bool {
        self.is_nan()
    }
    #[inline(always)]
    fn limits(both: &Bounds) -> &Limits<Self> {
        &both.wide
    }
    #[inline(always)]
    fn running(both: &mut Findings) -> &mut Running<Self> {
        &mut both.wide
    }
}

/// How a group of sixteen is stored.
pub trait Load {
    /// Sixteen stored elements.
    type Group: Copy + Sync;
    /// What they are compared in.
    type Real: Real;
    /// A group of zeros, for padding.
    const ZEROS: Self::Group;

    /// Sixteen numbers.
    fn load(group: &Self::Group) -> [Self::Real; LANES];

    /// How many steps of the stored type lie between the elements of two groups, the largest of the sixteen, and `most`.
    fn steps(a: &Self::Group, b: &Self::Group, most: &mut [u64; LANES]);
}

/// Stored little-endian binary32.
pub struct Single;
/// Stored little-endian binary64.
pub struct Double;
/// Stored little-endian binary16.
pub struct Half;
/// Stored little-endian bfloat16.
pub struct Brain;
/// Numbers decoded to f32, wherever they came from.
pub struct Decoded32;
/// Numbers decoded to f64, wherever they came from.
pub struct Decoded64;

/// The place of a float's bits on the line of all floats of 32 bits or fewer (in the upper ones).
#[inline(always)]
const fn place(bits: u32) -> i32 {
    let magnitude = (bits & 0x7fff_ffff) as i32;
    let sign = bits as i32 >> 31;
    (magnitude ^ sign).wrapping_sub(sign)
}

/// As [`place`], of 64 bits.
#[inline(always)]
const fn place_wide(bits: u64) -> i64 {
    let magnitude = (bits & (u64::MAX >> 1)) as i64;
    let sign = bits as i64 >> 63;
    (magnitude ^ sign).wrapping_sub(sign)
}

#[inline(always)]
fn steps_narrow(a: [u32; LANES], b: [u32; LANES], shift: u32, most: &mut [u64; LANES]) {
    let mut found = [0_u32; LANES];
    for i in 0..LANES {
        let (a, b) = (place(a[i]), place(b[i]));
        found[i] = (a.max(b).wrapping_sub(a.min(b)) as u32) >> shift;
    }
    for i in 0..LANES {
        most[i] = most[i].max(u64::from(found[i]));
    }
}

#[inline(always)]
fn steps_wide(a: [u64; LANES], b: [u64; LANES], most: &mut [u64; LANES]) {
    for i in 0..LANES {
        let (a, b) = (place_wide(a[i]), place_wide(b[i]));
        most[i] = most[i].max(a.max(b).wrapping_sub(a.min(b)) as u64);
    }
}

/// Sixteen elements of two bytes in the upper half of 32 bits each.
#[inline(always)]
fn upper(group: &[u8; 32]) -> [u32; LANES] {
    let mut out = [0; LANES];
    for (out, bytes) in out.iter_mut().zip(group.as_chunks::<2>().0) {
        *out = u32::from(u16::from_le_bytes(*bytes)) << 16;
    }
    out
}

impl Load for Single {
    type Group = [u8; 64];
    type Real = f32;
    const ZEROS: [u8; 64] = [0; 64];

    #[inline(always)]
    fn load(group: &[u8; 64]) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        for (out, bytes) in out.iter_mut().zip(group.as_chunks::<4>().0) {
            *out = f32::from_le_bytes(*bytes);
        }
        out
    }

    #[inline(always)]
    fn steps(a: &[u8; 64], b: &[u8; 64], most: &mut [u64; LANES]) {
        steps_narrow(Self::load(a).map(f32::to_bits), Self::load(b).map(f32::to_bits), 0, most);
    }
}

impl Load for Double {
    type Group = [u8; 128];
    type Real = f64;
    const ZEROS: [u8; 128] = [0; 128];

    #[inline(always)]
    fn load(group: &[u8; 128]) -> [f64; LANES] {
        let mut out = [0.0; LANES];
        for (out, bytes) in out.iter_mut().zip(group.as_chunks::<8>().0) {
            *out = f64::from_le_bytes(*bytes);
        }
        out
    }

    #[inline(always)]
    fn steps(a: &[u8; 128], b: &[u8; 128], most: &mut [u64; LANES]) {
        steps_wide(Self::load(a).map(f64::to_bits), Self::load(b).map(f64::to_bits), most);
    }
}

impl Load for Half {
    type Group = [u8; 32];
    type Real = f32;
    const ZEROS: [u8; 32] = [0; 32];

    #[inline(always)]
    fn load(group: &[u8; 32]) -> [f32; LANES] {
        // Shifted into place the exponent is 112 too low, which one exact multiplication mends, also for subnormals;
        // infinities and NaNs get their exponent back by hand.
        let scale = f32::from_bits((127 + 112) << 23);
        let mut out = [0.0; LANES];
        for (out, bytes) in out.iter_mut().zip(group.as_chunks::<2>().0) {
            let bits = u32::from(u16::from_le_bytes(*bytes));
            let magnitude = (bits & 0x7fff) << 13;
            let special = if magnitude >= 0x7c00 << 13 { 0x7f80_0000 } else { 0 };
            let value = (f32::from_bits(magnitude) * scale).to_bits() | special;
            *out = f32::from_bits(value | (bits & 0x8000) << 16);
        }
        out
    }

    #[inline(always)]
    fn steps(a: &[u8; 32], b: &[u8; 32], most: &mut [u64; LANES]) {
        steps_narrow(upper(a), upper(b), 16, most);
    }
}

impl Load for Brain {
    type Group = [u8; 32];
    type Real = f32;
    const ZEROS: [u8; 32] = [0; 32];

    #[inline(always)]
    fn load(group: &[u8; 32]) -> [f32; LANES] {
        upper(group).map(f32::from_bits)
    }

    #[inline(always)]
    fn steps(a: &[u8; 32], b: &[u8; 32], most: &mut [u64; LANES]) {
        steps_narrow(upper(a), upper(b), 16, most);
    }
}

impl Load for Decoded32 {
    type Group = [f32; LANES];
    type Real = f32;
    const ZEROS: [f32; LANES] = [0.0; LANES];

    #[inline(always)]
    fn load(group: &[f32; LANES]) -> [f32; LANES] {
        *group
    }

    #[inline(always)]
    fn steps(a: &[f32; LANES], b: &[f32; LANES], most: &mut [u64; LANES]) {
        steps_narrow(a.map(f32::to_bits), b.map(f32::to_bits), 0, most);
    }
}

impl Load for Decoded64 {
    type Group = [f64; LANES];
    type Real = f64;
    const ZEROS: [f64; LANES] = [0.0; LANES];

    #[inline(always)]
    fn load(group: &[f64; LANES]) -> [f64; LANES] {
        *group
    }

    #[inline(always)]
    fn steps(a: &[f64; LANES], b: &[f64; LANES], most: &mut [u64; LANES]) {
        steps_wide(a.map(f64::to_bits), b.map(f64::to_bits), most);
    }
}
