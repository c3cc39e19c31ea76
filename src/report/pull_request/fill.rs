//! What stands under the headings of the repository's own template.
//!
//! Short, and true for good: nothing updates what stands outside of our block, so figures and boxes are in it alone.

use super::PullRequestInput;
use super::limits::{Limits, join, list};
use super::sections::symptom;
use super::template::{Fills, Template, Topic};
use super::trailers;
use crate::model::status::CauseState;
use crate::model::{describe, markdown};

pub(super) fn fills(input: &PullRequestInput<'_>, template: &Template<'_>, limits: Limits) -> Fills {
    let incident = input.incident;
    let title = limits.line(&incident.title);
    let summary = join(&[title, symptom(input, limits)]);
    // With a heading for each, the symptom belongs to the problem.
    let problem = if template.asks(Topic::Summary) { symptom(input, limits) } else { summary.clone() };
    Fills {
        topics: vec![
            (Topic::Summary, summary),
            (Topic::Problem, problem),
            (Topic::Cause, cause(input, limits)),
            (Topic::Fix, list(input.fixes, limits.people.min(5), |fix| limits.line(&fix.subject))),
            (Topic::Testing, testing(input, limits)),
            (Topic::Ticket, limits.line(&incident.ticket)),
        ],
        note: note(input.release_note),
        trailer: trailers::incident(input),
    }
}

fn cause(input: &PullRequestInput<'_>, limits: Limits) -> String {
    match input.incident.cause() {
        Some(cause) if cause.state == CauseState::Confirmed && cause.rivals.is_empty() => {
            join(&[limits.line(&cause.text), limits.line(&cause.mechanism)])
        }
        _ => "Not confirmed when this was written; the generated part says where it stands.".to_owned(),
    }
}

fn testing(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let command = &input.incident.repro.command;
    let rest = "what was run, before and after, stands in the generated part under Before and After.";
    if command.is_empty() {
        return format!("{}{}", rest[..1].to_uppercase(), &rest[1..]);
    }
    format!("{} shows the bug; {rest}", limits.code(&describe::command(command)))
}

/// A release note that cannot leave its block.
fn note(text: Option<&str>) -> String {
    let text = markdown::clean(text.unwrap_or_default()).replace("```", "'''").replace("~~~", "---");
    let text: String = text.chars().take(2_000).collect();
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|l| !l.is_empty() && !l.contains("<!--")).collect();
    if lines.is_empty() { "NONE".to_owned() } else { lines.join("\n") }
}
