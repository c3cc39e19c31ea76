//! safetensors: a JSON header with types, shapes and offsets, then the bytes.

use std::collections::BTreeMap;

use safetensors::{Dtype as Stored, SafeTensorError, SafeTensors};

use super::{Dtype, Tensor};
use crate::model::{Error, Result};

/// What the header says of each tensor.
pub(super) type Tensors<'a> = BTreeMap<String, (Stored, Vec<u64>, &'a [u8])>;

/// Reads the header. Offsets that overlap or leave gaps are refused.
pub(super) fn read(bytes: &[u8]) -> Result<Tensors<'_>> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| explained(&error))?;
    let tensors = file.tensors().into_iter().map(|(name, view)| {
        let shape = view.shape().iter().map(|axis| *axis as u64).collect();
        (name, (view.dtype(), shape, view.data()))
    });
    Ok(tensors.collect())
}

/// One of them as a tensor.
pub(super) fn tensor<'a>(stored: Stored, shape: &[u64], bytes: &'a [u8]) -> Result<Tensor<'a>> {
    let dtype = match stored {
        Stored::BOOL => Dtype::Bool,
        Stored::U8 => Dtype::U8,
        Stored::I8 => Dtype::I8,
        Stored::F8_E5M2 => Dtype::F8E5M2,
        Stored::F8_E4M3 => Dtype::F8E4M3,
        Stored::F8_E8M0 => Dtype::F8E8M0,
        Stored::F8_E4M3FNUZ => Dtype::F8E4M3Fnuz,
        Stored::F8_E5M2FNUZ => Dtype::F8E5M2Fnuz,
        Stored::I16 => Dtype::I16,
        Stored::U16 => Dtype::U16,
        Stored::F16 => Dtype::F16,
        Stored::BF16 => Dtype::BF16,
        Stored::I32 => Dtype::I32,
        Stored::U32 => Dtype::U32,
        Stored::F32 => Dtype::F32,
        Stored::F64 => Dtype::F64,
        Stored::I64 => Dtype::I64,
        Stored::U64 => Dtype::U64,
        other => {
            return Err(Error::refused(format!("elements of type {other} are not compared"))
                .hint("unpack 4-bit and 6-bit floats to f32, and complex numbers to real and imaginary parts, before saving"));
        }
    };
    Tensor::new(dtype, shape.to_vec(), bytes)
}

fn explained(error: &SafeTensorError) -> Error {
    let damaged = "the file is damaged: write it again";
    let (what, hint) = match error {
        SafeTensorError::HeaderTooSmall => ("the file is shorter than its header".to_owned(), damaged),
        SafeTensorError::InvalidHeaderLength => ("the file ends within its header".to_owned(), damaged),
        SafeTensorError::HeaderTooLarge => ("the header claims to be larger than 100 MB".to_owned(), damaged),
        SafeTensorError::InvalidHeader(_) => ("the header is not UTF-8".to_owned(), damaged),
        SafeTensorError::InvalidHeaderDeserialization(json) => {
            (format!("the header cannot be read: {json}"), "write it with the safetensors library")
        }
        SafeTensorError::InvalidOffset(name) => {
            (format!("the offsets of {name:?} overlap another tensor, or leave a gap"), damaged)
        }
        SafeTensorError::TensorInvalidInfo => {
            ("a tensor's offsets are not as far apart as its shape and type say".to_owned(), damaged)
        }
        SafeTensorError::ValidationOverflow => ("a shape is larger than any memory".to_owned(), damaged),
        SafeTensorError::MetadataIncompleteBuffer => (
            "the file is truncated, or goes on after its last tensor".to_owned(),
            "write it again, to its end",
        ),
        other => (other.to_string(), damaged),
    };
    Error::refused(what).hint(hint)
}
