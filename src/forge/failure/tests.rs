//! Every class of refusal has its message and its way out, and none shows a token or a web page.

use proptest::prelude::*;
use serde_json::json;

use super::super::token::{Places, find};
use super::*;

fn secret() -> String {
    ["gh", "p_", "0123456789abcdef"].concat()
}

fn judged(answer: &Answer) -> Failure {
    let api = Api { base: "https://api.github.com".into(), host: "github.com".into(), named_by: "" };
    let variable = |name: &str| (name == "GH_TOKEN").then(secret);
    let token = find("github.com", &Places { variable: &variable, gh: &|_| None, git: &|_| None }).unwrap();
    let repository = Repository::parse("ada/notes").unwrap();
    let circumstances =
        Circumstances { api: &api, token: &token, repository: &repository, branch: "topic", base: "main" };
    circumstances.of_answer(&Request::repository(&repository), answer)
}

fn answer(status: u16, headers: &[(&str, &str)], body: &Value) -> Answer {
    let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    Answer { status, headers, body: body.to_string().into_bytes() }
}

fn message(status: u16, text: &str) -> Answer {
    answer(status, &[], &json!({"message": text, "documentation_url": "https://docs.github.com/rest"}))
}

fn invalid(errors: &Value) -> Answer {
    answer(422, &[], &json!({"message": "Validation Failed", "errors": errors}))
}

#[test]
fn every_class_has_its_message_and_its_way_out() {
    let sso = "required; url=https://github.com/orgs/ada/sso?authorization_request=AB";
    let cases = [
        (message(401, "Bad credentials"), Class::Token, "$GH_TOKEN", "gh auth login"),
        (
            answer(
                403,
                &[("x-github-sso", sso)],
                &json!({"message": "Resource protected by organization SAML enforcement."}),
            ),
            Class::SingleSignOn,
            "single sign-on",
            "https://github.com/orgs/ada/sso?authorization_request=AB",
        ),
        (
            answer(
                403,
                &[("retry-after", "30")],
                &json!({"message": "You have exceeded a secondary rate limit."}),
            ),
            Class::SecondaryLimit,
            "slow down",
            "30 s",
        ),
        (
            message(403, "You have triggered an abuse detection mechanism."),
            Class::SecondaryLimit,
            "slow down",
            "a minute",
        ),
        (
            answer(
                403,
                &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1767323045")],
                &json!({"message": "API rate limit exceeded for user ID 1."}),
            ),
            Class::RateLimit,
            "used up",
            "2026-01-02T03:04:05",
        ),
        (answer(429, &[("retry-after", "60")], &json!({})), Class::SecondaryLimit, "slow down", "60 s"),
        (message(403, "Repository was archived so is read-only."), Class::ReadOnly, "archived", "--repo"),
        (
            answer(
                403,
                &[("x-accepted-github-permissions", "pull_requests=write")],
                &json!({"message": "Resource not accessible by personal access token"}),
            ),
            Class::Forbidden,
            "may not do this",
            "Pull requests read and write",
        ),
        (message(404, "Not Found"), Class::NotFound, "ada/notes", "git remote -v"),
        (message(301, "Moved Permanently"), Class::Moved, "has moved", "git remote set-url"),
        (message(307, "Temporary Redirect"), Class::Moved, "has moved", "git remote set-url"),
        (
            invalid(
                &json!([{"resource": "PullRequest", "code": "custom", "message": "No commits between main and topic"}]),
            ),
            Class::NoCommits,
            "nothing that main",
            "--base",
        ),
        (
            invalid(
                &json!([{"resource": "PullRequest", "code": "custom", "message": "A pull request already exists for ada:topic."}]),
            ),
            Class::AlreadyExists,
            "already",
            "again",
        ),
        (
            message(422, "Draft pull requests are not supported in this repository."),
            Class::DraftUnsupported,
            "does not take drafts",
            "https://github.com/ada/notes/compare/main...topic",
        ),
        (
            invalid(
                &json!([{"resource": "Issue", "field": "body", "code": "custom", "message": "body is too long (maximum is 65536 characters)"}]),
            ),
            Class::TooLong,
            "too long",
            "shorten",
        ),
        (
            invalid(&json!([{"resource": "PullRequest", "field": "base", "code": "invalid"}])),
            Class::Invalid,
            "no branch \"main\"",
            "--base",
        ),
        (
            invalid(&json!([{"resource": "PullRequest", "field": "head", "code": "invalid"}])),
            Class::Invalid,
            "\"topic\"",
            "git push",
        ),
        (
            message(
                422,
                "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator.",
            ),
            Class::Invalid,
            "review",
            "--reviewer",
        ),
        (message(500, "Server Error"), Class::Server, "in trouble", "githubstatus"),
        (message(503, ""), Class::Server, "503", "githubstatus"),
        (message(418, "teapot"), Class::Invalid, "418", "git incident pr"),
    ];
    for (answer, class, what, hint) in cases {
        let failure = judged(&answer);
        assert_eq!(failure.class, class, "{:?}", failure.error);
        let error = failure.error;
        assert!(error.what().contains(what), "{what:?} is not in {error:?}");
        assert!(error.hints().iter().any(|h| h.contains(hint)), "{hint:?} is not in {error:?}");
        assert_eq!(error.kind().exit_code(), 6);
    }
}

