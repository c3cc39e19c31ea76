//! Reads the final trailer block of a message by the rules of `git interpret-trailers`.
//!
//! The rules, as git documents and applies them: the block is the last paragraph, never the first;
//! comment lines, a scissors line with all below it, and an old `Conflicts:` list at the end do not
//! count; all its lines are trailers, or at least one is made by git (`Signed-off-by: `,
//! `(cherry picked from commit `) and at least a quarter are trailers; a line that starts with
//! white space continues the one before. `---` is no divider here: in a commit it is text.

use std::borrow::Cow;
use std::ops::Range;

/// The line below which git ignores everything, after the comment string and a space.
const SCISSORS: &[u8] = b"------------------------ >8 ------------------------\n";
const MADE_BY_GIT: [&[u8]; 2] = [b"Signed-off-by: ", b"(cherry picked from commit "];

/// One trailer, its folded lines joined by single spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailer {
    /// What stands before the colon, as written.
    pub key: String,
    /// What stands after it, trimmed; may be empty.
    pub value: String,
}

/// The trailers of the final block, in order. `comment` is what starts a comment line, `#` for
/// messages of commits (git's own readers ignore such lines too).
pub fn read(message: &[u8], comment: &str) -> Vec<Trailer> {
    let message = &*complete(until_nul(message));
    let comment = comment.as_bytes();
    let end = body_end_of(message, comment);
    let Some(start) = block_start(&message[..end], comment) else {
        return Vec::new();
    };

    let mut items: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut open = false;
    for line in lines(message, start..end) {
        let line = &message[line];
        if open
            && line.first().copied().is_some_and(is_space)
            && let Some((_, item)) = items.last_mut()
        {
            item.extend_from_slice(line);
            continue;
        }
        let separator = separator(line);
        open = separator.is_some();
        if let Some(at) = separator
            && !line.starts_with(comment)
        {
            items.push((at, line.to_vec()));
        } else {
            // A placeholder keeps continuation lines of something else from joining a trailer.
            items.push((usize::MAX, Vec::new()));
        }
    }
    items
        .into_iter()
        .filter(|(at, _)| *at != usize::MAX)
        .map(|(at, item)| Trailer { key: text(trim(&item[..at])), value: unfold(&item[at + 1..]) })
        .collect()
}

/// The values of the trailers with that key (compared without case, as git does).
pub fn values(message: &[u8], comment: &str, key: &str) -> Vec<String> {
    read(message, comment)
        .into_iter()
        .filter(|trailer| trailer.key.eq_ignore_ascii_case(key))
        .map(|trailer| trailer.value)
        .collect()
}

/// Where the message ends for git, in bytes: before the trailing comments and blank lines, or the
/// scissors line.
pub fn body_end(message: &[u8], comment: &str) -> usize {
    let message = until_nul(message);
    body_end_of(&complete(message), comment.as_bytes()).min(message.len())
}

/// Where the scissors line starts, or the length of the message without one.
pub(super) fn scissors(message: &[u8], comment: &[u8]) -> usize {
    let mut at = 0;
    while at < message.len() {
        let line = &message[at..];
        if line
            .strip_prefix(comment)
            .and_then(|rest| rest.strip_prefix(b" "))
            .is_some_and(|rest| rest.starts_with(SCISSORS))
        {
            return at;
        }
        at = next_line(message, at);
    }
    message.len()
}

fn body_end_of(message: &[u8], comment: &[u8]) -> usize {
    let cutoff = scissors(message, comment);
    let mut ignored_from: Option<usize> = None;
    let mut in_conflicts = false;
    let mut at = 0;
    while at < cutoff {
        let line = &message[at..];
        if line[..cutoff - at].starts_with(comment) || line[0] == b'\n' {
            ignored_from.get_or_insert(at);
        } else if line.starts_with(b"Conflicts:\n") {
            in_conflicts = true;
            ignored_from.get_or_insert(at);
        } else if in_conflicts && line[0] == b'\t' {
            // A path of the list.
        } else if ignored_from.is_some() {
            ignored_from = None;
            in_conflicts = false;
        }
        at = next_line(message, at);
    }
    ignored_from.unwrap_or(cutoff)
}

