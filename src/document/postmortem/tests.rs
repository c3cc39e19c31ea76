//! Golden drafts, the gaps of an empty one, and hostile text in every field.

use proptest::prelude::*;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::*;
use crate::event::{
    AttemptEnded, AttemptNoted, AttemptStarted, CauseConfirmed, CauseProposed, CauseRejected, CommitLinked,
    Data, DifferenceSet, EvidenceAdded, GateRecorded, IncidentClosed, IncidentOpened, NextAdded,
    PostmortemNoted, ReproRan, ReproSet,
};
use crate::model::Timestamp;
use crate::model::incident::{Account, FileRef, Stamp};
use crate::model::outcome::{Bug, Hypothesis, Outcome};
use crate::model::status::{Role, Status, Verdict};

const WEB: &str = "https://github.com/example/kernels/";

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
        ..CommitLinked::default()
    }
    .into()
}

/// An incident with something in every field; `text` decides what.
fn incident(text: &dyn Fn(&str) -> String) -> Incident {
    incident_with(text, vec![])
}

fn incident_with(text: &dyn Fn(&str) -> String, more: Vec<Data>) -> Incident {
    let mut events = vec![
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
    ];
    events.extend(more);
    let mut incident = fold(events);
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
    write_as("bugfix", "", incident, text)
}

fn write_as(profile: &str, web: &str, incident: &Incident, text: &dyn Fn(&str) -> String) -> String {
    with_input(profile, web, incident, text, |input| draft(input, None).unwrap())
}

/// Hands on an input with something in every field.
fn with_input<R>(
    profile: &str,
    web: &str,
    incident: &Incident,
    text: &dyn Fn(&str) -> String,
    then: impl FnOnce(&DraftInput<'_>) -> R,
) -> R {
    then(&DraftInput {
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
            configured: vec![
                ConfiguredGate { id: text("correctness"), device: "any".into() },
                ConfiguredGate { id: text("soak"), device: "cuda".into() },
            ],
            waiting: vec![WaitingGate { id: text("v3"), tree: oid('a'), reason: text("no cuda device") }],
            records: vec![RecordFacts {
                descriptor: oid('d'),
                runs: 3,
                passes: 3,
                exit: Some(0),
                millis: 1_500,
                fresh: true,
                counts: true,
                evidence: Some(oid('7')),
            }],
        },
        fixes: &[facts('1', text, "Shift softmax inputs by their maximum")],
        offending: &[facts('0', text, "Write softmax by hand")],
        changed: &[ChangedFile { path: text("softmax.py"), added: Some(3), deleted: Some(1) }],
        profile,
        web,
    })
}