#[test]
fn a_web_page_is_not_echoed() {
    let mut page = answer(502, &[("content-type", "text/html; charset=utf-8")], &json!(null));
    page.body = b"<html><body>Bad gateway from the proxy".to_vec();
    let failure = judged(&page);
    assert_eq!(failure.class, Class::WebPage);
    assert!(failure.in_doubt());
    assert!(!format!("{:?}", failure.error).contains("Bad gateway"));
    page.headers.clear();
    page.status = 200;
    assert_eq!(judged(&page).class, Class::WebPage, "whatever it says it is");
}

#[test]
fn an_answer_that_repeats_the_token_does_not_get_it_shown() {
    let failure = judged(&message(403, &format!("no access with {}", secret())));
    assert!(!format!("{:?}", failure.error).contains(&secret()));
    assert!(failure.error.to_string().contains("[token]"));
}

#[test]
fn only_what_may_have_been_done_is_in_doubt() {
    for (status, doubt) in [(500, true), (502, true), (422, false), (403, false), (404, false), (401, false)]
    {
        assert_eq!(judged(&message(status, "x")).in_doubt(), doubt, "{status}");
    }
}

#[test]
fn a_sign_on_address_must_be_one() {
    assert_eq!(sign_on("required; url=javascript:x"), None);
    assert_eq!(sign_on("partial-results; organizations=1"), None);
}

proptest! {
    #[test]
    fn no_answer_panics_or_gets_long(
        status in 100_u16..600,
        body in "\\PC{0,80}|\\{\"message\":\"[a-z ]{0,2000}\"\\}",
        header in "\\PC{0,20}",
    ) {
        let names = ["retry-after", "x-ratelimit-reset", "x-ratelimit-remaining", "x-github-sso", "content-type"];
        let answer = Answer {
            status,
            headers: names.iter().map(|n| ((*n).to_owned(), header.clone())).collect(),
            body: body.into_bytes(),
        };
        let error = judged(&answer).error;
        prop_assert!(!error.hints().is_empty());
        prop_assert!(error.causes().iter().all(|c| c.chars().count() <= SHOWN + 60));
    }
}

#[test]
fn a_token_at_the_end_of_what_is_shown_leaves_no_half() {
    let failure = judged(&message(418, &format!("{}{}", "x".repeat(SHOWN - 10), secret())));
    assert!(!format!("{:?}", failure.error).contains(&secret()[..6]), "{:?}", failure.error);
}

#[test]
fn odd_shapes_are_still_understood() {
    let text = answer(
        422,
        &[],
        &json!({"message": "Validation Failed", "errors": "No commits between main and topic"}),
    );
    assert_eq!(judged(&text).class, Class::NoCommits);
    let date = answer(429, &[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], &json!({"message": "x"}));
    let failure = judged(&date);
    assert_eq!((failure.class, failure.retry_after), (Class::SecondaryLimit, None));
    assert!(failure.error.hints()[0].contains("this request was not carried out"));
    let mut moved = message(301, "");
    moved.headers.push(("content-type".into(), "text/html".into()));
    assert_eq!(judged(&moved).class, Class::Moved);
}