/// Where the trailer block of a message without its ignored end starts.
fn block_start(message: &[u8], comment: &[u8]) -> Option<usize> {
    let mut end_of_title = 0;
    while end_of_title < message.len() {
        let line = &message[end_of_title..];
        if !line.starts_with(comment) && is_blank(line) {
            break;
        }
        end_of_title = next_line(message, end_of_title);
    }

    let mut only_blank = true;
    let mut by_git = false;
    let (mut trailers, mut others, mut continuations) = (0_usize, 0_usize, 0_usize);
    let mut end = message.len();
    while let Some(at) = last_line(message, end) {
        if at < end_of_title {
            return None;
        }
        end = at;
        let line = &message[at..];
        if line.starts_with(comment) {
            others += continuations;
            continuations = 0;
        } else if is_blank(line) {
            if only_blank {
                continue;
            }
            others += continuations;
            let enough = if by_git { trailers * 3 >= others } else { trailers > 0 && others == 0 };
            return enough.then(|| next_line(message, at));
        } else {
            only_blank = false;
            if MADE_BY_GIT.iter().any(|prefix| line.starts_with(prefix)) {
                trailers += 1;
                continuations = 0;
                by_git = true;
            } else if is_space(line[0]) {
                continuations += 1;
            } else if separator(line).is_some() {
                trailers += 1;
                continuations = 0;
            } else {
                others += 1 + continuations;
                continuations = 0;
            }
        }
    }
    None
}

fn until_nul(message: &[u8]) -> &[u8] {
    message.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The message with its last line ended, as git reads it.
pub(super) fn complete(message: &[u8]) -> Cow<'_, [u8]> {
    if message.last().is_none_or(|byte| *byte == b'\n') {
        return Cow::Borrowed(message);
    }
    Cow::Owned([message, b"\n"].concat())
}

/// Where the line after the one at `at` starts.
fn next_line(message: &[u8], at: usize) -> usize {
    message[at..].iter().position(|byte| *byte == b'\n').map_or(message.len(), |length| at + length + 1)
}

/// Where the last line of `message[..end]` starts.
fn last_line(message: &[u8], end: usize) -> Option<usize> {
    if end == 0 {
        return None;
    }
    Some(message[..end - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1))
}

fn lines(message: &[u8], range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        if at >= range.end {
            return None;
        }
        let start = at;
        at = next_line(message, start).min(range.end);
        Some(start..at)
    })
}

/// White space as git sees it, whatever the locale.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().take_while(|byte| **byte != b'\n').all(|byte| is_space(*byte))
}

/// Where the colon after a key stands: letters, digits and hyphens, then white space, then `:`.
fn separator(line: &[u8]) -> Option<usize> {
    let key = line.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-')?;
    let space = line[key..].iter().position(|byte| *byte != b' ' && *byte != b'\t')?;
    (key > 0 && line[key + space] == b':').then_some(key + space)
}

fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_space(*first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && is_space(*last)
    {
        bytes = rest;
    }
    bytes
}

