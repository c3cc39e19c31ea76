//! The lexical side of a log: which lines are headings, rules, list items or covered by a fence, and
//! the backslashes that keep text from being read as structure.
//!
//! This is a small subset of `CommonMark`, on purpose not a whole parser: the round trip needs a notion
//! of structure that can be decided line by line, so that escaping one line never changes another.
//! It differs where logs in the wild need mercy: a fence that is never closed is text (and does not
//! swallow the rest of the file), a fence may stand behind a label, and `---` under a paragraph or a
//! label is a rule, not a heading.

use super::classify::{self, Field};

/// Whether a line holds nothing but spaces.
pub(super) fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ' || byte == b'\t')
}

/// The line without its leading spaces, and their width (a tab counts four).
pub(super) fn indent(line: &str) -> (usize, &str) {
    let rest = line.trim_start_matches([' ', '\t']);
    let width = line[..line.len() - rest.len()].bytes().map(|byte| if byte == b'\t' { 4 } else { 1 }).sum();
    (width, rest)
}

/// Takes up to `width` columns of leading spaces away.
pub(super) fn dedent(line: &str, width: usize) -> &str {
    let mut left = width;
    let mut rest = line;
    while left > 0 {
        if let Some(after) = rest.strip_prefix(' ') {
            (rest, left) = (after, left - 1);
        } else if let Some(after) = rest.strip_prefix('\t') {
            (rest, left) = (after, left.saturating_sub(4));
        } else {
            break;
        }
    }
    rest
}

/// A thematic break or the underline of a heading: three or more of one character.
pub(super) fn is_rule(line: &str) -> bool {
    let (width, rest) = indent(line);
    let Some(first) = rest.bytes().next().filter(|byte| b"-*_=".contains(byte)) else {
        return false;
    };
    let mut count = 0;
    for byte in rest.bytes() {
        match byte {
            b' ' | b'\t' => {}
            _ if byte == first => count += 1,
            _ => return false,
        }
    }
    width <= 3 && count >= 3
}

/// The level and text of an ATX heading. The closing run of `#` is taken away.
pub(super) fn atx(line: &str) -> Option<(u8, String)> {
    let (width, rest) = indent(line);
    let text = rest.trim_start_matches('#');
    let level = rest.len() - text.len();
    if width > 3 || !(1..=6).contains(&level) || !(text.is_empty() || text.starts_with([' ', '\t'])) {
        return None;
    }
    let text = text.trim_matches([' ', '\t']);
    let open = text.trim_end_matches('#');
    let text = if open.is_empty() || open.ends_with([' ', '\t']) {
        open.trim_end_matches([' ', '\t'])
    } else {
        text
    };
    Some((level as u8, unescape_closing(text)))
}

/// Where the closing run of `#` (with the backslashes before it) starts, if the text ends in one.
fn closing_run(text: &str) -> Option<usize> {
    let start = text.trim_end_matches('#').trim_end_matches('\\').len();
    let run = &text[start..];
    (run.ends_with('#') && (start == 0 || text[..start].ends_with(' '))).then_some(start)
}

/// A heading's text as it must be written so that a `#` at its end stays.
pub(super) fn escape_closing(text: &str) -> String {
    closing_run(text).map_or_else(|| text.to_owned(), |at| format!("{}\\{}", &text[..at], &text[at..]))
}

fn unescape_closing(text: &str) -> String {
    match closing_run(text) {
        Some(at) if text[at..].starts_with('\\') => format!("{}{}", &text[..at], &text[at + 1..]),
        _ => text.to_owned(),
    }
}

/// A list item's marker: its indentation, the column where its text starts, and that text.
pub(super) struct Item<'a> {
    pub(super) indent: usize,
    pub(super) offset: usize,
    pub(super) text: &'a str,
}

/// Reads `- text`, `* text`, `+ text`, `1. text` or `1) text`.
pub(super) fn item(line: &str) -> Option<Item<'_>> {
    let (indent, rest) = indent(line);
    let after = if let Some(after) = rest.strip_prefix(['-', '*', '+']) {
        after
    } else {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if after.len() == rest.len() || rest.len() - after.len() > 9 {
            return None;
        }
        after.strip_prefix(['.', ')'])?
    };
    let text = after.trim_start_matches([' ', '\t']);
    if after.len() == text.len() && !after.is_empty() {
        return None;
    }
    let gap = after.len() - text.len();
    let gap = if (1..=4).contains(&gap) { gap } else { 1 };
    Some(Item { indent, offset: indent + rest.len() - after.len() + gap, text })
}

