//! Hands a pair's elements to a visitor in groups: straight from the bytes where they lie as they should, decoded a few
//! thousand at a time where they do not.

use super::device::{Compute, Pair};
use super::lanes::{Brain, Decoded32, Decoded64, Double, Half, LANES, Load, Single};
use crate::validate::tensor::Dtype;

/// Elements that are decoded at once.
const DECODED: usize = 4096;

/// What looks at the elements of a pair.
pub trait Visitor {
    /// Groups of `count` elements, the first of which stands at `start`. The last group is padded with zeros.
    fn groups<L: Load>(&mut self, a: &[L::Group], b: &[L::Group], start: u64, count: usize);

    /// 64-bit integers of one type, as bits.
    fn integers(&mut self, a: &[u64], b: &[u64], signed: bool, start: u64);
}

/// Where elements are decoded to; empty until it is needed.
#[derive(Debug, Default)]
pub struct Scratch {
    single: [Vec<[f32; LANES]>; 2],
    double: [Vec<[f64; LANES]>; 2],
    bits: [Vec<u64>; 2],
}

impl Scratch {
    fn single(&mut self) -> (&mut [[f32; LANES]], &mut [[f32; LANES]]) {
        for buffer in &mut self.single {
            buffer.resize(DECODED / LANES, [0.0; LANES]);
        }
        let [a, b] = &mut self.single;
        (a, b)
    }

    fn double(&mut self) -> (&mut [[f64; LANES]], &mut [[f64; LANES]]) {
        for buffer in &mut self.double {
            buffer.resize(DECODED / LANES, [0.0; LANES]);
        }
        let [a, b] = &mut self.double;
        (a, b)
    }

    fn bits(&mut self) -> (&mut [u64], &mut [u64]) {
        for buffer in &mut self.bits {
            buffer.resize(DECODED, 0);
        }
        let [a, b] = &mut self.bits;
        (a, b)
    }
}

/// Hands over the elements at `start` and the `count` − 1 after it, in order.
pub fn feed(pair: Pair<'_>, start: u64, count: usize, scratch: &mut Scratch, visitor: &mut impl Visitor) {
    if pair.same_type()
        && let (Some(a), Some(b)) = (pair.candidate.plain(), pair.reference.plain())
    {
        let size = pair.candidate.dtype.size();
        let at = start as usize * size;
        let a = a.get(at..at + count * size).unwrap_or_default();
        let b = b.get(at..at + count * size).unwrap_or_default();
        match pair.candidate.dtype {
            Dtype::F32 => return stored::<Single, 64>(a, b, start, visitor),
            Dtype::F64 => return stored::<Double, 128>(a, b, start, visitor),
            Dtype::F16 => return stored::<Half, 32>(a, b, start, visitor),
            Dtype::BF16 => return stored::<Brain, 32>(a, b, start, visitor),
            _ => {}
        }
    }
    feed_altered(pair, start, count, scratch, visitor, &mut |_, _| {});
}

/// Elements of a tensor that were decoded and may be changed before they are compared.
#[derive(Debug)]
pub enum Numbers<'a> {
    /// To f32.
    Single(&'a mut [f32]),
    /// To f64.
    Double(&'a mut [f64]),
    /// The bits of 64-bit integers.
    Bits(&'a mut [u64], bool),
}

/// As [`feed`], always decoded, the candidate's numbers changed by `alter` first; it is told where they begin.
pub fn feed_altered(
    pair: Pair<'_>,
    start: u64,
    count: usize,
    scratch: &mut Scratch,
    visitor: &mut impl Visitor,
    alter: &mut dyn FnMut(u64, Numbers<'_>),
) {
    let compute = pair.compute();
    let mut done = 0;
    while done < count {
        let now = (count - done).min(DECODED);
        let at = start + done as u64;
        match compute {
            Compute::F32 => {
                let (a, b) = scratch.single();
                for (tensor, buffer) in [(pair.candidate, &mut *a), (pair.reference, &mut *b)] {
                    let buffer = buffer.as_flattened_mut();
                    tensor.decode_f32(at, &mut buffer[..now]);
                    buffer[now..].fill(0.0);
                }
                alter(at, Numbers::Single(&mut a.as_flattened_mut()[..now]));
                let groups = now.div_ceil(LANES);
                visitor.groups::<Decoded32>(&a[..groups], &b[..groups], at, now);
            }
            Compute::F64 => {
                let (a, b) = scratch.double();
                for (tensor, buffer) in [(pair.candidate, &mut *a), (pair.reference, &mut *b)] {
                    let buffer = buffer.as_flattened_mut();
                    tensor.decode_f64(at, &mut buffer[..now]);
                    buffer[now..].fill(0.0);
                }
                alter(at, Numbers::Double(&mut a.as_flattened_mut()[..now]));
                let groups = now.div_ceil(LANES);
                visitor.groups::<Decoded64>(&a[..groups], &b[..groups], at, now);
            }
            Compute::I64 | Compute::U64 => {
                let signed = compute == Compute::I64;
                let (a, b) = scratch.bits();
                pair.candidate.decode_bits(at, &mut a[..now]);
                pair.reference.decode_bits(at, &mut b[..now]);
                alter(at, Numbers::Bits(&mut a[..now], signed));
                visitor.integers(&a[..now], &b[..now], signed, at);
            }
        }
        done += now;
    }
}

fn stored<L: Load<Group = [u8; N]>, const N: usize>(
    a: &[u8],
    b: &[u8],
    start: u64,
    visitor: &mut impl Visitor,
) {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<N>(), b.as_chunks::<N>());
    visitor.groups::<L>(a, b, start, a.len() * LANES);
    if !a_rest.is_empty() {
        let mut last = [L::ZEROS; 2];
        last[0][..a_rest.len()].copy_from_slice(a_rest);
        last[1][..b_rest.len()].copy_from_slice(b_rest);
        let elements = a_rest.len() / (N / LANES);
        visitor.groups::<L>(&last[..1], &last[1..], start + (a.len() * LANES) as u64, elements);
    }
}
