//! Where hooks live in a repository, and who else claims that place.

use std::path::{Path, PathBuf};

use super::{Done, Event, config};
use crate::git::program::Git;
use crate::model::Result;

/// The place of the hooks.
#[derive(Debug)]
pub(super) struct Place {
    /// Where git looks for hook files.
    pub(super) directory: PathBuf,
    /// The directory that all worktrees share.
    pub(super) common_dir: PathBuf,
    /// The value of `core.hooksPath`, from whichever configuration.
    pub(super) hooks_path: Option<String>,
    top: Option<PathBuf>,
}

/// Asks git where the hooks of this repository are; a relative `core.hooksPath` is resolved as git
/// resolves it in this worktree.
pub(super) fn find(git: &Git) -> Result<Place> {
    let absolute = ["rev-parse", "--path-format=absolute"];
    let directory = git.call(absolute).args(["--git-path", "hooks"]).text()?;
    let common_dir = git.call(absolute).arg("--git-common-dir").text()?;
    let top = git.call(absolute).arg("--show-toplevel").output()?;
    let hooks_path = git.call(["config", "--get", "core.hooksPath"]).text_if_any()?;
    let top =
        top.success().then(|| PathBuf::from(String::from_utf8_lossy(&top.stdout).trim_end_matches('\n')));
    Ok(Place { directory: directory.into(), common_dir: common_dir.into(), hooks_path, top })
}

impl Place {
    /// Whether the directory is this repository's own: without `core.hooksPath`, or with one that
    /// points into the git directory. Others may be tracked, generated or shared.
    pub(super) fn may_write(&self) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.hooks_path.is_none() || real(&self.directory).starts_with(real(&self.common_dir))
    }

    /// The directories that may hold files of ours: also the one that git looked at before somebody
    /// set `core.hooksPath`.
    pub(super) fn own_directories(&self) -> Vec<PathBuf> {
        let mut directories = vec![self.common_dir.join("hooks")];
        if self.may_write() && !directories.contains(&self.directory) {
            directories.push(self.directory.clone());
        }
        directories
    }

    /// What a person has to add where we do not write.
    pub(super) fn manual(&self, event: Event, program: &str) -> Option<Done> {
        if self.may_write() {
            return None;
        }
        let (owner, folder) = if self.directory.ends_with(".husky/_") {
            // husky's own files; it runs the one of the same name a directory above.
            ("husky", self.directory.parent().unwrap_or(&self.directory))
        } else if self.directory.ends_with(".husky") {
            ("husky", self.directory.as_path())
        } else {
            ("core.hooksPath", self.directory.as_path())
        };
        let program = config::quote(program);
        let name = event.name();
        let end = if event.decides() { "exit $?" } else { ":" };
        let lines = format!(
            "if command -v {program} >/dev/null 2>&1; then {program} hook {name} \"$@\" || {end}; fi"
        );
        Some(Done::Manual { owner: owner.into(), path: folder.join(name), lines })
    }

    /// What the user should know about hook managers that write to the same files.
    pub(super) fn notes(&self, program: &str, events: &[Event]) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(path) = self.hooks_path.as_deref().filter(|_| !self.may_write()) {
            notes.push(format!(
                "core.hooksPath is `{path}`: git runs the hooks there and no others, so nothing was written"
            ));
        }
        let says = |word: &str| {
            events.iter().any(|event| {
                std::fs::read(self.directory.join(event.name()))
                    .is_ok_and(|text| String::from_utf8_lossy(&text).contains(word))
            })
        };
        let has = |names: &[&str]| {
            self.top.as_ref().is_some_and(|top| names.iter().any(|name| top.join(name).exists()))
        };
        if has(&[
            "lefthook.yml",
            "lefthook.yaml",
            "lefthook.toml",
            "lefthook.json",
            ".lefthook.yml",
            ".lefthook.yaml",
        ]) || says("lefthook")
        {
            let mut text = String::from(
                "lefthook writes its hook files anew and drops our block; to keep it, add to lefthook-local.yml:",
            );
            text.extend(events.iter().map(|event| stanza(*event, program)));
            notes.push(text);
        }
        if has(&[".pre-commit-config.yaml"]) {
            notes.push(
                "`pre-commit install` writes its hook files anew: run `git incident init` after it"
                    .to_owned(),
            );
        }
        if has(&[".overcommit.yml"]) || says("overcommit") {
            notes.push(
                "overcommit writes its hook files anew: run `git incident init` after `overcommit --install`"
                    .to_owned(),
            );
        }
        if says("git lfs") || says("git-lfs") {
            notes.push(
                "`git lfs install --force` writes its hook files anew: run `git incident init` after it"
                    .to_owned(),
            );
        }
        notes
    }
}

/// The lines for lefthook's own configuration.
fn stanza(event: Event, program: &str) -> String {
    let name = event.name();
    let input = if event.reads_stdin() { "\n      use_stdin: true" } else { "" };
    format!("\n{name}:\n  commands:\n    git-incident:\n      run: {program} hook {name} {{0}}{input}")
}
