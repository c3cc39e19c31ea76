//! `commit-msg`: the active incident and attempt become trailers, and trailers that name nothing are noticed.

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::git::trailers::{self, Added, Cleanup};
use crate::model::id::is_lower_hex;
use crate::model::status::Status;
use crate::model::{Kind, Result};
use crate::session::Session;
use crate::session::locate::SHORTEST_PREFIX;

use super::post_commit::in_rebase;
use super::{Line, Say, Tone};

pub use crate::links::message::{ATTEMPT, INCIDENT};

/// Checks and completes the message in a file. Returns the exit status: anything but 0 ends the commit.
///
/// # Errors
/// The file cannot be read or written; git is in trouble. The commit may go on.
pub fn run(session: &Session, arguments: &[String], say: Say<'_>) -> Result<i32> {
    let Some(file) = arguments.first().map(PathBuf::from) else {
        return Err(crate::model::Error::usage("commit-msg needs the message's file"));
    };
    let message = std::fs::read(&file)?;
    let active = session.active();
    let mentions = has_word(&message, b"incident:");
    if active.incident.is_none() && !mentions {
        return Ok(0);
    }
    let editor = std::env::var_os("GIT_EDITOR");
    let edited = Cleanup::edited(editor.as_deref().map(OsStr::new)) || ends_with_help(&message);
    let comment = session.repo.config_string("core.commentString");
    let comment = comment.or_else(|| session.repo.config_string("core.commentChar"));
    let there = if mentions {
        trailers::values(&message, marker(edited, comment.as_deref()), INCIDENT)
    } else {
        Vec::new()
    };
    let mut named = None;
    for value in &there {
        match session.incident_id(Some(value)) {
            Ok(id) => named = named.or(Some(id)),
            Err(error) => {
                let certain = looks_like_ours(value);
                let tone = if certain { Tone::Bad } else { Tone::Look };
                say(Line::new(tone, format!("{INCIDENT}: {value} names no incident here")));
                for cause in error.causes() {
                    say(Line::new(Tone::Plain, format!("  {cause}")));
                }
                if let Some(id) = active.incident.as_ref().filter(|_| certain) {
                    say(Line::new(Tone::Look, format!("  the active one is {}", id.short())));
                }
                for hint in error.hints() {
                    say(Line::new(Tone::Look, format!("  hint: {hint}")));
                }
                if certain {
                    say(Line::new(Tone::Look, format!("  your message is kept in {}", file.display())));
                    return Ok(Kind::Refused.exit_code());
                }
            }
        }
    }
    let Some(id) = active.incident else { return Ok(0) };
    // Somebody has said which incident it is for; and a rebase rewrites what was committed for another.
    let other = !there.is_empty() && named.as_ref() != Some(&id);
    if other || in_rebase(session.repo.git_dir()) {
        return Ok(0);
    }
    let Ok(incident) = session.incident(&id) else {
        say(Line::new(
            Tone::Look,
            format!("the active incident {} is not here; no trailer was added", id.short()),
        ));
        return Ok(0);
    };
    // The investigation is over; what is committed now is about something else.
    if *incident.status != Status::Open {
        return Ok(0);
    }
    let ticket = incident.ticket.trim();
    let name =
        if ticket.is_empty() || !fits_a_trailer(ticket) { id.short().to_owned() } else { ticket.to_owned() };
    let attempt =
        active.attempt.filter(|event| incident.attempt(*event).is_some()).map(|event| event.short());
    let mut wanted: Vec<(&str, &str)> = Vec::new();
    if there.is_empty() {
        wanted.push((INCIDENT, &name));
    }
    let has_attempt = has_word(&message, b"attempt:")
        && !trailers::values(&message, marker(edited, comment.as_deref()), ATTEMPT).is_empty();
    if let Some(attempt) = attempt.as_deref().filter(|_| !has_attempt) {
        wanted.push((ATTEMPT, attempt));
    }
    if wanted.is_empty() {
        return Ok(0);
    }
    let mode = session.repo.config_string("commit.cleanup");
    let template = session.repo.config_string("commit.template").and_then(|path| std::fs::read(path).ok());
    let cleanup = Cleanup {
        comment: comment.as_deref(),
        mode: mode.as_deref(),
        editor: edited,
        template: template.as_deref(),
    };
    match trailers::add_trailers(&session.git(), &file, &cleanup, &wanted)? {
        Added::Added | Added::Present => {}
        Added::Skipped(reason) => {
            say(Line::new(Tone::Quiet, format!("no trailer for incident {name}: {}", reason.reason())));
        }
    }
    Ok(0)
}

/// Whether a ticket's key, which may be a stranger's, is one line that every terminal shows as it is.
fn fits_a_trailer(ticket: &str) -> bool {
    ticket.len() <= 200 && !ticket.chars().any(crate::model::markdown::is_unseen)
}

/// What begins a comment in this message; nothing does when nobody edits it.
fn marker(edited: bool, configured: Option<&str>) -> &str {
    match configured {
        _ if !edited => "\u{1}",
        Some(text) if !text.is_empty() && !text.eq_ignore_ascii_case("auto") => text,
        _ => "#",
    }
}

/// Whether git's own comments end the message. Somebody may have `:` as the editor on purpose, and only these
/// comments then show that `#` lines will be cut.
fn ends_with_help(message: &[u8]) -> bool {
    let text = String::from_utf8_lossy(message);
    let block: Vec<&str> = text.trim_end().lines().rev().take_while(|line| line.starts_with('#')).collect();
    block.contains(&"#")
        && block.iter().all(|line| *line == "#" || line.starts_with("# ") || line.starts_with("#\t"))
}

/// Whether a value can only be an id of ours: digits of one, and enough of them.
fn looks_like_ours(value: &str) -> bool {
    (SHORTEST_PREFIX..=64).contains(&value.len())
        && is_lower_hex(value)
        && value.bytes().any(|b| b.is_ascii_digit())
}

fn has_word(message: &[u8], word: &[u8]) -> bool {
    message.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_of_git_is_known_from_numbers_of_issues() {
        assert!(ends_with_help(b"Subject\n\n# Please enter\n#\n# On branch main\n#\tnew file: a\n"));
        assert!(!ends_with_help(b"Subject\n\n#12\n#13\n"));
        assert!(!ends_with_help(b"Subject\n\n# Heading\n"));
        assert!(!ends_with_help(b""));
    }

    #[test]
    fn words_and_tickets_are_not_ids() {
        assert!(looks_like_ours("0123abc"));
        assert!(!looks_like_ours("deadbeef"), "may be a word");
        assert!(!looks_like_ours("GPU-123"));
        assert!(!looks_like_ours("123"));
    }
}
