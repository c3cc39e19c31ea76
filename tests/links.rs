//! Links through every operation that rewrites history, driven through the real git, and compared link by link: what
//! `show --json` says, and what `git log --notes=incident-lines` says beside it.

mod common;
#[path = "links/messages.rs"]
mod messages;
#[path = "links/reverts.rs"]
mod reverts;
#[path = "links/silent.rs"]
mod silent;
#[path = "links/taken_back.rs"]
mod taken_back;
#[path = "links/told.rs"]
mod told;
#[path = "links/uncertain.rs"]
mod uncertain;

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

mod where_git_tells {
    use super::*;

    #[test]
    fn amend_keeps_role_and_attempt_and_the_hook_may_fire_twice() {
        let b = Bench::new();
        let failed = b.attempt(2, "mask the tail", false);
        b.expect(&[(&failed, "failed", 1)]);
        b.git(&["commit", "-q", "--amend", "-m", "another message"]);
        let amended = b.head();
        b.expect(&[(&amended, "failed", 1)]);
        // The message and the change.
        b.repo.write("kernel.cu", "all new\n");
        b.git(&["commit", "-q", "--amend", "-a", "--no-edit"]);
        let again = b.head();
        b.expect(&[(&again, "failed", 1)]);
        let before = b.events();
        for _ in 0..2 {
            let mut command = b.repo.command("git-incident");
            command.args(["hook", "post-rewrite", "amend"]).stdin(std::process::Stdio::piped());
            let mut child = command.spawn().expect("it starts");
            let line = format!("{amended} {again}\n{failed} {amended}\n");
            std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), line.as_bytes())
                .expect("written");
            assert!(child.wait().expect("it ends").success());
        }
        b.expect(&[(&again, "failed", 1)]);
        assert_eq!(b.events(), before, "the same rewrite again says nothing new");
    }

    #[test]
    fn rebase_reorders_drops_fixes_up_and_squashes() {
        let b = Bench::new();
        let base = b.head();
        b.git(&["checkout", "-q", "-b", "topic"]);
        b.attempt(2, "one", false);
        b.attempt(8, "two", false);
        b.attempt(14, "three", true);
        // The last one first, the others behind it.
        b.rebase(
            &base,
            r#"sh -c 'tail -r "$1" 2>/dev/null >"$1.n" || tac "$1" | grep ^pick >"$1.n"; mv "$1.n" "$1"' x"#,
        );
        let at = |n: usize| b.at(&format!("HEAD~{n}"));
        b.expect(&[(&at(0), "failed", 1), (&at(1), "failed", 2), (&at(2), "fix", 3)]);
        // Onto something else.
        b.git(&["checkout", "-q", "main"]);
        b.repo.write("other.txt", "two\n");
        b.plain("Somebody else's");
        b.git(&["checkout", "-q", "topic"]);
        b.git(&["rebase", "-q", "main"]);
        b.expect(&[(&at(0), "failed", 1), (&at(1), "failed", 2), (&at(2), "fix", 3)]);
        // The two that failed become one commit, which carries both attempts.
        b.rebase("main", r#"sh -c 'sed "3s/^pick/fixup/" "$1" >"$1.n"; mv "$1.n" "$1"' x"#);
        b.expect(&[(&at(0), "failed", 1), (&at(0), "failed", 2), (&at(1), "fix", 3)]);
        b.rebase("main", r#"sh -c 'sed "2s/^pick/squash/" "$1" >"$1.n"; mv "$1.n" "$1"' x"#);
        b.expect(&[(&at(0), "failed", 1), (&at(0), "failed", 2), (&at(0), "fix", 3)]);
        assert_eq!(b.at("HEAD~1"), b.at("main"));
    }

    #[test]
    fn autosquash_follows_too() {
        let b = Bench::new();
        let base = b.head();
        let first = b.attempt(2, "one", true);
        b.git(&["checkout", "-q", "-b", "topic"]);
        b.repo.write("other.txt", "three\n");
        b.git(&["commit", "-q", "-a", "--fixup", &first]);
        b.git(&["rebase", "-q", "-i", "--autosquash", &base]);
        let head = b.head();
        assert_eq!(b.at("HEAD~1"), base);
        b.expect(&[(&head, "fix", 1)]);
    }

    #[test]
    fn a_split_leaves_the_role_on_the_last_part() {
        let b = Bench::new();
        let base = b.head();
        b.repo.incident(&["attempt", "start", "-H", "both at once"]).expect(0);
        b.repo.write("other.txt", "two\n");
        b.change(2, "two files");
        b.repo.incident(&["attempt", "end", "--worked", "-m", "told"]).expect(0);
        let todo = r#"sh -c 'sed "1s/^pick/edit/" "$1" >"$1.n"; mv "$1.n" "$1"' x"#;
        b.try_git(&["rebase", "-q", "-i", &base], &[("GIT_SEQUENCE_EDITOR", todo)]).expect(0);
        b.git(&["reset", "-q", "HEAD^"]);
        b.git(&[
            "commit",
            "-q",
            "-m",
            "first part",
            "-m",
            &format!("Incident: {}", &b.id[..12]),
            "other.txt",
        ]);
        let first = b.head();
        b.git(&["commit", "-q", "-a", "-m", "second part"]);
        b.git(&["rebase", "--continue"]);
        let last = b.head();
        assert_eq!(b.at("HEAD~1"), first);
        b.expect(&[(&first, "related", 0), (&last, "fix", 1)]);
    }

    #[test]
    fn an_aborted_rebase_leaves_everything_as_it_was() {
        let b = Bench::new();
        let base = b.head();
        b.git(&["checkout", "-q", "-b", "topic"]);
        b.attempt(2, "one", true);
        let tip = b.attempt(8, "two", false);
        let first = b.at("HEAD~1");
        b.git(&["checkout", "-q", "-b", "side", &base]);
        b.repo.write("kernel.cu", &FILE.replace("k8\n", "other\n"));
        b.plain("conflicts with two");
        b.git(&["checkout", "-q", "topic"]);
        assert_ne!(b.try_git(&["rebase", "-q", "side"], &[]).status, 0);
        b.git(&["rebase", "--abort"]);
        b.expect(&[(&first, "fix", 1), (&tip, "failed", 2)]);
    }
}

mod where_git_is_silent {
    use super::*;

    #[test]
    fn cherry_picks_with_and_without_the_line() {
        let b = Bench::new();
        let base = b.head();
        let fix = b.attempt(2, "mask it", true);
        b.git(&["checkout", "-q", "-b", "release", &base]);
        b.repo.write("other.txt", "released\n");
        b.plain("Release");
        let release = b.head();
        b.git(&["cherry-pick", "-x", &fix]);
        let with = b.head();
        b.expect(&[(&fix, "fix", 1), (&with, "fix", 1)]);
        // A pick without the line, and without hooks: its patch is the only proof, and two have it already.
        b.git(&["checkout", "-q", "-b", "older", &base]);
        b.git(&["-c", "core.hooksPath=/dev/null", "cherry-pick", &fix]);
        let report = b.repo.incident_json(&["relink", "--all"]);
        assert_eq!(report["certain"], 1, "its trailer names the incident: {report:#}");
        b.git(&["checkout", "-q", "--detach", &release]);
        b.git(&["branch", "-q", "-D", "older"]);
        b.relink(0, &[]);
        b.expect(&[(&fix, "fix", 1), (&with, "fix", 1)]);
    }

    #[test]
    fn a_pick_of_a_commit_without_trailers_is_known_while_it_happens() {
        let b = Bench::new();
        let base = b.head();
        b.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "nothing"]);
        b.repo.write("kernel.cu", "mine\n");
        b.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "-a", "-m", "no trailer"]);
        let plain = b.head();
        b.repo.incident(&["link", &plain, "--as", "partial"]).expect(0);
        b.git(&["checkout", "-q", "-b", "release", &base]);
        b.git(&["cherry-pick", &plain]);
        b.expect(&[(&plain, "partial", 0), (&b.head(), "partial", 0)]);
    }

    #[test]
    fn merge_squash_carries_every_attempt() {
        let b = Bench::new();
        b.git(&["checkout", "-q", "-b", "topic"]);
        let one = b.attempt(2, "one", false);
        let two = b.attempt(8, "two", true);
        b.git(&["checkout", "-q", "main"]);
        b.git(&["merge", "-q", "--squash", "topic"]);
        b.git(&["commit", "-q", "--no-edit"]);
        let squash = b.head();
        let both = [(squash.as_str(), "failed", 1), (squash.as_str(), "fix", 2)];
        b.expect(&[&[(one.as_str(), "failed", 1), (two.as_str(), "fix", 2)], both.as_slice()].concat());
        // The branch goes; what it held is still linked through the squash.
        b.git(&["branch", "-q", "-D", "topic"]);
        b.relink(2, &[]);
        b.expect(&both);
    }

    #[test]
    fn merge_squash_with_a_message_of_ones_own_is_found_by_its_patch() {
        let b = Bench::without_hooks();
        b.git(&["checkout", "-q", "-b", "topic"]);
        b.attempt(2, "one", false);
        b.attempt(8, "two", true);
        b.change(14, "not linked");
        b.git(&["checkout", "-q", "main"]);
        b.repo.write("other.txt", "moved on\n");
        b.plain("Somebody else's");
        b.git(&["merge", "-q", "--squash", "topic"]);
        b.git(&["commit", "-q", "-m", "All of it"]);
        let squash = b.head();
        b.git(&["branch", "-q", "-D", "topic"]);
        let report = b.relink(2, &[]);
        assert_eq!(report["links"][0]["matches"][0]["how"], serde_json::json!(["squash"]), "{report:#}");
        b.expect(&[(&squash, "failed", 1), (&squash, "fix", 2)]);
    }

    #[test]
    fn a_forge_squashes_and_the_number_is_in_the_subject() {
        let b = Bench::without_hooks();
        b.git(&["checkout", "-q", "-b", "topic"]);
        let fix = b.attempt(2, "one", true);
        b.git(&["checkout", "-q", "main"]);
        // Somebody resolved a conflict in the browser: neither patch nor author is the same.
        b.repo.write("kernel.cu", &FILE.replace("k2\n", "k2 one, more or less\n"));
        let message = format!(
            "Mask it (#12)\n\n* one\n\nIncident: {}\n\nCo-authored-by: B <b@example.org>",
            &b.id[..12]
        );
        b.git(&["commit", "-q", "-a", "-m", &message]);
        let squash = b.head();
        b.git(&["branch", "-q", "-D", "topic"]);
        // The trailer alone names the incident; which attempt, a person says.
        let report = b.repo.incident_json(&["relink", "--apply"]);
        assert_eq!(report["links"][0]["state"], "unplaced", "{report:#}");
        assert_eq!(report["told"][0]["commit"], squash.as_str(), "{report:#}");
        b.expect(&[(&fix, "fix", 1), (&squash, "related", 0)]);
        b.repo.incident(&["link", &squash, "--as", "fix", "-n", "1"]).expect(0);
        b.repo.incident(&["link", &fix, "--remove"]).expect(0);
        b.expect(&[(&squash, "fix", 1)]);
        b.relink(0, &[]);
    }

    #[test]
    fn a_forge_rebases_and_nobody_tells() {
        let b = Bench::without_hooks();
        b.git(&["checkout", "-q", "-b", "topic"]);
        let tip = {
            b.attempt(2, "one", false);
            b.attempt(8, "two", true)
        };
        b.git(&["checkout", "-q", "main"]);
        b.repo.write("other.txt", "moved on\n");
        b.plain("Somebody else's");
        b.git(&["cherry-pick", &format!("main..{tip}")]);
        b.git(&["branch", "-q", "-D", "topic"]);
        let report = b.relink(2, &[]);
        assert_eq!(report["links"][0]["matches"][0]["how"][0], "patch-id");
        b.expect(&[(&b.at("HEAD~1"), "failed", 1), (&b.head(), "fix", 2)]);
    }

    #[test]
    fn history_is_rewritten_as_a_whole() {
        let b = Bench::without_hooks();
        let bad = b.attempt(2, "one", false);
        b.git(&["commit", "-q", "--allow-empty", "-m", "an empty commit"]);
        let empty = b.head();
        b.repo.incident(&["link", &empty, "--as", "related"]).expect(0);
        b.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
        b.repo.write("side.txt", "x\n");
        b.git(&["add", "-A"]);
        b.git(&["commit", "-q", "-m", "on the side"]);
        b.git(&["checkout", "-q", "main"]);
        b.git(&["merge", "-q", "--no-ff", "-m", "Merge the side", "side"]);
        let merge = b.head();
        b.repo.incident(&["link", &merge, "--as", "partial"]).expect(0);
        let fix = b.attempt(8, "two", true);
        let before = [bad, empty, merge, fix];
        // As filter-repo does it: every commit by another committer, and without one file. No record is left.
        let dump = b.repo.root().join("dump").display().to_string();
        b.repo.command("sh").args(["-c", &format!("git fast-export --all --reference-excluded-parents -- ':!other.txt' refs/heads/main >{dump}.0 2>/dev/null; git fast-export --signed-tags=strip refs/heads/main | sed 's/^committer .* <.*>/committer Bot <bot@example.org>/' >{dump}")]).status().expect("a shell");
        b.git(&["update-ref", "-d", "refs/heads/side"]);
        b.repo
            .command("sh")
            .args(["-c", &format!("git fast-import --force --quiet <{dump}")])
            .status()
            .expect("a shell");
        b.git(&["reset", "-q", "--hard", "main"]);
        let after = [b.at("HEAD~1^1~1"), b.at("HEAD~1^1"), b.at("HEAD~1"), b.head()];
        assert!(before.iter().zip(&after).all(|(a, b)| a != b));
        let report = b.relink(4, &[]);
        b.expect(&[
            (&after[0], "failed", 1),
            (&after[1], "related", 0),
            (&after[2], "partial", 0),
            (&after[3], "fix", 2),
        ]);
        let how = |n: usize| report["links"][n]["matches"][0]["how"][0].clone();
        let hows: Vec<_> = (0..4).map(how).collect();
        assert_eq!(hows.iter().filter(|h| **h == "tree").count(), 2, "a merge and an empty commit: {hows:?}");
    }

    #[test]
    fn a_record_of_filter_repo_is_believed() {
        let b = Bench::without_hooks();
        let fix = b.attempt(2, "one", true);
        b.git(&["reset", "-q", "--hard", "HEAD~1"]);
        b.repo.write("kernel.cu", "nothing alike\n");
        b.git(&["commit", "-q", "-a", "-m", "nothing alike"]);
        let folder = b.repo.path().join(".git/filter-repo");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("commit-map"), format!("old new\n{fix} {}\n", b.head())).expect("written");
        b.relink(1, &[]);
        b.expect(&[(&b.head(), "fix", 1)]);
    }
}

