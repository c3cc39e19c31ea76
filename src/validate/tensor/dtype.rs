//! The types of elements.

/// The type of a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    BF16,
    /// 8 bits: 4 of exponent (bias 7), 3 of mantissa, no infinities, NaN is all ones (OCP OFP8).
    F8E4M3,
    /// 8 bits: 5 of exponent (bias 15), 2 of mantissa, as IEEE 754 would have it (OCP OFP8).
    F8E5M2,
    /// As [`Dtype::F8E4M3`] with bias 8, no negative zero, which is the only NaN.
    F8E4M3Fnuz,
    /// As [`Dtype::F8E5M2`] with bias 16, no infinities, no negative zero, which is the only NaN.
    F8E5M2Fnuz,
    /// A power of two, 2^(byte − 127); 255 is NaN. Only for scales (OCP microscaling).
    F8E8M0,
    /// Signed 64-bit integer.
    I64,
    /// Signed 32-bit integer.
    I32,
    /// Signed 16-bit integer.
    I16,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 64-bit integer.
    U64,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 8-bit integer.
    U8,
    /// One byte: 0 is false, every other value is true.
    Bool,
}

impl Dtype {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 | Self::U64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::BF16 | Self::I16 | Self::U16 => 2,
            Self::F8E4M3
            | Self::F8E5M2
            | Self::F8E4M3Fnuz
            | Self::F8E5M2Fnuz
            | Self::F8E8M0
            | Self::I8
            | Self::U8
            | Self::Bool => 1,
        }
    }
}
