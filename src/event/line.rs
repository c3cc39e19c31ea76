//! One event as one line of JSON, and back. `docs/STORAGE.md` §3 is the specification.

use serde::Deserialize;
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
            Err(reason) => Self::Damaged { raw: raw.to_vec(), reason },
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
        if let Self::Event(event) = self { Some(event) } else { None }
    }
}

fn read(raw: &[u8]) -> Result<Line, String> {
    if raw.len() > MAX_LINE_BYTES {
        return Err(format!("the line is {} bytes long, more than {MAX_LINE_BYTES}", raw.len()));
    }
    let text = std::str::from_utf8(raw).map_err(|e| format!("not UTF-8: {e}"))?;
    let members = match Members::of(text) {
        Ok(members) => members,
        Err(reason) => {
            return match other_version(text) {
                Some(version) => Ok(Line::OtherVersion { raw: raw.to_vec(), version }),
                None => Err(format!("not an event: {reason}")),
            };
        }
    };
    let at = Timestamp::parse(members.at).ok_or_else(|| format!("{:?} is no time", shorten(members.at)))?;
    let id = EventId::parse(members.id).ok_or_else(|| format!("{:?} is no event id", shorten(members.id)))?;
    let parents = parents_in(members.parents)?;
    let expected = members.event_id();
    if expected != id {
        return Err(format!("its id is {} but its content makes {}", id.short(), expected.short()));
    }
    let by = match erased(members.by) {
        Some(_) => None,
        None => Some(
            serde_json::from_str::<Author>(members.by).map_err(|e| format!("`by` cannot be read: {e}"))?,
        ),
    };
    let body = match erased(members.data) {
        Some(_) => Body::Erased,
        None => match Data::decode(members.type_name, members.data) {
            None => Body::UnknownType,
            Some(Ok(data)) => Body::Known(data),
            Some(Err(error)) => Body::Malformed(error.to_string()),
        },
    };
    Ok(Line::Event(Box::new(Event {
        id,
        at,
        parents,
        type_name: members.type_name.to_owned(),
        by,
        body,
        raw: raw.to_vec(),
    })))
}

/// The version of a line that is an object with one member `v`, if that is another one than ours.
fn other_version(text: &str) -> Option<u64> {
    // serde would read the member from an array as well.
    let is_object = text.trim_start_matches([' ', '\t', '\r']).starts_with('{');
    let AnyVersion { v } = serde_json::from_str(text).ok().filter(|_| is_object)?;
    (v != VERSION).then_some(v)
}

/// The members of a line, each as it stands there: `by` and `data` as JSON, `parents` without its brackets, the
/// others without their quotes.
struct Members<'a> {
    at: &'a str,
    by: &'a str,
    data: &'a str,
    id: &'a str,
    parents: &'a str,
    type_name: &'a str,
}

impl<'a> Members<'a> {
    /// Cuts a line into its members.
    ///
    /// There is one spelling of an event, the one [`seal`] writes. If another one passed, a stranger could choose
    /// which of two spellings counts, and two programs could disagree on what a line is.
    fn of(line: &'a str) -> Result<Self, String> {
        let mut cursor = Cursor { line, at: 0 };
        cursor.token("{\"at\":\"")?;
        let at = cursor.until('"')?;
        cursor.token("\",\"by\":")?;
        let by = cursor.erasable()?;
        cursor.token(",\"data\":")?;
        let data = cursor.erasable()?;
        cursor.token(",\"id\":\"")?;
        let id = cursor.until('"')?;
        cursor.token("\",\"parents\":[")?;
        let parents = cursor.until(']')?;
        cursor.token("],\"type\":\"")?;
        let type_name = cursor.until('"')?;
        cursor.token("\",\"v\":1}")?;
        if cursor.at != line.len() {
            return Err(format!("there is more after byte {}", cursor.at));
        }
        if type_name.bytes().any(|b| b < 0x20 || b == b'\\') {
            return Err("`type` holds an escape or a control character".to_owned());
        }
        Ok(Self { at, by, data, id, parents, type_name })
    }

    fn to_line(&self) -> String {
        [
            "{\"at\":\"",
            self.at,
            "\",\"by\":",
            self.by,
            ",\"data\":",
            self.data,
            ",\"id\":\"",
            self.id,
            "\",\"parents\":[",
            self.parents,
            "],\"type\":\"",
            self.type_name,
            "\",\"v\":1}",
        ]
        .concat()
    }

    /// The id: SHA-256 of the canonical header, in which the two erasable members stand as digests.
    fn event_id(&self) -> EventId {
        let mut hash = Sha256::new();
        let digests = [self.by, self.data].map(|member| match erased(member) {
            Some(digest) => digest.try_into().unwrap_or([0; 64]),
            None => canonical::sha256_digits(member.as_bytes()),
        });
        let pieces: [&[u8]; 11] = [
            b"{\"at\":\"",
            self.at.as_bytes(),
            b"\",\"by_sha256\":\"",
            &digests[0],
            b"\",\"data_sha256\":\"",
            &digests[1],
            b"\",\"parents\":[",
            self.parents.as_bytes(),
            b"],\"type\":\"",
            self.type_name.as_bytes(),
            b"\",\"v\":1}",
        ];
        for piece in pieces {
            hash.update(piece);
        }
        EventId::from_bytes(hash.finalize().into())
    }
}