mod what_is_not_certain {
    use super::*;

    #[test]
    fn one_change_in_two_commits_is_proposed_and_made_by_a_person() {
        let b = Bench::without_hooks();
        let base = b.head();
        let fix = b.attempt(2, "one", true);
        b.git(&["branch", "-q", "a", &base]);
        b.git(&["checkout", "-q", "-b", "b", &base]);
        b.repo.write("other.txt", "b\n");
        b.git(&["commit", "-q", "-a", "-m", "b"]);
        b.git(&["cherry-pick", &fix]);
        let on_b = b.head();
        b.git(&["checkout", "-q", "a"]);
        b.repo.write("other.txt", "a\n");
        b.git(&["commit", "-q", "-a", "-m", "a"]);
        b.git(&["cherry-pick", &fix]);
        b.git(&["branch", "-q", "-f", "main", &base]);
        let report = b.relink(0, &[]);
        assert_eq!(
            (&report["proposed"], &report["links"][0]["state"]),
            (&1.into(), &"proposed".into()),
            "{report:#}"
        );
        assert_eq!(report["links"][0]["matches"].as_array().expect("matches").len(), 2);
        b.expect(&[(&fix, "fix", 1)]);
        let text = b.repo.incident(&["relink"]).expect(0);
        text.says(&format!("git incident link {} --as fix -n 1 -i {}", &on_b[..12], &b.id[..12]));
    }

