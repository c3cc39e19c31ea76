//! What is to be done about the pull request of a branch: open a draft, update ours, nothing, or refuse. Pure.

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use serde_json::{Value, json};

use super::answers::Pull;
use super::routes::{Number, Repository, Request};
use crate::model::{Error, Result};
use crate::report::pull_request::markers;

/// The longest description GitHub takes, in characters.
const LONGEST_DESCRIPTION: usize = 65_536;

/// The most lines of a difference that are shown.
const LINES_SHOWN: usize = 120;

/// What a person wants.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The repository it goes to.
    pub base_repository: Repository,
    /// The branch it goes to.
    pub base: String,
    /// The repository the change is in.
    pub head_repository: Repository,
    /// The branch the change is on.
    pub branch: String,
    /// The title, for a new one.
    pub title: String,
    /// The description, for a new one; it holds our block.
    pub body: String,
    /// For a new one, what is to be put on it.
    pub at_first: Extras,
    /// Whether new or not, what is to be put on it.
    pub always: Extras,
    /// Replace a block that somebody edited.
    pub force: bool,
    /// Open another one although there was one.
    pub again: bool,
}

/// What stands beside the description.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extras {
    /// Labels.
    pub labels: Vec<String>,
    /// Names of people.
    pub people: Vec<String>,
    /// Names of teams, without their organisation.
    pub teams: Vec<String>,
    /// A milestone's title.
    pub milestone: Option<String>,
}

impl Extras {
    /// Both, each thing once.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let both = |a: &[String], b: &[String]| {
            let mut all: Vec<String> = Vec::new();
            for word in a.iter().chain(b) {
                if !all.iter().any(|known| known.eq_ignore_ascii_case(word)) {
                    all.push(word.clone());
                }
            }
            all
        };
        Self {
            labels: both(&self.labels, &other.labels),
            people: both(&self.people, &other.people),
            teams: both(&self.teams, &other.teams),
            milestone: other.milestone.clone().or_else(|| self.milestone.clone()),
        }
    }
}

/// What to do.
#[derive(Debug, Clone)]
pub enum Decision {
    /// Open a draft.
    Create(Todo),
    /// Change what is there, where it differs.
    Update(Box<Pull>, Todo),
}

/// What is to be written, apart from a new draft itself.
#[derive(Debug, Clone, Default)]
pub struct Todo {
    /// The whole description with our block replaced.
    pub description: Option<String>,
    /// Labels to add.
    pub labels: Vec<String>,
    /// People to ask.
    pub people: Vec<String>,
    /// Teams to ask.
    pub teams: Vec<String>,
    /// The milestone's number (its title while that is not known).
    pub milestone: Option<Value>,
}

impl Todo {
    /// Its requests for a pull request.
    pub fn requests(&self, at: &Repository, number: Number) -> Vec<Request> {
        let mut all = Vec::new();
        if let Some(body) = &self.description {
            all.push(Request::describe(at, number, body));
        }
        if !self.labels.is_empty() {
            all.push(Request::label(at, number, &self.labels));
        }
        if let Some(milestone) = &self.milestone {
            all.push(Request::set_milestone(at, number, milestone));
        }
        if !self.people.is_empty() || !self.teams.is_empty() {
            all.push(Request::ask_reviewers(at, number, &self.people, &self.teams));
        }
        all
    }
}

impl Wish {
    /// The request that opens the draft.
    pub fn opening(&self) -> Request {
        let from = (&self.head_repository, self.branch.as_str());
        Request::open_draft(&self.base_repository, from, &self.base, &self.title, &self.body)
    }

    /// The milestone that a new one, or one that is there, is to be in.
    pub fn milestone(&self, new: bool) -> Option<&str> {
        let first = if new { self.at_first.milestone.as_deref() } else { None };
        self.always.milestone.as_deref().or(first)
    }

    /// Beside a new draft.
    pub fn beside_a_new_one(&self, milestone: Option<Value>) -> Todo {
        let extras = self.at_first.with(&self.always);
        Todo {
            description: None,
            labels: extras.labels,
            people: extras.people,
            teams: extras.teams,
            milestone,
        }
    }

    /// Everything that would be sent, as far as it can be known without asking: reads, then writes.
    pub fn rehearsal(&self) -> Vec<Request> {
        let at = &self.base_repository;
        let mut all = vec![Request::repository(&self.head_repository)];
        if self.head_repository != *at {
            all.push(Request::repository(at));
        }
        all.push(Request::pulls_of(at, &self.head_repository.owner, &self.branch));
        if self.milestone(true).is_some() {
            all.push(Request::milestones(at));
        }
        all.push(self.opening());
        let milestone = self.milestone(true).map(|title| json!(format!("number of {title:?}")));
        all.extend(self.beside_a_new_one(milestone).requests(at, None));
        all
    }

