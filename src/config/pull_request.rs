//! `[pr]`: defaults of the draft pull request.

use super::section::Section;
use super::values;

/// The section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PullRequest {
    /// `base`: the branch it asks to be merged into; without it, the remote's default branch.
    pub base: Option<String>,
    /// `labels` put on it.
    pub labels: Vec<String>,
    /// `reviewers`: people or `org/team` asked to look.
    pub reviewers: Vec<String>,
    /// `milestone` it is put into, by its title.
    pub milestone: Option<String>,
}

pub(super) fn read(mut section: Section<'_, '_>) -> PullRequest {
    let read = PullRequest {
        base: section.string("base"),
        labels: section.list("labels", values::text).unwrap_or_default(),
        reviewers: section.list("reviewers", values::text).unwrap_or_default(),
        milestone: section.string("milestone"),
    };
    if read.base.as_deref().is_some_and(|base| !is_branch_name(base)) {
        section.problem("base", "\"base\" in [pr] must be the name of a branch");
        section.hint("write it like \"main\", without refs/heads/");
    }
    section.finish();
    read
}

/// Git's own rules for names, as far as a name that becomes an argument must keep them.
fn is_branch_name(name: &str) -> bool {
    let forbidden = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    !name.starts_with(['-', '/', '.'])
        && !name.starts_with("refs/")
        && !name.ends_with(['/', '.'])
        && !name.contains("..")
        && !name.contains("//")
        && !name.contains("@{")
        && !name.chars().any(forbidden)
}
