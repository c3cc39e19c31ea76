//! Each rule, with the description that meets it and the one that does not.

use super::*;
use crate::model::Oid;

fn oid(digit: char) -> Oid {
    Oid::parse(&digit.to_string().repeat(40)).unwrap()
}

fn head() -> Head {
    Head { commit: oid('1'), tree: oid('a'), holds_fix: true }
}

fn gate(id: &str, proof: Proof) -> GateLine {
    GateLine {
        gate: id.into(),
        proof,
        reason: String::new(),
        device: String::new(),
        record: None,
        before: None,
    }
}

struct Scene {
    incident: Option<(Incident, Standing)>,
    has_ledger: bool,
    concerns: bool,
    gates: Vec<GateLine>,
    changes: Vec<CheckChange>,
    holds_fix: bool,
    accept_claimed: bool,
}

impl Default for Scene {
    fn default() -> Self {
        let standing = Standing { validation_ok: true, ..Standing::default() };
        Self {
            incident: Some((Incident::default(), standing)),
            has_ledger: true,
            concerns: true,
            gates: vec![gate("unit", Proof::Counts(Verdict::Pass))],
            changes: vec![],
            holds_fix: true,
            accept_claimed: false,
        }
    }
}

impl Scene {
    fn check(&self, body: &str) -> Vec<(usize, &'static str, Severity)> {
        let head = Head { holds_fix: self.holds_fix, ..head() };
        let facts = Facts {
            has_ledger: self.has_ledger,
            incident: self.incident.as_ref().map(|(i, s)| (i, s)),
            concerns_incident: self.concerns,
            head: &head,
            gates: &self.gates,
            changes: &self.changes,
            has_file: &|path| path == "docs/here.md",
            accept_claimed: self.accept_claimed,
        };
        check(body, &facts).into_iter().map(|d| (d.line, d.rule, d.severity)).collect()
    }
}

fn body(block: &str) -> String {
    format!("Hello\n\n{}\n\nIncident: aaaaaaaaaaaa\n", markers::wrap(block))
}

const GOOD: &str =
    "Judged at `111111111111` (tree `aaaaaaaaaaaa`).\n\n- [x] repro `sh x`: y\n- [x] gate `unit`: pass";

#[test]
fn what_is_true_passes() {
    assert_eq!(Scene::default().check(&body(GOOD)), []);
    // Windows line ends, as GitHub's editor leaves them.
    assert_eq!(Scene::default().check(&body(GOOD).replace('\n', "\r\n")), []);
}

#[test]
fn a_tick_needs_a_record_that_counts() {
    use Severity::{Error, Warning};
    for (proof, found) in [
        (Proof::Counts(Verdict::Fail), Some(("ticked-without-record", Error))),
        (Proof::Counts(Verdict::Inconclusive), Some(("ticked-without-record", Error))),
        (Proof::Claimed(Verdict::Pass), Some(("ticked-without-record", Error))),
        (Proof::Pending, Some(("ticked-without-record", Error))),
        (Proof::Missing, Some(("ticked-without-record", Error))),
        (Proof::Counts(Verdict::Pass), None),
    ] {
        let scene = Scene { gates: vec![gate("unit", proof)], ..Scene::default() };
        let expected: Vec<_> = found.map(|(rule, severity)| (7, rule, severity)).into_iter().collect();
        assert_eq!(scene.check(&body(GOOD)), expected, "{proof:?}");
    }
    let claimed = vec![gate("unit", Proof::Claimed(Verdict::Pass))];
    let scene = Scene { gates: claimed, accept_claimed: true, ..Scene::default() };
    assert_eq!(scene.check(&body(GOOD)), [(7, "claimed", Warning)]);
    let scene = Scene { gates: vec![], ..Scene::default() };
    assert_eq!(scene.check(&body(GOOD)), [(7, "ticked-without-record", Error)], "no such gate");
}

