//! `pr --open` against a stand-in for GitHub that remembers, behind Prism with GitHub's own API description: every
//! request that is sent here, and every answer, is held to that description.

mod common;
#[path = "github/fake.rs"]
mod fake;
#[path = "github/http.rs"]
mod http;
#[path = "github/servers.rs"]
mod servers;

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use common::{Ran, Repo};
use fake::{Fake, Place, token_of};
use git_incident::forge::routes::{ALLOWED, Method, Request, Sender};
use git_incident::forge::token::{Places, find};
use git_incident::forge::{Api, Repository, answers};
use git_incident::report::pull_request::markers;

struct Servers {
    fake: Fake,
    /// Through Prism where it is installed.
    address: String,
    /// Past Prism, for connections that are cut.
    direct: String,
    _prism: Option<servers::Prism>,
}

fn the() -> &'static Servers {
    static SERVERS: OnceLock<Servers> = OnceLock::new();
    SERVERS.get_or_init(|| {
        let description = servers::description();
        let fake = Fake::start(description.as_deref());
        let direct = format!("http://127.0.0.1:{}", fake.port);
        let prism = description.map(|_| servers::Prism::proxy(&direct));
        let address = prism.as_ref().map_or_else(|| direct.clone(), |p| p.address.clone());
        Servers { fake, address, direct, _prism: prism }
    })
}

/// A repository with an incident, and a branch `topic` that is pushed to `github.com/ada/NAME` (a bare repository
/// on disk, as far as git is concerned).
struct Scene {
    repo: Repo,
    name: String,
}

impl Scene {
    fn new(name: &str) -> Self {
        let repo = Repo::new();
        repo.write("value", "bad\n");
        repo.commit("Start");
        let scene = Self { repo, name: format!("ada/{name}") };
        scene.remote("origin", &scene.name, Place { default_branch: "main".into(), ..Place::default() });
        scene.repo.git(&["push", "-q", "-u", "origin", "main"]);
        scene.repo.git(&["switch", "-q", "-c", "topic"]);
        scene.repo.write("value", "good\n");
        scene.repo.commit("Make the value good");
        scene.repo.open("the value is bad");
        scene
    }

    fn pushed(name: &str) -> Self {
        let scene = Self::new(name);
        scene.repo.git(&["push", "-q", "-u", "origin", "topic"]);
        scene
    }

    fn opened(name: &str) -> Self {
        let scene = Self::pushed(name);
        scene.pr(&["--open", "--yes"]).expect(0);
        scene
    }

    fn remote(&self, remote: &str, name: &str, place: Place) -> PathBuf {
        let bare = self.repo.root().join(format!("{remote}.git"));
        self.repo.git(&["init", "-q", "--bare", "-b", "main", &bare.display().to_string()]);
        let url = format!("https://github.com/{name}.git");
        self.repo.git(&["remote", "add", remote, &url]);
        self.repo.git(&["config", &format!("url.{}.insteadOf", bare.display()), &url]);
        the().fake.add(name, Place { bare: bare.clone(), ..place });
        bare
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.repo.command("git");
        command.args(["incident", "pr"]).args(arguments);
        command.env("GIT_INCIDENT_GITHUB_API", &the().address).env("GH_TOKEN", token_of("ada"));
        command
    }

    fn pr(&self, arguments: &[&str]) -> Ran {
        quiet(common::finish(self.command(arguments).output()))
    }

    fn direct(&self, arguments: &[&str]) -> Ran {
        quiet(common::finish(self.command(arguments).env("GIT_INCIDENT_GITHUB_API", &the().direct).output()))
    }

    fn pull(&self) -> fake::Pull {
        let all = the().fake.pulls(&self.name);
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }

    fn written(&self) -> Vec<String> {
        the().fake.written(&self.name)
    }
}

/// Whatever happens, no token is said.
#[track_caller]
fn quiet(ran: Ran) -> Ran {
    ran.never_says(&["made", "up"].concat()).never_says("panicked")
}

