//! A document as a tree that may be shown: comrak's, with everything taken out that a stranger could use.
//!
//! Every format starts from here, so what is safe is decided once. After [`with_tree`] has prepared it, a tree holds
//! no raw HTML, no link that leads elsewhere than [`links::target`] allows, no character that hides others or speaks to
//! a terminal, and nothing nested deeper than [`DEEPEST`]: the formats may walk it by recursion.

use std::borrow::Cow;
use std::collections::HashSet;

use comrak::nodes::{AstNode, Node, NodeCodeBlock, NodeValue};
use comrak::{Arena, Options, parse_document};

use super::links::{self, Target};

/// Blocks and spans within each other that are kept; deeper ones lose their quote, list or emphasis and keep their
/// words. GitHub's own limits are of this order, and no person writes so.
pub const DEEPEST: usize = 40;

/// Reads a document as GitHub does, prepares it, and hands it over.
pub fn with_tree<T>(markdown: &str, show: impl for<'a> FnOnce(Node<'a>) -> T) -> T {
    let arena = Arena::new();
    let root = parse_document(&arena, &bounded(markdown), &options());
    prepare(&arena, root);
    show(root)
}

/// Marks of quotes and lists at the start of one line that the parser is given: its time grows with the square of them.
const MOST_MARKS: usize = 100;

/// The document with a backslash behind the first [`MOST_MARKS`] marks of a line, so that the rest of them are words.
fn bounded(markdown: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut start = 0;
    // A carriage return alone ends a line, too.
    for line in markdown.split_inclusive(['\n', '\r']) {
        if line.len() > MOST_MARKS
            && let Some(at) = too_many_marks(line)
        {
            out.push_str(&markdown[copied..start + at]);
            out.push('\\');
            copied = start + at;
        }
        start += line.len();
    }
    if copied == 0 {
        return Cow::Borrowed(markdown);
    }
    out.push_str(&markdown[copied..]);
    Cow::Owned(out)
}

/// Where the first mark beyond the bound stands.
fn too_many_marks(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let (mut at, mut marks) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let digits = bytes[at..].iter().take(9).take_while(|b| b.is_ascii_digit()).count();
        let end = at + digits + 1;
        let blank = |at: usize| bytes.get(at).is_some_and(|b| matches!(b, b' ' | b'\t'));
        let mark = match byte {
            b' ' | b'\t' => {
                at += 1;
                continue;
            }
            b'>' => at..at + 1,
            b'-' | b'*' | b'+' if blank(at + 1) => at..at + 1,
            // The point is what makes it a number of a list, so the backslash stands before it.
            b'0'..=b'9' if matches!(bytes.get(end - 1), Some(b'.' | b')')) && blank(end) => end - 1..end,
            _ => return None,
        };
        if marks == MOST_MARKS {
            // A line of nothing but `- - -` is a rule.
            let first = line.trim_start().as_bytes().first();
            let rule = line.bytes().all(|b| Some(&b) == first || b.is_ascii_whitespace());
            return (*byte == b'>' || !rule).then_some(mark.start);
        }
        marks += 1;
        at = mark.end;
    }
    None
}

/// What GitHub understands; raw HTML off.
pub(super) fn options() -> Options<'static> {
    let mut options = Options::default();
    let e = &mut options.extension;
    e.strikethrough = true;
    e.table = true;
    e.autolink = true;
    e.tasklist = true;
    e.footnotes = true;
    e.alerts = true;
    e.front_matter_delimiter = Some("---".to_owned());
    options.render.gfm_quirks = true;
    options
}

/// The words of a node: its text and code, breaks as spaces.
pub fn words(node: Node<'_>) -> String {
    let mut text = String::new();
    for inner in node.descendants() {
        match &inner.data().value {
            NodeValue::Text(words) => text.push_str(words),
            NodeValue::Code(code) => text.push_str(&code.literal),
            NodeValue::CodeBlock(code) => text.push_str(&code.literal),
            NodeValue::SoftBreak | NodeValue::LineBreak => text.push(' '),
            _ => {}
        }
    }
    text
}

