//! The promises of the fold, held against random histories.

use proptest::prelude::*;

use super::*;
use crate::event::line::seal;
use crate::event::{
    AttemptEnded, AttemptStarted, CauseConfirmed, CauseProposed, CauseRejected, Data, DifferenceSet,
    EvidenceAdded, EvidenceErased, IncidentClosed, IncidentEdited, IncidentOpened, IncidentReopened,
    NextAdded,
};
use crate::model::Timestamp;
use crate::model::canonical::sha256_hex;
use crate::model::incident::Author;
use crate::model::outcome::{Bug, Hypothesis, Outcome};
use crate::model::status::{CauseState, Status};

fn author() -> Author {
    Author { name: "Ada".into(), email: "ada@example.org".into(), salt: "0".repeat(32), ..Author::default() }
}

fn anchor() -> Oid {
    Oid::parse(&"a".repeat(40)).unwrap()
}

fn fold(ledger: &Ledger) -> Incident {
    ledger.incident(&anchor(), &|_| true)
}

fn event(at: i64, data: impl Into<Data>, parents: &[EventId]) -> Event {
    let salt = sha256_hex(at.to_string().as_bytes());
    seal(Timestamp::from_millis(at), &author(), &data.into(), parents, &salt).unwrap()
}

fn opened() -> Event {
    event(1, IncidentOpened { title: "it hangs".into(), ..Default::default() }, &[])
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
            let latest =
                events.iter().filter(|e| parents.contains(&e.id)).map(|e| e.at.millis()).max().unwrap();
            let text = format!("n{i}");
            let data: Data = match kind {
                0 => AttemptStarted { hypothesis: text, ..Default::default() }.into(),
                1 => NextAdded { text }.into(),
                2 => IncidentEdited { title: Some(text), ..Default::default() }.into(),
                3 => IncidentClosed { status: Status::Resolved, note: text, gaps: vec![] }.into(),
                4 => IncidentReopened { note: text }.into(),
                _ => IncidentEdited { symptom: Some(text), ..Default::default() }.into(),
            };
            events.push(event(latest + 1 + step, data, &parents));
        }
        events
    })
}

fn bytes(events: &[Event]) -> Vec<u8> {
    events.iter().flat_map(|e| e.raw.iter().copied().chain([b'\n'])).collect()
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
    let closed =
        event(10, IncidentClosed { status: Status::Resolved, note: String::new(), gaps: vec![] }, &[open.id]);
    let wont =
        event(11, IncidentClosed { status: Status::WontFix, note: String::new(), gaps: vec![] }, &[open.id]);
    let incident = fold(&Ledger::parse(&bytes(&[open.clone(), closed.clone(), wont.clone()])));
    assert_eq!(*incident.status, Status::WontFix);
    assert_eq!(incident.status.rivals().collect::<Vec<_>>(), [&Status::Resolved]);
    let settled = event(12, IncidentReopened::default(), &[closed.id, wont.id]);
    let incident = fold(&Ledger::parse(&bytes(&[open, closed, wont, settled])));
    assert_eq!((*incident.status, incident.status.rivals().count()), (Status::Open, 0));
}

/// The line with a member replaced by its digest.
fn erased(raw: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = std::str::from_utf8(raw).unwrap();
    let start = text.find(from).unwrap() + from.len();
    let end = text.find(to).unwrap();
    let digest = sha256_hex(&text.as_bytes()[start..end]);
    format!("{}\"{digest}\"{}", &text[..start], &text[end..]).into_bytes()
}

fn without_author(raw: &[u8]) -> Vec<u8> {
    erased(raw, "\"by\":", ",\"data\":")
}

fn without_data(raw: &[u8]) -> Vec<u8> {
    erased(raw, ",\"data\":", ",\"id\":")
}

fn note(text: &str) -> NextAdded {
    NextAdded { text: text.into() }
}

