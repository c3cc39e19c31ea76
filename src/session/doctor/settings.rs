//! git's settings with the file they stand in, so that a command can take them out.

use std::path::{Path, PathBuf};

use super::quoted;
use crate::git::program::Git;
use crate::model::Result;

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// `system`, `global`, `local`, `worktree` or `command`.
    scope: String,
    /// The file, if it is one.
    file: Option<PathBuf>,
    /// Its full name; section and name in lower case.
    pub(super) key: String,
    /// The value; a name alone means true.
    pub(super) value: Option<String>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Settings {
    all: Vec<Setting>,
    own_file: Option<PathBuf>,
}

impl Settings {
    pub(super) fn read(git: &Git, common_dir: Option<&Path>) -> Result<Self> {
        let bytes = git
            .call(["config", "--list", "--includes", "-z", "--show-scope", "--show-origin"])
            .bytes_if_any()?
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let mut words = text.split('\0');
        let mut all = Vec::new();
        while let (Some(scope), Some(origin), Some(entry)) = (words.next(), words.next(), words.next()) {
            let (key, value) = match entry.split_once('\n') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => (entry, None),
            };
            let file = origin.strip_prefix("file:").map(|f| git.directory().join(f));
            all.push(Setting { scope: scope.to_owned(), file, key: key.to_owned(), value });
        }
        Ok(Self { all, own_file: common_dir.map(|d| d.join("config")) })
    }

    /// Those with a name.
    pub(super) fn named(&self, key: &str) -> Vec<&Setting> {
        // The name of a remote keeps its case; sections and last parts are in lower case here.
        let key = canonical(key);
        self.all.iter().filter(|s| canonical(&s.key) == key).collect()
    }

    /// The one in force.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        self.named(key).pop().map(|s| s.value.as_deref().unwrap_or("true"))
    }

    /// Those of remotes, with the remote's name and the last part of theirs.
    pub(super) fn of_remotes(&self) -> impl Iterator<Item = (&str, &str, &Setting)> {
        self.all.iter().filter_map(|s| {
            let (remote, name) = s.key.strip_prefix("remote.")?.rsplit_once('.')?;
            Some((remote, name, s))
        })
    }

    /// The remotes that have a URL.
    pub(super) fn remotes(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.of_remotes().filter(|(_, name, _)| *name == "url").map(|(remote, _, _)| remote).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The command that takes a setting out of the file where it stands.
    pub(super) fn unset(&self, setting: &Setting) -> String {
        if setting.scope == "command" {
            return "unset GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS".to_owned();
        }
        let start = format!("git config {}", self.place(setting));
        let key = quoted(&setting.key);
        match &setting.value {
            Some(value) => format!("{start} --fixed-value --unset-all {key} {}", quoted(value)),
            None => format!("{start} --unset-all {key}"),
        }
    }

    fn place(&self, setting: &Setting) -> String {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match &setting.file {
            // Also files that are included: only by its name is one of them changed.
            Some(file) if self.own_file.as_ref().is_none_or(|own| real(own) != real(file)) => {
                format!("--file {}", quoted(&real(file).to_string_lossy()))
            }
            _ => format!("--{}", setting.scope),
        }
    }
}

/// A name with its first and last part in lower case, as git compares them.
fn canonical(key: &str) -> String {
    match (key.split_once('.'), key.rsplit_once('.')) {
        (Some((section, _)), Some((rest, name))) if section.len() < rest.len() => {
            let middle = &rest[section.len()..];
            format!("{}{middle}.{}", section.to_ascii_lowercase(), name.to_ascii_lowercase())
        }
        _ => key.to_ascii_lowercase(),
    }
}

/// Whether a word of a configuration means yes.
pub(super) fn is_true(value: Option<&str>) -> bool {
    value.is_none_or(|v| !["false", "no", "off", "0", ""].iter().any(|no| v.eq_ignore_ascii_case(no)))
}
