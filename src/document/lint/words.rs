//! Reading words: expressions, and prose without what is not the writer's own.

use std::ops::Range;

use regex::Regex;

use crate::document::page::{Kind, Leaf, Prose};
use crate::document::pattern;

/// Compiles one of our own expressions, blind to case.
pub(super) fn re(pattern: &str) -> Regex {
    re_case(&format!("(?i){pattern}"))
}

/// As [`re`], but case counts. Word boundaries look at ASCII only, which keeps the fast engine.
pub(super) fn re_case(expression: &str) -> Regex {
    pattern::constant(&expression.replace(r"\b", r"(?-u:\b)"))
}

/// The longest quotation; an unbalanced mark must not blank half a document.
const LONGEST_QUOTE: usize = 400;

/// The words of a leaf: code spans become underscores and quotations spaces, so that places stay.
pub(super) fn mask(leaf: &Leaf) -> String {
    if matches!(leaf.kind, Kind::Code(_)) {
        return String::new();
    }
    let mut text = leaf.prose.words_only();
    for range in quotations(&text) {
        let blank = " ".repeat(range.len());
        text.replace_range(range, &blank);
    }
    text
}

/// What stands between quotation marks, marks included.
fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(char, usize)> = None;
    for (at, c) in text.char_indices() {
        match (c, open) {
            ('"', Some(('"', start))) | ('”', Some(('“', start))) if at - start <= LONGEST_QUOTE => {
                found.push(start..at + c.len_utf8());
                open = None;
            }
            ('"' | '“', None) => open = Some((c, at)),
            ('"' | '“', Some((_, start))) if at - start > LONGEST_QUOTE => open = Some((c, at)),
            _ => {}
        }
    }
    found
}

/// Up to `reach` bytes before an offset.
pub(super) fn before(text: &str, at: usize, reach: usize) -> &str {
    let mut start = at.saturating_sub(reach);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..at]
}

/// Up to `reach` bytes behind an offset.
pub(super) fn after(text: &str, at: usize, reach: usize) -> &str {
    let mut end = (at + reach).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[at..end]
}

/// The longest paragraph whose sentences are told apart for each question; in a longer one the words around must do.
const LONGEST_PARAGRAPH: usize = 16 << 10;

/// The sentence that holds an offset of the plain text.
pub(super) fn sentence_at(prose: &Prose, at: usize) -> Range<usize> {
    if prose.text.len() > LONGEST_PARAGRAPH {
        let (front, back) = (before(&prose.text, at, 200), after(&prose.text, at, 200));
        return at - front.len()..at + back.len();
    }
    let all = prose.sentences();
    all.into_iter().find(|s| at < s.end).unwrap_or(0..prose.text.len())
}

/// A count and its noun.
pub(super) fn one_or_many(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// A number as people write it: digits with separators of thousands, or words.
pub(super) fn number(text: &str) -> Option<u64> {
    const WORDS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let lower = text.to_lowercase();
    if let Some(at) = WORDS.iter().position(|w| *w == lower) {
        return Some(at as u64);
    }
    if let Some(at) = TENS.iter().position(|w| *w == lower) {
        return Some(at as u64 * 10 + 20);
    }
    for (unit, each) in [("hundred", 100), ("thousand", 1000), ("k", 1000)] {
        if let Some(many) = lower.strip_suffix(unit) {
            let many = many.trim_end();
            return if matches!(many, "" | "a") && unit != "k" {
                Some(each)
            } else {
                number(many).and_then(|n| n.checked_mul(each))
            };
        }
    }
    let digits: String = text.chars().filter(|c| !matches!(c, ',' | '_' | '\u{202f}' | '’' | '\'')).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::page::Page;

    #[test]
    fn code_and_quotations_are_blanked_in_place() {
        let text = "He said “it broke” and \"we `fix` it\" then `x y` ran";
        let page = Page::parse(text);
        let masked = mask(&page.leaves[0]);
        assert_eq!(masked.len(), page.leaves[0].prose.text.len());
        assert!(masked.starts_with("He said") && masked.contains("and") && masked.ends_with("then ___ ran"));
        assert!(!masked.contains("broke") && !masked.contains("fix"));
    }

    #[test]
    fn numbers_are_read_as_written() {
        assert_eq!(number("10,000"), Some(10_000));
        assert_eq!(number("Three"), Some(3));
        assert_eq!(number("10k"), Some(10_000));
        assert_eq!(number("two hundred"), Some(200));
        assert_eq!(number("a thousand"), Some(1000));
        for text in ["x", "k", "99999999999999999999k"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
