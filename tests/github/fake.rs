//! A GitHub with a memory, for tests: it checks what an API description cannot, namely tokens, access, branches that
//! must exist (asked of the real bare repository), duplicates, lengths, drafts. Its answers are the description's own
//! examples with the members that matter replaced, so that Prism holds them to the description, too.

#![allow(unreachable_pub, reason = "`pub` says what the tests may use")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

use super::http::{Asked, Said, serve};

/// A repository.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The bare repository on disk.
    pub bare: PathBuf,
    /// The default branch.
    pub default_branch: String,
    /// What it is a fork of.
    pub parent: Option<String>,
    /// Who may see it; nobody named: everybody.
    pub readers: Vec<String>,
    /// Nothing can be written any more.
    pub archived: bool,
    /// It has no drafts.
    pub no_drafts: bool,
    /// It ignores that a draft was asked for, as very old servers do.
    pub never_drafts: bool,
    /// Open milestones: number and title.
    pub milestones: Vec<(u64, String)>,
    /// The connection is cut after the next request with this method was carried out.
    pub cut_after: Option<&'static str>,
    /// The next request with this method is not carried out and answered with 502.
    pub fail_before: Option<&'static str>,
    /// The next list of pull requests is empty, as when one is opened at the same moment.
    pub lists_none: bool,
}

/// A pull request.
#[derive(Debug, Clone, Default)]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// The repository it goes to.
    pub at: String,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// `open` or `closed`.
    pub state: String,
    /// When it was merged.
    pub merged_at: Option<String>,
    /// Whether it is a draft.
    pub draft: bool,
    /// Who opened it.
    pub author: String,
    /// The repository and branch of the change.
    pub head: (String, String),
    /// The branch it goes to.
    pub base: String,
    /// Labels.
    pub labels: Vec<String>,
    /// People asked.
    pub people: Vec<String>,
    /// Teams asked.
    pub teams: Vec<String>,
    /// Milestone.
    pub milestone: Option<u64>,
}

#[derive(Default)]
struct State {
    places: BTreeMap<String, Place>,
    pulls: Vec<Pull>,
    asked: Vec<Asked>,
}

/// The stand-in.
#[derive(Clone)]
pub struct Fake {
    state: Arc<Mutex<State>>,
    /// Where it listens.
    pub port: u16,
}

/// The token of somebody, made up when the test runs.
pub fn token_of(login: &str) -> String {
    format!("{}-of-{login}", ["made", "up"].concat())
}

impl Fake {
    /// Starts it, with the pruned description when there is one.
    pub fn start(description: Option<&Path>) -> Self {
        let description = description.map_or(Value::Null, |path| {
            serde_json::from_slice(&std::fs::read(path).expect("the description")).expect("JSON")
        });
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        let port = serve(move |asked| answer(&mut shared.lock().expect("no panic"), &description, asked));
        Self { state, port }
    }

    /// Adds a repository.
    pub fn add(&self, name: &str, place: Place) {
        self.state.lock().expect("no panic").places.insert(name.to_owned(), place);
    }

    /// Changes a repository.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut Place)) {
        change(self.state.lock().expect("no panic").places.get_mut(name).expect("the repository"));
    }

    /// The pull requests of a repository.
    pub fn pulls(&self, name: &str) -> Vec<Pull> {
        self.state.lock().expect("no panic").pulls.iter().filter(|p| p.at == name).cloned().collect()
    }

    /// Changes the only pull request of a repository.
    pub fn change_pull(&self, name: &str, change: impl FnOnce(&mut Pull)) {
        let mut state = self.state.lock().expect("no panic");
        change(state.pulls.iter_mut().find(|p| p.at == name).expect("a pull request"));
    }

    /// What was asked about a repository: `METHOD /path`, and the body.
    pub fn asked(&self, name: &str) -> Vec<Asked> {
        let state = self.state.lock().expect("no panic");
        let about = |a: &&Asked| a.path.starts_with(&format!("/repos/{name}"));
        state.asked.iter().filter(about).cloned().collect()
    }

    /// The requests about a repository that write.
    pub fn written(&self, name: &str) -> Vec<String> {
        let all = self.asked(name);
        all.iter().filter(|a| a.method != "GET").map(|a| format!("{} {}", a.method, a.path)).collect()
    }
}

fn reply(status: u16, body: &Value) -> Said {
    Said::Json(status, body.to_string())
}

fn error(status: u16, message: &str) -> Said {
    let page = "https://docs.github.com/rest";
    reply(status, &json!({"message": message, "documentation_url": page, "status": status.to_string()}))
}

