//! What is read of GitHub's answers: a few members of each, so that new ones break nothing.

use serde::Deserialize;

/// `GET /repos/{owner}/{repo}`.
#[derive(Debug, Clone, Deserialize)]
pub struct RepositoryAnswer {
    /// `OWNER/NAME` as GitHub writes it.
    pub full_name: String,
    /// The default branch.
    pub default_branch: String,
    /// Nothing can be written to it any more.
    #[serde(default)]
    pub archived: bool,
    /// What it is a fork of.
    #[serde(default)]
    pub parent: Option<Box<RepositoryAnswer>>,
}

/// Somebody.
#[derive(Debug, Clone, Deserialize)]
pub struct User {
    /// The name.
    pub login: String,
}

/// One end of a pull request.
#[derive(Debug, Clone, Deserialize)]
pub struct End {
    /// The branch.
    #[serde(rename = "ref")]
    pub branch: String,
    /// Its tip.
    pub sha: String,
    /// Its repository; gone when that was deleted.
    #[serde(default)]
    pub repo: Option<EndRepository>,
}

/// The repository of one end.
#[derive(Debug, Clone, Deserialize)]
pub struct EndRepository {
    /// `OWNER/NAME`.
    pub full_name: String,
}

/// A label.
#[derive(Debug, Clone, Deserialize)]
pub struct Label {
    /// What it says.
    pub name: String,
}

/// A team.
#[derive(Debug, Clone, Deserialize)]
pub struct Team {
    /// Its name in addresses.
    pub slug: String,
}

/// A milestone.
#[derive(Debug, Clone, Deserialize)]
pub struct Milestone {
    /// Its number in the repository.
    pub number: u64,
    /// What it is called.
    pub title: String,
}

/// A pull request.
#[derive(Debug, Clone, Deserialize)]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub html_url: String,
    /// `open` or `closed`.
    pub state: String,
    /// When it was merged.
    #[serde(default)]
    pub merged_at: Option<String>,
    /// Whether it is a draft.
    #[serde(default)]
    pub draft: bool,
    /// Its title.
    #[serde(default)]
    pub title: Option<String>,
    /// Its description.
    #[serde(default)]
    pub body: Option<String>,
    /// Who opened it; gone when the account was deleted.
    #[serde(default)]
    pub user: Option<User>,
    /// Where the change is.
    pub head: End,
    /// Where it goes.
    pub base: End,
    /// Its labels.
    #[serde(default)]
    pub labels: Option<Vec<Label>>,
    /// Who is asked to look at it and has not done so.
    #[serde(default)]
    pub requested_reviewers: Option<Vec<User>>,
    /// Which teams are.
    #[serde(default)]
    pub requested_teams: Option<Vec<Team>>,
    /// Its milestone.
    #[serde(default)]
    pub milestone: Option<Milestone>,
}

impl Pull {
    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.state == "open"
    }

    /// Its description, empty when it has none.
    pub fn description(&self) -> &str {
        self.body.as_deref().unwrap_or_default()
    }

    /// The name of who opened it; GitHub's own stand-in for deleted accounts otherwise.
    pub fn author(&self) -> &str {
        self.user.as_ref().map_or("ghost", |user| user.login.as_str())
    }

    /// The labels of these that it does not have.
    pub fn labels_missing(&self, wanted: &[String]) -> Vec<String> {
        let has = |name: &String| {
            self.labels.as_deref().unwrap_or_default().iter().any(|l| l.name.eq_ignore_ascii_case(name))
        };
        wanted.iter().filter(|name| !has(name)).cloned().collect()
    }

    /// The people of these who are not asked yet; its author never can be.
    pub fn people_missing(&self, wanted: &[String]) -> Vec<String> {
        let asked = self.requested_reviewers.as_deref().unwrap_or_default();
        let has = |name: &String| {
            name.eq_ignore_ascii_case(self.author())
                || asked.iter().any(|user| user.login.eq_ignore_ascii_case(name))
        };
        wanted.iter().filter(|name| !has(name)).cloned().collect()
    }

    /// The teams of these that are not asked yet.
    pub fn teams_missing(&self, wanted: &[String]) -> Vec<String> {
        let asked = self.requested_teams.as_deref().unwrap_or_default();
        let has = |slug: &String| asked.iter().any(|team| team.slug.eq_ignore_ascii_case(slug));
        wanted.iter().filter(|slug| !has(slug)).cloned().collect()
    }
}
