//! Whole files: real shapes of logs, the round trip, and whatever bytes may come.

use proptest::prelude::*;

use super::*;

/// Reads the only incident of a text and checks that it survives being written.
fn only(text: &str) -> LoggedIncident {
    let log = parse(text);
    assert_eq!(log.incidents.len(), 1, "{log:#?}");
    let incident = log.incidents.into_iter().next().unwrap();
    assert_round_trip(&incident);
    incident
}

fn assert_round_trip(incident: &LoggedIncident) {
    let normal = normalise(incident);
    let written = print(incident);
    let read = parse(&written);
    assert_eq!(read.incidents.len(), 1, "{written}");
    assert_eq!(read.incidents[0], normal, "{written}");
    assert_eq!(print(&read.incidents[0]), written);
}

const LOG: &str = include_str!("../../../tests/fixtures/debuglog/allreduce.md");

#[test]
fn the_canonical_layout() {
    let log = parse(LOG);
    assert_eq!(log.warnings, []);
    let incident = only(LOG);
    assert_eq!(incident.title, "Gradients drift after `all_reduce` on 8 ranks");
    assert_eq!((incident.status, incident.status_note.as_str()), (Status::Open, "one suspect left."));
    assert_eq!(incident.environment, "- GPU: 8 devices, one node\n- Library: 2.1");
    assert_eq!(
        incident.files[1],
        LoggedFile { path: "repro/drift.py".into(), note: "the smallest case".into() }
    );
    let outcomes: Vec<_> =
        incident.attempts.iter().map(|attempt| (attempt.hypothesis_outcome, attempt.bug_outcome)).collect();
    assert_eq!(outcomes, [(Hypothesis::Refuted, Bug::Remains), (Hypothesis::Supported, Bug::Remains)]);
    assert_eq!(incident.attempts[1].result, "- ring: **works**\n- tree: drifts after step 40");
    assert_eq!(
        (incident.working_case.as_str(), incident.broken_case.as_str()),
        ("Script (fine)", "Trainer (drifts)")
    );
    assert_eq!(incident.differences.len(), 3);
    assert_eq!(incident.differences[1].broken, "bf16 buffers, int64 step\n(cast in the hook \u{2192} fp32)");
    assert_eq!(incident.next_preface, "Cheapest first:");
    assert_eq!(
        incident.next[1].text,
        "**Swap the buckets**:\n- by size\n- by order\nThe second is more work."
    );
    let section = &LOG[LOG.find("### Gradients").unwrap()..LOG.find("\n---\n\n## Template").unwrap()];
    assert_eq!(print(&incident), section);
}

/// The log this format was taken from, where the checkout has it beside it.
#[test]
fn the_log_the_layout_comes_from() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/seeds/debug-process.md");
    let Ok(seed) = std::fs::read_to_string(path) else {
        println!("skipped: {path} is not there");
        return;
    };
    let log = parse(&seed);
    assert_eq!(log.warnings, []);
    let incident = only(&seed);
    assert_eq!((incident.line, incident.files.len()), (40, 2));
    assert_eq!((incident.attempts.len(), incident.differences.len(), incident.next.len()), (5, 8, 5));
    for attempt in &incident.attempts {
        let hypothesis = if attempt.ordinal == 4 { Hypothesis::Supported } else { Hypothesis::Refuted };
        assert_eq!((attempt.hypothesis_outcome, attempt.bug_outcome), (hypothesis, Bug::Remains));
    }
    let lines: Vec<&str> = seed.lines().collect();
    let written = print(&incident);
    let differing: Vec<(&str, &str)> = written
        .lines()
        .zip(&lines[incident.line - 1..])
        .filter(|(ours, theirs)| ours != *theirs)
        .map(|(ours, theirs)| (ours, *theirs))
        .collect();
    for (ours, theirs) in &differing {
        println!("- {theirs}\n+ {ours}");
        // Two rows of its table (one has a second line) stand one space too far to the right.
        assert_eq!(
            theirs.split_whitespace().collect::<Vec<_>>(),
            ours.split_whitespace().collect::<Vec<_>>()
        );
        assert_eq!(theirs.len(), ours.len() + 1);
    }
    assert_eq!(differing.len(), 3);
    let end = incident.line - 1 + written.lines().count();
    assert_eq!(lines[end..end + 2], ["", "---"]);
}

#[test]
fn templates_and_examples_are_not_incidents() {
    let text = "# How to\n\n## Protocol\n\n```\n### Attempt 1: x\n**Status:** Open\n```\n\n<!--\n## Bug\n**Status:** Open\n-->\n\n## <Title>\n\n**Status:** Open\n\n### Attempt 1: y\n\n**Result:** z\n";
    let log = parse(text);
    assert_eq!(log.incidents, []);
    assert_eq!(log.warnings.len(), 1);
    assert_eq!(log.warnings[0].line, 15);
}