#[derive(Clone, Copy)]
enum Opener {
    Fence(u8, usize),
    Comment,
}

/// What hides the lines after it: a fence or a comment, also behind list markers and one label.
fn opener(line: &str) -> Option<Opener> {
    let mut rest = indent(line).1;
    while let Some(item) = item(rest) {
        rest = item.text;
    }
    bare_opener(rest).or_else(|| bare_opener(classify::bold_label(rest)?.1))
}

fn bare_opener(rest: &str) -> Option<Opener> {
    let first = rest.bytes().next()?;
    if rest.starts_with("<!--") {
        return Some(Opener::Comment);
    }
    let info = rest.trim_start_matches(char::from(first));
    let count = rest.len() - info.len();
    let fence = count >= 3 && (first == b'~' || first == b'`' && !info.contains('`'));
    fence.then_some(Opener::Fence(first, count))
}

/// The length of the run if the line is nothing but a closing fence of that character.
fn closer(line: &str, fence: u8) -> usize {
    let rest = line.trim_matches([' ', '\t']);
    if rest.len() >= 3 && rest.bytes().all(|byte| byte == fence) { rest.len() } else { 0 }
}

/// Finds the pairs of fences and comments of a text in linear time.
pub(super) struct Covers<'a> {
    lines: &'a [&'a str],
    /// Per line, the longest closing run of backticks and of tildes at or below it.
    longest: Vec<(usize, usize)>,
    last_comment_end: Option<usize>,
}

impl<'a> Covers<'a> {
    pub(super) fn new(lines: &'a [&'a str]) -> Self {
        let mut longest = vec![(0, 0); lines.len() + 1];
        for (at, line) in lines.iter().enumerate().rev() {
            let below = longest[at + 1];
            longest[at] = (below.0.max(closer(line, b'`')), below.1.max(closer(line, b'~')));
        }
        Self { lines, longest, last_comment_end: lines.iter().rposition(|line| line.contains("-->")) }
    }

    /// The last line of what opens at this line: itself if nothing does or if it is never closed.
    /// The flag says whether something was opened and never closed.
    pub(super) fn end(&self, at: usize) -> Result<Option<usize>, ()> {
        match opener(self.lines[at]) {
            None => Ok(None),
            Some(Opener::Comment) => {
                let own = self.lines[at].split_once("<!--").is_some_and(|(_, rest)| rest.contains("-->"));
                if own {
                    Ok(Some(at))
                } else if self.last_comment_end.is_some_and(|last| last > at) {
                    Ok((at + 1..self.lines.len()).find(|&below| self.lines[below].contains("-->")))
                } else {
                    Err(())
                }
            }
            Some(Opener::Fence(fence, count)) => {
                let (backticks, tildes) = self.longest[at + 1];
                if (if fence == b'`' { backticks } else { tildes }) < count {
                    return Err(());
                }
                Ok((at + 1..self.lines.len()).find(|&below| closer(self.lines[below], fence) >= count))
            }
        }
    }
}

/// Which lines lie inside a fence or comment (its first line does not), and which open one that is
/// never closed.
pub(super) fn covered(lines: &[&str]) -> (Vec<bool>, Vec<usize>) {
    let covers = Covers::new(lines);
    let mut hidden = vec![false; lines.len()];
    let mut unclosed = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        match covers.end(at) {
            Ok(Some(end)) => {
                hidden[at + 1..=end].fill(true);
                at = end;
            }
            Ok(None) => {}
            Err(()) => unclosed.push(at),
        }
        at += 1;
    }
    (hidden, unclosed)
}

/// Where a text stands, which decides what in it would be read as structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A labelled text before the first section.
    Head,
    /// The same, and a bullet of related files is structure too.
    Environment,
    /// A labelled text of an attempt.
    Attempt,
    /// What stands before the list of next steps.
    Preface,
    /// A next step.
    Step,
    /// Any other section.
    Note,
}