/// Takes the frame off a footnote that was defined before: two would bear one name. Its words stay.
fn one_note_a_name<'a>(root: Node<'a>) {
    let mut seen = HashSet::new();
    let notes: Vec<Node<'a>> = root.children().collect();
    for note in notes {
        let name = match &note.data().value {
            NodeValue::FootnoteDefinition(definition) => definition.name.clone(),
            _ => continue,
        };
        if !seen.insert(name) {
            let children: Vec<Node<'a>> = note.children().collect();
            for child in children {
                note.insert_before(child);
            }
            note.detach();
        }
    }
}

fn prepare<'a>(arena: &'a Arena<'a>, root: Node<'a>) {
    one_note_a_name(root);
    let mut todo: Vec<(Node<'a>, usize)> = vec![(root, 0)];
    while let Some((node, depth)) = todo.pop() {
        if let Some(deeper) = one(arena, node, depth) {
            todo.extend(node.children().map(|child| (child, deeper)));
        } else {
            // Gone, its children in its place: they are looked at in their own right.
            let children: Vec<Node<'a>> = node.children().collect();
            for child in children {
                node.insert_before(child);
                todo.push((child, depth));
            }
            node.detach();
        }
    }
}

/// Prepares one node. The depth of its children; `None` when it must go and leave its children.
fn one<'a>(arena: &'a Arena<'a>, node: Node<'a>, depth: usize) -> Option<usize> {
    let mut data = node.data_mut();
    let nests = match &mut data.value {
        NodeValue::HtmlInline(html) => {
            if is_break(html) {
                data.value = NodeValue::LineBreak;
            } else {
                return None;
            }
            false
        }
        NodeValue::HtmlBlock(html) => {
            let words = words_of_html(&html.literal);
            if words.is_empty() {
                return None;
            }
            data.value = NodeValue::Paragraph;
            drop(data);
            node.append(arena.alloc(AstNode::from(NodeValue::Text(Cow::Owned(tame(&words))))));
            return Some(depth);
        }
        NodeValue::FrontMatter(text) => {
            let inside = text.trim().trim_start_matches("---").trim_end_matches("---").trim();
            let block = NodeCodeBlock {
                fenced: true,
                fence_char: b'`',
                fence_length: 3,
                info: "yaml".to_owned(),
                literal: tame(inside) + "\n",
                closed: true,
                ..NodeCodeBlock::default()
            };
            data.value = NodeValue::CodeBlock(Box::new(block));
            false
        }
        NodeValue::Link(link) => {
            link.url = tame(link.url.trim());
            link.title = tame(&link.title);
            if links::target(&link.url) == Target::Refused {
                return None;
            }
            true
        }
        NodeValue::Image(link) => {
            link.url = tame(link.url.trim());
            link.title = tame(&link.title);
            true
        }
        NodeValue::Text(text) => {
            if needs_taming(text) {
                *text = Cow::Owned(tame(text));
            }
            false
        }
        NodeValue::Code(code) => {
            code.literal = tame(&code.literal);
            false
        }
        NodeValue::CodeBlock(code) => {
            code.literal = tame(&code.literal);
            code.info = tame(&code.info);
            false
        }
        NodeValue::Alert(alert) => {
            alert.title = alert.title.as_ref().map(|t| tame(t));
            true
        }
        NodeValue::BlockQuote
        | NodeValue::List(_)
        | NodeValue::Emph
        | NodeValue::Strong
        | NodeValue::Strikethrough => true,
        NodeValue::Item(_) | NodeValue::TaskItem(_) => {
            // An item whose list has gone goes too.
            let listed = node.parent().is_some_and(|p| matches!(p.data().value, NodeValue::List(_)));
            if !listed {
                return None;
            }
            false
        }
        _ => false,
    };
    match (nests, depth >= DEEPEST) {
        (false, _) => Some(depth),
        (true, false) => Some(depth + 1),
        (true, true) => None,
    }
}

