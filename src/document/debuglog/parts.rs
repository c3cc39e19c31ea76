//! Reads the small parts of an incident: the status line, related files, next steps.

use std::ops::Range;

use crate::model::status::Status;

use super::classify;
use super::lines::{self, Place};
use super::outline::Outline;
use super::section::{Segment, text};
use super::{LoggedFile, LoggedNext, one_line};

/// Splits off the first paragraph, on one line.
pub(super) fn first_paragraph<'a>(lines: &[&'a str]) -> (String, Vec<&'a str>) {
    let start = lines.iter().position(|line| !lines::is_blank(line)).unwrap_or(lines.len());
    let ends = |line: &&str| lines::is_blank(line) || lines::is_rule(line) || lines::item(line).is_some();
    let end = lines.iter().skip(start + 1).position(ends).map_or(lines.len(), |at| start + 1 + at);
    (one_line(&lines[start..end.max(start)].join("\n")), lines[end.max(start)..].to_vec())
}

/// The words for each status. The flag says that the word says no more than the status does.
const STATUS_WORDS: [(&str, Status, bool); 32] = [
    ("open", Status::Open, true),
    ("in progress", Status::Open, false),
    ("in-progress", Status::Open, false),
    ("ongoing", Status::Open, false),
    ("active", Status::Open, false),
    ("investigating", Status::Open, false),
    ("under investigation", Status::Open, false),
    ("reopened", Status::Open, false),
    ("unresolved", Status::Open, false),
    ("unsolved", Status::Open, false),
    ("new", Status::Open, false),
    ("wip", Status::Open, false),
    ("todo", Status::Open, false),
    ("not ", Status::Open, false),
    ("partially ", Status::Open, false),
    ("partly ", Status::Open, false),
    ("resolved", Status::Resolved, true),
    ("fixed", Status::Resolved, true),
    ("closed", Status::Resolved, true),
    ("solved", Status::Resolved, true),
    ("done", Status::Resolved, true),
    ("blocked", Status::Blocked, true),
    ("on hold", Status::Blocked, false),
    ("stuck", Status::Blocked, false),
    ("waiting", Status::Blocked, false),
    ("won't fix", Status::WontFix, true),
    ("won\u{2019}t fix", Status::WontFix, true),
    ("wontfix", Status::WontFix, true),
    ("wont fix", Status::WontFix, true),
    ("wont-fix", Status::WontFix, true),
    ("will not fix", Status::WontFix, true),
    ("abandoned", Status::WontFix, false),
];

/// Reads a status line: the status, what it says besides, and whether its word is known.
pub(super) fn status(line: &str) -> (Status, String, bool) {
    let text = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '\\');
    // The longest word there is has fewer bytes than this.
    let head: String = text.chars().take(24).collect::<String>().to_ascii_lowercase();
    for (word, status, plain) in STATUS_WORDS {
        let Some(after) = head.strip_prefix(word) else {
            continue;
        };
        if !word.ends_with(' ') && after.starts_with(char::is_alphanumeric) {
            continue;
        }
        let rest = text[word.len()..].trim_start_matches(['*', '_', '`', '~', ']']).trim_matches([' ', '\t']);
        if rest.starts_with(['/', '|']) {
            break;
        }
        if !plain {
            return (status, one_line(text), true);
        }
        let note = match separated_status(rest) {
            Some(note) => one_line(note),
            None if rest.is_empty() || word == "open" || word == "resolved" => one_line(rest),
            None => one_line(text),
        };
        return (status, note, true);
    }
    (Status::Open, one_line(line), false)
}

fn separated_status(rest: &str) -> Option<&str> {
    classify::separated(rest).or_else(|| Some(rest.strip_prefix([',', ';'])?.trim_start_matches(' ')))
}

/// The environment without its bullet of related files, and those files.
pub(super) fn environment(segment: &Segment<'_>) -> (String, Vec<LoggedFile>) {
    let (covered, _) = lines::covered(&segment.lines);
    let mut kept = Vec::new();
    let mut files = Vec::new();
    let mut listed: Option<Vec<&str>> = None;
    for (at, line) in segment.lines.iter().enumerate() {
        if listed.is_some() && (covered[at] || lines::is_blank(line) || lines::indent(line).0 > 0) {
            listed.as_mut().into_iter().for_each(|lines| lines.push(line));
            continue;
        }
        files.extend(listed.take().into_iter().flat_map(|lines| related_files(&lines)));
        match classify::files_bullet(line).filter(|_| !covered[at]) {
            Some(rest) => listed = Some(vec![rest]),
            None => kept.push(*line),
        }
    }
    files.extend(listed.into_iter().flat_map(|lines| related_files(&lines)));
    (text(&kept, Place::Environment), files)
}

/// Reads a list of files: one per bullet, or several in a line of prose.
pub(super) fn related_files(lines: &[&str]) -> Vec<LoggedFile> {
    let mut entries: Vec<(bool, String)> = Vec::new();
    for line in lines.iter().filter(|line| !lines::is_blank(line) && !lines::is_rule(line)) {
        match (lines::item(line), entries.last_mut()) {
            (Some(item), _) => entries.push((true, item.text.to_owned())),
            (None, Some((_, entry))) => {
                entry.push(' ');
                entry.push_str(line.trim_matches([' ', '\t']));
            }
            (None, None) => entries.push((false, (*line).to_owned())),
        }
    }
    entries
        .iter()
        .flat_map(|(bullet, entry)| if *bullet { vec![file(entry)] } else { inline_files(entry) })
        .collect()
}

