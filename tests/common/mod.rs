//! A real repository for integration tests, in a scratch directory of its own.
//!
//! Nothing of the machine reaches it: its own `HOME` and XDG directories, no global or system git
//! configuration, one identity, fixed dates, `git-incident` first in `PATH`. Use it with
//! `mod common;` and `common::Repo::new()`; everything is removed when it is dropped.

#![allow(dead_code, reason = "each test program uses its own part of this")]
#![allow(unreachable_pub, reason = "`pub` says what the tests may use")]

pub mod clones;
pub mod emulator;
pub mod faults;
pub mod gates;
pub mod proven;
pub mod stranger;
pub mod tensors;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What one program said and how it ended.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The exit status; 128 plus the number of the signal that ended it.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    /// The same, after checking the exit status.
    #[track_caller]
    pub fn expect(self, status: i32) -> Self {
        assert_eq!(self.status, status, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// The same, after checking that this text is somewhere in what it said.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        let said = format!("{}\n{}", self.stdout, self.stderr);
        assert!(said.contains(text), "{text:?} is not in:\n{said}");
        self
    }

    /// The same, after checking that this text is nowhere in what it said.
    #[track_caller]
    pub fn never_says(self, text: &str) -> Self {
        let said = format!("{}\n{}", self.stdout, self.stderr);
        assert!(!said.contains(text), "{text:?} is in:\n{said}");
        self
    }

    /// The same, after checking that it is a refusal with this exit status as people need it: what, what to do,
    /// no panic.
    #[track_caller]
    pub fn refuses(self, status: i32) -> Self {
        let ran = self.expect(status);
        assert!(ran.stderr.contains("error: "), "no error in:\n{}", ran.stderr);
        assert!(ran.stderr.contains("hint: "), "no hint in:\n{}", ran.stderr);
        ran.never_says("panicked")
    }

    /// Standard output without its last line end.
    pub fn line(&self) -> &str {
        self.stdout.trim_end_matches('\n')
    }

    /// The one JSON object on standard output.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e} in:\n{}", self.stdout))
    }
}

/// A repository with its surroundings.
pub struct Repo {
    scratch: tempfile::TempDir,
    directory: PathBuf,
}

impl Repo {
    /// An empty repository on the branch `main`.
    pub fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let root = scratch.path().canonicalize().expect("the scratch directory");
        for folder in ["home", "bin", "cache", "state", "data", "config", "work"] {
            std::fs::create_dir(root.join(folder)).expect("a folder");
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_git-incident"), root.join("bin/git-incident"))
            .expect("a link to the program");
        let repo = Self { directory: root.join("work"), scratch };
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    /// The same surroundings, in another directory of the scratch area (a clone, a worktree).
    pub fn at(&self, directory: impl Into<PathBuf>) -> Beside<'_> {
        Beside { repo: self, directory: directory.into() }
    }

    /// The directory that holds everything: `home`, `bin`, `cache`, `state`, `work`.
    pub fn root(&self) -> PathBuf {
        self.scratch.path().canonicalize().expect("the scratch directory")
    }

