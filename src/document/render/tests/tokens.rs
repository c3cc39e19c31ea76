//! A strict reader of the HTML that we write: anything it does not know is a failure.

/// What may stand in a page: the element and its attributes.
const ALLOWED: &[(&str, &[&str])] = &[
    (
        "a",
        &[
            "href",
            "title",
            "id",
            "class",
            "data-footnote-ref",
            "data-footnote-backref",
            "data-footnote-backref-idx",
            "aria-label",
        ],
    ),
    ("blockquote", &[]),
    ("br", &[]),
    ("code", &["class"]),
    ("del", &[]),
    ("div", &["class", "role", "tabindex", "aria-label"]),
    ("em", &[]),
    ("h1", &["id"]),
    ("h2", &["id"]),
    ("h3", &["id"]),
    ("h4", &["id"]),
    ("h5", &["id"]),
    ("h6", &["id"]),
    ("hr", &[]),
    ("img", &["src", "alt", "title"]),
    ("input", &["type", "aria-label", "checked", "disabled"]),
    ("li", &["class", "id"]),
    ("ol", &["start"]),
    ("p", &["class"]),
    ("pre", &[]),
    ("section", &["class", "data-footnotes"]),
    ("strong", &[]),
    ("sup", &["class"]),
    ("table", &[]),
    ("tbody", &[]),
    ("td", &["align"]),
    ("th", &["align"]),
    ("thead", &[]),
    ("tr", &[]),
    ("ul", &[]),
];

const EMPTY: &[&str] = &["br", "hr", "img", "input", "meta", "line", "rect", "circle", "path", "polygon"];

/// An element's start as it stands.
#[derive(Debug)]
pub(in super::super) struct Start {
    pub(in super::super) name: String,
    pub(in super::super) attributes: Vec<(String, String)>,
}

impl Start {
    pub(in super::super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|a| a.0 == name).map(|a| a.1.as_str())
    }
}

/// Reads tags and checks that they close in order. Text must hold neither `<` nor a bare `&`.
pub(in super::super) fn starts(html: &str) -> Vec<Start> {
    let mut found = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        entities(&rest[..at]);
        rest = &rest[at + 1..];
        let near: String = rest.chars().take(80).collect();
        if let Some(closing) = rest.strip_prefix('/') {
            let end = closing.find('>').unwrap_or_else(|| panic!("no end of tag: {near}"));
            assert_eq!(open.pop().as_deref(), Some(&closing[..end]), "closed out of order near {near}");
            rest = &closing[end + 1..];
            continue;
        }
        let mut start = Start { name: String::new(), attributes: Vec::new() };
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '!').unwrap_or(rest.len());
        start.name = rest[..end].to_owned();
        assert!(!start.name.is_empty(), "a bare < near {near}");
        rest = &rest[end..];
        let mut closed = false;
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix("/>") {
                closed = true;
                rest = after;
                break;
            }
            if let Some(after) = rest.strip_prefix('>') {
                rest = after;
                break;
            }
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != ':')
                .unwrap_or_else(|| panic!("no end of tag: {near}"));
            assert!(end > 0, "no attribute's name near {near}");
            let name = rest[..end].to_owned();
            rest = &rest[end..];
            let mut value = String::new();
            if let Some(after) = rest.strip_prefix("=\"") {
                let end = after.find('"').unwrap_or_else(|| panic!("no end of value: {near}"));
                value = after[..end].to_owned();
                assert!(!value.contains('<'), "< in a value near {near}");
                entities(&value);
                rest = &after[end + 1..];
            }
            start.attributes.push((name, value));
        }
        if !closed && !EMPTY.contains(&start.name.as_str()) && start.name != "!doctype" {
            open.push(start.name.clone());
        }
        found.push(start);
    }
    entities(rest);
    assert!(open.is_empty(), "never closed: {open:?}");
    found
}

fn entities(text: &str) {
    for (at, _) in text.match_indices('&') {
        let rest: String = text[at + 1..].chars().take(8).collect();
        assert!(
            rest.find(';').is_some_and(
                |end| end > 1 && rest[..end].chars().all(|c| c.is_ascii_alphanumeric() || c == '#')
            ),
            "a bare & in {text:?}"
        );
    }
}

/// Fails on any element, attribute or address that a document's body may not hold.
pub(in super::super) fn only_safe(html: &str) {
    for start in starts(html) {
        let allowed = ALLOWED.iter().find(|a| a.0 == start.name);
        let Some((_, attributes)) = allowed else {
            panic!("<{}> in\n{html}", start.name);
        };
        for (name, value) in &start.attributes {
            assert!(attributes.contains(&name.as_str()), "{name} on <{}> in\n{html}", start.name);
            match name.as_str() {
                "href" => assert!(safe_address(value), "{value} in\n{html}"),
                "src" => assert!(
                    ["png", "jpeg", "gif", "webp"]
                        .iter()
                        .any(|k| value.to_lowercase().starts_with(&format!("data:image/{k};base64,"))),
                    "{value}"
                ),
                _ => {}
            }
        }
    }
}

/// Not the program's own judgement: what a browser makes of the address, written down a second time.
fn safe_address(value: &str) -> bool {
    let plain = value.replace("&amp;", "&").replace("&#x27;", "'").to_lowercase();
    assert!(!plain.chars().any(|c| c.is_control() || c == ' '), "{value:?}");
    let head = plain.split(['/', '?', '#']).next().unwrap_or_default();
    if plain.starts_with("//") || plain.starts_with("/\\") || plain.starts_with('\\') {
        return false;
    }
    match head.split_once(':') {
        None => true,
        Some((scheme, _)) => matches!(scheme, "http" | "https" | "mailto"),
    }
}
