//! What GitHub, or something that stands in its place, can answer wrongly: each has its message, its way out and exit
//! code 6, and nothing is written twice.

mod common;

use std::time::Duration;

use git_incident::forge::decide::{Decision, Extras};
use git_incident::forge::open::Broken;
use git_incident::forge::token::{Places, find};
use git_incident::forge::{Api, Forge, Repository, Wish};
use git_incident::model::{Error, Kind};
use git_incident::report::pull_request::markers;
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn secret() -> String {
    ["gh", "p_", "fedcba9876543210"].concat()
}

/// A server and a client of it, on a runtime of their own.
struct Scene {
    runtime: tokio::runtime::Runtime,
    server: MockServer,
}

impl Scene {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let server = runtime.block_on(MockServer::start());
        Self { runtime, server }
    }

    fn answers(&self, verb: &str, at: &str, times: u64, template: ResponseTemplate) {
        let mock = Mock::given(method(verb)).and(path(at)).respond_with(template).up_to_n_times(times);
        self.runtime.block_on(mock.mount(&self.server));
    }

    fn forge_of(address: &str) -> Forge {
        let api = Api { base: address.to_owned(), host: "github.com".into(), named_by: "" };
        let variable = |_: &str| Some(secret());
        let token = find("github.com", &Places { variable: &variable, gh: &|_| None, git: &|_| None })
            .expect("a token");
        Forge::new(api, token, Duration::from_secs(3)).expect("a client")
    }

    fn forge(&self) -> Forge {
        Self::forge_of(&self.server.uri())
    }

    fn asked(&self, verb: &str) -> usize {
        let all = self.runtime.block_on(self.server.received_requests()).unwrap_or_default();
        all.iter().filter(|r| r.method.as_str() == verb).count()
    }
}

fn at() -> Repository {
    Repository::parse("ada/notes").expect("a name")
}

fn wish() -> Wish {
    Wish {
        base_repository: at(),
        base: "main".into(),
        head_repository: at(),
        branch: "topic".into(),
        title: "Mend it".into(),
        body: markers::wrap("the block"),
        at_first: Extras::default(),
        always: Extras::default(),
        force: false,
        again: false,
    }
}

fn pull(body: &str) -> Value {
    let end = |branch: &str| json!({"ref": branch, "sha": "0", "repo": {"full_name": "ada/notes"}});
    json!({
        "number": 7, "html_url": "https://github.com/ada/notes/pull/7", "state": "open", "draft": true, "title": "Mend it",
        "body": body, "user": {"login": "ada"}, "head": end("topic"), "base": end("main"),
    })
}

