//! A ledger of events whose ids are right, from a script of the fuzzer's: fold it, in both orders.
//!
//! A line of the script is `<type> <parents> <data>`: the type's place in `Data::TYPES` as one letter from
//! `A`, the parents as letters (`a` is the first event), and JSON in which `@a` stands for the first
//! event's id. Any other line goes into the ledger as it is.

#![no_main]

use git_incident::event::{Data, line};
use git_incident::fold::Ledger;
use git_incident::model::incident::Author;
use git_incident::model::{EventId, Oid, Timestamp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut ids: Vec<EventId> = Vec::new();
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for script in bytes.split(|b| *b == b'\n').take(400) {
        match sealed(script, &ids) {
            Some((id, raw)) => {
                ids.push(id);
                lines.push(raw);
            }
            None => lines.push(script.to_vec()),
        }
    }
    let first = lines.first().cloned().unwrap_or_default();
    let ledger = Ledger::parse(&lines.join(&b'\n'));
    let Some(anchor) = Oid::parse(&"a".repeat(40)) else {
        return;
    };
    let incident = ledger.incident(&anchor, &|raw| raw == first);
    let _ = (incident.cause(), incident.worked_millis(), ledger.heads());
    for attempt in &incident.attempts {
        let _ = (attempt.headline(), attempt.disproof_was_run(), attempt.failed());
    }
    lines.reverse();
    let mirrored = Ledger::parse(&lines.join(&b'\n'));
    assert_eq!(incident, mirrored.incident(&anchor, &|raw| raw == first), "the order of lines means nothing");
});

fn sealed(script: &[u8], ids: &[EventId]) -> Option<(EventId, Vec<u8>)> {
    let text = std::str::from_utf8(script).ok()?;
    let mut words = text.splitn(3, ' ');
    let letter = *words.next()?.as_bytes().first()?;
    let type_name = Data::TYPES.get(usize::from(letter.checked_sub(b'A')?))?;
    let of = |letter: u8| ids.get(usize::from(letter.checked_sub(b'a')?)).copied();
    let parents: Vec<EventId> = words.next()?.bytes().filter_map(of).collect();
    let mut json = String::new();
    let mut rest = words.next()?;
    while let Some((before, after)) = rest.split_once('@') {
        json.push_str(before);
        rest = after;
        if let Some(letter) = after.bytes().next()
            && let Some(id) = of(letter)
        {
            json.push_str(&id.to_string());
            rest = &after[1..];
        }
    }
    json.push_str(rest);
    let data = Data::decode(type_name, &json)?.ok()?;
    let at = Timestamp::from_millis(i64::from(letter) * 7 + ids.len() as i64);
    let event = line::seal(at, &Author::default(), &data, &parents, "00").ok()?;
    Some((event.id, event.raw))
}
