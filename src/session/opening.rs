//! Opens the draft pull request of a branch, or updates ours: what git, the ledger and the person's settings say
//! about it, before and after GitHub is asked.

use std::time::Duration;

use super::Session;
use super::documents::Range;
use crate::event::PrDrafted;
use crate::forge::decide::Extras;
use crate::forge::open::Broken;
use crate::forge::token::{self, Places};
use crate::forge::{Decision, Forge, Opened, Repository, Request, Wish, host};
use crate::git::push_target::{self, RemotePlace, Settings};
use crate::git::{credentials, program::Git};
use crate::model::incident::Incident;
use crate::model::{Error, Oid, Result, canonical};
use crate::report::pull_request::PullRequestText;

/// The variable with the seconds one request may take.
const PATIENCE: &str = "GIT_INCIDENT_GITHUB_TIMEOUT";

/// The refs that travel.
const NOTES: [&str; 2] = ["refs/notes/incidents", "refs/notes/incidents-evidence"];

/// What a person asked for.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The branch it goes to.
    pub base: Option<String>,
    /// The branch the change is on.
    pub head: Option<String>,
    /// The repository it goes to, `OWNER/NAME`.
    pub repository: Option<String>,
    /// Labels to put on it.
    pub labels: Vec<String>,
    /// People, or `ORG/TEAM`, to ask.
    pub reviewers: Vec<String>,
    /// The milestone's title.
    pub milestone: Option<String>,
    /// Replace a block that somebody edited.
    pub force: bool,
    /// Open another one although there was one.
    pub again: bool,
}

/// Whether reviewers can get the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotesState {
    /// `synced`, `behind`, `absent` or `unknown`.
    pub state: &'static str,
    /// What sends them there; empty when they are there.
    pub send: String,
    /// What fetches them, for a reviewer, where they are not in the repository the change goes to.
    pub fetch: String,
}

/// Everything that is about to happen.
pub struct Opening {
    /// What is wanted.
    pub wish: Wish,
    /// What is to be done; `None` when it was only rehearsed.
    pub decision: Option<Decision>,
    /// The branch's tip.
    pub tip: Oid,
    /// The notes' state there.
    pub notes: NotesState,
    /// The API's address.
    pub api: String,
    /// Where the token came from; empty when none was looked for.
    pub token_source: String,
    /// What else to say.
    pub remarks: Vec<String>,
    forge: Option<Forge>,
}

impl Opening {
    /// How many requests were sent so far.
    pub fn sent(&self) -> u32 {
        self.forge.as_ref().map_or(0, Forge::sent)
    }

    /// The requests that would write, or, of a rehearsal, all.
    pub fn requests(&self) -> Vec<Request> {
        let at = &self.wish.base_repository;
        match &self.decision {
            None => self.wish.rehearsal(),
            Some(Decision::Update(pull, todo)) => todo.requests(at, Some(pull.number)),
            Some(Decision::Create(todo)) => {
                let mut all = vec![self.wish.opening()];
                all.extend(todo.requests(at, None));
                all
            }
        }
    }
}

/// A local branch, and where git pushes it.
struct Head {
    branch: String,
    tip: Oid,
    remote: String,
    there: String,
    place: RemotePlace,
}

impl Session {
    /// The local branch a pull request is about: the one that is named, or the current one.
    ///
    /// # Errors
    /// It is no branch.
    pub fn branch_to_open(&self, named: Option<&str>) -> Result<String> {
        if let Some(name) = named {
            let short = name.strip_prefix("refs/heads/").unwrap_or(name);
            if self.repo.resolve_commit(&format!("refs/heads/{short}")).is_ok() {
                return Ok(short.to_owned());
            }
            return Err(Error::refused(format!("{name:?} is no branch here"))
                .because("a pull request is made of a branch")
                .hint("list them: git branch; make one: git branch NAME COMMIT"));
        }
        let current = self.repo.head_branch().and_then(|b| b.strip_prefix("refs/heads/").map(str::to_owned));
        current.ok_or_else(|| {
            Error::refused("no branch is checked out")
                .because("a pull request is made of a branch")
                .hint("make one here: git switch -c NAME; or name one: --head BRANCH")
        })
    }