#[test]
fn a_draft_is_opened_with_at_most_ten_requests() {
    let scene = Scene::pushed("whole");
    the().fake.change("ada/whole", |p| p.milestones = vec![(3, "v1".into()), (4, "v2".into())]);
    let arguments = ["--open", "--yes", "--json", "--label", "bug", "--label", "gpu", "--reviewer", "bea"];
    let more = ["--reviewer", "@org/kernels", "--reviewer", "ada", "--milestone", "v2"];
    let view = scene.pr(&[&arguments[..], &more[..]].concat()).expect(0).json();
    let pull = scene.pull();
    assert!(pull.draft && pull.state == "open" && pull.author == "ada");
    assert_eq!((pull.title.as_str(), pull.base.as_str()), ("the value is bad", "main"));
    assert_eq!(view["number"], pull.number);
    assert_eq!(view["draft"], true);
    assert_eq!(view["created"], true);
    assert_eq!(view["url"], format!("https://github.com/ada/whole/pull/{}", pull.number));
    assert_eq!(view["body"], pull.body);
    assert!(!markers::find(&pull.body).expect("a block").edited());
    assert_eq!(pull.labels, ["bug", "gpu"]);
    assert_eq!(
        (pull.people, pull.teams, pull.milestone),
        (vec!["bea".into()], vec!["kernels".into()], Some(4))
    );
    let asked = the().fake.asked("ada/whole").len();
    assert_eq!(view["requests_sent"], asked, "as many as arrived");
    assert!(asked <= 10, "{asked} requests");
    println!("a full open took {asked} requests");
    // The ledger knows where it went.
    let ledger = scene.repo.incident(&["export", "--raw"]);
    let known = if ledger.status == 0 {
        ledger.stdout
    } else {
        scene.repo.git(&["log", "-p", "refs/notes/incidents"])
    };
    assert!(known.contains("/ada/whole/pull/"), "{known}");
}

#[test]
fn the_same_ledger_writes_nothing() {
    let scene = Scene::opened("same");
    let before = (scene.written(), scene.repo.git(&["rev-parse", "refs/notes/incidents"]));
    let view = scene.pr(&["--open", "--yes", "--json"]).expect(0).json();
    assert_eq!(view["changed"], false);
    assert_eq!(view["created"], false);
    assert_eq!((scene.written(), scene.repo.git(&["rev-parse", "refs/notes/incidents"])), before);
    scene.pr(&["--open"]).expect(1).says("--yes");
}

#[test]
fn an_update_replaces_our_block_alone() {
    let scene = Scene::opened("update");
    let first = scene.pull();
    the().fake.change_pull("ada/update", |pull| {
        pull.title = "A better title".into();
        pull.body = format!("Above\r\n\r\n{}\r\nBelow", pull.body.replace('\n', "\r\n"));
    });
    scene.repo.write("more", "1\n");
    scene.repo.commit("Add more");
    scene.pr(&["--open", "--yes"]).expect(1).says("git push -u origin topic");
    scene.repo.git(&["push", "-q", "origin", "topic"]);
    scene.pr(&["--open", "--yes"]).expect(0).says("updated #");
    let pull = scene.pull();
    assert_eq!((pull.number, pull.title.as_str()), (first.number, "A better title"));
    assert!(pull.body.starts_with("Above\r\n\r\n") && pull.body.ends_with("Below"), "{}", pull.body);
    assert!(markers::find(&pull.body).expect("a block").block.contains("more"), "{}", pull.body);
    assert_eq!(scene.written().last().unwrap(), &format!("PATCH /repos/ada/update/pulls/{}", pull.number));
    assert_eq!(scene.written().len(), 2, "one to open, one to update");
}