fn invalid(errors: &Value) -> Said {
    let page = "https://docs.github.com/rest";
    reply(422, &json!({"message": "Validation Failed", "errors": errors, "documentation_url": page}))
}

fn answer(state: &mut State, description: &Value, asked: &Asked) -> Said {
    state.asked.push(asked.clone());
    let bearer = asked.header("authorization").and_then(|v| v.strip_prefix("Bearer "));
    let start = format!("{}-of-", ["made", "up"].concat());
    let Some(login) = bearer.and_then(|t| t.strip_prefix(&start)).map(str::to_owned) else {
        return error(401, "Bad credentials");
    };
    let parts: Vec<&str> = asked.path.trim_matches('/').split('/').collect();
    let method = asked.method.as_str();
    if let ("GET", ["user"]) = (method, parts.as_slice()) {
        if login == "actions" {
            return error(403, "Resource not accessible by integration");
        }
        let mut user = example(description, "/user", "get", "200");
        user.insert("login".into(), json!(login));
        return reply(200, &user.into());
    }
    let ["repos", owner, name, rest @ ..] = parts.as_slice() else {
        return error(404, "Not Found");
    };
    let full = format!("{owner}/{name}");
    let Some(place) = state.places.get(&full).cloned() else {
        return error(404, "Not Found");
    };
    if !place.readers.is_empty() && !place.readers.contains(&login) {
        return error(404, "Not Found");
    }
    if place.fail_before == Some(method) {
        state.places.get_mut(&full).expect("it").fail_before = None;
        return error(502, "Server Error");
    }
    if place.archived && method != "GET" {
        return error(403, "Repository was archived so is read-only.");
    }
    let said = about(state, description, asked, &full, &place, &login, rest);
    if place.cut_after == Some(method) {
        state.places.get_mut(&full).expect("it").cut_after = None;
        return Said::Nothing;
    }
    said
}

