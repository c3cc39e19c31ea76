//! Markdown debug logs, read into values and written back.
//!
//! A debug log is what people and agents keep by hand while a bug resists: a heading per incident, its
//! status, symptom and environment, a section per attempt, a table of what differs between the case
//! that works and the one that does not, and a list of what to try next. [`parse`] reads any of them
//! it can make sense of and says in [`Warning`]s what it could not; [`print()`] writes one layout.
//!
//! # What an incident is
//!
//! A heading under which attempts stand, or whose own text has a symptom or a status that can be
//! read. Fenced code and HTML comments are never structure, so templates and examples shown in them
//! are not incidents; neither is a heading that is only a placeholder, such as `<Issue title>`.
//!
//! # Round trip
//!
//! For every incident `x`, `parse(&print(&x)).incidents == [normalise(&x)]`, and what [`parse`] returns
//! is normal already but for its line number. Text that would be read as structure (a heading inside a
//! field, a line that starts with a label, a rule, a fence that is never closed) is written with a
//! backslash before it, which Markdown shows as nothing for punctuation; reading takes it away again.
//! A pair of fences inside a field is left alone, and so is everything between them.

mod classify;
mod lines;
mod outcome;
mod outline;
mod parse;
mod parts;
mod print;
mod section;
mod table;
#[cfg(test)]
mod tests;

use crate::model::outcome::{Bug, Hypothesis};
use crate::model::status::Status;

pub use parse::parse;
pub use print::print;

/// What a file of debug logs holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DebugLog {
    /// The incidents, in the order of the file.
    pub incidents: Vec<LoggedIncident>,
    /// What was skipped, guessed or kept aside.
    pub warnings: Vec<Warning>,
}

/// Something a person should look at after an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The line it is about, from 1.
    pub line: usize,
    /// What happened, lower-case and without a final period.
    pub message: String,
}

/// One incident as its log tells it. Texts are Markdown as written unless said otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedIncident {
    /// The heading, on one line.
    pub title: String,
    /// The line of the heading, from 1.
    pub line: usize,
    /// Where the incident stands; open when the log does not say.
    pub status: Status,
    /// What follows the status, on one line, for example `not yet root-caused.`.
    pub status_note: String,
    /// The issue or ticket the log names.
    pub ticket: Option<String>,
    /// What goes wrong.
    pub symptom: String,
    /// Where it goes wrong, without the bullet of related files.
    pub environment: String,
    /// The files the log calls related.
    pub files: Vec<LoggedFile>,
    /// Why it happened, when the log says.
    pub root_cause: String,
    /// What made it go away, when the log says.
    pub fix: String,
    /// What was tried, in the order of the file.
    pub attempts: Vec<LoggedAttempt>,
    /// What differs between the two cases below.
    pub differences: Vec<LoggedDifference>,
    /// The name of the case that works; empty when the log names none.
    pub working_case: String,
    /// The name of the case that does not.
    pub broken_case: String,
    /// What stands before the list of next steps.
    pub next_preface: String,
    /// What to try next, most promising first.
    pub next: Vec<LoggedNext>,
    /// Sections that are none of the above, in the order of the file.
    pub notes: Vec<LoggedNote>,
}

/// A file that has to do with the incident.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedFile {
    /// The path as written, without the backticks around it.
    pub path: String,
    /// What the file is, on one line; may be empty.
    pub note: String,
}

/// One attempt. A text that the log lacks is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedAttempt {
    /// The number in the heading.
    pub ordinal: u32,
    /// The rest of the heading.
    pub title: String,
    /// Why it might work.
    pub hypothesis: String,
    /// What would show that the hypothesis is wrong.
    pub disproof: String,
    /// What was done.
    pub action: String,
    /// What happened.
    pub result: String,
    /// What that tells.
    pub conclusion: String,
    /// What became of the hypothesis: as the log says, else inferred.
    pub hypothesis_outcome: Hypothesis,
    /// What became of the bug: as the log says, else inferred.
    pub bug_outcome: Bug,
}

/// One row of the table of differences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedDifference {
    /// What differs.
    pub factor: String,
    /// How it is in the case that works.
    pub working: String,
    /// How it is in the case that does not.
    pub broken: String,
    /// Whether it is known not to matter; written as a struck-through factor (`~~factor~~`).
    pub eliminated: bool,
}

