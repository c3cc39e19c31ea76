//! The seed's shape, what may be ticked, and the limits.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::json;

use super::gates::Proof;
use super::trailers::co_author;
use super::*;
use crate::event::testing::{fold, id};
use crate::event::{
    AttemptEnded, AttemptNoted, AttemptStarted, CauseConfirmed, CauseProposed, CommitLinked, EvidenceAdded,
    IncidentOpened, PostmortemDrafted, ReproRan, ReproSet,
};
use crate::model::Oid;
use crate::model::outcome::{Bug, Hypothesis, Outcome};
use crate::model::status::{Role, Verdict};
use crate::report::standing::{FixCommit, standing};

pub(super) fn oid(digit: char) -> Oid {
    Oid::parse(&digit.to_string().repeat(40)).unwrap()
}

pub(super) type Text<'a> = &'a dyn Fn(&str) -> String;

fn ran(runs: u32, failures: u32, tree: char, cpu: &str) -> ReproRan {
    ReproRan {
        repro: id(1),
        runs,
        failures,
        tree: Some(oid(tree)),
        environment: json!({ "cpu": cpu }),
        ..ReproRan::default()
    }
}

fn gate(name: String, proof: Proof) -> GateLine {
    GateLine {
        gate: name,
        proof,
        reason: String::new(),
        device: "cpu/x86_64/Zen 5".into(),
        record: Some(oid('d')),
        before: Some((Verdict::Fail, Some(oid('c')))),
    }
}

pub(super) fn incident(text: Text<'_>) -> Incident {
    let note = |words: &[&str], said: &str| AttemptNoted {
        attempt: None,
        text: text(said),
        about: words.iter().map(|w| (*w).to_owned()).collect(),
        ..AttemptNoted::default()
    };
    let mut incident = fold(vec![
        IncidentOpened {
            title: text("softmax returns NaN for large inputs"),
            ticket: text("GPU-123"),
            symptom: text("Every row with an input above 709 is NaN."),
            ..IncidentOpened::default()
        }
        .into(),
        ReproSet { command: vec!["python3".into(), text("check.py")], ..ReproSet::default() }.into(),
        ran(5, 5, 'c', &text("Zen 5")).into(),
        AttemptStarted { hypothesis: text("the division is wrong"), ..AttemptStarted::default() }.into(),
        AttemptEnded {
            attempt: id(3),
            outcome: Outcome { hypothesis: Hypothesis::Refuted, bug: Bug::Remains },
            action: text("clamped"),
            result: text("still NaN"),
            conclusion: text("NaN stands there before the division"),
            rules_out: vec![],
        }
        .into(),
        CauseProposed { text: text("`exp` overflows to `inf`"), mechanism: text("`inf / inf` is NaN") }
            .into(),
        CauseConfirmed { cause: id(5), accounts: vec![], disproof: None, mechanism: String::new() }.into(),
        CommitLinked {
            commit: oid('1'),
            role: Role::Fix,
            attempt: Some(id(3)),
            patch_id: String::new(),
            tree: Some(oid('a')),
            subject: String::new(),
            pr: String::new(),
            ..CommitLinked::default()
        }
        .into(),
        ran(4, 0, 'a', &text("Zen 5")).into(),
        note(&["performance", "before"], "12.1 ms a call").into(),
        note(&["performance", "after"], "12.3 ms a call").into(),
        PostmortemDrafted {
            path: text("docs/postmortems/GPU-123.md"),
            sha256: String::new(),
            blocks: vec![],
        }
        .into(),
        EvidenceAdded {
            oid: Some(oid('e')),
            bytes: 1234,
            name: text("softmax.log"),
            kind: "log".into(),
            ..EvidenceAdded::default()
        }
        .into(),
    ]);
    incident.id = Some(oid('f'));
    incident
}

pub(super) fn write(incident: &Incident, text: Text<'_>) -> PullRequestText {
    write_into(incident, text, None)
}

pub(super) fn write_into(incident: &Incident, text: Text<'_>, template: Option<&str>) -> PullRequestText {
    let fixes = [FixCommit { commit: oid('1'), tree: oid('a') }];
    let mut pending = gate(text("gpu"), Proof::Pending);
    pending.reason = text("no such device here: no nvidia GPU");
    pending.record = None;
    pending.device.clear();
    let gates = [
        gate(text("correctness"), Proof::Counts(Verdict::Pass)),
        pending,
        gate(text("signed"), Proof::Claimed(Verdict::Pass)),
        gate(text("speed"), Proof::Counts(Verdict::Inconclusive)),
    ];
    super::text(&PullRequestInput {
        fixes: &[CommitFacts {
            commit: oid('1'),
            subject: text("Shift softmax inputs by their maximum"),
            date: String::new(),
            author: String::new(),
            pr: String::new(),
            paths: vec![],
        }],
        head: Some(Head { commit: oid('1'), tree: oid('a'), holds_fix: true }),
        gates: &gates,
        check_changes: &[CheckChange::Changed(text("correctness")), CheckChange::Policy("[pre-push]")],
        changed: &[ChangedFile { path: text("softmax.py"), added: Some(3), deleted: Some(1) }],
        workflows: &[Workflow {
            name: text("GPU tests"),
            file: text(".github/workflows/gpu.yml"),
            required: false,
            reason: text("runs on all pull requests"),
        }],
        developers: &[Developer { name: text("@org/kernels"), reason: text("owns softmax.py") }],
        co_authors: &[format!("{} <bea@example.org>", text("Bea"))],
        agents: &[text("some-agent")],
        postmortem: Some(PostmortemLink {
            path: text("docs/postmortems/GPU-123.md"),
            at_head: true,
            url: "https://github.com/o/r/blob/1/docs/postmortems/GPU-123.md".into(),
        }),
        notes_from: "https://github.com/o/r.git",
        template,
        release_note: Some(&text("softmax no longer returns NaN")),
        ..PullRequestInput::new(incident, &standing(incident, &fixes))
    })
}

