//! Policies, mutants and what is said, through the oracle as the device.

use std::borrow::Cow;

use half::{bf16, f16};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::validate::tensor::{Dtype, Order, Tensor};

/// The oracle as a device.
struct Plain;

impl Device for Plain {
    fn name(&self) -> String {
        "plain".into()
    }

    fn summary(&self, pair: Pair<'_>, tolerance: &Tolerance) -> Result<Summary, DeviceError> {
        Ok(plain::summary(pair, tolerance))
    }

    fn details(&self, pair: Pair<'_>, tolerance: &Tolerance, worst: usize) -> Result<Details, DeviceError> {
        Ok(plain::details(pair, tolerance, worst))
    }
}

fn tensor(dtype: Dtype, shape: &[u64], values: &[f64]) -> Tensor<'static> {
    let bytes = values
        .iter()
        .flat_map(|&x| match dtype {
            Dtype::F64 => x.to_le_bytes().to_vec(),
            Dtype::F32 => (x as f32).to_le_bytes().to_vec(),
            Dtype::F16 => f16::from_f64(x).to_le_bytes().to_vec(),
            Dtype::BF16 => bf16::from_f64(x).to_le_bytes().to_vec(),
            Dtype::I64 => (x as i64).to_le_bytes().to_vec(),
            Dtype::I32 => (x as i32).to_le_bytes().to_vec(),
            _ => vec![x as u8],
        })
        .collect();
    Tensor {
        dtype,
        shape: shape.to_vec(),
        bytes: Cow::Owned(bytes),
        order: Order::C,
        big_endian: false,
        scale: None,
    }
}

fn allclose(atol: f64, rtol: f64) -> Policy {
    Policy::of(Rule::Allclose { atol, rtol })
}

fn judge(policy: &Policy, reference: &Tensor<'_>, candidate: &Tensor<'_>) -> Comparison {
    compare(&Plain, policy, Pair { reference, candidate }, None).unwrap()
}

fn mutants(policy: &Policy, reference: &Tensor<'_>, candidate: &Tensor<'_>) -> Tried {
    let pair = Pair { reference, candidate };
    let judged = compare(&Plain, policy, pair, None).unwrap();
    assert!(judged.passed, "{}", judged.reason);
    judge_mutants(pair, &judged, None).unwrap()
}

/// Numbers that look random, around 0, the same in every run.
fn noise(count: usize, size: f64) -> Vec<f64> {
    let mut state = 7_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f64 / 16_777_216.0 - 0.5) * 2.0 * size
    };
    (0..count).map(|_| next()).collect()
}

/// Attention over random keys: each row is the softmax-weighted mean of the values.
fn attention(rows: usize, width: usize) -> Vec<f64> {
    let (q, k, v) = (noise(rows * width, 1.7), noise(rows * width + 5, 1.7), noise(rows * width + 9, 1.7));
    let mut out = vec![0.0; rows * width];
    for row in 0..rows {
        let score = |key: usize| {
            let dot: f64 = (0..width).map(|i| q[row * width + i] * k[key * width + i + 5]).sum();
            (dot / (width as f64).sqrt()).exp()
        };
        let weights: Vec<f64> = (0..rows).map(score).collect();
        let total: f64 = weights.iter().sum();
        for (key, weight) in weights.iter().enumerate() {
            for i in 0..width {
                out[row * width + i] += weight / total * v[key * width + i + 9];
            }
        }
    }
    out
}

#[test]
fn a_wrong_attention_within_a_usual_tolerance_is_too_loose() {
    let (rows, width) = (512, 64);
    let right = attention(rows, width);
    let shape = [rows as u64, width as u64];
    let reference = tensor(Dtype::F32, &shape, &right);
    let wrong: Vec<f64> = right.iter().map(|x| x * 0.94).collect();
    let usual = allclose(1e-2, 5e-2);
    // The wrong one passes, which is why passing is not enough. Its own 0.95 is caught; the way back up is not.
    let wrong = tensor(Dtype::F32, &shape, &wrong);
    assert_eq!(mutants(&usual, &reference, &wrong).passed, Some("scaled by 1/0.95"));
    // So is the same tolerance on the right one: a gate is judged, not an output.
    assert_eq!(mutants(&usual, &reference, &reference).passed, Some("scaled by 0.95"));
    // A cap on the norm tells them apart.
    let capped = Policy { norm: Some(0.01), ..usual };
    assert!(!judge(&capped, &reference, &wrong).passed);
    let tried = mutants(&capped, &reference, &reference);
    assert_eq!((tried.passed, tried.caught.len()), (None, MUTANTS.len()));
}

