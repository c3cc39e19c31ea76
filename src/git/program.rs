//! The one way to run the `git` program: quiet, without a pager, without a terminal, in English.
//!
//! A process started by a hook inherits variables that tie every `git` below it to the repository
//! of the hook ([`LOCAL_VARIABLES`]). Whatever works on another repository, and every gate, must
//! run [`Git::scrubbed`].

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::model::{Error, Result};

/// The variables that `git rev-parse --local-env-vars` names, over all supported versions: they
/// describe one repository and must not leak into a process that works on another.
pub const LOCAL_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// The names of the variables to remove from the environment of a gate, or of a command that works
/// on another repository.
pub const fn scrubbed_environment() -> &'static [&'static str] {
    LOCAL_VARIABLES
}

/// A version of git, as far as it decides anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number, 0 where git gives none.
    pub patch: u32,
}

impl Version {
    /// The first version that runs hooks named in the configuration.
    pub const CONFIG_HOOKS: Self = Self::new(2, 54, 0);

    /// A version of three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Reads the output of `git version`, such as `git version 2.39.5 (Apple Git-154)`.
    pub fn parse(text: &str) -> Option<Self> {
        let word = text.strip_prefix("git version ")?.split_whitespace().next()?;
        let mut numbers = word.split('.').map(|part| {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            part[..digits].parse::<u32>().ok()
        });
        let major = numbers.next()??;
        let minor = numbers.next()??;
        Some(Self::new(major, minor, numbers.next().flatten().unwrap_or(0)))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Where and how to run `git`.
#[derive(Debug, Clone)]
pub struct Git {
    program: OsString,
    directory: PathBuf,
    repository: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    config: Vec<(String, String)>,
    environment: Vec<(OsString, OsString)>,
    scrubbed: bool,
    version: Option<Version>,
}

impl Git {
    /// `git` as it would run in that directory, in the caller's environment.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            program: "git".into(),
            directory: directory.into(),
            repository: None,
            work_tree: None,
            config: Vec::new(),
            environment: Vec::new(),
            scrubbed: false,
            version: None,
        }
    }

    /// Names the repository instead of having git look for it.
    #[must_use]
    pub fn git_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.repository = Some(path.into());
        self
    }

    /// Names the work tree instead of having git look for it.
    #[must_use]
    pub fn work_tree(mut self, path: impl Into<PathBuf>) -> Self {
        self.work_tree = Some(path.into());
        self
    }

    /// Removes the variables of [`scrubbed_environment`] from the environment of every call.
    #[must_use]
    pub fn scrubbed(mut self) -> Self {
        self.scrubbed = true;
        self
    }

    /// Passes `-c key=value` to every call.
    #[must_use]
    pub fn config(mut self, key: &str, value: impl Into<String>) -> Self {
        self.config.push((key.to_owned(), value.into()));
        self
    }

    /// Sets a variable for every call, after scrubbing.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Runs another `git` than the first one in PATH.
    #[must_use]
    pub fn program(mut self, program: impl Into<OsString>) -> Self {
        self.program = program.into();
        self
    }

    /// Takes this version for granted instead of asking the program.
    #[must_use]
    pub fn assume_version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// The same settings in another directory, where git looks for the repository itself.
    #[must_use]
    pub fn in_directory(&self, directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), repository: None, work_tree: None, ..self.clone() }
    }

    /// The directory the calls start in.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The version of the program.
    pub fn version(&self) -> Result<Version> {
        if let Some(version) = self.version {
            return Ok(version);
        }
        let text = self.call(["version"]).text()?;
        Version::parse(&text).ok_or_else(|| {
            Error::refused("cannot read the version of git").because(format!("it says `{text}`"))
        })
    }

    /// One call with these arguments, to be completed and run.
    pub fn call<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Call {
        let mut command = Command::new(&self.program);
        command.arg("-C").arg(&self.directory).arg("--no-pager");
        for (key, value) in &self.config {
            command.arg("-c").arg(format!("{key}={value}"));
        }
        if self.scrubbed {
            for name in scrubbed_environment() {
                command.env_remove(name);
            }
        }
        if let Some(path) = &self.repository {
            command.env("GIT_DIR", path);
        }
        if let Some(path) = &self.work_tree {
            command.env("GIT_WORK_TREE", path);
        }
        command.env("LC_ALL", "C");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let mut name = String::from("git");
        let mut named = false;
        for argument in arguments {
            let argument = argument.as_ref();
            // The message names the subcommand and leaves the rest to git's own words.
            if !named && !argument.to_string_lossy().starts_with('-') {
                name.push(' ');
                name.push_str(&argument.to_string_lossy());
                named = true;
            }
            command.arg(argument);
        }
        Call { command, name, input: None, progress: false, writes: false, may_ask: false }
    }
}

