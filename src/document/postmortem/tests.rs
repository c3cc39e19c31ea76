//! A golden draft, the gaps of an empty one, and hostile text in every field.

use proptest::prelude::*;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::*;
use crate::event::{
    AttemptEnded, AttemptStarted, CauseConfirmed, CauseProposed, CauseRejected, CommitLinked, Data,
    DifferenceSet, EvidenceAdded, GateRecorded, IncidentOpened, NextAdded, ReproRan, ReproSet,
};
use crate::model::Timestamp;
use crate::model::incident::{Account, FileRef, Stamp};
use crate::model::outcome::{Bug, Hypothesis, Outcome};
use crate::model::status::{Role, Verdict};

fn oid(digit: char) -> Oid {
    Oid::parse(&digit.to_string().repeat(40)).unwrap()
}

/// The id of the event at a position.
fn id(position: usize) -> EventId {
    EventId::from_bytes([position as u8 + 1; 32])
}

/// Applies events in a row, an hour apart, each knowing of all before it.
fn fold(events: Vec<Data>) -> Incident {
    let mut incident = Incident::default();
    let opened = Timestamp::parse("2026-03-01T09:00:00.000Z").unwrap();
    for (i, data) in events.into_iter().enumerate() {
        let stamp = Stamp {
            event: id(i),
            at: Timestamp::from_millis(opened.millis() + i as i64 * 3_600_000),
            by: None,
        };
        let context = crate::event::Context { stamp, is_after: &|_| true };
        data.apply(&context, &mut incident);
    }
    incident
}

fn ended(attempt: usize, hypothesis: Hypothesis, bug: Bug, text: &str) -> Data {
    AttemptEnded {
        attempt: id(attempt),
        outcome: Outcome { hypothesis, bug },
        action: format!("{text}: action"),
        result: format!("{text}: result"),
        conclusion: format!("{text}: conclusion"),
        rules_out: vec![format!("{text}: ruled out")],
    }
    .into()
}

fn linked(commit: char, role: Role, attempt: Option<usize>, subject: &str) -> Data {
    CommitLinked {
        commit: oid(commit),
        role,
        attempt: attempt.map(id),
        patch_id: String::new(),
        tree: None,
        subject: subject.to_owned(),
        pr: String::new(),
    }
    .into()
}

/// An incident with something in every field; `text` decides what.
fn incident(text: &dyn Fn(&str) -> String) -> Incident {
    let mut incident = fold(vec![
        IncidentOpened {
            title: text("softmax returns NaN for large inputs"),
            ticket: text("GPU-123"),
            symptom: text("`softmax([1000, 1000])` prints:\n\n```\nnan nan\n```\n\nSmall inputs are right."),
            environment: text("B200, driver 570.1"),
            files: vec![FileRef { path: text("softmax.py"), note: text("the kernel") }],
            labels: vec![],
        }
        .into(),
        ReproSet { command: vec!["python3".into(), text("check softmax.py")], ..ReproSet::default() }.into(),
        ran(5, 5, 'c', &text("Zen 5")),
        AttemptStarted {
            title: text("clamp the output"),
            hypothesis: text("the division is wrong"),
            disproof: text("NaN before the division"),
            action: String::new(),
        }
        .into(),
        ended(3, Hypothesis::Refuted, Bug::Remains, &text("clamp")),
        linked('9', Role::Failed, Some(3), &text("Clamp softmax output")),
        AttemptStarted {
            title: String::new(),
            hypothesis: text("exp overflows for inputs above 709"),
            disproof: text("finite exp at 1000"),
            action: String::new(),
        }
        .into(),
        ended(6, Hypothesis::Supported, Bug::Fixed, &text("shift")),
        EvidenceAdded {
            oid: Some(oid('e')),
            bytes: 42,
            name: text("exp.log"),
            kind: "log".into(),
            attempt: Some(id(6)),
            ..EvidenceAdded::default()
        }
        .into(),
        CauseProposed { text: text("the division loses digits"), ..CauseProposed::default() }.into(),
        CauseRejected { cause: id(9), reason: text("NaN stands there before it") }.into(),
        CauseProposed {
            text: text("`exp(x)` is taken of the raw input and is `inf` above 709"),
            ..CauseProposed::default()
        }
        .into(),
        CauseConfirmed {
            cause: id(11),
            accounts: vec![
                Account { attempt: id(3), how: text("clamping NaN keeps NaN") },
                Account { attempt: id(6), how: text("without the overflow there is no inf to divide") },
            ],
            disproof: Some(id(6)),
            mechanism: text("`inf / inf` is NaN, and every row with one is NaN"),
        }
        .into(),
        linked('1', Role::Fix, Some(6), &text("Shift softmax inputs by their maximum")),
        ran(4, 0, 'a', &text("Zen 5")),
        GateRecorded {
            gate: text("correctness"),
            verdict: Verdict::Pass,
            tree: Some(oid('a')),
            device: text("cpu"),
            descriptor: Some(oid('d')),
        }
        .into(),
        GateRecorded {
            gate: text("v3"),
            verdict: Verdict::NotRun,
            tree: Some(oid('a')),
            device: String::new(),
            descriptor: None,
        }
        .into(),
        DifferenceSet {
            factor: text("input"),
            working: text("1.0"),
            broken: text("1000.0"),
            ..DifferenceSet::default()
        }
        .into(),
        NextAdded { text: text("audit the other kernels for raw exp") }.into(),
    ]);
    incident.id = Some(oid('f'));
    incident
}

