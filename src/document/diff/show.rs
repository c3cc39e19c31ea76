//! Reviews as Markdown for a comment, and as a page of HTML.

use super::{Change, Document, Edit, Kind, Op, Side};
use crate::model::markdown::{self, Place as In};

/// A comment on GitHub holds 65,536 characters; what is longer is cut, prose first.
const MOST_BYTES: usize = 60_000;

/// The longest piece of a text that is shown, in characters.
const MOST_TEXT: usize = 2_000;

/// Reviews as Markdown, for a comment on a pull request: below its limit, whatever the documents hold.
pub fn to_markdown(documents: &[Document]) -> String {
    let mut limit = usize::MAX;
    loop {
        let text = markdown_of(documents, limit);
        if text.len() <= MOST_BYTES || limit == 0 {
            return text;
        }
        limit = if limit == usize::MAX { 200 } else { limit / 2 };
    }
}

fn markdown_of(documents: &[Document], limit: usize) -> String {
    let mut out = String::new();
    for document in documents {
        let path = markdown::code(&document.path, 300);
        let former = document
            .former
            .as_ref()
            .map_or_else(String::new, |f| format!(", was {}", markdown::code(f, 300)));
        out.push_str(&format!("### {path} ({}{former})\n\n", document.status.name()));
        if let Some(why) = &document.degraded {
            out.push_str(&format!("**No review:** {}\n\n", markdown::line(why, 300, In::Forge)));
            continue;
        }
        for kind in Kind::ALL {
            let changes: Vec<&Change> = document.review.of(kind).collect();
            if changes.is_empty() {
                continue;
            }
            let fold = kind == Kind::Prose && changes.len() > 5;
            let heading = format!("{} ({})", kind.heading(), changes.len());
            if fold {
                out.push_str(&format!("<details><summary>{heading}</summary>\n\n"));
            } else {
                out.push_str(&format!("**{heading}**\n\n"));
            }
            for change in changes.iter().take(limit) {
                out.push_str(&markdown_change(change));
            }
            if let Some(more) = changes.len().checked_sub(limit).filter(|more| *more > 0) {
                out.push_str(&format!("- …and {more} more\n"));
            }
            out.push_str(if fold { "\n</details>\n\n" } else { "\n" });
        }
        for lost in &document.review.unaligned {
            out.push_str(&format!("> **Not aligned:** {}\n\n", markdown::line(lost, 500, In::Forge)));
        }
        if let Some(silence) = silence(document) {
            out.push_str(&format!("{silence}\n\n"));
        }
    }
    if documents.is_empty() {
        out.push_str("No post-mortem changed.\n");
    }
    out
}

/// What to say where there is nothing to list.
pub fn silence(document: &Document) -> Option<&'static str> {
    if !document.review.changes.is_empty() || document.degraded.is_some() {
        return None;
    }
    Some(match document.status {
        super::Status::Added => "New: read it whole.",
        super::Status::Removed => "Removed.",
        _ if document.review.differs => {
            "Only wrapping, markers or emphasis changed; no word did that is prose."
        }
        _ => "Nothing in it changed.",
    })
}

fn markdown_change(change: &Change) -> String {
    let mut out = String::from("- ");
    let section = markdown::line(&change.section, 120, In::Forge);
    let place = [&change.new, &change.old].into_iter().flatten().next().map_or(0, |s| s.place.line);
    let which = if change.new.is_none() { "old line" } else { "line" };
    if section.is_empty() {
        out.push_str(&format!("{which} {place}"));
    } else {
        out.push_str(&format!("{section}, {which} {place}"));
    }
    if !change.message.is_empty() {
        out.push_str(&format!(": {}", markdown::line(&change.message, 500, In::Forge)));
    }
    out.push('\n');
    if change.kind == Kind::Section {
        return out;
    }
    let quoted = |text: &str| markdown::line(text, MOST_TEXT, In::Forge);
    match (&change.old, &change.new) {
        (Some(_), Some(_)) if !change.words.is_empty() => {
            let mut line = String::new();
            for Edit { op, text } in &change.words {
                let safe = quoted(text);
                let (before, inside, after) = parted(text, &safe);
                match op {
                    Op::Equal => line.push_str(&format!("{before}{inside}{after}")),
                    _ if inside.is_empty() => line.push_str(before),
                    Op::Delete => line.push_str(&format!("{before}<del>{inside}</del>{after}")),
                    Op::Insert => line.push_str(&format!("{before}<ins>{inside}</ins>{after}")),
                }
            }
            out.push_str(&format!("  > {}\n", line.trim()));
        }
        (Some(old), None) => out.push_str(&format!("  > <del>{}</del>\n", quoted(&old.text))),
        (_, Some(new)) => out.push_str(&format!("  > {}\n", quoted(&new.text))),
        (None, None) => {}
    }
    out
}