/// What one call of `git` left behind.
#[derive(Debug, Clone)]
pub struct Output {
    /// The exit status; 128 plus the number of the signal that ended it.
    pub status: i32,
    /// The bytes on standard output.
    pub stdout: Vec<u8>,
    /// The bytes on standard error, empty when they went straight to the user.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Whether git exited with 0.
    pub fn success(&self) -> bool {
        self.status == 0
    }
}

/// One call of `git`, not yet run.
#[derive(Debug)]
pub struct Call {
    command: Command,
    name: String,
    input: Option<Vec<u8>>,
    progress: bool,
    writes: bool,
    may_ask: bool,
}

impl Call {
    /// One more argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    /// What git reads on standard input; nothing unless given.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// Says that this call writes: git may then take the locks that are optional for readers.
    #[must_use]
    pub fn writes(mut self) -> Self {
        self.writes = true;
        self
    }

    /// Decides what the environment says about locks and terminals.
    fn settle(&mut self) {
        if !self.writes {
            self.command.env("GIT_OPTIONAL_LOCKS", "0");
        }
        if !self.may_ask {
            self.command.env("GIT_TERMINAL_PROMPT", "0");
        }
    }

    /// Lets git ask the user for credentials on the terminal.
    #[must_use]
    pub fn may_ask(mut self) -> Self {
        self.may_ask = true;
        self
    }

    /// Shows git's standard error (its progress) to the user instead of keeping it for the error.
    #[must_use]
    pub fn show_progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// Sets a variable for this call.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it, whatever its exit status.
    pub fn output(mut self) -> Result<Output> {
        self.settle();

        self.command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        self.command.stdout(Stdio::piped());
        self.command.stderr(if self.progress { Stdio::inherit() } else { Stdio::piped() });
        let mut child = self.command.spawn().map_err(|error| cannot_start(&self.name, &error))?;
        let input = self.input.take().unwrap_or_default();
        let pipe = child.stdin.take();
        let output = std::thread::scope(|scope| {
            // A second thread writes, so that a git that answers before it has read everything
            // cannot dead-lock with us; a git that stops reading early is not an error.
            if let Some(mut pipe) = pipe
                && !input.is_empty()
            {
                scope.spawn(move || {
                    let _ = pipe.write_all(&input);
                });
            }
            child.wait_with_output()
        })
        .map_err(|error| Error::refused(format!("lost the output of `{}`", self.name)).because(error))?;
        Ok(Output { status: exit_status(output.status), stdout: output.stdout, stderr: output.stderr })
    }

    /// Runs it, whatever its exit status, and hands over what it says on standard error as it comes.
    pub fn watched(mut self, each: &mut dyn FnMut(&[u8])) -> Result<Output> {
        use std::io::Read;
        self.settle();
        let mut child = self
            .command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| cannot_start(&self.name, &error))?;
        let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
        let (stdout, stderr) = std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                let mut bytes = Vec::new();
                if let Some(out) = &mut out {
                    let _ = out.read_to_end(&mut bytes);
                }
                bytes
            });
            let mut all = Vec::new();
            let mut buffer = [0; 4096];
            while let Some(Ok(n @ 1..)) = err.as_mut().map(|e| e.read(&mut buffer)) {
                each(&buffer[..n]);
                all.extend_from_slice(&buffer[..n]);
            }
            (reader.join().unwrap_or_default(), all)
        });
        let status = child
            .wait()
            .map_err(|error| Error::refused(format!("lost the end of `{}`", self.name)).because(error))?;
        Ok(Output { status: exit_status(status), stdout, stderr })
    }

    /// Runs it; anything but exit status 0 is an error with git's own words as the cause.
    pub fn bytes(self) -> Result<Vec<u8>> {
        let name = self.name.clone();
        let output = self.output()?;
        if output.success() { Ok(output.stdout) } else { Err(failure(&name, &output)) }
    }

    /// Like [`Call::bytes`], as text without its last line end; bytes that are no UTF-8 are replaced.
    pub fn text(self) -> Result<String> {
        let bytes = self.bytes()?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if text.ends_with('\n') {
            text.pop();
        }
        Ok(text)
    }

    /// Like [`Call::text`], but an exit status of 1 without a word means "there is none".
    pub fn text_if_any(self) -> Result<Option<String>> {
        Ok(self
            .bytes_if_any()?
            .map(|bytes| String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned()))
    }

    /// Like [`Call::bytes`], but an exit status of 1 without a word means "there is none".
    pub fn bytes_if_any(self) -> Result<Option<Vec<u8>>> {
        let name = self.name.clone();
        let output = self.output()?;
        match output.status {
            0 => Ok(Some(output.stdout)),
            1 if output.stderr.is_empty() => Ok(None),
            _ => Err(failure(&name, &output)),
        }
    }

    /// Runs it for its effect.
    pub fn run(self) -> Result<()> {
        self.bytes().map(drop)
    }

    /// The command itself, for the rare caller that connects it to another process.
    pub(super) fn into_command(mut self) -> Command {
        self.settle();

        self.command
    }
}

