//! How a fact names where it comes from, and how ledger text is cut to size.

use crate::model::change::CommitFacts;
use crate::model::incident::{Attempt, Evidence, Incident};
use crate::model::markdown::{self, Place};
use crate::model::{EventId, Oid};

/// One line: the longest that still reads as one point of a list.
const LINE: usize = 400;

/// Several lines: a symptom may be a page of log; the evidence holds the rest.
const BLOCK: usize = 8_000;

pub(super) fn line(text: &str) -> String {
    markdown::line(text, LINE, Place::Document)
}

pub(super) fn block(text: &str) -> String {
    markdown::block(text, BLOCK, Place::Document)
}

/// An event, such as the one that set a symptom.
pub(super) fn event(id: Option<EventId>) -> String {
    id.map_or_else(|| "source unknown".to_owned(), |id| format!("event `{}`", id.short()))
}

/// An attempt, as a link to its heading.
pub(super) fn attempt(attempt: &Attempt) -> String {
    let n = attempt.ordinal;
    format!("[attempt {n}, `{}`](#attempt-{n})", attempt.started.event.short())
}

/// An attempt that an event names; its lines may be missing.
pub(super) fn attempt_named(incident: &Incident, id: EventId) -> String {
    incident.attempt(id).map_or_else(|| format!("attempt `{}` (its lines are missing)", id.short()), attempt)
}

/// A stored file.
pub(super) fn evidence(item: &Evidence) -> String {
    let key = item.oid.as_ref().map_or_else(
        || format!("sha256 {}", markdown::code(&item.sha256, 12)),
        |oid| format!("`{}`", oid.short()),
    );
    let name = markdown::code(&item.name, 120);
    let state = match (item.erased, item.redacted.len()) {
        (true, _) => ", erased",
        (false, 0) => "",
        (false, _) => ", secrets cut out",
    };
    format!("evidence {key} {name} ({} bytes{state})", item.bytes)
}

/// Evidence that an event names by its blob.
pub(super) fn evidence_named(incident: &Incident, oid: &Oid) -> String {
    incident
        .evidence
        .iter()
        .find(|e| e.oid.as_ref() == Some(oid))
        .map_or_else(|| format!("evidence `{}`", oid.short()), evidence)
}

/// A commit's short name, as a link where the forge that shows commits is known.
pub(super) fn commit_name(web: &str, commit: &Oid) -> String {
    let name = format!("`{}`", commit.short());
    if web.is_empty() { name } else { format!("[{name}]({web}/commit/{commit})") }
}

/// A pull request or issue; `#12` is a link where the forge is known, which sends issues on to where they are.
pub(super) fn pull_request(web: &str, text: &str) -> String {
    let number = text.trim().strip_prefix('#').filter(|n| !n.is_empty() && n.len() < 12);
    match number.filter(|n| !web.is_empty() && n.bytes().all(|b| b.is_ascii_digit())) {
        Some(number) => format!("[#{number}]({web}/pull/{number})"),
        None => line(text),
    }
}

/// A commit: name, subject, day, pull request.
pub(super) fn commit(web: &str, facts: &CommitFacts) -> String {
    let details: Vec<String> =
        [line(&facts.date), pull_request(web, &facts.pr)].into_iter().filter(|d| !d.is_empty()).collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    format!("commit {} {}{details}", commit_name(web, &facts.commit), line(&facts.subject))
}

/// Where a repository shows on the web, from the address it is fetched from: `https://github.com/OWNER/NAME`. Only
/// GitHub's addresses are known to have `/commit/` below that; user names and passwords are left out.
pub fn web_address(remote: &str) -> Option<String> {
    let rest = remote
        .strip_prefix("https://")
        .or_else(|| remote.strip_prefix("ssh://"))
        .or_else(|| remote.strip_prefix("git://"));
    let (host, path) = match rest {
        Some(rest) => rest.split_once('/')?,
        // As scp writes it.
        None => remote.split_once(':').filter(|(host, _)| host.contains('@'))?,
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
    if host != "github.com" && host != "ssh.github.com" {
        return None;
    }
    let path = path.trim_matches('/');
    let (owner, name) = path.strip_suffix(".git").unwrap_or(path).split_once('/')?;
    let plain = |t: &str| {
        !t.is_empty()
            && !matches!(t, "." | "..")
            && t.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    (plain(owner) && plain(name)).then(|| format!("https://github.com/{owner}/{name}"))
}

/// The first `most` of a list, and how many more there are.
pub(super) fn cut(mut items: Vec<String>, most: usize) -> Vec<String> {
    let more = items.len().saturating_sub(most);
    items.truncate(most);
    if more > 0 {
        items.push(format!("…and {more} more (`git incident show` has them)"));
    }
    items
}

/// A statement that ends like a sentence, whatever the text in it ends with.
pub(super) fn sentence(text: String) -> String {
    if text.ends_with(['.', '!', '?', '…', '|']) { text } else { text + "." }
}