    /// The working tree.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// A program in the working tree, with the isolated environment; nothing on its stdin.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.command_in(program, &self.directory)
    }

    fn command_in(&self, program: impl AsRef<OsStr>, directory: &Path) -> Command {
        let root = self.root();
        let mut path = OsString::from(root.join("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()));
        let mut command = Command::new(program);
        command
            .current_dir(directory)
            .env_clear()
            .env("PATH", path)
            .env("HOME", root.join("home"))
            .env("XDG_CACHE_HOME", root.join("cache"))
            .env("XDG_STATE_HOME", root.join("state"))
            .env("XDG_DATA_HOME", root.join("data"))
            .env("XDG_CONFIG_HOME", root.join("config"))
            .env("TMPDIR", std::env::temp_dir())
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Ada Tester")
            .env("GIT_AUTHOR_EMAIL", "ada@example.org")
            .env("GIT_COMMITTER_NAME", "Ada Tester")
            .env("GIT_COMMITTER_EMAIL", "ada@example.org")
            .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
            .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
            .stdin(Stdio::null());
        command
    }

    /// Runs a program in the working tree, whatever its exit status.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Ran {
        finish(self.command(program).args(arguments).output())
    }

    /// `git …` that must succeed; its standard output without the last line end.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        self.run("git", arguments).expect(0).line().to_owned()
    }

    /// `git …`, whatever its exit status.
    pub fn try_git(&self, arguments: &[&str]) -> Ran {
        self.run("git", arguments)
    }

    /// `git incident …` (through `git`, as people call it), whatever its exit status.
    pub fn incident(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["incident"];
        all.extend(arguments);
        self.run("git", &all)
    }

    /// `git incident --json …` that must succeed; its object.
    #[track_caller]
    pub fn incident_json(&self, arguments: &[&str]) -> serde_json::Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        self.incident(&all).expect(0).json()
    }

    /// `git incident …` as typed at a shell: words and quotes, no expansion. Whatever its exit status.
    pub fn typed(&self, line: &str) -> Ran {
        self.here().typed(line)
    }

    /// `git incident --json …` as typed at a shell, that must succeed; its object.
    #[track_caller]
    pub fn view(&self, line: &str) -> serde_json::Value {
        self.here().view(line)
    }

    /// Opens an incident and makes it the active one; its id.
    #[track_caller]
    pub fn open(&self, title: &str) -> String {
        let opened = self.incident_json(&["open", title]);
        opened["incident"].as_str().expect("an id").to_owned()
    }

    /// `git-incident try OPTIONS -- sh -c SCRIPT`, not through git: its own exit status and streams.
    pub fn try_sh(&self, options: &[&str], script: &str) -> Ran {
        let mut command = self.command("git-incident");
        command.arg("try").args(options).args(["--", "sh", "-c", script]);
        finish(command.output())
    }

    /// The newest recorded run of the active incident.
    #[track_caller]
    pub fn last_run(&self) -> serde_json::Value {
        let view = self.view("show");
        let own = view["notes"].as_array().into_iter().flatten();
        let attempts = view["attempts"].as_array().into_iter().flatten();
        let theirs = attempts.flat_map(|a| a["notes"].as_array().into_iter().flatten());
        let all = own.chain(theirs).filter(|n| !n["run"].is_null());
        let newest = all.max_by_key(|n| n["at"].as_str().expect("a time").to_owned());
        newest.expect("a run")["run"].clone()
    }

    /// Notes something on what is active.
    #[track_caller]
    pub fn note(&self, text: &str) {
        self.incident(&["attempt", "note", text]).expect(0);
    }

    /// A clone of the remote of [`Repo::with_remote`] with its notes fetched as `docs/STORAGE.md` says, not merged.
    #[track_caller]
    pub fn clone_of_remote(&self, name: &str) -> Beside<'_> {
        let clone = self.at(self.root().join(name));
        self.git(&[
            "clone",
            "-q",
            &self.root().join("origin.git").display().to_string(),
            &clone.directory.display().to_string(),
        ]);
        clone.fetch_notes();
        clone
    }

    /// Sends both travelling refs to the remote, as `docs/STORAGE.md` says.
    #[track_caller]
    pub fn push_notes(&self) {
        self.at(&self.directory).push_notes();
    }

    /// This repository itself, with what [`Beside`] can do.
    pub fn here(&self) -> Beside<'_> {
        self.at(&self.directory)
    }

    /// Writes a file below the working tree, with its directories.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.directory.join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        std::fs::write(path, text).expect("a file");
    }

    /// Reads a file below the working tree.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.directory.join(path)).expect(path)
    }

    /// Commits everything that is there; the commit's id.
    #[track_caller]
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A bare repository beside this one, as its remote `origin`; its path.
    pub fn with_remote(&self) -> PathBuf {
        let bare = self.root().join("origin.git");
        self.git(&["init", "-q", "--bare", "-b", "main", &bare.display().to_string()]);
        self.git(&["remote", "add", "origin", &bare.display().to_string()]);
        bare
    }
}

