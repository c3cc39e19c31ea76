//! Hooks named in the configuration: git 2.54 and newer.

use super::{Event, Missing};
use crate::git::program::Git;
use crate::model::Result;

/// The friendly name of an event's section. A name equal to an event's is fatal for git.
pub(super) fn section(event: Event) -> String {
    format!("git-incident-{}", event.name())
}

/// The command of the section. git gives it to a shell and appends the arguments, so they must not
/// be named here.
pub(super) fn command(event: Event, missing: Missing, program: &str) -> String {
    let program = quote(program);
    let (status, word) = match missing {
        Missing::Block if event.decides() => (1, "refuses"),
        _ => (0, "was skipped"),
    };
    let name = event.name();
    format!(
        "command -v {program} >/dev/null 2>&1 || \
         {{ echo 'git incident is not installed: its {name} hook {word}' >&2; exit {status}; }}; {program} hook {name}"
    )
}

/// Writes the section; false when it was there already.
pub(super) fn add(git: &Git, event: Event, missing: Missing, program: &str) -> Result<bool> {
    // The command first: an event without a command is fatal for every hook of the repository.
    let wanted = [("command", command(event, missing, program)), ("event", event.name().to_owned())];
    let mut changed = false;
    for (key, value) in wanted {
        let key = format!("hook.{}.{key}", section(event));
        let now = git.call(["config", "--local", "--get-all", &key]).text_if_any()?;
        if now.as_deref() != Some(&value) {
            git.call(["config", "--local", "--replace-all", &key, &value]).writes().run()?;
            changed = true;
        }
    }
    Ok(changed)
}

/// Removes the section; false when there was none.
pub(super) fn remove(git: &Git, event: Event) -> Result<bool> {
    let name = section(event);
    if read(git, event)?.is_none() {
        return Ok(false);
    }
    git.call(["config", "--local", "--remove-section", &format!("hook.{name}")]).writes().run()?;
    Ok(true)
}

/// The command that the local configuration has for the event.
pub(super) fn read(git: &Git, event: Event) -> Result<Option<String>> {
    git.call(["config", "--local", "--get", &format!("hook.{}.command", section(event))]).text_if_any()
}

/// A word of a shell command; names that need no quotes stay readable.
pub(super) fn quote(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./+@:".contains(&byte);
    if word.bytes().all(plain) { word.to_owned() } else { format!("'{word}'") }
}