    #[test]
    fn the_same_words_of_the_same_author_propose() {
        let b = Bench::without_hooks();
        let fix = b.attempt(2, "one", true);
        let date = b.git(&["log", "-1", "--format=%aI"]);
        b.git(&["reset", "-q", "--hard", "HEAD~1"]);
        b.repo.write("kernel.cu", &FILE.replace("k2\n", "k2 resolved by hand\n"));
        b.git(&["commit", "-q", "-a", "-m", "one", "--date", &date]);
        let report = b.relink(0, &[]);
        let m = &report["links"][0]["matches"][0];
        assert_eq!(
            (&m["sure"], &m["how"][0], &m["action"]),
            (&"likely".into(), &"author".into(), &"proposed".into()),
            "{report:#}"
        );
        b.expect(&[(&fix, "fix", 1)]);
    }

    #[test]
    fn white_space_is_a_difference_and_nothing_is_invented() {
        let b = Bench::without_hooks();
        b.repo.write("x.py", "if x:\n    a()\n");
        b.repo.commit("py");
        b.repo.write("x.py", "if x:\n    a()\n    b()\n");
        let inside = b.repo.commit("inside");
        b.repo.incident(&["link", &inside, "--as", "fix"]).expect(0);
        b.git(&["reset", "-q", "--hard", "HEAD~1"]);
        b.repo.write("x.py", "if x:\n    a()\nb()\n");
        b.git(&["commit", "-q", "-a", "-m", "outside"]);
        let report = b.relink(0, &[]);
        assert_eq!((&report["unplaced"], &report["proposed"]), (&1.into(), &0.into()), "{report:#}");
        b.repo.incident(&["relink"]).expect(0).says("unplaced");
    }

