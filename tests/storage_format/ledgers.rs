//! Random ledgers: all types, forks, erasures, repeated, foreign and damaged lines.

use std::collections::BTreeMap;

use git_incident::event::line::{Body, seal};
use git_incident::event::{
    AttemptEnded, AttemptNoted, AttemptStarted, CauseConfirmed, CauseProposed, CauseRejected, CommitLinked,
    CommitRewritten, CommitUnlinked, Data, DifferenceSet, Event, EvidenceAdded, EvidenceErased,
    IncidentClosed, IncidentEdited, IncidentOpened, IncidentReopened, NextAdded, NextDone, NextDropped,
    ReproRan, ReproSet,
};
use git_incident::git::Repo;
use git_incident::model::canonical::sha256_hex;
use git_incident::model::incident::{Author, FileRef};
use git_incident::model::outcome::{Bug, Hypothesis, Outcome};
use git_incident::model::status::{FailsWhen, Role, Status};
use git_incident::model::{EventId, Oid, Timestamp};
use serde_json::json;

pub(crate) fn author(seed: u64) -> Author {
    Author {
        name: "Ada".into(),
        email: "ada@example.org".into(),
        agent: if seed & 1 == 0 { String::new() } else { "helper".into() },
        salt: sha256_hex(&seed.to_be_bytes())[..32].to_owned(),
    }
}

fn oid(n: u64) -> Oid {
    Oid::parse(&format!("{n:040x}")).expect("forty digits")
}

/// Data of some type; `past` are the events so far, `near` one of them.
fn data(kind: u64, pick: u64, text: &str, past: &[Event], i: u64) -> (Data, Option<EventId>) {
    let of = |wanted: &str| {
        let fitting: Vec<&Event> = past.iter().filter(|e| e.type_name == wanted).collect();
        let chosen = if fitting.is_empty() {
            past.first()
        } else {
            fitting.get(pick as usize % fitting.len()).copied()
        };
        chosen.map_or(EventId::from_bytes([9; 32]), |e| e.id)
    };
    let text = text.to_owned();
    let attempt = Some(of("attempt.started"));
    let commit = oid(pick % 4);
    let role = [Role::Fix, Role::Failed][(pick >> 8) as usize % 2];
    let outcome = Outcome {
        hypothesis: [Hypothesis::Supported, Hypothesis::Refuted, Hypothesis::Undecided][pick as usize % 3],
        bug: [Bug::Fixed, Bug::Remains, Bug::Unknown][(pick >> 4) as usize % 3],
    };
    let data: Data = match kind {
        0 | 1 => AttemptStarted { hypothesis: text.clone(), disproof: text, ..Default::default() }.into(),
        2 | 3 => AttemptEnded {
            attempt: of("attempt.started"),
            outcome,
            action: if pick & 1 == 0 { String::new() } else { text.clone() },
            result: String::new(),
            conclusion: text.clone(),
            rules_out: vec![text],
        }
        .into(),
        4 => AttemptNoted { attempt, text, ..Default::default() }.into(),
        5 => NextAdded { text }.into(),
        6 => NextDone { next: of("next.added"), remark: text }.into(),
        7 => NextDropped { next: of("next.added"), reason: text }.into(),
        8 => IncidentEdited { title: Some(text.clone()), ticket: Some(text), ..Default::default() }.into(),
        9 => IncidentEdited {
            files: Some(vec![FileRef { path: text.clone(), note: String::new() }]),
            labels: Some(vec![text]),
            ..Default::default()
        }
        .into(),
        10 | 11 => IncidentClosed {
            status: [Status::Resolved, Status::WontFix, Status::Blocked][pick as usize % 3],
            note: text,
            gaps: vec![],
        }
        .into(),
        12 => IncidentReopened { note: text }.into(),
        13 => DifferenceSet {
            factor: format!("f{}", pick % 3),
            working: text.clone(),
            broken: text,
            eliminated: pick & 8 == 0,
            ..Default::default()
        }
        .into(),
        14 => CauseProposed { text, ..Default::default() }.into(),
        15 => CauseRejected { cause: of("cause.proposed"), reason: text }.into(),
        16 => CauseConfirmed {
            cause: of("cause.proposed"),
            accounts: vec![],
            disproof: attempt,
            mechanism: text,
        }
        .into(),
        17 => ReproSet {
            command: vec![format!("c{}", pick % 2)],
            fails_when: FailsWhen::Exit,
            ..Default::default()
        }
        .into(),
        18 => ReproRan {
            repro: of("repro.set"),
            runs: (pick % 7) as u32,
            failures: (pick % 5) as u32,
            environment: json!({"b": [1, text], "a": null}),
            ..Default::default()
        }
        .into(),
        19 => EvidenceAdded {
            oid: (pick & 1 == 0).then(|| oid(1000 + i)),
            sha256: sha256_hex(text.as_bytes()),
            bytes: pick >> 12,
            name: text,
            kind: "log".into(),
            attempt,
            ..Default::default()
        }
        .into(),
        20 => {
            // An erasing event knows of what it erases, or another clone's does.
            let added = past.iter().find_map(|e| match &e.body {
                Body::Known(Data::EvidenceAdded(d)) => Some((d.oid.clone()?, e.id)),
                _ => None,
            });
            let Some((blob, event)) = added else {
                return (NextAdded { text }.into(), None);
            };
            return (EvidenceErased { oid: blob, reason: text }.into(), (pick & 1 == 0).then_some(event));
        }
        21 | 22 => CommitLinked {
            commit,
            role,
            attempt: (pick & 64 == 0).then_some(of("attempt.started")),
            patch_id: String::new(),
            tree: None,
            subject: text,
            pr: String::new(),
            how: if pick & 128 == 0 { String::new() } else { "trailer".into() },
            reverts: (0..pick / 256 % 3).map(|n| oid((pick / 11 + n) % 4)).collect(),
        }
        .into(),
        23 => CommitUnlinked { commit, role: (pick & 64 == 0).then_some(role) }.into(),
        24 => CommitRewritten {
            from: commit,
            to: oid(pick / 7 % 4),
            how: text,
            tree: None,
            patch_id: String::new(),
        }
        .into(),
        // A stranger's opening event: shown, without effect.
        _ => IncidentOpened { title: text, ..Default::default() }.into(),
    };
    (data, None)
}

