//! When a draft is opened, ours updated, nothing done, or the reason why not.

use super::super::answers::{End, EndRepository, Label, Team, User};
use super::*;

fn wish() -> Wish {
    let repository = Repository::parse("ada/notes").unwrap();
    Wish {
        base_repository: repository.clone(),
        base: "main".into(),
        head_repository: repository,
        branch: "topic".into(),
        title: "Mend it".into(),
        body: format!("Hello\n\n{}\n\nIncident: abc\n", markers::wrap("one\ntwo")),
        at_first: Extras::default(),
        always: Extras::default(),
        force: false,
        again: false,
    }
}

fn pull(number: u64) -> Pull {
    let end = |branch: &str| End {
        branch: branch.into(),
        sha: "0".repeat(40),
        repo: Some(EndRepository { full_name: "Ada/Notes".into() }),
    };
    Pull {
        number,
        html_url: format!("https://github.com/ada/notes/pull/{number}"),
        state: "open".into(),
        merged_at: None,
        draft: true,
        title: Some("Mend it".into()),
        body: Some(wish().body),
        user: Some(User { login: "Ada".into() }),
        head: end("topic"),
        base: end("main"),
        labels: None,
        requested_reviewers: None,
        requested_teams: None,
        milestone: None,
    }
}

fn refusal<T: std::fmt::Debug>(result: Result<T>, what: &str) -> Error {
    let error = result.unwrap_err();
    assert!(error.what().contains(what), "{what:?} is not in {error:?}");
    assert!(!error.hints().is_empty());
    assert_eq!(error.kind().exit_code(), 1);
    error
}

#[test]
fn the_open_one_of_this_branch_and_base_is_it() {
    let wish = wish();
    assert!(wish.candidate(&[]).unwrap().is_none());
    let (mut closed, mut other, mut deleted) = (pull(1), pull(2), pull(3));
    closed.state = "closed".into();
    other.head.branch = "Topic".into();
    deleted.head.repo = None;
    let listed = [deleted, other.clone(), closed.clone(), pull(4)];
    assert_eq!(wish.candidate(&listed).unwrap().unwrap().number, 4);
    assert!(wish.candidate(&[other]).unwrap().is_none(), "another branch's");
}

#[test]
fn closed_merged_and_elsewhere_are_refused_with_the_reason() {
    let mut wish = wish();
    let (mut closed, mut merged, mut elsewhere) = (pull(1), pull(2), pull(3));
    closed.state = "closed".into();
    merged.state = "closed".into();
    merged.merged_at = Some("2026-01-02T03:04:05Z".into());
    elsewhere.base.branch = "release".into();
    refusal(wish.candidate(&[closed.clone()]), "#1 of this branch was closed");
    refusal(wish.candidate(&[merged.clone()]), "#2 of this branch was merged");
    let error = refusal(wish.candidate(&[elsewhere.clone()]), "goes to \"release\", not to \"main\"");
    assert!(error.hints()[0].contains("--base release"));
    wish.again = true;
    for one in [closed, merged, elsewhere] {
        assert!(wish.candidate(&[one]).unwrap().is_none());
    }
}

#[test]
fn the_same_ledger_changes_nothing() {
    let todo = wish().update(&pull(1), Some("ada"), None).unwrap();
    assert!(todo.requests(&wish().base_repository, Some(1)).is_empty(), "{todo:?}");
}

#[test]
fn only_the_block_is_replaced() {
    let mut there = pull(1);
    let old = format!("Above\r\n\r\n{}\r\n\r\nBelow", markers::wrap("zero").replace('\n', "\r\n"));
    there.body = Some(old);
    let todo = wish().update(&there, Some("ada"), None).unwrap();
    let text = todo.description.as_ref().unwrap();
    assert!(text.starts_with("Above\r\n\r\n<!-- git-incident:begin"), "{text:?}");
    assert!(text.ends_with("one\ntwo\n<!-- git-incident:end -->\n\r\nBelow"), "{text:?}");
    assert_eq!(todo.requests(&wish().base_repository, Some(1)).len(), 1);
}

#[test]
fn an_edited_block_is_refused_with_the_difference_unless_forced() {
    let mut there = pull(1);
    there.body = Some(wish().body.replace("two", "2"));
    let error = refusal(wish().update(&there, Some("ada"), None), "somebody edited");
    assert!(error.causes()[0].contains("-2") && error.causes()[0].contains("+two"), "{error:?}");
    let forced = Wish { force: true, ..wish() };
    assert_eq!(forced.update(&there, Some("ada"), None).unwrap().description.unwrap(), wish().body);
}

