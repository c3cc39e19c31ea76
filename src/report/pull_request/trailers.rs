//! The last paragraph: who else wrote it, and which incident it belongs to.

use super::PullRequestInput;
use super::limits::Limits;
use crate::model::markdown;

/// The last paragraph, `Incident:` last of all, so that it survives whatever a forge puts before it. The seed's
/// line of `---` is not written: `git interpret-trailers` takes one for the end of the message.
pub(super) fn trailers(input: &PullRequestInput<'_>, limits: Limits) -> String {
    let mut out = String::new();
    for agent in input.agents.iter().filter(|a| is_agent(a)).take(limits.people) {
        out.push_str(&format!("Assisted-by: {agent}\n"));
    }
    for line in input.co_authors.iter().filter_map(|a| co_author(a)).take(limits.commits) {
        out.push_str(&line);
        out.push('\n');
    }
    out + &incident(input)
}

/// The one trailer that matters most.
pub(super) fn incident(input: &PullRequestInput<'_>) -> String {
    input.incident.id.as_ref().map_or_else(String::new, |id| format!("Incident: {}\n", id.short()))
}

/// A program's name as it was recorded; anything else that stands there is not repeated.
fn is_agent(name: &str) -> bool {
    (1..=60).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./ ".contains(&b))
        && !name.ends_with(' ')
}

/// A trailer for `Name <address>`; `None` for what names nobody.
pub(super) fn co_author(author: &str) -> Option<String> {
    let author = markdown::one_line(author, 200);
    let (name, address) = author.strip_suffix('>')?.split_once('<')?;
    let name = name.trim();
    // A trailer cannot be escaped, so what Markdown or a forge would act on is no name: `[bot]` is one.
    let named = !name.is_empty() && !name.contains(['<', '>', '`', '\\', '*', '&', '@', '|', '(', '!', '#']);
    let reached = address.split_once('@').is_some_and(|(user, host)| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.+[]".contains(&b);
        !user.is_empty() && !host.is_empty() && user.bytes().chain(host.bytes()).all(plain)
    });
    (named && reached).then(|| format!("Co-authored-by: {name} <{address}>"))
}
