//! A whole incident in a scratch repository: a softmax that overflows, an honest reference, two attempts that
//! fail and one that works. Everything is run for real, by the commands a person would type.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::git::program::Git;
use crate::model::{Error, Result};

/// A file of the scratch repository.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../templates/demo/", $name)))
    };
}

const FILES: [(&str, &str); 6] = [
    file!("softmax.awk"),
    file!("reference.awk"),
    file!("compare.awk"),
    file!("finite.awk"),
    file!("check.sh"),
    file!("inputs.txt"),
];
const CLAMPED: &str = include_str!("../../templates/demo/softmax-clamped.awk");
const SHIFTED: &str = include_str!("../../templates/demo/softmax-shifted.awk");

/// What the demo tells while it runs.
pub enum Tell<'a> {
    /// What happens next, in a sentence.
    Story(&'a str),
    /// A command, as a person would type it.
    Command(String),
    /// What it printed.
    Output(&'a str),
}

/// What the demo left.
pub struct Scene {
    /// The repository.
    pub path: PathBuf,
    /// The incident.
    pub incident: String,
    /// The post-mortem, from the top of the repository.
    pub postmortem: String,
    /// The text of the pull request.
    pub pull_request: String,
}

struct Stage<'t> {
    git: Git,
    path: PathBuf,
    tell: &'t dyn Fn(Tell<'_>),
}

/// Plays the demo into an empty or missing directory.
///
/// # Errors
/// The directory is not empty; git or awk is missing; a step did not go as it must.
pub fn play(directory: &Path, tell: &dyn Fn(Tell<'_>)) -> Result<Scene> {
    if std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::refused(format!("{} is not empty", directory.display()))
            .hint("name a new directory: git incident demo DIRECTORY"));
    }
    std::fs::create_dir_all(directory)?;
    let path = std::fs::canonicalize(directory)?;
    // Outside of the repository, as validation worktrees must be; gone when the demo ends.
    let aside = tempfile::tempdir()?;
    let stage = Stage { git: surroundings(&path, aside.path())?, path: path.clone(), tell };
    stage.set_the_scene()?;
    stage.open()?;
    stage.first_attempt()?;
    stage.second_attempt()?;
    stage.third_attempt()?;
    stage.prove_it()?;
    let (incident, postmortem, pull_request) = stage.write_it_down()?;
    Ok(Scene { path, incident, postmortem, pull_request })
}

/// git in the scratch repository, whatever the user's own configuration and environment say.
fn surroundings(path: &Path, aside: &Path) -> Result<Git> {
    let program = std::env::current_exe()?;
    let folder = program.parent().ok_or_else(|| Error::bug("a program without a directory"))?;
    if program.file_name().is_none_or(|n| n != "git-incident") {
        return Err(Error::refused(
            "the demo calls `git incident`, so the program must be named git-incident",
        )
        .hint("cargo install --path . installs it so"));
    }
    let mut search = vec![folder.to_path_buf()];
    search.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let search: OsString =
        std::env::join_paths(search).map_err(|e| Error::refused("PATH cannot be extended").because(e))?;
    let mut git = Git::at(path)
        .scrubbed()
        .env("PATH", search)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("XDG_CACHE_HOME", aside.join("cache"))
        .env("XDG_STATE_HOME", aside.join("state"))
        .env("GIT_EDITOR", "true")
        .env("NO_COLOR", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        git = git
            .env(format!("GIT_{role}_NAME"), "Demo Engineer")
            .env(format!("GIT_{role}_EMAIL"), "demo@example.org");
    }
    Ok(git)
}