/// A line whose id is right and whose type or data the library would not write.
fn line_by_hand(type_name: &str, data: &str, parent: EventId) -> Vec<u8> {
    let by = r#"{"name":"Ada"}"#;
    let (at, parents) = ("2031-01-01T00:00:00.000Z", format!("[\"{parent}\"]"));
    let header = format!(
        r#"{{"at":"{at}","by_sha256":"{}","data_sha256":"{}","parents":{parents},"type":"{type_name}","v":1}}"#,
        sha256_hex(by.as_bytes()),
        sha256_hex(data.as_bytes())
    );
    let id = sha256_hex(header.as_bytes());
    format!(r#"{{"at":"{at}","by":{by},"data":{data},"id":"{id}","parents":{parents},"type":"{type_name}","v":1}}"#)
        .into_bytes()
}

/// The line with `data` or `by` replaced by its digest.
pub(crate) fn erase(raw: &[u8], data: bool) -> Vec<u8> {
    let text = std::str::from_utf8(raw).expect("a line is UTF-8");
    let wire: BTreeMap<&str, &serde_json::value::RawValue> =
        serde_json::from_str(text).expect("a line is JSON");
    let member = wire[if data { "data" } else { "by" }].get();
    text.replacen(member, &format!("\"{}\"", sha256_hex(member.as_bytes())), 1).into_bytes()
}

pub(crate) type Step = (u64, u64, i64, String);

pub(crate) fn random_ledger(steps: &[Step], extra: &[(u8, u64)]) -> (Vec<u8>, Oid) {
    let start = 1_772_000_000_000;
    let opening = IncidentOpened { title: "it hangs".into(), ticket: "#45".into(), ..Default::default() };
    let at = Timestamp::from_millis(start);
    let mut events = vec![seal(at, &author(0), &opening.into(), &[], "00").expect("sealed")];
    for (i, (kind, pick, step, text)) in steps.iter().enumerate() {
        let n = events.len() as u64;
        let mut parents = vec![events[(pick % n.min(4) + n - n.min(4)) as usize].id];
        if pick & 1024 != 0 {
            parents.push(events[((pick >> 16) % n) as usize].id);
        }
        let (data, knows) = data(kind % 26, pick >> 20, text, &events, i as u64);
        parents.extend(knows);
        let latest = events.iter().filter(|e| parents.contains(&e.id)).map(|e| e.at.millis()).max();
        let at = Timestamp::from_millis(latest.unwrap_or(start) + 1 + step);
        let salt = &sha256_hex(format!("{i}{pick}").as_bytes())[..32];
        events.push(seal(at, &author(*pick), &data, &parents, salt).expect("sealed"));
    }
    let mut anchor_bytes = events[0].raw.clone();
    anchor_bytes.push(b'\n');
    let anchor = Repo::blob_name(&anchor_bytes).expect("hashed");
    let mut lines: Vec<Vec<u8>> = events.iter().map(|e| e.raw.clone()).collect();
    for (kind, pick) in extra {
        let event = &events[*pick as usize % events.len()];
        lines.push(match kind {
            0 => event.raw.clone(),
            1 => erase(&event.raw, true),
            2 => erase(&event.raw, false),
            3 => line_by_hand("next.thought", &format!(r#"{{"n":{}}}"#, pick % 99), event.id),
            4 => line_by_hand("next.added", r#"{"text":7}"#, event.id),
            5 => line_by_hand("attempt.ended", r#"{"attempt":"x","outcome":{}}"#, event.id),
            6 => format!(r#"{{"v":{},"x":[1]}}"#, 2 + pick % 3).into_bytes(),
            7 => event.raw[..event.raw.len() / 2].to_vec(),
            8 => Vec::new(),
            9 => line_by_hand("next.added", r#"{"text":"a","text":"b"}"#, event.id),
            10 => line_by_hand(
                "next.added",
                [
                    r#"{"text":"more","unheard":{"of":1.5}}"#,
                    r#"{"text":"more","unheard":{"of":[1]}}"#,
                    r#"{"text":"n\u000a"}"#,
                    r#"{"text":"n", "z":-0}"#,
                ][*pick as usize % 4],
                event.id,
            ),
            _ => b"\xff\xfe not text".to_vec(),
        });
    }
    // Any order will do: take them from the back and the front in turns.
    let mut bytes = Vec::new();
    let mut rest: std::collections::VecDeque<Vec<u8>> = lines.into();
    while let Some(line) = if rest.len().is_multiple_of(3) { rest.pop_front() } else { rest.pop_back() } {
        bytes.extend_from_slice(&line);
        bytes.push(b'\n');
    }
    (bytes, anchor)
}