/// The blanks around a piece, which must stay outside of its marks.
fn parted<'a>(text: &str, safe: &'a str) -> (&'static str, &'a str, &'static str) {
    let blank = |there: bool| if there { " " } else { "" };
    let inside = safe.trim();
    let starts = text.starts_with(char::is_whitespace);
    (blank(starts), inside, blank(text.ends_with(char::is_whitespace) && !(inside.is_empty() && starts)))
}

/// Reviews as one page of HTML without anything from elsewhere.
pub fn to_html(documents: &[Document], title: &str) -> String {
    let mut body = String::new();
    for document in documents {
        let former = document
            .former
            .as_ref()
            .map_or_else(String::new, |f| format!(", was <code>{}</code>", escape(f)));
        body.push_str(&format!(
            "<section>\n<h2><code>{}</code> <small>{}{former}</small></h2>\n",
            escape(&document.path),
            document.status.name()
        ));
        if let Some(why) = &document.degraded {
            body.push_str(&format!("<p class=\"warn\">No review: {}</p>\n", escape(why)));
        }
        for kind in Kind::ALL {
            let changes: Vec<&Change> = document.review.of(kind).collect();
            if changes.is_empty() {
                continue;
            }
            let class = if matches!(kind, Kind::ClaimWidened | Kind::EvidenceRemoved) {
                " class=\"warn\""
            } else {
                ""
            };
            body.push_str(&format!("<h3{class}>{} ({})</h3>\n<ul>\n", kind.heading(), changes.len()));
            for change in changes {
                body.push_str(&html_change(change));
            }
            body.push_str("</ul>\n");
        }
        for lost in &document.review.unaligned {
            body.push_str(&format!("<p class=\"warn\">Not aligned: {}</p>\n", escape(lost)));
        }
        if let Some(silence) = silence(document) {
            body.push_str(&format!("<p>{silence}</p>\n"));
        }
        body.push_str("</section>\n");
    }
    if documents.is_empty() {
        body.push_str("<p>No post-mortem changed.</p>\n");
    }
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
}

const STYLE: &str = include_str!("../../../templates/review.css");

fn html_change(change: &Change) -> String {
    let place = |side: &Option<Side>, word: &str| side.as_ref().map(|s| format!("{word} {}", s.place.line));
    let places: Vec<String> =
        [place(&change.old, "old line"), place(&change.new, "line")].into_iter().flatten().collect();
    let mut out = format!("<li><p><b>{}</b> <small>{}</small>", escape(&change.section), places.join(", "));
    if !change.message.is_empty() {
        out.push_str(&format!(" {}", escape(&change.message)));
    }
    out.push_str("</p>");
    if change.kind != Kind::Section {
        let text = match (&change.old, &change.new) {
            (Some(_), Some(_)) if !change.words.is_empty() => change
                .words
                .iter()
                .map(|Edit { op, text }| match op {
                    Op::Equal => escape(text),
                    Op::Delete => format!("<del>{}</del>", escape(text)),
                    Op::Insert => format!("<ins>{}</ins>", escape(text)),
                })
                .collect(),
            (Some(old), None) => format!("<del>{}</del>", escape(&old.text)),
            (_, Some(new)) => escape(&new.text),
            (None, None) => String::new(),
        };
        out.push_str(&format!("<blockquote>{text}</blockquote>"));
    }
    out.push_str("</li>\n");
    out
}

/// Text in HTML: no markup, no control characters, none that reorder others.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in markdown::clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
