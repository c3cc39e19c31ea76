//! From stored elements to numbers, a chunk at a time, into the caller's buffer.
//!
//! Whatever order and endianness the bytes have, what comes out are this machine's numbers, in C order. 8-bit floats
//! are multiplied by their block's factor: one f32 multiplication, rounded once.

use half::{bf16, f16};

use super::float8;
use super::{Dtype, Order, Tensor};

/// Consecutive positions that lie on one line in memory and share a row of factors.
struct Run {
    /// Where it begins in the caller's buffer.
    at: usize,
    /// How many elements it has.
    length: usize,
    /// The first element's offset in memory, in elements.
    offset: usize,
    /// From one element to the next in memory, in elements.
    stride: usize,
    /// The position of its first element along the last axis.
    inner: u64,
    /// The offset, in factors, of its row of factors.
    factors: u64,
}

impl Tensor<'_> {
    /// The elements' bytes as they would stand in a C-ordered little-endian file, where they do and no factor belongs to
    /// them: what a device may read as it is.
    pub fn plain(&self) -> Option<&[u8]> {
        let ordered = self.order == Order::C || self.is_line();
        let little = !self.big_endian || self.dtype.size() == 1;
        (ordered && little && self.scale.is_none()).then_some(&*self.bytes)
    }

    /// Writes the elements from position `start` (in C order) on into `out` and says how many there were: fewer than
    /// `out` is long where the tensor ends.
    ///
    /// f16, bf16 and 8-bit floats are exact before their factor; f64 and integers are rounded to nearest.
    pub fn decode_f32(&self, start: u64, out: &mut [f32]) -> usize {
        match self.dtype {
            Dtype::F64 => self.each(start, out, |bytes: [u8; 8]| f64::from_le_bytes(bytes) as f32),
            Dtype::F32 => self.each(start, out, f32::from_le_bytes),
            Dtype::F16 => self.each(start, out, |bytes| f16::from_le_bytes(bytes).to_f32()),
            Dtype::BF16 => self.each(start, out, |bytes| bf16::from_le_bytes(bytes).to_f32()),
            Dtype::F8E4M3 | Dtype::F8E5M2 | Dtype::F8E4M3Fnuz | Dtype::F8E5M2Fnuz | Dtype::F8E8M0 => {
                let table = float8::table(self.dtype);
                let count = self.each(start, out, |[byte]| table[usize::from(byte)]);
                self.multiply(start, &mut out[..count]);
                count
            }
            Dtype::I64 => self.each(start, out, |bytes: [u8; 8]| i64::from_le_bytes(bytes) as f32),
            Dtype::I32 => self.each(start, out, |bytes: [u8; 4]| i32::from_le_bytes(bytes) as f32),
            Dtype::I16 => self.each(start, out, |bytes| f32::from(i16::from_le_bytes(bytes))),
            Dtype::I8 => self.each(start, out, |bytes| f32::from(i8::from_le_bytes(bytes))),
            Dtype::U64 => self.each(start, out, |bytes: [u8; 8]| u64::from_le_bytes(bytes) as f32),
            Dtype::U32 => self.each(start, out, |bytes: [u8; 4]| u32::from_le_bytes(bytes) as f32),
            Dtype::U16 => self.each(start, out, |bytes| f32::from(u16::from_le_bytes(bytes))),
            Dtype::U8 => self.each(start, out, |[byte]| f32::from(byte)),
            Dtype::Bool => self.each(start, out, |[byte]| f32::from(u8::from(byte != 0))),
        }
    }

    /// As [`Tensor::decode_f32`], for f64: only integers of 64 bits are rounded. Factors still multiply in f32.
    pub fn decode_f64(&self, start: u64, out: &mut [f64]) -> usize {
        match self.dtype {
            Dtype::F64 => self.each(start, out, f64::from_le_bytes),
            Dtype::I64 => self.each(start, out, |bytes: [u8; 8]| i64::from_le_bytes(bytes) as f64),
            Dtype::I32 => self.each(start, out, |bytes| f64::from(i32::from_le_bytes(bytes))),
            Dtype::U64 => self.each(start, out, |bytes: [u8; 8]| u64::from_le_bytes(bytes) as f64),
            Dtype::U32 => self.each(start, out, |bytes| f64::from(u32::from_le_bytes(bytes))),
            _ => {
                let mut chunk = [0.0_f32; 512];
                let mut done = 0;
                for out in out.chunks_mut(chunk.len()) {
                    let count = self.decode_f32(start.saturating_add(done as u64), &mut chunk[..out.len()]);
                    for (out, value) in out.iter_mut().zip(&chunk[..count]) {
                        *out = f64::from(*value);
                    }
                    done += count;
                    if count < out.len() {
                        break;
                    }
                }
                done
            }
        }
    }

    /// The stored bits from position `start` (in C order) on, zero-extended, factors left aside; says how many there
    /// were. Equal bits are equal elements, and integers are read from them exactly.
    pub fn decode_bits(&self, start: u64, out: &mut [u64]) -> usize {
        match self.dtype.size() {
            8 => self.each(start, out, u64::from_le_bytes),
            4 => self.each(start, out, |bytes| u64::from(u32::from_le_bytes(bytes))),
            2 => self.each(start, out, |bytes| u64::from(u16::from_le_bytes(bytes))),
            _ => self.each(start, out, |[byte]| u64::from(byte)),
        }
    }

    /// Reads each element's little-endian bytes and hands them to `read`.
    fn each<const N: usize, T>(&self, start: u64, out: &mut [T], read: impl Fn([u8; N]) -> T) -> usize {
        let (elements, _) = self.bytes.as_chunks::<N>();
        let flip = self.big_endian;
        let mut count = 0;
        self.runs(start, out.len(), |run| {
            let out = &mut out[run.at..run.at + run.length];
            if run.stride == 1 && !flip {
                let elements = elements.get(run.offset..run.offset + run.length).unwrap_or_default();
                for (out, bytes) in out.iter_mut().zip(elements) {
                    *out = read(*bytes);
                }
            } else {
                for (step, out) in out.iter_mut().enumerate() {
                    let mut bytes = elements.get(run.offset + step * run.stride).copied().unwrap_or([0; N]);
                    if flip {
                        bytes.reverse();
                    }
                    *out = read(bytes);
                }
            }
            count = run.at + run.length;
        });
        count
    }

    /// Multiplies decoded elements by their factors.
    fn multiply(&self, start: u64, values: &mut [f32]) {
        let Some(scale) = &self.scale else {
            return;
        };
        let block = scale.block.last().copied().unwrap_or(1).max(1);
        let mut one = [1.0_f32];
        self.runs(start, values.len(), |run| {
            let mut inner = run.inner;
            let mut rest = &mut values[run.at..run.at + run.length];
            while !rest.is_empty() {
                let left = (block - inner % block).min(rest.len() as u64);
                let (now, later) = rest.split_at_mut(left as usize);
                scale.factors.decode_f32(run.factors + inner / block, &mut one);
                for value in now {
                    *value *= one[0];
                }
                inner += left;
                rest = later;
            }
        });
    }

    /// One axis longer than 1 at most: both orders are the same.
    fn is_line(&self) -> bool {
        self.shape.iter().filter(|&&length| length != 1).count() <= 1
    }

    /// Cuts `length` positions from `start` on into runs.
    fn runs(&self, start: u64, length: usize, mut each: impl FnMut(&Run)) {
        let elements = self.elements();
        let length = usize::try_from(elements.saturating_sub(start)).unwrap_or(usize::MAX).min(length);
        if length == 0 {
            return;
        }
        if (self.order == Order::C || self.is_line()) && self.scale.is_none() {
            each(&Run { at: 0, length, offset: start as usize, stride: 1, inner: 0, factors: 0 });
            return;
        }
        let last = self.shape.last().copied().unwrap_or(1);
        let strides = strides(&self.shape, self.order);
        let blocks: Vec<u64> = match &self.scale {
            Some(scale) => self
                .shape
                .iter()
                .zip(&scale.block)
                .map(|(axis, block)| axis.div_ceil((*block).max(1)))
                .collect(),
            None => Vec::new(),
        };
        let factor_strides = strides_of_blocks(&blocks);
        let stride = strides.last().copied().unwrap_or(1) as usize;
        let mut at = 0;
        while at < length {
            let index = self.index(start + at as u64);
            let (outer, inner) = match index.split_last() {
                Some((inner, outer)) => (outer, *inner),
                None => (&index[..], 0),
            };
            let count = usize::try_from(last - inner).unwrap_or(usize::MAX).min(length - at);
            let offset: u64 = index.iter().zip(&strides).map(|(index, stride)| index * stride).sum();
            let factors = match &self.scale {
                Some(scale) => outer
                    .iter()
                    .zip(&scale.block)
                    .zip(&factor_strides)
                    .map(|((i, b), s)| i / (*b).max(1) * s)
                    .sum(),
                None => 0,
            };
            each(&Run { at, length: count, offset: offset as usize, stride, inner, factors });
            at += count;
        }
    }
}

/// From one index to the next of each axis, in elements.
fn strides(shape: &[u64], order: Order) -> Vec<u64> {
    match order {
        Order::C => strides_of_blocks(shape),
        Order::Fortran => shape
            .iter()
            .scan(1, |product, length| {
                let stride = *product;
                *product *= length;
                Some(stride)
            })
            .collect(),
    }
}

/// As [`strides`] in C order.
fn strides_of_blocks(shape: &[u64]) -> Vec<u64> {
    let mut product = 1;
    let mut strides: Vec<u64> = shape
        .iter()
        .rev()
        .map(|length| {
            let stride = product;
            product *= length;
            stride
        })
        .collect();
    strides.reverse();
    strides
}

#[cfg(test)]
mod tests;
