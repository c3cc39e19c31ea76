//! A buffer with its margins and its poison, and what they say after a launch.
//!
//! ```text
//! unmapped | front margin | the tensor | back margin | unmapped
//! ```
//!
//! Margins are NaN (for integers: a pattern that is a wild index), so what is read there shows in the result, and what
//! is written there is found. In the phases that lie flush, less than [`ALIGN`] bytes remain behind the tensor before
//! the page that is not there.

use crate::validate::tensor::Dtype;

/// What `cudaMalloc` promises, and kernels may rely on.
pub const ALIGN: usize = 256;

/// The margin before the tensor, in bytes. Before it the device's page may go on.
const FRONT: usize = 64 << 10;

/// The smallest margin behind it where it does not lie flush.
const BACK: usize = 4096;

/// Which launch of several it is: poison and place change from one to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase(pub u32);

impl Phase {
    /// Whether the tensor lies against the page that is not there.
    pub const fn flush(self) -> bool {
        self.0 % 2 == 1
    }
}

/// Where a tensor lies in the memory that is allocated for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes in all, a multiple of [`ALIGN`]: nothing is mapped behind them.
    pub bytes: usize,
    /// Where the tensor begins.
    pub start: usize,
    /// Its bytes.
    pub length: usize,
}

/// Bytes of the margins that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strays {
    /// How many.
    pub count: u64,
    /// The first: its distance from the tensor's beginning, negative before it.
    pub first: i64,
}

impl Layout {
    /// The layout of so many bytes; `None` where that cannot be.
    pub fn new(length: usize, phase: Phase) -> Option<Self> {
        let bytes = length.checked_add(FRONT + BACK)?.checked_next_multiple_of(ALIGN)?;
        let start = if phase.flush() { (bytes - length) / ALIGN * ALIGN } else { FRONT };
        Some(Self { bytes, start, length })
    }

    /// What is copied to the device: margins around these bytes.
    pub fn image(&self, dtype: Dtype, which: usize, content: &[u8]) -> Vec<u8> {
        let mut image = repeated(&margin(dtype, which), self.bytes);
        image[self.start..self.start + self.length].copy_from_slice(&content[..self.length]);
        image
    }

    /// The tensor in what was copied back.
    pub fn content<'i>(&self, image: &'i [u8]) -> &'i [u8] {
        &image[self.start..self.start + self.length]
    }

    /// What was changed outside of the tensor.
    pub fn strays(&self, dtype: Dtype, which: usize, image: &[u8]) -> Option<Strays> {
        let end = self.start + self.length;
        // Beginning and end are whole elements, so the pattern begins anew behind the tensor. Only the margins are
        // made: a tensor may be as large as the memory.
        let longest = self.start.max(image.len() - end);
        let margin = repeated(&margin(dtype, which), longest);
        let (front, back) = (&image[..self.start], &image[end..]);
        if *front == margin[..front.len()] && *back == margin[..back.len()] {
            return None;
        }
        let changed = |(byte, right): (&u8, &u8)| byte != right;
        let before = front.iter().zip(&margin).map(changed).enumerate().filter(|(_, changed)| *changed);
        let behind = back.iter().zip(&margin).map(changed).enumerate().filter(|(_, changed)| *changed);
        let mut places = before.map(|(at, _)| at).chain(behind.map(|(at, _)| end + at));
        let first = places.next()?;
        Some(Strays { count: 1 + places.count() as u64, first: first as i64 - self.start as i64 })
    }
}

fn repeated(element: &[u8], bytes: usize) -> Vec<u8> {
    let mut all = element.repeat(bytes / element.len() + 1);
    all.truncate(bytes);
    all
}