/// Reads `` `path` — note``.
fn file(entry: &str) -> LoggedFile {
    let entry = entry.trim_matches([' ', '\t']);
    let (path, rest) = match code_span(entry) {
        Some((path, rest)) => (path, rest),
        None => [" \u{2014} ", " \u{2013} ", " - ", ": "]
            .iter()
            .find_map(|mark| entry.split_once(mark))
            .unwrap_or((entry, "")),
    };
    let rest = rest.trim_matches([' ', '\t']);
    LoggedFile { path: one_line(path), note: one_line(classify::separated(rest).unwrap_or(rest)) }
}

fn inline_files(entry: &str) -> Vec<LoggedFile> {
    let mut paths = Vec::new();
    let mut rest = entry;
    while let Some(at) = rest.find('`') {
        let Some((path, after)) = code_span(&rest[at..]) else {
            break;
        };
        paths.push(path);
        rest = after;
    }
    if paths.len() == 1 && entry.trim_start_matches([' ', '\t']).starts_with('`') {
        return vec![file(entry)];
    }
    if paths.is_empty() {
        paths.extend(
            entry.split(',').map(|path| path.trim_matches([' ', '\t'])).filter(|path| !path.is_empty()),
        );
    }
    paths.into_iter().map(|path| LoggedFile { path: one_line(path), note: String::new() }).collect()
}

/// The content of the code span the text starts with, and what follows it.
fn code_span(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim_start_matches('`');
    let ticks = text.len() - inner.len();
    if ticks == 0 {
        return None;
    }
    let mut at = 0;
    loop {
        at += inner[at..].find('`')?;
        let run = inner[at..].len() - inner[at..].trim_start_matches('`').len();
        if run == ticks {
            let content = &inner[..at];
            let padded = content.strip_prefix(' ').and_then(|content| content.strip_suffix(' '));
            return Some((padded.unwrap_or(content), &inner[at + run..]));
        }
        at += run;
    }
}

/// Reads the list of next steps: what stands before and between the items, and the items. The flag
/// says that text stood between them.
pub(super) fn next_steps(outline: &Outline<'_>, body: Range<usize>) -> (String, Vec<LoggedNext>, bool) {
    let mut loose: Vec<&str> = Vec::new();
    let mut items: Vec<Vec<&str>> = Vec::new();
    let (mut base, mut offset) = (0, 0);
    let (mut inside, mut between) = (false, false);
    for line in body {
        let text = outline.lines[line];
        let marker = lines::item(text).filter(|_| !outline.covered[line] && !lines::is_rule(text));
        let margin = if items.is_empty() { 3 } else { base + 1 };
        if let Some(item) = marker.filter(|item| item.indent <= margin) {
            if items.is_empty() {
                base = item.indent;
            }
            (inside, offset) = (true, item.offset);
            items.push(vec![item.text]);
            continue;
        }
        let width = lines::indent(text).0;
        let apart = line > 0 && lines::is_blank(outline.lines[line - 1]);
        if inside
            && width <= base
            && !lines::is_blank(text)
            && !outline.covered[line]
            && (apart || lines::is_rule(text))
        {
            inside = false;
        }
        if let Some(item) = items.last_mut().filter(|_| inside) {
            item.push(lines::dedent(text, offset));
        } else {
            between |= !items.is_empty() && !lines::is_blank(text) && !lines::is_rule(text);
            loose.push(text);
        }
    }
    (text(&loose, Place::Preface), items.iter().map(|item| step(item)).collect(), between)
}

fn step(lines: &[&str]) -> LoggedNext {
    let end =
        lines.iter().rposition(|line| !lines::is_blank(line) && !lines::is_rule(line)).map_or(0, |at| at + 1);
    let text = lines[..end].join("\n");
    let text = text.trim_start_matches(['\n', ' ', '\t']);
    if let Some((done, rest)) = classify::checkbox(text) {
        LoggedNext { text: unescape_step(rest), done }
    } else {
        let text = unescape_step(text);
        LoggedNext { done: struck(&text), text }
    }
}

fn unescape_step(text: &str) -> String {
    lines::unescape(text.trim_start_matches(['\n', ' ', '\t']), Place::Step)
}

/// Whether a step is struck through as a whole.
pub(super) fn struck(text: &str) -> bool {
    text.len() > 4 && text.starts_with("~~") && text.ends_with("~~") && text.matches("~~").count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses() {
        let read = |line: &str| {
            let (status, note, _) = status(line);
            (status, note)
        };
        assert_eq!(read("Open \u{2014} not yet."), (Status::Open, "not yet.".into()));
        assert_eq!(read("\u{2705} **Resolved** (v3)"), (Status::Resolved, "(v3)".into()));
        assert_eq!(read("Fixed in v3"), (Status::Resolved, "Fixed in v3".into()));
        assert_eq!(read("Closed: duplicate"), (Status::Resolved, "duplicate".into()));
        assert_eq!(read("\u{1f6a7} In progress"), (Status::Open, "In progress".into()));
        assert_eq!(read("Won\u{2019}t Fix"), (Status::WontFix, String::new()));
        assert_eq!(read("Blocked, vendor"), (Status::Blocked, "vendor".into()));
        assert_eq!(read("Not fixed"), (Status::Open, "Not fixed".into()));
        assert_eq!(read("Open / Resolved"), (Status::Open, "Open / Resolved".into()));
    }

    #[test]
    fn files_in_many_spellings() {
        let read = |lines: &[&str]| -> Vec<(String, String)> {
            related_files(lines).into_iter().map(|file| (file.path, file.note)).collect()
        };
        assert_eq!(read(&["", "  - `a b.rs` \u{2014} kernel"]), [("a b.rs".into(), "kernel".into())]);
        assert_eq!(read(&["- ``x`y`` - odd"]), [("x`y".into(), "odd".into())]);
        assert_eq!(read(&["`a`, `b`"]).len(), 2);
        assert_eq!(read(&["a.rs, b.rs"]).len(), 2);
    }
}