#[test]
fn other_hands() {
    let text = "\u{feff}Slow start\r\n==========\r\n\r\nStatus: \u{2705} Fixed in v3\r\nIssue: #41\r\nSymptom: takes a minute\r\n\r\nTry 1 - warm the cache\r\n----------------------\r\n\r\nHypothesis: it is cold\r\nSteps: ran twice\r\nResult: still slow\r\n\r\n## Attempt #2 \u{2014} drop the index\r\n\r\n- **What was tried:** dropped it\r\n- **Result**: works now\r\n  - 2 s\r\n- **Outcome:** supported; bug fixed\r\n\r\n## Differences\r\n\r\n| Factor | Broken | Working |\r\n|:--|---|---|\r\n| a \\| b | old<br>2 | new |\r\n| ~~ram~~ | 1 | 2 |\r\n\r\n## TODO\r\n\r\n- [ ] one\r\n- [x] two\r\n  * nested\r\n- ~~three~~\r\n\r\n## Root cause\r\n\r\nAn index.\r\n\r\n## Fix\r\n\r\nDropped.\r\n\r\n## Timeline of events\r\n\r\n10:00 slow\r\n";
    let log = parse(text);
    let incident = only(text);
    assert_eq!(incident.title, "Slow start");
    assert_eq!((incident.status, incident.status_note.as_str()), (Status::Resolved, "Fixed in v3"));
    assert_eq!(incident.ticket.as_deref(), Some("#41"));
    assert_eq!(incident.symptom, "takes a minute");
    let [first, second] = &incident.attempts[..] else { panic!("{incident:#?}") };
    assert_eq!(
        (first.ordinal, first.title.as_str(), first.action.as_str()),
        (1, "warm the cache", "ran twice")
    );
    assert_eq!((first.hypothesis_outcome, first.bug_outcome), (Hypothesis::Refuted, Bug::Remains));
    assert_eq!((second.title.as_str(), second.result.as_str()), ("drop the index", "works now\n- 2 s"));
    assert_eq!((second.hypothesis_outcome, second.bug_outcome), (Hypothesis::Supported, Bug::Fixed));
    assert_eq!(incident.differences[0].factor, "a | b");
    assert_eq!(
        (incident.differences[0].working.as_str(), incident.differences[0].broken.as_str()),
        ("new", "old\n2")
    );
    assert!(incident.differences[1].eliminated && incident.differences[1].factor == "ram");
    let done: Vec<bool> = incident.next.iter().map(|item| item.done).collect();
    assert_eq!(done, [false, true, true]);
    assert_eq!(incident.next[1].text, "two\n* nested");
    assert_eq!((incident.root_cause.as_str(), incident.fix.as_str()), ("An index.", "Dropped."));
    assert_eq!(
        incident.notes,
        [LoggedNote { heading: "Timeline of events".into(), text: "10:00 slow".into() }]
    );
    assert_eq!(log.warnings.iter().map(|warning| warning.line).collect::<Vec<_>>(), [44]);
}

#[test]
fn several_incidents_and_parts_as_headings() {
    let text = "# Log\n\n## One\n\n**Status:** Blocked \u{2014} vendor\n**Owner:** me\n**Symptom:** hangs\n\n**Environment:**\n**GPU:** x\n**Driver:** y\n\n### What we tried\n\n#### 1. Wait\n\n##### What I did\nwaited\n\n##### Result\nnothing\n\n##### Raw output\ntext\n\n#### Attempt: shout\n\nloudly\n\n## Two\n\n### Symptom\n\ncrashes\n\n### Related files\n\n`a.rs`, `b.rs`\n\n## Not one\n\ntext\n";
    let log = parse(text);
    let [one, two] = &log.incidents[..] else { panic!("{log:#?}") };
    assert_eq!(
        (one.title.as_str(), one.status, one.status_note.as_str()),
        ("One", Status::Blocked, "vendor")
    );
    assert_eq!(one.environment, "**GPU:** x\n**Driver:** y");
    assert_eq!(one.notes, [LoggedNote { heading: "Owner".into(), text: "me".into() }]);
    assert_eq!((one.attempts[0].ordinal, one.attempts[0].title.as_str()), (1, "Wait"));
    assert_eq!(one.attempts[0].action, "waited");
    assert_eq!(one.attempts[0].result, "nothing\n\n##### Raw output\ntext");
    assert_eq!((one.attempts[1].ordinal, one.attempts[1].action.as_str()), (2, "loudly"));
    assert_eq!((two.title.as_str(), two.symptom.as_str(), two.files.len()), ("Two", "crashes", 2));
    log.incidents.iter().for_each(assert_round_trip);
}