#[test]
fn what_a_person_wrote_in_the_block_is_kept_unless_forced() {
    let scene = Scene::opened("edited");
    the()
        .fake
        .change_pull("ada/edited", |pull| pull.body = pull.body.replace("value is bad", "VALUE IS BAD"));
    scene
        .pr(&["--open", "--yes"])
        .refuses(1)
        .says("somebody edited")
        .says("-")
        .says("VALUE IS BAD")
        .says("--force");
    assert!(scene.pull().body.contains("VALUE IS BAD"));
    scene.pr(&["--open", "--yes", "--force"]).expect(0);
    assert!(!scene.pull().body.contains("VALUE IS BAD"));
}

#[test]
fn a_pull_request_that_is_not_ours_to_change_is_refused() {
    let scene = Scene::opened("refused");
    let ours = scene.pull();
    let refuses = |change: &dyn Fn(&mut fake::Pull), why: &str| {
        the().fake.change_pull("ada/refused", |pull| {
            *pull = ours.clone();
            change(pull);
        });
        scene.pr(&["--open", "--yes"]).refuses(1).says(why);
    };
    refuses(&|p| p.body = "by hand".into(), "no git-incident block");
    refuses(&|p| p.body = format!("{}\n{}", p.body, p.body), "more than one");
    refuses(&|p| p.author = "bea".into(), "is bea's, not ada's");
    refuses(&|p| p.state = "closed".into(), "was closed");
    refuses(
        &|p| {
            p.state = "closed".into();
            p.merged_at = Some("2026-01-02T03:04:05Z".into());
        },
        "was merged",
    );
    refuses(&|p| p.base = "release".into(), "goes to \"release\"");
    assert_eq!(scene.written().len(), 1, "nothing was written after the first");
    the().fake.change_pull("ada/refused", |p| p.state = "closed".into());
    scene.pr(&["--open", "--yes", "--again"]).expect(0).says("opened draft");
}

#[test]
fn consent_is_demanded_before_anything_is_asked() {
    let scene = Scene::pushed("consent");
    scene.pr(&["--open"]).refuses(1).says("--yes").says("--dry-run");
    assert!(the().fake.asked("ada/consent").is_empty());
    scene.pr(&["--dry-run"]).expect(2);
}

/// Runs a program at a terminal, types an answer when it asks, and says what was on the screen.
const AT_A_TERMINAL: &str = r"
import os, pty, sys
pid, screen = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
seen, typed = b'', False
while True:
    try:
        chunk = os.read(screen, 4096)
    except OSError:
        break
    if not chunk:
        break
    seen += chunk
    if b'[y/N]' in seen and not typed:
        os.write(screen, sys.argv[1].encode() + b'\n')
        typed = True
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

#[test]
fn a_terminal_is_shown_the_plan_and_asked() {
    let scene = Scene::pushed("asked");
    let answer = |typed: &str| {
        let mut command = scene.repo.command("python3");
        command.args(["-c", AT_A_TERMINAL, typed, "git", "incident", "pr", "--open"]);
        command.env("GIT_INCIDENT_GITHUB_API", &the().address).env("GH_TOKEN", token_of("ada"));
        quiet(common::finish(command.output()))
    };
    for no in ["n", "", "yellow"] {
        let ran = answer(no).expect(1).says("not opened: no yes was given");
        let ran = ran.says("ada/asked topic at").says("ada/asked main").says("token from $GH_TOKEN");
        ran.says("POST /repos/ada/asked/pulls").says("git-incident:begin").says("Open it as a draft?");
        assert!(scene.written().is_empty());
    }
    answer("y").expect(0).says("opened draft #");
    answer("n").expect(0).says("says that already").never_says("[y/N]");
    assert!(scene.pull().draft);
}

