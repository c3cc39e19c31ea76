#![expect(clippy::float_cmp, reason = "what is read is exact")]

use std::borrow::Cow;

use half::{bf16, f16};
use proptest::prelude::*;

use super::super::{Dtype, Order, Scale, Tensor};

fn tensor(dtype: Dtype, shape: &[u64], bytes: Vec<u8>) -> Tensor<'static> {
    Tensor::new(dtype, shape.to_vec(), bytes).unwrap()
}

fn all_f32(tensor: &Tensor<'_>) -> Vec<f32> {
    let mut out = vec![f32::NAN; tensor.elements() as usize];
    assert_eq!(tensor.decode_f32(0, &mut out), out.len());
    out
}

#[test]
fn every_half_is_what_half_says() {
    let codes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let halves = all_f32(&tensor(Dtype::F16, &[65536], codes.clone()));
    let brains = all_f32(&tensor(Dtype::BF16, &[65536], codes));
    for code in 0..=u16::MAX {
        let at = usize::from(code);
        assert_eq!(halves[at].to_bits(), f16::from_bits(code).to_f32().to_bits(), "{code:#x}");
        // A NaN's payload counts for nothing.
        let brain = f32::from_bits(u32::from(code) << 16);
        assert!(
            brains[at].to_bits() == brain.to_bits() || (brain.is_nan() && brains[at].is_nan()),
            "{code:#x}"
        );
        assert_eq!(bf16::from_bits(code).to_f32().is_nan(), brains[at].is_nan());
    }
}

