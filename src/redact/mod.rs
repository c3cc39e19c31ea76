//! Finds secrets in bytes that are about to be stored, and cuts them out.
//!
//! Logs, diffs and environments become evidence that travels with the repository for ever, so what
//! looks like a credential is replaced by `[redacted:<rule>]` first. The rules are one table,
//! [`rules::RULES`]; a cheap scan for their anchor words comes before any regular expression, and a rule
//! that no line calls for is never compiled. Time is linear in the input, also on one endless line.
//!
//! What this is not: proof that nothing secret is left. A secret without a recognisable shape or name,
//! broken over lines, encrypted or encoded once more goes through; `purge` is for those.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::model::Error;

pub mod rules;

mod binary_patch;
mod filters;
mod key_block;
mod prefilter;
mod scan;
mod value;

pub use scan::scan;
pub use value::{cut, cut_words};

/// One secret in the scanned bytes. Shown as `rule:line:column`, which names it without repeating it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Found {
    /// The rule that found it.
    pub rule: &'static str,
    /// Line of its first byte, from 1.
    pub line: u32,
    /// Column of its first byte, in bytes, from 1.
    pub column: u32,
    /// Offset of its first byte.
    pub start: usize,
    /// Offset after its last byte.
    pub end: usize,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.rule, self.line, self.column)
    }
}

/// A finding that a person looked at and declared harmless.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AllowedFinding {
    /// The rule's name.
    pub rule: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

impl AllowedFinding {
    /// Is it this finding?
    pub fn covers(&self, found: &Found) -> bool {
        self.rule == found.rule && self.line == found.line && self.column == found.column
    }
}

impl FromStr for AllowedFinding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || {
            let shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
            Error::usage(format!("\"{shown}\" is not a finding"))
                .hint("write it as the refusal shows it: rule:line:column, like jwt:12:8")
        };
        let mut parts = text.split(':');
        let (Some(rule), Some(line), Some(column), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        if !rules::RULES.iter().any(|known| known.name == rule) {
            return Err(wrong().because(format!("there is no rule \"{}\"", rule.escape_debug())));
        }
        let number = |digits: &str| digits.parse::<u32>().ok().filter(|&number| number > 0).ok_or_else(wrong);
        Ok(Self { rule: rule.to_owned(), line: number(line)?, column: number(column)? })
    }
}

/// Bytes that may be stored, and what was done to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The bytes; borrowed when nothing was cut.
    pub bytes: Cow<'a, [u8]>,
    /// What was cut, with places in the original bytes.
    pub found: Vec<Found>,
    /// What was found and left because it is allowed.
    pub allowed: Vec<Found>,
}

/// Replaces every secret by `[redacted:<rule>]`.
///
/// Lines are as many afterwards as before; of a secret nothing is kept.
pub fn redact(bytes: &[u8]) -> Redacted<'_> {
    redact_except(bytes, &[])
}

/// Like [`redact`], but leaves the allowed findings alone.
pub fn redact_except<'a>(bytes: &'a [u8], allow: &[AllowedFinding]) -> Redacted<'a> {
    let (allowed, found): (Vec<Found>, Vec<Found>) =
        scan(bytes).into_iter().partition(|found| allow.iter().any(|allowed| allowed.covers(found)));
    if found.is_empty() {
        return Redacted { bytes: Cow::Borrowed(bytes), found, allowed };
    }
    let mut output = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for secret in &found {
        output.extend_from_slice(&bytes[done..secret.start]);
        let prefix = key_block::line_prefix(bytes, secret.start);
        for (index, line) in
            bytes[secret.start..secret.end].split_inclusive(|&byte| byte == b'\n').enumerate()
        {
            let (content, ending) = line.split_at(content_length(line));
            if index > 0 && !prefix.is_empty() && content.starts_with(prefix) {
                output.extend_from_slice(prefix);
            }
            if !content.is_empty() {
                output.extend_from_slice(b"[redacted:");
                output.extend_from_slice(secret.rule.as_bytes());
                output.push(b']');
            }
            output.extend_from_slice(ending);
        }
        done = secret.end;
    }
    output.extend_from_slice(&bytes[done..]);
    Redacted { bytes: Cow::Owned(output), found, allowed }
}

/// [`redact`] for text.
pub fn redact_str(text: &str) -> (Cow<'_, str>, Vec<Found>) {
    let redacted = redact(text.as_bytes());
    let text = match redacted.bytes {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        // Secrets end at ASCII bytes, so what is left is text; the lossy way is for a rule that errs.
        Cow::Owned(bytes) => Cow::Owned(
            String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        ),
    };
    (text, redacted.found)
}

/// Length of a line without its ending.
fn content_length(line: &[u8]) -> usize {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line).len()
}

#[cfg(test)]
mod tests;
