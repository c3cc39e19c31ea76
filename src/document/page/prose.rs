//! The prose of a leaf: its plain text, each piece with its place in the source, and its sentences.

use std::ops::Range;

/// What a piece of prose is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Words.
    Text,
    /// A code span: an identifier, never a word of the sentence.
    Code,
    /// The text of a link.
    Link,
    /// A break between two lines of the source, a space in the prose.
    Break,
}

/// A piece of prose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Where it stands in the plain text.
    pub plain: Range<usize>,
    /// Where it stands in the source.
    pub source: Range<usize>,
    /// What it is.
    pub kind: SpanKind,
}

/// Plain text with its places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prose {
    /// Without emphasis, escapes, link targets and line ends; code spans without their backticks.
    pub text: String,
    /// Its pieces, in order, covering it.
    pub spans: Vec<Span>,
    /// Where links lead: the destination, and the source of the whole link.
    pub links: Vec<(String, Range<usize>)>,
}

impl Prose {
    /// Adds a piece. `source` is where it stands; entities and escapes may make it longer than the text.
    pub(super) fn push(&mut self, text: &str, source: Range<usize>, kind: SpanKind) {
        let start = self.text.len();
        self.text.push_str(text);
        self.spans.push(Span { plain: start..self.text.len(), source, kind });
    }

    /// The source range of a range of the plain text: exact within plain words, the whole piece where the two differ.
    pub fn source(&self, plain: &Range<usize>) -> Range<usize> {
        let start = self.offset(plain.start, false);
        let end = self.offset(plain.end, true);
        start..end.max(start)
    }

    fn offset(&self, plain: usize, end: bool) -> usize {
        let at = self.spans.partition_point(|s| if end { s.plain.end < plain } else { s.plain.end <= plain });
        let Some(span) = self.spans.get(at).or(self.spans.last()) else {
            return 0;
        };
        if span.plain.len() == span.source.len() {
            return span.source.start + plain.clamp(span.plain.start, span.plain.end) - span.plain.start;
        }
        if span.kind == SpanKind::Code {
            // Backticks on both sides: inside them the places are exact.
            let inner = (span.source.len() - span.plain.len().min(span.source.len())) / 2;
            return span.source.start + inner + plain.clamp(span.plain.start, span.plain.end)
                - span.plain.start;
        }
        if end { span.source.end } else { span.source.start }
    }

    /// Whether a range of the plain text touches a code span.
    pub fn is_code(&self, plain: &Range<usize>) -> bool {
        // Pieces are in order: a paragraph may hold very many.
        let from = self.spans.partition_point(|s| s.plain.end <= plain.start);
        self.spans[from..].iter().take_while(|s| s.plain.start < plain.end).any(|s| s.kind == SpanKind::Code)
    }

    /// The plain text with every code span overwritten by as many underscores: for rules that read words.
    pub fn words_only(&self) -> String {
        let mut text = String::with_capacity(self.text.len());
        for span in &self.spans {
            match span.kind {
                SpanKind::Code => text.extend(std::iter::repeat_n('_', span.plain.len())),
                _ => text.push_str(&self.text[span.plain.clone()]),
            }
        }
        text
    }

    /// The sentences, as trimmed ranges of the plain text.
    ///
    /// A sentence ends at `.`, `!`, `?` (closing quotes and brackets included) before white space and something that
    /// can begin a sentence: not after abbreviations and initials, never within code.
    pub fn sentences(&self) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut start = 0;
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(offset) = bytes.get(at..).and_then(|rest| memchr::memchr3(b'.', b'!', b'?', rest)) {
            let stop = at + offset;
            at = stop + 1;
            while let Some(closing) = self.text[at..].chars().next().filter(|c| ".!?)]\"'”’".contains(*c))
            {
                at += closing.len_utf8();
            }
            let rest = &self.text[at..];
            let begins = rest.trim_start().chars().next();
            if !rest.starts_with(char::is_whitespace)
                || begins.is_some_and(char::is_lowercase) && bytes[stop] == b'.'
                || bytes[stop] == b'.' && is_abbreviation(&self.text[start..stop])
                || self.is_code(&(stop..stop + 1))
            {
                continue;
            }
            push_trimmed(&self.text, start..at, &mut found);
            start = at;
        }
        push_trimmed(&self.text, start..self.text.len(), &mut found);
        found
    }
}

fn push_trimmed(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let inside = &text[range.clone()];
    let start = range.start + inside.len() - inside.trim_start().len();
    let end = range.end - (inside.len() - inside.trim_end().len());
    if start < end {
        found.push(start..end);
    }
}

/// Whether a full stop after `before` belongs to its last word.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    initial && !matches!(word, "A" | "I")
        || [
            "e.g", "i.e", "etc", "vs", "cf", "approx", "Dr", "Mr", "Mrs", "Ms", "St", "Fig", "fig", "al",
            "resp", "ca",
        ]
        .contains(&word)
}