impl Stage<'_> {
    fn set_the_scene(&self) -> Result<()> {
        self.story(
            "A softmax in awk, with a reference that takes another road, and a check that compares them.",
        );
        self.run(&["init", "--quiet", "--initial-branch=main"], 0)?;
        for (name, text) in FILES {
            self.write(name, text)?;
        }
        self.run(&["add", "."], 0)?;
        self.run(&["commit", "--quiet", "-m", "Add softmax with a reference and a check"], 0)?;
        self.run(&["incident", "init"], 0).map(|_| ())
    }

    fn open(&self) -> Result<()> {
        self.story("The check fails. An incident is opened, with the command that shows the bug, and its rate is measured.");
        self.run(
            &[
                "incident",
                "open",
                "softmax prints nan for large inputs",
                "--ticket",
                "DEMO-1",
                "--symptom",
                "sh check.sh: line 4, value 1: nan, the reference has 3.205860328008e-02",
                "--environment",
                "awk, IEEE double precision",
                "--file",
                "softmax.awk",
                "--file",
                "check.sh",
            ],
            0,
        )?;
        self.run(&["incident", "repro", "set", "--", "sh", "check.sh"], 0)?;
        self.run(&["incident", "repro", "run", "-n", "5", "--quiet"], 1)?;
        self.run(
            &[
                "incident",
                "difference",
                "set",
                "largest input",
                "--working",
                "40",
                "--broken",
                "1002",
                "--working-case",
                "lines 1 to 3",
                "--broken-case",
                "lines 4 and 5",
            ],
            0,
        )?;
        self.run(
            &[
                "incident",
                "difference",
                "set",
                "values in a line",
                "--working",
                "4",
                "--broken",
                "4",
                "--eliminated",
            ],
            0,
        )?;
        self.run(&["incident", "next", "add", "look for inputs that are no numbers"], 0)?;
        self.run(&["incident", "next", "add", "keep the argument of exp small"], 0)?;
        self.run(&["incident", "link", "HEAD", "--as", "offending"], 0).map(|_| ())
    }

    fn first_attempt(&self) -> Result<()> {
        self.story("First attempt: perhaps the input is bad. One line runs the disproof and records it.");
        self.run(
            &[
                "incident",
                "try",
                "-H",
                "the input file holds something that is no number",
                "--disproof",
                "every input is a finite number",
                "--failed",
                "-m",
                "every input is finite, so the nan is made by softmax itself",
                "--",
                "awk",
                "-f",
                "finite.awk",
                "inputs.txt",
            ],
            0,
        )?;
        self.run(&["incident", "next", "done", "1", "-m", "attempt 1"], 0).map(|_| ())
    }

    fn second_attempt(&self) -> Result<()> {
        self.story("Second attempt: clamp the inputs. The nan goes away, and the values are wrong.");
        self.run(
            &[
                "incident",
                "attempt",
                "start",
                "-H",
                "exp overflows above 709; clamping inputs at 700 avoids it",
                "--disproof",
                "a line with large inputs differs from the reference",
            ],
            0,
        )?;
        self.write("softmax.awk", CLAMPED)?;
        self.run(&["commit", "--quiet", "-a", "-m", "Clamp the inputs of softmax at 700"], 0)?;
        self.run(&["incident", "try", "--", "sh", "check.sh"], 1)?;
        self.run(
            &[
                "incident",
                "attempt",
                "end",
                "--failed",
                "-r",
                "no nan; line 4 gives 0.25 four times",
                "-m",
                "clamped inputs become equal, so their softmax is wrong",
                "--rules-out",
                "clamping at any constant",
            ],
            0,
        )
        .map(|_| ())
    }

    fn third_attempt(&self) -> Result<()> {
        self.story("Third attempt: subtract the largest input of the line first, which changes nothing in exact arithmetic.");
        self.run(
            &[
                "incident", "attempt", "start", "-H", "exp(x) overflows to inf before the division, and inf/inf is nan; exp(x - max) cannot overflow",
                "--disproof", "with the maximum subtracted, a large line still differs from the reference",
            ],
            0,
        )?;
        self.write("softmax.awk", SHIFTED)?;
        self.run(&["commit", "--quiet", "-a", "-m", "Subtract the maximum before exp in softmax"], 0)?;
        self.run(&["incident", "try", "--", "sh", "check.sh"], 0)?;
        self.run(
            &[
                "incident",
                "attempt",
                "end",
                "--worked",
                "-r",
                "0 of 20 values differ",
                "-m",
                "the overflow was the whole bug: shifted inputs agree with the reference everywhere",
            ],
            0,
        )?;
        self.run(&["incident", "next", "done", "2", "-m", "attempt 3"], 0).map(|_| ())
    }

    fn prove_it(&self) -> Result<()> {
        self.story(
            "The cause must account for every attempt, and the fix must pass as often as the rate asks for.",
        );
        self.run(
            &[
                "incident", "cause", "propose", "softmax.awk raises e to the raw input; above 709.78 a double overflows to inf, and inf/inf is nan",
                "--mechanism", "one infinite term makes the sum infinite, so every value of the line becomes inf/inf or 0",
            ],
            0,
        )?;
        self.run(
            &[
                "incident",
                "cause",
                "confirm",
                "--accounts",
                "1=finite inputs above 709.78 are enough to overflow",
                "--accounts",
                "2=clamping removes the overflow and with it the differences between the inputs",
                "--accounts",
                "3=with the maximum subtracted no argument of exp is above 0",
            ],
            0,
        )?;
        self.run(&["incident", "repro", "run", "-n", "5", "--at", "HEAD", "--quiet"], 0)?;
        self.run(&["incident", "close", "--resolved"], 0)?;
        self.run(&["incident", "status"], 0).map(|_| ())
    }

    fn write_it_down(&self) -> Result<(String, String, String)> {
        self.story("The post-mortem and the text of the pull request are made from what was recorded, and from nothing else.");
        let shown = self.json(&["incident", "show", "--json"])?;
        let incident = shown["incident"].as_str().unwrap_or_default().to_owned();
        self.run(
            &[
                "incident",
                "postmortem",
                "note",
                "slipped",
                "--reason",
                "ci-gap",
                "check.sh was never run on inputs above 709",
            ],
            0,
        )?;
        self.run(&["incident", "postmortem", "draft"], 0)?;
        let postmortem = "docs/postmortems/DEMO-1.md".to_owned();
        let text = std::fs::read_to_string(self.path.join(&postmortem))?;
        (self.tell)(Tell::Command(format!("cat {postmortem}")));
        (self.tell)(Tell::Output(&text));
        self.run(&["add", "docs"], 0)?;
        self.run(&["commit", "--quiet", "-m", "Add the post-mortem of DEMO-1"], 0)?;
        let pull_request = self.run(&["incident", "pr"], 0)?;
        self.story("And the history knows its attempts.");
        self.run(&["log", "--notes=incident-lines", "--format=%h %s%n%N"], 0)?;
        Ok((incident, postmortem, pull_request))
    }

    fn story(&self, text: &str) {
        (self.tell)(Tell::Story(text));
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        std::fs::write(self.path.join(name), text).map_err(|e| {
            Error::refused(format!("{} cannot be written", self.path.join(name).display())).because(e)
        })
    }

    /// Runs git with some arguments, shows it, and insists on its exit status.
    fn run(&self, arguments: &[&str], expected: i32) -> Result<String> {
        let mut line = vec!["git"];
        line.extend(arguments);
        (self.tell)(Tell::Command(crate::model::command_line::join(&line)));
        let output = self.git.call(arguments).writes().output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // A command that is tried prints before we say what was recorded; everything else talks first.
        let order = if arguments.contains(&"try") { [&printed, &said] } else { [&said, &printed] };
        for text in order {
            (self.tell)(Tell::Output(text));
        }
        if output.status == expected {
            return Ok(printed);
        }
        Err(Error::refused(format!(
            "the demo stopped: {} exited with {}, not {expected}",
            line.join(" "),
            output.status
        ))
        .because(said.lines().next().unwrap_or("it said nothing").to_owned())
        .hint("awk and sh are needed; look at the repository it left"))
    }

    fn json(&self, arguments: &[&str]) -> Result<serde_json::Value> {
        let text = self.git.call(arguments).bytes()?;
        serde_json::from_slice(&text).map_err(|e| Error::bug("a view is no JSON").because(e))
    }
}
