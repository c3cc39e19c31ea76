//! One self-contained page: it loads nothing, runs nothing, and reads well on paper, in the dark and by ear.

use std::collections::BTreeMap;

use comrak::nodes::{Node, NodeValue};
use sha2::{Digest, Sha256};

use super::super::page::Page;
use super::base64;
use super::html::{Extras, Heading, body_of, escaped};
use super::pictures::{attempts, bars, samples, timeline};
use super::tree::{with_tree, words};
use crate::model::incident::Incident;

/// How every page looks.
const STYLE: &str = include_str!("../../../templates/page.css");

/// Characters of one file of evidence that a page carries.
pub const MOST_EVIDENCE: usize = 64 * 1024;

/// Tables of one document that are drawn as well.
const MOST_PICTURES: usize = 24;

/// A file of evidence that the document speaks of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exhibit {
    /// The first digits of its blob; empty when it is not stored.
    pub oid: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// What is to be said about it: erased, secrets cut out, where it is when it is not stored. May be empty.
    pub remark: String,
    /// Its text, when it is text, is here and is not too long.
    pub text: Option<String>,
}

/// What the ledger adds to a document.
#[derive(Debug, Clone, Default)]
pub struct Ledger<'a> {
    /// The incident.
    pub incident: Option<&'a Incident>,
    /// The evidence that the document names.
    pub exhibits: Vec<Exhibit>,
    /// Whether texts of evidence become part of the page.
    pub embed: bool,
}

/// What a page is made of.
#[derive(Debug, Clone, Default)]
pub struct PageInput<'a> {
    /// The document.
    pub markdown: &'a str,
    /// Where it is, as readers know it.
    pub path: &'a str,
    /// Its language, as HTML names languages.
    pub language: &'a str,
    /// Pictures beside it: the address as the document has it, and the picture as a `data:` address.
    pub pictures: BTreeMap<String, String>,
    /// What the ledger has, when it is here.
    pub ledger: Ledger<'a>,
    /// Where the page of the folder is, from this page; empty when there is none.
    pub index: &'a str,
}

/// The page.
pub fn page(input: &PageInput<'_>) -> String {
    let read = Page::parse(input.markdown);
    let body = with_tree(input.markdown, |root| body_of(root, extras(&read, root, input)));
    let title = read.title().map(str::trim).filter(|t| !t.is_empty()).unwrap_or(input.path).to_owned();
    let mut main = String::new();
    if !body.headings.iter().any(|h| h.level == 1) {
        main.push_str(&format!("<h1>{}</h1>\n", escaped(&title)));
    }
    main.push_str(&body.html);
    let exhibits = exhibits(&input.ledger);
    let mut headings = body.headings;
    if !exhibits.is_empty() {
        headings.push(Heading { level: 2, id: "gi:evidence".into(), text: "Evidence".into() });
        main.push_str(&exhibits);
    }
    let mut header = String::new();
    if !input.index.is_empty() {
        header = format!("<a href=\"{}\">All post-mortems</a> · ", escaped(input.index));
    }
    header.push_str(&format!("<code>{}</code>", escaped(input.path)));
    let mut footer =
        "Made by <code>git incident postmortem render</code>; the document itself is the record.".to_owned();
    if let Some(id) = input.ledger.incident.and_then(|i| i.id.as_ref()) {
        footer.push_str(&format!(" Its ledger: <code>git incident show {}</code>.", id.short()));
    }
    frame(input.language, &title, &header, &contents(&headings), &main, &footer)
}

/// The frame of every page: head, skip link, landmarks. All parts but `language` and `title` are safe HTML.
pub(super) fn frame(
    language: &str,
    title: &str,
    header: &str,
    navigation: &str,
    main: &str,
    footer: &str,
) -> String {
    let digest = base64::encode(&Sha256::digest(STYLE.as_bytes()));
    let language = if language.is_empty() { "en" } else { language };
    format!(
        "<!doctype html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\" />\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}'; \
         img-src data:; base-uri 'none'; form-action 'none'\" />\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n\
         <meta name=\"color-scheme\" content=\"light dark\" />\n<meta name=\"referrer\" content=\"no-referrer\" />\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#gi:main\">Skip to the text</a>\n<header>\n<p>{header}</p>\n</header>\n{navigation}\
         <main id=\"gi:main\">\n{main}</main>\n<footer>\n<p>{footer}</p>\n</footer>\n</body>\n</html>\n",
        escaped(language),
        escaped(title)
    )
}

