//! The text of a draft pull request, made from the record.
//!
//! | file | what it knows |
//! |---|---|
//! | [`template`] | the repository's own template: which headings we fill, where our block is safe |
//! | `fill` | what stands under those headings |
//! | `sections`, `table`, `testing`, `record` | the sections of our block |
//! | `trailers` | the last paragraph |
//! | [`markers`] | the lines around our block |
//! | [`boxes`], [`check`] | a description read back, and held against the record |
//! | [`html`] | the page that shows it as GitHub would |

pub mod boxes;
pub mod check;
mod fill;
pub mod gates;
pub mod html;
mod limits;
pub mod markers;
mod record;
mod sections;
mod table;
pub mod template;
mod testing;
mod trailers;

use crate::model::Oid;
use crate::model::change::{ChangedFile, CommitFacts};
use crate::model::incident::Incident;
use crate::model::markdown::{self, Place};
use crate::report::codeowners::Developer;
use crate::report::standing::Standing;
use crate::report::workflows::Workflow;

use gates::{CheckChange, GateLine};
use limits::{LADDER, Limits};
use template::Template;

pub use crate::model::markdown::{block as markdown_safe_block, line as markdown_safe};
pub use record::PostmortemLink;

/// The longest body in bytes: GitHub takes 65,536 and people add to it.
pub const LONGEST_BODY: usize = 60_000;

/// The longest title in characters.
const LONGEST_TITLE: usize = 72;

/// The commit that the request asks to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The commit.
    pub commit: Oid,
    /// Its tree: what records are held against.
    pub tree: Oid,
    /// Whether the fix that was validated is part of it.
    pub holds_fix: bool,
}

/// Everything a text is made from.
#[derive(Debug, Clone)]
pub struct PullRequestInput<'a> {
    /// The incident.
    pub incident: &'a Incident,
    /// What its record proves.
    pub standing: &'a Standing,
    /// The request's last commit; `None` when nobody looked.
    pub head: Option<Head>,
    /// Commits that fix it, newest last.
    pub fixes: &'a [CommitFacts],
    /// The diff, by file.
    pub changed: &'a [ChangedFile],
    /// What is known of each gate that is due at the head.
    pub gates: &'a [GateLine],
    /// What the change does to its own checks.
    pub check_changes: &'a [CheckChange],
    /// Workflows that the change concerns.
    pub workflows: &'a [Workflow],
    /// People to ask.
    pub developers: &'a [Developer],
    /// Those who wrote the change together with the request's author, as `Name <address>`.
    pub co_authors: &'a [String],
    /// Programs that acted for people in recorded attempts.
    pub agents: &'a [String],
    /// The post-mortem, as the head has it.
    pub postmortem: Option<PostmortemLink>,
    /// Where the ledger can be fetched from; empty when that is not known.
    pub notes_from: &'a str,
    /// The repository's own template.
    pub template: Option<&'a str>,
    /// What stands in a `release-note` block; `NONE` when left out.
    pub release_note: Option<&'a str>,
}

impl<'a> PullRequestInput<'a> {
    /// An incident and what its record proves, and nothing else yet.
    pub fn new(incident: &'a Incident, standing: &'a Standing) -> Self {
        Self {
            incident,
            standing,
            head: None,
            fixes: &[],
            changed: &[],
            gates: &[],
            check_changes: &[],
            workflows: &[],
            developers: &[],
            co_authors: &[],
            agents: &[],
            postmortem: None,
            notes_from: "",
            template: None,
            release_note: None,
        }
    }
}

/// A title in one line, and a body in Markdown with trailers at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestText {
    /// The title, without a newline.
    pub title: String,
    /// The body, below [`LONGEST_BODY`] bytes, with a newline at its end and our block between its markers.
    pub body: String,
}

/// Writes the text. The same input gives the same bytes.
pub fn text(input: &PullRequestInput<'_>) -> PullRequestText {
    let template = input.template.and_then(|source| Template::read(source).ok());
    let mut body = String::new();
    for limits in LADDER {
        body = body_within(input, template.as_ref(), limits, usize::MAX);
        if body.len() <= LONGEST_BODY {
            return PullRequestText { title: title(input), body };
        }
    }
    // Every list is as short as it gets: whole sections go, the least needed first.
    for sections in (1..SECTIONS).rev() {
        body = body_within(input, template.as_ref(), LADDER[LADDER.len() - 1], sections);
        if body.len() <= LONGEST_BODY {
            break;
        }
    }
    PullRequestText { title: title(input), body }
}

/// The subject of the fix that is judged (else of the newest), else the incident's title.
fn title(input: &PullRequestInput<'_>) -> String {
    let judged = input.standing.fix.as_ref().map(|f| &f.commit);
    let subject = input
        .fixes
        .iter()
        .rev()
        .find(|f| Some(&f.commit) == judged)
        .or(input.fixes.last())
        .map(|f| f.subject.clone())
        .filter(|s| !s.trim().is_empty());
    // The ledger's words may end in a commit message by a squash: there they must call nobody and close nothing.
    let line = subject.map_or_else(
        || markdown::line(&input.incident.title, 400, Place::Forge),
        |subject| markdown::one_line(&subject, 400),
    );
    if line.is_empty() {
        return "(untitled)".to_owned();
    }
    if line.chars().count() <= LONGEST_TITLE {
        return line;
    }
    let cut: String = line.chars().take(LONGEST_TITLE - 1).collect();
    // Between words, unless that would lose more than half of it.
    let end = cut.rfind(' ').filter(|end| *end > cut.len() / 2).unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end())
}

/// How many sections a block can have.
const SECTIONS: usize = 10;

fn block(
    input: &PullRequestInput<'_>,
    template: Option<&Template<'_>>,
    limits: Limits,
    most: usize,
) -> String {
    let told = template.is_some_and(Template::tells_summary);
    // In the order of reading, with the rank by which they stay when there is no room for all.
    let sections: [(usize, &str, String); SECTIONS] = [
        (1, if told { "Incident" } else { "Summary" }, sections::summary(input, limits, told)),
        (3, "Root Cause", sections::root_cause(input, limits)),
        (5, "Changes", sections::changes(input, limits)),
        (2, "Before and After", table::before_and_after(input, limits)),
        (6, "Performance Impact", sections::performance(input, limits)),
        (0, "Testing", testing::testing(input, limits)),
        (7, "Attempts Ruled Out", sections::attempts(input, limits)),
        (4, "Record", record::record(input, limits)),
        (8, "Recommended CI Workflows", sections::workflows(input, limits)),
        (9, "Relevant Developers", sections::developers(input, limits)),
    ];
    let left_out = sections.iter().filter(|(rank, _, text)| *rank >= most && !text.is_empty()).count();
    let mut block = String::new();
    for (_, heading, text) in sections.iter().filter(|(rank, _, text)| *rank < most && !text.is_empty()) {
        for part in ["## ", heading, "\n\n", text, "\n\n"] {
            block.push_str(part);
        }
    }
    if left_out > 0 {
        block.push_str(&format!("…and {left_out} more sections: `git incident show` has everything.\n"));
    }
    block
}

fn body_within(
    input: &PullRequestInput<'_>,
    template: Option<&Template<'_>>,
    limits: Limits,
    sections: usize,
) -> String {
    let block = markers::wrap(&block(input, template, limits, sections));
    let trailers = trailers::trailers(input, limits);
    let Some(template) = template else {
        return format!("{block}\n\n{trailers}");
    };
    let fills = fill::fills(input, template, limits);
    template.assemble(&fills, &block, &trailers)
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod template_tests;
#[cfg(test)]
mod tests;