#[test]
fn the_base_is_what_the_remote_has() {
    let scene = Scene::pushed("based");
    // Only the remote has the branch; the local main is ahead of the remote's.
    scene.repo.git(&["push", "-q", "origin", "main:refs/heads/develop"]);
    scene.repo.git(&["fetch", "-q", "origin"]);
    scene.repo.git(&["branch", "-q", "-f", "main", "topic"]);
    let view = scene.pr(&["--open", "--dry-run", "--json", "--base", "develop"]).expect(0).json();
    assert_eq!(view["base"], "develop");
    let view = scene.pr(&["--open", "--yes", "--json", "--base", "origin/main"]).expect(0).json();
    assert_eq!(view["base"], "main");
    assert!(view["body"].as_str().is_some_and(|body| body.contains("`value`")), "{view}");
    scene.pr(&["--open", "--yes", "--base", "HEAD~1"]).expect(1).says("no branch");
    scene.pr(&["--open", "--yes", "--base", "topic"]).refuses(1);
    // The configuration of the team, then the remote's own HEAD.
    let team = "[pr]\nbase = \"develop\"\nlabels = [\"team\"]\nmilestone = \"v1\"\n";
    scene.repo.write(".git-incident.toml", team);
    let view = scene.pr(&["--open", "--dry-run", "--json"]).expect(0).json();
    assert_eq!(view["base"], "develop");
    assert!(view["requests"].to_string().contains("team"));
    std::fs::remove_file(scene.repo.path().join(".git-incident.toml")).expect("it was there");
    scene.repo.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop"]);
    assert_eq!(scene.pr(&["--open", "--dry-run", "--json"]).expect(0).json()["base"], "develop");
}

#[test]
fn a_dry_run_prints_the_requests_and_sends_none() {
    let scene = Scene::new("dry");
    let mut command =
        scene.command(&["--open", "--dry-run", "--json", "--label", "bug", "--milestone", "v2"]);
    let view = quiet(common::finish(command.env_remove("GH_TOKEN").output())).expect(0).json();
    let requests = view["requests"].as_array().expect("requests");
    let post = requests.iter().find(|r| r["path"] == "/repos/ada/dry/pulls").expect("the one that opens it");
    assert_eq!(post["method"], "POST");
    assert_eq!(post["body"]["draft"], true);
    assert_eq!(post["body"]["base"], "main");
    assert_eq!(post["body"]["head"], "topic");
    assert!(requests.len() <= 10);
    assert!(the().fake.asked("ada/dry").is_empty());
    scene
        .pr(&["--open", "--dry-run"])
        .expect(0)
        .says("POST /repos/ada/dry/pulls")
        .says("git push -u origin topic");
    assert!(the().fake.pulls("ada/dry").is_empty());
}

#[test]
fn what_is_not_pushed_is_refused_with_the_command() {
    let scene = Scene::new("unpushed");
    scene
        .pr(&["--open", "--yes"])
        .refuses(1)
        .says("is not on github.com/ada/unpushed")
        .says("git push -u origin topic");
    scene.repo.git(&["push", "-q", "-u", "origin", "topic"]);
    scene.repo.commit("One more");
    scene.pr(&["--open", "--yes"]).refuses(1).says("git push -u origin topic");
    assert!(the().fake.asked("ada/unpushed").is_empty());
    scene.repo.git(&["switch", "-q", "--detach"]);
    scene.pr(&["--open", "--yes"]).refuses(1).says("git switch -c");
    scene.repo.git(&["switch", "-q", "main"]);
    scene.pr(&["--open", "--yes"]).expect(1).says("hint: ").never_says("push -u origin main");
    // Where git would push onto the base, no hint leads there.
    scene.repo.git(&["switch", "-q", "topic"]);
    scene.repo.git(&["branch", "-q", "--set-upstream-to=origin/main"]);
    scene.repo.git(&["config", "push.default", "upstream"]);
    let ran = scene.pr(&["--open", "--yes"]).expect(1).says("its upstream is the base");
    ran.says("git push -u origin topic:topic").never_says("topic:main");
}