fn ok(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

#[track_caller]
fn said(error: &Error, what: &str) {
    let all = format!("{error} {}", error.hints().join(" "));
    assert!(all.contains(what), "{what:?} is not in {error:?}");
    assert!(!error.hints().is_empty() && error.kind() == Kind::Remote && error.kind().exit_code() == 6);
    assert!(!format!("{error:?}").contains(&secret()), "{error:?}");
}

const REPOSITORY: &str = "/repos/ada/notes";
const PULLS: &str = "/repos/ada/notes/pulls";

#[test]
fn the_token_is_sent_as_github_wants_it() {
    let scene = Scene::new();
    let bearer = format!("Bearer {}", secret());
    let body = json!({"full_name": "ada/notes", "default_branch": "main"});
    let mock =
        Mock::given(method("GET")).and(header("authorization", bearer.as_str())).respond_with(ok(&body));
    scene.runtime.block_on(mock.mount(&scene.server));
    assert_eq!(scene.forge().repository(&at()).unwrap().default_branch, "main");
}

#[test]
fn a_redirection_is_not_followed_and_the_token_goes_nowhere_else() {
    let (scene, elsewhere) = (Scene::new(), Scene::new());
    for (status, times) in [(301, 1), (307, 1)] {
        let away =
            ResponseTemplate::new(status).insert_header("location", format!("{}/x", elsewhere.server.uri()));
        scene.answers("GET", REPOSITORY, times, away);
        said(&scene.forge().repository(&at()).unwrap_err(), "git remote set-url");
    }
    let away = ResponseTemplate::new(307).insert_header("location", format!("{}/x", elsewhere.server.uri()));
    scene.answers("POST", PULLS, 1, away);
    let broken =
        scene.forge().carry_out(&wish(), &Decision::Create(wish().beside_a_new_one(None))).unwrap_err();
    said(&broken.error, "has moved");
    assert_eq!(elsewhere.asked("GET") + elsewhere.asked("POST"), 0);
}

#[test]
fn web_pages_and_other_answers_that_are_not_githubs_are_not_echoed() {
    let scene = Scene::new();
    for template in [
        ResponseTemplate::new(200).set_body_raw("<html><b>Please log in to the hotel", "text/html"),
        ResponseTemplate::new(502).set_body_raw("<html><b>Please log in to the hotel", "text/html"),
        ResponseTemplate::new(403).set_body_raw(" <!DOCTYPE html>Please log in to the hotel", "text/plain"),
    ] {
        scene.answers("GET", REPOSITORY, 1, template);
        let error = scene.forge().repository(&at()).unwrap_err();
        said(&error, "web page");
        assert!(!format!("{error:?}").contains("hotel"), "{error:?}");
    }
}

#[test]
fn json_that_does_not_fit_is_said_to() {
    let scene = Scene::new();
    for body in ["{\"full_name\": 3}", "[]", "nonsense", ""] {
        scene.answers(
            "GET",
            REPOSITORY,
            1,
            ResponseTemplate::new(200).set_body_raw(body, "application/json"),
        );
        said(&scene.forge().repository(&at()).unwrap_err(), "not what GitHub documents");
    }
}

#[test]
fn a_short_pause_is_made_once_and_a_long_one_never() {
    let scene = Scene::new();
    let limited = |seconds: &str| {
        let body = json!({"message": "You have exceeded a secondary rate limit."});
        ResponseTemplate::new(403).insert_header("retry-after", seconds).set_body_json(body)
    };
    scene.answers("GET", REPOSITORY, 1, limited("0"));
    scene.answers("GET", REPOSITORY, 1, ok(&json!({"full_name": "ada/notes", "default_branch": "main"})));
    scene.forge().repository(&at()).unwrap();
    assert_eq!(scene.asked("GET"), 2);
    scene.answers("GET", REPOSITORY, 1, limited("3600"));
    said(&scene.forge().repository(&at()).unwrap_err(), "3600 s");
    assert_eq!(scene.asked("GET"), 3, "nobody waits for an hour");
    scene.answers("POST", PULLS, 2, limited("0"));
    let broken =
        scene.forge().carry_out(&wish(), &Decision::Create(wish().beside_a_new_one(None))).unwrap_err();
    said(&broken.error, "slow down");
    assert_eq!(scene.asked("POST"), 1, "a write is not sent again");
}

fn create(scene: &Scene) -> Result<git_incident::forge::Opened, Broken> {
    scene.forge().carry_out(&wish(), &Decision::Create(wish().beside_a_new_one(None)))
}

#[test]
fn a_time_out_after_which_the_draft_is_there_is_a_success() {
    let scene = Scene::new();
    scene.answers("POST", PULLS, 1, ok(&pull("")).set_delay(Duration::from_mins(1)));
    // GitHub's editor and its storage change line ends.
    scene.answers("GET", PULLS, 1, ok(&json!([pull(&wish().body.replace('\n', "\r\n"))])));
    let opened = create(&scene).unwrap();
    assert_eq!((opened.number, opened.created, opened.draft), (7, true, true));
    assert_eq!(scene.asked("POST"), 1);
}

#[test]
fn a_5xx_after_which_nothing_or_something_else_is_there_is_told() {
    for status in [500, 502, 503, 504] {
        let scene = Scene::new();
        scene.answers("POST", PULLS, 5, ResponseTemplate::new(status).set_body_json(json!({"message": "x"})));
        // What GitHub took may be listed a moment later: it is looked twice before that is said.
        scene.answers("GET", PULLS, 2, ok(&json!([])));
        scene.answers("GET", PULLS, 1, ok(&json!([pull("another text")])));
        said(&create(&scene).unwrap_err().error, "it may still appear");
        said(&create(&scene).unwrap_err().error, "with another text");
        said(&create(&scene).unwrap_err().error, "cannot be told");
        assert_eq!(scene.asked("POST"), 3, "each time once");
    }
}

#[test]
fn a_201_that_cannot_be_read_is_a_doubt() {
    let scene = Scene::new();
    scene.answers("POST", PULLS, 1, ResponseTemplate::new(201).set_body_raw("{", "application/json"));
    scene.answers("GET", PULLS, 1, ok(&json!([pull(&wish().body)])));
    assert!(create(&scene).unwrap().created);
}

#[test]
fn no_connection_is_told_by_its_reason_and_is_no_doubt() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let forge = Scene::forge_of(&format!("http://{closed}"));
    said(&forge.repository(&at()).unwrap_err(), "no connection");
    let broken = forge.carry_out(&wish(), &Decision::Create(wish().beside_a_new_one(None))).unwrap_err();
    said(&broken.error, "no connection");
    assert_eq!(forge.sent(), 2, "what was never sent needs no look");
    said(&Scene::forge_of("https://github.invalid").repository(&at()).unwrap_err(), "cannot be resolved");
}

#[test]
fn a_server_that_speaks_no_tls_is_told_as_such() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    said(
        &Scene::forge_of(&format!("https://{address}")).repository(&at()).unwrap_err(),
        "no trusted connection",
    );
}

#[test]
fn an_answer_without_end_is_not_read_to_the_end() {
    let scene = Scene::new();
    let long = vec![b' '; 17 << 20];
    scene.answers("GET", REPOSITORY, 2, ResponseTemplate::new(200).set_body_raw(long, "application/json"));
    said(&scene.forge().repository(&at()).unwrap_err(), "lost");
}