    #[test]
    fn bad_ranges_and_names_are_refused() {
        let b = Bench::without_hooks();
        b.repo.incident(&["relink", "--range", "nowhere..HEAD"]).refuses(1);
        b.repo.incident(&["relink", "--range=--output=x"]).refuses(2);
        b.repo.incident(&["relink", "-i", "1234567"]).refuses(1);
        b.repo.incident(&["link", "HEAD", "--as", "fix", "--reverts", "HEAD"]).refuses(2);
        b.repo.incident(&["relink"]).expect(0).says("every link stands");
        let only = b.attempt(2, "one", true);
        let view = b.repo.incident_json(&["relink", "--range", "HEAD~1..HEAD"]);
        assert_eq!(view["links"], serde_json::json!([]), "{only} is where it is");
    }
}

mod what_was_taken_back {
    use super::*;
    use common::clones;

    #[test]
    fn stays_so_through_amend_rebase_pick_push_relink_and_repair() {
        let b = Bench::new();
        let base = b.head();
        b.git(&["checkout", "-q", "-b", "topic"]);
        let commit = b.change(2, "belongs to nothing");
        b.expect(&[(&commit, "related", 0)]);
        b.repo.incident(&["link", &commit, "--remove"]).expect(0);
        b.expect(&[]);
        b.git(&["commit", "-q", "--amend", "--no-edit"]);
        b.expect(&[]);
        b.git(&["commit", "-q", "--amend", "-m", "in other words"]);
        b.expect(&[]);
        b.repo.write("kernel.cu", &FILE.replace("k9\n", "something else\n"));
        b.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
        b.expect(&[]);
        b.git(&["checkout", "-q", "main"]);
        b.repo.write("other.txt", "moved on\n");
        b.plain("Somebody else's");
        b.git(&["checkout", "-q", "topic"]);
        b.git(&["rebase", "-q", "main"]);
        b.expect(&[]);
        b.git(&["checkout", "-q", "-b", "release", &base]);
        b.git(&["cherry-pick", "topic"]);
        b.expect(&[]);
        b.repo.with_remote();
        b.git(&["push", "-q", "origin", "main", "topic", "release"]);
        b.expect(&[]);
        b.relink(0, &[]);
        b.relink(0, &["--all"]);
        b.repo.incident(&["fsck", "--repair"]);
        b.expect(&[]);
        // A person may think again.
        b.repo.incident(&["link", "topic", "--as", "fix"]).expect(0);
        b.expect(&[(&b.at("topic"), "fix", 0)]);
    }

