//! What GitHub's refusals mean, and the way out of each.

use serde_json::Value;

use super::host::Api;
use super::routes::{Answer, Repository, Request, Trouble};
use super::token::Token;
use crate::model::{Error, Kind, Timestamp};

/// What kind of refusal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The token is not accepted.
    Token,
    /// The organisation wants a single sign-on for the token.
    SingleSignOn,
    /// The token may not do this.
    Forbidden,
    /// The token's requests of this hour are used up.
    RateLimit,
    /// Too much at once.
    SecondaryLimit,
    /// It is not there, or not for this token.
    NotFound,
    /// It has moved.
    Moved,
    /// Nothing can be written to the repository.
    ReadOnly,
    /// The repository has no drafts.
    DraftUnsupported,
    /// There is a pull request of this branch.
    AlreadyExists,
    /// The branch holds nothing new.
    NoCommits,
    /// The description is too long.
    TooLong,
    /// A field has a value that GitHub does not take.
    Invalid,
    /// Something that is not GitHub answered.
    WebPage,
    /// GitHub is in trouble.
    Server,
    /// The answer is not what GitHub documents.
    Misfit,
    /// There was no connection.
    NotSent,
    /// What became of the request is unknown.
    Lost,
    /// Not one of the allowed requests.
    Bug,
}

/// A refusal.
#[derive(Debug)]
pub struct Failure {
    /// What kind it is.
    pub class: Class,
    /// How it is told.
    pub error: Error,
    /// After how many seconds GitHub asks to come back.
    pub retry_after: Option<u64>,
}

impl Failure {
    /// Whether the request may have been carried out all the same.
    pub fn in_doubt(&self) -> bool {
        matches!(self.class, Class::WebPage | Class::Server | Class::Misfit | Class::Lost)
    }
}

/// What a refusal is told with.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    /// The API that was asked.
    pub api: &'a Api,
    /// With which token.
    pub token: &'a Token,
    /// About which repository.
    pub repository: &'a Repository,
    /// The branch the change is on.
    pub branch: &'a str,
    /// The branch it goes to.
    pub base: &'a str,
}

/// The longest piece of a foreign message that is shown, in characters.
const SHOWN: usize = 400;