fn needs_taming(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && c != '\n' && c != '\t' || links::hides(c))
}

/// Text without control characters and those that hide or reorder others: each becomes U+FFFD, so that one sees that
/// something was there.
pub fn tame(text: &str) -> String {
    if !needs_taming(text) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            c if c.is_control() || links::hides(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

fn is_break(html: &str) -> bool {
    let inside = html.trim_start_matches('<').trim_end_matches(['>', '/', ' ']);
    inside.eq_ignore_ascii_case("br")
}

/// The words between the tags of raw HTML, in one line: scripts, styles and comments left out. What is mistaken for
/// words here is shown as words, never as markup.
fn words_of_html(html: &str) -> String {
    /// Elements whose content no reader sees.
    const HIDDEN: [&str; 8] = ["script", "style", "template", "iframe", "object", "svg", "math", "noscript"];
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("<!--") {
            rest = rest.find("-->").map_or("", |end| &rest[end + 3..]);
            continue;
        }
        let name: String =
            rest[1..].chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        let is_tag = !name.is_empty() || rest[1..].starts_with(['/', '!', '?']);
        if !is_tag {
            out.push('<');
            rest = &rest[1..];
            continue;
        }
        rest = rest.find('>').map_or("", |end| &rest[end + 1..]);
        if HIDDEN.contains(&name.as_str()) {
            let close = format!("</{name}");
            let end = rest.to_ascii_lowercase().find(&close);
            rest = end.map_or("", |end| &rest[end..]);
        }
        out.push(' ');
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_raw_html_stay_and_what_runs_goes() {
        for (html, expected) in [
            ("<details><summary>The log</summary>", "The log"),
            ("<!-- a > b <script> -->", ""),
            ("<script>alert(1)</script>after", "after"),
            ("<SVG onload=alert(1)><text>x</text></SVG>", ""),
            ("<p title=\"1 > 0\">kept</p>", "0\">kept"),
            ("a < b", "a < b"),
            ("<script>never closed", ""),
        ] {
            assert_eq!(words_of_html(html), expected, "{html}");
        }
    }

    #[test]
    fn marks_of_a_line_are_bounded_before_the_parse() {
        for (mark, escaped) in [(">", "\\>"), ("> ", "\\>"), ("- ", "\\-"), ("+ > ", "\\+"), ("1. ", "1\\.")]
        {
            let deep = format!("before\n\n{}deep\n\nafter\n", mark.repeat(5_000));
            let bounded = bounded(&deep);
            assert_eq!(bounded.len(), deep.len() + 1, "{mark}");
            let at = bounded.find('\\').expect("bounded");
            assert!(bounded[at.saturating_sub(1)..].contains(escaped), "{mark}");
            assert!(at < 8 + (MOST_MARKS + 1) * mark.len(), "{mark} {at}");
            with_tree(&deep, |root| assert!(words(root).contains("deep") && words(root).contains("after")));
        }
        let rule = format!("{}\n", "- ".repeat(300));
        for same in [">".repeat(MOST_MARKS), rule, "a ".repeat(300), "> a\n".repeat(300)] {
            assert!(matches!(bounded(&same), Cow::Borrowed(_)), "{same}");
        }
    }

    #[test]
    fn depth_is_bounded_and_words_survive() {
        for text in [
            format!("{} deep", ">".repeat(10_000)),
            format!("{}deep{}", "*a **b ".repeat(3_000), "** *".repeat(3_000)),
            (0..99).map(|n| "  ".repeat(n) + "- deep\n").collect::<String>(),
            format!("{}deep", "- ".repeat(5_000)),
        ] {
            with_tree(&text, |root| {
                let deepest = root.descendants().map(|n| n.ancestors().count()).max();
                assert!(deepest <= Some(DEEPEST * 3 + 4), "{deepest:?}");
                assert!(words(root).contains("deep"));
            });
        }
    }
}
