//! Links through every operation that rewrites history, driven through the real git, and compared link by link: what
//! `show --json` says, and what `git log --notes=incident-lines` says beside it.

mod common;
#[path = "links/messages.rs"]
mod messages;
#[path = "links/reverts.rs"]
mod reverts;
#[path = "links/shared.rs"]
mod shared;
#[path = "links/silent.rs"]
mod silent;
#[path = "links/taken_back.rs"]
mod taken_back;
#[path = "links/told.rs"]
mod told;
#[path = "links/uncertain.rs"]
mod uncertain;
#[path = "links/walk.rs"]
mod walk;

use common::Repo;
use serde_json::Value;

/// A repository with a base commit, hooks, and an active incident. Each commit has a time of its own.
struct Bench {
    repo: Repo,
    id: String,
    clock: std::cell::Cell<u64>,
}

const FILE: &str = "k1\nk2\nk3\nk4\nk5\nk6\nk7\nk8\nk9\nk10\nk11\nk12\nk13\nk14\nk15\nk16\n";

impl Bench {
    fn new() -> Self {
        let bench = Self::without_hooks();
        bench.repo.incident(&["init"]).expect(0);
        bench
    }

    fn without_hooks() -> Self {
        let repo = Repo::new();
        repo.write("kernel.cu", FILE);
        repo.write("other.txt", "one\n");
        repo.commit("Base");
        let id = repo.open("softmax gives NaN");
        Self { repo, id, clock: std::cell::Cell::new(1_800_000_000) }
    }

    /// `git …` a second later than the last one; must succeed.
    #[track_caller]
    fn git(&self, arguments: &[&str]) -> String {
        let ran = self.try_git(arguments, &[]);
        ran.expect(0).line().to_owned()
    }

    fn try_git(&self, arguments: &[&str], more: &[(&str, &str)]) -> common::Ran {
        self.clock.set(self.clock.get() + 60);
        let date = format!("{} +0000", self.clock.get());
        let mut command = self.repo.command("git");
        command.args(arguments).env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        command.env("GIT_EDITOR", "true").env("GIT_SEQUENCE_EDITOR", "true");
        for (name, value) in more {
            command.env(name, value);
        }
        common::finish(command.output())
    }

    /// Changes one line of the kernel and commits it.
    #[track_caller]
    fn change(&self, line: usize, message: &str) -> String {
        let text = self.repo.read("kernel.cu");
        let lines: Vec<String> = text
            .lines()
            .enumerate()
            .map(|(n, old)| if n + 1 == line { format!("{old} {message}") } else { old.to_owned() })
            .collect();
        self.repo.write("kernel.cu", &(lines.join("\n") + "\n"));
        self.git(&["commit", "-q", "-a", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// An attempt with one commit that it ends with: failed or worked.
    #[track_caller]
    fn attempt(&self, line: usize, message: &str, worked: bool) -> String {
        self.repo.incident(&["attempt", "start", "-H", message]).expect(0);
        let commit = self.change(line, message);
        if self.links().iter().all(|l| l.0 != commit) {
            self.repo
                .incident(&["link", &commit, "--as", "related", "-n", &self.attempts().to_string()])
                .expect(0);
        }
        let how = if worked { "--worked" } else { "--failed" };
        self.repo.incident(&["attempt", "end", how, "-m", &format!("{message}: told")]).expect(0);
        commit
    }

    /// Commits what is changed as somebody would who has none of our hooks.
    #[track_caller]
    fn plain(&self, message: &str) {
        self.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "-a", "-m", message]);
    }

    fn attempts(&self) -> usize {
        self.show()["attempts"].as_array().expect("attempts").len()
    }

    fn show(&self) -> Value {
        self.repo.incident_json(&["show", &self.id])
    }

    /// Commit, role and attempt of every link, sorted.
    fn links(&self) -> Vec<(String, String, u64)> {
        let view = self.show();
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let mut links: Vec<_> = view["links"]
            .as_array()
            .expect("links")
            .iter()
            .map(|l| (text(&l["commit"]), text(&l["role"]), l["attempt"].as_u64().unwrap_or_default()))
            .collect();
        links.sort();
        links
    }

    /// What `show` says must be these links, and the notes that git shows must say the same, and nothing else.
    #[track_caller]
    fn expect(&self, wanted: &[(&str, &str, u64)]) {
        let mut wanted: Vec<(String, String, u64)> =
            wanted.iter().map(|(c, role, n)| ((*c).to_owned(), (*role).to_owned(), *n)).collect();
        wanted.sort();
        assert_eq!(self.links(), wanted, "links\n{}", self.graph());
        let notes = self.repo.try_git(&["notes", "--ref=incident-lines", "list"]);
        let mut noted: Vec<(String, String, u64)> = Vec::new();
        for line in notes.stdout.lines() {
            let commit = line.split(' ').nth(1).expect("a commit").to_owned();
            let text = self.repo.git(&["log", "-1", "--format=%N", "--notes=incident-lines", &commit]);
            for line in text.lines().filter(|l| !l.is_empty()) {
                let rest = line.split_once("NaN: ").expect("a line of ours").1;
                let role = rest.split([' ', ',']).next().expect("a role").to_owned();
                let n = rest.split_once("(attempt ").map_or(0, |(_, r)| {
                    r.split([')', ':']).next().expect("a number").parse().expect("a number")
                });
                noted.push((commit.clone(), role, n));
            }
        }
        noted.sort();
        assert_eq!(noted, wanted, "notes\n{}", self.graph());
    }

    fn graph(&self) -> String {
        self.repo.git(&["log", "--oneline", "--graph", "--all", "--notes=incident-lines"])
    }

    fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    fn at(&self, revision: &str) -> String {
        self.git(&["rev-parse", "--verify", revision])
    }

    /// `relink --apply` says the first time that it made so many, and the second time none.
    #[track_caller]
    fn relink(&self, made: u64, options: &[&str]) -> Value {
        let first = self.repo.incident_json(&[&["relink", "--apply"], options].concat());
        assert_eq!(first["certain"], made, "{first:#}\n{}", self.graph());
        let second = self.repo.incident_json(&[&["relink", "--apply"], options].concat());
        assert_eq!(second["certain"], 0, "{second:#}");
        first
    }

    /// A todo list for `rebase -i`, by an editor that a shell line is.
    #[track_caller]
    fn rebase(&self, onto: &str, todo: &str) {
        let ran = self.try_git(&["rebase", "-q", "-i", onto], &[("GIT_SEQUENCE_EDITOR", todo)]);
        ran.expect(0);
    }

    fn events(&self) -> usize {
        self.repo.git(&["notes", "--ref=incidents", "show", &self.id]).lines().count()
    }
}
