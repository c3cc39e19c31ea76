//! Seeded inputs: the same bytes for a seed on every machine, whatever its mathematics library says.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::encode::encode;
use crate::validate::tensor::Dtype;

/// What a buffer is filled with; parameters are decimals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Fill {
    /// From, to.
    Uniform(String, String),
    /// Mean, deviation.
    Normal(String, String),
    /// Smallest, largest.
    Integers(String, String),
    /// The value.
    Constant(String),
    /// Start, step.
    Sequence(String, String),
}

/// The elements, little-endian, in C order. Each depends on the seed, the argument's name and its position alone.
pub fn fill(fill: &Fill, dtype: Dtype, seed: u32, name: &str, elements: u64) -> Vec<u8> {
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    let digest = Sha256::digest(format!("git-incident fill v1\n{seed}\n{name}").as_bytes());
    let mut key = [0_u8; 8];
    key.copy_from_slice(&digest[..8]);
    let key = u64::from_le_bytes(key);
    let mut bytes = Vec::with_capacity(elements as usize * dtype.size());
    match fill {
        Fill::Constant(value) => {
            let mut one = Vec::new();
            encode(dtype, number(value), &mut one);
            for _ in 0..elements {
                bytes.extend_from_slice(&one);
            }
        }
        Fill::Sequence(start, step) => {
            let (start, step) = (number(start), number(step));
            (0..elements).for_each(|at| encode(dtype, start + step * at as f64, &mut bytes));
        }
        Fill::Uniform(low, high) => {
            let (low, high) = (number(low), number(high));
            (0..elements)
                .for_each(|at| encode(dtype, low + (high - low) * fraction(word(key, at)), &mut bytes));
        }
        Fill::Normal(mean, deviation) => {
            let (mean, deviation) = (number(mean), number(deviation));
            (0..elements).for_each(|at| encode(dtype, mean + deviation * normal(key, at), &mut bytes));
        }
        Fill::Integers(low, high) => {
            let (low, high) = (number(low), number(high));
            let range = high - low + 1.0;
            (0..elements).for_each(|at| {
                encode(dtype, (low + (range * fraction(word(key, at))).floor()).min(high), &mut bytes);
            });
        }
    }
    bytes
}

/// A well-mixed word for a counter (the finaliser of `SplitMix64` over a Weyl sequence).
const fn word(key: u64, counter: u64) -> u64 {
    let mut z = key.wrapping_add(counter.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// In [0, 1), 53 bits.
fn fraction(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Twelve uniform parts of 16 bits added up, and a fine one: mean 0, deviation 1, nothing beyond 6. Only additions, so
/// every machine has the same; and numbers with all their bits, so that what rounds has something to round.
fn normal(key: u64, at: u64) -> f64 {
    let key = key ^ 0x5851_F42D_4C95_7F2D;
    let part = |number: u64| word(key, at.wrapping_mul(4).wrapping_add(number));
    let sum: u64 = (0..3)
        .map(part)
        .map(|word| (word & 0xFFFF) + (word >> 16 & 0xFFFF) + (word >> 32 & 0xFFFF) + (word >> 48))
        .sum();
    (sum as f64 + 5.5 + fraction(part(3))) / 65536.0 - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: [u32; 3] = [0x3F7E_B52D, 0x3FAA_2B21, 0x3FDD_6809];

    fn floats(fill_with: &Fill, seed: u32, name: &str, elements: u64) -> Vec<f32> {
        let bytes = fill(fill_with, Dtype::F32, seed, name, elements);
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }

    #[test]
    fn seeds_and_names_make_the_difference() {
        let normal = Fill::Normal("0".into(), "1".into());
        let one = floats(&normal, 1, "x", 1000);
        assert_eq!(one, floats(&normal, 1, "x", 1000));
        assert_eq!(one[..10], floats(&normal, 1, "x", 10)[..]);
        assert_ne!(one, floats(&normal, 2, "x", 1000));
        assert_ne!(one, floats(&normal, 1, "y", 1000));
        // Written down once: a change here changes what every record was made with.
        assert_eq!(one[..3].iter().map(|v| v.to_bits()).collect::<Vec<_>>(), GOLDEN);
    }

    #[test]
    fn distributions_are_what_they_say() {
        let normal = floats(&Fill::Normal("3".into(), "2".into()), 7, "x", 20_000);
        let mean = normal.iter().map(|v| f64::from(*v)).sum::<f64>() / 20_000.0;
        let variance = normal.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!((mean - 3.0).abs() < 0.06 && (variance - 4.0).abs() < 0.16, "{mean} {variance}");
        let uniform = floats(&Fill::Uniform("-1".into(), "1".into()), 7, "x", 20_000);
        assert!(uniform.iter().all(|v| (-1.0..=1.0).contains(v)));
        assert!(uniform.iter().any(|v| *v < -0.99) && uniform.iter().any(|v| *v > 0.99));
        let integers = floats(&Fill::Integers("-2".into(), "2".into()), 7, "x", 1000);
        for wanted in [-2.0, -1.0, 0.0, 1.0, 2.0] {
            assert!(integers.contains(&wanted));
        }
        assert!(integers.iter().all(|v| v.fract() == 0.0 && v.abs() <= 2.0));
        assert_eq!(floats(&Fill::Sequence("1".into(), "0.5".into()), 1, "x", 3), [1.0, 1.5, 2.0]);
        assert_eq!(floats(&Fill::Constant("4".into()), 1, "x", 2), [4.0, 4.0]);
    }
}
