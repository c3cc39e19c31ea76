//! Exact decimals: what a person wrote as `1.00` or `5e-2` never passes through binary fractions.

use std::fmt;

/// A finite decimal number, exactly as written. Two are equal when their values are.
#[derive(Debug, Clone)]
pub struct Decimal {
    text: String,
    negative: bool,
    /// Significant digits without zeros at either end; empty for zero.
    digits: String,
    /// Power of ten of the last digit.
    exponent: i32,
}

impl Decimal {
    /// Reads a TOML integer or float; the error says what it must be.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const WRONG: &str = "must be a finite decimal number";
        const LONG: &str = "must be a decimal number of at most 40 characters";
        if text.len() > 40 {
            return Err(LONG);
        }
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, power.parse::<i32>().map_err(|_| WRONG)?),
            None => (unsigned, 0),
        };
        if !(-400..=400).contains(&power) {
            return Err("must have an exponent between -400 and 400");
        }
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = format!("{whole}{fraction}").replace('_', "");
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(WRONG);
        }
        let places = fraction.bytes().filter(u8::is_ascii_digit).count();
        let mut exponent = power - places as i32;
        digits = digits.trim_start_matches('0').to_owned();
        while digits.ends_with('0') {
            digits.pop();
            exponent += 1;
        }
        if digits.is_empty() {
            exponent = 0;
        }
        Ok(Self { text: text.to_owned(), negative, digits, exponent })
    }

    /// Below zero?
    pub fn is_negative(&self) -> bool {
        self.negative && !self.digits.is_empty()
    }

    /// One spelling per value: digits, `e`, power of ten (`5e-2`; zero is `0`).
    pub fn canonical(&self) -> String {
        if self.digits.is_empty() {
            return "0".into();
        }
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, self.exponent)
    }

    /// The nearest binary fraction, for arithmetic that is binary anyway (tolerances).
    pub fn to_f64(&self) -> f64 {
        self.canonical().parse().unwrap_or(f64::NAN)
    }

    /// Millionths, if the number is a whole count of them that fits.
    pub fn micros(&self) -> Option<i64> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let zeros = u32::try_from(self.exponent + 6).ok()?;
        let magnitude = self.digits.parse::<i64>().ok()?.checked_mul(10_i64.checked_pow(zeros)?)?;
        Some(if self.negative { -magnitude } else { magnitude })
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Eq for Decimal {}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An amount of money, exact to a millionth of the currency that the team reckons in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Money {
    /// As written, for people.
    pub text: String,
    /// In millionths, for sums.
    pub micros: i64,
}

impl Money {
    /// The amount, if a decimal is one; the error says what it must be.
    pub fn from_decimal(decimal: &Decimal) -> Result<Self, &'static str> {
        let micros = decimal.micros().ok_or("must be an amount with at most 6 decimal places")?;
        Ok(Self { text: decimal.to_string(), micros })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_spelling() {
        for same in ["0.05", "5e-2", "0.050", "50e-3", "+5E-2"] {
            assert_eq!(Decimal::parse(same).unwrap().canonical(), "5e-2", "{same}");
        }
        assert_eq!(Decimal::parse("-0.0").unwrap().canonical(), "0");
        assert!((Decimal::parse("1e-2").unwrap().to_f64() - 0.01).abs() < f64::EPSILON);
        for wrong in ["", "inf", "nan", "-", "1e", "1e999", ".", "0x1", "1e99999999999"] {
            assert!(Decimal::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn money_is_exact() {
        let micros = |text: &str| Decimal::parse(text).unwrap().micros();
        assert_eq!(micros("1.00"), Some(1_000_000));
        assert_eq!(micros("0.68"), Some(680_000));
        assert_eq!(micros("0.0000001"), None);
        assert_eq!(micros("99999999999999999999"), None);
        assert_eq!(micros("1e300"), None);
        assert_eq!(micros("0"), Some(0));
    }
}
