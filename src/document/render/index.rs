//! The page of a folder: what happened, when, and where to read of it.

use comrak::nodes::{Node, NodeValue};

use super::super::page::{Kind, Page};
use super::html::escaped;
use super::page::frame;
use super::tree::with_tree;

/// Columns of the longest summary.
const SUMMARY: usize = 320;

/// What the index says of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Card {
    /// Where its page is, from the index.
    pub href: String,
    /// Its title; its file's name when it has none.
    pub title: String,
    /// The day it speaks of, as `YYYY-MM-DD`; may be empty.
    pub date: String,
    /// Where it stands; may be empty.
    pub status: String,
    /// Who owns it; may be empty.
    pub owner: String,
    /// The ticket; may be empty.
    pub ticket: String,
    /// The incident's id, as the document names it; may be empty.
    pub incident: String,
    /// The first sentence of its summary; may be empty.
    pub summary: String,
}

/// The id that a document names in its comment: `<!-- git-incident: incident=… -->`.
pub fn incident_of(page: &Page<'_>) -> Option<String> {
    page.comments.iter().find_map(|range| {
        let words = page.comment(range).strip_prefix("git-incident:")?;
        let id = words.split_whitespace().find_map(|w| w.strip_prefix("incident="))?;
        (id.len() >= 7 && id.len() <= 64 && id.bytes().all(|b| b.is_ascii_hexdigit()))
            .then(|| id.to_lowercase())
    })
}

/// Reads what the index says of a document. `name` is its file's name.
pub fn card(markdown: &str, name: &str, href: &str) -> Card {
    let page = Page::parse(markdown);
    let first_date = |text: &str| {
        let at = (0..text.len().saturating_sub(9)).find(|at| {
            text.as_bytes().get(*at..at + 10).is_some_and(|b| {
                b.iter()
                    .enumerate()
                    .all(|(i, c)| if i == 4 || i == 7 { *c == b'-' } else { c.is_ascii_digit() })
            })
        })?;
        text.get(at..at + 10).map(str::to_owned)
    };
    let title = page.title().map_or_else(|| name.to_owned(), str::to_owned);
    let said = |names: &[&str]| fact(&page, names).unwrap_or_default();
    let summary = page
        .section("Summary")
        .or_else(|| page.sections.iter().find(|s| !page.leaves_within(&s.own).is_empty()));
    let prose = summary.and_then(|s| {
        page.leaves_within(&s.own)
            .iter()
            .find(|l| l.prose.text.len() < 20_000 && matches!(l.kind, Kind::Paragraph | Kind::Item { .. }))
    });
    let sentence = prose.map(|leaf| {
        let range = leaf.prose.sentences().into_iter().next().unwrap_or_default();
        super::pictures::fitted(&leaf.prose.text[range], SUMMARY)
    });
    let dated = said(&["Date", "Incident date", "When"]);
    let date = first_date(&dated)
        .or_else(|| first_date(name))
        .or_else(|| first_date(&title))
        .or_else(|| page.leaves.iter().take(60).find_map(|l| first_date(&l.prose.text)))
        .unwrap_or_default();
    Card {
        href: href.to_owned(),
        title,
        date,
        status: fact(&page, &["Status"]).or_else(|| state(&page)).unwrap_or_default(),
        owner: said(&["Owner", "Owners", "Author", "Authors"]),
        ticket: said(&["Ticket", "Issue", "JIRA"]),
        incident: incident_of(&page).unwrap_or_default(),
        summary: sentence.unwrap_or_default(),
    }
}

/// The state in a draft's `Incident: ID, STATE`.
fn state(page: &Page<'_>) -> Option<String> {
    let (_, state) =
        fact(page, &["Incident"])?.rsplit_once(", ").map(|(a, b)| (a.to_owned(), b.to_owned()))?;
    state.parse::<crate::model::status::Status>().ok().map(|_| state)
}

/// What a line `Owner: …` says, in the front matter, a list, a paragraph or a table of two columns.
fn fact(page: &Page<'_>, names: &[&str]) -> Option<String> {
    let value = |line: &str| {
        let (label, value) = line.split_once([':', '|'])?;
        let label = label.trim().trim_matches(['*', '_', '-', ' ']);
        let value = value.trim().trim_matches(['"', '\'', ' ']);
        // Ledger sources behind a value are for the document's readers.
        let value = value.split(" (event ").next().unwrap_or_default().trim();
        (names.iter().any(|n| n.eq_ignore_ascii_case(label)) && !value.is_empty())
            .then(|| super::pictures::fitted(value, 80))
    };
    let front = page.front_matter.as_ref().map_or("", |range| &page.text[range.clone()]);
    front.lines().find_map(value).or_else(|| {
        page.leaves
            .iter()
            .take(80)
            .filter(|l| !matches!(l.kind, Kind::Code(_)))
            .find_map(|leaf| value(&leaf.prose.text))
    })
}

/// The page: newest first, then by title; documents without a date last.
pub fn index(cards: &[Card], folder: &str, language: &str) -> String {
    let mut sorted: Vec<&Card> = cards.iter().collect();
    sorted.sort_by(|a, b| {
        b.date.cmp(&a.date).then_with(|| a.title.cmp(&b.title)).then_with(|| a.href.cmp(&b.href))
    });
    let title = "Post-mortems";
    let mut main = format!("<h1>{title}</h1>\n");
    if sorted.is_empty() {
        main.push_str("<p>There is none yet.</p>\n");
    }
    for card in &sorted {
        let mut facts = Vec::new();
        if !card.date.is_empty() {
            facts.push(format!("<time datetime=\"{0}\">{0}</time>", escaped(&card.date)));
        }
        let incident: String = card.incident.chars().take(12).collect();
        for (label, value) in
            [("", &card.status), ("owner ", &card.owner), ("", &card.ticket), ("incident ", &incident)]
        {
            if !value.is_empty() {
                facts.push(format!("{label}{}", escaped(value)));
            }
        }
        main.push_str(&format!(
            "<article class=\"entry\">\n<h2><a href=\"{}\">{}</a></h2>\n",
            escaped(&card.href),
            escaped(&card.title)
        ));
        if !facts.is_empty() {
            main.push_str(&format!("<p class=\"facts\">{}</p>\n", facts.join(" · ")));
        }
        if !card.summary.is_empty() {
            main.push_str(&format!("<p>{}</p>\n", escaped(&card.summary)));
        }
        main.push_str("</article>\n");
    }
    let count = match sorted.len() {
        1 => "1 document".to_owned(),
        n => format!("{n} documents"),
    };
    frame(
        language,
        title,
        &format!("<code>{}</code> · {count}", escaped(folder)),
        "",
        &main,
        "Made by <code>git incident postmortem render --index</code>.",
    )
}

/// A file's name as an address beside the page.
pub fn href(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The addresses of a document's pictures that stand beside it.
pub fn pictures_of(markdown: &str) -> Vec<String> {
    with_tree(markdown, |root| {
        let mut found: Vec<String> = root.descendants().filter_map(picture).collect();
        found.sort();
        found.dedup();
        found
    })
}

fn picture(node: Node<'_>) -> Option<String> {
    match &node.data().value {
        NodeValue::Image(image) if super::links::target(&image.url) == super::links::Target::Relative => {
            Some(image.url.clone())
        }
        _ => None,
    }
}
