//! Fingerprints of errors: the lines of a log that tell of trouble, without what differs from run to run.

use std::collections::BTreeSet;

/// So many lines of a log are fingerprinted at most: the first and the last ones.
const MOST: usize = 64;
/// Longer lines are cut.
const LONGEST_LINE: usize = 2_000;

/// Words that make a line one of trouble, in lower case.
const TROUBLE: &[&str] = &[
    "error",
    "fail",
    "exception",
    "assert",
    "panic",
    "fatal",
    "fault",
    "abort",
    "illegal",
    "invalid",
    "mismatch",
    "nan",
    "timeout",
    "timed out",
    "hang",
    "killed",
    "xid",
    "out of memory",
    "overflow",
    "corrupt",
    "refused",
    "denied",
    "unable",
    "cannot",
    "not found",
    "misaligned",
    "race",
    "hazard",
    "leak",
    "traceback",
    "undefined",
    "diverge",
    "incorrect",
    "exceed",
    "max abs",
    "max_abs",
    "deadlock",
    "segmentation",
    "uninitialized",
];

/// An error line and its fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Print {
    /// The fingerprint.
    pub value: i64,
    /// What it was made of.
    pub shape: String,
}

/// The fingerprints of a log, each once, in the order of the lines.
pub fn prints(text: &str) -> Vec<Print> {
    let mut lines: Vec<&str> = text.lines().filter(|l| tells_trouble(l)).collect();
    if lines.len() > MOST {
        let tail = lines.split_off(lines.len() - MOST / 2);
        lines.truncate(MOST / 2);
        lines.extend(tail);
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for line in lines {
        let shape = shape(line);
        // `error:` alone is in every log.
        if shape.split(' ').filter(|w| w.len() > 1 && *w != "<n>").count() < 2 {
            continue;
        }
        let value = super::hash(shape.as_bytes()) as i64;
        if seen.insert(value) {
            found.push(Print { value, shape });
        }
    }
    found
}

fn tells_trouble(line: &str) -> bool {
    let line = cut(line).to_lowercase();
    let word = |at: usize, length: usize| {
        // `nan` is no part of `nanoseconds`, nor `race` of `trace`; longer ones may stand inside of a name.
        let before = line[..at].chars().next_back().is_some_and(char::is_alphabetic);
        let after = line[at + length..].chars().next().is_some_and(char::is_alphabetic);
        length > 4 || !(before || after)
    };
    TROUBLE.iter().any(|t| line.match_indices(t).any(|(at, _)| word(at, t.len())))
}

fn cut(line: &str) -> &str {
    let mut end = line.len().min(LONGEST_LINE);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}

/// A line without what differs from run to run: escapes, times, addresses, numbers, folders.
pub fn shape(line: &str) -> String {
    let line = without_escapes(cut(line));
    let mut shape = String::with_capacity(line.len());
    for word in line.split(|c: char| c.is_whitespace() || "()[]{}<>,;=\"'`|".contains(c)) {
        let word = word.trim_matches(|c: char| ".:!?-*#@&%$^~+".contains(c));
        if word.is_empty() {
            continue;
        }
        // `/a/b/c.cu:12` is `c.cu:12`; `src\x.cpp` as well.
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
        let mut out = String::new();
        for piece in name.split_inclusive([':', '.', '_', '-']) {
            let (body, end) = match piece.char_indices().next_back() {
                Some((at, c)) if ":._-".contains(c) => (&piece[..at], &piece[at..]),
                _ => (piece, ""),
            };
            if varies(body) {
                if !out.ends_with("<n>") {
                    out.push_str("<n>");
                }
            } else {
                out.push_str(&body.to_lowercase());
                out.push_str(end);
            }
        }
        let out = out.trim_end_matches([':', '.', '_', '-']);
        if out.is_empty() || (out == "<n>" && shape.ends_with("<n>")) {
            continue;
        }
        if !shape.is_empty() {
            shape.push(' ');
        }
        shape.push_str(out);
    }
    shape
}

/// Whether a piece is a number, an address, a digest, a time: it begins with a digit, or is long hexadecimal.
fn varies(piece: &str) -> bool {
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    let begins = piece.bytes().next().is_some_and(|b| b.is_ascii_digit());
    // `c1` of a PCI address as well, but not `a100`.
    let hexadecimal =
        (piece.len() >= 8 || piece.len() == 2) && digits > 0 && piece.bytes().all(|b| b.is_ascii_hexdigit());
    begins || hexadecimal
}

fn without_escapes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            if chars.peek() == Some(&'[') {
                chars.next();
                while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            }
        } else {
            out.push(if c.is_control() { ' ' } else { c });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_of_one_error_have_one_fingerprint() {
        let pairs = [
            (
                "2026-01-02 03:04:05,123 ERROR /home/a/run.py:88: CUDA error: an illegal memory access was encountered at 0x7f3a00c0",
                "2026-02-03 13:14:15,999 ERROR /root/other/run.py:91: CUDA error: an illegal memory access was encountered at 0x7eee12aa",
            ),
            (
                "\u{1b}[31mAssertionError\u{1b}[0m: max abs diff 3.1e-2 > 1e-3",
                "AssertionError: max abs diff 0.5 > 1e-3",
            ),
            (
                "NVRM: Xid (PCI:0000:41:00): 79, pid=1234, GPU has fallen off the bus",
                "NVRM: Xid (PCI:0000:c1:00): 79, pid=99, GPU has fallen off the bus",
            ),
        ];
        for (a, b) in pairs {
            let (x, y) = (prints(a), prints(b));
            assert_eq!(x, y, "{a}");
            assert_eq!(x.len(), 1, "{a}: {x:?}");
        }
    }

    #[test]
    fn other_errors_differ_and_quiet_lines_are_passed_over() {
        let a = prints("RuntimeError: CUDA error: misaligned address");
        let b = prints("RuntimeError: CUDA error: an illegal memory access was encountered");
        assert_ne!(a, b);
        assert!(
            prints("step 12 loss 3.2\nelapsed 12 nanoseconds\nloading weights\nstack trace kept").is_empty()
        );
        assert!(prints("error: 12").is_empty());
        let long = "kernel failed with error x\n".repeat(1000) + &"y error of kind z\n".repeat(1000);
        assert_eq!(prints(&long).len(), 2);
    }

    proptest! {
        #[test]
        fn any_log_is_read(text in any::<String>()) {
            let found = prints(&text);
            prop_assert!(found.len() <= MOST);
            for print in found {
                prop_assert!(!print.shape.chars().any(char::is_control));
            }
        }
    }
}
