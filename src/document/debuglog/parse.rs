//! Reads a file of debug logs.

use std::ops::Range;

use super::classify::{self, Field, Heading};
use super::lines::{self, Place};
use super::outline::Outline;
use super::parts;
use super::section::{self, Part, Segment};
use super::{
    DebugLog, LoggedAttempt, LoggedIncident, LoggedNote, UNTITLED, Warning, normalise, outcome, table,
    unix_lines,
};

/// The note that keeps what stands around a table of differences.
const AROUND_TABLE: &str = "About the differences";

/// Reads every incident of a file. Total: whatever cannot be read is kept as text or warned about.
/// Time and memory are linear in the size of the text.
#[must_use]
pub fn parse(text: &str) -> DebugLog {
    let text = unix_lines(text.strip_prefix('\u{feff}').unwrap_or(text));
    let outline = Outline::new(&text);
    let mut warnings: Vec<Warning> = outline
        .unclosed
        .iter()
        .map(|&line| warning(line, "a code fence or comment is never closed; read as text"))
        .collect();
    let (found, skipped) = outline.incidents();
    warnings.extend(skipped.into_iter().map(|mark| {
        let mark = &outline.marks[mark];
        warning(mark.line, format!("skipped {:?}: the title is a placeholder", mark.text))
    }));
    let mut incidents = Vec::new();
    for marks in found {
        let mut reader = Reader::new(&outline, marks.start);
        reader.read(marks);
        incidents.push(reader.finish());
        warnings.append(&mut reader.warnings);
    }
    warnings.sort_by_key(|warning| warning.line);
    DebugLog { incidents, warnings }
}

fn warning(line: usize, message: impl Into<String>) -> Warning {
    Warning { line: line + 1, message: message.into() }
}

/// A section of an incident while its lines are gathered.
struct Open<'m> {
    kind: Kind<'m>,
    level: u8,
    /// Index of the heading's line.
    line: usize,
    body: Range<usize>,
    /// Headings of an attempt's parts: line, line below, part.
    parts: Vec<(usize, usize, Field)>,
}

