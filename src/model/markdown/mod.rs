//! Untrusted text written into Markdown without giving it a say in the document's structure.
//!
//! Ledgers come from strangers, and a symptom is often a pasted log. Text keeps what helps reading
//! (code spans, emphasis, lists, quotes, fenced blocks) and loses what could change the document
//! around it: headings, raw HTML and comments, links and images, tables, task boxes, open fences.
//! Everything here is total and linear enough for any bounded input.

mod inline;

use inline::{escape, escape_after};

/// Where the text will stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A file of the repository.
    Document,
    /// A text that a forge reads: there `@name` would call people and `fixes #12` close an issue, so
    /// both are shown as code.
    Forge,
}

/// What stands at the end of a text that was cut.
const CUT: char = '…';

/// Plain text in one line: no line breaks, control or direction characters, runs of white space as
/// one space, at most `max` characters (the last is `…` when it was cut). Not yet safe in Markdown.
pub fn one_line(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut count = 0;
    for word in clean(text).split_whitespace() {
        let gap = usize::from(count > 0);
        let length = word.chars().count();
        if count + gap + length > max {
            out.extend((gap == 1 && count < max).then_some(' '));
            out.extend(word.chars().take((max - count.min(max)).saturating_sub(gap)));
            return shorten(&out, max);
        }
        out.extend((gap == 1).then_some(' '));
        out.push_str(word);
        count += gap + length;
    }
    out
}

/// One line of Markdown that stands anywhere in a line and starts no block.
pub fn line(text: &str, max: usize, place: Place) -> String {
    let flat = one_line(text, max);
    guard(&flat, &escape(&flat, place), false)
}

/// Several lines of Markdown, without a newline at the end; indent all of them alike to put them
/// into a list item. Blank at the ends is dropped; empty for an empty text.
pub fn block(text: &str, max: usize, place: Place) -> String {
    let cleaned = clean(text);
    let mut taken: String = cleaned.chars().take(max).collect();
    if taken.len() < cleaned.len() {
        taken.push('\n');
        taken.push(CUT);
    }
    let lines: Vec<&str> = taken.lines().map(str::trim_end).collect();
    let mut out: Vec<String> = Vec::new();
    let mut in_list = false;
    let mut i = 0;
    while i < lines.len() {
        let line = lines[i];
        if let Some((fence, info)) = opening_fence(line) {
            let end = (i + 1..lines.len()).find(|j| closes(lines[*j], fence)).unwrap_or(lines.len());
            out.push(fenced(&lines[i + 1..end], info));
            i = end + 1;
            continue;
        }
        let after_blank = out.last().is_none_or(String::is_empty);
        let pasted: &dyn Fn(&str) -> bool = if line.trim_start().starts_with('|') {
            &|l| l.trim_start().starts_with('|')
        } else if indent(line) >= 4 && after_blank && !in_list {
            &|l| indent(l) >= 4
        } else {
            &|_| false
        };
        let group = lines[i..].iter().take_while(|l| pasted(l)).count();
        if group > 0 {
            out.push(fenced(&lines[i..i + group], ""));
            i += group;
            continue;
        }
        if !(line.is_empty() && after_blank) {
            in_list = starts_item(line) || (in_list && (line.is_empty() || indent(line) > 0));
            let room = " ".repeat(indent(line).min(8));
            let text = line.trim_start();
            out.push(if text.is_empty() {
                String::new()
            } else {
                let before = i.checked_sub(1).map_or("", |before| lines[before]);
                room + &guard(text, &escape_after(before, text, place), true)
            });
        }
        i += 1;
    }
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    out.join("\n")
}

/// A code span of one line; `(empty)` for nothing.
pub fn code(text: &str, max: usize) -> String {
    let flat = one_line(text, max);
    if flat.is_empty() {
        return "(empty)".to_owned();
    }
    let ticks = "`".repeat(longest_run(&flat) + 1);
    let pad = if flat.starts_with('`') || flat.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{flat}{pad}{ticks}")
}

