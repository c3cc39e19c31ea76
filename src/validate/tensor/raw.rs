//! Raw files: elements and nothing else. What they are has to be declared.

use super::Tensor;
use super::file::Declared;
use crate::model::{Error, Result};

/// The one tensor of a raw file: C order, little-endian.
pub(super) fn read<'a>(bytes: &'a [u8], declared: &Declared) -> Result<Tensor<'a>> {
    let (Some(dtype), Some(shape)) = (declared.dtype, &declared.shape) else {
        let missing = match (declared.dtype, &declared.shape) {
            (None, None) => "type and shape are not known",
            (None, _) => "the type is not known",
            _ => "the shape is not known",
        };
        return Err(Error::refused(missing)
            .because("it is no .npy, .npz or safetensors file, and a raw one says nothing of itself")
            .hint("declare both: --dtype bf16 --shape 2,128 (dtype = … and shape = … in a gate)"));
    };
    Tensor::new(dtype, shape.clone(), bytes)
}