#[test]
fn default_tolerances_catch_every_mutant() {
    for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16] {
        let reference = tensor(dtype, &[100, 70], &noise(7000, 2.0));
        let policy = Policy::allclose(Pair { reference: &reference, candidate: &reference }, None, None);
        let tried = mutants(&policy, &reference, &reference);
        assert_eq!((tried.passed, tried.caught.as_slice()), (None, &MUTANTS[..]), "{dtype:?}");
    }
    let bytes: Vec<f64> = (0..7000_u32).map(|i| f64::from(i * 37 % 0x70)).collect();
    for dtype in [Dtype::F8E4M3, Dtype::F8E5M2, Dtype::F8E4M3Fnuz, Dtype::F8E5M2Fnuz] {
        let reference = tensor(dtype, &[100, 70], &bytes);
        let policy = Policy::allclose(Pair { reference: &reference, candidate: &reference }, None, None);
        let tried = mutants(&policy, &reference, &reference);
        assert_eq!((tried.passed, tried.caught.as_slice()), (None, &MUTANTS[..]), "{dtype:?}");
    }
}

#[test]
fn each_mutant_alone_may_slip_through() {
    // Nothing at all is asked: the first passes.
    let one = tensor(Dtype::F32, &[130, 130], &noise(16_900, 1.0));
    assert_eq!(mutants(&allclose(10.0, 0.0), &one, &one).passed, Some("zeros"));
    // The last tile alone is small enough to be dropped: rows and columns 128 and 129.
    let mut values = noise(16_900, 1.0);
    for row in 128..130 {
        for column in 128..130 {
            values[row * 130 + column] = 1e-4;
        }
    }
    let small = tensor(Dtype::F32, &[130, 130], &values);
    assert_eq!(mutants(&allclose(1e-3, 0.0), &small, &small).passed, Some("one tile dropped"));
    // Rows that are nearly alike hide a stale buffer.
    let alike: Vec<f64> = (0..16_900).map(|i| f64::from(i % 130) + f64::from(i / 130) * 1e-6).collect();
    let alike = tensor(Dtype::F64, &[130, 130], &alike);
    let tried = mutants(&allclose(1e-3, 0.0), &alike, &alike);
    assert_eq!(tried.passed, Some("a stale buffer"));
    assert_eq!(tried.caught, MUTANTS[..4]);
}

#[test]
fn another_cases_output_is_the_stale_buffer() {
    let reference = tensor(Dtype::F32, &[70, 3], &noise(210, 1.0));
    let other: Vec<f64> = noise(210, 1.0).iter().map(|x| x + 1e-5).collect();
    let (other, elsewhere) = (tensor(Dtype::F32, &[70, 3], &other), tensor(Dtype::F32, &[3, 70], &other));
    let pair = Pair { reference: &reference, candidate: &reference };
    let judged = compare(&Plain, &allclose(1e-4, 0.0), pair, None).unwrap();
    assert_eq!(judge_mutants(pair, &judged, Some(&other)).unwrap().passed, Some("a stale buffer"));
    assert_eq!(
        judge_mutants(pair, &judged, Some(&elsewhere)).unwrap().passed,
        None,
        "another shape is no other output"
    );
}

