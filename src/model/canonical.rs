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

/// So many arrays and objects may stand inside each other; JSON readers give up somewhere above it.
pub const MAX_DEPTH: usize = 100;

/// Serialises a value canonically.
///
/// # Errors
/// A value that holds a floating-point number or too large an integer, or is nested too deeply: a bug of the caller.
pub fn to_string<T: Serialize>(value: &T) -> Result<String> {
    // Through `Value`: its map is a BTreeMap, which sorts by UTF-8 bytes.
    let value = serde_json::to_value(value)
        .map_err(|e| Error::bug("a value cannot be written as JSON").because(e))?;
    check(&value, 0)?;
    serde_json::to_string(&value).map_err(|e| Error::bug("a value cannot be written as JSON").because(e))
}

fn check(value: &Value, depth: usize) -> Result<()> {
    if depth == MAX_DEPTH && (value.is_array() || value.is_object()) {
        return Err(Error::bug(format!(
            "more than {MAX_DEPTH} arrays and objects inside each other may not stand in a ledger"
        )));
    }
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
        Value::Array(items) => items.iter().try_for_each(|v| check(v, depth + 1)),
        Value::Object(map) => map.values().try_for_each(|v| check(v, depth + 1)),
        _ => Ok(()),
    }
}

/// Where the value that begins at a byte of a text ends, if it stands there as [`to_string`] would write it.
///
/// One pass that allocates nothing: every line of every ledger goes through it.
///
/// # Errors
/// What is not canonical, in words.
pub fn end_of_value(text: &str, start: usize) -> Result<usize, &'static str> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: start };
    scanner.value(0)?;
    Ok(scanner.at)
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> u8 {
        // NUL begins nothing in JSON, so it may stand for the end of the text.
        self.bytes.get(self.at).copied().unwrap_or_default()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == byte;
        self.at += usize::from(there);
        there
    }

    fn value(&mut self, depth: usize) -> Result<(), &'static str> {
        match self.peek() {
            b'{' | b'[' if depth == MAX_DEPTH => Err("nested too deeply"),
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(|_| ()),
            b'-' | b'0'..=b'9' => self.number(),
            _ => {
                let rest = self.bytes.get(self.at..).unwrap_or_default();
                let words: [&[u8]; 3] = [b"true", b"false", b"null"];
                let word = words.iter().find(|w| rest.starts_with(w));
                self.at += word.ok_or("no JSON value without spaces")?.len();
                Ok(())
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), &'static str> {
        self.at += 1;
        if self.eat(b']') {
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            if self.eat(b']') {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err("no `,` or `]` after an item");
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), &'static str> {
        self.at += 1;
        if self.eat(b'}') {
            return Ok(());
        }
        let mut former: Option<&[u8]> = None;
        loop {
            let name = self.string()?;
            if former.is_some_and(|f| !sorts_before(f, name)) {
                return Err("members that are not sorted, or stand there twice");
            }
            former = Some(name);
            if !self.eat(b':') {
                return Err("no `:` after a member's name");
            }
            self.value(depth + 1)?;
            if self.eat(b'}') {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err("no `,` or `}` after a member");
            }
        }
    }

    /// A string; returns what stands between its quotes.
    fn string(&mut self) -> Result<&'a [u8], &'static str> {
        if !self.eat(b'"') {
            return Err("no string");
        }
        let start = self.at;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let plain = rest.iter().position(|b| *b < 0x20 || *b == b'"' || *b == b'\\');
            self.at += plain.ok_or("a string without an end")?;
            match self.bytes[self.at] {
                b'"' => {
                    self.at += 1;
                    return Ok(&self.bytes[start..self.at - 1]);
                }
                b'\\' => {
                    let (_, length) =
                        unescape(&self.bytes[self.at..]).ok_or("an escape that is not needed")?;
                    self.at += length;
                }
                _ => return Err("a control character in a string"),
            }
        }
    }

    fn number(&mut self) -> Result<(), &'static str> {
        let negative = self.eat(b'-');
        let digits = self.bytes[self.at..].iter().take_while(|b| b.is_ascii_digit()).take(17);
        let (mut value, mut count) = (0_u64, 0);
        for digit in digits {
            value = value * 10 + u64::from(digit - b'0');
            count += 1;
        }
        let leading_zero = self.peek() == b'0' && (count > 1 || negative);
        self.at += count;
        if count == 0 || leading_zero || value > MAX_INTEGER {
            return Err("a number that is no canonical integer");
        }
        Ok(())
    }
}

/// The byte that a canonical escape at the start of some bytes stands for, and the escape's length.
fn unescape(bytes: &[u8]) -> Option<(u8, usize)> {
    let byte = match bytes.get(1)? {
        b'"' => b'"',
        b'\\' => b'\\',
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'f' => 12,
        b'r' => b'\r',
        b'u' => {
            let control = match bytes.get(2..6)? {
                [b'0', b'0', high @ b'0'..=b'1', low @ b'0'..=b'9'] => (high - b'0') * 16 + (low - b'0'),
                [b'0', b'0', high @ b'0'..=b'1', low @ b'a'..=b'f'] => (high - b'0') * 16 + (low - b'a' + 10),
                _ => return None,
            };
            // Those five have a short form.
            return (!matches!(control, 8..=10 | 12 | 13)).then_some((control, 6));
        }
        _ => return None,
    };
    Some((byte, 2))
}