#[test]
fn ticks_outside_of_the_block_count_too() {
    let scene = Scene { gates: vec![gate("gpu", Proof::Missing)], concerns: false, ..Scene::default() };
    assert_eq!(scene.check("* [X] Gate `gpu`\n"), [(1, "ticked-without-record", Severity::Error)]);
    assert_eq!(scene.check("- [ ] gate `gpu`\n"), [], "honest");
}

#[test]
fn the_repro_is_held_against_the_record() {
    let unproven = Some((Incident::default(), Standing::default()));
    let scene = Scene { incident: unproven, ..Scene::default() };
    assert_eq!(scene.check(&body(GOOD)), [(6, "ticked-without-record", Severity::Error)]);
    let scene = Scene { holds_fix: false, ..Scene::default() };
    assert_eq!(scene.check(&body(GOOD)), [(6, "ticked-without-record", Severity::Error)]);
}

#[test]
fn what_does_not_pass_is_to_be_shown() {
    for proof in [Proof::Counts(Verdict::Fail), Proof::Pending, Proof::Missing, Proof::Claimed(Verdict::Pass)]
    {
        let gates = vec![gate("unit", Proof::Counts(Verdict::Pass)), gate("gpu", proof)];
        let scene = Scene { gates, ..Scene::default() };
        assert_eq!(scene.check(&body(GOOD)), [(3, "gate-not-shown", Severity::Error)], "{proof:?}");
        let shown = format!("{GOOD}\n- [ ] gate `gpu`: no");
        assert_eq!(scene.check(&body(&shown)), []);
    }
}

#[test]
fn a_change_to_the_checks_is_to_be_said() {
    let change = CheckChange::Removed("unit".into());
    let scene = Scene { changes: vec![change.clone()], ..Scene::default() };
    assert_eq!(scene.check(&body(GOOD)), [(3, "check-change-not-shown", Severity::Error)]);
    assert_eq!(scene.check(&body(&format!("- {}\n\n{GOOD}", change.line()))), []);
    let scene = Scene { changes: vec![CheckChange::Added("more".into())], ..Scene::default() };
    assert_eq!(scene.check(&body(GOOD)), [], "adding one weakens nothing");
}

#[test]
fn edits_and_damage_are_seen() {
    let edited = body(GOOD).replace("gate `unit`: pass", "gate `unit`: pass, really");
    assert_eq!(Scene::default().check(&edited), [(3, "block-edited", Severity::Warning)]);
    let doubled = format!("{}\n{}", body(GOOD), body(GOOD));
    assert!(Scene::default().check(&doubled).contains(&(1, "markers", Severity::Error)));
    let scene = Scene::default();
    assert_eq!(scene.check("Words only\n"), [(1, "no-block", Severity::Warning)]);
    let scene = Scene { concerns: false, ..Scene::default() };
    assert_eq!(scene.check("Bump a version\n"), [], "nothing of ours");
}

#[test]
fn the_incident_must_be_known_here() {
    let scene = Scene { incident: None, ..Scene::default() };
    let found = scene.check(&body(GOOD));
    assert!(found.contains(&(10, "unknown-incident", Severity::Error)), "{found:?}");
    let scene = Scene { incident: None, has_ledger: false, ..Scene::default() };
    assert!(scene.check(&body(GOOD)).contains(&(10, "no-ledger", Severity::Error)));
    let other = Incident { id: Some(oid('c')), ..Incident::default() };
    let scene = Scene {
        incident: Some((other, Standing { validation_ok: true, ..Standing::default() })),
        ..Scene::default()
    };
    let mixed =
        body(&format!("Incident `aaaaaaaaaaaa`\n\n{GOOD}")).replace("Incident: aaaa", "Incident: cccc");
    assert_eq!(scene.check(&mixed), [(3, "incident-mismatch", Severity::Error)]);
    assert_eq!(named_incident("Words\n\nIncident: none\n"), None);
    let without = body("Incident `aaaaaaaaaaaa`").replace("Incident: aaaaaaaaaaaa", "The end");
    assert!(Scene::default().check(&without).contains(&(7, "no-trailer", Severity::Warning)));
    let nothing = body("words").replace("Incident: aaaaaaaaaaaa", "The end");
    assert!(Scene::default().check(&nothing).contains(&(1, "no-incident", Severity::Error)));
}

