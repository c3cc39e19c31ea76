//! A record's line: read, and reduced to what its code and its signature stand for.

use serde_json::Value;

use super::Record;
use crate::model::{Oid, Result, canonical};

/// A line that holds a record of this version.
#[derive(Debug, Clone)]
pub struct Read {
    /// The record.
    pub record: Record,
    /// Everything the line says, members of later versions included.
    pub value: Value,
    /// Whether the line is written as lines are to be written. One that is not has no signature: two readers could
    /// take it for two things.
    pub canonical: bool,
}

/// Reads a line; `None` when it is no record of version 1.
pub fn read(line: &[u8]) -> Option<Read> {
    let record: Record = serde_json::from_slice(line).ok()?;
    if record.v != 1 {
        return None;
    }
    let value: Value = serde_json::from_slice(line).ok()?;
    let canonical = canonical::to_string(&value).is_ok_and(|text| text.as_bytes() == line);
    Some(Read { record, value, canonical })
}

/// What is signed: the name of the descriptor, a newline, the record without `mac` and `signature`, a newline.
///
/// So a record cannot be moved to another tree, gate or device, and a code made later changes nothing.
///
/// # Errors
/// A record that holds what may not stand in one.
pub fn payload(key: &Oid, record: &Value) -> Result<Vec<u8>> {
    let mut bare = record.clone();
    if let Some(members) = bare.as_object_mut() {
        members.remove("signature");
        members.remove("mac");
    }
    Ok(format!("{key}\n{}\n", canonical::to_string(&bare)?).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &str = r#"{"at":"2026-11-21T20:00:00.000Z","commit":"1111111111111111111111111111111111111111","later":{"a":1},"mac":"m","signature":"s","v":1,"verdict":"pass"}"#;

    #[test]
    fn members_of_later_versions_are_signed_too() {
        let read = read(LINE.as_bytes()).unwrap();
        assert!(read.canonical);
        let key = Oid::parse(&"2".repeat(40)).unwrap();
        let signed = String::from_utf8(payload(&key, &read.value).unwrap()).unwrap();
        assert!(signed.starts_with(&format!("{key}\n{{\"at\"")), "{signed}");
        assert!(
            signed.contains("\"later\":{\"a\":1}")
                && !signed.contains("\"mac\"")
                && !signed.contains("\"s\"")
        );
    }

    #[test]
    fn what_two_readers_could_read_in_two_ways_is_not_canonical() {
        assert!(!read(LINE.replace(":1,\"verdict\"", ": 1,\"verdict\"").as_bytes()).unwrap().canonical);
        assert!(!read(LINE.replace("{\"a\":1}", "{\"a\":1,\"a\":2}").as_bytes()).unwrap().canonical);
        assert!(!read(LINE.replace("{\"a\":1}", "{\"a\":1.5}").as_bytes()).unwrap().canonical);
        assert!(read(LINE.replace("\"v\":1", "\"v\":2").as_bytes()).is_none());
        assert!(
            read(
                LINE.replace("\"verdict\":\"pass\"", "\"verdict\":\"fail\",\"verdict\":\"pass\"").as_bytes()
            )
            .is_none()
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
        }

        #[test]
        fn a_changed_record_is_another_payload(at in 0..LINE.len(), byte in 0x20_u8..0x7f) {
            let key = Oid::parse(&"2".repeat(40)).unwrap();
            let before = read(LINE.as_bytes()).unwrap();
            let mut changed = LINE.as_bytes().to_vec();
            changed[at] = byte;
            if let Some(after) = read(&changed).filter(|after| after.canonical) {
                let same = payload(&key, &after.value).unwrap() == payload(&key, &before.value).unwrap();
                let mut left = before.value.clone();
                let mut right = after.value.clone();
                for value in [&mut left, &mut right] {
                    for member in ["mac", "signature"] {
                        value.as_object_mut().unwrap().remove(member);
                    }
                }
                prop_assert_eq!(same, left == right);
            }
        }
    }
}
