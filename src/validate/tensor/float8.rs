//! Numbers of 8 bits: what each of the 256 codes stands for.

use super::Dtype;

/// How a format of sign, exponent and mantissa counts.
struct Format {
    mantissa: u32,
    bias: i32,
    /// What the codes that are not numbers are.
    special: Special,
}

enum Special {
    /// All ones below the sign is NaN; there is no infinity.
    AllOnes,
    /// As IEEE 754: the largest exponent is infinity and NaN.
    Ieee,
    /// The code of negative zero is the only NaN.
    NegativeZero,
}

static E4M3: [f32; 256] = codes(&Format { mantissa: 3, bias: 7, special: Special::AllOnes });
static E5M2: [f32; 256] = codes(&Format { mantissa: 2, bias: 15, special: Special::Ieee });
static E4M3_FNUZ: [f32; 256] = codes(&Format { mantissa: 3, bias: 8, special: Special::NegativeZero });
static E5M2_FNUZ: [f32; 256] = codes(&Format { mantissa: 2, bias: 16, special: Special::NegativeZero });
static E8M0: [f32; 256] = powers();

/// The values of all codes of a type. For types that have more than 8 bits, those of e4m3.
pub(super) fn table(dtype: Dtype) -> &'static [f32; 256] {
    match dtype {
        Dtype::F8E5M2 => &E5M2,
        Dtype::F8E4M3Fnuz => &E4M3_FNUZ,
        Dtype::F8E5M2Fnuz => &E5M2_FNUZ,
        Dtype::F8E8M0 => &E8M0,
        _ => &E4M3,
    }
}

const fn codes(format: &Format) -> [f32; 256] {
    let mut table = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        table[code] = value(code as u32, format);
        code += 1;
    }
    table
}

const fn value(code: u32, format: &Format) -> f32 {
    let below_sign = code & 0x7f;
    let sign = (code & 0x80) << 24;
    let fraction = code & ((1 << format.mantissa) - 1);
    let exponent = below_sign >> format.mantissa;
    match format.special {
        Special::AllOnes if below_sign == 0x7f => return f32::from_bits(sign | 0x7fc0_0000),
        Special::Ieee if exponent == 31 => {
            let quiet = if fraction == 0 { 0 } else { 0x40_0000 };
            return f32::from_bits(sign | 0x7f80_0000 | quiet);
        }
        Special::NegativeZero if code == 0x80 => return f32::NAN,
        _ => {}
    }
    if below_sign == 0 {
        return f32::from_bits(sign);
    }
    // All of them are normal numbers of f32, those below the smallest exponent as well.
    let (mut exponent, mut fraction) = (exponent as i32, fraction);
    if exponent == 0 {
        exponent = 1;
        while fraction & (1 << format.mantissa) == 0 {
            fraction <<= 1;
            exponent -= 1;
        }
        fraction &= (1 << format.mantissa) - 1;
    }
    let biased = (exponent - format.bias + 127) as u32;
    f32::from_bits(sign | biased << 23 | fraction << (23 - format.mantissa))
}

const fn powers() -> [f32; 256] {
    let mut table = [f32::NAN; 256];
    // 2^-127 is not normal.
    table[0] = f32::from_bits(1 << 22);
    let mut code: u32 = 1;
    while code < 255 {
        table[code as usize] = f32::from_bits(code << 23);
        code += 1;
    }
    table
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the table is exact")]
mod tests {
    use super::*;

    /// The definition: (−1)^s · 2^(e − bias) · (1 + m / 2^M), or 2^(1 − bias) · m / 2^M where e is 0.
    fn defined(code: u8, mantissa: i32, bias: i32) -> f64 {
        let exponent = i32::from(code & 0x7f) >> mantissa;
        let fraction = f64::from(i32::from(code) & ((1 << mantissa) - 1)) / f64::from(1 << mantissa);
        let sign = if code < 0x80 { 1.0 } else { -1.0 };
        match exponent {
            0 => sign * 2_f64.powi(1 - bias) * fraction,
            _ => sign * 2_f64.powi(exponent - bias) * (1.0 + fraction),
        }
    }

    #[test]
    fn every_code_is_what_the_definition_says() {
        for code in 0..=255_u8 {
            let at = usize::from(code);
            let same = |table: &[f32; 256], mantissa, bias| {
                assert_eq!(
                    f64::from(table[at]).to_bits(),
                    defined(code, mantissa, bias).to_bits(),
                    "{code:#x}"
                );
            };
            match code & 0x7f {
                0x7f => assert!(E4M3[at].is_nan()),
                _ => same(&E4M3, 3, 7),
            }
            match code & 0x7f {
                0x7c => assert_eq!(E5M2[at], if code < 0x80 { f32::INFINITY } else { f32::NEG_INFINITY }),
                0x7d.. => assert!(E5M2[at].is_nan()),
                _ => same(&E5M2, 2, 15),
            }
            if code == 0x80 {
                assert!(E4M3_FNUZ[at].is_nan() && E5M2_FNUZ[at].is_nan());
            } else {
                same(&E4M3_FNUZ, 3, 8);
                same(&E5M2_FNUZ, 2, 16);
            }
            match code {
                255 => assert!(E8M0[at].is_nan()),
                _ => assert_eq!(f64::from(E8M0[at]), 2_f64.powi(i32::from(code) - 127)),
            }
        }
    }

    #[test]
    fn the_limits_are_those_of_the_formats() {
        assert_eq!(
            (E4M3[0x7e], E5M2[0x7b], E4M3_FNUZ[0x7f], E5M2_FNUZ[0x7f]),
            (448.0, 57344.0, 240.0, 57344.0)
        );
        assert_eq!((E4M3[1], E5M2[1]), (2_f32.powi(-9), 2_f32.powi(-16)));
        assert_eq!((E4M3_FNUZ[1], E5M2_FNUZ[1]), (2_f32.powi(-10), 2_f32.powi(-17)));
        assert_eq!(
            (E4M3[0x80].to_bits(), E5M2[0x80].to_bits()),
            ((-0.0_f32).to_bits(), (-0.0_f32).to_bits())
        );
    }
}