#[test]
fn what_is_erased_in_either_spelling_is_erased() {
    let full = event(5, note("secret"), &[opened().id]).raw;
    let (nobody, nothing) = (without_author(&full), without_data(&full));
    let neither = without_author(&nothing);
    let spellings = [&full, &nobody, &nothing, &neither];
    for (a, b, left) in [(0, 1, 1), (0, 2, 2), (0, 3, 3), (1, 2, 3), (1, 3, 3), (2, 3, 3), (1, 1, 1)] {
        for pair in [[a, b], [b, a]] {
            let texts = pair.map(|i: usize| spellings[i].as_slice());
            let ledger = Ledger::parse(&texts.join(&b'\n'));
            assert_eq!(ledger.events.len(), 1);
            assert_eq!(ledger.events[0].raw, *spellings[left], "{pair:?}");
            let read = Line::parse(spellings[left]);
            assert_eq!(read.event(), Some(&ledger.events[0]), "{pair:?}");
            assert_eq!(unite(texts), [spellings[left].as_slice(), b"\n"].concat());
        }
    }
}

#[test]
fn a_strangers_opening_event_opens_nothing() {
    let mine = opened();
    let other = event(2, IncidentOpened { title: "not this one".into(), ..Default::default() }, &[]);
    let ledger = Ledger::parse(&bytes(&[mine.clone(), other]));
    let incident = ledger.incident(&anchor(), &|raw| raw == mine.raw);
    assert_eq!(*incident.title, "it hangs");
    assert_eq!(incident.damaged.len(), 1);
}

fn opening_of(lines: &[&[u8]], anchor_line: &[u8]) -> (Option<EventId>, usize) {
    let incident = Ledger::parse(&lines.join(&b'\n')).incident(&anchor(), &|raw| raw == anchor_line);
    (incident.opened.map(|o| o.event), incident.damaged.len())
}

#[test]
fn an_erased_opening_event_opens_only_in_the_anchors_place() {
    let mine = opened();
    let stranger = event(0, IncidentOpened::default(), &[]);
    let theirs = [without_author(&stranger.raw), without_data(&stranger.raw)];
    let purged = without_data(&mine.raw);
    for foreign in &theirs {
        assert_eq!(opening_of(&[&mine.raw, foreign], &mine.raw), (Some(mine.id), 1));
        // Also when somebody else has erased the anchor, as long as its line is somewhere.
        assert_eq!(opening_of(&[foreign, &purged, &mine.raw], &mine.raw), (Some(mine.id), 1));
        // Nothing tells the anchor's name any more: the events of the ledger stand on it.
        let next = event(7, note("n"), &[mine.id]);
        let purged = [&purged, foreign, &next.raw].map(Vec::as_slice);
        assert_eq!(opening_of(&purged, &mine.raw), (Some(mine.id), 1));
        // The key of a segment's note is the line of another event.
        assert_eq!(opening_of(&purged, &next.raw).0, None);
    }
    assert_eq!(opening_of(&[&purged], &mine.raw), (Some(mine.id), 0));
    assert_eq!(opening_of(&[&stranger.raw], &mine.raw), (None, 1));
}

#[test]
fn contradictions_show_after_many_forks_that_were_joined() {
    let mut events = vec![opened()];
    let mut head = events[0].id;
    let mut at = 2;
    for _ in 0..1500 {
        let (a, b) = (event(at, note("a"), &[head]), event(at + 1, note("b"), &[head]));
        let join = event(at + 2, note("join"), &[a.id, b.id]);
        head = join.id;
        at += 3;
        events.extend([a, b, join]);
    }
    let close = IncidentClosed { status: Status::Resolved, note: String::new(), gaps: vec![] };
    events.push(event(at, close, &[head]));
    events.push(event(at + 1, IncidentReopened::default(), &[head]));
    let incident = Ledger::from_lines(events.into_iter().map(|e| Line::Event(Box::new(e))))
        .incident(&anchor(), &|_| true);
    assert_eq!(incident.status.rivals().collect::<Vec<_>>(), [&Status::Resolved]);
}

