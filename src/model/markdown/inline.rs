//! The escaping within one line.

use std::sync::LazyLock;

use regex::Regex;

use super::Place;

/// A keyword by which GitHub closes an issue when the request is merged, and the issue; marks of emphasis between
/// them are not seen in what is rendered.
static CLOSING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)\A((?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)[:*_~]*[\s*_~]+)",
        r"((?:[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)?#[0-9]+|gh-[0-9]+|",
        r"https?://[A-Za-z0-9_./-]+/(?:issues|pull)/[0-9]+)",
    ))
    .expect("the pattern is fixed")
});

/// Someone or a team that a forge would call.
static MENTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A@[A-Za-z0-9][A-Za-z0-9_-]*(?:/[A-Za-z0-9_.-]+)?").expect("the pattern is fixed")
});

/// Escapes a line so that it holds no link, image, HTML, entity or open code span.
pub(super) fn escape(text: &str, place: Place) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len() + 16);
    let mut i = 0;
    while let Some(byte) = bytes.get(i).copied() {
        match byte {
            b'\\' => match bytes.get(i + 1) {
                // What is rendered has no backslash, and a forge acts on what is rendered.
                Some(b'@' | b'#') if place == Place::Forge => {
                    out.push_str("\\\\");
                    i += 1;
                }
                Some(next) if next.is_ascii_punctuation() => {
                    out.push_str(&text[i..i + 2]);
                    i += 2;
                }
                // A backslash at the end would escape whatever is written after the text.
                next => {
                    out.push_str(if next.is_some() { "\\" } else { "\\\\" });
                    i += 1;
                }
            },
            b'`' => {
                let run = bytes[i..].iter().take_while(|b| **b == b'`').count();
                if let Some(end) = closing(bytes, i + run, run) {
                    out.push_str(&text[i..end]);
                    i = end;
                } else {
                    out.push_str(&"\\`".repeat(run));
                    i += run;
                }
            }
            b'<' | b'[' => {
                out.push('\\');
                out.push(char::from(byte));
                i += 1;
            }
            b'&' => {
                let entity = bytes.get(i + 1).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'#');
                out.push_str(if entity { "\\&" } else { "&" });
                i += 1;
            }
            _ => {
                if place == Place::Forge
                    && let Some((kept, shown)) = calls(&out, text, i)
                {
                    out.push_str(&text[i..i + kept]);
                    if out.ends_with('`') {
                        out.push(' ');
                    }
                    out.push('`');
                    out.push_str(&text[i + kept..i + kept + shown]);
                    out.push('`');
                    i += kept + shown;
                    if bytes.get(i) == Some(&b'`') {
                        out.push(' ');
                    }
                    continue;
                }
                let length = text[i..].chars().next().map_or(1, char::len_utf8);
                out.push_str(&text[i..i + length]);
                i += length;
            }
        }
    }
    out
}

/// As [`escape`], for a line that follows another one of the same text: a keyword may stand at the end of that one
/// and the issue that it closes at the start of this one.
pub(super) fn escape_after(before: &str, text: &str, place: Place) -> String {
    let before = before.trim_end_matches(['*', '_', '~', ' ']);
    let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != ':').next().unwrap_or_default();
    if place == Place::Forge && !word.is_empty() && CLOSING.is_match(&format!("{word} #1")) {
        let escaped = escape(&format!("fixes {text}"), place);
        if let Some(rest) = escaped.strip_prefix("fixes ") {
            return rest.to_owned();
        }
    }
    escape(text, place)
}

/// The end of the code span whose opening run ends at `from`.
fn closing(bytes: &[u8], from: usize, run: usize) -> Option<usize> {
    let mut i = from;
    while i < bytes.len() {
        if bytes[i] == b'`' {
            let length = bytes[i..].iter().take_while(|b| **b == b'`').count();
            if length == run {
                return Some(i + length);
            }
            i += length;
        } else {
            i += 1;
        }
    }
    None
}

/// Whether something at `i` makes a forge act: bytes to keep, then bytes to show as code.
fn calls(written: &str, text: &str, i: usize) -> Option<(usize, usize)> {
    let byte = text.as_bytes()[i];
    if !matches!(byte, b'@' | b'c' | b'C' | b'f' | b'F' | b'r' | b'R') {
        return None;
    }
    // What stands before it once it is written: after a code span a word begins anew, and after a mark of emphasis,
    // which is not seen in what is rendered.
    if written.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    if byte == b'@' {
        return MENTION.find(&text[i..]).map(|m| (0, m.end()));
    }
    let found = CLOSING.captures(&text[i..])?;
    let reference = found.get(2)?;
    Some((reference.start(), reference.len()))
}