fn ran(runs: u32, failures: u32, tree: char, cpu: &str) -> Data {
    ReproRan {
        repro: id(1),
        runs,
        failures,
        tree: Some(oid(tree)),
        millis: 2_500,
        environment: json!({"cpu": cpu, "cpus": 8}),
        ..ReproRan::default()
    }
    .into()
}

fn facts(digit: char, text: &dyn Fn(&str) -> String, subject: &str) -> CommitFacts {
    CommitFacts {
        commit: oid(digit),
        subject: text(subject),
        date: text("2026-02-01"),
        author: text("Ada"),
        pr: text("#77"),
        paths: vec![],
    }
}

fn write(incident: &Incident, text: &dyn Fn(&str) -> String) -> String {
    draft(&DraftInput {
        incident,
        validation: Validation {
            runs: 5,
            failures: 5,
            needed: 4,
            fix_runs: 4,
            fix_failures: 0,
            commit: Some(oid('1')),
            tree: Some(oid('a')),
            rate_series: vec![id(2)],
            fix_series: vec![id(14)],
        },
        fixes: &[facts('1', text, "Shift softmax inputs by their maximum")],
        offending: &[facts('0', text, "Write softmax by hand")],
        changed: &[ChangedFile { path: text("softmax.py"), added: Some(3), deleted: Some(1) }],
        owner: &text("Ada"),
    })
    .unwrap()
}

/// The headings of level 1 and 2 that a reader of the document sees, and whether raw HTML other than
/// our own comment, a foreign link or an image stands in it.
fn outline(markdown: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let (mut tops, mut blocks, mut odd) = (Vec::new(), Vec::new(), Vec::new());
    let mut open: Option<(HeadingLevel, String)> = None;
    for event in
        Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_GFM | Options::ENABLE_TASKLISTS)
    {
        match event {
            Event::Start(Tag::Heading { level, .. }) => open = Some((level, String::new())),
            Event::End(TagEnd::Heading(_)) => match open.take() {
                Some((HeadingLevel::H1, text)) => tops.push(text),
                Some((HeadingLevel::H2, text)) => blocks.push(text),
                Some((HeadingLevel::H3, text)) if text.starts_with("Attempt ") => {}
                other => odd.push(format!("{other:?}")),
            },
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, heading)) = &mut open {
                    heading.push_str(&text);
                }
            }
            Event::Html(html) if html.starts_with("<!-- git-incident: ") => {}
            Event::Html(html) | Event::InlineHtml(html) => odd.push(html.into_string()),
            Event::Start(Tag::Link { dest_url, .. }) if !dest_url.starts_with("#attempt-") => {
                odd.push(dest_url.into_string());
            }
            Event::Start(Tag::Image { dest_url, .. }) => odd.push(dest_url.into_string()),
            _ => {}
        }
    }
    (tops, blocks, odd)
}

