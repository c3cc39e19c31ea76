//! The text of a draft pull request, made from the record: printed, never posted from here.

pub mod markers;
mod sections;
mod testing;

use crate::model::change::{ChangedFile, CommitFacts};
use crate::model::incident::Incident;
use crate::model::markdown;
use crate::report::codeowners::Developer;
use crate::report::standing::Standing;
use crate::report::workflows::Workflow;

pub use crate::model::markdown::{block as markdown_safe_block, line as markdown_safe};

/// The longest body in bytes: GitHub takes 65,536 and people add to it.
pub const LONGEST_BODY: usize = 60_000;

/// The longest title in characters.
const LONGEST_TITLE: usize = 72;

/// Everything a text is made from.
#[derive(Debug, Clone)]
pub struct PullRequestInput<'a> {
    /// The incident.
    pub incident: &'a Incident,
    /// What its record proves.
    pub standing: &'a Standing,
    /// Commits that fix it, newest last.
    pub fixes: &'a [CommitFacts],
    /// The diff, by file.
    pub changed: &'a [ChangedFile],
    /// Workflows that the change concerns.
    pub workflows: &'a [Workflow],
    /// People to ask.
    pub developers: &'a [Developer],
    /// Those who wrote the change together with the committer, as `Name <address>`.
    pub co_authors: &'a [String],
}

/// A title in one line, and a body in Markdown with trailers at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestText {
    /// The title, without a newline.
    pub title: String,
    /// The body, below [`LONGEST_BODY`] bytes, with a newline at its end.
    pub body: String,
}

/// How much of everything is shown.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Points of a list.
    items: usize,
    /// Characters of a point.
    line: usize,
    /// Characters of a longer text.
    block: usize,
}

/// From everything worth reading down to what fits whatever the record holds.
const LIMITS: [Limits; 5] = [
    limits(200, 600, 6_000),
    limits(100, 400, 4_000),
    limits(40, 250, 2_000),
    limits(15, 150, 1_000),
    limits(5, 80, 300),
];

const fn limits(items: usize, line: usize, block: usize) -> Limits {
    Limits { items, line, block }
}

/// Writes the text. The same input gives the same bytes.
pub fn text(input: &PullRequestInput<'_>) -> PullRequestText {
    let mut body = String::new();
    for limits in LIMITS {
        body = body_within(input, limits);
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
        .map(|f| f.subject.as_str())
        .filter(|s| !s.trim().is_empty());
    let line = markdown::one_line(subject.unwrap_or(&input.incident.title), 400);
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

fn body_within(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let mut body = String::new();
    for (heading, text) in [
        ("Summary", sections::summary(input, limits)),
        ("Root Cause", sections::root_cause(input, limits)),
        ("Changes", sections::changes(input, limits)),
        ("Performance Impact", sections::performance(input, limits)),
        ("Testing", testing::testing(input, limits)),
        ("Attempts Ruled Out", sections::attempts(input, limits)),
        ("Recommended CI Workflows", sections::workflows(input, limits)),
        ("Relevant Developers", sections::developers(input, limits)),
    ] {
        if !text.is_empty() {
            for part in ["## ", heading, "\n\n", &text, "\n\n"] {
                body.push_str(part);
            }
        }
    }
    body + &trailers(input, limits)
}

/// The last paragraph. The seed's line of `---` is not written before it: `git interpret-trailers` takes
/// one for the end of the message.
fn trailers(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let mut out = String::new();
    if let Some(id) = &input.incident.id {
        out = format!("Incident: {}\n", id.short());
    }
    for author in input.co_authors.iter().take(limits.items) {
        if let Some(line) = co_author(author) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

/// A trailer for `Name <address>`; `None` for what names nobody.
fn co_author(author: &str) -> Option<String> {
    let author = markdown::one_line(author, 200);
    let (name, address) = author.strip_suffix('>')?.split_once('<')?;
    let name = name.trim();
    // A trailer cannot be escaped, so what Markdown or a forge would act on is no name: `[bot]` is one.
    let named = !name.is_empty() && !name.contains(['<', '>', '`', '\\', '*', '&', '@', '|', '(', '!']);
    let reached = address.split_once('@').is_some_and(|(user, host)| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.+[]".contains(&b);
        !user.is_empty() && !host.is_empty() && user.bytes().chain(host.bytes()).all(plain)
    });
    (named && reached).then(|| format!("Co-authored-by: {name} <{address}>"))
}

#[cfg(test)]
mod tests;