/// One idea to try.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedNext {
    /// The item's whole text, without its marker and indentation.
    pub text: String,
    /// Whether it was checked off or struck through.
    pub done: bool,
}

/// A section this module has no field for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedNote {
    /// Its heading, on one line.
    pub heading: String,
    /// Its text.
    pub text: String,
}

/// The title of an incident that has none.
const UNTITLED: &str = "Untitled incident";

/// The incident as its printed form can say it.
///
/// - Titles, names, paths, notes on files and the status note are put on one line with single spaces.
/// - Texts lose carriage returns, blank lines at both ends, spaces at their end and spaces on lines
///   that hold nothing else; a next step also loses the spaces before its first word.
/// - Empty rows, files and next steps go; an incident or note without a title gets one; of the two
///   cases either both or none have a name.
/// - `line` is 1, where the heading stands in the printed text.
#[must_use]
pub fn normalise(incident: &LoggedIncident) -> LoggedIncident {
    let mut tidy = LoggedIncident {
        title: or_else(one_line(&incident.title), UNTITLED),
        line: 1,
        status: incident.status,
        status_note: one_line(&incident.status_note),
        ticket: incident.ticket.as_deref().map(one_line).filter(|ticket| !ticket.is_empty()),
        symptom: tidy_text(&incident.symptom),
        environment: tidy_text(&incident.environment),
        root_cause: tidy_text(&incident.root_cause),
        fix: tidy_text(&incident.fix),
        working_case: one_line(&incident.working_case),
        broken_case: one_line(&incident.broken_case),
        next_preface: tidy_text(&incident.next_preface),
        ..LoggedIncident::default()
    };
    if tidy.working_case.is_empty() != tidy.broken_case.is_empty() {
        tidy.working_case = or_else(tidy.working_case, "Working case");
        tidy.broken_case = or_else(tidy.broken_case, "Broken case");
    }
    for file in &incident.files {
        let (path, note) = (one_line(&file.path), one_line(&file.note));
        if path.is_empty() && !note.is_empty() {
            tidy.files.push(LoggedFile { path: note, note: path });
        } else if !path.is_empty() {
            tidy.files.push(LoggedFile { path, note });
        }
    }
    tidy.attempts.extend(incident.attempts.iter().map(|attempt| LoggedAttempt {
        ordinal: attempt.ordinal,
        title: one_line(&attempt.title),
        hypothesis: tidy_text(&attempt.hypothesis),
        disproof: tidy_text(&attempt.disproof),
        action: tidy_text(&attempt.action),
        result: tidy_text(&attempt.result),
        conclusion: tidy_text(&attempt.conclusion),
        hypothesis_outcome: attempt.hypothesis_outcome,
        bug_outcome: attempt.bug_outcome,
    }));
    for row in &incident.differences {
        let row = LoggedDifference {
            factor: tidy_cell(&row.factor),
            working: tidy_cell(&row.working),
            broken: tidy_cell(&row.broken),
            eliminated: row.eliminated,
        };
        if !(row.factor.is_empty() && row.working.is_empty() && row.broken.is_empty()) {
            tidy.differences.push(row);
        }
    }
    for item in &incident.next {
        let text = tidy_text(&item.text).trim_start_matches([' ', '\t']).to_owned();
        if !text.is_empty() {
            tidy.next.push(LoggedNext { text, done: item.done });
        }
    }
    tidy.notes.extend(incident.notes.iter().map(|note| LoggedNote {
        heading: or_else(one_line(&note.heading), "Note"),
        text: tidy_text(&note.text),
    }));
    tidy
}

fn or_else(text: String, fallback: &str) -> String {
    if text.is_empty() { fallback.to_owned() } else { text }
}

/// White space of any kind Markdown knows becomes single spaces; other characters stay.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split([' ', '\t', '\n', '\r']).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// One kind of line end.
fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn tidy_text(text: &str) -> String {
    let text = unix_lines(text);
    let lines: Vec<&str> =
        text.split('\n').map(|line| if lines::is_blank(line) { "" } else { line }).collect();
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
    lines[first..].join("\n").trim_end_matches([' ', '\t', '\n']).to_owned()
}

fn tidy_cell(text: &str) -> String {
    unix_lines(text).trim_matches([' ', '\t', '\n']).to_owned()
}
