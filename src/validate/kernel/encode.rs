//! Numbers as elements of every type: rounded to nearest, ties to even; integers at their limits stay there.

use std::borrow::Cow;
use std::cmp::Ordering;

use half::{bf16, f16};

use crate::validate::tensor::{Dtype, Order, Tensor};

/// Appends a number as an element, little-endian. An 8-bit float that is too large becomes the largest.
pub fn encode(dtype: Dtype, value: f64, out: &mut Vec<u8>) {
    match dtype {
        Dtype::F64 => out.extend(value.to_le_bytes()),
        Dtype::F32 => out.extend((value as f32).to_le_bytes()),
        Dtype::F16 => out.extend(f16::from_f64(value).to_le_bytes()),
        Dtype::BF16 => out.extend(bf16::from_f64(value).to_le_bytes()),
        Dtype::F8E4M3 | Dtype::F8E5M2 | Dtype::F8E4M3Fnuz | Dtype::F8E5M2Fnuz | Dtype::F8E8M0 => {
            out.push(nearest(dtype, value));
        }
        Dtype::I64 => out.extend((value.round_ties_even() as i64).to_le_bytes()),
        Dtype::I32 => out.extend((value.round_ties_even() as i32).to_le_bytes()),
        Dtype::I16 => out.extend((value.round_ties_even() as i16).to_le_bytes()),
        Dtype::I8 => out.extend((value.round_ties_even() as i8).to_le_bytes()),
        Dtype::U64 => out.extend((value.round_ties_even() as u64).to_le_bytes()),
        Dtype::U32 => out.extend((value.round_ties_even() as u32).to_le_bytes()),
        Dtype::U16 => out.extend((value.round_ties_even() as u16).to_le_bytes()),
        Dtype::U8 => out.push(value.round_ties_even() as u8),
        Dtype::Bool => out.push(u8::from(value != 0.0)),
    }
}

/// A whole number as an element; `None` when the type cannot hold it exactly.
pub fn encode_whole(dtype: Dtype, value: i64) -> Option<Vec<u8>> {
    let bytes = match dtype {
        Dtype::I64 => value.to_le_bytes().to_vec(),
        Dtype::I32 => i32::try_from(value).ok()?.to_le_bytes().to_vec(),
        Dtype::I16 => i16::try_from(value).ok()?.to_le_bytes().to_vec(),
        Dtype::I8 => i8::try_from(value).ok()?.to_le_bytes().to_vec(),
        Dtype::U64 => u64::try_from(value).ok()?.to_le_bytes().to_vec(),
        Dtype::U32 => u32::try_from(value).ok()?.to_le_bytes().to_vec(),
        Dtype::U16 => u16::try_from(value).ok()?.to_le_bytes().to_vec(),
        Dtype::U8 => vec![u8::try_from(value).ok()?],
        Dtype::Bool => vec![u8::from(bool_of(value)?)],
        float => {
            let mut bytes = Vec::new();
            encode(float, value as f64, &mut bytes);
            bytes
        }
    };
    Some(bytes)
}

const fn bool_of(value: i64) -> Option<bool> {
    match value {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// What the 256 codes of an 8-bit float stand for.
pub(super) fn codes(dtype: Dtype) -> [f32; 256] {
    let bytes: Vec<u8> = (0..=255).collect();
    let all = Tensor {
        dtype,
        shape: vec![256],
        bytes: Cow::Owned(bytes),
        order: Order::C,
        big_endian: false,
        scale: None,
    };
    let mut values = [0.0; 256];
    all.decode_f32(0, &mut values);
    values
}

fn nearest(dtype: Dtype, value: f64) -> u8 {
    let codes = codes(dtype);
    let mut best: (f64, u8) = (f64::INFINITY, 0);
    for (code, known) in (0..=255_u8).zip(codes) {
        let distance = (f64::from(known) - value).abs();
        // Zero has two codes, and which one is the sign's matter.
        let signed = known != 0.0 || known.is_sign_negative() == value.is_sign_negative();
        let closer = match distance.total_cmp(&best.0) {
            Ordering::Less => true,
            Ordering::Equal => signed && code & 1 < best.1 & 1,
            Ordering::Greater => false,
        };
        if known.is_finite() && signed && closer {
            best = (distance, code);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_8_bits_comes_back() {
        for dtype in [Dtype::F8E4M3, Dtype::F8E5M2, Dtype::F8E4M3Fnuz, Dtype::F8E5M2Fnuz] {
            for (code, value) in (0..=255_u8).zip(codes(dtype)) {
                if value.is_finite() {
                    let mut bytes = Vec::new();
                    encode(dtype, value.into(), &mut bytes);
                    assert_eq!(bytes, [code], "{dtype:?} {value}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_rounded_to_nearest_and_stay_within() {
        let of = |dtype, value| {
            let mut bytes = Vec::new();
            encode(dtype, value, &mut bytes);
            bytes
        };
        assert_eq!(of(Dtype::I8, 1000.0), [127]);
        assert_eq!(of(Dtype::U8, -5.0), [0]);
        assert_eq!(of(Dtype::I32, 2.5), 2_i32.to_le_bytes());
        assert_eq!(of(Dtype::BF16, 1.0), [0x80, 0x3F]);
        assert_eq!(of(Dtype::F16, 1.0), [0x00, 0x3C]);
        // Between 1 and 1.125 of e4m3: the tie goes to the even code.
        assert_eq!(of(Dtype::F8E4M3, 1.0625), [0x38]);
        assert_eq!(of(Dtype::F8E4M3, 1e9), [0x7E]);
        assert_eq!(encode_whole(Dtype::I8, 128), None);
        assert_eq!(encode_whole(Dtype::U64, -1), None);
        assert_eq!(encode_whole(Dtype::Bool, 2), None);
        assert_eq!(encode_whole(Dtype::I64, i64::MAX).unwrap(), i64::MAX.to_le_bytes());
    }
}