#[test]
fn a_ledger_too_costly_to_judge_has_an_end() {
    let mut events = vec![opened()];
    for round in 1_i64..=5 {
        let parents: Vec<EventId> = events.iter().rev().take(1024).map(|e| e.id).collect();
        // Sealing them would take longer than all the rest.
        events.extend((0_u16..1024).map(|i| {
            let mut id = [round as u8; 32];
            id[..2].copy_from_slice(&i.to_be_bytes());
            Event {
                id: EventId::from_bytes(id),
                at: Timestamp::from_millis(round),
                parents: parents.clone(),
                ..opened()
            }
        }));
    }
    let sorted = sort(events);
    let last = sorted.len() - 1;
    assert!(Ancestry::of(&sorted).is_after(last, sorted[0].id));
}

fn ended(attempt: EventId, bug: Bug, conclusion: &str) -> AttemptEnded {
    AttemptEnded {
        attempt,
        outcome: Outcome { hypothesis: Hypothesis::Supported, bug },
        action: String::new(),
        result: String::new(),
        conclusion: conclusion.into(),
        rules_out: vec![],
    }
}

#[test]
fn a_conclusion_nobody_has_seen_stays_a_rival() {
    let open = opened();
    let start = event(2, AttemptStarted::default(), &[open.id]);
    let unseen = event(10, ended(start.id, Bug::Fixed, "unseen"), &[start.id]);
    let seen = event(11, ended(start.id, Bug::Remains, "seen"), &[start.id]);
    let last = event(12, ended(start.id, Bug::Unknown, "last"), &[seen.id]);
    let incident = fold(&Ledger::parse(&bytes(&[open, start, unseen, seen, last])));
    let rivals: Vec<&str> = incident.attempts[0].rivals.iter().map(|(_, c)| c.as_str()).collect();
    assert_eq!(rivals, ["unseen"]);
}

#[test]
fn a_verdict_on_a_cause_nobody_has_seen_stays_a_rival() {
    let open = opened();
    let cause = event(2, CauseProposed::default(), &[open.id]);
    let confirmed =
        CauseConfirmed { cause: cause.id, accounts: vec![], disproof: None, mechanism: String::new() };
    let reject = |r: &str| CauseRejected { cause: cause.id, reason: r.into() };
    let unseen = event(10, confirmed, &[cause.id]);
    let seen = event(11, reject("seen"), &[cause.id]);
    let last = event(12, reject("last"), &[seen.id]);
    let incident = fold(&Ledger::parse(&bytes(&[open, cause, unseen, seen, last])));
    assert_eq!(*incident.causes[0].rivals, [CauseState::Confirmed]);
}

#[test]
fn rows_set_at_the_same_time_contradict_when_they_differ() {
    let open = opened();
    let row = |eliminated| DifferenceSet {
        factor: "f".into(),
        working: "w".into(),
        broken: "b".into(),
        eliminated,
        ..Default::default()
    };
    let rivals = |second| {
        let (a, b) = (event(2, row(false), &[open.id]), event(3, row(second), &[open.id]));
        fold(&Ledger::parse(&bytes(&[open.clone(), a, b]))).differences[0].rivals.len()
    };
    assert_eq!((rivals(false), rivals(true)), (0, 1));
}

#[test]
fn a_tombstone_erases_what_another_clone_added_at_the_same_time() {
    let open = opened();
    let blob = Oid::parse(&"1".repeat(40)).unwrap();
    let add = || EvidenceAdded { oid: Some(blob.clone()), name: "n".into(), ..Default::default() };
    let first = event(2, add(), &[open.id]);
    let tombstone = EvidenceErased { oid: blob.clone(), reason: String::new() };
    let gone = event(3, tombstone, &[first.id]);
    let again = event(4, add(), &[open.id]);
    let incident = fold(&Ledger::parse(&bytes(&[open, first, gone, again])));
    assert!(incident.evidence.len() == 2 && incident.evidence.iter().all(|e| e.erased));
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
