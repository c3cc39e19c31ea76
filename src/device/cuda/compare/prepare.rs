//! Which kernel a pair needs, and its elements as that kernel takes them.

use crate::validate::compare::{Compute, DeviceError, Pair};
use crate::validate::tensor::{Dtype, Tensor};

/// What a kernel counts as a distance in steps; the numbers are those of `kernels/details.cu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Steps {
    /// None: the two types differ.
    None = 0,
    /// Places of the type that the kernel reads.
    Places = 1,
    /// The distance itself: integers that were brought to f64.
    Distance = 2,
    /// Binary exponents: scales that were brought to f32.
    Exponents = 3,
}

/// How a tensor's elements come to the device.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// As they lie.
    Plain(&'a [u8], usize),
    /// Their stored bits, in C order and little-endian.
    Stored(&'a Tensor<'a>),
    /// As f32, their factor included.
    F32(&'a Tensor<'a>),
    /// As f64.
    F64(&'a Tensor<'a>),
}

/// A pair as a kernel takes it.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    /// How many pairs there are.
    pub(super) elements: u64,
    /// The end of the kernels' names.
    pub(super) kind: &'static str,
    /// Bytes of an element on the device.
    pub(super) size: usize,
    /// What a distance in steps is.
    pub(super) steps: Steps,
    /// What is judged.
    pub(super) candidate: Source<'a>,
    /// What is right.
    pub(super) reference: Source<'a>,
}

impl<'a> Prepared<'a> {
    /// The kernel for a pair.
    pub(super) fn new(pair: Pair<'a>) -> Result<Self, DeviceError> {
        let elements = pair.elements()?;
        let dtype = pair.reference.dtype;
        let scaled = pair.reference.scale.is_some() || pair.candidate.scale.is_some();
        let native = native(dtype).filter(|_| pair.same_type() && !scaled);
        let (kind, size, steps, source): (_, _, _, fn(&'a Tensor<'a>) -> Source<'a>) =
            match (native, pair.compute()) {
                (Some(kind), _) => (kind, dtype.size(), Steps::Places, stored),
                (None, Compute::F32) => {
                    let steps = match (pair.same_type(), scaled) {
                        (false, _) => Steps::None,
                        (true, true) => Steps::Places,
                        (true, false) => Steps::Exponents,
                    };
                    ("f32", 4, steps, Source::F32)
                }
                (None, Compute::F64) if !scaled => {
                    let steps = if pair.same_type() { Steps::Distance } else { Steps::None };
                    ("f64", 8, steps, Source::F64)
                }
                _ => {
                    return Err(DeviceError {
                        what: "factors belong to 8-bit floats; the GPU compares no others".into(),
                    });
                }
            };
        Ok(Self {
            elements,
            kind,
            size,
            steps,
            candidate: source(pair.candidate),
            reference: source(pair.reference),
        })
    }

    /// Whether the host copies every element before the device does.
    pub(super) fn is_copied(&self) -> bool {
        !matches!((self.candidate, self.reference), (Source::Plain(..), Source::Plain(..)))
    }
}

fn stored<'a>(tensor: &'a Tensor<'a>) -> Source<'a> {
    tensor.plain().map_or(Source::Stored(tensor), |bytes| Source::Plain(bytes, tensor.dtype.size()))
}

/// The end of the names of the kernels that read this type as it is stored.
const fn native(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::F64 => "f64",
        Dtype::F32 => "f32",
        Dtype::F16 => "f16",
        Dtype::BF16 => "bf16",
        Dtype::F8E4M3 => "e4m3",
        Dtype::F8E5M2 => "e5m2",
        Dtype::F8E4M3Fnuz => "e4m3fnuz",
        Dtype::F8E5M2Fnuz => "e5m2fnuz",
        Dtype::I64 => "i64",
        Dtype::U64 => "u64",
        Dtype::F8E8M0
        | Dtype::I32
        | Dtype::I16
        | Dtype::I8
        | Dtype::U32
        | Dtype::U16
        | Dtype::U8
        | Dtype::Bool => return None,
    })
}