/// Text without escape sequences of terminals, control characters (line feeds stay, tabs become
/// spaces) and characters that hide or reorder others.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                // A control sequence runs from `ESC [` to a letter; a broken one costs at most 32 characters.
                if chars.next_if_eq(&'[').is_some() {
                    for _ in 0..32 {
                        match chars.next_if(|c| (' '..='~').contains(c)) {
                            Some('@'..='~') | None => break,
                            Some(_) => {}
                        }
                    }
                }
            }
            '\n' => out.push('\n'),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\t' => out.push_str("    "),
            c if c.is_control() => {}
            '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {}
            c => out.push(c),
        }
    }
    out
}

/// Whether a character is obeyed by terminals or turns text around: nobody sees it as what it is.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn shorten(text: &str, max: usize) -> String {
    let mut out: String = text.chars().take(max.saturating_sub(1)).collect();
    out.truncate(out.trim_end().len());
    out.push(CUT);
    out
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// The fence a line opens, and its info word, at any indentation.
fn opening_fence(line: &str) -> Option<(&str, &str)> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let length = text.len() - rest.len();
    (length >= 3 && !(mark == '`' && rest.contains('`'))).then(|| (&text[..length], rest.trim()))
}

fn closes(line: &str, fence: &str) -> bool {
    let text = line.trim();
    text.len() >= fence.len() && text.chars().all(|c| fence.starts_with(c))
}

/// Lines as they are, in a fence that none of them can close.
fn fenced(lines: &[&str], info: &str) -> String {
    let fence = "`".repeat(lines.iter().map(|l| longest_run(l) + 1).max().unwrap_or(0).max(3));
    let word = info.len() <= 20 && info.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+-".contains(&b));
    let info = if word && !info.is_empty() { info } else { "text" };
    let mut out = format!("{fence}{info}\n");
    for line in lines {
        out.push_str(line);
        out.push('\n');
    }
    out + &fence
}

fn starts_item(line: &str) -> bool {
    let text = line.trim_start();
    bullet(text) || numbered(text).is_some()
}

fn bullet(text: &str) -> bool {
    text.starts_with(['-', '+', '*']) && text[1..].chars().next().is_none_or(|c| c == ' ')
}

/// The position of the `.` or `)` of a list number.
fn numbered(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    ((1..=9).contains(&digits)
        && rest.starts_with(['.', ')'])
        && rest[1..].chars().next().is_none_or(|c| c == ' '))
    .then_some(digits)
}

fn heading(text: &str) -> bool {
    let level = text.bytes().take_while(|b| *b == b'#').count();
    (1..=6).contains(&level) && text[level..].chars().next().is_none_or(|c| c == ' ')
}

/// A rule, the underline of a heading, or the second row of a table.
fn ruled(text: &str) -> bool {
    text.bytes().all(|b| b"-=_*|: ".contains(&b)) && text.bytes().any(|b| b"-=_*".contains(&b))
}

/// Puts a backslash where a line would start a block; `containers` lets lists and quotes start.
///
/// `raw` and `escaped` are the same up to where the first block could start, because no escaped
/// character can stand in a marker.
fn guard(raw: &str, escaped: &str, containers: bool) -> String {
    let mut at = 0;
    let insert = loop {
        at += indent(&raw[at..]);
        let rest = &raw[at..];
        if rest.is_empty() {
            break None;
        }
        if ruled(rest) || heading(rest) || rest.starts_with("~~~") {
            break Some(at);
        }
        if rest.starts_with('>') || bullet(rest) {
            if !containers {
                break Some(at);
            }
            at += 1;
        } else if let Some(end) = numbered(rest) {
            if !containers {
                break Some(at + end);
            }
            at += end + 1;
        } else {
            break None;
        }
    };
    match insert {
        Some(at) => format!("{}\\{}", &escaped[..at], &escaped[at..]),
        None => escaped.to_owned(),
    }
}

#[cfg(test)]
mod tests;