    #[test]
    fn stays_so_in_every_clone_whoever_hears_of_it_last() {
        let repo = clones::with_hub();
        repo.incident(&["init"]).expect(0);
        let id = repo.open("softmax gives NaN");
        repo.write("a", "one\n");
        let commit = repo.commit("made here");
        repo.git(&["push", "-q", "origin", "main"]);
        clones::sync(&repo.here(), &[]);
        let other = clones::clone(&repo, "other");
        clones::sync(&other, &[]);
        let links = |at: &common::Beside<'_>| {
            let view = at.incident_json(&["show", &id]);
            view["links"].as_array().expect("links").len()
        };
        assert_eq!(links(&other), 1);
        // Here it is taken back; there it is amended before anybody hears of that.
        repo.incident(&["link", &commit, "--remove", "-i", &id]).expect(0);
        other.incident(&["init"]).expect(0);
        other.git(&[
            "commit",
            "-q",
            "--amend",
            "-m",
            "made there",
            "-m",
            &format!("Incident: {}", &id[..12]),
        ]);
        assert_eq!(links(&other), 1);
        clones::sync(&repo.here(), &[]);
        clones::sync(&other, &[]);
        clones::sync(&repo.here(), &[]);
        for at in [&repo.here(), &other] {
            assert_eq!(links(at), 0);
            at.incident(&["relink", "--all", "--apply"]).expect(0);
            at.incident(&["fsck", "--repair"]);
            assert_eq!(links(at), 0);
            assert_eq!(
                at.run("git", &["log", "--all", "--format=%N", "--notes=incident-lines"])
                    .expect(0)
                    .stdout
                    .trim(),
                ""
            );
        }
    }
}