#[test]
fn the_state_of_gates_and_notes_is_shown() {
    let scene = Scene::new("states");
    let gate = "[[gate]]\nid = \"fast\"\nkind = \"command\"\ndevice = \"any\"\npaths = [\"value\"]\nrun = \"true\"\n";
    scene.repo.write(".git-incident.toml", gate);
    scene.repo.write("value", "better\n");
    scene.repo.commit("Add a gate");
    scene.repo.git(&["push", "-q", "-u", "--no-verify", "origin", "topic"]);
    let ran = scene
        .pr(&["--open", "--yes", "--json"])
        .expect(0)
        .says("fast not-run")
        .says("git incident sync origin");
    let view = ran.json();
    assert_eq!(view["gates"][0]["gate"], "fast");
    assert_eq!(view["gates"][0]["ticked"], false);
    assert_eq!(view["notes"]["state"], "absent");
    scene.repo.push_notes();
    let view = scene.pr(&["--open", "--yes", "--json"]).expect(0).json();
    assert_eq!(view["notes"]["state"], "synced");
}

#[test]
fn a_fork_opens_on_its_parent_and_says_how_to_fetch_the_notes() {
    let scene = Scene::new("forked");
    let place = |parent: Option<&str>| Place {
        default_branch: "main".into(),
        parent: parent.map(str::to_owned),
        ..Place::default()
    };
    scene.remote("fork", "bea/forked", place(Some("ada/forked")));
    scene.repo.git(&["config", "remote.pushDefault", "fork"]);
    scene.repo.git(&["push", "-q", "fork", "main", "topic"]);
    let ran = scene.pr(&["--open", "--yes", "--json"]).expect(0);
    let view = ran.json();
    assert_eq!(view["repository"], "ada/forked");
    assert_eq!(view["head_repository"], "bea/forked");
    let fetch = view["notes"]["fetch"].as_str().expect("a command");
    assert!(
        fetch.starts_with("git fetch https://github.com/bea/forked.git '+refs/notes/incidents*:"),
        "{fetch}"
    );
    assert_eq!(scene.pull().head, ("bea/forked".into(), "topic".into()));
    // Nothing in git's configuration names the parent: GitHub does.
    let alone = Scene::new("parent");
    alone.remote("mine", "bea/child", place(Some("ada/parent")));
    alone.repo.git(&["push", "-q", "mine", "main", "topic"]);
    alone.repo.git(&["remote", "remove", "origin"]);
    alone.pr(&["--open", "--yes"]).expect(0);
    assert_eq!(alone.pull().head.0, "bea/child");
    assert_eq!(alone.pull().at, "ada/parent");
}

#[test]
fn without_drafts_the_text_is_printed_and_nothing_is_opened() {
    let scene = Scene::pushed("nodrafts");
    the().fake.change("ada/nodrafts", |p| p.no_drafts = true);
    let ran = scene.pr(&["--open", "--yes"]).refuses(6).says("does not take drafts");
    assert!(
        ran.stdout.starts_with("Title: the value is bad\n\n") && ran.stdout.contains("git-incident:begin")
    );
    let view = scene.pr(&["--open", "--yes", "--json"]).expect(6).json();
    assert_eq!(view["error"]["exit"], 6);
    assert!(view["body"].as_str().is_some_and(|b| b.contains("git-incident:begin")));
    assert!(the().fake.pulls("ada/nodrafts").is_empty());
}

#[test]
fn a_server_that_ignores_drafts_is_told_on() {
    let scene = Scene::pushed("ready");
    the().fake.change("ada/ready", |p| p.never_drafts = true);
    scene
        .pr(&["--open", "--yes", "--label", "bug"])
        .refuses(6)
        .says("as ready, although a draft was asked for");
    assert_eq!(scene.written().len(), 1, "nothing else was done to it");
}

#[test]
fn a_write_whose_answer_is_lost_is_looked_up_and_never_repeated() {
    let scene = Scene::pushed("cut");
    the().fake.change("ada/cut", |p| p.cut_after = Some("POST"));
    scene.direct(&["--open", "--yes"]).expect(0).says("opened draft");
    assert_eq!(scene.written(), ["POST /repos/ada/cut/pulls"]);
    scene.repo.write("more", "1\n");
    scene.repo.commit("Add more");
    scene.repo.git(&["push", "-q", "origin", "topic"]);
    the().fake.change("ada/cut", |p| p.cut_after = Some("PATCH"));
    scene.direct(&["--open", "--yes"]).expect(0).says("updated");
    the().fake.change("ada/cut", |p| p.cut_after = Some("POST"));
    scene.direct(&["--open", "--yes", "--label", "bug"]).expect(0).says("updated");
    assert_eq!(scene.pull().labels, ["bug"]);
    assert_eq!(scene.written().len(), 3);
}