#[test]
fn what_was_made_for_another_head_is_behind() {
    let old = GOOD.replace("(tree `aaaaaaaaaaaa`)", "(tree `bbbbbbbbbbbb`)");
    assert_eq!(Scene::default().check(&body(&old)), [(3, "behind", Severity::Warning)]);
    let unticked = GOOD.replace("[x] gate", "[ ] gate");
    assert_eq!(Scene::default().check(&body(&unticked)), [(7, "behind", Severity::Warning)]);
}

#[test]
fn a_postmortem_that_is_named_must_be_there() {
    let gone = format!("{GOOD}\n- Post-mortem: [`docs/gone.md`](https://example.org)");
    assert_eq!(Scene::default().check(&body(&gone)), [(8, "missing-postmortem", Severity::Error)]);
    let here = format!("{GOOD}\n- Post-mortem: `docs/here.md`");
    assert_eq!(Scene::default().check(&body(&here)), []);
}

proptest::proptest! {
    #[test]
    fn never_panics(text in "(<!-- git-incident:(begin digest=1|end) -->|\n|\r|- \\[x\\] gate `unit`|Incident: [a-f0-9]{3}|é|[ -~]{0,5}){0,20}") {
        for scene in [Scene::default(), Scene { incident: None, gates: vec![], ..Scene::default() }] {
            let _ = scene.check(&text);
        }
    }
}

#[test]
fn what_is_not_shown_is_missed_without_a_block_and_in_comments() {
    let change = CheckChange::Removed("old".into());
    let line = change.line();
    let scene = Scene { changes: vec![change], gates: vec![gate("gpu", Proof::Missing)], ..Scene::default() };
    for text in ["Words only\n".to_owned(), format!("<!--\n\n- {line}\n- [ ] gate `gpu`: no\n\n-->\n")] {
        let found: Vec<_> = scene.check(&text).into_iter().map(|(_, rule, _)| rule).collect();
        assert_eq!(found, ["no-block", "gate-not-shown", "check-change-not-shown"], "{text}");
    }
    let fenced = format!("```\n{}\n```\n\nIncident: aaaaaaaaaaaa\n", markers::wrap("- x"));
    assert!(Scene::default().check(&fenced).iter().any(|(_, rule, _)| *rule == "markers"));
}

#[test]
fn a_tick_in_other_words_is_a_claim_too() {
    let scene = Scene { gates: vec![gate("unit", Proof::Missing)], concerns: false, ..Scene::default() };
    for text in [
        "- [x] gate: \u{27e8}unit\u{27e9}",
        "- [x] the gate `unit`",
        "- [x] `gate unit: pass`",
        "- [x] <code>unit</code>",
        "- [x] unit: pass",
        "- [x] everything\n  - unit",
        "- a\n  - [X] Unit passes",
    ] {
        let found = scene.check(&format!("{text}\n"));
        assert!(found.iter().any(|(_, rule, _)| *rule == "ticked-without-record"), "{text}: {found:?}");
    }
    for text in ["- [x] a unit-less change", "- [ ] unit", "- [x] units", "- unit"] {
        assert_eq!(scene.check(&format!("{text}\n")), [], "{text}");
    }
}

#[test]
fn a_list_of_gates_that_was_cut_accounts_for_the_rest() {
    let gates = ["unit", "a", "b"].map(|id| gate(id, Proof::Missing)).to_vec();
    let scene = Scene { gates, ..Scene::default() };
    let text = |more| body(&format!("- [ ] gate `unit`: not-run\n- …and {more} more"));
    assert_eq!(scene.check(&text(2)), []);
    assert_eq!(scene.check(&text(1)).len(), 2);
    assert_eq!(scene.check(&text(2).replace("not-run", "soon")).len(), 3, "edited by hand");
}
