//! As much of YAML as the head of a workflow needs: maps and lists by indentation, flow collections,
//! plain and quoted scalars, comments. Everything else (anchors, tags, collections over several lines)
//! becomes [`Node::Unknown`], never a guess.

/// Deeper nesting is not read.
const DEEPEST: usize = 24;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// Nothing stands there.
    Empty,
    /// A scalar.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<(String, Node)>),
    /// Something this reader does not understand.
    Unknown,
}

impl Node {
    /// The value of a key; `None` when this is no map or has no such key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        match self {
            Self::Map(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A line that says something: indentation and text without its comment.
struct Line<'a> {
    indent: usize,
    text: &'a str,
}

/// Reads a document.
pub(super) fn parse(text: &str) -> Node {
    let lines: Vec<Line<'_>> = text
        .trim_start_matches('\u{feff}')
        .lines()
        .filter_map(|line| {
            let text = uncomment(line).trim_end();
            let content = text.trim_start_matches(' ');
            (!content.is_empty() && content != "---")
                .then_some(Line { indent: text.len() - content.len(), text: content })
        })
        .collect();
    let mut at = 0;
    collection(&lines, &mut at, 0)
}

/// The map or list that starts at a line, with all lines at its indentation.
fn collection(lines: &[Line<'_>], at: &mut usize, depth: usize) -> Node {
    let Some(first) = lines.get(*at) else {
        return Node::Empty;
    };
    let indent = first.indent;
    if depth > DEEPEST {
        skip(lines, at, indent);
        return Node::Unknown;
    }
    let listed = is_item(first.text);
    let mut items = Vec::new();
    let mut entries: Vec<(String, Node)> = Vec::new();
    while let Some(line) = lines.get(*at).filter(|l| l.indent >= indent) {
        if line.indent > indent || is_item(line.text) != listed {
            // Continuations of scalars and maps in a list: none of them stands where triggers do.
            if line.indent == indent {
                break;
            }
            *at += 1;
            if let Some((_, value)) = entries.last_mut() {
                *value = Node::Unknown;
            }
            continue;
        }
        *at += 1;
        if listed {
            items.push(item(lines, at, indent, line.text[1..].trim_start()));
        } else if let Some((key, rest)) = key(line.text) {
            let value = match rest {
                "" => {
                    let deeper = lines
                        .get(*at)
                        .is_some_and(|l| l.indent > indent || (l.indent == indent && is_item(l.text)));
                    if deeper { collection(lines, at, depth + 1) } else { Node::Empty }
                }
                rest if rest.starts_with(['|', '>']) => {
                    skip(lines, at, indent + 1);
                    Node::Unknown
                }
                rest => flow(rest),
            };
            entries.push((key, value));
        } else {
            entries.push((String::new(), Node::Unknown));
        }
    }
    if listed { Node::List(items) } else { Node::Map(entries) }
}

/// An item of a list; maps in lists (jobs' steps, schedules) are not looked into.
fn item(lines: &[Line<'_>], at: &mut usize, indent: usize, text: &str) -> Node {
    let nested = lines.get(*at).is_some_and(|l| l.indent > indent);
    skip(lines, at, indent + 1);
    if nested || text.is_empty() || key(text).is_some() { Node::Unknown } else { flow(text) }
}

fn skip(lines: &[Line<'_>], at: &mut usize, indent: usize) {
    while lines.get(*at).is_some_and(|l| l.indent >= indent) {
        *at += 1;
    }
}

fn is_item(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

/// A key and what stands behind its colon.
fn key(text: &str) -> Option<(String, &str)> {
    let (key, rest) = if text.starts_with(['"', '\'']) {
        let (key, rest) = quoted(text)?;
        (key, rest.trim_start().strip_prefix(':')?)
    } else {
        let end =
            text.match_indices(':').find(|(i, _)| text[i + 1..].chars().next().is_none_or(|c| c == ' '))?.0;
        (text[..end].trim_end().to_owned(), &text[end + 1..])
    };
    (rest.is_empty() || rest.starts_with(' ')).then(|| (key, rest.trim()))
}

/// A value on one line.
fn flow(text: &str) -> Node {
    let mut rest = text;
    let node = value(&mut rest, 0, false);
    if rest.trim().is_empty() { node } else { Node::Unknown }
}

fn value(rest: &mut &str, depth: usize, within: bool) -> Node {
    *rest = rest.trim_start();
    match rest.chars().next() {
        _ if depth > DEEPEST => Node::Unknown,
        None => Node::Empty,
        Some('[') => {
            let mut items = Vec::new();
            members(rest, ']', |rest| {
                items.push(value(rest, depth + 1, true));
                true
            })
            .map_or(Node::Unknown, |()| Node::List(items))
        }
        Some('{') => {
            let mut entries = Vec::new();
            members(rest, '}', |rest| {
                let Node::Text(key) = value(rest, depth + 1, true) else {
                    return false;
                };
                let mut found = Node::Empty;
                if let Some(after) = rest.trim_start().strip_prefix(':') {
                    *rest = after;
                    found = value(rest, depth + 1, true);
                }
                entries.push((key, found));
                true
            })
            .map_or(Node::Unknown, |()| Node::Map(entries))
        }
        Some('"' | '\'') => match quoted(rest) {
            Some((text, after)) => {
                *rest = after;
                Node::Text(text)
            }
            None => Node::Unknown,
        },
        Some('&' | '*' | '!' | '|' | '>' | '@' | '%') => Node::Unknown,
        Some(_) => {
            let end = if within {
                rest.char_indices()
                    .find(|(i, c)| match c {
                        ',' | ']' | '}' | '[' | '{' => true,
                        ':' => rest[i + 1..].chars().next().is_none_or(|c| c == ' ' || ",]}".contains(c)),
                        _ => false,
                    })
                    .map_or(rest.len(), |(i, _)| i)
            } else {
                rest.len()
            };
            let text = rest[..end].trim();
            *rest = &rest[end..];
            match text {
                "" | "~" | "null" => Node::Empty,
                text => Node::Text(text.to_owned()),
            }
        }
    }
}

/// The members of a flow collection, each read by `member`, to its closing bracket.
fn members(rest: &mut &str, close: char, mut member: impl FnMut(&mut &str) -> bool) -> Option<()> {
    *rest = &rest[1..];
    loop {
        *rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(close) {
            *rest = after;
            return Some(());
        }
        let before = rest.len();
        if !member(rest) {
            return None;
        }
        *rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(',') {
            *rest = after;
        } else if !rest.starts_with(close) || rest.len() == before {
            return None;
        }
    }
}

/// A quoted scalar and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next()?;
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((i, c)) = chars.next() {
        if c == quote {
            if quote == '\'' && chars.next_if(|(_, c)| *c == '\'').is_some() {
                out.push('\'');
                continue;
            }
            return Some((out, &text[i + 1..]));
        }
        if c == '\\' && quote == '"' {
            match chars.next()?.1 {
                escaped @ ('"' | '\\' | '/') => out.push(escaped),
                _ => return None,
            }
        } else {
            out.push(c);
        }
    }
    None
}

/// A line without its comment: `#` at the start or after a space, outside of quotes.
fn uncomment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (i, c) in line.char_indices() {
        match quote {
            Some(q) if c == q => quote = None,
            None if c == '#' && before.is_whitespace() => return &line[..i],
            None if matches!(c, '"' | '\'') && " [{,:".contains(before) => quote = Some(c),
            _ => {}
        }
        before = c;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_and_collections() {
        let node = parse("a: 'it''s' # c\nb: [x, \"y, z\", {k: v}]\nc:\n- 1\n- two # c\nd:\n    e: f#g\n");
        assert_eq!(node.get("a").and_then(Node::text), Some("it's"));
        let Some(Node::List(items)) = node.get("b") else { panic!("{node:?}") };
        assert_eq!(items[1], Node::Text("y, z".into()));
        assert_eq!(items[2].get("k").and_then(Node::text), Some("v"));
        assert_eq!(node.get("c"), Some(&Node::List(vec![Node::Text("1".into()), Node::Text("two".into())])));
        assert_eq!(node.get("d").and_then(|d| d.get("e")).and_then(Node::text), Some("f#g"));
    }

    #[test]
    fn what_is_not_understood_stays_unknown_and_the_rest_is_read() {
        let node = parse("a: |\n  on: push\n\n  b: c\nb: &x y\nc: [1,\n  2]\nd: e\n");
        assert_eq!(node.get("a"), Some(&Node::Unknown));
        assert_eq!(node.get("b"), Some(&Node::Unknown));
        assert_eq!(node.get("c"), Some(&Node::Unknown));
        assert_eq!(node.get("d").and_then(Node::text), Some("e"));
        assert_eq!(parse(&"[".repeat(10_000)), Node::Map(vec![(String::new(), Node::Unknown)]));
        let deep: String = (0..200).map(|i| " ".repeat(i) + "k:\n").collect();
        assert!(parse(&deep).get("k").is_some());
    }
}