/// Whether a name (between its quotes, escapes checked) sorts before another by the bytes it stands for.
fn sorts_before(a: &[u8], b: &[u8]) -> bool {
    if !a.contains(&b'\\') && !b.contains(&b'\\') {
        return a < b;
    }
    meaning(a).lt(meaning(b))
}

fn meaning(mut name: &[u8]) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let (first, rest) = name.split_first()?;
        if *first != b'\\' {
            name = rest;
            return Some(*first);
        }
        let (byte, length) = unescape(name)?;
        name = &name[length..];
        Some(byte)
    })
}

/// SHA-256 of bytes, as 64 lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)] as char);
        out.push(DIGITS[usize::from(byte & 15)] as char);
    }
    out
}

/// The SHA-256 of bytes as [`sha256_hex`] writes it, without a `String`.
pub fn sha256_digits(bytes: &[u8]) -> [u8; 64] {
    let mut out = [0; 64];
    for (pair, byte) in out.chunks_exact_mut(2).zip(Sha256::digest(bytes)) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn sorts_keys_and_packs() {
        let value = json!({"b": [1, {"z": null, "a": "é\n\u{1}"}], "a": true});
        assert_eq!(to_string(&value).unwrap(), r#"{"a":true,"b":[1,{"a":"é\n\u0001","z":null}]}"#);
    }

    #[test]
    fn refuses_what_other_languages_print_differently() {
        assert!(to_string(&json!(1.0)).is_err());
        assert!(to_string(&json!(1_u64 << 53)).is_err());
        assert!(to_string(&json!(-((1_i64 << 53) - 1))).is_ok());
    }

    #[test]
    fn refuses_depth_that_readers_give_up_at() {
        let nested = |n: usize| (1..n).fold(json!([]), |v, _| json!([v]));
        assert!(to_string(&nested(MAX_DEPTH)).is_ok());
        assert!(to_string(&nested(MAX_DEPTH + 1)).is_err());
        for (depth, fits) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false)] {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            assert_eq!(end_of_value(&text, 0).is_ok(), fits);
        }
    }

    #[test]
    fn only_one_spelling_of_a_value_is_canonical() {
        let canonical = [
            r#"{"":0,"a":[],"b":{"c":-1}}"#,
            "\"é\\n\\u001f\u{7f}/\"",
            "9007199254740991",
            "[true,false,null]",
            r#"{"\n":1,"\u000e":1," ":1,"\"":1,"\\":1}"#,
        ];
        for text in canonical {
            assert_eq!(end_of_value(text, 0), Ok(text.len()), "{text}");
        }
        let other = [
            "",
            " 1",
            "-0",
            "01",
            "-",
            "9007199254740992",
            "99999999999999999999",
            "nul",
            "[1 ]",
            "[1,]",
            "[",
            "{",
            r#"{"a" :1}"#,
            r#"{"b":1,"a":1}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,}"#,
            r#""\/""#,
            r#""\u000A""#,
            r#""\u000a""#,
            r#""\u0041""#,
            r#""\u001F""#,
            "\"\n\"",
            "\"",
            "{a:1}",
            r#"{"\u000e":1,"\n":1}"#,
        ];
        for text in other {
            assert!(end_of_value(text, 0).is_err(), "{text}");
        }
        for text in ["1.5", "1e3", "1.0"] {
            assert_ne!(end_of_value(text, 0), Ok(text.len()), "{text}");
        }
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        let text = "[a-c\"\\\\/é\u{1}\u{1f}\u{7f}\n\u{8}]{0,4}";
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(|b| json!(b)),
            (-(1_i64 << 53)..(1_i64 << 53) + 1).prop_map(|n| json!(n)),
            (-2_i64..12).prop_map(|n| json!(n)),
            Just(json!(0.5)),
            text.prop_map(|t| json!(t)),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(|v| json!(v)),
                proptest::collection::btree_map(text, inner, 0..4).prop_map(|m| json!(m)),
            ]
        })
    }

    /// The plain way: read it, write it anew, compare.
    fn rewritten_the_same(text: &str) -> bool {
        serde_json::from_str::<Value>(text)
            .ok()
            .and_then(|v| to_string(&v).ok())
            .is_some_and(|again| again == text)
    }

    proptest! {
        #[test]
        fn canonical_means_written_anew_the_same(value in value(), at in any::<usize>(), with in "[\\x00-\\x7f]{0,2}") {
            let text = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(end_of_value(&text, 0) == Ok(text.len()), rewritten_the_same(&text));
            let mut at = at % (text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let cut = text[at..].chars().next().map_or(0, char::len_utf8);
            for changed in [format!("{}{with}{}", &text[..at], &text[at..]), format!("{}{with}{}", &text[..at], &text[at + cut..])] {
                prop_assert_eq!(end_of_value(&changed, 0) == Ok(changed.len()), rewritten_the_same(&changed), "{}", changed);
            }
        }

        #[test]
        fn any_text_has_an_answer(text in ".{0,40}", start in 0_usize..60) {
            let _ = end_of_value(&text, start);
        }
    }
}