#[test]
fn a_fence_that_is_never_closed_is_text() {
    let text = "## Bug\n\n**Status:** Open\n\n### Attempt 1\n\n**Result:** this\n```\nlog\n\n### Attempt 2\n\n**Result:** works\n";
    let log = parse(text);
    assert_eq!(log.warnings.len(), 1);
    assert_eq!(only(text).attempts.len(), 2);
}

#[test]
fn fixed_width_rows_that_are_odd() {
    let text = "## Bug\n\n**Symptom:** x\n\n### Key differences\n\n```\nFactor  Good one   Bad one\n------  ---------  -------\nwidth   a b        \u{8868}\u{793a}\nlong-word here     only bad\nfull12  a b c d e  x  y\n        more       and more\n```\n";
    let incident = only(text);
    assert_eq!((incident.working_case.as_str(), incident.broken_case.as_str()), ("Good one", "Bad one"));
    let rows: Vec<[&str; 3]> =
        incident.differences.iter().map(|row| [&*row.factor, &*row.working, &*row.broken]).collect();
    assert_eq!(rows[0], ["width", "a b", "\u{8868}\u{793a}"]);
    assert_eq!(rows[1], ["long-word here", "", "only bad"]);
    assert_eq!(rows[2], ["full12", "a b c d e\nmore", "x  y\nand more"]);
}

/// Lines that try to be structure.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ -~]{0,24}",
        2 => "[ \\\\#*_`~|<>:.\\[\\]xX0-9-]{0,10}",
        1 => "\\PC{0,12}",
        8 => proptest::sample::select(vec![
            "", " ", "# one", "#### Attempt 1: x", "##### Result", "##### other", "###### Next steps", "---", "===", "***",
            "```", "````", "```rust", "~~~", "- ```", "1. ```", "<!--", "-->", "<!-- x -->", "**Result:** x", "**Result**: x",
            "**Status:** Resolved", "**Outcome:** refuted; bug fixed", "**Fix:**", "**Other:** x", "**Other:** ```", "Result: x",
            "- Related files:", "  - `a` \u{2014} b", "- [x] done", "[x] done", "~~struck~~", "~~~~", "1. one", "2) two", "- a",
            "  - b", "    code", "\ttab", "\\# one", "\\\\---", "\\```", "| a | b | c |", "|---|---|---|", "a  b  c", "---  ---  ---",
            "it works", "still hangs", "Confirms it", "fixed", "a vs b", "Working", "<title>", "x #", "Attempt 2: y", "Next steps",
            "a<br>b", "a\\|b", "\u{8868}\u{793a}", "\u{1f9ea} e\u{301}", "\r", "x\r\ny",
        ]).prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(line(), 0..7).prop_map(|lines| lines.join("\n"))
}

fn short() -> impl Strategy<Value = String> {
    prop_oneof![4 => line(), 1 => text()]
}

prop_compose! {
    fn attempt()(
        ordinal in prop_oneof![0_u32..20, any::<u32>()],
        title in short(),
        [hypothesis, disproof, action, result, conclusion] in [text(), text(), text(), text(), text()],
        hypothesis_outcome in proptest::sample::select(Hypothesis::ALL.to_vec()),
        bug_outcome in proptest::sample::select(Bug::ALL.to_vec()),
    ) -> LoggedAttempt {
        LoggedAttempt {
            ordinal, title, hypothesis, disproof, action, result, conclusion, hypothesis_outcome, bug_outcome,
        }
    }
}