#[test]
fn the_softmax_incident_drafts_as_it_should() {
    let plain = |t: &str| t.to_owned();
    let got = write(&incident(&plain), &plain);
    assert_eq!(got, include_str!("golden.md"), "{got}");
    assert_eq!(got, write(&incident(&plain), &plain), "the same input gives the same bytes");
}

#[test]
fn an_empty_incident_is_all_gaps() {
    let incident = Incident { id: Some(oid('f')), ..Incident::default() };
    let got = draft(&DraftInput {
        incident: &incident,
        validation: Validation { needed: crate::model::rate::NEVER, ..Validation::default() },
        fixes: &[],
        offending: &[],
        changed: &[],
        owner: "",
    })
    .unwrap();
    assert!(got.starts_with("# Post-mortem: (untitled)\n\n<!-- git-incident: incident=ffff"));
    assert_eq!(outline(&got).1, BLOCKS);
    for block in BLOCKS {
        let start = got.find(&format!("## {block}\n")).unwrap();
        let text = got[start + 3..].split("\n## ").next().unwrap();
        assert!(text.contains(GAP), "{block} has no gap:\n{text}");
    }
    assert!(!got.contains("\n\n\n"), "{got}");
}

#[test]
fn what_was_not_run_is_said() {
    let plain = |t: &str| t.to_owned();
    let mut incident = incident(&plain);
    incident.repro.runs[0].environment = json!({"gpus": [{"name": "B200", "driver": "570"}]});
    let got = write(&incident, &plain);
    assert!(got.contains("- The fix on B200 (driver 570), where the bug was measured.\n"), "{got}");
    assert!(got.contains("- Gate `v3` on the fix: not-run.\n"));
}

#[test]
fn an_incident_without_an_id_is_refused() {
    let plain = |t: &str| t.to_owned();
    let mut incident = incident(&plain);
    incident.id = None;
    let input = DraftInput {
        incident: &incident,
        validation: Validation::default(),
        fixes: &[],
        offending: &[],
        changed: &[],
        owner: "",
    };
    assert!(draft(&input).is_err());
}

#[test]
fn a_template_that_never_ends_is_stopped() {
    let context = json!({"many": vec![0; 3_000]});
    let loops =
        "{% for a in many %}{% for b in many %}{% for c in many %}x{% endfor %}{% endfor %}{% endfor %}";
    assert!(render(loops, &context).is_err());
}

#[test]
fn the_longest_incident_stays_within_the_fuel() {
    let plain = |t: &str| t.repeat(30);
    let mut incident = incident(&plain);
    let attempt = incident.attempts[0].clone();
    for ordinal in 3..400 {
        let mut next = attempt.clone();
        next.ordinal = ordinal;
        for _ in 0..9 {
            next.rivals.add(next.started.event, (Outcome::default(), plain("x")));
        }
        incident.attempts.push(next);
    }
    let got = write(&incident, &plain);
    assert!(got.contains("…and 299 more attempts"));
    assert!(got.len() < 1_000_000, "{}", got.len());
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "\n",
            "\n\n",
            "# ",
            "## Summary\n",
            "\n## Validation\n",
            "---\n",
            "\n===\n",
            "- ",
            "> ",
            "1. ",
            "`",
            "```\n",
            "~~~\n",
            "<!-- ",
            "-->",
            "<details>\n",
            "[a](javascript:x)",
            "![i](u)",
            "[x]: /u\n",
            "|---|\n",
            "\\",
            "    ",
            "{{ title }}",
            "{% endif %}",
            "word",
            "é",
            "\u{1b}[1m",
            "**",
            "#",
            "*",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_field_changes_the_outline(texts in proptest::collection::vec(hostile(), 1..8), ) {
        let count = std::cell::Cell::new(0);
        let pick = |_: &str| {
            count.set(count.get() + 1);
            texts[count.get() % texts.len()].clone()
        };
        let got = write(&incident(&pick), &pick);
        let (tops, blocks, odd) = outline(&got);
        prop_assert_eq!(blocks, BLOCKS, "{}", got);
        prop_assert_eq!(tops.len(), 1, "{}", got);
        prop_assert_eq!(odd, Vec::<String>::new(), "{}", got);
    }
}
