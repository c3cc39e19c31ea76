//! Private keys in armour: PEM, OpenSSH and PGP, also indented, quoted, in a diff, in one line of JSON
//! with `\n` for line ends, and cut off before their end.

use std::ops::Range;

/// A key longer than this is not one, in bytes.
const MAX_KEY: usize = 128 * 1024;

const DASHES: &[u8] = b"-----";
const BEGIN: &[u8] = b"-----BEGIN ";

/// The whole block that begins at `start`, where an anchor was seen.
pub(super) fn at(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let label = label(&bytes[start..])?;
    let body = start + BEGIN.len() + label.len() + DASHES.len();
    let after = match closing(bytes, body, label) {
        Ok(after) => after,
        Err(limit) => truncated(&bytes[..limit], body),
    };
    is_key(&bytes[body..after]).then_some(start..after)
}

/// `RSA PRIVATE KEY` of `-----BEGIN RSA PRIVATE KEY-----`.
fn label(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(BEGIN)?;
    let length = rest.iter().take(64).position(|&byte| byte == b'-')?;
    let label = &rest[..length];
    let plain = label.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ');
    let private = label.windows(11).any(|words| words == b"PRIVATE KEY");
    (plain && private && rest[length..].starts_with(DASHES)).then_some(label)
}

/// Offset after the closing line that belongs to the label; else the offset beyond which the key
/// cannot reach (another block begins there, or it would be too long).
fn closing(bytes: &[u8], body: usize, label: &[u8]) -> Result<usize, usize> {
    let limit = bytes.len().min(body + MAX_KEY);
    let mut at = body;
    while let Some(dash) = bytes[at..limit].iter().position(|&byte| byte == b'-') {
        at += dash;
        let rest = &bytes[at..limit];
        if rest.starts_with(BEGIN) {
            return Err(at);
        }
        let after = rest.strip_prefix(b"-----END ").and_then(|rest| rest.strip_prefix(label));
        if after.is_some_and(|rest| rest.starts_with(DASHES)) {
            return Ok(at + b"-----END ".len() + label.len() + DASHES.len());
        }
        at += 1;
    }
    Err(limit)
}

/// Where a key without its last line ends: after the lines that look like its body.
fn truncated(bytes: &[u8], body: usize) -> usize {
    // The rest of the first line: a key in one line of JSON.
    let inline = |byte: &u8| is_base64(*byte) || *byte == b'\\';
    let mut end = body + bytes[body..].iter().take_while(|byte| inline(byte)).count();
    let mut at = body;
    let mut in_data = false;
    for (index, line) in bytes[body..].split_inclusive(|&byte| byte == b'\n').enumerate() {
        let content = &line[..super::content_length(line)];
        let word = last_word(content);
        let base64 = !word.is_empty() && word.iter().all(|&byte| is_base64(byte));
        if base64 && word.len() >= 32 {
            in_data = true;
            end = end.max(at + content.len());
        } else if in_data {
            // The last line of a body is shorter than the others.
            return if base64 { at + content.len() } else { end };
        } else if index > 0
            && !content.trim_ascii().is_empty()
            && !content.windows(2).any(|pair| pair == b": ")
        {
            return end;
        }
        at += line.len();
    }
    end
}

/// What a line ends in, without quotes and commas: log prefixes and indentation come before it.
fn last_word(line: &[u8]) -> &[u8] {
    let is_edge = |byte: &u8| byte.is_ascii_whitespace() || b"\"',;\\".contains(byte);
    let end = line.iter().rposition(|byte| !is_edge(byte)).map_or(0, |at| at + 1);
    let line = &line[..end];
    let start = line.iter().rposition(|byte| is_edge(byte) || b">|#*".contains(byte)).map_or(0, |at| at + 1);
    let word = &line[start..];
    word.strip_prefix(b"-").unwrap_or(word)
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Source code that only names the first and the last line holds no key.
fn is_key(body: &[u8]) -> bool {
    body.split(|&byte| !is_base64(byte)).any(|run| run.len() >= 20)
}

/// What stands before a key on its first line, if it is only what a diff, a quotation or an
/// indentation puts before every line.
pub(super) fn line_prefix(bytes: &[u8], start: usize) -> &[u8] {
    let begin = bytes[..start].iter().rev().take(17).take_while(|byte| b" \t+->|#*".contains(byte)).count();
    let prefix = &bytes[start - begin..start];
    let whole = begin == start || bytes[start - begin - 1] == b'\n';
    if whole { prefix } else { &[] }
}
