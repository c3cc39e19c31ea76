//! The CPU against the oracle, on every instruction set of this machine.

use super::*;
use crate::validate::compare::conformance::{conformance, same_details, same_summary};
use crate::validate::compare::plain;
use crate::validate::tensor::{Dtype, Order, Tensor};
use proptest::prelude::*;
use std::borrow::Cow;

#[test]
fn conforms_on_every_instruction_set() {
    for device in Cpu::every_level(3) {
        let report = conformance(&device);
        assert!(
            report.passed(),
            "{}: {:#?}",
            device.instructions(),
            &report.failures[..report.failures.len().min(5)]
        );
        assert_eq!(report.refused, 0);
        assert!(report.cases > 500);
    }
}

fn tensor(dtype: Dtype, shape: &[u64], bytes: Vec<u8>) -> Tensor<'static> {
    Tensor {
        dtype,
        shape: shape.to_vec(),
        bytes: Cow::Owned(bytes),
        order: Order::C,
        big_endian: false,
        scale: None,
    }
}

#[test]
fn neither_threads_nor_instructions_change_a_bit() {
    let count = 5 * CHUNK as usize + 1234;
    let numbers = |seed: u32| {
        let mut state = seed;
        let mut bytes = Vec::with_capacity(count * 4);
        for _ in 0..count {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bytes.extend(((state >> 8) as f32 / 65_536.0).to_le_bytes());
        }
        bytes
    };
    let (a, b) =
        (tensor(Dtype::F32, &[count as u64], numbers(1)), tensor(Dtype::F32, &[count as u64], numbers(2)));
    let pair = Pair { reference: &b, candidate: &a };
    let tolerance = Tolerance { atol: 1.0, rtol: 0.5, equal_nan: false, bitwise: false };
    let first = Cpu::with_threads(1).summary(pair, &tolerance).unwrap();
    for threads in [1, 2, 5] {
        for device in Cpu::every_level(threads) {
            assert_eq!(
                device.summary(pair, &tolerance).unwrap(),
                first,
                "{} {threads}",
                device.instructions()
            );
        }
    }
}

#[test]
fn long_axes_are_counted_in_common_and_longer_ones_not_at_all() {
    use crate::validate::compare::LONGEST_AXIS;
    for (length, counted) in [(LONGEST_AXIS, true), (LONGEST_AXIS + 1, false)] {
        let zeros = tensor(Dtype::U8, &[2, length], vec![0; 2 * length as usize]);
        let mut other = vec![0; 2 * length as usize];
        other[3] = 1;
        other[length as usize + 3] = 1;
        let other = tensor(Dtype::U8, &[2, length], other);
        let pair = Pair { reference: &zeros, candidate: &other };
        let tolerance = Tolerance { atol: 0.0, rtol: 0.0, equal_nan: false, bitwise: false };
        let found = Cpu::with_threads(4).details(pair, &tolerance, 1).unwrap();
        assert_eq!(found.axes[0].counts, [1, 1]);
        assert_eq!(found.axes[1].counts.len() as u64, if counted { length } else { 0 });
        if counted {
            assert_eq!((found.axes[1].counts[3], found.axes[1].counts.iter().sum::<u64>()), (2, 2));
        }
    }
}

#[test]
fn what_readers_refuse_is_refused_here_too() {
    let good = tensor(Dtype::F32, &[2], vec![0; 8]);
    let tolerance = Tolerance { atol: 0.0, rtol: 0.0, equal_nan: false, bitwise: false };
    for bad in [
        tensor(Dtype::F32, &[2], vec![0; 7]),
        tensor(Dtype::F32, &[2, 1], vec![0; 8]),
        tensor(Dtype::F32, &[u64::MAX, 2], vec![0; 8]),
    ] {
        let pair = Pair { reference: &good, candidate: &bad };
        assert!(Cpu::new().summary(pair, &tolerance).is_err());
        assert!(Cpu::new().details(pair, &tolerance, 5).is_err());
    }
}

/// Bytes of a pair of one of the types that are read where they lie.
fn stored() -> impl Strategy<Value = (Dtype, Vec<u8>, Vec<u8>)> {
    let dtype = prop_oneof![Just(Dtype::F32), Just(Dtype::F16), Just(Dtype::BF16), Just(Dtype::F64)];
    (dtype, 0_usize..300).prop_flat_map(|(dtype, count)| {
        let bytes = || prop::collection::vec(any::<u8>(), count * dtype.size());
        (Just(dtype), bytes(), bytes())
    })
}

proptest! {
    #[test]
    fn any_bytes_are_compared_as_the_oracle_does(
        (dtype, a, mut b) in stored(),
        equal in prop::collection::vec(any::<bool>(), 300),
        atol in prop_oneof![Just(0.0), Just(1e-3), any::<f64>()],
        rtol in prop_oneof![Just(0.0), Just(1e-2), any::<f64>()],
        equal_nan: bool,
        bitwise: bool,
    ) {
        let size = dtype.size();
        for (i, equal) in equal.iter().enumerate().take(a.len() / size) {
            if *equal {
                b[i * size..(i + 1) * size].copy_from_slice(&a[i * size..(i + 1) * size]);
            }
        }
        let shape = [(a.len() / size) as u64];
        let (a, b) = (tensor(dtype, &shape, a), tensor(dtype, &shape, b));
        let pair = Pair { reference: &b, candidate: &a };
        let tolerance = Tolerance { atol, rtol, equal_nan, bitwise };
        for device in Cpu::every_level(2) {
            let found = device.summary(pair, &tolerance).unwrap();
            prop_assert_eq!(same_summary(&found, &plain::summary(pair, &tolerance)), Ok(()));
            let found = device.details(pair, &tolerance, 7).unwrap();
            prop_assert_eq!(same_details(&found, &plain::details(pair, &tolerance, 7)), Ok(()));
        }
    }
}
