//! `post-commit`: a commit whose message names an incident, a linked commit that it was picked from, or one that it
//! undoes, is linked.

use std::path::Path;

use crate::model::Result;
use crate::model::status::Role;
use crate::session::Session;

use super::{Line, Say, Tone};

/// Links HEAD. During a rebase nothing happens: post-rewrite knows what became of what, and an aborted rebase leaves
/// nothing behind.
///
/// # Errors
/// The repository cannot be read or written; the commit is made all the same.
pub fn run(session: &Session, say: Say<'_>) -> Result<()> {
    if in_rebase(session.repo.git_dir()) {
        return Ok(());
    }
    let Some(head) = session.repo.head_commit()? else {
        return Ok(());
    };
    for (id, link) in session.link_new_commit(&head)? {
        let (short, id) = (head.short(), id.short());
        let line = match link.role {
            Role::Related => Line::new(Tone::Quiet, format!("{short} belongs to incident {id}")),
            Role::Revert => {
                let undone: Vec<&str> =
                    link.reverts.iter().map(super::super::model::id::Oid::short).collect();
                Line::new(Tone::Look, format!("{short} reverts {} of incident {id}", undone.join(", ")))
            }
            role => Line::new(Tone::Quiet, format!("{short} belongs to incident {id} as {role}")),
        };
        say(line);
    }
    Ok(())
}

/// Whether a rebase goes on in this worktree.
pub(super) fn in_rebase(git_dir: &Path) -> bool {
    ["rebase-merge", "rebase-apply"].iter().any(|name| git_dir.join(name).is_dir())
}