fn unfold(value: &[u8]) -> String {
    let value = trim(value);
    let mut out = Vec::with_capacity(value.len());
    let mut at = 0;
    while at < value.len() {
        if value[at] == b'\n' {
            while at < value.len() && is_space(value[at]) {
                at += 1;
            }
            out.push(b' ');
        } else {
            out.push(value[at]);
            at += 1;
        }
    }
    text(trim(&out))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::git::program::{Git, installed_for_tests};

    /// What git itself says about a message.
    fn by_git(program: &str, message: &[u8]) -> Vec<String> {
        let out = Git::at("/")
            .program(program)
            .env("GIT_DIR", "/nonexistent")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .call(["interpret-trailers", "--parse", "--no-divider"])
            .stdin(message)
            .bytes()
            .unwrap();
        String::from_utf8_lossy(&out).lines().map(str::to_owned).collect()
    }

    fn by_us(message: &[u8]) -> Vec<String> {
        read(message, "#").into_iter().map(|trailer| format!("{}: {}", trailer.key, trailer.value)).collect()
    }

    #[test]
    fn agrees_with_git_on_the_cases_that_matter() {
        let cut = String::from_utf8_lossy(SCISSORS);
        let cases = [
            String::new(),
            "Key: in the title\n".into(),
            "subject\nKey: still the title\n".into(),
            "subject\n\nIncident: 1\nAttempt: 2\n".into(),
            "subject\n\nIncident: 1\n\nnot the last block\n".into(),
            "subject\n\nKey: v\nnot a trailer\n".into(),
            "subject\n\nSigned-off-by: a\nx\ny\nz\n".into(),
            "subject\n\nSigned-off-by: a\nx\ny\nz\nw\n".into(),
            "subject\n\nKey: v\n (cherry picked from commit 1)\n(cherry picked from commit 2)\n".into(),
            "subject\n\nKey: folded\n  over\n\tthree lines  \n".into(),
            "subject\n\n folded first\nKey: v\n".into(),
            "subject\n\nKey: v\n# comment\nOther: w\n# last\n".into(),
            "subject\n\nKey: v\n# comment\n  not a continuation\nOther: w\n".into(),
            format!("subject\n\nKey: v\n# {cut}diff\n\nNo: z\n"),
            "subject\n\nKey: v\n---\nfile\n\nYes: z\n".into(),
            "subject\r\n\r\nKey: v\r\nOther: w\r\n".into(),
            "subject\n\nKey : v\nOther:w\nEmpty:\n".into(),
            "subject\n\nKey: v\n\nConflicts:\n\tfile\n".into(),
            "subject\n\nhttps://example.org\n".into(),
            "subject\n\nWith space: v\nKey: v\n".into(),
            "subject\n   \nKey: v\n \n".into(),
            "# comment\n\nKey: v\n".into(),
            "\n\nKey: v".into(),
        ];
        for program in installed_for_tests() {
            for case in &cases {
                assert_eq!(by_us(case.as_bytes()), by_git(program, case.as_bytes()), "{program}: {case:?}");
            }
        }
    }

    #[test]
    fn keys_are_found_without_case_and_in_the_final_block_only() {
        let message = b"s\n\nIncident: no\n\nincident: 1\nINCIDENT: 2\n";
        assert_eq!(values(message, "#", "Incident"), ["1", "2"]);
        assert_eq!(body_end(b"s\n\n# c\n\n", "#"), 2);
    }

    fn message() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            4 => "[A-Z][a-z-]{0,5}: [a-z ]{0,6}",
            2 => Just("Signed-off-by: A <a@example.org>".to_owned()),
            1 => Just("(cherry picked from commit 12ab)".to_owned()),
            2 => Just(String::new()),
            1 => "[ \t\r]{1,2}",
            2 => "[ \t][a-z:]{1,4}",
            2 => "# ?[a-z:]{0,4}",
            1 => Just(format!("# {}", String::from_utf8_lossy(&SCISSORS[..SCISSORS.len() - 1]))),
            1 => Just("Conflicts:".to_owned()),
            1 => Just("---".to_owned()),
            2 => "[a-z]{1,4}[ :]?[a-z]{0,3}\r?",
            1 => "[ -~]{0,6}",
        ];
        // The last line always ends: versions disagree about one that does not, and commits have none.
        (prop::collection::vec(line, 0..9), any::<bool>()).prop_map(|(lines, title)| {
            let title = if title { "subject\n\n" } else { "" };
            format!("{title}{}\n", lines.join("\n"))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_git(message in message()) {
            prop_assert_eq!(by_us(message.as_bytes()), by_git("git", message.as_bytes()));
        }

        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), comment in "[#;]{1,2}") {
            let _ = read(&bytes, &comment);
            prop_assert!(body_end(&bytes, &comment) <= bytes.len());
        }
    }
}
