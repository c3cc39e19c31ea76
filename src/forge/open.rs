//! The sequence of requests that opens or updates a draft, and what is done when an answer is in doubt.
//!
//! Reads are asked again once; writes never are: after a time-out, a cut connection or a 5xx the branch's pull
//! requests are listed again and compared with what was wanted.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::json;

use super::answers::{Milestone, Pull, RepositoryAnswer, User};
use super::decide::{Decision, Todo, Wish};
use super::failure::{Circumstances, Class, Failure};
use super::host::Api;
use super::routes::{Repository, Request, Sender};
use super::token::Token;
use crate::model::{Error, Kind, Result};
use crate::report::pull_request::markers;

/// The longest pause before a read is asked again, in seconds, whatever GitHub asks for.
const LONGEST_PAUSE: u64 = 10;

/// The pause before GitHub's list is looked at a second time for what may have been opened.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// A connection to one API with one token.
pub struct Forge {
    sender: Sender,
    api: Api,
    token: Token,
}

/// A pull request as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub url: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether it was not there before.
    pub created: bool,
    /// Whether anything was written.
    pub changed: bool,
}

/// Something went wrong on the way.
#[derive(Debug)]
pub struct Broken {
    /// What.
    pub error: Error,
    /// The repository takes no drafts: nothing was opened, and the text is worth printing.
    pub no_drafts: bool,
    /// What is there nevertheless.
    pub opened: Option<Opened>,
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self { error, no_drafts: false, opened: None }
    }
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self { no_drafts: failure.class == Class::DraftUnsupported, error: failure.error, opened: None }
    }
}

impl Forge {
    /// Connects nothing yet.
    ///
    /// # Errors
    /// As [`Sender::new`].
    pub fn new(api: Api, token: Token, patience: Duration) -> Result<Self> {
        Ok(Self { sender: Sender::new(&api, &token, patience)?, api, token })
    }

    /// The API.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The token's source.
    pub fn token_source(&self) -> &str {
        self.token.source()
    }

    /// How many requests were sent.
    pub fn sent(&self) -> u32 {
        self.sender.sent()
    }

    /// What a repository is.
    ///
    /// # Errors
    /// GitHub says no.
    pub fn repository(&self, at: &Repository) -> Result<RepositoryAnswer> {
        let circumstances = self.about(at, "", "");
        self.json(&circumstances, &Request::repository(at)).map_err(|f| f.error)
    }

    /// Looks at what is there, and decides. Reads only.
    ///
    /// # Errors
    /// GitHub says no; there is a pull request that must not be touched.
    pub fn resolve(&self, wish: &Wish) -> Result<Decision> {
        let circumstances = self.about_wish(wish);
        let listed: Vec<Pull> = self.list(wish).map_err(|f| f.error)?;
        let candidate = wish.candidate(&listed)?;
        let milestone = match wish.milestone(candidate.is_none()) {
            Some(title) => Some(self.milestone(wish, title)?),
            None => None,
        };
        let Some(pull) = candidate else {
            return Ok(Decision::Create(wish.beside_a_new_one(milestone.map(|n| json!(n)))));
        };
        let me = match self.json::<User>(&circumstances, &Request::user()) {
            Ok(user) => Some(user.login),
            // The tokens of GitHub Actions are nobody's.
            Err(failure) if failure.class == Class::Forbidden => None,
            Err(failure) => return Err(failure.error),
        };
        let todo = wish.update(pull, me.as_deref(), milestone)?;
        Ok(Decision::Update(Box::new(pull.clone()), todo))
    }

    /// Does what was decided.
    ///
    /// # Errors
    /// GitHub says no, or what became of a request cannot be told; what is there nevertheless is named.
    pub fn carry_out(&self, wish: &Wish, decision: &Decision) -> std::result::Result<Opened, Broken> {
        match decision {
            Decision::Update(pull, todo) => self.finish(wish, pull, todo, false),
            Decision::Create(todo) => match self.create(wish) {
                Ok(pull) => self.finish(wish, &pull, todo, true),
                // Opened meanwhile, by hand or by a second run of ours.
                Err(failure) if failure.class == Class::AlreadyExists => match self.resolve(wish)? {
                    Decision::Update(pull, todo) => self.finish(wish, &pull, &todo, false),
                    Decision::Create(_) => Err(failure.into()),
                },
                Err(failure) => Err(failure.into()),
            },
        }
    }