/// An element of the margins of the argument at a place.
///
/// Each argument has its own: a kernel that copies one element too many from margin to margin would write what stands
/// there already. 8-bit floats have too few NaNs for that: every second one gets the other, or a number.
pub fn margin(dtype: Dtype, which: usize) -> Vec<u8> {
    let own = 0xA5_u64.wrapping_add(29 * which as u64);
    let odd = which % 2 == 1;
    let bits = match dtype {
        Dtype::F64 => 0x7FF8_0DEA_D000_0000 | (own & 0xFFFF) << 8,
        Dtype::F32 => 0x7FC0_0000 | (own & 0x3FFF) << 8 | 0x5A,
        Dtype::F16 => 0x7E00 | own & 0x1FF,
        Dtype::BF16 => 0x7FC0 | own & 0x3F,
        Dtype::F8E4M3 => {
            if odd {
                0xFF
            } else {
                0x7F
            }
        }
        Dtype::F8E5M2 => 0x7D + own % 3,
        Dtype::F8E4M3Fnuz | Dtype::F8E5M2Fnuz => {
            if odd {
                0x5A
            } else {
                0x80
            }
        }
        Dtype::F8E8M0 => 0xFF,
        whole => (0..whole.size()).fold(0, |bits, _| bits << 8 | own & 0xFF),
    };
    bits.to_le_bytes()[..dtype.size()].to_vec()
}

/// An element of what stands in an output before a launch: NaN, then something large, then something large and negative.
///
/// NaN shows in sums; the large ones show where a maximum or minimum would have swallowed it. An output may by accident
/// have the value of one of them, never of two.
pub fn poison(dtype: Dtype, phase: Phase) -> Vec<u8> {
    let pick = |nan: u64, large: u64| match phase.0 % 3 {
        0 => nan,
        1 => large,
        _ => large | 1 << (dtype.size() * 8 - 1),
    };
    let bits = match dtype {
        Dtype::F64 => pick(0x7FFC_0DE0_0DEA_D0A5, 0x7E7E_7E7E_7E7E_7E7E),
        Dtype::F32 => pick(0x7FCD_EAD5, 0x7E7E_7E7E),
        Dtype::F16 => pick(0x7E5A, 0x7B7B),
        Dtype::BF16 => pick(0x7FDA, 0x7E7E),
        Dtype::F8E4M3 => pick(0x7F, 0x7A),
        Dtype::F8E5M2 => pick(0x7E, 0x7A),
        Dtype::F8E4M3Fnuz | Dtype::F8E5M2Fnuz => pick(0x80, 0x7A),
        Dtype::F8E8M0 => pick(0xFF, 0x7A),
        whole => {
            let byte = [0xA6_u64, 0x5B, 0xC9][phase.0 as usize % 3];
            (0..whole.size()).fold(0, |bits, _| bits << 8 | byte)
        }
    };
    bits.to_le_bytes()[..dtype.size()].to_vec()
}

/// Elements that still hold their poison after every launch: how many, and the position of the first.
pub fn unwritten(dtype: Dtype, launches: &[(Phase, &[u8])]) -> Option<(u64, u64)> {
    let size = dtype.size();
    let (first_phase, first_bytes) = launches.first()?;
    let poisons: Vec<Vec<u8>> = launches.iter().map(|(phase, _)| poison(dtype, *phase)).collect();
    if launches.len() < 2 || poisons.iter().all(|p| *p == poisons[0]) {
        // One pattern alone could be the right value.
        return None;
    }
    let first_poison = poison(dtype, *first_phase);
    let left = |at: &usize| {
        let range = at * size..(at + 1) * size;
        first_bytes[range.clone()] == first_poison[..]
            && launches.iter().zip(&poisons).all(|((_, bytes), poison)| bytes[range.clone()] == poison[..])
    };
    let mut places = (0..first_bytes.len() / size).filter(left);
    let first = places.next()?;
    Some((1 + places.count() as u64, first as u64))
}

