//! Identifiers: git object ids and event ids.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::canonical;

/// A git object id in lower-case hexadecimal: 40 digits (SHA-1) or 64 (SHA-256).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid(String);

impl Oid {
    /// Reads an object id; anything but 40 or 64 lower-case hexadecimal digits is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        ((text.len() == 40 || text.len() == 64) && is_lower_hex(text)).then(|| Self(text.to_owned()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first digits, as people see them.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }

    /// The name that no object has.
    pub fn zero() -> Self {
        Self("0".repeat(40))
    }

    /// All zeros: git's way to say "no object" in hooks.
    pub fn is_zero(&self) -> bool {
        self.0.bytes().all(|b| b == b'0')
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Oid {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is no object id"))
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> Self {
        oid.0
    }
}

/// An event's id: the SHA-256 of its canonical header (see `docs/STORAGE.md`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventId([u8; 32]);

impl EventId {
    /// From the digest itself.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 64 || !is_lower_hex(text) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = (digit(pair[0]) << 4) | digit(pair[1]);
        }
        Some(Self(bytes))
    }

    /// The first twelve digits, as people and trailers write them.
    pub fn short(&self) -> String {
        canonical::hex(&self.0[..6])
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&canonical::hex(&self.0))
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventId({})", self.short())
    }
}

impl TryFrom<String> for EventId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is no event id"))
    }
}

impl From<EventId> for String {
    fn from(id: EventId) -> Self {
        id.to_string()
    }
}

/// Whether a text is made of lower-case hexadecimal digits only (and is not empty).
pub fn is_lower_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn digit(byte: u8) -> u8 {
    if byte.is_ascii_digit() { byte - b'0' } else { byte - b'a' + 10 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip() {
        let text = "00ff".repeat(16);
        assert_eq!(EventId::parse(&text).unwrap().to_string(), text);
        assert!(EventId::parse(&text.to_uppercase()).is_none());
        assert!(Oid::parse("12").is_none());
        assert!(Oid::parse(&"0".repeat(40)).unwrap().is_zero());
    }
}
