//! One event as one line of JSON, and back. `docs/STORAGE.md` §3 is the specification.

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::Data;
use crate::model::incident::Author;
use crate::model::{Error, EventId, Result, Timestamp, canonical};

/// The only version of the line format so far.
pub const VERSION: u64 = 1;

/// A longer line is shown as damaged and kept: no event of ours comes near it.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// More parents than any merge of clones produces; bounds what a hostile ledger costs.
pub const MAX_PARENTS: usize = 1024;

/// A line of a ledger, without its newline.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// An event whose id was verified.
    Event(Box<Event>),
    /// A line of another version of the format: kept, not understood.
    OtherVersion {
        /// The line.
        raw: Vec<u8>,
        /// Its version.
        version: u64,
    },
    /// A line that cannot be read, or whose id does not fit its content: kept, shown.
    Damaged {
        /// The line.
        raw: Vec<u8>,
        /// Why it cannot be read.
        reason: String,
    },
}

/// A verified event of version 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// SHA-256 of the canonical header.
    pub id: EventId,
    /// When it was written.
    pub at: Timestamp,
    /// The ledger's heads when it was written.
    pub parents: Vec<EventId>,
    /// The type, known or not.
    pub type_name: String,
    /// Who wrote it; `None` when the person was erased.
    pub by: Option<Author>,
    /// What it says.
    pub body: Body,
    /// The line as it stands in the ledger, without its newline.
    pub raw: Vec<u8>,
}

/// What an event says, as far as this program can tell.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Data of a known type.
    Known(Data),
    /// Data of a type this program does not know.
    UnknownType,
    /// Data of a known type in a shape this program does not know.
    Malformed(String),
    /// The data was erased for good; its digest stands in its place.
    Erased,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire<'a> {
    at: &'a str,
    #[serde(borrow)]
    by: &'a RawValue,
    #[serde(borrow)]
    data: &'a RawValue,
    id: &'a str,
    parents: Vec<&'a str>,
    #[serde(rename = "type")]
    type_name: &'a str,
    v: u64,
}

/// Enough of a line of any version to tell its version.
#[derive(Deserialize)]
struct AnyVersion {
    v: u64,
}

impl Line {
    /// Reads a line (without its newline). Never fails: what cannot be read is damaged.
    pub fn parse(raw: &[u8]) -> Self {
        match read(raw) {
            Ok(line) => line,
            Err(reason) => Self::Damaged {
                raw: raw.to_vec(),
                reason,
            },
        }
    }

    /// The bytes of the line.
    pub fn raw(&self) -> &[u8] {
        match self {
            Self::Event(event) => &event.raw,
            Self::OtherVersion { raw, .. } | Self::Damaged { raw, .. } => raw,
        }
    }

    /// The event, if it is one.
    pub fn event(&self) -> Option<&Event> {
        if let Self::Event(event) = self {
            Some(event)
        } else {
            None
        }
    }
}

fn read(raw: &[u8]) -> Result<Line, String> {
    if raw.len() > MAX_LINE_BYTES {
        return Err(format!(
            "the line is {} bytes long, more than {MAX_LINE_BYTES}",
            raw.len()
        ));
    }
    let text = std::str::from_utf8(raw).map_err(|e| format!("not UTF-8: {e}"))?;
    let wire: Wire<'_> = match serde_json::from_str(text) {
        Ok(wire) => wire,
        Err(error) => {
            return match serde_json::from_str::<AnyVersion>(text) {
                Ok(AnyVersion { v }) if v != VERSION => Ok(Line::OtherVersion {
                    raw: raw.to_vec(),
                    version: v,
                }),
                _ => Err(format!("not an event: {error}")),
            };
        }
    };
    if wire.v != VERSION {
        return Ok(Line::OtherVersion {
            raw: raw.to_vec(),
            version: wire.v,
        });
    }
    let at = Timestamp::parse(wire.at).ok_or_else(|| format!("{:?} is no time", shorten(wire.at)))?;
    let id = EventId::parse(wire.id).ok_or_else(|| format!("{:?} is no event id", shorten(wire.id)))?;
    if wire.parents.len() > MAX_PARENTS {
        return Err(format!("{} parents, more than {MAX_PARENTS}", wire.parents.len()));
    }
    let parents = wire
        .parents
        .iter()
        .map(|p| EventId::parse(p).ok_or_else(|| format!("{:?} is no event id", shorten(p))))
        .collect::<Result<Vec<_>, _>>()?;
    let (by, by_digest) = member(wire.by);
    let (data, data_digest) = member(wire.data);
    let expected = event_id(
        wire.at,
        &by_digest,
        &data_digest,
        wire.parents.iter().copied(),
        wire.type_name,
    );
    if expected != id {
        return Err(format!(
            "its id is {} but its content makes {}",
            id.short(),
            expected.short()
        ));
    }
    let by = match by {
        None => None,
        Some(json) => {
            Some(serde_json::from_str::<Author>(json).map_err(|e| format!("`by` cannot be read: {e}"))?)
        }
    };
    let body = match data {
        None => Body::Erased,
        Some(json) => match Data::decode(wire.type_name, json) {
            None => Body::UnknownType,
            Some(Ok(data)) => Body::Known(data),
            Some(Err(error)) => Body::Malformed(error.to_string()),
        },
    };
    Ok(Line::Event(Box::new(Event {
        id,
        at,
        parents,
        type_name: wire.type_name.to_owned(),
        by,
        body,
        raw: raw.to_vec(),
    })))
}

