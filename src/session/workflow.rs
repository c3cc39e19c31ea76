//! Ready files that a project copies from us: the workflow for continuous integration, written where the forge looks for
//! it, and the helper for gates of Python projects.

use std::path::Path;

use super::Session;
use crate::model::{Error, Result};

/// Where it goes, from the top of the working tree.
pub const PATH: &str = ".github/workflows/git-incident.yml";

/// The workflow itself.
pub const TEXT: &str = include_str!("../../templates/workflow-github.yml");

/// The helper for gates of Python projects.
pub const HELPER: &str = include_str!("../../templates/git_incident_gate.py");

/// Its usual name, which is that of the module.
pub const HELPER_NAME: &str = "git_incident_gate.py";

/// Writes the Python helper to a path (into it, when that is a folder); `false` when it stands there already.
///
/// # Errors
/// Another file stands there, or a link; a folder that cannot be written.
pub fn write_helper(path: &Path) -> Result<(std::path::PathBuf, bool)> {
    let path = if path.is_dir() { path.join(HELPER_NAME) } else { path.to_path_buf() };
    let shown = path.display();
    if std::fs::symlink_metadata(&path).is_ok_and(|m| !m.file_type().is_file()) {
        return Err(Error::refused(format!("{shown} is no regular file"))
            .hint("name another path: git incident init --python-helper PATH"));
    }
    match std::fs::read(&path) {
        Ok(old) if old == HELPER.as_bytes() => return Ok((path, false)),
        Ok(_) => {
            return Err(Error::refused(format!(
                "{shown} is there, and it is not the helper of this version"
            ))
            .hint(format!(
                "look at what is yours in it, then: rm {shown} && git incident init --python-helper"
            )));
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::refused(format!("{shown} cannot be read")).because(e)),
    }
    let write = || -> std::io::Result<()> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, HELPER)
    };
    write().map_err(|e| Error::refused(format!("{shown} cannot be written")).because(e))?;
    Ok((path, true))
}

impl Session {
    /// Writes the workflow; `false` when it stands there already.
    ///
    /// # Errors
    /// Another file stands there, or a link on the way; a bare repository; a disk that is full.
    pub fn write_workflow(&self) -> Result<bool> {
        let mut here = self.workdir()?;
        for part in PATH.split('/') {
            here.push(part);
            if std::fs::symlink_metadata(&here).is_ok_and(|m| m.file_type().is_symlink()) {
                return Err(Error::refused(format!("{} is a symbolic link", here.display()))
                    .because("the workflow is written into the repository itself, never through a link")
                    .hint("remove the link, or copy what git incident --json init --workflow prints"));
            }
        }
        match std::fs::read(&here) {
            Ok(old) if old == TEXT.as_bytes() => return Ok(false),
            Ok(_) => {
                return Err(Error::refused(format!(
                    "{PATH} is there, and it is not the one of this version"
                ))
                .hint(format!(
                    "look at what is yours in it, then: rm {PATH} && git incident init --workflow"
                )));
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(Error::refused(format!("{PATH} cannot be read")).because(e)),
        }
        let write = || -> std::io::Result<()> {
            if let Some(parent) = here.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&here, TEXT)
        };
        write().map_err(|e| Error::refused(format!("{PATH} cannot be written")).because(e))?;
        Ok(true)
    }
}