    /// Finds out everything that is about to happen, and writes nothing. A rehearsal asks nobody.
    ///
    /// # Errors
    /// The branch is not pushed; there is no token; GitHub says no; there is a pull request that must not be touched.
    pub fn prepare_opening(
        &self,
        range: &Range,
        text: &PullRequestText,
        options: &OpenOptions,
        rehearsal: bool,
    ) -> Result<Opening> {
        let git = self.git();
        let settings = Settings::read(&git)?;
        let head = self.head(&git, &settings, options)?;
        if range.tip != head.tip {
            return Err(Error::refused(format!(
                "{:?} holds nothing that its base does not have",
                head.branch
            ))
            .hint("put the fix on a branch of its own: git switch -c NAME")
            .hint("or name another base: --base BRANCH"));
        }
        let base_remote = settings.base_remote(&head.branch, &head.remote);
        let named_base = self.named_base(&git, &settings, options)?;
        let mut remarks = Vec::new();
        let onto_base = self.goes_onto_a_base(&git, &head, named_base.as_deref(), base_remote.as_deref())?;
        let is_base = named_base.as_ref().map_or(onto_base, |named| *named == head.there);
        if is_base && head.there != head.branch && base_remote.is_none() && options.repository.is_none() {
            return Err(Error::refused(format!("git would push {:?} to {:?}", head.branch, head.there))
                .because("its upstream is the base")
                .hint(format!(
                    "give it a branch of its own: git push -u {0} {1}:{1}",
                    head.remote, head.branch
                )));
        }
        let push = match (onto_base, head.there == head.branch) {
            (false, true) => format!("git push -u {} {}", head.remote, head.branch),
            (false, false) => format!("git push -u {} {}:{}", head.remote, head.branch, head.there),
            (true, false) => format!("git push -u {0} {1}:{1}", head.remote, head.branch),
            // What others build on is never to be pushed to from here, nor by a hint of ours.
            (true, true) => {
                "put the change on a branch of its own, then push that: git switch -c NAME".to_owned()
            }
        };
        let notes = self.check_pushed(&git, &head, push, rehearsal, &mut remarks)?;

        let own = Repository { owner: head.place.hosted.owner.clone(), name: head.place.hosted.name.clone() };
        let other = match (&options.repository, &base_remote) {
            (Some(named), _) => Some(named_repository(named)?),
            (None, Some(remote)) => {
                let place = push_target::place(&git, &settings, remote)?;
                if place.hosted.host == head.place.hosted.host {
                    Some(Repository { owner: place.hosted.owner, name: place.hosted.name })
                } else {
                    remarks.push(format!("the remote {remote:?} is on another host, and is not asked"));
                    None
                }
            }
            (None, None) => None,
        };
        let set = std::env::var(host::VARIABLE).ok().filter(|v| !v.trim().is_empty());
        let personal = if set.is_none() { push_target::personal_setting(&git, host::SETTING) } else { None };
        let named = set.as_deref().map(|v| (host::VARIABLE, v));
        let named = named.or_else(|| personal.as_deref().map(|v| (host::SETTING, v)));
        let api = host::api(&head.place.hosted, named)?;
        let api_base = api.base.clone();

        let forge = if rehearsal { None } else { Some(connect(&git, api)?) };
        let (own, target, default) = match &forge {
            Some(forge) => asked(forge, &own, other)?,
            None => (own.clone(), other.unwrap_or(own), None),
        };
        // The HEAD of a fork says nothing of its parent's.
        let tracked = if own == target || base_remote.is_some() || default.is_none() {
            remote_head(&git, base_remote.as_deref().unwrap_or(&head.remote))
        } else {
            None
        };
        let usual = || {
            let there = |name: &&str| {
                self.repo.resolve_commit(&format!("refs/remotes/{}/{name}", head.remote)).is_ok()
            };
            ["main", "master"].into_iter().find(there).map(str::to_owned)
        };
        let base = named_base.or(tracked).or(default).or_else(usual).unwrap_or_else(|| {
            remarks.push("the repository's default branch is not known here; taken for main".to_owned());
            "main".to_owned()
        });
        if own == target && base == head.there {
            return Err(Error::refused(format!("{base:?} is the branch it would go to"))
                .hint("put the change on a branch of its own: git switch -c NAME, then push that")
                .hint("or name another base: --base BRANCH"));
        }
        let pr = &self.config()?.pr;
        let wish = Wish {
            base_repository: target,
            base,
            head_repository: own,
            branch: head.there.clone(),
            title: text.title.clone(),
            body: text.body.clone(),
            at_first: extras(&pr.labels, &pr.reviewers, pr.milestone.as_deref()),
            always: extras(&options.labels, &options.reviewers, options.milestone.as_deref()),
            force: options.force,
            again: options.again,
        };
        let notes = NotesState {
            fetch: if wish.head_repository == wish.base_repository {
                String::new()
            } else {
                let url = format!("https://{}/{}.git", head.place.hosted.host, wish.head_repository);
                let owner = &wish.head_repository.owner;
                format!("git fetch {url} '+refs/notes/incidents*:refs/notes/remotes/{owner}/incidents*'")
            },
            ..notes
        };
        let decision = forge.as_ref().map(|forge| forge.resolve(&wish)).transpose()?;
        let token_source = forge.as_ref().map(|f| f.token_source().to_owned()).unwrap_or_default();
        Ok(Opening { wish, decision, tip: head.tip, notes, api: api_base, token_source, remarks, forge })
    }

