//! The index against itself: brought up to date step by step, and built from nothing.

use proptest::prelude::*;

use super::open::{Index, Patience};
use crate::event::{AttemptEnded, AttemptNoted, AttemptStarted, IncidentEdited, IncidentOpened};
use crate::git::Repo;
use crate::model::incident::Author;
use crate::model::outcome::{Bug, Hypothesis, Outcome};
use crate::model::{EventId, Oid, Timestamp};
use crate::search::query;
use crate::store::ledger::{self, Writer};

/// A step of a random history.
#[derive(Debug, Clone)]
enum Step {
    Open(String),
    Start(usize, String),
    Note(usize, String),
    End(usize, bool, String),
    Title(usize, String),
    Ask,
}

fn words() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            Just("tile"),
            Just("mask"),
            Just("masked"),
            Just("barrier"),
            Just("Ärger"),
            Just("a\u{0}b"),
            Just("x_y"),
            Just("\"q\"")
        ],
        1..5,
    )
    .prop_map(|w| w.join(" "))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => words().prop_map(Step::Open),
        3 => (0..4_usize, words()).prop_map(|(n, w)| Step::Start(n, w)),
        2 => (0..4_usize, words()).prop_map(|(n, w)| Step::Note(n, w)),
        2 => (0..4_usize, any::<bool>(), words()).prop_map(|(n, f, w)| Step::End(n, f, w)),
        1 => (0..4_usize, words()).prop_map(|(n, w)| Step::Title(n, w)),
        3 => Just(Step::Ask),
    ]
}

fn answers(index: &Index) -> String {
    let mut said = Vec::new();
    let mut rows = index.rows().unwrap();
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    said.push(format!("{rows:?}"));
    for text in
        ["tile", "mask -barrier", "\"tile mask\"", "status:open ärger", "outcome:refuted", "x_y not:q"]
    {
        let query = query::parse(text, Timestamp::from_millis(0)).unwrap();
        said.push(format!("{text}: {:?}", index.search(&query, None, 0, 50).unwrap()));
    }
    for text in ["the tile is masked", "barrier mask"] {
        said.push(format!("{text}: {:?}", index.alike(text, 0.1, &[], 50).unwrap()));
    }
    said.push(tally(index));
    said.join("\n")
}

/// The counts of words as they are kept, and as they are in truth.
fn tally(index: &Index) -> String {
    let both = |sql: &str| -> Vec<String> {
        let mut statement = index.connection.prepare(sql).unwrap();
        let rows = statement
            .query_map([], |row| Ok(format!("{} {}", row.get::<_, String>(0)?, row.get::<_, i64>(1)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    index
        .connection
        .execute_batch("CREATE VIRTUAL TABLE IF NOT EXISTS temp.word USING fts5vocab('main', 'words', 'row')")
        .unwrap();
    let kept = both("SELECT term, docs FROM tally ORDER BY term");
    assert_eq!(kept, both("SELECT term, doc FROM temp.word ORDER BY term"));
    kept.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn step_by_step_and_from_nothing_are_the_same(steps in proptest::collection::vec(step(), 1..24)) {
        let directory = tempfile::tempdir().unwrap();
        let raw = git2::Repository::init(directory.path()).unwrap();
        raw.config().unwrap().set_str("incident.index", "always").unwrap();
        let repo = Repo::open(directory.path()).unwrap();
        let salt = || Ok("1".repeat(32));
        let mut incidents: Vec<(Oid, Vec<EventId>)> = Vec::new();
        for (n, step) in steps.iter().enumerate() {
            let writer = Writer {
                signature: git2::Signature::now("A", "a@example.org").unwrap(),
                author: Author { email: "a@example.org".into(), name: "A".into(), ..Author::default() },
                // Several in one second, as an import has them.
                now: Timestamp::from_millis(1_700_000_000_000 + n as i64 * 300),
                salt: &salt,
            };
            let at = |n: usize| if incidents.is_empty() { None } else { Some(n % incidents.len()) };
            match step {
                Step::Open(title) => {
                    let opened = IncidentOpened { title: title.clone(), ..Default::default() };
                    let id = ledger::open(&repo, &writer, &[], |d| d.add(opened)).unwrap().incident;
                    if !incidents.iter().any(|(known, _)| *known == id) {
                        incidents.push((id, Vec::new()));
                    }
                }
                Step::Start(n, hypothesis) => if let Some(n) = at(*n) {
                    let started = AttemptStarted { hypothesis: hypothesis.clone(), ..Default::default() };
                    let event = ledger::append(&repo, &writer, &incidents[n].0, &[], |d| d.add(started)).unwrap().value;
                    incidents[n].1.push(event);
                },
                Step::Note(n, text) => if let Some(n) = at(*n) {
                    let attempt = incidents[n].1.last().copied();
                    let noted = AttemptNoted { attempt, text: text.clone(), ..Default::default() };
                    ledger::append(&repo, &writer, &incidents[n].0, &[], |d| d.add(noted)).unwrap();
                },
                Step::End(n, fixed, text) => if let Some(n) = at(*n)
                    && let Some(attempt) = incidents[n].1.last().copied()
                {
                    let outcome = if *fixed {
                        Outcome { hypothesis: Hypothesis::Supported, bug: Bug::Fixed }
                    } else {
                        Outcome { hypothesis: Hypothesis::Refuted, bug: Bug::Remains }
                    };
                    let ended = AttemptEnded {
                        attempt, outcome, action: String::new(), result: String::new(),
                        conclusion: text.clone(), rules_out: vec![],
                    };
                    ledger::append(&repo, &writer, &incidents[n].0, &[], |d| d.add(ended)).unwrap();
                },
                Step::Title(n, title) => if let Some(n) = at(*n) {
                    let edited = IncidentEdited { title: Some(title.clone()), ..Default::default() };
                    ledger::append(&repo, &writer, &incidents[n].0, &[], |d| d.add(edited)).unwrap();
                },
                Step::Ask => {
                    Index::open(&repo, Patience::Endless).unwrap().unwrap();
                }
            }
        }
        let step_by_step = answers(&Index::open(&repo, Patience::Endless).unwrap().unwrap());
        super::forget(&repo);
        let anew = answers(&Index::open(&repo, Patience::Endless).unwrap().unwrap());
        prop_assert_eq!(&step_by_step, &anew);
        raw.config().unwrap().set_str("incident.index", "never").unwrap();
        let repo = Repo::open(directory.path()).unwrap();
        let in_memory = Index::open(&repo, Patience::Endless).unwrap().unwrap();
        prop_assert!(in_memory.path.is_none());
        prop_assert_eq!(&step_by_step, &answers(&in_memory));
    }
}