#[test]
fn a_write_that_was_not_done_is_not_repeated_either() {
    let scene = Scene::pushed("undone");
    the().fake.change("ada/undone", |p| p.fail_before = Some("POST"));
    let ran = scene.direct(&["--open", "--yes"]).refuses(6);
    ran.says("it may still appear").says("run the same command again");
    assert_eq!(scene.written(), ["POST /repos/ada/undone/pulls"]);
    scene.direct(&["--open", "--yes"]).expect(0);
    // A read is simply asked again.
    the().fake.change("ada/undone", |p| p.fail_before = Some("GET"));
    scene.direct(&["--open", "--yes"]).expect(0).says("says that already");
    the().fake.change("ada/undone", |p| p.fail_before = Some("POST"));
    scene.direct(&["--open", "--yes", "--label", "bug"]).refuses(6).says("/ada/undone/pull/");
    assert!(scene.pull().labels.is_empty());
}

#[test]
fn one_that_was_opened_meanwhile_is_updated() {
    let scene = Scene::opened("meanwhile");
    scene.repo.write("more", "1\n");
    scene.repo.commit("Add more");
    scene.repo.git(&["push", "-q", "origin", "topic"]);
    the().fake.change("ada/meanwhile", |p| p.lists_none = true);
    scene.pr(&["--open", "--yes"]).expect(0).says("updated #");
    assert!(scene.pull().body.contains("more"));
}

#[test]
fn github_says_no_in_its_own_words() {
    let scene = Scene::pushed("no");
    let with = |token: &str| {
        let mut command = scene.command(&["--open", "--yes"]);
        // The description knows no 401, so Prism would not let it through.
        command.env("GIT_INCIDENT_GITHUB_API", &the().direct);
        quiet(common::finish(command.env("GH_TOKEN", token).output()))
    };
    with("nonsense").refuses(6).says("does not accept the token from $GH_TOKEN").says("gh auth login");
    the().fake.change("ada/no", |p| p.readers = vec!["bea".into()]);
    scene.pr(&["--open", "--yes"]).refuses(6).says("shows no ada/no");
    the().fake.change("ada/no", |p| p.readers.clear());
    scene.pr(&["--open", "--yes", "--base", "absent"]).expect(1);
    scene.pr(&["--open", "--yes", "--milestone", "v9"]).refuses(1).says("no open milestone");
    the().fake.change("ada/no", |p| p.archived = true);
    scene.pr(&["--open", "--yes"]).refuses(6).says("archived");
    let mut command = scene.command(&["--open", "--yes"]);
    common::finish(command.env_remove("GH_TOKEN").output()).refuses(1).says("no token for github.com");
    assert!(scene.written().is_empty());
}

#[test]
fn a_token_of_github_actions_updates_what_a_token_of_actions_opened() {
    let scene = Scene::pushed("actions");
    let actions = || {
        let mut command = scene.command(&["--open", "--yes"]);
        quiet(common::finish(command.env("GH_TOKEN", token_of("actions")).output()))
    };
    actions().expect(0);
    actions().refuses(1).says("a token without a person");
    the().fake.change_pull("ada/actions", |pull| pull.author = "github-actions[bot]".into());
    actions().expect(0).says("says that already");
}