    /// Does it, and records where the text went.
    ///
    /// # Errors
    /// GitHub says no; what is there nevertheless is recorded.
    pub fn carry_out_opening(
        &self,
        id: &Oid,
        incident: &Incident,
        text: &PullRequestText,
        opening: &Opening,
    ) -> std::result::Result<Opened, Broken> {
        let (Some(forge), Some(decision)) = (&opening.forge, &opening.decision) else {
            return Err(Error::bug("a rehearsal cannot be carried out").into());
        };
        let done = forge.carry_out(&opening.wish, decision);
        let there = match &done {
            Ok(opened) => Some(opened),
            Err(broken) => broken.opened.as_ref(),
        };
        if let Some(opened) = there {
            let drafted = PrDrafted {
                title: text.title.clone(),
                sha256: canonical::sha256_hex(text.body.as_bytes()),
                url: opened.url.clone(),
            };
            let known =
                incident.pull_requests.iter().any(|d| d.url == drafted.url && d.sha256 == drafted.sha256);
            if !known {
                let recorded = self.append(id, &[], |draft| draft.add(drafted));
                if let (Err(error), Ok(opened)) = (recorded, &done) {
                    let error = error.while_doing("the pull request is there, but could not be recorded");
                    return Err(Broken { error, no_drafts: false, opened: Some(opened.clone()) });
                }
            }
        }
        done
    }

    fn head(&self, git: &Git, settings: &Settings, options: &OpenOptions) -> Result<Head> {
        let branch = self.branch_to_open(options.head.as_deref())?;
        let tip = self.repo.resolve_commit(&format!("refs/heads/{branch}"))?;
        let target = settings.push_target(&branch).ok_or_else(|| {
            Error::refused("there is no remote to open a pull request on")
                .hint("name one: git remote add origin https://github.com/OWNER/NAME.git")
                .hint(format!("then push: git push -u origin {branch}"))
        })?;
        let place = push_target::place(git, settings, &target.remote)?;
        Ok(Head { branch, tip, remote: target.remote, there: target.branch, place })
    }

