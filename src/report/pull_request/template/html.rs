//! Which HTML elements of a template are open: what stands in one is folded away, deleted or swallowed with it.

/// Elements without an end.
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

/// More open elements than this are as bad as any number.
const MOST: usize = 64;

/// What is open after the HTML that was read so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Html {
    open: Vec<String>,
    comment: bool,
    /// A tag without an end: what it swallows is the browser's guess.
    lost: bool,
}

impl Html {
    /// Whether what stands here is inside of something.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty() || self.comment || self.lost
    }

    /// Reads raw HTML as it stands in the rendered page.
    pub(super) fn read(&mut self, text: &str) {
        let mut rest = text;
        while !self.lost {
            if self.comment {
                let Some(end) = rest.find("-->") else { return };
                rest = &rest[end + 3..];
                self.comment = false;
            }
            let Some(at) = rest.find('<') else { return };
            rest = &rest[at + 1..];
            if let Some(comment) = rest.strip_prefix("!--") {
                self.comment = true;
                // `<!-->` and `<!--->` are whole comments.
                rest =
                    if comment.starts_with('>') || comment.starts_with("->") { &rest[1..] } else { comment };
                continue;
            }
            let end_tag = rest.starts_with('/');
            let name_at = usize::from(end_tag);
            let length = rest[name_at..].bytes().take_while(u8::is_ascii_alphanumeric).count();
            let name = rest[name_at..name_at + length].to_ascii_lowercase();
            let instruction = rest.starts_with(['!', '?']);
            if name.is_empty() && !instruction {
                continue;
            }
            let Some(end) = tag_end(rest) else {
                self.lost = true;
                return;
            };
            let closed = rest[..end].ends_with('/');
            rest = &rest[end + 1..];
            if instruction || VOID.contains(&name.as_str()) {
                continue;
            }
            if end_tag {
                if let Some(at) = self.open.iter().rposition(|open| *open == name) {
                    self.open.truncate(at);
                }
            } else if !(closed && name == "a") {
                if self.open.len() >= MOST {
                    self.lost = true;
                    return;
                }
                self.open.push(name);
            }
        }
    }
}

/// The position of the `>` that ends a tag: not one in quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_known() {
        for (html, open) in [
            ("<details>\n<summary>x</summary>", true),
            ("<details><summary>x</summary></details>", false),
            ("<br><img src=\"a>b\"><hr/>", false),
            ("<!-- a > b", true),
            ("<!-- a --> <!-->", false),
            ("<!--->", false),
            ("<div title=\"", true),
            ("</details></p>", false),
            ("<a name=\"x\"/>", false),
            ("<table><tr><td>", true),
            ("a < b", false),
            ("<!doctype html><?php x ?>", false),
        ] {
            let mut state = Html::default();
            state.read(html);
            assert_eq!(state.is_open(), open, "{html}");
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics(parts in proptest::collection::vec("[<>!/\"'a-c-]{0,9}", 0..6)) {
            let mut state = Html::default();
            for part in &parts {
                state.read(part);
            }
            let _ = state.is_open();
        }
    }
}
