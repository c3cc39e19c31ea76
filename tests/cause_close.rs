//! The root cause is held against everything that was tried, and giving up needs evidence.

mod common;

use common::Repo;
use serde_json::{Value, json};

/// An incident with two attempts that failed and one whose disproof was not run.
fn tried() -> Repo {
    let repo = Repo::new();
    repo.write("src/queue.c", "int wait;\nint poll;\n");
    repo.commit("first");
    repo.open("queue stalls");
    for line in "attempt start -H 'the sleep is too long'
        attempt end --failed -m 'it stalls without any sleep'
        attempt start -H 'the writer blocks'
        attempt end --refuted --remains -m 'the writer is idle'"
        .lines()
    {
        repo.typed(line).expect(0);
    }
    repo
}

const BOTH: &str = "--accounts 1='sleep plays no part' --accounts 2='the reader holds the lock'";

#[test]
fn a_cause_must_account_for_every_attempt() {
    let repo = tried();
    repo.typed("cause confirm").refuses(1).says("no cause was proposed");
    repo.typed("cause propose 'the reader holds the lock'").expect(0);
    let all = repo.typed("cause confirm").refuses(1);
    all.says("2 more attempts")
        .says("attempt 1: the sleep is too long")
        .says("it stalls without any sleep")
        .says("attempt 2: the writer blocks")
        .says("--accounts 1=\"how\" --accounts 2=\"how\"");
    let one = repo.typed("cause confirm --accounts 1='sleep plays no part'").refuses(1);
    one.says("1 more attempts").never_says("attempt 1:");
    repo.typed("cause confirm --accounts 1=").refuses(2).says("not NUMBER=TEXT");
    repo.typed("cause confirm --accounts 9=x").refuses(1).says("no attempt");
    assert_eq!(repo.view("show")["cause"]["state"], "proposed");
}

#[test]
fn a_contradiction_blocks_the_confirmation() {
    let repo = tried();
    repo.typed("cause propose 'the reader holds the lock'").expect(0);
    let said = repo
        .typed(&format!("cause confirm {BOTH} --contradicts 2='it stalls without a reader too'"))
        .refuses(1);
    said.says("contradicted").says("attempt 2 (the writer blocks): it stalls without a reader too");
    assert_eq!(repo.view("show")["preconditions"]["cause"], false);
}

#[test]
fn a_cause_needs_a_disproof_that_was_run() {
    let repo = tried();
    repo.typed("cause propose 'the reader holds the lock'").expect(0);
    repo.typed(&format!("cause confirm {BOTH}")).refuses(1).says("no disproof has been run");
    // One that was stated and ended undecided was not run; one that is running was not either.
    repo.typed("attempt start -H 'the reader holds it' --disproof 'it stalls without a reader'").expect(0);
    repo.typed(&format!("cause confirm {BOTH}")).refuses(1).says("no disproof has been run");
    repo.typed("attempt end --undecided -m 'the machine went away'").expect(0);
    let three = format!("{BOTH} --accounts 3='says nothing'");
    repo.typed(&format!("cause confirm {three}")).refuses(1).says("no disproof has been run");
    repo.typed(&format!("cause confirm {three} --disproof 1")).refuses(1).says("it states none");
    repo.typed("attempt start -H 'the reader holds it' --disproof 'it stalls without a reader'").expect(0);
    repo.typed("attempt end --supported --remains -m 'no stall without a reader'").expect(0);
    repo.typed(&format!("cause confirm {three} --accounts 4='that is it'")).expect(0);
    let cause = &repo.view("show")["cause"];
    assert_eq!(cause["state"], "confirmed");
    assert_eq!(cause["accounts"].as_array().expect("accounts").len(), 4);
    assert_eq!(cause["disproof"], repo.view("show")["attempts"][3]["id"]);
    assert_eq!(repo.view("show")["preconditions"]["cause"], true);
    repo.typed("cause confirm").refuses(1);
}

#[test]
fn a_rejected_cause_makes_room_for_the_next() {
    let repo = tried();
    repo.typed("cause propose 'cosmic rays'").expect(0);
    repo.typed("cause reject -m 'on two machines alike'").expect(0);
    repo.typed("cause propose 'the reader holds the lock' --mechanism 'a page fault'").expect(0);
    let list = repo.typed("cause").expect(0);
    list.says("rejected  cosmic rays").says("on two machines alike").says("proposed  the reader");
    let view = repo.view("show");
    assert_eq!(view["cause"]["text"], "the reader holds the lock");
    repo.typed("cause reject 1234567 -m x").refuses(1).says("there is no cause");
}

#[test]
fn giving_up_lists_what_is_not_met() {
    let repo = tried();
    let ran = repo.typed("close --blocked -m 'out of ideas'").refuses(1);
    ran.says("7 of 7 requirements")
        .says("profile data")
        .says("logged data sizes")
        .says("5 really different approaches")
        .says("host side and device side")
        .says("cited as path:line")
        .says("measured against theoretical")
        .says("20 minutes of recorded work")
        .says("git incident evidence add --kind profile FILE");
    let view = repo.typed("--json close --blocked").refuses(1).json();
    assert_eq!(view["error"]["causes"].as_array().expect("what is unmet").len(), 7);
    assert_eq!(repo.view("show")["status"], "open");
}

