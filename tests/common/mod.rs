//! A real repository for integration tests, in a scratch directory of its own.
//!
//! Nothing of the machine reaches it: its own `HOME` and XDG directories, no global or system git
//! configuration, one identity, fixed dates, `git-incident` first in `PATH`. Use it with
//! `mod common;` and `common::Repo::new()`; everything is removed when it is dropped.

#![allow(dead_code, reason = "each test program uses its own part of this")]
#![allow(unreachable_pub, reason = "`pub` says what the tests may use")]

pub mod gates;

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
        assert_eq!(
            self.status, status,
            "stdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }

    /// The same, after checking that this text is somewhere in what it said.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        let said = format!("{}\n{}", self.stdout, self.stderr);
        assert!(said.contains(text), "{text:?} is not in:\n{said}");
        self
    }

    /// Standard output without its last line end.
    pub fn line(&self) -> &str {
        self.stdout.trim_end_matches('\n')
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
        let repo = Self {
            directory: root.join("work"),
            scratch,
        };
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    /// The same surroundings, in another directory of the scratch area (a clone, a worktree).
    pub fn at(&self, directory: impl Into<PathBuf>) -> Beside<'_> {
        Beside {
            repo: self,
            directory: directory.into(),
        }
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
        let ran = self.incident(&all).expect(0);
        serde_json::from_str(&ran.stdout).expect("one JSON object on stdout")
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
    /// Runs a program there, whatever its exit status.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Ran {
        finish(
            self.repo
                .command_in(program, &self.directory)
                .args(arguments)
                .output(),
        )
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

/// What a finished program said.
#[track_caller]
pub fn finish(output: std::io::Result<Output>) -> Ran {
    use std::os::unix::process::ExitStatusExt;
    let output = output.expect("the program starts");
    let status = output.status;
    Ran {
        status: status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