/// What people say of an incident beside the investigation.
fn notes(text: &dyn Fn(&str) -> String) -> Vec<Data> {
    let note = |block: &str, said: &str| PostmortemNoted {
        block: block.to_owned(),
        text: text(said),
        ..PostmortemNoted::default()
    };
    vec![
        note("impact", "412 of 9,000 jobs returned NaN\n\nNobody paid for them.").into(),
        note("detection", "A user compared two runs.").into(),
        PostmortemNoted {
            happened: "2026-02-27T22:10:00.000Z".into(),
            ..note("timeline", "the first job returns NaN")
        }
        .into(),
        AttemptNoted {
            text: text("all jobs use the new kernel"),
            important: true,
            ..AttemptNoted::default()
        }
        .into(),
        AttemptNoted { text: text("of no importance"), ..AttemptNoted::default() }.into(),
        PostmortemNoted { reason: "workload-gap".into(), ..note("slipped", "no test has inputs above 709") }
            .into(),
        note("lesson", "a reference in higher precision found it in a minute").into(),
        note("question", "do other rows overflow in float16?").into(),
        PostmortemNoted { owner: text("Ada"), link: text("#124"), ..note("action", "test inputs above 709") }
            .into(),
        note("action", "look at the other kernels").into(),
        note("owner", "the numerics team").into(),
        IncidentClosed { status: Status::Resolved, note: String::new(), gaps: vec![] }.into(),
    ]
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
            Event::Start(Tag::Link { dest_url, .. })
                if !dest_url.starts_with("#attempt-") && !dest_url.starts_with(WEB) =>
            {
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

/// The blocks of the profile `incident`.
const INCIDENT: [&str; 14] = [
    "Summary",
    "Impact",
    "Detection",
    "Symptom",
    "Timeline",
    "Root cause",
    "Why it produced the symptom",
    "Fix",
    "How it was found",
    "Why it slipped through",
    "Validation",
    "Lessons",
    "Open questions",
    "Action items",
];

fn empty_input<'a>(incident: &'a Incident, profile: &'a str) -> DraftInput<'a> {
    DraftInput {
        incident,
        validation: Validation { needed: crate::model::rate::NEVER, ..Validation::default() },
        fixes: &[],
        offending: &[],
        changed: &[],
        profile,
        web: "",
    }
}

#[test]
fn the_profile_incident_drafts_what_people_said_too() {
    let plain = |t: &str| t.to_owned();
    let got = write_as("incident", WEB.trim_end_matches('/'), &incident_with(&plain, notes(&plain)), &plain);
    assert_eq!(got, include_str!("golden-incident.md"), "{got}");
    assert_eq!(outline(&got).1, INCIDENT);
    assert_eq!(outline(&got).2, Vec::<String>::new());
}

#[test]
fn every_variable_of_the_templates_is_documented() {
    let plain = |t: &str| t.to_owned();
    let stored = EvidenceAdded { oid: Some(oid('5')), name: "nan.log".into(), ..EvidenceAdded::default() };
    let more = [notes(&plain), vec![AttemptStarted::default().into(), stored.into()]].concat();
    let mut found = std::collections::BTreeSet::new();
    with_input("incident", "", &incident_with(&plain, more), &plain, |input| {
        variables("", &context(input).unwrap(), &mut found);
    });
    let empty = Incident { id: Some(oid('f')), ..Incident::default() };
    variables("", &context(&empty_input(&empty, "incident")).unwrap(), &mut found);
    let page = include_str!("../../../docs/TEMPLATES.md");
    let documented: std::collections::BTreeSet<String> =
        page.lines().filter_map(|l| l.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect();
    assert_eq!(found, documented);
}

/// The names of leaves: `a.b`, `a.items[]`, `a.items[].c`.
fn variables(name: &str, value: &Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (key, inner) in members {
                let dot = if name.is_empty() { "" } else { "." };
                variables(&format!("{name}{dot}{key}"), inner, found);
            }
        }
        // What an empty list would hold, another incident shows.
        Value::Array(items) => items.iter().for_each(|i| variables(&format!("{name}[]"), i, found)),
        _ => {
            found.insert(name.to_owned());
        }
    }
}

#[test]
fn a_claimed_record_is_no_validation() {
    let plain = |t: &str| t.to_owned();
    let incident = incident(&plain);
    let mut input = empty_input(&incident, "bugfix");
    input.validation.tree = Some(oid('a'));
    input.validation.records = vec![RecordFacts {
        descriptor: oid('d'),
        runs: 1,
        passes: 1,
        exit: None,
        millis: 0,
        fresh: false,
        counts: false,
        evidence: None,
    }];
    let got = draft(&input, None).unwrap();
    assert!(
        got.contains("- Gate `correctness` on the fix, in this clone: its record was made elsewhere"),
        "{got}"
    );
    assert!(got.contains("claimed: made elsewhere"), "{got}");
    assert!(got.contains("- The repro on the fix.\n"), "{got}");
}

#[test]
fn github_addresses_are_known_without_their_secrets() {
    for url in [
        "https://github.com/o/r.git",
        "https://user:word@github.com/o/r",
        "git@github.com:o/r.git",
        "ssh://git@github.com/o/r.git/",
        "ssh://git@ssh.github.com:443/o/r.git",
    ] {
        assert_eq!(web_address(url).as_deref(), Some("https://github.com/o/r"), "{url}");
    }
    for url in [
        "",
        "/srv/r.git",
        "file:///srv/r",
        "https://example.org/o/r",
        "https://github.com.example.org/o/r",
        "https://github.com/o",
        "https://github.com/o/r/x",
        "https://github.com/o/r)[x](javascript:1",
        "https://github.com/../r",
        "github.com:o/r",
    ] {
        assert_eq!(web_address(url), None, "{url}");
    }
}

#[test]
fn an_empty_incident_is_all_gaps() {
    let incident = Incident { id: Some(oid('f')), ..Incident::default() };
    let got = draft(&empty_input(&incident, "incident"), None).unwrap();
    assert!(got.starts_with("# Post-mortem: (untitled)\n\n<!-- git-incident: incident=ffff"));
    assert_eq!(outline(&got).1, INCIDENT);
    for block in INCIDENT {
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
    assert!(got.contains("- Gate `v3` on the fix waits for its device: no cuda device.\n"), "{got}");
    assert!(
        got.contains("- Gate `soak` (device cuda): configured, and this incident has no result of it.\n")
    );
}

#[test]
fn an_incident_without_an_id_is_refused() {
    let plain = |t: &str| t.to_owned();
    let mut incident = incident(&plain);
    incident.id = None;
    assert!(draft(&empty_input(&incident, "bugfix"), None).is_err());
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
        let incident = incident_with(&pick, notes(&pick));
        for (profile, titles) in [("bugfix", &BLOCKS[..]), ("incident", &INCIDENT[..])] {
        let got = write_as(profile, WEB.trim_end_matches('/'), &incident, &pick);
        let (tops, blocks, odd) = outline(&got);
        prop_assert_eq!(blocks, titles, "{}", got);
        prop_assert_eq!(tops.len(), 1, "{}", got);
        prop_assert_eq!(odd, Vec::<String>::new(), "{}", got);
        }
    }
}
