//! The loops of the passes, compiled once for each instruction set and chosen when they run.
//!
//! The same source for all: no intrinsics, so there is one arithmetic and nothing to keep in step. The compiler never
//! fuses a multiplication and an addition by itself, whatever the processor could.

use super::marks::{self, Marks};
use crate::validate::compare::block::{Limits, Running, Sums, scan as portable_scan};
use crate::validate::compare::lanes::{LANES, Load};

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// What every processor of the architecture has.
    Portable,
    /// 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// Those that this machine has, the widest last.
    pub(super) fn all() -> Vec<Self> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "there is no other there"))]
        let mut all = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            let fma = is_x86_feature_detected!("fma");
            if fma && is_x86_feature_detected!("avx2") {
                all.push(Self::Avx2);
            }
            if fma
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                all.push(Self::Avx512);
            }
        }
        all
    }

    /// The widest.
    pub(super) fn best() -> Self {
        Self::all().pop().unwrap_or(Self::Portable)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
        }
    }
}

/// The first pass over groups.
pub(super) fn scan<L: Load, const BITWISE: bool>(
    level: Level,
    a: &[L::Group],
    b: &[L::Group],
    start: u64,
    count: usize,
    limits: &Limits<L::Real>,
    running: &mut Running<L::Real>,
) -> Sums {
    match level {
        Level::Portable => portable_scan::<L, BITWISE, false>(a, b, start, count, limits, running),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            #[expect(unsafe_code, reason = "the compiler cannot know what the processor has")]
            // SAFETY: a level is only made after the processor was asked for it.
            unsafe {
                scan_avx2::<L, BITWISE>(a, b, start, count, limits, running)
            }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            #[expect(unsafe_code, reason = "the compiler cannot know what the processor has")]
            // SAFETY: a level is only made after the processor was asked for it.
            unsafe {
                scan_avx512::<L, BITWISE>(a, b, start, count, limits, running)
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn scan_avx2<L: Load, const BITWISE: bool>(
    a: &[L::Group],
    b: &[L::Group],
    start: u64,
    count: usize,
    limits: &Limits<L::Real>,
    running: &mut Running<L::Real>,
) -> Sums {
    portable_scan::<L, BITWISE, true>(a, b, start, count, limits, running)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn scan_avx512<L: Load, const BITWISE: bool>(
    a: &[L::Group],
    b: &[L::Group],
    start: u64,
    count: usize,
    limits: &Limits<L::Real>,
    running: &mut Running<L::Real>,
) -> Sums {
    portable_scan::<L, BITWISE, true>(a, b, start, count, limits, running)
}

/// Marks the pairs of a block that do not match, on any level.
pub(super) fn mark<L: Load, const BITWISE: bool>(
    level: Level,
    a: &[L::Group],
    b: &[L::Group],
    limits: &Limits<L::Real>,
    marks: &mut Marks,
    steps: Option<&mut [u64; LANES]>,
) {
    match level {
        Level::Portable => marks::mark::<L, BITWISE>(a, b, limits, marks, steps),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            #[expect(unsafe_code, reason = "the compiler cannot know what the processor has")]
            // SAFETY: a level is only made after the processor was asked for it.
            unsafe {
                mark_avx2::<L, BITWISE>(a, b, limits, marks, steps);
            }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            #[expect(unsafe_code, reason = "the compiler cannot know what the processor has")]
            // SAFETY: a level is only made after the processor was asked for it.
            unsafe {
                mark_avx512::<L, BITWISE>(a, b, limits, marks, steps);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn mark_avx2<L: Load, const BITWISE: bool>(
    a: &[L::Group],
    b: &[L::Group],
    limits: &Limits<L::Real>,
    marks: &mut Marks,
    steps: Option<&mut [u64; LANES]>,
) {
    marks::mark::<L, BITWISE>(a, b, limits, marks, steps);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn mark_avx512<L: Load, const BITWISE: bool>(
    a: &[L::Group],
    b: &[L::Group],
    limits: &Limits<L::Real>,
    marks: &mut Marks,
    steps: Option<&mut [u64; LANES]>,
) {
    marks::mark::<L, BITWISE>(a, b, limits, marks, steps);
}