    /// Whether the head's branch over there is one that others build on: the base, a remote's default branch, or
    /// one that is protected.
    fn goes_onto_a_base(
        &self,
        git: &Git,
        head: &Head,
        named: Option<&str>,
        base_remote: Option<&str>,
    ) -> Result<bool> {
        let there = head.there.as_str();
        let remotes = [Some(head.remote.as_str()), base_remote];
        let default = remotes.into_iter().flatten().filter_map(|remote| remote_head(git, remote));
        Ok(named == Some(there)
            || default.into_iter().any(|name| name == there)
            || self.config()?.pre_push.protects(&format!("refs/heads/{there}")))
    }

    /// The head must be there as it is here: nothing is pushed from here.
    fn check_pushed(
        &self,
        git: &Git,
        head: &Head,
        push: String,
        rehearsal: bool,
        remarks: &mut Vec<String>,
    ) -> Result<NotesState> {
        let send = format!("git incident sync {}", head.remote);
        let name = format!("refs/heads/{}", head.there);
        if rehearsal {
            let tracked = self.repo.resolve_commit(&format!("refs/remotes/{}/{}", head.remote, head.there));
            if tracked.ok().as_ref() != Some(&head.tip) {
                remarks.push(format!("not pushed as far as known here: {push}"));
            }
            return Ok(NotesState { state: "unknown", send, fetch: String::new() });
        }
        let there = push_target::refs_there(git, &head.place, &[&name, NOTES[0], NOTES[1]])?;
        let refuse = |what: String| {
            Err(Error::refused(what).because("nothing is pushed from here").hint(push.clone()))
        };
        match there.get(&name) {
            Some(tip) if *tip == head.tip => {}
            None => return refuse(format!("{:?} is not on {}", head.there, head.place.hosted)),
            Some(tip) => {
                return refuse(format!(
                    "{:?} is at {} on {}, and at {} here",
                    head.there,
                    tip.short(),
                    head.place.hosted,
                    head.tip.short()
                ));
            }
        }
        let here = |name: &str| git.call(["rev-parse", "-q", "--verify", name]).text_if_any().ok().flatten();
        let same = NOTES.iter().all(|name| here(name).as_deref() == there.get(*name).map(Oid::as_str));
        let state = if same {
            "synced"
        } else if there.contains_key(NOTES[0]) {
            "behind"
        } else {
            "absent"
        };
        Ok(NotesState { state, send: if same { String::new() } else { send }, fetch: String::new() })
    }

    /// The branch it goes to, as far as a person named it: by the option, or in the configuration.
    fn named_base(&self, git: &Git, settings: &Settings, options: &OpenOptions) -> Result<Option<String>> {
        if let Some(named) = &options.base {
            let mut short = named.strip_prefix("refs/heads/").unwrap_or(named);
            short = short.strip_prefix("refs/remotes/").unwrap_or(short);
            for remote in settings.remotes() {
                let below = short.strip_prefix(remote).and_then(|rest| rest.strip_prefix('/'));
                if let Some(below) = below
                    && self.repo.resolve_commit(&format!("refs/remotes/{remote}/{below}")).is_ok()
                {
                    short = below;
                    break;
                }
            }
            let is_branch = git.call(["check-ref-format", &format!("refs/heads/{short}")]).run().is_ok();
            if !is_branch || short == "HEAD" || Oid::parse(short).is_some() {
                return Err(Error::refused(format!("{named:?} is no branch"))
                    .because("a pull request goes to a branch")
                    .hint("name one: --base main"));
            }
            return Ok(Some(short.to_owned()));
        }
        Ok(self.config()?.pr.base.clone())
    }