mod reverts {
    use super::*;

    impl Bench {
        fn fix_holds(&self) -> bool {
            let status = self.repo.incident_json(&["status"]);
            let attempt = &self.show()["attempts"][0];
            let fixed = attempt["outcome"]["bug"] == "fixed";
            assert_eq!(status["preconditions"]["fix"], fixed, "{status:#}");
            assert_eq!(attempt["reverted"].is_null(), fixed);
            fixed
        }
    }

    #[test]
    fn a_revert_turns_a_fix_into_a_failed_attempt_and_its_revert_turns_it_back() {
        let b = Bench::new();
        let fix = b.attempt(2, "mask it", true);
        assert!(b.fix_holds());
        b.git(&["revert", "--no-edit", "HEAD"]);
        let revert = b.head();
        assert!(!b.fix_holds());
        b.expect(&[(&fix, "fix", 1), (&revert, "revert", 1)]);
        b.repo.incident(&["status"]).expect(0).says(&format!(
            "the fix {} was reverted by {}",
            &fix[..12],
            &revert[..12]
        ));
        b.repo.incident(&["show"]).expect(0).says("reverted by");
        let note = b.git(&["log", "-1", "--format=%N", "--notes=incident-lines", &fix]);
        assert!(
            note.contains(&format!(": fix (attempt 1: mask it: told), reverted by {}", &revert[..12])),
            "{note}"
        );
        b.repo.incident(&["close", "--resolved"]).refuses(1).says("was reverted by");
        b.git(&["revert", "--no-edit", "HEAD"]);
        assert!(b.fix_holds());
        b.git(&["revert", "--no-edit", "HEAD"]);
        assert!(!b.fix_holds());
        b.git(&["revert", "--no-edit", "HEAD"]);
        assert!(b.fix_holds());
        b.repo.incident(&["close", "--resolved"]).expect(0);
    }

    #[test]
    fn several_in_one_message_and_through_a_rewrite() {
        let b = Bench::new();
        let one = b.attempt(2, "one", true);
        let two = b.attempt(8, "two", true);
        b.git(&["revert", "--no-commit", "HEAD", "HEAD~1"]);
        b.git(&[
            "commit",
            "-q",
            "-m",
            &format!("Back out\n\nThis reverts commit {one}.\nThis reverts commit {two}."),
        ]);
        assert!(!b.fix_holds());
        let reverted: Vec<bool> = b.show()["attempts"]
            .as_array()
            .expect("attempts")
            .iter()
            .map(|a| !a["reverted"].is_null())
            .collect();
        assert_eq!(reverted, [true, true]);
        // The message still names what a rebase has renamed.
        b.git(&["checkout", "-q", "-b", "topic"]);
        b.git(&[
            "commit",
            "-q",
            "--amend",
            "-m",
            &format!("In other words\n\nThis reverts commit {one}.\nThis reverts commit {two}."),
        ]);
        b.git(&["rebase", "-q", "--force-rebase", "--no-ff", "HEAD~3"]);
        assert_ne!(b.at("HEAD~2"), one);
        assert!(!b.fix_holds());
    }

