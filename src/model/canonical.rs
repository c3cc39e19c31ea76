//! Canonical JSON: the one way a value is written, so that digests agree between programs.
//!
//! Keys sorted by their UTF-8 bytes, no white space, no floating-point numbers, integers within
//! ±(2^53 − 1), strings escaped only where JSON demands it (`"`, `\` and controls; `\b \t \n \f \r`
//! in their short form, the rest as `\u00xx` in lower case). `1.0`, `1e16` and long integers print
//! differently in different languages, which is why they are not allowed: decimals travel as strings.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Error, Result};

/// The largest integer magnitude every JSON reader keeps exactly.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;

/// Serialises a value canonically.
///
/// # Errors
/// A value that holds a floating-point number or too large an integer: a bug of the caller.
pub fn to_string<T: Serialize>(value: &T) -> Result<String> {
    // Through `Value`: its map is a BTreeMap, which sorts by UTF-8 bytes.
    let value = serde_json::to_value(value)
        .map_err(|e| Error::bug("a value cannot be written as JSON").because(e))?;
    check_numbers(&value)?;
    serde_json::to_string(&value).map_err(|e| Error::bug("a value cannot be written as JSON").because(e))
}

fn check_numbers(value: &Value) -> Result<()> {
    match value {
        Value::Number(n) => {
            let fits = n.as_u64().is_some_and(|u| u <= MAX_INTEGER)
                || n.as_i64().is_some_and(|i| i.unsigned_abs() <= MAX_INTEGER);
            if fits {
                Ok(())
            } else {
                Err(Error::bug(format!("the number {n} may not stand in a ledger"))
                    .hint("write decimals as strings"))
            }
        }
        Value::Array(items) => items.iter().try_for_each(check_numbers),
        Value::Object(map) => map.values().try_for_each(check_numbers),
        _ => Ok(()),
    }
}

/// SHA-256 of bytes, as 64 lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)] as char);
        out.push(DIGITS[usize::from(byte & 15)] as char);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sorts_keys_and_packs() {
        let value = json!({"b": [1, {"z": null, "a": "é\n\u{1}"}], "a": true});
        assert_eq!(
            to_string(&value).unwrap(),
            r#"{"a":true,"b":[1,{"a":"é\n\u0001","z":null}]}"#
        );
    }

    #[test]
    fn refuses_what_other_languages_print_differently() {
        assert!(to_string(&json!(1.0)).is_err());
        assert!(to_string(&json!(1_u64 << 53)).is_err());
        assert!(to_string(&json!(-((1_i64 << 53) - 1))).is_ok());
    }
}
