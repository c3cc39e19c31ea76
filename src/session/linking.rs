//! Links between commits and attempts.

use super::Session;
use crate::event::{CommitLinked, CommitUnlinked};
use crate::git::diff;
use crate::model::incident::Incident;
use crate::model::status::Role;
use crate::model::{EventId, Oid, Result};
use crate::store::ledger::Draft;

impl Session {
    /// Everything it takes to find a commit again after a rewrite.
    ///
    /// # Errors
    /// The commit is not here.
    pub fn describe_commit(
        &self,
        commit: &Oid,
        role: Role,
        attempt: Option<EventId>,
    ) -> Result<CommitLinked> {
        let message = self.repo.message_of(commit)?;
        let subject = message.lines().next().unwrap_or_default().trim().to_owned();
        let pr = pull_request_of(&subject);
        Ok(CommitLinked {
            commit: commit.clone(),
            role,
            attempt,
            patch_id: diff::patch_id(&self.git(), commit.as_str())?.unwrap_or_default(),
            tree: Some(self.repo.tree_of(commit)?),
            subject,
            pr,
        })
    }

    /// Links a commit and writes its line.
    ///
    /// # Errors
    /// The commit is not here; the repository cannot be written.
    pub fn link_commit(
        &self,
        id: &Oid,
        commit: &Oid,
        role: Role,
        attempt: Option<EventId>,
    ) -> Result<Incident> {
        let before = self.incident(id)?;
        // As merely related, the post-commit hook links it before anybody has judged it.
        let loose = before.links_as(Role::Related).find(|l| l.commit == *commit);
        let linked = self.describe_commit(commit, role, attempt.or(loose.and_then(|l| l.attempt)))?;
        self.append(id, &[], |draft| add_link(draft, linked, loose.is_some()))?;
        let incident = self.incident(id)?;
        self.project_lines(&incident, std::slice::from_ref(commit))?;
        Ok(incident)
    }

    /// Takes a link back, and its line.
    ///
    /// # Errors
    /// The repository cannot be written.
    pub fn unlink_commit(&self, id: &Oid, commit: &Oid, role: Option<Role>) -> Result<Incident> {
        self.append(id, &[], |draft| draft.add(CommitUnlinked { commit: commit.clone(), role }))?;
        let incident = self.incident(id)?;
        self.project_lines(&incident, std::slice::from_ref(commit))?;
        Ok(incident)
    }
}

/// Adds a link; a role that says something replaces the one that says nothing.
///
/// # Errors
/// Data that may not stand in a ledger.
pub(super) fn add_link(draft: &mut Draft<'_>, linked: CommitLinked, loose: bool) -> Result<EventId> {
    if loose && linked.role != Role::Related {
        draft.add(CommitUnlinked { commit: linked.commit.clone(), role: Some(Role::Related) })?;
    }
    draft.add(linked)
}

/// The pull request a forge wrote into a squash subject: `Fix it (#123)`, or a merge's `Merge pull request #123 from …`.
pub fn pull_request_of(subject: &str) -> String {
    let digits = |text: &str| {
        let n = text.bytes().take_while(u8::is_ascii_digit).count();
        (n > 0).then(|| (text[..n].to_owned(), text[n..].to_owned()))
    };
    if let Some((number, _)) = subject.strip_prefix("Merge pull request #").and_then(digits) {
        return format!("#{number}");
    }
    match subject.rfind("(#").and_then(|at| digits(&subject[at + 2..])) {
        Some((number, rest)) if rest == ")" => format!("#{number}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::pull_request_of;

    #[test]
    fn finds_the_number_a_forge_wrote() {
        assert_eq!(pull_request_of("Fix softmax (#123)"), "#123");
        assert_eq!(pull_request_of("Merge pull request #7 from a/b"), "#7");
        assert_eq!(pull_request_of("Fix (#12) for real"), "");
        assert_eq!(pull_request_of("Fix (#)"), "");
    }
}
