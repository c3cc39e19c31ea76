//! Plain text: wrapped, aligned, and safe on any terminal.

use std::collections::HashMap;

use comrak::nodes::{ListType, Node, NodeValue, TableAlignment};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::links::{self, Target};
use super::tree::{with_tree, words};

/// The least width that text is wrapped to, however deep it stands.
const NARROWEST: usize = 20;

/// A document as plain text, wrapped at so many columns.
pub fn text(markdown: &str, width: usize) -> String {
    with_tree(markdown, |root| {
        let mut writer = Writer { links: Vec::new(), numbers: HashMap::new() };
        let mut lines = writer.blocks(root, width.max(NARROWEST), false);
        if !writer.links.is_empty() {
            lines.extend([String::new(), "Links".to_owned(), "-----".to_owned(), String::new()]);
            for (n, link) in writer.links.iter().enumerate() {
                lines.push(format!("[{}] {link}", n + 1));
            }
        }
        let mut out = String::new();
        for line in lines {
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    })
}

/// The rows of a table as aligned lines of text.
pub(super) fn table_lines(table: Node<'_>, width: usize) -> Vec<String> {
    Writer { links: Vec::new(), numbers: HashMap::new() }.table(table, width)
}

struct Writer {
    links: Vec<String>,
    /// The number of each link, from 0.
    numbers: HashMap<String, usize>,
}

impl Writer {
    fn blocks(&mut self, parent: Node<'_>, width: usize, tight: bool) -> Vec<String> {
        let width = width.max(NARROWEST);
        let mut lines: Vec<String> = Vec::new();
        let mut in_notes = false;
        for child in parent.children() {
            let own = self.block(child, width);
            if own.is_empty() {
                continue;
            }
            let note = matches!(child.data().value, NodeValue::FootnoteDefinition(_));
            if note && !in_notes {
                lines.extend([String::new(), "Notes".to_owned(), "-----".to_owned()]);
                in_notes = true;
            }
            if !lines.is_empty() && !tight {
                lines.push(String::new());
            }
            lines.extend(own);
        }
        lines
    }

    fn block(&mut self, node: Node<'_>, width: usize) -> Vec<String> {
        match &node.data().value {
            NodeValue::Heading(heading) => {
                let lines = wrap(&self.inline(node), width);
                let longest = lines.iter().map(|l| l.width()).max().unwrap_or(0);
                let under = match heading.level {
                    1 => "=",
                    2 => "-",
                    _ => "~",
                };
                let line = under.repeat(longest);
                if longest == 0 { Vec::new() } else { lines.into_iter().chain([line]).collect() }
            }
            NodeValue::CodeBlock(code) => {
                code.literal.lines().map(|l| format!("    {}", l.replace('\t', "    "))).collect()
            }
            NodeValue::BlockQuote => prefixed(self.blocks(node, width.saturating_sub(2), false), "> ", "> "),
            NodeValue::Alert(alert) => {
                let title = alert.title.clone();
                let title = title.unwrap_or_else(|| alert.alert_type.default_title().to_owned());
                let mut lines = vec![title.to_uppercase()];
                lines.extend(self.blocks(node, width.saturating_sub(2), false));
                prefixed(lines, "! ", "! ")
            }
            NodeValue::List(list) => {
                let mut lines = Vec::new();
                let count = node.children().count();
                let widest = (list.start + count.saturating_sub(1)).to_string().len();
                for (n, item) in node.children().enumerate() {
                    let mut marker = match list.list_type {
                        ListType::Bullet => "- ".to_owned(),
                        ListType::Ordered => format!("{:>widest$}. ", list.start + n),
                    };
                    if let NodeValue::TaskItem(task) = &item.data().value {
                        marker.push_str(if task.symbol.is_some() { "[x] " } else { "[ ] " });
                    }
                    let indent = " ".repeat(marker.len());
                    let own = self.blocks(item, width.saturating_sub(marker.len()), list.tight);
                    if !list.tight && n > 0 {
                        lines.push(String::new());
                    }
                    let own = if own.is_empty() { vec![String::new()] } else { own };
                    lines.extend(prefixed(own, &marker, &indent));
                }
                lines
            }
            NodeValue::Table(_) => self.table(node, width),
            NodeValue::ThematicBreak => vec!["* * *".to_owned()],
            NodeValue::FootnoteDefinition(note) => {
                let marker = format!("(note {}) ", super::tree::tame(&note.name));
                prefixed(self.blocks(node, width.saturating_sub(4), false), &marker, "    ")
            }
            NodeValue::Paragraph => wrap(&self.inline(node), width),
            _ => self.blocks(node, width, false),
        }
    }

    /// The words of a block; a newline where the writer broke the line.
    fn inline(&mut self, parent: Node<'_>) -> String {
        let mut out = String::new();
        for node in parent.children() {
            match &node.data().value {
                NodeValue::Text(text) => out.push_str(text),
                NodeValue::Code(code) => {
                    let ticks = if code.literal.contains('`') { "``" } else { "`" };
                    out.push_str(&format!("{ticks}{}{ticks}", code.literal));
                }
                NodeValue::SoftBreak => out.push(' '),
                NodeValue::LineBreak => out.push('\n'),
                NodeValue::FootnoteReference(note) => {
                    out.push_str(&format!(" (note {})", super::tree::tame(&note.name)));
                }
                NodeValue::Link(link) => {
                    let text = self.inline(node);
                    out.push_str(&text);
                    let known = text.trim() == link.url || link.url == format!("mailto:{}", text.trim());
                    if !known && links::target(&link.url) != Target::Fragment {
                        out.push_str(&self.link(&link.url));
                    }
                }
                NodeValue::Image(link) => {
                    out.push_str(&format!("[picture: {}]", words(node)));
                    if matches!(links::target(&link.url), Target::Web | Target::Relative) {
                        out.push_str(&self.link(&link.url));
                    }
                }
                _ => out.push_str(&self.inline(node)),
            }
        }
        out
    }

    fn link(&mut self, url: &str) -> String {
        let next = self.links.len();
        let at = *self.numbers.entry(url.to_owned()).or_insert(next);
        if at == next {
            self.links.push(url.to_owned());
        }
        format!(" [{}]", at + 1)
    }

    fn table(&mut self, table: Node<'_>, width: usize) -> Vec<String> {
        const GAP: usize = 2;
        let alignments = match &table.data().value {
            NodeValue::Table(table) => table.alignments.clone(),
            _ => Vec::new(),
        };
        let rows: Vec<Vec<String>> = table
            .children()
            .map(|row| row.children().map(|cell| self.inline(cell).trim().to_owned()).collect())
            .collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let natural = |at: usize| {
            let cells = rows.iter().filter_map(|r| r.get(at));
            cells.flat_map(|c| c.split('\n')).map(UnicodeWidthStr::width).max().unwrap_or(0).max(1)
        };
        let mut widths: Vec<usize> = (0..columns).map(natural).collect();
        let room = width.saturating_sub(GAP * columns.saturating_sub(1));
        if room < columns * 6 {
            return named_cells(&rows, width);
        }
        while widths.iter().sum::<usize>() > room {
            // The widest gives way first; what all have in common is kept as long as can be.
            let Some(widest) = (0..columns).max_by_key(|at| widths[*at]) else { break };
            let over = widths.iter().sum::<usize>() - room;
            let second =
                (0..columns).filter(|at| *at != widest).map(|at| widths[at]).max().unwrap_or(6).max(6);
            let step = (widths[widest].saturating_sub(second)).clamp(1, over);
            widths[widest] -= step;
        }
        let mut lines = Vec::new();
        for (n, row) in rows.iter().enumerate() {
            let cells: Vec<Vec<String>> =
                (0..columns).map(|at| wrap(row.get(at).map_or("", String::as_str), widths[at])).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
            for line in 0..height {
                let parts: Vec<String> = (0..columns)
                    .map(|at| {
                        let text = cells[at].get(line).map_or("", String::as_str);
                        let space = widths[at].saturating_sub(text.width());
                        match alignments.get(at) {
                            Some(TableAlignment::Right) => " ".repeat(space) + text,
                            Some(TableAlignment::Center) => {
                                " ".repeat(space / 2) + text + &" ".repeat(space - space / 2)
                            }
                            _ => text.to_owned() + &" ".repeat(space),
                        }
                    })
                    .collect();
                lines.push(parts.join("  ").trim_end().to_owned());
            }
            if n == 0 {
                lines.push(widths.iter().map(|w| "-".repeat(*w)).collect::<Vec<_>>().join("  "));
            }
        }
        lines
    }
}

/// A table that is too wide to stand: each row as a list of its cells with their heads.
fn named_cells(rows: &[Vec<String>], width: usize) -> Vec<String> {
    let Some((head, body)) = rows.split_first() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for row in body {
        for (at, cell) in row.iter().enumerate().filter(|(_, c)| !c.is_empty()) {
            let name = head.get(at).map_or("", String::as_str);
            let marker = if at == 0 { "- " } else { "  " };
            lines.extend(prefixed(wrap(&format!("{name}: {cell}"), width.saturating_sub(2)), marker, "    "));
        }
    }
    lines
}

fn prefixed(lines: Vec<String>, first: &str, rest: &str) -> Vec<String> {
    let prefix = |(n, line): (usize, String)| format!("{}{line}", if n == 0 { first } else { rest });
    lines.into_iter().enumerate().map(prefix).collect()
}

/// Lines of at most so many columns; only a single word may be longer, and of wide characters not even that.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        let mut used = 0;
        for word in paragraph.split_whitespace() {
            let own = word.width();
            if used > 0 && used + 1 + own > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            if own > width && own > word.chars().count() {
                // Scripts without spaces break between any two characters.
                for c in word.chars() {
                    let own = c.width().unwrap_or(0);
                    if used + own > width && used > 0 {
                        lines.push(std::mem::take(&mut line));
                        used = 0;
                    }
                    line.push(c);
                    used += own;
                }
            } else {
                line.push_str(word);
                used += own;
            }
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_document_reads_as_text() {
        let shown = text(
            "# Title\n\nA *long* **line** with `code`, a [link](https://example.org/x), again [here](https://example.org/x), \
             https://example.org and a note[^1].\n\n## Part\n\n1. one\n2. two\n   - [x] done\n   - [ ] open\n\n> quoted\n\n\
             > [!NOTE]\n> said\n\n```\ncode   kept\n```\n\n| what | ms |\n|-|-:|\n| a | 1.5 |\n| 日本 | 200 |\n\n[^1]: The note.\n",
            50,
        );
        assert_eq!(
            shown,
            "Title\n=====\n\nA long line with `code`, a link [1], again here\n[1], https://example.org and a note (note 1).\n\n\
             Part\n----\n\n1. one\n2. two\n   - [x] done\n   - [ ] open\n\n> quoted\n\n! NOTE\n! said\n\n    code   kept\n\n\
             what   ms\n----  ---\na     1.5\n日本  200\n\nNotes\n-----\n\n(note 1) The note.\n\nLinks\n-----\n\n[1] https://example.org/x\n"
        );
    }

    #[test]
    fn wide_tables_fold_or_become_lists() {
        let cell = "many words in one cell ".repeat(6);
        let folded = text(&format!("| a | b |\n|-|-|\n| {cell} | {cell} |"), 60);
        assert!(folded.lines().count() > 5 && folded.lines().all(|l| l.width() <= 60), "{folded}");
        let many = format!("|{}\n|{}\n|{}\n", "h|".repeat(30), "-|".repeat(30), "v|".repeat(30));
        assert!(text(&many, 60).starts_with("- h: v\n  h: v\n"));
    }

    proptest! {
        #[test]
        fn text_is_fit_for_a_terminal(markdown in any::<String>(), width in 0_usize..200) {
            let shown = text(&markdown, width);
            prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control() && !links::hides(c)), "{:?}", shown);
        }

        #[test]
        fn lines_are_short(words in prop::collection::vec("[a-z日本]{1,12}", 1..80), width in 20_usize..100) {
            for line in wrap(&words.join(" "), width) {
                prop_assert!(line.width() <= width.max(24));
            }
        }
    }
}