/// Elements that differ between two launches: how many, and the position of the first.
pub fn differing(dtype: Dtype, one: &[u8], other: &[u8]) -> Option<(u64, u64)> {
    if one == other {
        return None;
    }
    let size = dtype.size();
    let mut places = one
        .chunks_exact(size)
        .zip(other.chunks_exact(size))
        .enumerate()
        .filter(|(_, (one, other))| one != other)
        .map(|(at, _)| at);
    let first = places.next()?;
    Some((1 + places.count() as u64, first as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(dtype: Dtype, bytes: Vec<u8>) -> f64 {
        let tensor = crate::validate::tensor::Tensor {
            dtype,
            shape: vec![1],
            bytes: bytes.into(),
            order: crate::validate::tensor::Order::C,
            big_endian: false,
            scale: None,
        };
        let mut value = [0.0];
        tensor.decode_f64(0, &mut value);
        value[0]
    }

    #[test]
    fn margins_are_nan_and_poisons_differ() {
        for dtype in Dtype::ALL {
            let float = !matches!(dtype, Dtype::I64 | Dtype::I32 | Dtype::I16 | Dtype::I8 | Dtype::U64)
                && !matches!(dtype, Dtype::U32 | Dtype::U16 | Dtype::U8 | Dtype::Bool);
            let poisons: Vec<Vec<u8>> = (0..3).map(|p| poison(dtype, Phase(p))).collect();
            assert!(poisons.iter().all(|p| p.len() == dtype.size()), "{dtype:?}");
            assert!(
                poisons[0] != poisons[1] && poisons[1] != poisons[2] && poisons[0] != poisons[2],
                "{dtype:?}"
            );
            assert_eq!(margin(dtype, 0).len(), dtype.size());
            let wide = dtype.size() > 1;
            assert!(
                !wide || (1..60).all(|which| margin(dtype, which) != margin(dtype, which - 1)),
                "{dtype:?}"
            );
            if float {
                assert!(value(dtype, margin(dtype, 0)).is_nan(), "{dtype:?}");
                assert!(!wide || (0..60).all(|w| value(dtype, margin(dtype, w)).is_nan()), "{dtype:?}");
                assert!(value(dtype, poisons[0].clone()).is_nan(), "{dtype:?}");
                for large in &poisons[1..] {
                    assert!(value(dtype, large.clone()).is_finite(), "{dtype:?}");
                }
            }
        }
    }

    #[test]
    fn a_value_equal_to_one_poison_was_written() {
        let bytes = |phase| poison(Dtype::F32, Phase(phase)).repeat(4);
        let (zero, one) = (bytes(0), bytes(1));
        assert_eq!(unwritten(Dtype::F32, &[(Phase(0), &zero), (Phase(1), &one)]), Some((4, 0)));
        assert_eq!(unwritten(Dtype::F32, &[(Phase(0), &zero), (Phase(1), &zero)]), None);
        let mut partly = (zero.clone(), one.clone());
        partly.0[..8].fill(0);
        partly.1[..8].fill(0);
        assert_eq!(unwritten(Dtype::F32, &[(Phase(0), &partly.0), (Phase(1), &partly.1)]), Some((2, 2)));
    }

    #[test]
    fn flush_leaves_less_than_the_alignment() {
        for length in [1, 4, 255, 256, 257, 4000, 1 << 21, (1 << 21) - 1] {
            for phase in 0..4 {
                let layout = Layout::new(length, Phase(phase)).unwrap();
                let behind = layout.bytes - layout.start - length;
                assert!(
                    layout.start.is_multiple_of(ALIGN)
                        && layout.start >= FRONT
                        && layout.bytes.is_multiple_of(ALIGN)
                );
                assert!(if phase % 2 == 1 { behind < ALIGN } else { behind >= BACK });
            }
        }
        assert_eq!(Layout::new(usize::MAX, Phase(0)), None);
    }

    proptest! {
        #[test]
        fn every_stray_byte_is_found(length in 1..9000_usize, phase in 0..3_u32, at in any::<prop::sample::Index>(), which in 0..Dtype::ALL.len()) {
            let dtype = Dtype::ALL[which];
            let length = length / dtype.size() * dtype.size();
            let layout = Layout::new(length, Phase(phase)).unwrap();
            let content = vec![0x3C; length];
            let mut image = layout.image(dtype, 3, &content);
            prop_assert_eq!(layout.content(&image), &content[..]);
            prop_assert_eq!(layout.strays(dtype, 3, &image), None);
            let at = at.index(layout.bytes);
            image[at] ^= 1;
            let inside = (layout.start..layout.start + length).contains(&at);
            let strays = layout.strays(dtype, 3, &image);
            prop_assert_eq!(strays.is_none(), inside);
            if let Some(strays) = strays {
                prop_assert_eq!(strays, Strays { count: 1, first: at as i64 - layout.start as i64 });
            }
        }
    }
}