    fn create(&self, wish: &Wish) -> std::result::Result<Pull, Failure> {
        let circumstances = self.about_wish(wish);
        let failure = match self.json::<Pull>(&circumstances, &wish.opening()) {
            Ok(pull) => return Ok(pull),
            Err(failure) if !failure.in_doubt() => return Err(failure),
            Err(failure) => failure,
        };
        let Ok(listed) = self.list(wish) else {
            let error = failure.error.because("whether the pull request was opened cannot be told");
            return Err(Failure {
                error: error.hint("run the same command again when GitHub answers: it looks first"),
                ..failure
            });
        };
        // What was there before was listed before: one that is there now with our text is ours.
        let same = |p: &&Pull| markers::normal(p.description()) == markers::normal(&wish.body);
        let mut listed = listed;
        if wish.candidate(&listed).ok().flatten().is_none() {
            // A request that is still under way on their side shows a moment later.
            std::thread::sleep(SECOND_LOOK);
            listed = self.list(wish).unwrap_or(listed);
        }
        let ours = wish.candidate(&listed).ok().flatten();
        if let Some(pull) = ours.filter(same) {
            return Ok(pull.clone());
        }
        let error = match ours {
            Some(other) => failure
                .error
                .because(format!("pull request #{} of this branch is there, with another text", other.number))
                .hint("run the same command again: it updates that one, if it is yours"),
            None => failure
                .error
                .because("GitHub lists none of this branch yet; it may still appear")
                .hint("run the same command again: it looks first"),
        };
        Err(Failure { error, ..failure })
    }

    /// Everything after the pull request is there.
    fn finish(
        &self,
        wish: &Wish,
        pull: &Pull,
        todo: &Todo,
        created: bool,
    ) -> std::result::Result<Opened, Broken> {
        let mut todo = todo.clone();
        // Its author is known only now, and cannot be asked for a review.
        todo.people = pull.people_missing(&todo.people);
        let mut opened =
            Opened { number: pull.number, url: page(pull), draft: pull.draft, created, changed: created };
        if created && !pull.draft {
            let error = Error::new(
                Kind::Remote,
                format!("GitHub opened #{} as ready, although a draft was asked for", pull.number),
            )
            .because(opened.url.clone())
            .hint("turn it into a draft on its page: \"Convert to draft\"; nothing else was done");
            return Err(Broken { error, no_drafts: false, opened: Some(opened) });
        }
        let circumstances = self.about_wish(wish);
        let mut first: Option<Error> = None;
        let mut left = Vec::new();
        let mut stopped = false;
        for request in todo.requests(&wish.base_repository, Some(pull.number)) {
            if stopped {
                left.push(request);
                continue;
            }
            let done = match self.call(&circumstances, &request) {
                Ok(_) => Ok(()),
                Err(failure) if failure.in_doubt() && self.was_done(wish, pull.number, &todo, &request) => {
                    Ok(())
                }
                Err(failure) => {
                    // These meet whatever comes after it, too.
                    stopped = matches!(
                        failure.class,
                        Class::Token
                            | Class::SingleSignOn
                            | Class::RateLimit
                            | Class::SecondaryLimit
                            | Class::NotSent
                            | Class::Bug
                    );
                    Err(failure.error)
                }
            };
            match done {
                Ok(()) => opened.changed = true,
                Err(error) => {
                    left.push(request);
                    first = Some(match first {
                        None => error,
                        Some(first) => std::iter::once(error.what())
                            .chain(error.causes().iter().map(String::as_str))
                            .fold(first, |first, why| first.because(why.to_owned())),
                    });
                }
            }
        }
        let Some(error) = first else { return Ok(opened) };
        let mut error = error.because(format!("pull request #{} is there: {}", pull.number, opened.url));
        let flags = flags_of(wish, &left, created);
        if flags.is_empty() {
            error = error.hint("run the same command again: it does what is left");
        } else {
            error = error
                .because(format!("not done: {flags}"))
                .hint(format!("do what is left: git incident pr --open {flags}"));
        }
        Err(Broken { error, no_drafts: false, opened: Some(opened) })
    }

    /// Whether what a request asks for is so, as GitHub shows it now.
    fn was_done(&self, wish: &Wish, number: u64, todo: &Todo, request: &Request) -> bool {
        let circumstances = self.about_wish(wish);
        let Ok(now) = self.json::<Pull>(&circumstances, &Request::pull(&wish.base_repository, number)) else {
            return false;
        };
        let asked = |member: &str| request.body().is_some_and(|body| body.get(member).is_some());
        if asked("body") {
            let wanted = todo.description.as_deref().unwrap_or_default();
            return markers::normal(now.description()) == markers::normal(wanted);
        }
        if asked("labels") {
            return now.labels_missing(&todo.labels).is_empty();
        }
        if asked("milestone") {
            return todo.milestone == now.milestone.map(|m| json!(m.number));
        }
        now.people_missing(&todo.people).is_empty() && now.teams_missing(&todo.teams).is_empty()
    }