    #[test]
    fn on_a_release_branch_only_the_copy_is_undone_until_the_revert_is_picked() {
        let b = Bench::new();
        let base = b.head();
        let fix = b.attempt(2, "mask it", true);
        b.git(&["checkout", "-q", "-b", "release", &base]);
        b.git(&["cherry-pick", "-x", &fix]);
        b.git(&["revert", "--no-edit", "HEAD"]);
        let revert = b.head();
        b.git(&["checkout", "-q", "main"]);
        // Attempt 1 has a fix that stands: the one on main.
        let view = b.show();
        assert_eq!(view["attempts"][0]["outcome"]["bug"], "fixed", "{:#}", view["links"]);
        b.git(&["cherry-pick", &revert]);
        assert!(!b.fix_holds());
        assert_eq!(b.links().iter().filter(|l| l.1 == "revert").count(), 2);
    }

    #[test]
    fn others_revert_without_hooks_and_status_sees_it_when_it_arrives() {
        let b = Bench::without_hooks();
        let fix = b.attempt(2, "mask it", true);
        assert!(b.fix_holds());
        let before = b.events();
        b.git(&["checkout", "-q", "-b", "theirs"]);
        b.git(&["revert", "--no-edit", "HEAD"]);
        b.git(&["checkout", "-q", "main"]);
        assert!(b.fix_holds(), "theirs is not merged");
        b.git(&["merge", "-q", "--no-ff", "-m", "Merge theirs", "theirs"]);
        assert!(!b.fix_holds());
        b.repo.incident(&["close", "--resolved"]).refuses(1);
        assert_eq!(b.events(), before, "looking writes nothing");
        b.relink(1, &[]);
        b.expect(&[(&fix, "fix", 1), (&b.at("theirs"), "revert", 1)]);
        assert!(!b.fix_holds());
        // A link by hand says what a message does not.
        b.git(&["commit", "-q", "--allow-empty", "-m", "Put it back"]);
        b.repo.incident(&["link", "HEAD", "--as", "revert", "--reverts", "theirs"]).expect(0);
        assert!(b.fix_holds());
    }
}

mod messages {
    use super::*;

    #[test]
    fn every_incident_that_a_squash_names_is_linked() {
        let b = Bench::new();
        let second = b.repo.open("another bug");
        let message = format!(
            "Both (!7)\n\n* first\n\nIncident: {}\n\n* second\n\nIncident: {}\nCo-authored-by: B <b@example.org>\n\n\
             See merge request group/name!7",
            &b.id[..12],
            &second[..12]
        );
        b.git(&["commit", "-q", "--allow-empty", "-m", &message]);
        let head = b.head();
        b.expect_in(&b.id, &head);
        b.expect_in(&second, &head);
        assert_eq!(b.repo.incident_json(&["show", &second])["links"][0]["pr"], "!7");
    }

    impl Bench {
        #[track_caller]
        fn expect_in(&self, id: &str, commit: &str) {
            let view = self.repo.incident_json(&["show", id]);
            assert_eq!(view["links"][0]["commit"], commit, "{:#}", view["links"]);
        }
    }

    #[test]
    fn gerrit_names_the_change() {
        let b = Bench::without_hooks();
        let change = format!("Change-Id: I{}", "ab".repeat(20));
        b.repo.write("kernel.cu", &FILE.replace("k2\n", "first patch set\n"));
        b.git(&["commit", "-q", "-a", "-m", &format!("Mask\n\n{change}")]);
        let first = b.head();
        b.repo.incident(&["link", &first, "--as", "fix"]).expect(0);
        b.git(&["reset", "-q", "--hard", "HEAD~1"]);
        b.repo.write("kernel.cu", &FILE.replace("k2\n", "second patch set, all other\n"));
        b.git(&["commit", "-q", "-a", "-m", &format!("Mask the tail\n\n{change}")]);
        b.relink(1, &[]);
        b.expect(&[(&b.head(), "fix", 0)]);
    }

    #[test]
    fn commits_made_without_hooks_are_linked_when_they_are_pushed() {
        let b = Bench::new();
        b.repo.with_remote();
        b.git(&["push", "-q", "origin", "main"]);
        let quiet = |message: &str| {
            b.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", message]);
            b.head()
        };
        let one = quiet(&format!("one\n\nIncident: {}", &b.id[..12]));
        quiet("nothing");
        let two = quiet(&format!("two\n\nThis reverts commit {one}."));
        b.expect(&[]);
        b.try_git(&["push", "origin", "main"], &[]).expect(0).says("2 link(s) made");
        b.expect(&[(&one, "related", 0), (&two, "revert", 0)]);
        b.try_git(&["push", "-f", "origin", "main~1:main"], &[]).expect(0).never_says("link(s) made");
    }
}