/// A member that can be erased: its text unless it was, and its digest either way.
fn member(raw: &RawValue) -> (Option<&str>, String) {
    let text = raw.get();
    // An erased member is the digest itself, as a JSON string.
    if let Some(digest) = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'))
        && EventId::parse(digest).is_some()
    {
        return (None, digest.to_owned());
    }
    (Some(text), canonical::sha256_hex(text.as_bytes()))
}

/// The id: SHA-256 of the canonical header, in which the two erasable members stand as digests.
fn event_id<'a>(
    at: &str,
    by_sha256: &str,
    data_sha256: &str,
    parents: impl Iterator<Item = &'a str>,
    type_name: &str,
) -> EventId {
    let mut header = String::with_capacity(320);
    header.push_str("{\"at\":\"");
    header.push_str(at);
    header.push_str("\",\"by_sha256\":\"");
    header.push_str(by_sha256);
    header.push_str("\",\"data_sha256\":\"");
    header.push_str(data_sha256);
    header.push_str("\",\"parents\":");
    push_parents(&mut header, parents);
    header.push_str(",\"type\":");
    header.push_str(&quoted(type_name));
    header.push_str(",\"v\":1}");
    EventId::from_bytes(Sha256::digest(header.as_bytes()).into())
}

fn push_parents<'a>(out: &mut String, parents: impl Iterator<Item = &'a str>) {
    out.push('[');
    for (i, parent) in parents.enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push('"');
        out.push_str(parent);
        out.push('"');
    }
    out.push(']');
}

