//! Tensors as they lie in files: what type their elements have, what shape, and where the bytes are.
//!
//! Nothing here opens a file: the readers take the bytes of one (mapped or read), and are total.

mod decode;
mod dtype;
mod float8;

use std::borrow::Cow;

pub use dtype::Dtype;

/// How the elements follow each other in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The last axis runs fastest.
    #[default]
    C,
    /// The first axis runs fastest.
    Fortran,
}

/// Factors by which quantised elements are multiplied: one for each block of the tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale<'a> {
    /// The factors; [`Dtype::F32`], [`Dtype::F16`], [`Dtype::BF16`] or [`Dtype::F8E8M0`].
    pub factors: Tensor<'a>,
    /// How many elements along each axis of the tensor share a factor; as long as its shape. The last block of an axis
    /// may be cut.
    pub block: Vec<u64>,
}

/// A tensor in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor<'a> {
    /// The type of its elements.
    pub dtype: Dtype,
    /// How long each axis is; empty for a scalar.
    pub shape: Vec<u64>,
    /// The elements, without gaps: as many bytes as shape and type say. Not necessarily aligned.
    pub bytes: Cow<'a, [u8]>,
    /// How they follow each other.
    pub order: Order,
    /// Whether each element is big-endian.
    pub big_endian: bool,
    /// What elements of a quantised tensor are multiplied by.
    pub scale: Option<Box<Scale<'a>>>,
}

impl Tensor<'_> {
    /// How many elements it has. The readers refuse shapes whose product does not fit.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// The index into the shape of the element at `position`, counted in C order whatever the order in memory is.
    pub fn index(&self, position: u64) -> Vec<u64> {
        let mut rest = position;
        let mut index: Vec<u64> = self
            .shape
            .iter()
            .rev()
            .map(|&length| {
                let length = length.max(1);
                let at = rest % length;
                rest /= length;
                at
            })
            .collect();
        index.reverse();
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_in_c_order() {
        let tensor = Tensor {
            dtype: Dtype::U8,
            shape: vec![2, 3, 4],
            bytes: Cow::Owned(vec![0; 24]),
            order: Order::Fortran,
            big_endian: false,
            scale: None,
        };
        assert_eq!(tensor.elements(), 24);
        assert_eq!(tensor.index(0), [0, 0, 0]);
        assert_eq!(tensor.index(23), [1, 2, 3]);
        assert_eq!(tensor.index(13), [1, 0, 1]);
    }
}
