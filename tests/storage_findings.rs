//! Where the library does not yet do what `docs/STORAGE.md` and the design say. Each test fails today and is
//! ignored; whoever mends one takes its `#[ignore]` away and moves it beside the code.
//!
//! `cargo test --test storage_findings -- --ignored`

use git_incident::event::line::{Body, seal};
use git_incident::event::{
    AttemptEnded, AttemptStarted, CauseConfirmed, CauseProposed, CauseRejected, Data, DifferenceSet, Event,
    EvidenceAdded, EvidenceErased, IncidentClosed, IncidentOpened, IncidentReopened, LedgerContinued, Line,
    NextAdded,
};
use git_incident::fold::Ledger;
use git_incident::git::Repo;
use git_incident::model::canonical::sha256_hex;
use git_incident::model::incident::{Author, Incident};
use git_incident::model::outcome::{Bug, Hypothesis, Outcome};
use git_incident::model::status::{CauseState, Status};
use git_incident::model::{EventId, Oid, Timestamp};
use git_incident::store::ledger;

fn event(at: i64, data: impl Into<Data>, parents: &[EventId]) -> Event {
    let by = Author {
        name: "Ada".into(),
        ..Author::default()
    };
    seal(Timestamp::from_millis(at), &by, &data.into(), parents, "00").expect("sealed")
}

fn opened(title: &str) -> Event {
    event(
        1,
        IncidentOpened {
            title: title.into(),
            ..Default::default()
        },
        &[],
    )
}

fn note(text: &str) -> NextAdded {
    NextAdded { text: text.into() }
}

fn anchor_of(raw: &[u8]) -> Oid {
    Repo::blob_name(&[raw, b"\n"].concat()).expect("hashed")
}

/// Folds lines; the anchor is the first event's.
fn fold_lines(anchor: &Oid, lines: &[Vec<u8>]) -> Incident {
    Ledger::parse(&lines.join(&b'\n')).incident(anchor, &|raw| ledger::is_anchor(anchor, raw))
}

fn fold(events: &[&Event]) -> Incident {
    let lines: Vec<Vec<u8>> = events.iter().map(|e| e.raw.clone()).collect();
    fold_lines(&anchor_of(&lines[0]), &lines)
}

fn erase(raw: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = std::str::from_utf8(raw).expect("UTF-8");
    let start = text.find(from).expect("a member") + from.len();
    let end = text.find(to).expect("the next member");
    let digest = sha256_hex(&text.as_bytes()[start..end]);
    format!("{}\"{digest}\"{}", &text[..start], &text[end..]).into_bytes()
}

fn without_author(raw: &[u8]) -> Vec<u8> {
    erase(raw, "\"by\":", ",\"data\":")
}

fn without_data(raw: &[u8]) -> Vec<u8> {
    erase(raw, ",\"data\":", ",\"id\":")
}

fn ended(attempt: EventId, bug: Bug, conclusion: &str) -> AttemptEnded {
    AttemptEnded {
        attempt,
        outcome: Outcome {
            hypothesis: Hypothesis::Supported,
            bug,
        },
        action: String::new(),
        result: String::new(),
        conclusion: conclusion.into(),
        rules_out: vec![],
    }
}

// ---- writing ----

struct Clone {
    repo: Repo,
    _directory: tempfile::TempDir,
}

fn repository() -> Clone {
    let directory = tempfile::tempdir().expect("a directory");
    git2::Repository::init(directory.path()).expect("made");
    Clone {
        repo: Repo::open(directory.path()).expect("opened"),
        _directory: directory,
    }
}

fn with_writer<T>(then: impl FnOnce(&ledger::Writer<'_>) -> T) -> T {
    let count = std::cell::Cell::new(0_u64);
    then(&ledger::Writer {
        signature: git2::Signature::new("Ada", "ada@example.org", &git2::Time::new(0, 0))
            .expect("a signature"),
        author: Author {
            name: "Ada".into(),
            ..Author::default()
        },
        now: Timestamp::from_millis(1_772_000_000_000),
        salt: &|| {
            count.set(count.get() + 1);
            Ok(sha256_hex(&count.get().to_be_bytes())[..32].to_owned())
        },
    })
}

#[test]
#[ignore = "an event with more than 1024 parents is written and cannot be read"]
fn an_event_after_too_many_heads_can_be_read() {
    let parents: Vec<EventId> = (0..1025_u32)
        .map(|i| event(i.into(), note("n"), &[]).id)
        .collect();
    let by = Author::default();
    // Refusing here is fine, as long as `store::ledger` then names fewer heads.
    if let Ok(event) = seal(
        Timestamp::from_millis(9999),
        &by,
        &note("n").into(),
        &parents,
        "00",
    ) {
        assert!(Line::parse(&event.raw).event().is_some());
    }
}

#[test]
#[ignore = "Tail::read takes what only an unread segment names as a parent for a head"]
fn a_writer_names_heads_only() {
    let clone = repository();
    with_writer(|writer| {
        let open = IncidentOpened {
            title: "x".into(),
            ..Default::default()
        };
        let incident = ledger::open(&clone.repo, writer, &[], |d| d.add(open))
            .expect("opened")
            .incident;
        for n in 0..8 {
            let before = ledger::load(&clone.repo, &incident).expect("loaded").heads();
            let text = NextAdded {
                text: format!("{n}{}", "x".repeat(150_000)),
            };
            let id = ledger::append(&clone.repo, writer, &incident, &[], |d| d.add(text))
                .expect("appended")
                .value;
            let after = ledger::load(&clone.repo, &incident).expect("loaded");
            let event = after.events.iter().find(|e| e.id == id).expect("there");
            assert!(
                event.parents.len() == 1 && before.len() == 1,
                "{n}: {} parents",
                event.parents.len()
            );
        }
    });
}

#[test]
#[ignore = "load follows a ledger.continued to any note"]
fn another_incident_is_no_segment() {
    let clone = repository();
    with_writer(|writer| {
        let open = |t: &str| IncidentOpened {
            title: t.into(),
            ..Default::default()
        };
        let other = ledger::open(&clone.repo, writer, &[], |d| {
            d.add(open("other"))?;
            d.add(AttemptStarted::default())
        })
        .expect("opened")
        .incident;
        let mine = ledger::open(&clone.repo, writer, &[], |d| {
            d.add(open("mine"))?;
            d.add(LedgerContinued {
                segment: other.clone(),
            })
        })
        .expect("opened")
        .incident;
        let incident = ledger::incident(&clone.repo, &mine).expect("folded");
        assert!(
            incident.attempts.is_empty(),
            "the other incident's attempt is counted as ours"
        );
    });
}

#[test]
#[ignore = "load reads a segment that is not here as empty"]
fn a_missing_segment_is_said() {
    let clone = repository();
    with_writer(|writer| {
        let open = IncidentOpened {
            title: "x".into(),
            ..Default::default()
        };
        let gone = Oid::parse(&"1".repeat(40)).expect("an id");
        let incident = ledger::open(&clone.repo, writer, &[], |d| {
            d.add(open)?;
            d.add(LedgerContinued { segment: gone })
        })
        .expect("opened")
        .incident;
        let read = ledger::incident(&clone.repo, &incident);
        assert!(read.is_err() || read.is_ok_and(|i| !i.damaged.is_empty() || !i.unknown.is_empty()));
    });
}