struct Cursor<'a> {
    line: &'a str,
    /// Always between two characters: tokens are ASCII, and values end with ASCII.
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        self.line.get(self.at..).unwrap_or_default()
    }

    fn token(&mut self, token: &str) -> Result<(), String> {
        if !self.rest().starts_with(token) {
            return Err(format!("`{token}` does not stand at byte {}", self.at));
        }
        self.at += token.len();
        Ok(())
    }

    fn until(&mut self, end: char) -> Result<&'a str, String> {
        let rest = self.rest();
        let length = rest.find(end).ok_or_else(|| format!("no `{end}` after byte {}", self.at))?;
        self.at += length;
        Ok(&rest[..length])
    }

    /// An object, or the digest of one.
    fn erasable(&mut self) -> Result<&'a str, String> {
        let start = self.at;
        self.at = canonical::end_of_value(self.line, start)
            .map_err(|what| format!("{what}, in the value at byte {start}"))?;
        let member = &self.line[start..self.at];
        if !member.starts_with('{') && erased(member).is_none() {
            return Err(format!("neither an object nor a digest at byte {start}"));
        }
        Ok(member)
    }
}

/// The digest in the place of an erased member, which is a JSON string.
fn erased(member: &str) -> Option<&[u8]> {
    let digest = member.strip_prefix('"')?.strip_suffix('"')?;
    (digest.len() == 64 && crate::model::id::is_lower_hex(digest)).then_some(digest.as_bytes())
}

fn parents_in(list: &str) -> Result<Vec<EventId>, String> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    // An id with its quotes and comma is 67 bytes.
    let count = (list.len() + 1) / 67;
    if count > MAX_PARENTS {
        return Err(format!("{count} parents, more than {MAX_PARENTS}"));
    }
    let mut parents = Vec::with_capacity(count);
    for parent in list.split(',') {
        let id = parent.strip_prefix('"').and_then(|p| p.strip_suffix('"')).and_then(EventId::parse);
        parents.push(id.ok_or_else(|| format!("{:?} is no event id", shorten(parent)))?);
    }
    Ok(parents)
}

/// The first characters of foreign text, for a message.
fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

/// One event of two of its spellings: a member that is erased in either is erased.
///
/// Whichever comes first, the result is the same to the byte.
pub fn combine(a: Event, b: Event) -> Event {
    debug_assert_eq!(a.id, b.id, "two spellings of one event");
    let gone = |e: &Event| (e.by.is_none(), e.body == Body::Erased);
    match (gone(&a), gone(&b)) {
        ((true, true), _) | (_, (false, false)) => a,
        (_, (true, true)) | ((false, false), _) => b,
        (one, other) if one == other => a,
        ((true, _), _) => without_either(a, &b),
        _ => without_either(b, &a),
    }
}

/// The spelling without both members, of one that lacks the author and one that lacks the data.
fn without_either(mut nobody: Event, erased: &Event) -> Event {
    let texts = (std::str::from_utf8(&nobody.raw), std::str::from_utf8(&erased.raw));
    let line = if let (Ok(nobodys), Ok(erased)) = texts
        && let (Ok(nobodys), Ok(erased)) = (Members::of(nobodys), Members::of(erased))
    {
        Members { data: erased.data, ..nobodys }.to_line().into_bytes()
    } else {
        // Not reached: both were cut into their members when they were read.
        nobody.raw.clone()
    };
    nobody.raw = line;
    nobody.body = Body::Erased;
    nobody
}

/// The spelling of an event without its author, its data, or both: the digest of a member stands in its place, and
/// the id stays. `None` for a line that is no event, or that has nothing of it left to erase.
pub fn erase(raw: &[u8], author: bool, data: bool) -> Option<Vec<u8>> {
    let Line::Event(_) = Line::parse(raw) else { return None };
    let mut members = Members::of(std::str::from_utf8(raw).ok()?).ok()?;
    let digest = |member: &str| format!("\"{}\"", canonical::sha256_hex(member.as_bytes()));
    let (by, said) = (digest(members.by), digest(members.data));
    let mut changed = false;
    if author && erased(members.by).is_none() {
        members.by = &by;
        changed = true;
    }
    if data && erased(members.data).is_none() {
        members.data = &said;
        changed = true;
    }
    changed.then(|| members.to_line().into_bytes())
}

