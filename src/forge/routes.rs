//! Every request this program can make of GitHub, and the one place that sends.
//!
//! [`ALLOWED`] is the whole list: method, path, and the members a query and a body may have. Each request is held
//! against it when it is sent, so nothing outside of it leaves the machine: not a merge, an approval, a closing, a
//! change of base, nor a draft that is made ready. `tests/tidy.rs` holds the list against a copy of its own and
//! fails when another file of the program names the client or a path.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use octocrab::Octocrab;
use serde_json::{Value, json};

use super::host::Api;
use super::token::Token;
use crate::git::remote_url::{is_name, is_owner};
use crate::model::{Error, Result};

/// The largest answer that is read, in bytes: a hundred pull requests with the longest descriptions fit.
const LARGEST_ANSWER: usize = 16 << 20;

/// What is done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Adds.
    Post,
    /// Changes.
    Patch,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
        })
    }
}

/// One kind of request.
#[derive(Debug)]
pub struct Route {
    /// What it does.
    pub method: Method,
    /// Its path, with `{placeholders}`.
    pub path: &'static str,
    /// What a query may name.
    pub query: &'static [&'static str],
    /// What the body may hold; without any there is no body.
    pub body: &'static [&'static str],
}

const fn get(path: &'static str, query: &'static [&'static str]) -> Route {
    Route { method: Method::Get, path, query, body: &[] }
}

const fn write(method: Method, path: &'static str, body: &'static [&'static str]) -> Route {
    Route { method, path, query: &[], body }
}

/// Every kind of request there is.
pub const ALLOWED: &[Route] = &[
    get("/user", &[]),
    get("/repos/{owner}/{repo}", &[]),
    get("/repos/{owner}/{repo}/pulls", &["head", "state", "per_page"]),
    get("/repos/{owner}/{repo}/pulls/{pull_number}", &[]),
    get("/repos/{owner}/{repo}/milestones", &["state", "per_page"]),
    write(
        Method::Post,
        "/repos/{owner}/{repo}/pulls",
        &["title", "head", "head_repo", "base", "body", "draft"],
    ),
    write(Method::Patch, "/repos/{owner}/{repo}/pulls/{pull_number}", &["body"]),
    write(Method::Post, "/repos/{owner}/{repo}/issues/{issue_number}/labels", &["labels"]),
    write(
        Method::Post,
        "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
        &["reviewers", "team_reviewers"],
    ),
    write(Method::Patch, "/repos/{owner}/{repo}/issues/{issue_number}", &["milestone"]),
];

/// `OWNER/NAME`.
#[derive(Debug, Clone)]
pub struct Repository {
    /// The user or organisation.
    pub owner: String,
    /// The name.
    pub name: String,
}

impl Repository {
    /// Reads `OWNER/NAME`; `None` for what could not be one.
    pub fn parse(text: &str) -> Option<Self> {
        let (owner, name) = text.split_once('/')?;
        (is_owner(owner) && is_name(name)).then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }
}

impl PartialEq for Repository {
    /// GitHub takes names in any case.
    fn eq(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// One request, to be shown or sent. Only the functions here make one.
#[derive(Debug, Clone)]
pub struct Request {
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    body: Option<Value>,
}

/// The number of a pull request; `None` while there is none: the request can then be shown, not sent.
pub type Number = Option<u64>;

impl Request {
    /// Who the token belongs to.
    pub fn user() -> Self {
        Self { method: Method::Get, path: "/user".to_owned(), query: Vec::new(), body: None }
    }

    /// What a repository is: its default branch, its parent.
    pub fn repository(at: &Repository) -> Self {
        Self::below(Method::Get, at, "")
    }

    /// The pull requests of a branch, open or not, newest first. GitHub filters by owner and branch.
    pub fn pulls_of(at: &Repository, head_owner: &str, branch: &str) -> Self {
        let mut request = Self::below(Method::Get, at, "/pulls");
        request.query = vec![
            ("head", format!("{head_owner}:{branch}")),
            ("state", "all".to_owned()),
            ("per_page", "50".to_owned()),
        ];
        request
    }

    /// One pull request.
    pub fn pull(at: &Repository, number: u64) -> Self {
        Self::below(Method::Get, at, &format!("/pulls/{number}"))
    }

    /// The open milestones.
    pub fn milestones(at: &Repository) -> Self {
        let mut request = Self::below(Method::Get, at, "/milestones");
        request.query = vec![("state", "open".to_owned()), ("per_page", "100".to_owned())];
        request
    }

    /// Opens a draft. There is no way to open anything else.
    pub fn open_draft(
        at: &Repository,
        from: (&Repository, &str),
        base: &str,
        title: &str,
        body: &str,
    ) -> Self {
        let (head, branch) = from;
        let mut members = json!({"title": title, "base": base, "body": body, "draft": true});
        members["head"] = if head == at { json!(branch) } else { json!(format!("{}:{branch}", head.owner)) };
        // Two repositories of one owner in the same network: the owner alone does not tell which.
        if head != at && head.owner.eq_ignore_ascii_case(&at.owner) {
            members["head_repo"] = json!(head.name);
        }
        Self { body: Some(members), ..Self::below(Method::Post, at, "/pulls") }
    }

    /// Replaces the description, nothing else.
    pub fn describe(at: &Repository, number: Number, body: &str) -> Self {
        let path = format!("/pulls/{}", shown(number, "pull_number"));
        Self { body: Some(json!({ "body": body })), ..Self::below(Method::Patch, at, &path) }
    }

    /// Adds labels to those that are there.
    pub fn label(at: &Repository, number: Number, labels: &[String]) -> Self {
        let path = format!("/issues/{}/labels", shown(number, "issue_number"));
        Self { body: Some(json!({ "labels": labels })), ..Self::below(Method::Post, at, &path) }
    }

    /// Asks people and teams for a review.
    pub fn ask_reviewers(at: &Repository, number: Number, people: &[String], teams: &[String]) -> Self {
        let path = format!("/pulls/{}/requested_reviewers", shown(number, "pull_number"));
        let body = json!({"reviewers": people, "team_reviewers": teams});
        Self { body: Some(body), ..Self::below(Method::Post, at, &path) }
    }

    /// Puts it into a milestone.
    pub fn set_milestone(at: &Repository, number: Number, milestone: &Value) -> Self {
        let path = format!("/issues/{}", shown(number, "issue_number"));
        Self { body: Some(json!({ "milestone": milestone })), ..Self::below(Method::Patch, at, &path) }
    }

    fn below(method: Method, at: &Repository, rest: &str) -> Self {
        let path = format!("/repos/{}/{}{rest}", at.owner, at.name);
        Self { method, path, query: Vec::new(), body: None }
    }

    /// What is done.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The path with its query, as it is sent.
    pub fn target(&self) -> String {
        let mut target = self.path.clone();
        for (at, (name, value)) in self.query.iter().enumerate() {
            target.push(if at == 0 { '?' } else { '&' });
            target.push_str(&format!("{name}={}", encoded(value)));
        }
        target
    }

    /// What is sent with it.
    pub fn body(&self) -> Option<&Value> {
        self.body.as_ref()
    }

    /// Whether it changes nothing.
    pub fn reads(&self) -> bool {
        self.method == Method::Get
    }

    /// Holds the request against [`ALLOWED`].
    ///
    /// # Errors
    /// It is none of those: a bug of ours, and it is not sent.
    pub fn permitted(&self) -> Result<()> {
        if ALLOWED.iter().any(|route| self.is(route)) {
            return Ok(());
        }
        Err(Error::bug(format!(
            "{} {} is not among the requests this program may make",
            self.method, self.path
        ))
        .hint("nothing was sent; please report this"))
    }

    fn is(&self, route: &Route) -> bool {
        let members = match &self.body {
            None => route.body.is_empty(),
            Some(Value::Object(members)) => {
                !members.is_empty() && members.keys().all(|name| route.body.contains(&name.as_str()))
            }
            Some(_) => false,
        };
        // What could be opened as ready must say that it is a draft.
        let draft = !route.body.contains(&"draft")
            || self.body.as_ref().and_then(|body| body.get("draft")) == Some(&Value::Bool(true));
        self.method == route.method
            && matches(&self.path, route.path)
            && self.query.iter().all(|(name, _)| route.query.contains(name))
            && members
            && draft
    }
}

fn shown(number: Number, placeholder: &str) -> String {
    number.map_or_else(|| format!("{{{placeholder}}}"), |n| n.to_string())
}

/// Whether a path is of a template: as many parts, the fixed ones equal, the others plain words.
fn matches(path: &str, template: &str) -> bool {
    let (parts, wanted): (Vec<&str>, Vec<&str>) = (path.split('/').collect(), template.split('/').collect());
    parts.len() == wanted.len()
        && parts.iter().zip(&wanted).all(|(part, wanted)| match *wanted {
            "{owner}" => is_owner(part),
            "{repo}" => is_name(part),
            "{pull_number}" | "{issue_number}" => {
                !part.is_empty() && part.len() <= 20 && part.bytes().all(|b| b.is_ascii_digit())
            }
            fixed => *part == fixed,
        })
}

/// Percent-encoding (RFC 3986, 2.1) of everything but its unreserved characters.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, b| {
        if b.is_ascii_alphanumeric() || b"-._~".contains(&b) {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
        out
    })
}

/// What came back.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// Why nothing came back.
#[derive(Debug)]
pub enum Trouble {
    /// It was never sent: there was no connection. The reasons, outermost first.
    NotSent(Vec<String>),
    /// It may have been received, and what became of it is unknown.
    Lost(Vec<String>),
    /// It may not be sent.
    Refused(Error),
}

/// The one that sends.
pub struct Sender {
    client: Octocrab,
    runtime: tokio::runtime::Runtime,
    patience: Duration,
    sent: Cell<u32>,
}

impl Sender {
    /// A client of one API, with one token, for requests that each may take as long as `patience`.
    ///
    /// Nothing is repeated and no redirection is followed: the client is built without either.
    ///
    /// # Errors
    /// The machine's certificates cannot be read.
    pub fn new(api: &Api, token: &Token, patience: Duration) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|e| Error::refused("cannot set up the network").because(e))?;
        let guard = runtime.enter();
        let builder = Octocrab::builder()
            .personal_token(token.secret().to_owned())
            .set_connect_timeout(Some(patience.min(Duration::from_secs(10))));
        let built = match builder.base_uri(api.base.as_str()) {
            Ok(builder) => builder.build(),
            Err(error) => Err(error),
        };
        drop(guard);
        let client = built.map_err(|e| {
            Error::refused("cannot set up the connection to GitHub")
                .because(token.cut_from(&reasons(&e).join(": ")))
                .hint("see that the machine has certificates: the package ca-certificates")
        })?;
        Ok(Self { client, runtime, patience, sent: Cell::new(0) })
    }

    /// How many requests were sent.
    pub fn sent(&self) -> u32 {
        self.sent.get()
    }

    /// Sends one request, once.
    ///
    /// # Errors
    /// It may not be sent, or nothing came back.
    pub fn send(&self, request: &Request) -> Result<Answer, Trouble> {
        request.permitted().map_err(Trouble::Refused)?;
        self.sent.set(self.sent.get() + 1);
        self.runtime.block_on(async {
            let exchange = tokio::time::timeout(self.patience, self.exchange(request));
            exchange.await.unwrap_or_else(|_| {
                Err(Trouble::Lost(vec![format!("no answer within {} s", self.patience.as_secs())]))
            })
        })
    }

    async fn exchange(&self, request: &Request) -> Result<Answer, Trouble> {
        let target = request.target();
        let body = request.body();
        let response = match request.method {
            Method::Get => self.client._get(target).await,
            Method::Post => self.client._post(target, body).await,
            Method::Patch => self.client._patch(target, body).await,
        };
        let response = response.map_err(|e| {
            let why = reasons(&e);
            // hyper's own word for "there never was a connection".
            if why.iter().any(|w| w.contains("(Connect)")) {
                Trouble::NotSent(why)
            } else {
                Trouble::Lost(why)
            }
        })?;
        let mut answer = Answer { status: response.status().as_u16(), ..Answer::default() };
        for (name, value) in response.headers() {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            answer.headers.push((name.as_str().to_owned(), value));
        }
        match Limited::new(response.into_body(), LARGEST_ANSWER).collect().await {
            Ok(collected) => answer.body = collected.to_bytes().to_vec(),
            Err(e) => return Err(Trouble::Lost(vec!["the answer broke off".to_owned(), e.to_string()])),
        }
        Ok(answer)
    }
}

/// An error's own words and those of everything below it, each once.
fn reasons(error: &octocrab::Error) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    let mut next: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = next.filter(|_| said.len() < 8) {
        let line: String = error.to_string().lines().next().unwrap_or_default().chars().take(300).collect();
        if !line.is_empty() && !said.contains(&line) {
            said.push(line);
        }
        next = error.source();
    }
    if said.is_empty() {
        said.push(error.to_string().lines().next().unwrap_or_default().to_owned());
    }
    said
}

#[cfg(test)]
#[path = "routes/tests.rs"]
mod tests;