    /// The pull request that is to be updated, out of those GitHub lists for the branch; `None` when a new one is
    /// to be opened.
    ///
    /// # Errors
    /// There is one that must not be touched, with the reason.
    pub fn candidate<'p>(&self, listed: &'p [Pull]) -> Result<Option<&'p Pull>> {
        // GitHub ignores a filter that it does not understand, and then lists everything.
        let of_branch = |p: &&Pull| {
            let there = p.head.repo.as_ref().and_then(|r| Repository::parse(&r.full_name));
            p.head.branch == self.branch && there.is_some_and(|r| r == self.head_repository)
        };
        let ours: Vec<&Pull> = listed.iter().filter(of_branch).collect();
        if let Some(open) = ours.iter().find(|p| p.is_open() && p.base.branch == self.base) {
            return Ok(Some(open));
        }
        if self.again {
            return Ok(None);
        }
        if let Some(elsewhere) = ours.iter().find(|p| p.is_open()) {
            let (number, base) = (elsewhere.number, &elsewhere.base.branch);
            return Err(Error::refused(format!(
                "pull request #{number} of this branch goes to {base:?}, not to {:?}",
                self.base
            ))
            .because("where a pull request goes is never changed from here")
            .hint(format!("update that one: git incident pr --open --base {base}"))
            .hint("or open a second one: --again"));
        }
        if let Some(closed) = ours.iter().find(|p| p.base.branch == self.base) {
            let how = match &closed.merged_at {
                Some(at) => format!("was merged at {at}"),
                None => "was closed".to_owned(),
            };
            return Err(Error::refused(format!("pull request #{} of this branch {how}", closed.number))
                .because(closed.html_url.clone())
                .hint("further work belongs on a new branch: git switch -c NAME")
                .hint("or open another one of this branch: --again"));
        }
        Ok(None)
    }

    /// What differs on a pull request that is there.
    ///
    /// # Errors
    /// It is not ours to change; its block is missing, doubled or edited.
    pub fn update(&self, pull: &Pull, me: Option<&str>, milestone: Option<u64>) -> Result<Todo> {
        let ours =
            me.map_or_else(|| pull.author().ends_with("[bot]"), |me| me.eq_ignore_ascii_case(pull.author()));
        let number = pull.number;
        if !ours {
            let me = me.map_or_else(|| "that of a token without a person".to_owned(), |me| format!("{me}'s"));
            return Err(Error::refused(format!("pull request #{number} is {}'s, not {me}", pull.author()))
                .because(pull.html_url.clone())
                .hint("ask its author to update it, or open your own from a branch of your own")
                .hint("the text to paste: git incident pr"));
        }
        let description = self.fresh_description(pull)?;
        let current = pull.milestone.as_ref().map(|m| m.number);
        Ok(Todo {
            description,
            labels: pull.labels_missing(&self.always.labels),
            people: pull.people_missing(&self.always.people),
            teams: pull.teams_missing(&self.always.teams),
            milestone: milestone.filter(|wanted| current != Some(*wanted)).map(|wanted| json!(wanted)),
        })
    }

    fn fresh_description(&self, pull: &Pull) -> Result<Option<String>> {
        let number = pull.number;
        let damaged = |problem: markers::Problem| {
            Error::refused(format!("the description of pull request #{number} cannot be updated"))
                .because(problem.explain())
                .because(pull.html_url.clone())
                .hint("paste the block with both of its marker lines where it belongs: git incident pr")
        };
        let fresh = markers::find(&self.body).map_err(|problem| {
            Error::refused("the text has no block that could replace the one of the pull request")
                .because(problem.explain().replace("its description", "the text"))
                .hint("leave both marker lines where they are when editing")
        })?;
        let (named, fresh) = (fresh.named, fresh.block);
        let there = markers::find(pull.description()).map_err(damaged)?;
        let same = there.block == fresh && there.named == named;
        if there.edited() && !same && !self.force {
            return Err(Error::refused(format!(
                "somebody edited the block of git incident in pull request #{number}"
            ))
            .because(format!(
                "what stands there (-) and what the ledger says (+):\n{}",
                difference(&there.block, &fresh)
            ))
            .hint("move the edit above or below the block: what stands there is kept")
            .hint("or replace it: git incident pr --open --force"));
        }
        let whole = markers::replace_as(pull.description(), &fresh, named).map_err(damaged)?;
        if let Some(text) = &whole
            && text.chars().count() > LONGEST_DESCRIPTION
        {
            return Err(Error::refused(format!(
                "the description of pull request #{number} would be too long"
            ))
            .because(format!("GitHub takes {LONGEST_DESCRIPTION} characters"))
            .hint("shorten what stands around the block"));
        }
        Ok(whole)
    }
}

/// Whether an edit of a text goes past its block, so that an update of a description does not carry it.
pub fn edited_outside(before: (&str, &str), after: (&str, &str)) -> bool {
    let outside = |body: &str| {
        markers::find(body)
            .map(|found| (markers::normal(found.before), markers::normal(found.after.trim_end())))
    };
    before.0 != after.0 || outside(before.1) != outside(after.1)
}

/// The lines that differ, with three around them.
fn difference(there: &str, fresh: &str) -> String {
    let (there, fresh) = (format!("{there}\n"), format!("{fresh}\n"));
    let input = InternedInput::new(there.as_str(), fresh.as_str());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let shown = diff
        .unified_diff(&BasicLineDiffPrinter(&input.interner), UnifiedDiffConfig::default(), &input)
        .to_string();
    let lines: Vec<&str> = shown.lines().collect();
    let more = lines.len().saturating_sub(LINES_SHOWN);
    let mut text = lines[..lines.len() - more].join("\n");
    if more > 0 {
        text.push_str(&format!("\n…and {more} more lines"));
    }
    if text.is_empty() { "(only the digest in its first line differs)".to_owned() } else { text }
}

#[cfg(test)]
#[path = "decide/tests.rs"]
mod tests;