#[test]
fn what_stands_behind_the_end_is_left_alone() {
    let line = tensor(Dtype::F32, &[3], [1.0_f32, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect());
    let mut out = [9.0_f32; 4];
    assert_eq!(line.decode_f32(1, &mut out), 2);
    assert_eq!(out, [2.0, 3.0, 9.0, 9.0]);
    assert_eq!(line.decode_f32(3, &mut out), 0);
    assert_eq!(line.decode_f32(u64::MAX, &mut out), 0);
    let mut wide = [9.0_f64; 4];
    assert_eq!(line.decode_f64(2, &mut wide), 1);
    assert_eq!(wide, [3.0, 9.0, 9.0, 9.0]);
    let empty = tensor(Dtype::F32, &[2, 0, 3], Vec::new());
    assert_eq!(empty.decode_f32(0, &mut out), 0);
    let scalar = tensor(Dtype::I64, &[], (-7_i64).to_le_bytes().to_vec());
    assert_eq!((scalar.decode_f64(0, &mut wide), wide[0]), (1, -7.0));
    let mut bits = [0_u64; 2];
    assert_eq!((scalar.decode_bits(0, &mut bits), bits[0] as i64), (1, -7));
}

#[test]
fn factors_reach_their_blocks_whole_or_cut() {
    // 0x38 is 1.0 in e4m3. Rows of 5 in blocks of 2 (the last is cut), every row with factors of its own.
    let ones = vec![0x38_u8; 2 * 5];
    let factors: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let scaled = tensor(Dtype::F8E4M3, &[2, 5], ones.clone())
        .with_scale(tensor(Dtype::F32, &[2, 3], factors), Some(&[1, 2]));
    let expected = [1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0, 5.0, 6.0];
    let scaled = scaled.unwrap();
    assert_eq!(all_f32(&scaled), expected);
    let mut part = [0.0_f32; 3];
    assert_eq!(scaled.decode_f32(4, &mut part), 3);
    assert_eq!(part, [3.0, 4.0, 4.0]);
    assert_eq!(scaled.plain(), None, "no device may read it without its factors");
    // Powers of two, one for all; and one a column.
    let one = tensor(Dtype::U8, &[], vec![128]);
    assert_eq!(
        all_f32(&tensor(Dtype::F8E4M3, &[2, 5], ones.clone()).with_scale(one, None).unwrap()),
        [2.0; 10]
    );
    let columns =
        tensor(Dtype::BF16, &[1, 5], (0..5).flat_map(|n| bf16::from_f32(n as f32).to_le_bytes()).collect());
    let scaled = tensor(Dtype::F8E4M3, &[2, 5], ones).with_scale(columns, None).unwrap();
    assert_eq!(all_f32(&scaled), [0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn factors_that_do_not_fit_are_refused() {
    let float8 = || tensor(Dtype::F8E5M2, &[4, 6], vec![0; 24]);
    let factors = |shape: &[u64]| {
        let count = shape.iter().product::<u64>() as usize;
        tensor(Dtype::F32, shape, vec![0; count * 4])
    };
    for (factors, block, says) in [
        (factors(&[4]), None, "not clear"),
        (factors(&[4, 4]), None, "not clear"),
        (factors(&[4, 0]), None, "not clear"),
        (factors(&[4, 2]), Some(vec![1, 4, 1, 1]), "do not fit"),
        (factors(&[4, 2]), Some(vec![1, 0]), "do not fit"),
        (factors(&[4, 2]), Some(vec![1, 2]), "need factors of shape [4, 3]"),
        (tensor(Dtype::F64, &[1], vec![0; 8]), None, "factors of type f64"),
    ] {
        let error = float8().with_scale(factors, block.as_deref()).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(!error.hints().is_empty());
    }
    assert!(tensor(Dtype::F32, &[1], vec![0; 4]).with_scale(factors(&[1]), None).is_err());
    assert!(float8().with_scale(factors(&[4]), Some(&[6])).is_ok(), "axes of one factor need not be written");
}

/// What the element at an index is, the slow way.
fn naive(tensor: &Tensor<'_>, index: &[u64]) -> (u64, f32) {
    let mut axes: Vec<usize> = (0..index.len()).collect();
    if tensor.order == Order::C {
        axes.reverse();
    }
    let (mut offset, mut stride) = (0, 1);
    for axis in axes {
        offset += index[axis] * stride;
        stride *= tensor.shape[axis];
    }
    let size = tensor.dtype.size();
    let mut bytes = tensor.bytes[offset as usize * size..][..size].to_vec();
    if tensor.big_endian {
        bytes.reverse();
    }
    let mut wide = [0; 8];
    wide[..size].copy_from_slice(&bytes);
    let bits = u64::from_le_bytes(wide);
    let plain = Tensor::new(tensor.dtype, Vec::new(), bytes).unwrap();
    let mut value = [0.0];
    plain.decode_f32(0, &mut value);
    if let Some(scale) = &tensor.scale {
        let blocks: Vec<u64> =
            tensor.shape.iter().zip(&scale.block).map(|(axis, block)| axis.div_ceil(*block)).collect();
        let at =
            index.iter().zip(&scale.block).zip(&blocks).fold(0, |at, ((i, b), count)| at * count + i / b);
        let mut factor = [0.0];
        scale.factors.decode_f32(at, &mut factor);
        value[0] *= factor[0];
    }
    (bits, value[0])
}

fn any_tensor() -> impl Strategy<Value = Tensor<'static>> {
    let shape = prop::collection::vec(0..5_u64, 0..4);
    let block = prop::collection::vec(1..4_u64, 3);
    (0..18_usize, shape, any::<[bool; 3]>(), block, any::<u64>()).prop_map(
        |(dtype, shape, flags, block, seed)| {
            let dtype = Dtype::all().nth(dtype).unwrap();
            let mut state = seed;
            let mut dice = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as u8
            };
            let count: u64 = shape.iter().product();
            let bytes: Vec<u8> = (0..count * dtype.size() as u64).map(|_| dice()).collect();
            let scale = (flags[2] && dtype.is_float8()).then(|| {
                let block = block[..shape.len()].to_vec();
                let blocks: Vec<u64> =
                    shape.iter().zip(&block).map(|(axis, block)| axis.div_ceil(*block)).collect();
                let count: u64 = blocks.iter().product();
                let factors = (0..count).flat_map(|_| f32::from(dice()).to_le_bytes()).collect::<Vec<u8>>();
                Box::new(Scale { factors: Tensor::new(Dtype::F32, blocks, factors).unwrap(), block })
            });
            let order = if flags[0] { Order::Fortran } else { Order::C };
            Tensor { dtype, shape, bytes: Cow::Owned(bytes), order, big_endian: flags[1], scale }
        },
    )
}

proptest! {
    #[test]
    fn any_part_of_any_layout_is_what_the_slow_way_says(tensor in any_tensor(), start in 0..130_u64, length in 0..130_usize) {
        let (mut values, mut wide, mut bits) = (vec![0.0; length], vec![0.0; length], vec![0; length]);
        let count = tensor.decode_f32(start, &mut values);
        prop_assert_eq!(count as u64, (length as u64).min(tensor.elements().saturating_sub(start)));
        prop_assert_eq!(tensor.decode_f64(start, &mut wide), count);
        prop_assert_eq!(tensor.decode_bits(start, &mut bits), count);
        for at in 0..count {
            let (stored, value) = naive(&tensor, &tensor.index(start + at as u64));
            prop_assert_eq!(bits[at], stored);
            prop_assert!(values[at].to_bits() == value.to_bits() || (values[at].is_nan() && value.is_nan()));
            if !matches!(tensor.dtype, Dtype::F64 | Dtype::I64 | Dtype::I32 | Dtype::U64 | Dtype::U32) {
                prop_assert!(wide[at] == f64::from(value) || (wide[at].is_nan() && value.is_nan()));
            }
        }
        if let Some(plain) = tensor.plain() {
            let again = Tensor::new(tensor.dtype, tensor.shape.clone(), plain).unwrap();
            let mut other = vec![0; length];
            again.decode_bits(start, &mut other);
            prop_assert_eq!(other, bits);
        }
    }
}
