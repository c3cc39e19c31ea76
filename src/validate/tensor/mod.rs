//! Tensors as they lie in files: what type their elements have, what shape, and where the bytes are.
//!
//! Nothing here opens a file: the readers take the bytes of one (mapped or read), and are total.
//!
//! | file | what it knows |
//! |---|---|
//! | `decode` | from stored elements to numbers |
//! | `float8` | what the 256 codes of each 8-bit float stand for |
//! | `file` | which format a file has; its tensors by their names |
//! | `npy`, `npz`, `safetensors`, `raw` | one format each |
//! | `scale` | which factor belongs to which elements |

mod decode;
pub mod file;
mod float8;
mod npy;
mod npz;
mod raw;
mod safetensors;
mod scale;

use std::borrow::Cow;

use crate::model::{Error, Result};

pub use crate::model::dtype::Dtype;
pub use file::{Declared, File};

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

/// The most axes that are read: as many as numpy and torch have.
pub const MOST_AXES: usize = 64;

/// The most elements of a shape, axes of length 0 left aside: positions stay far from the ends of 64 bits.
const MOST_ELEMENTS: u64 = 1 << 48;

impl<'a> Tensor<'a> {
    /// A tensor in C order, little-endian.
    ///
    /// # Errors
    /// The shape is too large, or the bytes are not as many as it says.
    pub fn new(dtype: Dtype, shape: Vec<u64>, bytes: impl Into<Cow<'a, [u8]>>) -> Result<Self> {
        let bytes = bytes.into();
        let needed = bytes_of(&shape, dtype)?;
        if bytes.len() as u64 != needed {
            return Err(wrong_length(dtype, &shape, needed, bytes.len() as u64));
        }
        Ok(Self { dtype, shape, bytes, order: Order::C, big_endian: false, scale: None })
    }

    /// The same elements under another type of their size: for types that a format has no name for.
    ///
    /// # Errors
    /// `declared` is another type than the file's own.
    pub fn declared(mut self, declared: Option<Dtype>) -> Result<Self> {
        let Some(declared) = declared.filter(|declared| *declared != self.dtype) else {
            return Ok(self);
        };
        let bits = matches!(self.dtype, Dtype::U16 | Dtype::U8) && declared.size() == self.dtype.size();
        if !bits || matches!(declared, Dtype::I8 | Dtype::I16) {
            return Err(Error::refused(format!(
                "the tensor is {}, and {} was declared",
                self.dtype.name(),
                declared.name()
            ))
            .hint("leave the type out: it is for raw files, and for 16-bit and 8-bit floats stored as unsigned integers"));
        }
        self.dtype = declared;
        Ok(self)
    }
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

/// How many bytes the elements of a shape take.
fn bytes_of(shape: &[u64], dtype: Dtype) -> Result<u64> {
    if shape.len() > MOST_AXES {
        return Err(Error::refused(format!("the shape has {} axes", shape.len()))
            .hint(format!("at most {MOST_AXES} are read")));
    }
    let long = shape.iter().filter(|axis| **axis > 0);
    let product = long.copied().try_fold(1_u64, u64::checked_mul).filter(|product| *product <= MOST_ELEMENTS);
    let Some(product) = product else {
        return Err(Error::refused(format!("the shape {} is larger than any memory", shown(shape)))
            .hint("the file is damaged, or the shape is wrong"));
    };
    let elements = if shape.contains(&0) { 0 } else { product };
    Ok(elements * dtype.size() as u64)
}

fn wrong_length(dtype: Dtype, shape: &[u64], needed: u64, found: u64) -> Error {
    let (what, hint) = if found < needed {
        ("is truncated", "write it again, to its end, before it is compared")
    } else {
        (
            "goes on after its last element",
            "the shape or the type is wrong, or the file holds something else as well",
        )
    };
    Error::refused(format!("the data {what}"))
        .because(format!(
            "{} elements of shape {} take {needed} bytes, and there are {found}",
            dtype.name(),
            shown(shape)
        ))
        .hint(hint)
}

/// A shape as people write it: `[2, 128]`.
pub fn shown(shape: &[u64]) -> String {
    let axes: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("[{}]", axes.join(", "))
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