#[test]
fn damaged_markers_are_refused_even_when_forced() {
    let forced = Wish { force: true, ..wish() };
    for (body, why) in [
        (None, "no git-incident block"),
        (Some("by hand".to_owned()), "no git-incident block"),
        (Some(format!("{}\n{}", markers::wrap("a"), markers::wrap("b"))), "more than one"),
    ] {
        let there = Pull { body, ..pull(1) };
        let error = refusal(forced.update(&there, Some("ada"), None), "cannot be updated");
        assert!(error.causes()[0].contains(why), "{error:?}");
    }
}

#[test]
fn somebody_elses_is_not_ours() {
    refusal(wish().update(&pull(1), Some("bea"), None), "#1 is Ada's, not bea's");
    let ghost = Pull { user: None, ..pull(1) };
    refusal(wish().update(&ghost, Some("ada"), None), "ghost");
    refusal(wish().update(&pull(1), None, None), "not that of a token without a person");
    let bot = Pull { user: Some(User { login: "github-actions[bot]".into() }), ..pull(1) };
    assert!(wish().update(&bot, None, None).is_ok(), "a token of GitHub Actions has no name of its own");
    refusal(wish().update(&bot, Some("ada"), None), "github-actions[bot]");
}

#[test]
fn a_description_past_the_limit_is_not_sent() {
    let mut there = pull(1);
    there.body = Some(format!("{}\n{}", "é".repeat(LONGEST_DESCRIPTION - 100), markers::wrap("")));
    refusal(wish().update(&there, Some("ada"), None), "too long");
}

#[test]
fn what_stands_beside_it_is_added_once_and_configuration_only_at_first() {
    let words = |w: &[&str]| w.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let wish = Wish {
        at_first: Extras {
            labels: words(&["bug"]),
            people: words(&["bea"]),
            milestone: Some("1".into()),
            ..Extras::default()
        },
        always: Extras {
            labels: words(&["Bug", "gpu"]),
            people: words(&["ada"]),
            teams: words(&["kernels"]),
            milestone: None,
        },
        ..wish()
    };
    let first = wish.beside_a_new_one(Some(json!(4)));
    assert_eq!((first.labels.len(), first.people.len(), first.teams.len()), (2, 2, 1));
    assert_eq!(wish.milestone(true), Some("1"));
    assert_eq!(wish.milestone(false), None);
    let there = Pull { labels: Some(vec![Label { name: "GPU".into() }]), ..pull(1) };
    let todo = wish.update(&there, Some("ada"), None).unwrap();
    assert_eq!(todo.labels, ["Bug"]);
    assert!(todo.people.is_empty(), "the author cannot be asked");
    assert_eq!(todo.teams, ["kernels"]);
    let asked = Pull { requested_teams: Some(vec![Team { slug: "Kernels".into() }]), ..there };
    assert!(wish.update(&asked, Some("ada"), None).unwrap().teams.is_empty());
    let in_four = super::super::answers::Milestone { number: 4, title: "1".into() };
    let asked = Pull { milestone: Some(in_four), ..asked };
    assert_eq!(wish.update(&asked, Some("ada"), Some(4)).unwrap().milestone, None);
    assert_eq!(wish.update(&asked, Some("ada"), Some(5)).unwrap().milestone, Some(json!(5)));
}

#[test]
fn a_rehearsal_names_at_most_ten_requests_that_could_be_sent_but_for_the_number() {
    let words = vec!["x".to_owned()];
    let extras =
        Extras { labels: words.clone(), people: words.clone(), teams: words, milestone: Some("m".into()) };
    let fork = Repository::parse("bea/notes").unwrap();
    let all = Wish { head_repository: fork, always: extras, ..wish() }.rehearsal();
    assert_eq!(all.len(), 8);
    for request in all {
        let open = request.target().contains('{');
        assert!(open || request.permitted().is_ok(), "{request:?}");
    }
}

#[test]
fn a_block_that_a_person_edited_is_seen_as_edited_the_next_time() {
    let edited = Wish { body: wish().body.replace("two", "by hand"), ..wish() };
    let sent = edited.update(&pull(1), Some("ada"), None).unwrap().description.unwrap();
    assert!(markers::find(&sent).unwrap().edited());
    let there = Pull { body: Some(sent), ..pull(1) };
    assert!(edited.update(&there, Some("ada"), None).unwrap().description.is_none(), "the same again");
    refusal(wish().update(&there, Some("ada"), None), "somebody edited");
}

#[test]
fn words_outside_of_the_block_are_told_from_an_edit_of_it() {
    let text = wish().body;
    let outside = |title: &str, body: &str| edited_outside(("Mend it", &text), (title, body));
    assert!(!outside("Mend it", &text) && !outside("Mend it", &text.replace("two", "2")));
    assert!(outside("Mended", &text) && outside("Mend it", &text.replace("Hello", "Hi")));
    assert!(outside("Mend it", &format!("{text}\nmore")));
}