/// The table of contents; nothing for a document with fewer than three sections.
fn contents(headings: &[Heading]) -> String {
    let listed: Vec<&Heading> =
        headings.iter().filter(|h| (2..=3).contains(&h.level) && !h.id.is_empty()).collect();
    if listed.len() < 3 {
        return String::new();
    }
    let mut out = "<nav aria-label=\"Contents\">\n<h2>Contents</h2>\n<ul>\n".to_owned();
    for heading in listed {
        let class = if heading.level == 3 { " class=\"deep\"" } else { "" };
        out.push_str(&format!(
            "<li{class}><a href=\"#{}\">{}</a></li>\n",
            escaped(&heading.id),
            escaped(heading.text.trim())
        ));
    }
    out + "</ul>\n</nav>\n"
}

/// The pictures, and where in the body they stand.
fn extras(read: &Page<'_>, root: Node<'_>, input: &PageInput<'_>) -> Extras {
    let mut extras = Extras { pictures: input.pictures.clone(), ..Extras::default() };
    let mut titles = Vec::new();
    let mut tables = 0;
    for node in root.descendants() {
        match node.data().value {
            NodeValue::Heading(_) => titles.push(words(node)),
            NodeValue::Table(_) => {
                if extras.after_table.len() < MOST_PICTURES
                    && let Some(drawn) = bars::of_table(node, tables)
                {
                    extras.after_table.insert(tables, drawn);
                }
                tables += 1;
            }
            _ => {}
        }
    }
    if let Some((_, entries)) = timeline::entries(read)
        && let Some(at) = titles.iter().position(|t| t.to_lowercase().contains("timeline"))
        && let Some(drawn) = timeline::draw(&entries, "gi:timeline")
    {
        extras.after_heading.insert(at, drawn);
    }
    let drawn = input.ledger.incident.and_then(|i| attempts::draw(i, "gi:attempts"));
    if let Some(drawn) = drawn {
        let named = |name: &str| titles.iter().position(|t| t.trim().eq_ignore_ascii_case(name));
        let at =
            named("How it was found").or_else(|| named("Timeline")).unwrap_or(titles.len().saturating_sub(1));
        extras.after_heading.entry(at).or_default().push_str(&drawn);
    }
    extras
}

fn exhibits(ledger: &Ledger<'_>) -> String {
    if ledger.exhibits.is_empty() {
        return String::new();
    }
    let mut out = "<section>\n<h2 id=\"gi:evidence\">Evidence</h2>\n\
         <p>What the document names, as the ledger keeps it. Each is printed by its command, in a clone that has \
         fetched the ledger.</p>\n"
        .to_owned();
    let id = ledger.incident.and_then(|i| i.id.as_ref()).map_or("ID", |i| i.short());
    let all: Vec<samples::Samples> = ledger
        .exhibits
        .iter()
        .filter_map(|e| samples::Samples::read(&e.name, e.text.as_deref()?))
        .take(12)
        .collect();
    out.push_str(&samples::draw(&all, "gi:samples").unwrap_or_default());
    for exhibit in &ledger.exhibits {
        let mut about = format!("{} bytes, {}", exhibit.bytes, escaped(&exhibit.kind));
        if !exhibit.remark.is_empty() {
            about.push_str(&format!(", {}", escaped(&exhibit.remark)));
        }
        let name = escaped(&exhibit.name);
        let command = if exhibit.oid.is_empty() {
            String::new()
        } else {
            format!(
                "<p><code>git incident evidence show {} --incident {id}</code></p>\n",
                escaped(&exhibit.oid)
            )
        };
        let text = exhibit.text.as_deref().filter(|t| ledger.embed && t.len() <= MOST_EVIDENCE);
        match text {
            Some(text) => out.push_str(&format!(
                "<details>\n<summary><code>{name}</code> ({about})</summary>\n{command}<pre><code>{}</code></pre>\n</details>\n",
                escaped(text)
            )),
            None => out.push_str(&format!("<div class=\"entry\">\n<p><code>{name}</code> ({about})</p>\n{command}</div>\n")),
        }
    }
    out + "</section>\n"
}
