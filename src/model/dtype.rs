//! The types of a tensor's elements.

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

/// Each type's own name, then what others call it. numpy's codes, in which `i8` has 8 bytes, are read apart.
const NAMES: [(Dtype, &[&str]); 18] = [
    (Dtype::F64, &["f64", "float64", "double", "fp64"]),
    (Dtype::F32, &["f32", "float32", "float", "single", "fp32"]),
    (Dtype::F16, &["f16", "float16", "half", "fp16"]),
    (Dtype::BF16, &["bf16", "bfloat16"]),
    (
        Dtype::F8E4M3,
        &["f8_e4m3", "f8_e4m3fn", "float8_e4m3fn", "float8_e4m3", "fp8_e4m3", "f8e4m3", "e4m3", "e4m3fn"],
    ),
    (Dtype::F8E5M2, &["f8_e5m2", "float8_e5m2", "fp8_e5m2", "f8e5m2", "e5m2"]),
    (Dtype::F8E4M3Fnuz, &["f8_e4m3fnuz", "float8_e4m3fnuz", "fp8_e4m3fnuz", "f8e4m3fnuz", "e4m3fnuz"]),
    (Dtype::F8E5M2Fnuz, &["f8_e5m2fnuz", "float8_e5m2fnuz", "fp8_e5m2fnuz", "f8e5m2fnuz", "e5m2fnuz"]),
    (Dtype::F8E8M0, &["f8_e8m0", "float8_e8m0fnu", "f8_e8m0fnu", "e8m0", "ue8m0", "e8m0fnu"]),
    (Dtype::I64, &["i64", "int64", "long"]),
    (Dtype::I32, &["i32", "int32", "int"]),
    (Dtype::I16, &["i16", "int16", "short"]),
    (Dtype::I8, &["i8", "int8"]),
    (Dtype::U64, &["u64", "uint64"]),
    (Dtype::U32, &["u32", "uint32"]),
    (Dtype::U16, &["u16", "uint16"]),
    (Dtype::U8, &["u8", "uint8", "byte"]),
    (Dtype::Bool, &["bool", "boolean", "bool_"]),
];

impl Dtype {
    /// Every type.
    pub const ALL: [Self; 18] = [
        Self::F64,
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::F8E4M3,
        Self::F8E5M2,
        Self::F8E4M3Fnuz,
        Self::F8E5M2Fnuz,
        Self::F8E8M0,
        Self::I64,
        Self::I32,
        Self::I16,
        Self::I8,
        Self::U64,
        Self::U32,
        Self::U16,
        Self::U8,
        Self::Bool,
    ];

    /// Its name here: `f32`, `bf16`, `f8_e4m3`.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(dtype, _)| *dtype == self).map_or("f32", |(_, names)| names[0])
    }

    /// Reads a name as numpy, torch, safetensors or Rust have it, in any case: `f32`, `float32`, `torch.float32`, `<f4`.
    /// numpy's codes need their `<`, `=` or `|`: a bare `i8` has 8 bits. Big-endian ones are no name of a type.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(code) = text.strip_prefix(['<', '=', '|']) {
            return Self::of_code(code);
        }
        let lower = text.to_ascii_lowercase();
        let bare = ["torch.", "numpy.", "np.", "jnp.", "ml_dtypes."]
            .iter()
            .find_map(|prefix| lower.strip_prefix(prefix))
            .unwrap_or(&lower);
        NAMES.iter().find(|(_, names)| names.contains(&bare)).map(|(dtype, _)| *dtype)
    }

    /// Reads numpy's code of a type, the byte order left off: `f4`.
    pub fn of_code(code: &str) -> Option<Self> {
        Some(match code {
            "f8" => Self::F64,
            "f4" => Self::F32,
            "f2" => Self::F16,
            "i8" => Self::I64,
            "i4" => Self::I32,
            "i2" => Self::I16,
            "i1" => Self::I8,
            "u8" => Self::U64,
            "u4" => Self::U32,
            "u2" => Self::U16,
            "u1" => Self::U8,
            "b1" | "?" => Self::Bool,
            _ => return None,
        })
    }

    /// What somebody may have meant who wrote this.
    pub fn closest(text: &str) -> Option<&'static str> {
        let lower = text.trim().to_ascii_lowercase();
        let names = NAMES.iter().flat_map(|(_, names)| names.iter());
        names
            .map(|name| (strsim::damerau_levenshtein(name, &lower), *name))
            .filter(|(distance, name)| *distance <= 1 + name.len() / 5)
            .min()
            .map(|(_, name)| name)
    }

    /// The names of all types.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(dtype, _)| *dtype)
    }

    /// A float of 8 bits, which is compared after multiplying by a factor.
    pub const fn is_float8(self) -> bool {
        matches!(self, Self::F8E4M3 | Self::F8E5M2 | Self::F8E4M3Fnuz | Self::F8E5M2Fnuz)
    }

    /// A float of any width that elements are stored in.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::BF16) || self.is_float8()
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_everybody_writes_them() {
        for text in ["f32", "float32", "F32", "<f4", "torch.float32", "np.float32", " Float ", "=f4"] {
            assert_eq!(Dtype::parse(text), Some(Dtype::F32), "{text}");
        }
        for (text, dtype) in [
            ("<i8", Dtype::I64),
            ("i8", Dtype::I8),
            ("|u1", Dtype::U8),
            ("torch.bfloat16", Dtype::BF16),
            ("F8_E4M3", Dtype::F8E4M3),
            ("torch.float8_e5m2fnuz", Dtype::F8E5M2Fnuz),
            ("F8_E8M0", Dtype::F8E8M0),
            ("|b1", Dtype::Bool),
        ] {
            assert_eq!(Dtype::parse(text), Some(dtype), "{text}");
        }
        for text in ["", "f8", "f4", ">f4", "<f16", "|V2", "<c8", "object", "torch."] {
            assert_eq!(Dtype::parse(text), None, "{text}");
        }
        assert_eq!(Dtype::closest("flaot32"), Some("float32"));
        assert_eq!(Dtype::closest("bfloat61"), Some("bfloat16"));
        assert_eq!(Dtype::closest("spaghetti"), None);
    }

    #[test]
    fn every_name_leads_back() {
        let mut seen = std::collections::BTreeSet::new();
        for (dtype, names) in NAMES {
            for name in names {
                assert!(seen.insert(*name), "{name} is there twice");
                assert_eq!(Dtype::parse(name), Some(dtype));
            }
            assert_eq!(Dtype::parse(dtype.name()), Some(dtype));
        }
    }
}
