//! The two programs that talk to the person: the pager and the editor git would use.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::program::Git;
use crate::model::{Error, Result};

/// Shows bytes in the user's pager, as git would; `false` when there is none (or it is `cat`).
pub fn page(bytes: &[u8]) -> bool {
    let Ok(pager) = Git::at(".").call(["var", "GIT_PAGER"]).text() else {
        return false;
    };
    let pager = pager.trim();
    if pager.is_empty() || pager == "cat" {
        return false;
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager).stdin(Stdio::piped());
    // What git sets for a user who has not chosen: quit when it fits, keep colours, leave the screen alone.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // A pager that was left early closes its end.
        let _ = input.write_all(bytes);
    }
    // 126 and 127: the shell could not start it, so nothing was shown.
    child.wait().is_ok_and(|status| !matches!(status.code(), Some(126 | 127)))
}

/// Lets the user edit a file in their editor, as `git commit` would.
///
/// # Errors
/// No editor, or it failed.
pub fn edit(path: &Path) -> Result<()> {
    let editor = Git::at(".").call(["var", "GIT_EDITOR"]).text()?;
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{} \"$@\"", editor.trim()))
        .arg("editor")
        .arg(path)
        .status()
        .map_err(|e| Error::refused("the editor could not be started").because(e))?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::refused("the editor failed")
            .because(status)
            .hint("choose another one: git config core.editor EDITOR"))
    }
}
