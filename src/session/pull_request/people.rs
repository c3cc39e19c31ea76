//! Who wrote a change, who owns what it touches, and what ran with them.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::Session;
use super::super::documents::Range;
use crate::git::diff::{self, BlameLimits};
use crate::git::program::Git;
use crate::model::incident::Incident;
use crate::model::{Oid, Result};
use crate::report::codeowners::{self, Codeowners};

/// How many files are looked at for the people who know their lines: each costs a run of `git blame`.
const BLAMED: BlameLimits = BlameLimits { files: 6, hunks: 16 };

/// The people who wrote the lines that the change replaces, with their lines.
pub(super) fn authors_of_lines(git: &Git, range: &Range) -> Vec<(String, u32)> {
    let Some(base) = &range.base else { return Vec::new() };
    diff::log_authors_of_lines(git, base.as_str(), range.tip.as_str(), BLAMED)
        .unwrap_or_default()
        .into_iter()
        .map(|a| (a.name, u32::try_from(a.lines).unwrap_or(u32::MAX)))
        .collect()
}

/// Programs that acted for people in attempts, each once.
pub(super) fn agents(incident: &Incident) -> Vec<String> {
    let named = incident.attempts.iter().filter_map(|a| a.started.by.as_ref()).map(|by| by.agent.trim());
    named.filter(|agent| !agent.is_empty()).map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

impl Session {
    /// The CODEOWNERS file of a commit.
    pub(super) fn owners_at(&self, commit: &Oid) -> Codeowners {
        codeowners::PLACES
            .iter()
            .find_map(|place| self.repo.file_at(commit, place).ok().flatten())
            .map(|bytes| Codeowners::parse(&bytes))
            .unwrap_or_default()
    }

    /// The workflow files of a commit.
    pub(super) fn workflow_files(&self, commit: &Oid) -> Result<Vec<(String, Vec<u8>)>> {
        const FOLDER: &str = ".github/workflows";
        let mut files = Vec::new();
        for name in self.repo.folder_at(commit, FOLDER)?.files {
            let is_yaml = Path::new(&name).extension().is_some_and(|e| e == "yml" || e == "yaml");
            let path = format!("{FOLDER}/{name}");
            if is_yaml && let Some(bytes) = self.repo.file_at(commit, &path)? {
                files.push((path, bytes));
            }
        }
        Ok(files)
    }

    /// People with commits of the change, or attempts of the incident, other than the one who makes the text:
    /// `Name <address>`, each once.
    pub(super) fn co_authors(&self, incident: &Incident, range: &Range) -> Result<Vec<String>> {
        const FORMAT: &str =
            "--format=%aN%x00%aE%x00%(trailers:key=Co-authored-by,valueonly,unfold,separator=%x01)";
        let commits = match &range.base {
            Some(base) => format!("{base}..{}", range.tip),
            None => format!("{0}^!", range.tip),
        };
        let settled =
            ["--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8", "--max-count=1000"];
        let log =
            self.git().call(["log", "-z", FORMAT]).args(settled).args([commits.as_str(), "--"]).bytes()?;
        let mut people: Vec<(String, String)> = Vec::new();
        let mut fields = log.split(|b| *b == 0).map(|f| String::from_utf8_lossy(f).trim().to_owned());
        while let (Some(name), Some(address), Some(others)) = (fields.next(), fields.next(), fields.next()) {
            people.push((name, address));
            people.extend(others.split('\u{1}').filter_map(|other| {
                let (name, address) = other.trim().strip_suffix('>')?.split_once('<')?;
                Some((name.trim().to_owned(), address.trim().to_owned()))
            }));
        }
        let of_attempts = incident.attempts.iter().filter_map(|a| a.started.by.as_ref());
        people.extend(of_attempts.map(|by| (by.name.clone(), by.email.clone())));
        let me = self.author().ok();
        // Another address of the same name is the same person often enough, and nobody is to be named twice.
        let mut names: BTreeSet<String> = me.iter().map(|m| m.name.to_lowercase()).collect();
        let mut addresses: BTreeSet<String> = me.iter().map(|m| m.email.to_lowercase()).collect();
        people.sort();
        people.retain(|(name, address)| {
            !address.is_empty()
                && names.insert(name.to_lowercase())
                && addresses.insert(address.to_lowercase())
        });
        Ok(people.into_iter().map(|(name, address)| format!("{name} <{address}>")).collect())
    }
}