/// Whether a line (given without its backslashes) would be structure in this place.
fn special(place: Place, width: usize, rest: &str, first: bool, after_blank: bool) -> bool {
    if width <= 3 {
        if is_rule(rest) {
            return true;
        }
        if let Some((level, text)) = atx(rest) {
            let everywhere = matches!(place, Place::Head | Place::Environment) || level <= 4;
            return everywhere || classify::is_special_heading(&text);
        }
    }
    match place {
        Place::Head | Place::Environment if width == 0 => {
            let bullet = place == Place::Environment && classify::files_bullet(rest).is_some();
            bullet
                || classify::bold_label(rest)
                    .is_some_and(|(label, _)| (after_blank && !first) || Field::of_head(label).is_some())
        }
        Place::Attempt if width == 0 => {
            classify::bold_label(rest).is_some_and(|(label, _)| Field::of_attempt(label).is_some())
        }
        Place::Preface => width <= 3 && item(rest).is_some(),
        Place::Step => first && classify::checkbox(rest).is_some(),
        _ => false,
    }
}

/// Splits a line into its leading spaces, the backslashes after them, and the rest.
fn backslashes(line: &str) -> (&str, &str, &str) {
    let rest = indent(line).1;
    let bare = rest.trim_start_matches('\\');
    let at = line.len() - rest.len();
    (&line[..at], &line[at..line.len() - bare.len()], bare)
}

/// Writes a text so that nothing in it is read as structure; [`unescape`] is its inverse.
///
/// A line is given one more backslash if it would be structure without those it has. Lines covered by
/// a pair of fences are copied.
pub(super) fn escape(text: &str, place: Place) -> String {
    rewrite(text, place, |indent, slashes, bare, out| {
        out.extend([indent, "\\", slashes, bare]);
    })
}

/// Reads what [`escape`] wrote.
pub(super) fn unescape(text: &str, place: Place) -> String {
    rewrite(text, place, |indent, slashes, bare, out| {
        out.extend([indent, slashes.strip_prefix('\\').unwrap_or(slashes), bare]);
    })
}

fn rewrite(text: &str, place: Place, mut change: impl FnMut(&str, &str, &str, &mut String)) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let covers = Covers::new(&lines);
    let mut out = String::with_capacity(text.len() + 16);
    let mut at = 0;
    while at < lines.len() {
        if at > 0 {
            out.push('\n');
        }
        let (spaces, slashes, bare) = backslashes(lines[at]);
        let after_blank = at > 0 && is_blank(lines[at - 1]);
        if special(place, indent(spaces).0, bare, at == 0, after_blank) {
            change(spaces, slashes, bare, &mut out);
        } else if let Ok(Some(end)) = covers.end(at) {
            out.push_str(&lines[at..=end].join("\n"));
            at = end;
        } else if opener(bare).is_some() {
            change(spaces, slashes, bare, &mut out);
        } else {
            out.push_str(lines[at]);
        }
        at += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings() {
        assert_eq!(atx("## Two ##"), Some((2, "Two".into())));
        assert_eq!(atx("### C \\#"), Some((3, "C #".into())));
        assert_eq!(atx("#tag"), None);
        assert_eq!(atx("    # code"), None);
        assert_eq!(atx("#"), Some((1, String::new())));
        for text in ["a #", "##", "a \\#", "a#", "#"] {
            assert_eq!(atx(&format!("# {}", escape_closing(text))), Some((1, text.into())));
        }
    }

    #[test]
    fn fences_pair_or_are_text() {
        let lines = ["- ```sh", "  # not a heading", "  ```", "````", "text", "```"];
        let (hidden, unclosed) = covered(&lines);
        assert_eq!(hidden, [false, true, true, false, false, false]);
        assert_eq!(unclosed, [3, 5]);
    }

    #[test]
    fn escapes_only_what_needs_it() {
        let text = "**Result:** no\n\\# one\n# two\n```\n# code\n```\n```\n---\nplain **Result:**";
        let written = escape(text, Place::Attempt);
        assert_eq!(
            written,
            "\\**Result:** no\n\\\\# one\n\\# two\n```\n# code\n```\n\\```\n\\---\nplain **Result:**"
        );
        assert_eq!(unescape(&written, Place::Attempt), text);
    }
}
