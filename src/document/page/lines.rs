//! Lines and columns.

/// A place for people: both count from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// Where the lines of a text begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// Finds them. `\n`, `\r\n` and a lone `\r` end a line, as in Markdown.
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            if bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n') {
                starts.push(at + 1);
            }
        }
        Self { starts }
    }

    /// The line and column of an offset of the same text; past its end, of its end.
    pub fn place(&self, text: &str, offset: usize) -> Place {
        let offset = offset.min(text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line.saturating_sub(1)];
        Place { line, column: text.get(start..offset).map_or(1, |before| before.chars().count() + 1) }
    }

    /// The offset where a line begins, counted from 1; the last line's for a greater number.
    pub fn start(&self, line: usize) -> usize {
        self.starts[line.clamp(1, self.starts.len()) - 1]
    }

    /// How many lines there are; a text that ends with a newline has an empty last one.
    pub fn count(&self) -> usize {
        self.starts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_every_line_end_counts_once() {
        let text = "a\r\nbü!\rc\n";
        let lines = Lines::of(text);
        assert_eq!(lines.count(), 4);
        let at = |needle: &str| lines.place(text, text.find(needle).expect("in the text"));
        assert_eq!(at("b"), Place { line: 2, column: 1 });
        assert_eq!(at("!"), Place { line: 2, column: 3 });
        assert_eq!(at("c"), Place { line: 3, column: 1 });
        assert_eq!(lines.place(text, 999), Place { line: 4, column: 1 });
        assert_eq!(&text[lines.start(2)..=lines.start(2)], "b");
    }
}