impl Circumstances<'_> {
    /// Why nothing came back.
    pub fn of_trouble(&self, request: &Request, trouble: Trouble) -> Failure {
        let (class, why) = match trouble {
            Trouble::Refused(error) => return Failure { class: Class::Bug, error, retry_after: None },
            Trouble::NotSent(why) => (Class::NotSent, why),
            Trouble::Lost(why) => (Class::Lost, why),
        };
        let all = why.join(": ").to_ascii_lowercase();
        let host = &self.api.base;
        let (what, hint) = if class == Class::Lost {
            let what = format!("the connection to {host} was lost after {} was sent", short(request));
            (what, "try again: what was done is looked up first, nothing is sent twice".to_owned())
        } else if ["dns", "lookup", "resolve"].iter().any(|word| all.contains(word)) {
            (
                format!("the name of {host} cannot be resolved"),
                "see that the network is there, and that the remote's host is right: git remote -v"
                    .to_owned(),
            )
        } else if ["certificate", "tls", "handshake", "corrupt message"].iter().any(|word| all.contains(word))
        {
            (format!("no trusted connection to {host}"), "a company's own certificate belongs into the machine's store (ca-certificates), or name it: export SSL_CERT_FILE=FILE".to_owned())
        } else {
            (format!("no connection to {host}"), "see that the network is there; proxies named by HTTPS_PROXY are not used: name an API you can reach by GIT_INCIDENT_GITHUB_API".to_owned())
        };
        let mut error = Error::new(Kind::Remote, what);
        for line in why {
            error = error.because(self.clean(&line));
        }
        Failure { class, error: error.hint(hint).hint(PRINT), retry_after: None }
    }

    /// A body that should have been JSON of a known shape.
    pub fn of_misfit(&self, request: &Request, answer: &Answer, why: &str) -> Failure {
        if is_page(answer) {
            return self.of_answer(request, answer);
        }
        let error = Error::new(
            Kind::Remote,
            format!("the answer to {} is not what GitHub documents", short(request)),
        )
        .because(self.clean(why))
        .hint(format!("see that {} is GitHub's API", self.api.base))
        .hint(PRINT);
        Failure { class: Class::Misfit, error, retry_after: None }
    }

    /// What an answer other than success means.
    pub fn of_answer(&self, request: &Request, answer: &Answer) -> Failure {
        let retry_after = answer.header("retry-after").and_then(|v| v.trim().parse::<u64>().ok());
        let said = Said::read(answer);
        let (class, mut error) = self.judge(request, answer, &said, retry_after);
        if class != Class::WebPage {
            for line in said.lines() {
                error = error.because(self.clean(&line));
            }
            if let Some(id) = answer.header("x-github-request-id").filter(|_| class == Class::Server) {
                error = error.because(format!("GitHub's number of the request: {}", self.clean(id)));
            }
        }
        Failure { class, error, retry_after }
    }

    fn judge(
        &self,
        request: &Request,
        answer: &Answer,
        said: &Said,
        retry_after: Option<u64>,
    ) -> (Class, Error) {
        let new = |what: String| Error::new(Kind::Remote, what);
        let (repository, base) = (self.repository, &self.api.base);
        let status = answer.status;
        let lower = said.everything().to_ascii_lowercase();
        let exhausted = answer.header("x-ratelimit-remaining") == Some("0");
        if is_page(answer) && !matches!(status, 301 | 302 | 303 | 307 | 308) {
            let error = new(format!("{base} answered {status} with a web page, not as GitHub's API does"))
                .because("a proxy, a login page or a firewall may stand between, or the address is not an API's")
                .hint("look at it in a browser, and see what GIT_INCIDENT_GITHUB_API and git config --global incident.githubApi say");
            return (Class::WebPage, error.hint(PRINT));
        }
        match status {
            301 | 302 | 303 | 307 | 308 => {
                let error = new(format!("{repository} has moved: GitHub points elsewhere ({status})"))
                    .because("redirections are not followed, so that the token goes to one place only")
                    .hint(format!("find its new name at https://{}/{repository}", self.api.host))
                    .hint("then mend the remote: git remote set-url NAME URL");
                (Class::Moved, error)
            }
            401 => {
                let error =
                    new(format!("{} does not accept the token from {}", self.api.host, self.token.source()))
                        .hint(format!(
                            "it may be expired or revoked: gh auth login --hostname {}",
                            self.api.host
                        ))
                        .hint("or put a new one into the place it came from");
                (Class::Token, error)
            }
            403 | 404 if answer.header("x-github-sso").is_some_and(|v| v.contains("required")) => {
                let mut error = new(format!(
                    "{} wants a single sign-on (SAML) for the token from {}",
                    repository.owner,
                    self.token.source()
                ));
                error = match sign_on(answer.header("x-github-sso").unwrap_or_default()) {
                    Some(url) => {
                        error.hint(format!("authorise the token there, then try again: {}", self.clean(&url)))
                    }
                    None => error.hint(
                        "authorise the token for the organisation in GitHub's settings, then try again",
                    ),
                };
                (Class::SingleSignOn, error)
            }
            403 | 429
                if lower.contains("secondary rate limit")
                    || lower.contains("abuse")
                    || (!exhausted
                        && (retry_after.is_some() || (status == 429 && !lower.contains("rate limit")))) =>
            {
                let when = retry_after.map_or_else(|| "a minute".to_owned(), |s| format!("{s} s"));
                let error = new("GitHub asks to slow down (secondary rate limit)".to_owned())
                    .hint(format!("try again in {when}; this request was not carried out"));
                (Class::SecondaryLimit, error)
            }
            403 | 429 if exhausted || lower.contains("rate limit") => {
                let reset = answer.header("x-ratelimit-reset").and_then(|v| v.parse::<i64>().ok());
                let when = reset.map_or_else(
                    || "within the hour".to_owned(),
                    |s| format!("at {}", Timestamp::from_millis(s.saturating_mul(1000))),
                );
                let error =
                    new(format!("the requests of the token from {} are used up", self.token.source()))
                        .hint(format!("they are renewed {when}; this request was not carried out"));
                (Class::RateLimit, error)
            }
            403 if lower.contains("archived") || lower.contains("read-only") => {
                let error = new(format!("{repository} is archived: nothing can be written to it"));
                (
                    Class::ReadOnly,
                    error.hint(
                        "name the repository that took its place: git incident pr --open --repo OWNER/NAME",
                    ),
                )
            }
            403 => {
                let mut error =
                    new(format!("the token from {} may not do this in {repository}", self.token.source()));
                for header in ["x-accepted-github-permissions", "x-accepted-oauth-scopes"] {
                    if let Some(wanted) = answer.header(header).filter(|v| !v.trim().is_empty()) {
                        error = error.because(format!("GitHub wants: {}", self.clean(wanted)));
                    }
                }
                let error = error
                    .hint("give it the permission (fine-grained: Pull requests read and write; classic: repo), or use another token")
                    .hint(PRINT);
                (Class::Forbidden, error)
            }
            404 | 410 => {
                let error = new(format!("GitHub shows no {repository} to the token from {}", self.token.source()))
                    .because("it answers so, too, where a repository is private and the token has no access, or lacks a permission")
                    .hint(format!("see that the name is right: git remote -v, https://{}/{repository}", self.api.host))
                    .hint("see that the token has access to it; in an organisation, that its owners approved the token");
                (Class::NotFound, error)
            }
            422 => self.judge_fields(said, &lower),
            500..=599 => {
                let error =
                    new(format!("GitHub is in trouble: it answered {} with {status}", short(request)));
                (Class::Server, error.hint("try again later: https://www.githubstatus.com").hint(PRINT))
            }
            _ => {
                let error = new(format!("GitHub refused {} with {status}", short(request)));
                (Class::Invalid, error.hint(PRINT))
            }
        }
    }

    fn judge_fields(&self, said: &Said, lower: &str) -> (Class, Error) {
        let new = |what: String| Error::new(Kind::Remote, what);
        let (repository, branch, base) = (self.repository, self.branch, self.base);
        if lower.contains("draft pull requests are not supported") {
            let error = new(format!("{repository} does not take drafts"))
                .because("a pull request that is ready at once is never opened from here")
                .hint(format!(
                    "open it by hand with the text above: https://{}/{repository}/compare/{base}...{branch}",
                    self.api.host
                ));
            return (Class::DraftUnsupported, error);
        }
        if lower.contains("already exists") && lower.contains("pull request") {
            let error = new(format!("there is a pull request of {branch} already"));
            return (
                Class::AlreadyExists,
                error.hint("run the same command again: it updates the one that is there"),
            );
        }
        if lower.contains("no commits between") || lower.contains("has no history in common") {
            let error = new(format!("{branch} holds nothing that {base} of {repository} does not have"));
            return (
                Class::NoCommits,
                error.hint(format!(
                    "commit the fix and push it, or name another base than {base}: --base BRANCH"
                )),
            );
        }
        if said.field("body") && (lower.contains("too long") || lower.contains("maximum")) {
            let error = new("the description is too long for GitHub".to_owned());
            return (
                Class::TooLong,
                error.hint(
                    "shorten what stands around the block of git incident in the pull request's description",
                ),
            );
        }
        if said.field("base") {
            let error = new(format!("{repository} has no branch {base:?} to go to"));
            return (Class::Invalid, error.hint("name one that is there: --base BRANCH"));
        }
        if said.field("head") {
            let error = new(format!(
                "GitHub does not see the branch {branch:?}, or it is not of a fork of {repository}"
            ));
            return (
                Class::Invalid,
                error
                    .hint("push it: git push -u REMOTE HEAD")
                    .hint("name the repository it goes to: --repo OWNER/NAME"),
            );
        }
        if lower.contains("review") {
            let error = new(format!("not everybody who was named can be asked for a review in {repository}"));
            return (
                Class::Invalid,
                error.hint(
                    "name people who have access to it, and never the author: --reviewer LOGIN or ORG/TEAM",
                ),
            );
        }
        (Class::Invalid, new("GitHub does not take a value that was sent (422)".to_owned()).hint(PRINT))
    }

    /// A foreign text, short, in one line, without the token.
    fn clean(&self, text: &str) -> String {
        // Cut before it is shortened: half a token is a token's half.
        let text = self.token.cut_from(text);
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN).collect()
    }
}