/// Another directory with the surroundings of a [`Repo`].
pub struct Beside<'r> {
    repo: &'r Repo,
    directory: PathBuf,
}

impl Beside<'_> {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// A program there, with the isolated environment; nothing on its stdin.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.repo.command_in(program, &self.directory)
    }

    /// `git incident --json …` there that must succeed; its object.
    #[track_caller]
    pub fn incident_json(&self, arguments: &[&str]) -> serde_json::Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        self.incident(&all).expect(0).json()
    }

    /// `git incident …` as typed at a shell: words and quotes, no expansion. Whatever its exit status.
    pub fn typed(&self, line: &str) -> Ran {
        let words = shlex::split(line).expect("a line that a shell would take");
        self.incident(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// `git incident --json …` as typed at a shell, that must succeed; its object.
    #[track_caller]
    pub fn view(&self, line: &str) -> serde_json::Value {
        self.typed(&format!("--json {line}")).expect(0).json()
    }

    /// Sends both travelling refs to the remote, as `docs/STORAGE.md` says.
    #[track_caller]
    pub fn push_notes(&self) {
        self.git(&["push", "-q", "origin", LEDGER, EVIDENCE]);
    }

    /// Fetches both travelling refs of the remote to a place of their own, as `docs/STORAGE.md` says.
    #[track_caller]
    pub fn fetch_notes(&self) {
        self.git(&["fetch", "-q", "origin", "+refs/notes/incidents*:refs/notes/remotes/origin/incidents*"]);
    }

    /// Unites what was fetched with what is here, by plain git, as `docs/STORAGE.md` says.
    #[track_caller]
    pub fn merge_notes(&self) {
        for name in ["incidents-evidence", "incidents"] {
            let theirs = format!("refs/notes/remotes/origin/{name}");
            self.git(&["notes", &format!("--ref={name}"), "merge", "-q", "-s", "cat_sort_uniq", &theirs]);
        }
    }

    /// Runs a program there, whatever its exit status.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Ran {
        finish(self.repo.command_in(program, &self.directory).args(arguments).output())
    }

    /// `git …` there that must succeed; its standard output without the last line end.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        self.run("git", arguments).expect(0).line().to_owned()
    }

    /// `git incident …` there, whatever its exit status.
    pub fn incident(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["incident"];
        all.extend(arguments);
        self.run("git", &all)
    }
}

/// The ref of the ledgers.
pub const LEDGER: &str = "refs/notes/incidents";

/// The ref of the evidence.
pub const EVIDENCE: &str = "refs/notes/incidents-evidence";

/// The texts of all notes of a `show --json` view, the incident's own and its attempts', sorted.
pub fn notes_in(view: &serde_json::Value) -> Vec<String> {
    let own = view["notes"].as_array().into_iter().flatten();
    let attempts = view["attempts"].as_array().into_iter().flatten();
    let theirs = attempts.flat_map(|a| a["notes"].as_array().into_iter().flatten());
    let mut texts: Vec<String> =
        own.chain(theirs).filter_map(|n| n["text"].as_str().map(str::to_owned)).collect();
    texts.sort();
    texts
}

/// Says on stderr that a check could not be made here: what is skipped must be seen to be skipped.
pub fn skipped(why: &str) {
    use std::io::Write;
    // Not eprintln!: the test harness would swallow it.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// What a finished program said.
#[track_caller]
pub fn finish(output: std::io::Result<Output>) -> Ran {
    use std::os::unix::process::ExitStatusExt;
    let output = output.expect("the program starts");
    let status = output.status;
    Ran {
        status: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
