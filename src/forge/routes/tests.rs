//! Nothing but the listed requests can be sent.

use proptest::prelude::*;

use super::*;

fn at() -> Repository {
    Repository::parse("ada/notes").unwrap()
}

fn every() -> Vec<Request> {
    let (at, words) = (at(), ["a".to_owned()]);
    let fork = Repository::parse("bea/notes").unwrap();
    vec![
        Request::user(),
        Request::repository(&at),
        Request::pulls_of(&at, "ada", "a/b c"),
        Request::pull(&at, 7),
        Request::milestones(&at),
        Request::open_draft(&at, (&fork, "topic"), "main", "t", "b"),
        Request::describe(&at, Some(7), "b"),
        Request::label(&at, Some(7), &words),
        Request::ask_reviewers(&at, Some(7), &words, &words),
        Request::set_milestone(&at, Some(7), &json!(3)),
    ]
}

#[test]
fn each_route_has_its_request_and_each_request_its_route() {
    let all = every();
    for route in ALLOWED {
        assert_eq!(all.iter().filter(|r| r.is(route)).count(), 1, "{route:?}");
    }
    assert_eq!(all.len(), ALLOWED.len());
    assert!(all.iter().all(|r| r.permitted().is_ok()));
}

#[test]
fn what_nobody_may_do_is_refused() {
    let raw = |method, path: &str, body: Option<Value>| Request {
        method,
        path: path.to_owned(),
        query: Vec::new(),
        body,
    };
    let draft = json!({"title": "t", "head": "h", "base": "b", "draft": true});
    let mut ready = draft.clone();
    ready["draft"] = json!(false);
    let mut silent = draft.clone();
    silent.as_object_mut().unwrap().remove("draft");
    let pull = "/repos/o/r/pulls/1";
    assert!(raw(Method::Post, "/repos/o/r/pulls", Some(draft.clone())).permitted().is_ok());
    for refused in [
        raw(Method::Post, "/repos/o/r/pulls", Some(ready)),
        raw(Method::Post, "/repos/o/r/pulls", Some(silent)),
        raw(Method::Post, "/repos/o/r/pulls", None),
        raw(Method::Post, &["/repos/o/r/pulls/1/", "merge"].concat(), Some(json!({"labels": []}))),
        raw(Method::Patch, pull, Some(json!({"state": "closed"}))),
        raw(Method::Patch, pull, Some(json!({"body": "b", "base": "other"}))),
        raw(Method::Patch, pull, Some(json!({"title": "t"}))),
        raw(Method::Patch, pull, Some(json!({}))),
        raw(Method::Patch, pull, Some(json!("body"))),
        raw(Method::Patch, "/repos/o/r/issues/1", Some(json!({"state": "closed"}))),
        raw(Method::Post, "/repos/o/r/pulls/1/reviews", Some(json!({"body": "fine"}))),
        raw(Method::Post, "/graphql", Some(json!({"body": "x"}))),
        raw(Method::Post, "/repos/o/r/pulls/../merges", Some(draft.clone())),
        raw(Method::Patch, "/repos/o/r/pulls/1?x", Some(json!({"body": "b"}))),
        raw(Method::Patch, "/repos/o/r/pulls/{pull_number}", Some(json!({"body": "b"}))),
        raw(Method::Get, "/repos/o/../pulls", None),
        raw(Method::Get, "/repos/o/r", Some(json!({"a": 1}))),
        raw(Method::Get, "https://evil.example/user", None),
    ] {
        let error = refused.permitted().unwrap_err();
        assert_eq!(error.kind().exit_code(), 70, "{refused:?}");
    }
}

#[test]
fn a_request_that_is_shown_before_there_is_a_number_cannot_be_sent() {
    let request = Request::label(&at(), None, &[]);
    assert_eq!(request.target(), "/repos/ada/notes/issues/{issue_number}/labels");
    assert!(request.permitted().is_err());
}

#[test]
fn heads_of_forks_are_named_so_that_github_finds_them() {
    let body = |head: &str| {
        let head = Repository::parse(head).unwrap();
        Request::open_draft(&at(), (&head, "topic"), "main", "t", "b").body.unwrap()
    };
    assert_eq!(body("Ada/Notes")["head"], "topic");
    assert_eq!(body("bea/notes")["head"], "bea:topic");
    assert_eq!(body("bea/notes").get("head_repo"), None);
    assert_eq!(body("ada/other")["head_repo"], "other");
    assert_eq!(body("ada/other")["draft"], true);
}

#[test]
fn queries_are_encoded() {
    let target = Request::pulls_of(&at(), "ada", "a/b&c=d é#").target();
    assert_eq!(target, "/repos/ada/notes/pulls?head=ada%3Aa%2Fb%26c%3Dd%20%C3%A9%23&state=all&per_page=50");
}

proptest! {
    #[test]
    fn no_name_escapes_its_place(owner in "\\PC{0,12}", name in "\\PC{0,12}", branch in "\\PC{0,12}") {
        let at = Repository { owner, name };
        let request = Request::pulls_of(&at, &at.owner, &branch);
        if request.permitted().is_ok() {
            prop_assert!(is_owner(&at.owner) && is_name(&at.name));
            prop_assert_eq!(request.target().matches(['/', '?', ' ', '#']).count(), 5);
        }
    }
}