/// The error for a git that could not be started.
pub(super) fn cannot_start(name: &str, error: &std::io::Error) -> Error {
    let what = Error::refused(format!("cannot run `{name}`")).because(error);
    if error.kind() == std::io::ErrorKind::NotFound {
        what.hint("install git (2.39 or newer) and see that it is in PATH: `git version`")
    } else {
        what
    }
}

/// The error for a git that ended with another status than 0.
pub(super) fn failure(name: &str, output: &Output) -> Error {
    let text = String::from_utf8_lossy(&output.stderr);
    let mut error = Error::refused(format!("`{name}` failed with exit status {}", output.status));
    let mut lines = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(hint) = line.strip_prefix("hint: ") {
            error = error.hint(hint);
        } else if lines < 5 {
            error = error.because(line.trim().trim_start_matches("fatal: ").trim_start_matches("error: "));
            lines += 1;
        }
    }
    error
}

fn exit_status(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// The versions of git that tests compare: the first in PATH and the system's own, if there is one.
#[cfg(test)]
pub(crate) fn installed_for_tests() -> Vec<&'static str> {
    ["git", "/usr/bin/git"]
        .into_iter()
        .filter(|program| *program == "git" || Path::new(program).exists())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constant_names_every_variable_git_calls_local() {
        for program in installed_for_tests() {
            let text = Git::at("/").program(program).call(["rev-parse", "--local-env-vars"]).text().unwrap();
            for name in text.lines() {
                assert!(LOCAL_VARIABLES.contains(&name), "{program} has {name}");
            }
        }
    }

    #[test]
    fn versions_of_every_vendor_are_read() {
        let cases = [
            ("git version 2.47.3", Some(Version::new(2, 47, 3))),
            ("git version 2.39.5 (Apple Git-154)", Some(Version::new(2, 39, 5))),
            ("git version 2.54.0.rc1", Some(Version::new(2, 54, 0))),
            ("git version 2.54", Some(Version::new(2, 54, 0))),
            ("git version 2.45.1.windows.1", Some(Version::new(2, 45, 1))),
            ("git version next", None),
            ("2.47.3", None),
        ];
        for (text, version) in cases {
            assert_eq!(Version::parse(text), version, "{text}");
        }
        assert!(
            Version::new(2, 54, 0) >= Version::CONFIG_HOOKS && Version::new(2, 53, 9) < Version::CONFIG_HOOKS
        );
        assert!(Git::at("/").version().unwrap() >= Version::new(2, 30, 0));
    }

    #[test]
    fn a_failure_carries_the_words_of_git() {
        let error = Git::at("/nonexistent").call(["status"]).run().unwrap_err();
        assert_eq!(error.what(), "`git status` failed with exit status 128");
        assert!(error.causes()[0].contains("cannot change to"), "{error}");
    }

    #[test]
    fn a_missing_git_says_so() {
        let error = Git::at("/").program("git-that-is-not-there").call(["version"]).run().unwrap_err();
        assert_eq!(error.what(), "cannot run `git version`");
        assert!(error.hints()[0].contains("install git"));
    }

    #[test]
    fn much_input_and_much_output_do_not_dead_lock() {
        let lines = "word: value\n".repeat(400_000);
        let out = Git::at("/").call(["stripspace"]).stdin(lines.clone()).bytes().unwrap();
        assert_eq!(out.len(), lines.len());
        // This one exits without reading its input.
        assert!(Git::at("/").call(["version"]).stdin(lines).run().is_ok());
    }

    #[test]
    fn scrubbing_removes_what_a_hook_exports() {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::at(directory.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").scrubbed();
        git.call(["init", "-q", "x"]).writes().run().unwrap();
        let mut command = git.call(["rev-parse", "--git-dir"]).into_command();
        assert!(command.get_envs().any(|(name, value)| name == "GIT_DIR" && value.is_none()));
        assert!(command.output().is_ok());
    }
}