/// Writes a new event.
///
/// `salts` are two independent random hexadecimal strings of at least 128 bits: they make the digests
/// of erased members impossible to guess.
///
/// # Errors
/// Data that may not stand in a ledger (see [`canonical`]) or makes too long a line; too many parents.
pub fn seal(at: Timestamp, by: &Author, data: &Data, parents: &[EventId], data_salt: &str) -> Result<Event> {
    let by_json = canonical::to_string(by)?;
    let data_json = data.encode(data_salt)?;
    let mut parents = parents.to_vec();
    parents.sort_unstable();
    parents.dedup();
    if parents.len() > MAX_PARENTS {
        return Err(Error::bug(format!(
            "an event with {} parents was written, more than {MAX_PARENTS}",
            parents.len()
        )));
    }
    let parents_text: Vec<String> = parents.iter().map(|p| format!("\"{p}\"")).collect();
    let mut members = Members {
        at: &at.to_string(),
        by: &by_json,
        data: &data_json,
        id: "",
        parents: &parents_text.join(","),
        type_name: data.type_name(),
    };
    let id = members.event_id();
    let id_text = id.to_string();
    members.id = &id_text;
    let raw = members.to_line();
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
        let data = Data::from(IncidentReopened { note: note.to_owned() });
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
    fn erasing_keeps_the_id_and_is_done_once() {
        let event = sample("it came back");
        for (author, data) in [(true, false), (false, true), (true, true)] {
            let raw = erase(&event.raw, author, data).unwrap();
            let Line::Event(read) = Line::parse(&raw) else { panic!("damaged") };
            assert_eq!((read.id, read.by.is_none(), read.body == Body::Erased), (event.id, author, data));
            assert_eq!(erase(&raw, author, data), None);
        }
        assert_eq!(erase(&event.raw, false, false), None);
        assert_eq!(erase(b"{}", true, true), None);
    }

    #[test]
    fn erased_members_still_verify() {
        let event = sample("a secret");
        let text = String::from_utf8(event.raw.clone()).unwrap();
        let start = text.find(",\"data\":").unwrap() + 8;
        let end = text.find(",\"id\":").unwrap();
        let digest = canonical::sha256_hex(&text.as_bytes()[start..end]);
        let erased = format!("{}\"{digest}\"{}", &text[..start], &text[end..]);
        let Line::Event(read) = Line::parse(erased.as_bytes()) else { panic!("still an event") };
        assert_eq!(read.id, event.id);
        assert_eq!(read.body, Body::Erased);
        assert!(read.by.is_some());
    }

    #[test]
    fn only_the_canonical_spelling_of_a_line_is_an_event() {
        let text = String::from_utf8(sample("it came back").raw).unwrap();
        let wire: serde_json::Value = serde_json::from_str(&text).unwrap();
        let array = serde_json::json!([
            wire["at"],
            wire["by"],
            wire["data"],
            wire["id"],
            wire["parents"],
            wire["type"],
            wire["v"]
        ]);
        let spellings = [
            text.replacen('{', "{ ", 1),
            format!("{text}\r"),
            format!(" {text}"),
            array.to_string(),
            text.replace("reopened", "re\\u006fpened"),
        ];
        for spelling in spellings {
            assert!(matches!(Line::parse(spelling.as_bytes()), Line::Damaged { .. }), "{spelling}");
        }
    }

    #[test]
    fn members_that_are_not_canonical_are_no_event_even_with_the_right_id() {
        let data = [
            r#"{"text":"a","text":"b"}"#,
            r#"{"text":"a","z":1.5}"#,
            r#"{"z":1,"text":"a"}"#,
            r#"{"text": "a"}"#,
            r#"["a"]"#,
            r#""a""#,
            "7",
        ];
        for data in data {
            let mut members = Members {
                at: "2026-01-01T00:00:00.000Z",
                by: "{}",
                data,
                id: "",
                parents: "",
                type_name: "next.added",
            };
            let id = members.event_id().to_string();
            members.id = &id;
            let line = Line::parse(members.to_line().as_bytes());
            assert!(matches!(line, Line::Damaged { .. }), "{data}");
        }
    }

    #[test]
    fn tampering_shows() {
        let event = sample("it came back");
        let text = String::from_utf8(event.raw).unwrap().replace("came", "Came");
        let Line::Damaged { reason, .. } = Line::parse(text.as_bytes()) else { panic!("damaged") };
        assert!(reason.starts_with("its id is"), "{reason}");
    }

    #[test]
    fn unknown_types_and_versions_are_told_apart_from_damage() {
        let mut members = Members {
            at: "2026-01-01T00:00:00.000Z",
            by: "{}",
            data: "{}",
            id: "",
            parents: "",
            type_name: "x.new",
        };
        let id = members.event_id().to_string();
        members.id = &id;
        let line = members.to_line();
        assert_eq!(Line::parse(line.as_bytes()).event().unwrap().body, Body::UnknownType);
        assert!(matches!(Line::parse(br#"{"v":2,"anything":[1]}"#), Line::OtherVersion { version: 2, .. }));
        for damaged in [r#"{"v":1}"#, "[6]", r#"{"v":2,"v":3}"#, r#"{"v":-2}"#, r#"{"v":2} 3"#] {
            let line = Line::parse(damaged.as_bytes());
            assert!(matches!(line, Line::Damaged { .. }), "{damaged}");
        }
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
            prop_assert!(Line::parse(&raw).event().is_none());
        }
    }
}