    /// What the text is made of: the revision that stands here for the branch it goes to, and the branch itself.
    /// What the remote has is preferred: a local branch of that name may be old, or ahead.
    ///
    /// # Errors
    /// It is no branch; git cannot read its configuration.
    pub fn ends_to_open(&self, base: Option<&str>, head: Option<&str>) -> Result<(Option<String>, String)> {
        let branch = self.branch_to_open(head)?;
        let git = self.git();
        let settings = Settings::read(&git)?;
        let pushed_to = settings.push_target(&branch).map(|target| target.remote).unwrap_or_default();
        let goes_to = settings.base_remote(&branch, &pushed_to);
        let configured = self.config()?.pr.base.clone();
        let remotes = goes_to.iter().chain(std::iter::once(&pushed_to)).filter(|remote| !remote.is_empty());
        for remote in remotes {
            let name = match base.map(str::to_owned).or_else(|| configured.clone()) {
                Some(named) => Some(named.strip_prefix("refs/heads/").unwrap_or(&named).to_owned()),
                None => remote_head(&git, remote),
            };
            let tracked = name.map(|name| format!("refs/remotes/{remote}/{name}"));
            if let Some(tracked) = tracked.filter(|name| self.repo.resolve_commit(name).is_ok()) {
                return Ok((Some(tracked), branch));
            }
        }
        Ok((base.map(str::to_owned), branch))
    }
}

/// The default branch of a remote, as this clone knows it.
fn remote_head(git: &Git, remote: &str) -> Option<String> {
    let prefix = format!("refs/remotes/{remote}/");
    let head = git.call(["symbolic-ref", "-q", &format!("{prefix}HEAD")]).text_if_any().ok().flatten();
    head.and_then(|name| name.strip_prefix(&prefix).map(str::to_owned))
}

fn connect(git: &Git, api: host::Api) -> Result<Forge> {
    let found = token::find(
        &api.host,
        &Places {
            variable: &|name| std::env::var(name).ok(),
            gh: &credentials::from_gh,
            git: &|host| credentials::from_git(git, host),
        },
    )?;
    let seconds = std::env::var(PATIENCE).ok().and_then(|v| v.trim().parse::<u64>().ok()).unwrap_or(30);
    Forge::new(api, found, Duration::from_secs(seconds.clamp(1, 600)))
}

/// The names as GitHub writes them, and the default branch of the one it goes to: the one that was named, the
/// parent of a fork, or the repository itself.
fn asked(
    forge: &Forge,
    own: &Repository,
    other: Option<Repository>,
) -> Result<(Repository, Repository, Option<String>)> {
    let mine = forge.repository(own)?;
    let name = |full: &str| {
        Repository::parse(full).ok_or_else(|| Error::refused(format!("{full:?} is no name of a repository")))
    };
    let head = name(&mine.full_name)?;
    let goes_to = match other {
        Some(other) if other == head => mine,
        Some(other) => match &mine.parent {
            Some(parent) if name(&parent.full_name)? == other => (**parent).clone(),
            _ => forge.repository(&other)?,
        },
        None => mine.parent.as_deref().cloned().unwrap_or(mine),
    };
    let target = name(&goes_to.full_name)?;
    if goes_to.archived {
        return Err(Error::refused(format!("{target} is archived: nothing can be written to it"))
            .with_kind(crate::model::Kind::Remote)
            .hint("name the repository that took its place: --repo OWNER/NAME"));
    }
    Ok((head, target, Some(goes_to.default_branch)))
}

fn named_repository(named: &str) -> Result<Repository> {
    Repository::parse(named).ok_or_else(|| {
        Error::usage(format!("{named:?} is no repository of GitHub's"))
            .hint("write it like --repo OWNER/NAME")
    })
}

/// `ORG/TEAM` and `@name` among reviewers are told apart here.
fn extras(labels: &[String], reviewers: &[String], milestone: Option<&str>) -> Extras {
    let mut extras =
        Extras { labels: labels.to_vec(), milestone: milestone.map(str::to_owned), ..Extras::default() };
    for reviewer in reviewers {
        let reviewer = reviewer.strip_prefix('@').unwrap_or(reviewer);
        match reviewer.split_once('/') {
            Some((_, team)) => extras.teams.push(team.to_owned()),
            None => extras.people.push(reviewer.to_owned()),
        }
    }
    extras
}