const PRINT: &str = "the text itself can be had without GitHub: git incident pr";

fn short(request: &Request) -> String {
    let target = request.target();
    format!("{} {}", request.method(), target.split('?').next().unwrap_or_default())
}

/// Whether the body is for a browser. Its text is not shown: it says nothing to a terminal.
fn is_page(answer: &Answer) -> bool {
    let kind = answer.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let start = answer.body.trim_ascii_start();
    kind.contains("html") || start.starts_with(b"<")
}

/// The address in `required; url=https://…`.
fn sign_on(header: &str) -> Option<String> {
    let url = header.split(';').find_map(|part| part.trim().strip_prefix("url="))?;
    url.starts_with("https://").then(|| url.to_owned())
}

/// What an error's body says.
#[derive(Debug, Default)]
struct Said {
    message: String,
    errors: Vec<(String, String)>,
}

impl Said {
    fn read(answer: &Answer) -> Self {
        let Ok(body) = serde_json::from_slice::<Value>(&answer.body) else {
            return Self::default();
        };
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let errors = match body.get("errors") {
            Some(Value::Array(all)) => all.as_slice(),
            // Some answers have one text where a list is documented.
            Some(one @ Value::String(_)) => std::slice::from_ref(one),
            _ => &[],
        }
        .iter()
        .take(5)
        .map(|e| match e {
            Value::String(text) => (String::new(), text.clone()),
            other => {
                let (field, message, code) =
                    (text(other, "field"), text(other, "message"), text(other, "code"));
                let message =
                    if message.is_empty() { [field.as_str(), code.as_str()].join(" ") } else { message };
                (field, message)
            }
        });
        Self { message: text(&body, "message"), errors: errors.collect() }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.errors.iter().map(|(_, message)| message.trim().to_owned()).collect();
        lines.insert(0, self.message.clone());
        lines.retain(|line| !line.is_empty());
        lines
    }

    fn everything(&self) -> String {
        self.lines().join("\n")
    }

    fn field(&self, name: &str) -> bool {
        self.errors
            .iter()
            .any(|(field, message)| field == name || message.contains(&format!("field: {name}")))
            || self.message.contains(&format!("\"{name}\""))
    }
}

#[cfg(test)]
#[path = "failure/tests.rs"]
mod tests;
