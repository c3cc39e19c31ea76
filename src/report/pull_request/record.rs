//! Where the record is: the post-mortem, the ledger, the evidence, and how to get at them.

use super::PullRequestInput;
use super::limits::{Limits, list};
use super::sections::folded;
use crate::model::incident::Evidence;
use crate::model::{describe, markdown};

/// The post-mortem of an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostmortemLink {
    /// Its path from the top of the repository.
    pub path: String,
    /// Whether the head has it.
    pub at_head: bool,
    /// The address of the file at the head; empty when the forge is not known.
    pub url: String,
}

pub(super) fn record(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let incident = input.incident;
    let mut lines = Vec::new();
    if let Some(link) = &input.postmortem {
        lines.push(postmortem(link, input));
    }
    if let Some(id) = &incident.id {
        let id = id.short();
        lines.push(format!("Everything that was recorded: `git incident show {id}`"));
        if !input.notes_from.is_empty() {
            let fetch = format!("git incident sync --incident {id} {}", input.notes_from);
            lines.push(format!("Not in your clone yet: {}", markdown::code(&fetch, 400)));
        }
    }
    // Snapshots of a dirty tree belong to attempts; whoever reviews wants logs, profiles, tensors.
    let shown: Vec<&Evidence> = incident
        .evidence
        .iter()
        .filter(|e| !e.erased && e.oid.is_some() && e.kind != "diff" && e.kind != "untracked")
        .rev()
        .collect();
    let mut text = lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n");
    if !shown.is_empty() {
        let files = list(&shown, limits.evidence, |e| {
            let oid = e.oid.as_ref().map_or("", |oid| oid.short());
            format!(
                "{} ({}, {} bytes): `git incident evidence show {oid}`",
                limits.code(&e.name),
                limits.line(&e.kind),
                e.bytes
            )
        });
        let count = shown.len();
        let summary = if count == 1 { "1 stored file".to_owned() } else { format!("{count} stored files") };
        text.push_str("\n\n");
        text.push_str(&folded(&summary, &files));
    }
    text.trim_start().to_owned()
}

fn postmortem(link: &PostmortemLink, input: &PullRequestInput<'_>) -> String {
    let path = markdown::code(&link.path, 400);
    if !link.at_head {
        return format!("Post-mortem: drafted as {path}, which this change does not hold");
    }
    match (&input.head, link.url.is_empty()) {
        (_, false) => format!("Post-mortem: [{path}]({})", link.url),
        (Some(head), true) => {
            let show =
                vec!["git".to_owned(), "show".to_owned(), format!("{}:{}", head.commit.short(), link.path)];
            format!("Post-mortem: {path} ({})", markdown::code(&describe::command(&show), 400))
        }
        _ => format!("Post-mortem: {path}"),
    }
}