impl<'a> Source<'a> {
    /// The bytes of `elements` elements from position `base` on; `scratch` holds them where they had to be made.
    pub(super) fn bytes<'s>(&self, base: u64, elements: u64, scratch: &'s mut Vec<u8>) -> &'s [u8]
    where
        'a: 's,
    {
        let count = elements as usize;
        scratch.clear();
        match self {
            Self::Plain(bytes, size) => {
                let from = base as usize * size;
                return bytes.get(from..from + count * size).unwrap_or_default();
            }
            Self::Stored(tensor) => {
                let size = tensor.dtype.size();
                in_blocks(
                    base,
                    count,
                    |at, bits| tensor.decode_bits(at, bits),
                    |bits: &u64| {
                        scratch.extend_from_slice(&bits.to_le_bytes()[..size]);
                    },
                );
            }
            Self::F32(tensor) => in_blocks(
                base,
                count,
                |at, out| tensor.decode_f32(at, out),
                |x: &f32| {
                    scratch.extend_from_slice(&x.to_le_bytes());
                },
            ),
            Self::F64(tensor) => in_blocks(
                base,
                count,
                |at, out| tensor.decode_f64(at, out),
                |x: &f64| {
                    scratch.extend_from_slice(&x.to_le_bytes());
                },
            ),
        }
        scratch
    }
}

/// Decodes `count` elements a block at a time.
fn in_blocks<T: Copy + Default>(
    base: u64,
    count: usize,
    decode: impl Fn(u64, &mut [T]) -> usize,
    mut each: impl FnMut(&T),
) {
    let mut block = [T::default(); 1024];
    let mut done = 0;
    while done < count {
        let wanted = block.len().min(count - done);
        let got = decode(base + done as u64, &mut block[..wanted]);
        block[..got].iter().for_each(&mut each);
        if got < wanted {
            break;
        }
        done += got;
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::validate::tensor::Order;

    fn tensor(
        dtype: Dtype,
        shape: &[u64],
        bytes: Vec<u8>,
        big_endian: bool,
        order: Order,
    ) -> Tensor<'static> {
        Tensor { dtype, shape: shape.to_vec(), bytes: Cow::Owned(bytes), order, big_endian, scale: None }
    }

    #[test]
    fn other_layouts_are_brought_into_order() {
        // [[0, 1, 2], [3, 4, 5]] in the order of columns, big-endian.
        let bytes = [0_u16, 3, 1, 4, 2, 5].iter().flat_map(|x| x.to_be_bytes()).collect();
        let strange = tensor(Dtype::F16, &[2, 3], bytes, true, Order::Fortran);
        let prepared = Prepared::new(Pair { reference: &strange, candidate: &strange }).unwrap();
        assert_eq!((prepared.kind, prepared.size, prepared.steps), ("f16", 2, Steps::Places));
        assert!(prepared.is_copied());
        let mut scratch = Vec::new();
        let all: Vec<u8> = (0_u16..6).flat_map(u16::to_le_bytes).collect();
        assert_eq!(prepared.reference.bytes(0, 6, &mut scratch), all);
        assert_eq!(prepared.reference.bytes(2, 3, &mut scratch), &all[4..10]);
    }

    #[test]
    fn each_pair_has_its_kernel() {
        let of = |a: Dtype, b: Dtype| {
            let (a, b) = (
                tensor(a, &[1], vec![0; a.size()], false, Order::C),
                tensor(b, &[1], vec![0; b.size()], false, Order::C),
            );
            let prepared = Prepared::new(Pair { reference: &a, candidate: &b }).unwrap();
            (prepared.kind, prepared.steps)
        };
        assert_eq!(of(Dtype::BF16, Dtype::BF16), ("bf16", Steps::Places));
        assert_eq!(of(Dtype::BF16, Dtype::F32), ("f32", Steps::None));
        assert_eq!(of(Dtype::F64, Dtype::F32), ("f64", Steps::None));
        assert_eq!(of(Dtype::I32, Dtype::I32), ("f64", Steps::Distance));
        assert_eq!(of(Dtype::I64, Dtype::I64), ("i64", Steps::Places));
        assert_eq!(of(Dtype::Bool, Dtype::Bool), ("f64", Steps::Distance));
        assert_eq!(of(Dtype::F8E8M0, Dtype::F8E8M0), ("f32", Steps::Exponents));
    }
}
