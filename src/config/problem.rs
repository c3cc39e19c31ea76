//! Collects what is wrong with a configuration and says it with line, column and suggestion.

use crate::model::Error;

/// More problems than this are counted, not listed.
const MAX_LISTED: usize = 50;

/// Everything found wrong so far, by byte offset.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<Problem>);

#[derive(Debug)]
struct Problem {
    offset: usize,
    what: String,
    hint: Option<String>,
}

impl Problems {
    pub(super) fn add(&mut self, offset: usize, what: String) {
        self.0.push(Problem { offset, what, hint: None });
    }

    /// Gives the problem that was added last its hint.
    pub(super) fn hint_last(&mut self, hint: impl Into<String>) {
        if let Some(last) = self.0.last_mut() {
            last.hint = Some(hint.into());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One usage error: the first problem of the file, the others as its causes.
    pub(super) fn into_error(mut self, text: &str, path_shown: &str) -> Error {
        self.0.sort_by_key(|problem| problem.offset);
        let total = self.0.len();
        let mut hints: Vec<String> = Vec::new();
        let mut places = Places::new(text);
        let mut error: Option<Error> = None;
        for problem in self.0.into_iter().take(MAX_LISTED) {
            let (line, column) = places.of(problem.offset);
            let message = format!("{path_shown}:{line}:{column}: {}", problem.what);
            error = Some(match error {
                None => Error::usage(message),
                Some(error) => error.because(message),
            });
            hints.extend(problem.hint.filter(|hint| !hints.contains(hint)));
        }
        let mut error =
            error.unwrap_or_else(|| Error::bug(format!("{path_shown}: an error without a problem")));
        if total > MAX_LISTED {
            error = error.because(format!("and {} more", total - MAX_LISTED));
        }
        hints.into_iter().fold(error, Error::hint)
    }
}

/// Lines and columns of offsets asked for in rising order, in one walk over the text.
struct Places<'a> {
    text: &'a str,
    line: usize,
    line_start: usize,
}

impl<'a> Places<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, line: 1, line_start: 0 }
    }

    fn of(&mut self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let bytes = self.text.as_bytes();
        while let Some(length) = bytes[self.line_start..offset].iter().position(|&byte| byte == b'\n') {
            self.line += 1;
            self.line_start += length + 1;
        }
        (self.line, column_of(&bytes[self.line_start..offset]))
    }
}

/// Line and column (both from 1) of a byte offset; columns count characters.
pub(super) fn line_and_column(bytes: &[u8], offset: usize) -> (usize, usize) {
    let before = &bytes[..offset.min(bytes.len())];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = before.split(|&byte| byte == b'\n').count();
    (line, column_of(&before[line_start..]))
}

/// Continuation bytes of UTF-8 do not start a character, so they do not count.
fn column_of(before_on_line: &[u8]) -> usize {
    before_on_line.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() + 1
}

/// `, did you mean …` for a word that is not one of the known ones.
pub(super) fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Distances cost the product of the lengths; no known word is that long.
    if word.len() > 64 {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| format!("did you mean \"{candidate}\"?"))
}
