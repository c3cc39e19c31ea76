//! `[pre-push]`: what a push must show before it leaves the machine.

use std::time::Duration;

use super::glob::Glob;
use super::section::Section;
use super::values;

/// How strict the hook is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PushMode {
    /// A gate that failed or was not run refuses the push.
    #[default]
    Enforce,
    /// It is said, and the push goes on.
    Warn,
    /// Nothing is looked at.
    Off,
}

/// What happens to a gate whose device this machine lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unavailable {
    /// It stays pending; protected refs refuse the push.
    #[default]
    Defer,
    /// Every ref refuses the push.
    Block,
}

/// The section, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrePush {
    /// `mode`, by default enforce.
    pub mode: PushMode,
    /// `protected`: globs over full ref names, by default main and master.
    pub protected: Vec<String>,
    /// `unavailable`, by default defer.
    pub unavailable: Unavailable,
    /// `inline`: gates expected to need longer never run while a connection is held open; 60 s by default.
    pub inline: Duration,
    /// `sync`: whether the ledgers are synced with the remote of each push; off by default.
    pub sync: bool,
}

impl Default for PrePush {
    fn default() -> Self {
        Self {
            mode: PushMode::default(),
            protected: vec!["refs/heads/main".into(), "refs/heads/master".into()],
            unavailable: Unavailable::default(),
            inline: Duration::from_mins(1),
            sync: false,
        }
    }
}

impl PrePush {
    /// Is this full ref name protected?
    pub fn protects(&self, refname: &str) -> bool {
        self.protected.iter().any(|pattern| super::glob::matches(pattern, refname))
    }
}

pub(super) fn read(mut section: Section<'_, '_>) -> PrePush {
    let default = PrePush::default();
    let modes = [("enforce", PushMode::Enforce), ("warn", PushMode::Warn), ("off", PushMode::Off)];
    let unavailable = [("defer", Unavailable::Defer), ("block", Unavailable::Block)];
    let read = PrePush {
        mode: section.choice("mode", &modes).unwrap_or(default.mode),
        protected: section.list("protected", ref_pattern).unwrap_or(default.protected),
        unavailable: section.choice("unavailable", &unavailable).unwrap_or(default.unavailable),
        inline: section.duration("inline").unwrap_or(default.inline),
        sync: section.flag("sync").unwrap_or(default.sync),
    };
    section.finish();
    read
}

fn ref_pattern(pattern: &str) -> Result<String, String> {
    let pattern = values::text(pattern)?;
    // A branch's bare name would match nothing, and silently protect nothing.
    if !pattern.starts_with("refs/") {
        return Err(format!(
            "must be a full ref name like \"refs/heads/main\", not {}",
            values::shown(&pattern)
        ));
    }
    match Glob::new(&pattern) {
        Ok(_) => Ok(pattern),
        Err(why) => Err(format!("must be a glob, and {} {why}", values::shown(&pattern))),
    }
}