    fn list(&self, wish: &Wish) -> std::result::Result<Vec<Pull>, Failure> {
        let request = Request::pulls_of(&wish.base_repository, &wish.head_repository.owner, &wish.branch);
        self.json(&self.about_wish(wish), &request)
    }

    fn milestone(&self, wish: &Wish, title: &str) -> Result<u64> {
        let request = Request::milestones(&wish.base_repository);
        let all: Vec<Milestone> = self.json(&self.about_wish(wish), &request).map_err(|f| f.error)?;
        let found = all.iter().find(|m| m.title == title);
        let found = found.or_else(|| all.iter().find(|m| m.title.eq_ignore_ascii_case(title)));
        found.map(|m| m.number).ok_or_else(|| {
            let names: Vec<String> = all.iter().take(10).map(|m| format!("{:?}", m.title)).collect();
            let there = if names.is_empty() {
                "there is none".to_owned()
            } else {
                format!("open are {}", names.join(", "))
            };
            Error::refused(format!("{} has no open milestone {title:?}", wish.base_repository))
                .because(there)
                .hint("name another: --milestone TITLE")
        })
    }

    fn json<T: DeserializeOwned>(
        &self,
        c: &Circumstances<'_>,
        request: &Request,
    ) -> std::result::Result<T, Failure> {
        let answer = self.call(c, request)?;
        let misfit = |e: serde_json::Error| c.of_misfit(request, &answer, &e.to_string());
        let mut value: serde_json::Value = serde_json::from_slice(&answer.body).map_err(misfit)?;
        // Nothing of an answer is shown or recorded with the token in it.
        self.token.cut_from_all(&mut value);
        serde_json::from_value(value).map_err(misfit)
    }

    fn call(
        &self,
        c: &Circumstances<'_>,
        request: &Request,
    ) -> std::result::Result<super::routes::Answer, Failure> {
        let mut again = request.reads();
        loop {
            let failure = match self.sender.send(request) {
                Ok(answer) if (200..300).contains(&answer.status) => return Ok(answer),
                Ok(answer) => c.of_answer(request, &answer),
                Err(trouble) => c.of_trouble(request, trouble),
            };
            let pause = match failure.class {
                Class::SecondaryLimit | Class::RateLimit => {
                    failure.retry_after.filter(|s| *s <= LONGEST_PAUSE)
                }
                Class::Server | Class::Lost => Some(0),
                _ => None,
            };
            let Some(seconds) = pause.filter(|_| again) else {
                return Err(failure);
            };
            again = false;
            std::thread::sleep(Duration::from_secs(seconds));
        }
    }

    fn about<'a>(&'a self, repository: &'a Repository, branch: &'a str, base: &'a str) -> Circumstances<'a> {
        Circumstances { api: &self.api, token: &self.token, repository, branch, base }
    }

    fn about_wish<'a>(&'a self, wish: &'a Wish) -> Circumstances<'a> {
        self.about(&wish.base_repository, &wish.branch, &wish.base)
    }
}

/// The options that ask for what was not done beside the description: what the configuration says is asked for only
/// when a draft is opened.
fn flags_of(wish: &Wish, left: &[Request], created: bool) -> String {
    let mut flags = Vec::new();
    for body in left.iter().filter_map(Request::body) {
        let words = |member: &str| {
            let all = body.get(member).and_then(serde_json::Value::as_array).into_iter().flatten();
            all.filter_map(serde_json::Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        flags.extend(words("labels").iter().map(|label| format!("--label {}", word(label))));
        flags.extend(words("reviewers").iter().map(|login| format!("--reviewer {}", word(login))));
        let organisation = &wish.base_repository.owner;
        let teams = words("team_reviewers");
        flags.extend(
            teams.iter().map(|team| format!("--reviewer {}", word(&format!("{organisation}/{team}")))),
        );
        if body.get("milestone").is_some()
            && let Some(title) = wish.milestone(created)
        {
            flags.push(format!("--milestone {}", word(title)));
        }
    }
    flags.join(" ")
}

/// A word as a shell reads it.
fn word(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:@+,".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The page of a pull request, when it is an address; nothing else is shown or kept for one.
fn page(pull: &Pull) -> String {
    let url = &pull.html_url;
    let web = url.starts_with("https://") || url.starts_with("http://");
    if web && url.len() <= 500 && url.bytes().all(|b| b.is_ascii_graphic()) {
        url.clone()
    } else {
        String::new()
    }
}