prop_compose! {
    fn incident()(
        [title, status_note, working_case, broken_case] in [short(), short(), short(), short()],
        [symptom, environment, root_cause, fix, next_preface] in [text(), text(), text(), text(), text()],
        ticket in proptest::option::of(short()),
        status in proptest::sample::select(Status::ALL.to_vec()),
        files in proptest::collection::vec((short(), short()), 0..3),
        attempts in proptest::collection::vec(attempt(), 0..3),
        differences in proptest::collection::vec((short(), short(), text(), any::<bool>()), 0..4),
        next in proptest::collection::vec((text(), any::<bool>()), 0..4),
        notes in proptest::collection::vec((short(), text()), 0..3),
    ) -> LoggedIncident {
        LoggedIncident {
            title, line: 7, status, status_note, ticket, symptom, environment, root_cause, fix, attempts, working_case,
            broken_case, next_preface,
            files: files.into_iter().map(|(path, note)| LoggedFile { path, note }).collect(),
            differences: differences
                .into_iter()
                .map(|(factor, working, broken, eliminated)| LoggedDifference { factor, working, broken, eliminated })
                .collect(),
            next: next.into_iter().map(|(text, done)| LoggedNext { text, done }).collect(),
            notes: notes.into_iter().map(|(heading, text)| LoggedNote { heading, text }).collect(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn what_is_written_reads_back(incident in incident()) {
        let normal = normalise(&incident);
        prop_assert_eq!(&normalise(&normal), &normal);
        let written = print(&incident);
        let read = parse(&written);
        prop_assert_eq!(read.incidents.len(), 1, "{}", written);
        prop_assert_eq!(&read.incidents[0], &normal, "{}", written);
        prop_assert_eq!(print(&read.incidents[0]), written);
    }

    #[test]
    fn what_is_read_is_normal_and_writes(lines in proptest::collection::vec(line(), 0..40)) {
        let text = format!("## Bug\n\n**Status:** Open\n\n{}", lines.join("\n"));
        for incident in parse(&text).incidents {
            let normal = LoggedIncident { line: 1, ..incident.clone() };
            prop_assert_eq!(&normalise(&incident), &normal);
            let written = print(&incident);
            prop_assert_eq!(parse(&written).incidents, vec![normal], "{}", written);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        parse(&text).incidents.iter().map(print).for_each(drop);
        let inside = format!("# B\n**Status:** Open\n## Attempt 1\n{text}\n## Key Differences\n{text}\n## Next\n{text}");
        parse(&inside).incidents.iter().map(print).for_each(drop);
    }
}

/// Where the line-by-line reading and a whole Markdown parser must agree: on well-formed logs.
#[test]
fn headings_are_what_markdown_says() {
    use pulldown_cmark::{Event, Parser, Tag};
    let outline = outline::Outline::new(LOG);
    let ours: Vec<usize> = outline.marks.iter().skip(1).map(|mark| mark.line).collect();
    let theirs: Vec<usize> = Parser::new(LOG)
        .into_offset_iter()
        .filter(|(event, _)| matches!(event, Event::Start(Tag::Heading { .. })))
        .map(|(_, range)| LOG[..range.start].matches('\n').count())
        .collect();
    assert_eq!(ours, theirs);
}

const HEADS: [&str; 9] = [
    "",
    "## B\n\n**Status:** ",
    "## B\n\n**Symptom:**\n",
    "## B\n\n**Status:** Open\n**Environment:**\n",
    "## B\n\n**Status:** Open\n**Environment:**\n- Related files: ",
    "## B\n**Status:** Open\n### Attempt 1\n**Result:** ",
    "## B\n**Status:** Open\n### Key Differences: ",
    "## B\n**Status:** Open\n### Key Differences\n```\na  b  c\n---  ---  ---\n",
    "## B\n**Status:** Open\n### Next\n1. ",
];

const SHAPES: [&str; 30] = [
    "```x\n",
    "~~~\n````\n",
    "<!--\n",
    "# a\n",
    "**A:** b\n\n",
    "**Status:** Open\n",
    "### Attempt 1\n",
    "- ",
    "1. a\n",
    "* a\n  - b\n",
    "`",
    "``` `",
    "` ",
    "**",
    "[ ] ",
    "\\",
    "#",
    "  ",
    "\t\n",
    "| a ",
    "a vs b ",
    "--- ",
    "--  ",
    "a  ",
    "a ",
    "- Related files:\n  - `a`\n",
    "\r",
    "\u{1f9ea}",
    "a\n---\n\n",
    "a  b\n c  d\n  e  f\n",
];

#[test]
fn nasty_shapes_survive_the_round_trip() {
    for (head, shape) in HEADS.into_iter().flat_map(|head| SHAPES.map(|shape| (head, shape))) {
        let text = format!("{head}{}\n```\n", shape.repeat(2_000 / shape.len()));
        parse(&text).incidents.iter().for_each(assert_round_trip);
    }
}

/// A reader that is quadratic in any of these would not come back from them.
#[test]
fn a_megabyte_in_one_shape_is_read() {
    for (at, shape) in SHAPES.into_iter().enumerate() {
        let text = format!("{}{}\n```\n", HEADS[at % HEADS.len()], shape.repeat(1_000_000 / shape.len()));
        parse(&text).incidents.iter().map(print).for_each(drop);
    }
}

#[test]
#[ignore = "every head with every shape takes minutes; for whoever changes the reader"]
fn a_megabyte_in_every_shape_is_read() {
    for (head, shape) in HEADS.into_iter().flat_map(|head| SHAPES.map(|shape| (head, shape))) {
        let text = format!("{head}{}\n```\n", shape.repeat(1_000_000 / shape.len()));
        let start = std::time::Instant::now();
        let incidents = parse(&text).incidents;
        let read = start.elapsed();
        incidents.iter().map(print).for_each(drop);
        println!("{:?} {read:?} {head:?} {shape:?}", start.elapsed());
    }
}
