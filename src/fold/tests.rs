//! The promises of the fold, held against random histories.

use proptest::prelude::*;

use super::*;
use crate::event::line::seal;
use crate::event::{
    AttemptStarted, IncidentClosed, IncidentEdited, IncidentOpened, IncidentReopened, NextAdded,
};
use crate::model::canonical::sha256_hex;
use crate::model::incident::Author;
use crate::model::status::Status;

fn author() -> Author {
    Author {
        name: "Ada".into(),
        email: "ada@example.org".into(),
        salt: "0".repeat(32),
        ..Author::default()
    }
}

fn anchor() -> Oid {
    Oid::parse(&"a".repeat(40)).unwrap()
}

fn fold(ledger: &Ledger) -> Incident {
    ledger.incident(&anchor(), &|_| true)
}

fn event(at: i64, data: impl Into<Data>, parents: &[EventId]) -> Event {
    let salt = sha256_hex(at.to_string().as_bytes());
    seal(
        Timestamp::from_millis(at),
        &author(),
        &data.into(),
        parents,
        &salt,
    )
    .unwrap()
}

fn opened() -> Event {
    event(
        1,
        IncidentOpened {
            title: "it hangs".into(),
            ..Default::default()
        },
        &[],
    )
}

/// A random history: each event picks parents among those before it.
fn history() -> impl Strategy<Value = Vec<Event>> {
    proptest::collection::vec((any::<u64>(), 0_u8..6, 0_i64..5), 1..24).prop_map(|steps| {
        let mut events = vec![opened()];
        for (i, (pick, kind, step)) in steps.into_iter().enumerate() {
            let n = events.len() as u64;
            let mut parents = vec![events[(pick % n) as usize].id];
            if pick & 1024 != 0 {
                parents.push(events[((pick >> 16) % n) as usize].id);
            }
            let latest = events
                .iter()
                .filter(|e| parents.contains(&e.id))
                .map(|e| e.at.millis())
                .max()
                .unwrap();
            let text = format!("n{i}");
            let data: Data = match kind {
                0 => AttemptStarted {
                    hypothesis: text,
                    ..Default::default()
                }
                .into(),
                1 => NextAdded { text }.into(),
                2 => IncidentEdited {
                    title: Some(text),
                    ..Default::default()
                }
                .into(),
                3 => IncidentClosed {
                    status: Status::Resolved,
                    note: text,
                    gaps: vec![],
                }
                .into(),
                4 => IncidentReopened { note: text }.into(),
                _ => IncidentEdited {
                    symptom: Some(text),
                    ..Default::default()
                }
                .into(),
            };
            events.push(event(latest + 1 + step, data, &parents));
        }
        events
    })
}

fn bytes(events: &[Event]) -> Vec<u8> {
    events
        .iter()
        .flat_map(|e| e.raw.iter().copied().chain([b'\n']))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_order_of_lines_means_nothing(events in history(), seed in any::<u64>()) {
        let whole = Ledger::parse(&bytes(&events));
        let mut shuffled = events.clone();
        let mut state = seed | 1;
        for i in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.swap(i, (state >> 33) as usize % (i + 1));
        }
        shuffled.extend(events[..events.len() / 2].to_vec());
        let other = Ledger::parse(&bytes(&shuffled));
        prop_assert_eq!(fold(&whole), fold(&other));
        prop_assert_eq!(whole.heads(), other.heads());
    }

    #[test]
    fn union_of_any_two_parts_is_the_same_on_both_sides(events in history(), split in any::<u32>()) {
        let part = |want: bool| -> Vec<Event> {
            events.iter().enumerate().filter(|(i, _)| *i == 0 || (split >> (i % 32) & 1 == 1) == want).map(|(_, e)| e.clone()).collect()
        };
        let (a, b) = (bytes(&part(true)), bytes(&part(false)));
        let ab = Ledger::parse(&[a.clone(), b.clone()].concat());
        let ba = Ledger::parse(&[b, a].concat());
        prop_assert_eq!(fold(&ab), fold(&ba));
        prop_assert_eq!(fold(&ab), fold(&Ledger::parse(&bytes(&events))));
    }

    #[test]
    fn parents_stand_before_children(events in history()) {
        let ledger = Ledger::parse(&bytes(&events));
        for (i, event) in ledger.events.iter().enumerate() {
            for parent in &event.parents {
                let at = ledger.events.iter().position(|e| e.id == *parent).unwrap();
                prop_assert!(at < i);
            }
        }
    }

    #[test]
    fn ancestry_agrees_with_a_search(events in history()) {
        let sorted = sort(events);
        let ancestry = Ancestry::of(&sorted);
        for (i, event) in sorted.iter().enumerate() {
            let mut known = std::collections::BTreeSet::new();
            let mut todo = event.parents.clone();
            while let Some(id) = todo.pop() {
                if known.insert(id) {
                    todo.extend(&sorted.iter().find(|e| e.id == id).unwrap().parents);
                }
            }
            for other in &sorted {
                prop_assert_eq!(ancestry.is_after(i, other.id), known.contains(&other.id));
            }
        }
    }

    #[test]
    fn any_bytes_fold(raw in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = fold(&Ledger::parse(&raw));
    }
}

