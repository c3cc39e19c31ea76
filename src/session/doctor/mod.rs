//! `doctor`: what can go wrong without anybody noticing, why it matters, and the command that mends it.
//!
//! One file for each family of checks, all of them in `FAMILIES`. A family that cannot look says so; the others look
//! all the same, also where no session opens. Nothing is written, fetched or run but git, and the programs that
//! tell of GPUs.

mod clock;
mod configuration;
mod hooks;
mod identity;
mod ledger;
mod leftovers;
mod notes;
mod place;
mod remotes;
mod settings;

use std::path::{Path, PathBuf};

use super::Session;
use crate::git::program::Git;
use crate::model::{Error, Result};

use settings::Settings;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Events can be lost, or something does not work.
    Problem,
    /// Worth a look.
    Warn,
    /// It could not be told.
    Unknown,
    /// All is well.
    Ok,
}

impl Status {
    /// The word of the JSON view.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Problem => "problem",
            Self::Unknown => "unknown",
        }
    }
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name: a word that stays the same.
    pub check: &'static str,
    /// How it came out.
    pub status: Status,
    /// What there is.
    pub message: String,
    /// Why it matters; empty when all is well.
    pub why: &'static str,
    /// The shell command that mends it, to be run where `doctor` was.
    pub mend: Option<String>,
}

impl Check {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, status: Status::Ok, message: message.into(), why: "", mend: None }
    }

    fn new(check: &'static str, status: Status, message: impl Into<String>, why: &'static str) -> Self {
        Self { check, status, message: message.into(), why, mend: None }
    }

    fn warn(check: &'static str, message: impl Into<String>, why: &'static str) -> Self {
        Self::new(check, Status::Warn, message, why)
    }

    fn problem(check: &'static str, message: impl Into<String>, why: &'static str) -> Self {
        Self::new(check, Status::Problem, message, why)
    }

    fn mend(mut self, command: impl Into<String>) -> Self {
        self.mend = Some(command.into());
        self
    }
}

/// Everything a check may look at.
struct Scene {
    /// git, where the user is.
    git: Git,
    /// The repository, as it is; none where it does not open.
    session: Option<Session>,
    /// Why it does not.
    trouble: Option<Error>,
    /// git's settings, whichever file they stand in.
    settings: Settings,
    /// The directory that all worktrees share, if git knows it.
    common_dir: Option<PathBuf>,
    /// The top of the working tree, or the current directory.
    top: PathBuf,
    /// What hooks should call.
    program: String,
}

/// A family of checks.
type Family = fn(&Scene) -> Result<Vec<Check>>;

/// All of them, with the name under which a family says that it cannot look.
const FAMILIES: &[(&str, Family)] = &[
    ("repository", place::checks),
    ("identity", identity::checks),
    ("clock", clock::checks),
    ("remotes", remotes::checks),
    ("notes", notes::checks),
    ("hooks", hooks::checks),
    ("configuration", configuration::checks),
    ("ledger", ledger::checks),
    ("leftovers", leftovers::checks),
];

/// Looks at everything in the repository of a directory. `program` is what hooks should call.
///
/// # Errors
/// There is no repository at all, or no git.
pub fn examine(directory: &Path, program: &str) -> Result<Vec<Check>> {
    let git = Git::at(directory);
    git.version()?;
    let (session, trouble) = match Session::open_as_it_is() {
        Ok(session) => (Some(session), None),
        Err(error) => (None, Some(error)),
    };
    let absolute = |what: &str| {
        let call = git.call(["rev-parse", "--path-format=absolute", what]);
        call.output()
            .ok()
            .filter(crate::git::program::Output::success)
            .map(|o| PathBuf::from(String::from_utf8_lossy(&o.stdout).trim_end_matches('\n').to_owned()))
    };
    let common_dir = absolute("--git-common-dir");
    if let (None, None, Some(error)) = (&session, &common_dir, &trouble)
        && !error.to_string().contains("belongs to somebody else")
    {
        return Err(error.clone());
    }
    let scene = Scene {
        settings: Settings::read(&git, common_dir.as_deref())?,
        top: absolute("--show-toplevel").unwrap_or_else(|| directory.to_owned()),
        git,
        session,
        trouble,
        common_dir,
        program: program.to_owned(),
    };
    let mut all = Vec::new();
    for (name, family) in FAMILIES {
        match family(&scene) {
            Ok(checks) => all.extend(checks),
            Err(error) => all.push(Check::new(
                name,
                Status::Unknown,
                format!("it could not be told: {error}"),
                "a check that cannot look finds nothing",
            )),
        }
    }
    all.sort_by_key(|c| c.status);
    Ok(all)
}

/// A word of a shell command.
fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| "''".to_owned(), std::borrow::Cow::into_owned)
}

/// A path as a word of a shell command.
fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// What a repository that does not open leaves unsaid.
fn not_open(check: &'static str) -> Vec<Check> {
    vec![Check::new(
        check,
        Status::Unknown,
        "it could not be told: the repository does not open",
        "see the check of the repository",
    )]
}