#[test]
fn mutants_that_are_the_candidate_itself_say_nothing() {
    let exact = allclose(0.0, 0.0);
    let zeros = tensor(Dtype::F32, &[100, 70], &vec![0.0; 7000]);
    let tried = mutants(&exact, &zeros, &zeros);
    assert_eq!(tried.skipped, MUTANTS[..5]);
    assert_eq!((tried.passed, tried.caught.as_slice()), (None, &["one NaN"][..]));
    for nothing in [tensor(Dtype::I32, &[5], &[0.0; 5]), tensor(Dtype::F32, &[0, 4], &[])] {
        let tried = mutants(&exact, &nothing, &nothing);
        assert!(tried.says_nothing() && tried.skipped == MUTANTS, "{tried:?}");
    }
    let flags = tensor(Dtype::Bool, &[6], &[1.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!(mutants(&exact, &flags, &flags).skipped, ["scaled by 1/0.95", "one NaN"]);
    let big = tensor(Dtype::I64, &[3], &[1e18, -7.0, 0.0]);
    assert_eq!(mutants(&exact, &big, &big).skipped, ["one NaN"]);
}

#[test]
fn the_baseline_policy_asks_for_twice_the_baselines_error() {
    let right = noise(4096, 1.0);
    let reference = tensor(Dtype::F64, &[64, 64], &right);
    let rounded = |by: f64| {
        let values: Vec<f64> = right.iter().zip(noise(4096, by)).map(|(x, e)| x + e).collect();
        tensor(Dtype::F16, &[64, 64], &values)
    };
    let (baseline, good, bad) = (rounded(0.004), rounded(0.006), rounded(0.02));
    let policy = Policy::of(Rule::Baseline { slack: policy::SLACK });
    let ask = |candidate: &Tensor<'_>| {
        let pair = Pair { reference: &reference, candidate };
        let judged = compare(&Plain, &policy, pair, Some(&baseline)).unwrap();
        let tried = judged.passed.then(|| judge_mutants(pair, &judged, None).unwrap());
        (judged, tried)
    };
    let (judged, tried) = ask(&good);
    assert!(judged.passed, "{}", judged.reason);
    assert_eq!(tried.unwrap().passed, None);
    let own = judged.baseline.unwrap();
    // Two steps of f16 below 1.
    assert_eq!(judged.tolerance.atol.to_bits(), own.max_abs.mul_add(2.0, 2.0 * 2.0_f64.powi(-11)).to_bits());
    assert!(!ask(&bad).0.passed);
    // A NaN of its own is never within anything.
    let mut nan = good.clone();
    nan.bytes.to_mut()[..2].copy_from_slice(&f16::NAN.to_le_bytes());
    assert!(!ask(&nan).0.passed);
    let pair = Pair { reference: &reference, candidate: &good };
    assert!(compare(&Plain, &policy, pair, None).is_err(), "no baseline");
    let short = tensor(Dtype::F16, &[2], &[0.0; 2]);
    assert!(compare(&Plain, &policy, pair, Some(&short)).is_err(), "a baseline of another shape");
}

#[test]
fn small_errors_everywhere_meet_the_cap() {
    let reference = tensor(Dtype::F32, &[1000], &noise(1000, 1.0));
    let close: Vec<f64> = noise(1000, 1.0).iter().map(|x| x * 1.02).collect();
    let close = tensor(Dtype::F32, &[1000], &close);
    let policy = allclose(0.0, 0.03);
    assert!(judge(&policy, &reference, &close).passed);
    let judged = judge(&Policy { norm: Some(0.01), ..policy }, &reference, &close);
    assert!(!judged.passed && judged.reason.starts_with("‖a−b‖/‖b‖ is 0.02"), "{}", judged.reason);
    // A reference of zeros has no norm to be relative to.
    let zeros = tensor(Dtype::F32, &[1000], &[0.0; 1000]);
    let judged = judge(&Policy { norm: Some(0.5), ..allclose(10.0, 0.0) }, &zeros, &close);
    assert!(!judged.passed && judged.relative_norm.is_infinite());
}

#[test]
fn json_and_records_say_the_same() {
    let reference = tensor(Dtype::F32, &[2, 3], &[1.0, 2.0, 0.0, 4.0, f64::NAN, 0.5]);
    let candidate = tensor(Dtype::F32, &[2, 3], &[1.0, 2.5, 0.0, f64::INFINITY, f64::NAN, 0.5]);
    let judged = judge(&allclose(0.125, 0.0), &reference, &candidate);
    let view = judged.json();
    assert_eq!(view["verdict"], "fail");
    assert_eq!((&view["elements"], &view["mismatches"]), (&json!(6), &json!(3)));
    assert_eq!((&view["max_abs"], &view["max_rel"]), (&json!(0.5), &json!(0.25)));
    assert_eq!(view["nan"], json!({"reference": 1, "candidate": 1, "first": [1, 1]}));
    assert_eq!(view["inf"], json!({"reference": 0, "candidate": 1, "first": [1, 0]}));
    let worst = json!([
        {"index": [0, 1], "reference": 2.0, "candidate": 2.5, "abs": 0.5},
        {"index": [1, 0], "reference": 4.0, "candidate": "inf", "abs": "inf"},
        {"index": [1, 1], "reference": "nan", "candidate": "nan", "abs": "nan"},
    ]);
    assert_eq!(view["worst"], worst);
    let record = serde_json::Value::Object(judged.record());
    let text = crate::model::canonical::to_string(&record).unwrap();
    assert!(text.contains(r#""max_abs":"0.5""#) && text.contains(r#""abs":"inf""#), "{text}");
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&record), keys(&serde_json::Value::Object(view)));
    assert_eq!(judged.reason, "3 of 6 elements do not match; the worst is 2.5 instead of 2 at [0, 1]");
}

#[test]
fn lines_are_for_people() {
    let reference = tensor(Dtype::F32, &[4, 64], &[1.0; 256]);
    let mut values = [1.0; 256];
    for (row, wrong) in [(0, 1.5), (1, 1.25), (2, 3.0), (3, 1.5)] {
        values[row * 64 + 7] = wrong;
    }
    let judged = judge(&allclose(1e-3, 0.0), &reference, &tensor(Dtype::F32, &[4, 64], &values));
    let lines = judged.lines();
    let text = lines.join("\n");
    assert!(lines[0].starts_with("4 of 256 elements do not match, 1.5625 % (f32 [4, 64]"), "{text}");
    assert!(lines.contains(&"all mismatches are in column 7 of 64".to_owned()), "{text}");
    assert!(text.contains("  [2, 7]            1          3      2"), "{text}");
    assert!(text.contains("2^1 ≤ |a−b| < 2^2"), "{text}");
    assert!(text.contains("################################  2"), "{text}");
    let same = judge(&allclose(0.0, 0.0), &reference, &reference).lines();
    assert_eq!(same[0], "all 256 elements match (f32 [4, 64], on plain)");
    assert_eq!(same.len(), 3);
}

#[test]
fn numbers_for_people_and_for_records() {
    use super::comparison::{decimal, short};
    for (x, for_people, for_records) in [
        (0.0, "0", "0"),
        (-0.0, "-0", "-0"),
        (1.0, "1", "1"),
        (0.1, "0.1", "0.1"),
        (1.0 / 3.0, "0.333333", "0.3333333333333333"),
        (123_456.789, "123457", "123456.789"),
        (1e-7, "1e-7", "1e-7"),
        (1.234_567_89e30, "1.23457e30", "1.23456789e30"),
        (f64::NAN, "nan", "nan"),
        (f64::NEG_INFINITY, "-inf", "-inf"),
    ] {
        assert_eq!((short(x).as_str(), decimal(x).as_str()), (for_people, for_records));
    }
}

proptest! {
    #[test]
    fn records_read_back_as_the_same_number(x: f64) {
        let back: f64 = comparison::decimal(x).parse().unwrap();
        prop_assert!(back.to_bits() == x.to_bits() || x.is_nan() && back.is_nan());
        prop_assert!(comparison::short(x).chars().count() <= 14);
    }

    #[test]
    fn a_mutant_that_passes_really_does(
        values in prop::collection::vec(-4.0_f32..4.0, 1..300),
        columns in 1_usize..20,
        atol in prop_oneof![Just(0.0), Just(0.1), Just(1.0), Just(5.0)],
    ) {
        let rows = values.len().div_ceil(columns);
        let values: Vec<f64> = (0..rows * columns).map(|i| f64::from(values[i % values.len()])).collect();
        let shape = [rows as u64, columns as u64];
        let candidate = tensor(Dtype::F32, &shape, &values);
        let tried = mutants(&allclose(atol, 0.0), &candidate, &candidate);
        // The zeros and the scaled one, made whole and compared by the oracle.
        let passes = |scale: f32| {
            let mutant: Vec<f64> = values.iter().map(|x| f64::from(*x as f32 * scale)).collect();
            judge(&allclose(atol, 0.0), &candidate, &tensor(Dtype::F32, &shape, &mutant)).passed
        };
        let zero = values.iter().all(|x| *x == 0.0);
        prop_assert_eq!(tried.passed == Some("zeros"), passes(0.0) && !zero);
        if !passes(0.0) {
            prop_assert_eq!(tried.passed == Some("scaled by 0.95"), passes(0.95) && !zero);
        }
        prop_assert!(tried.caught.len() + tried.skipped.len() + usize::from(tried.passed.is_some()) <= MUTANTS.len());
    }
}