#[test]
fn concurrent_contradictions_are_shown() {
    let open = opened();
    let closed = event(
        10,
        IncidentClosed {
            status: Status::Resolved,
            note: String::new(),
            gaps: vec![],
        },
        &[open.id],
    );
    let wont = event(
        11,
        IncidentClosed {
            status: Status::WontFix,
            note: String::new(),
            gaps: vec![],
        },
        &[open.id],
    );
    let incident = fold(&Ledger::parse(&bytes(&[
        open.clone(),
        closed.clone(),
        wont.clone(),
    ])));
    assert_eq!(*incident.status, Status::WontFix);
    assert_eq!(incident.status.rivals().collect::<Vec<_>>(), [&Status::Resolved]);
    let settled = event(12, IncidentReopened::default(), &[closed.id, wont.id]);
    let incident = fold(&Ledger::parse(&bytes(&[open, closed, wont, settled])));
    assert_eq!(
        (*incident.status, incident.status.rivals().count()),
        (Status::Open, 0)
    );
}

#[test]
fn an_erased_spelling_wins_over_the_full_one() {
    let open = opened();
    let note = event(
        5,
        NextAdded {
            text: "secret".into(),
        },
        &[open.id],
    );
    let text = String::from_utf8(note.raw.clone()).unwrap();
    let (start, end) = (
        text.find(",\"data\":").unwrap() + 8,
        text.find(",\"id\":").unwrap(),
    );
    let erased = format!(
        "{}\"{}\"{}",
        &text[..start],
        sha256_hex(&text.as_bytes()[start..end]),
        &text[end..]
    );
    for lines in [vec![text.clone(), erased.clone()], vec![erased, text]] {
        let ledger = Ledger::parse(lines.join("\n").as_bytes());
        assert_eq!(ledger.events.len(), 1);
        assert!(ledger.events[0].body == Body::Erased);
    }
}

#[test]
fn a_strangers_opening_event_opens_nothing() {
    let mine = opened();
    let other = event(
        2,
        IncidentOpened {
            title: "not this one".into(),
            ..Default::default()
        },
        &[],
    );
    let ledger = Ledger::parse(&bytes(&[mine.clone(), other]));
    let incident = ledger.incident(&anchor(), &|raw| raw == mine.raw);
    assert_eq!(*incident.title, "it hangs");
    assert_eq!(incident.damaged.len(), 1);
}

#[test]
fn many_forks_stay_bounded() {
    let open = opened();
    let mut events = vec![open.clone()];
    events.extend((0..2000).map(|i| event(10 + i, NextAdded { text: i.to_string() }, &[open.id])));
    let incident = fold(&Ledger::parse(&bytes(&events)));
    assert_eq!(incident.next.len(), 2000);
}

#[test]
fn another_spelling_of_the_anchor_does_not_take_the_incident_away() {
    let open = opened();
    let spaced = [b"{ ", &open.raw[1..]].concat();
    let ledger = Ledger::parse(&[open.raw.clone(), spaced].join(&b'\n'));
    let incident = ledger.incident(&anchor(), &|raw| raw == open.raw);
    assert!(incident.opened.is_some());
    assert_eq!(incident.damaged.len(), 1, "the other spelling is shown");
}