#[test]
fn a_repository_cannot_say_where_the_token_goes() {
    let scene = Scene::pushed("redirected");
    scene.repo.git(&["config", "incident.githubApi", &the().direct]);
    let api = |set: Option<&str>| {
        let mut command = scene.command(&["--open", "--dry-run", "--json"]);
        command.env_remove("GIT_INCIDENT_GITHUB_API");
        if let Some(address) = set {
            command.env("GIT_INCIDENT_GITHUB_API", address);
        }
        common::finish(command.output())
    };
    assert_eq!(api(None).expect(0).json()["api"], "https://api.github.com");
    assert_eq!(api(Some("https://proxy.example/x/")).expect(0).json()["api"], "https://proxy.example/x");
    api(Some("http://proxy.example")).refuses(2).says("unencrypted");
    let global = scene.repo.root().join("config/global");
    std::fs::write(&global, "[incident]\n\tgithubApi = https://own.example\n").expect("a file");
    let mut command = scene.command(&["--open", "--dry-run", "--json"]);
    command.env_remove("GIT_INCIDENT_GITHUB_API").env("GIT_CONFIG_GLOBAL", &global);
    assert_eq!(common::finish(command.output()).expect(0).json()["api"], "https://own.example");
}

#[test]
fn every_answer_of_githubs_own_examples_is_read() {
    if servers::description().is_none() {
        return;
    }
    let prism = servers::Prism::mock();
    let api = Api { base: prism.address.clone(), host: "github.com".into(), named_by: "" };
    let variable = |_: &str| Some(token_of("ada"));
    let token =
        find("github.com", &Places { variable: &variable, gh: &|_| None, git: &|_| None }).expect("a token");
    let sender = Sender::new(&api, &token, std::time::Duration::from_mins(1)).expect("a client");
    let at = Repository::parse("octocat/Hello-World").expect("a name");
    let words = ["x".to_owned()];
    let sent = |request: Request, status: u16| {
        let answer = sender.send(&request).expect("an answer");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, status, "{request:?}: {text}");
        answer.body
    };
    let is_pull = |body: &[u8]| drop(serde_json::from_slice::<answers::Pull>(body).expect("a pull request"));
    serde_json::from_slice::<answers::User>(&sent(Request::user(), 200)).expect("a user");
    let repository = sent(Request::repository(&at), 200);
    serde_json::from_slice::<answers::RepositoryAnswer>(&repository).expect("a repository");
    let list = sent(Request::pulls_of(&at, "octocat", "new-topic"), 200);
    assert!(!serde_json::from_slice::<Vec<answers::Pull>>(&list).expect("pull requests").is_empty());
    is_pull(&sent(Request::pull(&at, 1347), 200));
    let milestones = sent(Request::milestones(&at), 200);
    assert!(!serde_json::from_slice::<Vec<answers::Milestone>>(&milestones).expect("milestones").is_empty());
    is_pull(&sent(Request::open_draft(&at, (&at, "topic"), "main", "t", "b"), 201));
    is_pull(&sent(Request::describe(&at, Some(1347), "b"), 200));
    sent(Request::label(&at, Some(1347), &words), 200);
    is_pull(&sent(Request::ask_reviewers(&at, Some(1347), &words, &words), 201));
    sent(Request::set_milestone(&at, Some(1347), &serde_json::json!(1)), 200);
    assert_eq!(sender.sent() as usize, ALLOWED.len(), "each route once");
}

#[test]
fn the_description_knows_our_routes_and_no_merge() {
    let Some(path) = servers::description() else {
        return;
    };
    assert!(path.with_file_name("LICENSE.octokit-openapi").exists(), "its licence is kept beside it");
    let description: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path).expect("it")).expect("JSON");
    let mut known: Vec<String> = Vec::new();
    for (path, methods) in description["paths"].as_object().expect("paths") {
        known.extend(
            methods.as_object().expect("methods").keys().map(|m| format!("{} {path}", m.to_uppercase())),
        );
    }
    let mut ours: Vec<String> = ALLOWED.iter().map(|r| format!("{} {}", r.method, r.path)).collect();
    known.sort();
    ours.sort();
    assert_eq!(known, ours);
    assert!(ALLOWED.iter().all(|r| r.method != Method::Get || r.body.is_empty()));
}