enum Kind<'m> {
    Head,
    Attempt { ordinal: Option<u32>, title: &'m str },
    Differences(&'m str),
    Next,
    Group(&'m str),
    Field(Field),
    Note(&'m str),
}

struct Reader<'o, 'a> {
    outline: &'o Outline<'a>,
    incident: LoggedIncident,
    /// What the log says itself of each attempt's outcome.
    said: Vec<Option<outcome::Said>>,
    saw_status: bool,
    warnings: Vec<Warning>,
}

impl<'o, 'a> Reader<'o, 'a> {
    fn new(outline: &'o Outline<'a>, title: usize) -> Self {
        let mark = &outline.marks[title];
        let mut reader = Self {
            outline,
            incident: LoggedIncident { line: mark.line + 1, ..LoggedIncident::default() },
            said: Vec::new(),
            saw_status: false,
            warnings: Vec::new(),
        };
        classify::unescape_title(&mark.text).clone_into(&mut reader.incident.title);
        if mark.text.is_empty() {
            reader.warn(mark.line, format!("the incident has no title; called {UNTITLED:?}"));
        }
        reader
    }

    fn warn(&mut self, line: usize, message: impl Into<String>) {
        self.warnings.push(warning(line, message));
    }

    /// Cuts the incident into sections and reads each.
    fn read(&mut self, marks: Range<usize>) {
        let outline = self.outline;
        let first = &outline.marks[marks.start];
        let mut open = Open {
            kind: Kind::Head,
            level: first.level,
            line: first.line,
            body: outline.own_body(marks.start),
            parts: Vec::new(),
        };
        let mut group: Option<u8> = None;
        for at in marks.skip(1) {
            let mark = &outline.marks[at];
            let shallow = matches!(open.kind, Kind::Head | Kind::Group(_)) || mark.level <= open.level;
            if group.is_some_and(|level| mark.level <= level) {
                group = None;
            }
            let kind = match &mark.kind {
                Heading::Attempt { ordinal, title } => Some(Kind::Attempt { ordinal: *ordinal, title }),
                Heading::Differences(cases) => Some(Kind::Differences(cases)),
                Heading::Next => Some(Kind::Next),
                _ if !shallow => None,
                Heading::Group => Some(Kind::Group(&mark.text)),
                Heading::Head(field) => Some(Kind::Field(*field)),
                Heading::Attempted(_) | Heading::Placeholder | Heading::Other => {
                    match classify::numbered(&mark.text).filter(|_| group.is_some()) {
                        Some((ordinal, title)) => Some(Kind::Attempt { ordinal: Some(ordinal), title }),
                        None => Some(Kind::Note(classify::unescape_title(&mark.text))),
                    }
                }
            };
            let body = outline.own_body(at);
            if let Some(kind) = kind {
                if matches!(kind, Kind::Group(_)) {
                    group = Some(mark.level);
                }
                let next = Open { kind, level: mark.level, line: mark.line, body, parts: Vec::new() };
                self.section(std::mem::replace(&mut open, next));
            } else {
                if let (Kind::Attempt { .. }, Heading::Attempted(field)) = (&open.kind, &mark.kind) {
                    open.parts.push((mark.line, mark.body, *field));
                }
                open.body.end = body.end;
            }
        }
        self.section(open);
    }

    fn section(&mut self, open: Open<'_>) {
        let lines = &self.outline.lines[open.body.clone()];
        match open.kind {
            Kind::Head => self.head(open.body),
            Kind::Attempt { ordinal, title } => self.attempt(ordinal, title, &open),
            Kind::Differences(cases) => self.differences(cases, &open),
            Kind::Next => {
                let (preface, mut items, between) = parts::next_steps(self.outline, open.body);
                if between {
                    self.warn(open.line, "text between the next steps was moved before them");
                }
                append(&mut self.incident.next_preface, &preface);
                self.incident.next.append(&mut items);
            }
            Kind::Group(heading) => {
                let text = section::text(lines, Place::Note);
                if !text.is_empty() {
                    self.note(open.line, heading, text);
                }
            }
            Kind::Field(field) => {
                let segment = Segment { part: Part::Known(field), line: open.line, lines: lines.to_vec() };
                self.field(field, &segment);
            }
            Kind::Note(heading) => self.note(open.line, heading, section::text(lines, Place::Note)),
        }
    }

    fn note(&mut self, line: usize, heading: &str, text: String) {
        self.warn(line, format!("no field for {heading:?}; kept as a note"));
        self.incident.notes.push(LoggedNote { heading: heading.to_owned(), text });
    }

    fn head(&mut self, body: Range<usize>) {
        for segment in section::split_head(self.outline, body) {
            match segment.part {
                Part::Loose => append(&mut self.incident.symptom, &segment.text(Place::Head)),
                Part::Known(field) => self.field(field, &segment),
                Part::Unknown(label) => self.note(segment.line, label, segment.text(Place::Note)),
            }
        }
    }

    fn field(&mut self, field: Field, segment: &Segment<'_>) {
        match field {
            Field::Issue => {
                let (line, _) = parts::first_paragraph(&segment.lines);
                let ticket = !line.contains(' ') || line.starts_with(['#', '[']) || line.starts_with("http");
                self.field(if ticket { Field::Ticket } else { Field::Symptom }, segment);
            }
            Field::Status | Field::Ticket => {
                let (line, rest) = parts::first_paragraph(&segment.lines);
                if field == Field::Status {
                    self.status(segment.line, &line);
                } else {
                    let line = lines::unescape(&line, Place::Head);
                    self.incident.ticket = match self.incident.ticket.take() {
                        Some(ticket) if !line.is_empty() => Some(format!("{ticket}, {line}")),
                        None if !line.is_empty() => Some(line),
                        ticket => ticket,
                    };
                }
                append(&mut self.incident.symptom, &section::text(&rest, Place::Head));
            }
            Field::Environment => {
                let (text, mut files) = parts::environment(segment);
                append(&mut self.incident.environment, &text);
                self.incident.files.append(&mut files);
            }
            Field::Files => self.incident.files.extend(parts::related_files(&segment.lines)),
            Field::RootCause => append(&mut self.incident.root_cause, &segment.text(Place::Head)),
            Field::Fix => append(&mut self.incident.fix, &segment.text(Place::Head)),
            _ => append(&mut self.incident.symptom, &segment.text(Place::Head)),
        }
    }

    fn status(&mut self, at: usize, line: &str) {
        let (status, note, known) = parts::status(line);
        if self.saw_status {
            self.warn(at, "a second status; the first one stands");
            return;
        }
        self.saw_status = true;
        if !known {
            self.warn(at, format!("cannot tell a status from {line:?}; taken as open"));
        }
        self.incident.status = status;
        self.incident.status_note = note;
    }

    fn attempt(&mut self, ordinal: Option<u32>, title: &str, open: &Open<'_>) {
        let previous = self.incident.attempts.last().map_or(0, |attempt| attempt.ordinal);
        let mut attempt = LoggedAttempt {
            ordinal: ordinal.unwrap_or_else(|| previous.saturating_add(1)),
            title: title.to_owned(),
            ..LoggedAttempt::default()
        };
        if ordinal.is_none() {
            self.warn(open.line, format!("the attempt has no number; called {}", attempt.ordinal));
        } else if self.incident.attempts.iter().rev().take(64).any(|other| other.ordinal == attempt.ordinal) {
            self.warn(open.line, format!("a second attempt {}", attempt.ordinal));
        }
        let mut said = None;
        for segment in section::split_attempt(self.outline, open.body.clone(), &open.parts) {
            let text = segment.text(Place::Attempt);
            let target = match segment.part {
                Part::Known(Field::Hypothesis) => &mut attempt.hypothesis,
                Part::Known(Field::Disproof) => &mut attempt.disproof,
                Part::Known(Field::Result) => &mut attempt.result,
                Part::Known(Field::Conclusion) => &mut attempt.conclusion,
                Part::Known(Field::Outcome) => match outcome::explicit(&text) {
                    Some(outcome) => {
                        said = Some(outcome);
                        continue;
                    }
                    None => &mut attempt.result,
                },
                _ => &mut attempt.action,
            };
            append(target, &text);
        }
        self.said.push(said);
        self.incident.attempts.push(attempt);
    }

    fn differences(&mut self, cases: &str, open: &Open<'_>) {
        let lines = &self.outline.lines[open.body.clone()];
        let read = table::read(cases, lines, &self.outline.covered[open.body.clone()]);
        let incident = &mut self.incident;
        if incident.working_case.is_empty() && incident.broken_case.is_empty() {
            (incident.working_case, incident.broken_case) = read.cases;
        }
        incident.differences.extend(read.rows);
        for (at, message) in read.warnings {
            self.warn(open.body.start + at, message);
        }
        let around = section::text(&read.rest, Place::Note);
        if !around.is_empty() {
            self.note(open.line, AROUND_TABLE, around);
        }
    }

    /// The incident in its normal form, with the outcomes nobody wrote down inferred.
    fn finish(&mut self) -> LoggedIncident {
        let mut incident = normalise(&self.incident);
        incident.line = self.incident.line;
        let inferred = outcome::infer(incident.status, &incident.attempts);
        for ((attempt, inferred), said) in incident.attempts.iter_mut().zip(inferred).zip(&self.said) {
            let (hypothesis, bug) = said.unwrap_or_default();
            attempt.hypothesis_outcome = hypothesis.unwrap_or(inferred.0);
            attempt.bug_outcome = bug.unwrap_or(inferred.1);
        }
        incident
    }
}

/// Adds a text as a paragraph of its own.
fn append(field: &mut String, text: &str) {
    if !field.is_empty() && !text.is_empty() {
        field.push_str("\n\n");
    }
    field.push_str(text);
}