fn about(
    state: &mut State,
    description: &Value,
    asked: &Asked,
    full: &str,
    place: &Place,
    login: &str,
    rest: &[&str],
) -> Said {
    let words = |name: &str| -> Vec<String> {
        let list = asked.body.get(name).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let pulls_path = "/repos/{owner}/{repo}/pulls";
    match (asked.method.as_str(), rest) {
        ("GET", []) => {
            let shown = |name: &str, place: &Place| {
                let mut repository = example(description, "/repos/{owner}/{repo}", "get", "200");
                repository.remove("parent");
                repository.remove("source");
                // The description's own example lacks a member that its schema asks for.
                repository.insert("language".into(), json!(null));
                repository.insert("full_name".into(), json!(name));
                repository.insert("default_branch".into(), json!(place.default_branch));
                repository.insert("archived".into(), json!(place.archived));
                repository
            };
            let mut repository = shown(full, place);
            if let Some(parent) = &place.parent {
                let above = shown(parent, &state.places[parent]);
                repository.insert("parent".into(), above.into());
            }
            reply(200, &repository.into())
        }
        ("GET", ["pulls"]) => {
            if place.lists_none {
                state.places.get_mut(full).expect("it").lists_none = false;
                return reply(200, &json!([]));
            }
            let (head, wanted) = (asked.query("head"), asked.query("state").unwrap_or("open"));
            let of_branch = |p: &&Pull| {
                let owner = p.head.0.split('/').next().unwrap_or_default();
                head.is_none_or(|head| head == format!("{owner}:{}", p.head.1))
            };
            let shown = state.pulls.iter().rev().filter(|p| p.at == full).filter(of_branch);
            let shown = shown.filter(|p| wanted == "all" || p.state == wanted);
            let list = shown.map(|p| pull(description, p, place, pulls_path, "get", "200")).collect();
            reply(200, &Value::Array(list))
        }
        ("POST", ["pulls"]) => create(state, description, asked, full, place, login),
        ("GET", ["milestones"]) => {
            let list = place.milestones.iter().map(|(number, title)| {
                let mut one =
                    first(example_value(description, "/repos/{owner}/{repo}/milestones", "get", "200"));
                one.insert("number".into(), json!(number));
                one.insert("title".into(), json!(title));
                Value::Object(one)
            });
            reply(200, &Value::Array(list.collect()))
        }
        (method, [kind @ ("pulls" | "issues"), number, last @ ..]) => {
            let number: u64 = number.parse().unwrap_or(0);
            let Some(at) = state.pulls.iter().position(|p| p.at == full && p.number == number) else {
                return error(404, "Not Found");
            };
            let one = &mut state.pulls[at];
            match (method, *kind, last) {
                ("GET", "pulls", []) => {}
                ("PATCH", "pulls", []) => {
                    let body = asked.body["body"].as_str().unwrap_or_default();
                    if body.chars().count() > 65_536 {
                        return invalid(
                            &json!([{"resource": "Issue", "code": "custom", "field": "body", "message": "body is too long (maximum is 65536 characters)"}]),
                        );
                    }
                    body.clone_into(&mut one.body);
                }
                ("PATCH", "issues", []) => one.milestone = asked.body["milestone"].as_u64(),
                ("POST", "issues", ["labels"]) => one.labels.extend(words("labels")),
                ("POST", "pulls", ["requested_reviewers"]) => {
                    if words("reviewers").contains(&one.author) {
                        return error(422, "Review cannot be requested from pull request author.");
                    }
                    one.people.extend(words("reviewers"));
                    one.teams.extend(words("team_reviewers"));
                }
                _ => return error(404, "Not Found"),
            }
            let one = one.clone();
            let template = "/repos/{owner}/{repo}/pulls/{pull_number}";
            match (method, *kind, last) {
                ("PATCH", "issues", []) => {
                    let path = "/repos/{owner}/{repo}/issues/{issue_number}";
                    reply(200, &example(description, path, "patch", "200").into())
                }
                ("POST", "issues", _) => {
                    let path = "/repos/{owner}/{repo}/issues/{issue_number}/labels";
                    reply(200, &Value::Array(labels(&one, &example_value(description, path, "post", "200"))))
                }
                ("POST", ..) => {
                    let path = "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers";
                    reply(201, &pull(description, &one, place, path, "post", "201"))
                }
                ("PATCH", ..) => reply(200, &pull(description, &one, place, template, "patch", "200")),
                _ => reply(200, &pull(description, &one, place, template, "get", "200")),
            }
        }
        _ => error(404, "Not Found"),
    }
}

fn create(
    state: &mut State,
    description: &Value,
    asked: &Asked,
    full: &str,
    place: &Place,
    login: &str,
) -> Said {
    let text = |name: &str| asked.body[name].as_str().unwrap_or_default().to_owned();
    let (head, base, body) = (text("head"), text("base"), text("body"));
    let own_owner = full.split('/').next().unwrap_or_default();
    let (owner, branch) = head.split_once(':').unwrap_or((own_owner, &head));
    let name = asked.body["head_repo"].as_str();
    let from = state.places.iter().find(|(n, p)| {
        let same = n.split('/').next() == Some(owner);
        let network = *n == full || p.parent.as_deref() == Some(full);
        same && network && name.is_none_or(|name| n.ends_with(&format!("/{name}")))
    });
    let wrong =
        |field: &str| invalid(&json!([{"resource": "PullRequest", "field": field, "code": "invalid"}]));
    let Some((from_name, from_place)) = from else {
        return wrong("head");
    };
    let Some(head_tip) = tip(&from_place.bare, branch) else {
        return wrong("head");
    };
    let Some(base_tip) = tip(&place.bare, &base) else {
        return wrong("base");
    };
    let custom = |message: String| {
        invalid(&json!([{"resource": "PullRequest", "code": "custom", "message": message}]))
    };
    if head_tip == base_tip {
        return custom(format!("No commits between {base} and {head}"));
    }
    let head = (from_name.clone(), branch.to_owned());
    if state.pulls.iter().any(|p| p.at == full && p.state == "open" && p.head == head && p.base == base) {
        return custom(format!("A pull request already exists for {owner}:{branch}."));
    }
    let draft = asked.body["draft"] == true;
    if draft && place.no_drafts {
        return error(422, "Draft pull requests are not supported in this repository.");
    }
    if body.chars().count() > 65_536 {
        return invalid(
            &json!([{"resource": "Issue", "code": "custom", "field": "body", "message": "body is too long (maximum is 65536 characters)"}]),
        );
    }
    let number = 1 + state.pulls.iter().filter(|p| p.at == full).map(|p| p.number).max().unwrap_or(6);
    let new = Pull {
        number,
        at: full.to_owned(),
        title: text("title"),
        body,
        state: "open".into(),
        draft: draft && !place.never_drafts,
        author: login.to_owned(),
        head,
        base,
        ..Pull::default()
    };
    state.pulls.push(new.clone());
    reply(201, &pull(description, &new, place, "/repos/{owner}/{repo}/pulls", "post", "201"))
}

fn tip(bare: &Path, branch: &str) -> Option<String> {
    let name = format!("refs/heads/{branch}");
    let out =
        Command::new("git").arg("--git-dir").arg(bare).args(["rev-parse", "-q", "--verify", &name]).output();
    let out = out.expect("git");
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

/// The description's example of an answer; null without a description.
fn example_value(description: &Value, path: &str, method: &str, status: &str) -> Value {
    let content = &description["paths"][path][method]["responses"][status]["content"]["application/json"];
    let Some(named) = content["examples"].as_object().and_then(|all| all.values().next()) else {
        return Value::Null;
    };
    let reference = named["$ref"].as_str().and_then(|r| r.strip_prefix('#'));
    let named = reference.and_then(|pointer| description.pointer(pointer)).unwrap_or(named);
    named["value"].clone()
}

fn first(value: Value) -> Map<String, Value> {
    match value {
        Value::Array(mut all) if !all.is_empty() => first(all.swap_remove(0)),
        Value::Object(one) => one,
        _ => Map::new(),
    }
}

fn example(description: &Value, path: &str, method: &str, status: &str) -> Map<String, Value> {
    first(example_value(description, path, method, status))
}

fn labels(pull: &Pull, model: &Value) -> Vec<Value> {
    let model = first(model.clone());
    let named = |name: &String| {
        let mut label = model.clone();
        label.insert("name".into(), json!(name));
        Value::Object(label)
    };
    pull.labels.iter().map(named).collect()
}

fn pull(description: &Value, it: &Pull, place: &Place, path: &str, method: &str, status: &str) -> Value {
    let mut shown = example(description, path, method, status);
    let user = shown.get("user").cloned().unwrap_or_default();
    let person = |login: &str| {
        let mut user = first(user.clone());
        user.insert("login".into(), json!(login));
        Value::Object(user)
    };
    let label_path = "/repos/{owner}/{repo}/issues/{issue_number}/labels";
    let label_model = example_value(description, label_path, "post", "200");
    let milestone = it.milestone.map(|number| {
        let mut one = first(example_value(description, "/repos/{owner}/{repo}/milestones", "get", "200"));
        let title = place.milestones.iter().find(|(n, _)| *n == number).map(|(_, t)| t.clone());
        one.insert("number".into(), json!(number));
        one.insert("title".into(), json!(title.unwrap_or_default()));
        Value::Object(one)
    });
    let team = |slug: &String| {
        // The description's own example of a team lacks members that its schema asks for.
        json!({
            "id": 1, "node_id": "x", "url": "https://api.github.com/teams/1", "name": slug, "slug": slug,
            "html_url": "https://github.com/orgs/o/teams/t", "description": null, "permission": "admin",
            "members_url": "https://api.github.com/teams/1/members{/member}", "privacy": "closed",
            "repositories_url": "https://api.github.com/teams/1/repos", "parent": null, "type": "organization",
        })
    };
    let end = |shown: &Map<String, Value>, which: &str, name: &str, branch: &str| {
        let mut end = shown.get(which).cloned().map(first).unwrap_or_default();
        let mut repository = end.get("repo").cloned().map(first).unwrap_or_default();
        repository.insert("full_name".into(), json!(name));
        end.insert("repo".into(), repository.into());
        end.insert("ref".into(), json!(branch));
        end.insert("label".into(), json!(format!("{}:{branch}", name.split('/').next().unwrap_or_default())));
        end.insert("sha".into(), json!("6dcb09b5b57875f334f61aebed695e2e4193db5e"));
        Value::Object(end)
    };
    let head = end(&shown, "head", &it.head.0, &it.head.1);
    let base = end(&shown, "base", &it.at, &it.base);
    let members = json!({
        "number": it.number,
        "html_url": format!("https://github.com/{}/pull/{}", it.at, it.number),
        "state": it.state,
        "merged_at": it.merged_at,
        "closed_at": null,
        "draft": it.draft,
        "title": it.title,
        "body": it.body,
        "user": person(&it.author),
        "head": head,
        "base": base,
        "labels": labels(it, &label_model),
        "requested_reviewers": it.people.iter().map(|p| person(p)).collect::<Vec<_>>(),
        "requested_teams": it.teams.iter().map(team).collect::<Vec<_>>(),
        "milestone": milestone,
        "assignee": null,
        "assignees": [],
    });
    if let Value::Object(members) = members {
        shown.extend(members);
    }
    Value::Object(shown)
}