pub(super) const PLAIN: Text<'_> = &|t| t.to_owned();

/// Headings of level 2, everything that only the author may write, ticked boxes.
pub(super) fn outline(markdown: &str) -> (Vec<String>, Vec<String>, usize) {
    let (mut headings, mut odd, mut ticks) = (Vec::new(), Vec::new(), 0);
    let mut open = None;
    let options = Options::ENABLE_TABLES | Options::ENABLE_GFM | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => headings.extend(open.take()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut open {
                    heading.push_str(&text);
                }
            }
            Event::TaskListMarker(ticked) => ticks += usize::from(ticked),
            Event::Html(html) | Event::InlineHtml(html) => odd.push(html.trim().to_owned()),
            // `<address>` in the trailers is one, and that is right; so is the post-mortem's.
            Event::Start(Tag::Link { dest_url, .. })
                if &*dest_url != "bea@example.org"
                    && !dest_url.starts_with("https://github.com/o/r/blob/") =>
            {
                odd.push(dest_url.into_string());
            }
            Event::Start(Tag::Image { dest_url, .. }) => odd.push(dest_url.into_string()),
            _ => {}
        }
    }
    (headings, odd, ticks)
}

#[test]
fn the_softmax_text_reads_as_it_should() {
    let got = write(&incident(PLAIN), PLAIN);
    assert_eq!(got.title, "Shift softmax inputs by their maximum");
    assert_eq!(got.body, include_str!("golden.md"), "{}", got.body);
}

#[test]
fn only_what_passed_on_the_fix_is_ticked() {
    let mut incident = incident(PLAIN);
    let body = write(&incident, PLAIN).body;
    assert_eq!(outline(&body).2, 2, "the repro and one gate");
    for unticked in
        ["- [ ] gate `gpu`: pending", "- [ ] gate `signed`: claimed pass", "- [ ] gate `speed`: inconclusive"]
    {
        assert!(body.contains(unticked), "{unticked} is not in {body}");
    }
    incident.repro.runs[1].failures = 1;
    let body = write(&incident, PLAIN).body;
    assert_eq!(outline(&body).2, 1);
    assert!(body.contains("Not shown yet:\n\n- the bug was seen in 1 of 4 runs on the fix"), "{body}");
}

#[test]
fn without_figures_there_is_no_section_on_performance() {
    let mut incident = incident(PLAIN);
    incident.notes.clear();
    let body = write(&incident, PLAIN).body;
    assert!(!body.contains("Performance") && body.contains("## Testing"));
}

#[test]
fn an_empty_incident_is_written() {
    let incident = Incident::default();
    let empty = Standing::default();
    let got = text(&PullRequestInput::new(&incident, &empty));
    assert_eq!(got.title, "(untitled)");
    assert!(got.body.contains("Not confirmed") && got.body.contains("No commit is linked"));
}

#[test]
fn long_titles_are_cut_between_words() {
    let long: Text<'_> =
        &|_| "Make the quick brown fox jump over the lazy dog again and again and again".to_owned();
    let title = write(&incident(long), long).title;
    assert_eq!(title, "Make the quick brown fox jump over the lazy dog again and again and…");
    let solid: Text<'_> = &|_| "é".repeat(100);
    assert_eq!(write(&incident(solid), solid).title.chars().count(), 72);
}

#[test]
fn the_body_stays_below_the_limit() {
    let long: Text<'_> = &|t| format!("{t} ` < @ada fixes #1 ").repeat(400);
    let mut incident = incident(long);
    for _ in 0..7 {
        let twice = incident.attempts.clone();
        incident.attempts.extend(twice);
        let twice = incident.evidence.clone();
        incident.evidence.extend(twice);
        let twice = incident.notes.clone();
        incident.notes.extend(twice);
    }
    let got = write(&incident, long);
    assert!(got.body.len() <= LONGEST_BODY, "{}", got.body.len());
    assert!(got.body.contains("- …and ") && got.body.ends_with("\nIncident: ffffffffffff\n"));
}

#[test]
fn git_reads_the_trailers() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let body = write(&incident(PLAIN), PLAIN).body;
    let mut git = Command::new("git")
        .args(["interpret-trailers", "--parse"])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin.take().unwrap().write_all(format!("Title\n\n{body}").as_bytes()).unwrap();
    let out = String::from_utf8(git.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(
        out,
        "Assisted-by: some-agent\nCo-authored-by: Bea <bea@example.org>\nIncident: ffffffffffff\n"
    );
}

#[test]
fn what_names_nobody_is_no_co_author() {
    for odd in ["Bea", "<a@b>", "Bea <>", "Bea <a b@c>", "x\nIncident: 0 <a@b> <c@d>", "Bea <a@b> x"] {
        assert_eq!(co_author(odd), None, "{odd}");
    }
    let bot = "dependabot[bot] <49699333+dependabot[bot]@users.noreply.example.com>";
    assert_eq!(co_author(bot), Some(format!("Co-authored-by: {bot}")));
}