#[test]
fn giving_up_closes_when_recorded_evidence_meets_every_requirement() {
    let repo = tried();
    for line in "attempt start -H 'pages are not pinned'
        attempt end --failed -m 'pinned, and it stalls'
        attempt start -H 'interrupts are lost on core zero'
        attempt end --failed -m 'none is lost'
        attempt start -H 'a firmware version mismatch'
        attempt end --failed -m 'the newest one stalls as well'"
        .lines()
    {
        repo.typed(line).expect(0);
    }
    let unmet = |n: usize| repo.typed("close --blocked").refuses(1).says(&format!("{n} of 7 requirements"));
    unmet(6);
    repo.write("run.prof", "to_torch 8.62s 99.2%\n");
    repo.typed("evidence add run.prof --kind profile").expect(0);
    unmet(5);
    repo.typed("attempt note --about sizes big").expect(0);
    unmet(5).says("logged data sizes");
    repo.typed("attempt note --about sizes '9.27 MB in 1159 chunks of 8 KiB'").expect(0);
    repo.typed("attempt note --about host 'the queue is idle'").expect(0);
    unmet(4).says("host side and device side");
    repo.typed("attempt note --about device 'the copy engine waits'").expect(0);
    repo.typed("attempt note --about code 'src/nowhere.c:2 must poll'").expect(0);
    unmet(3).says("cited as path:line");
    repo.typed("attempt note --about code 'src/queue.c:2 must poll'").expect(0);
    repo.typed("attempt note --about arithmetic '1.22 MB/s measured, 4 GB/s theoretical'").expect(0);
    unmet(1).says("20 minutes of recorded work");
    repo.typed("budget spend --minutes 20 -m 'reading the manual'").expect(0);
    let ran = repo.typed("--json close --blocked -m 'the hardware must change'").expect(0);
    let view = ran.json();
    assert_eq!((&view["status"], &view["gaps"]), (&json!("blocked"), &json!([])));
    let rows = view["requirements"].as_array().expect("requirements");
    assert!(rows.iter().all(|r| r["met_by"].is_string()), "each says what meets it: {rows:?}");
    let shown = repo.view("show");
    assert_eq!(
        (&shown["status"], &shown["status_note"]),
        (&json!("blocked"), &json!("the hardware must change"))
    );
}

#[test]
fn when_the_budget_has_run_out_it_closes_with_gaps() {
    let repo = tried();
    repo.write(".git-incident.toml", "[budget]\nattempts = 2\n");
    repo.typed("attempt start -H third").expect(0).says("budget: 2 of 2 attempts are used");
    repo.typed("attempt end --failed -m no").expect(0);
    repo.typed("close --blocked").expect(0).says("the budget has run out");
    let gaps = repo.view("show")["gaps"].clone();
    assert_eq!(gaps.as_array().expect("gaps").len(), 7);
    repo.typed("show").expect(0).says("Gaps").says("profile data");
}

#[test]
fn the_configuration_says_what_giving_up_needs() {
    let repo = tried();
    repo.write(".git-incident.toml", "[blocked]\nrequire = [\"approaches\"]\napproaches = 3\n");
    repo.typed("close --blocked").refuses(1).says("1 of 1 requirements");
    repo.write(".git-incident.toml", "[blocked]\nrequire = [\"approaches\"]\napproaches = 2\n");
    assert_eq!(repo.view("close --blocked")["gaps"], json!([]));
}

#[test]
fn a_closed_incident_takes_no_attempt_until_it_is_reopened() {
    let repo = tried();
    repo.typed("close").refuses(2).says("--resolved, --blocked or --wont-fix");
    repo.typed("close --wont-fix").refuses(2).says("-m");
    repo.typed("close --wont-fix -m 'nobody uses it'").expect(0);
    repo.typed("attempt start -H again").refuses(1).says("git incident reopen");
    repo.typed("try -H again -- true").expect(125).says("git incident reopen");
    repo.typed("close --resolved").refuses(1);
    let id = repo.view("show")["incident"].as_str().expect("an id").to_owned();
    assert_eq!(repo.view("list --open")["incidents"], json!([]));
    repo.incident(&["reopen", &id, "-m", "somebody does"]).expect(0);
    assert_eq!(repo.view("status")["incident"], id.as_str());
    assert_eq!(repo.view("show")["status"], "open");
    repo.typed("reopen").refuses(1).says("is open");
    repo.typed("attempt start -H again").expect(0);
}

#[test]
fn resolved_says_what_the_record_does_not_show() {
    let repo = tried();
    let ran = repo.typed("close --resolved -m 'works now'").expect(0);
    ran.says("not shown by the record: no repro command is set").says("no commit is linked as the fix");
    let view = repo.view("show");
    assert_eq!((&view["status"], &view["repro"]["validated"]), (&json!("resolved"), &Value::from(false)));
}