/// A JSON string; writing one cannot fail.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The first characters of foreign text, for a message.
fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Writes a new event.
///
/// `salts` are two independent random hexadecimal strings of at least 128 bits: they make the digests
/// of erased members impossible to guess.
///
/// # Errors
/// Data that may not stand in a ledger (see [`canonical`]) or makes too long a line.
pub fn seal(at: Timestamp, by: &Author, data: &Data, parents: &[EventId], data_salt: &str) -> Result<Event> {
    let by_json = canonical::to_string(by)?;
    let data_json = data.encode(data_salt)?;
    let mut parents = parents.to_vec();
    parents.sort_unstable();
    parents.dedup();
    let parent_texts: Vec<String> = parents.iter().map(ToString::to_string).collect();
    let at_text = at.to_string();
    let id = event_id(
        &at_text,
        &canonical::sha256_hex(by_json.as_bytes()),
        &canonical::sha256_hex(data_json.as_bytes()),
        parent_texts.iter().map(String::as_str),
        data.type_name(),
    );
    let mut raw = String::with_capacity(by_json.len() + data_json.len() + 256);
    raw.push_str("{\"at\":\"");
    raw.push_str(&at_text);
    raw.push_str("\",\"by\":");
    raw.push_str(&by_json);
    raw.push_str(",\"data\":");
    raw.push_str(&data_json);
    raw.push_str(",\"id\":\"");
    raw.push_str(&id.to_string());
    raw.push_str("\",\"parents\":");
    push_parents(&mut raw, parent_texts.iter().map(String::as_str));
    raw.push_str(",\"type\":");
    raw.push_str(&quoted(data.type_name()));
    raw.push_str(",\"v\":1}");
    if raw.len() > MAX_LINE_BYTES {
        return Err(Error::refused(format!(
            "the event would be {} bytes long, more than {MAX_LINE_BYTES}",
            raw.len()
        ))
        .hint("store long text as evidence: git incident evidence add FILE"));
    }
    Ok(Event {
        id,
        at,
        parents,
        type_name: data.type_name().to_owned(),
        by: Some(by.clone()),
        body: Body::Known(data.clone()),
        raw: raw.into_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::IncidentReopened;
    use proptest::prelude::*;

    fn sample(note: &str) -> Event {
        let by = Author {
            agent: String::new(),
            email: "ada@example.org".into(),
            name: "Ada".into(),
            salt: "00".repeat(16),
        };
        let data = Data::from(IncidentReopened {
            note: note.to_owned(),
        });
        seal(
            Timestamp::from_millis(1_772_000_000_123),
            &by,
            &data,
            &[EventId::from_bytes([7; 32])],
            &"11".repeat(16),
        )
        .unwrap()
    }

    #[test]
    fn what_is_sealed_reads_back_the_same() {
        let event = sample("it came back");
        assert_eq!(Line::parse(&event.raw), Line::Event(Box::new(event)));
    }

    #[test]
    fn erased_members_still_verify() {
        let event = sample("a secret");
        let text = String::from_utf8(event.raw.clone()).unwrap();
        let start = text.find(",\"data\":").unwrap() + 8;
        let end = text.find(",\"id\":").unwrap();
        let digest = canonical::sha256_hex(text[start..end].as_bytes());
        let erased = format!("{}\"{digest}\"{}", &text[..start], &text[end..]);
        let Line::Event(read) = Line::parse(erased.as_bytes()) else {
            panic!("still an event")
        };
        assert_eq!(read.id, event.id);
        assert_eq!(read.body, Body::Erased);
        assert!(read.by.is_some());
    }

    #[test]
    fn tampering_shows() {
        let event = sample("it came back");
        let text = String::from_utf8(event.raw).unwrap().replace("came", "Came");
        let Line::Damaged { reason, .. } = Line::parse(text.as_bytes()) else {
            panic!("damaged")
        };
        assert!(reason.starts_with("its id is"), "{reason}");
    }

    #[test]
    fn unknown_types_and_versions_are_told_apart_from_damage() {
        let header = event_id(
            "2026-01-01T00:00:00.000Z",
            &canonical::sha256_hex(b"{}"),
            &canonical::sha256_hex(b"{}"),
            [].into_iter(),
            "x.new",
        );
        let line = format!(
            r#"{{"at":"2026-01-01T00:00:00.000Z","by":{{}},"data":{{}},"id":"{header}","parents":[],"type":"x.new","v":1}}"#
        );
        assert_eq!(
            Line::parse(line.as_bytes()).event().unwrap().body,
            Body::UnknownType
        );
        assert!(matches!(
            Line::parse(br#"{"v":2,"anything":[1]}"#),
            Line::OtherVersion { version: 2, .. }
        ));
        assert!(matches!(Line::parse(br#"{"v":1}"#), Line::Damaged { .. }));
        assert!(matches!(Line::parse(b"\xff"), Line::Damaged { .. }));
    }

    proptest! {
        #[test]
        fn never_panics_and_keeps_the_bytes(raw in proptest::collection::vec(any::<u8>(), 0..300)) {
            let line = Line::parse(&raw);
            prop_assert_eq!(line.raw(), &raw[..]);
        }

        #[test]
        fn one_flipped_byte_never_passes(at in 0_usize..400, bit in 0_u8..8) {
            let event = sample("it came back");
            let mut raw = event.raw.clone();
            let at = at % raw.len();
            raw[at] ^= 1 << bit;
            if let Line::Event(read) = Line::parse(&raw) {
                // JSON has several spellings of one string; only those may pass, and they say the same.
                prop_assert_eq!(read.id, event.id);
                prop_assert_eq!(read.body, event.body);
            }
        }
    }
}
