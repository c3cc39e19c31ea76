//! A document's body as HTML, as GitHub renders it, and nothing in it that runs, loads or leads astray.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comrak::html::{ChildRendering, Context, escape, format_document_with_formatter, format_node_default};
use comrak::nodes::{Node, NodeValue};
use comrak::options::Plugins;

use super::links::{self, Target};
use super::tree::{options, with_tree, words};

/// A heading of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its `id`; empty when GitHub gives none.
    pub id: String,
    /// Its words.
    pub text: String,
}

/// What is put into the body from outside.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// Pictures beside the document: the address as the document has it, and the picture as a `data:` address.
    pub pictures: BTreeMap<String, String>,
    /// Safe HTML that follows the table of this number, from 0.
    pub after_table: BTreeMap<usize, String>,
    /// Safe HTML that follows the heading of this number, from 0.
    pub after_heading: BTreeMap<usize, String>,
}

/// A body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body {
    /// The HTML.
    pub html: String,
    /// Its headings, in order.
    pub headings: Vec<Heading>,
}

/// Untrusted Markdown as HTML that may stand in any page: GitHub's elements, no raw HTML, no scheme but `http`, `https`
/// and `mailto`, no picture from elsewhere.
pub fn safe_html(markdown: &str) -> String {
    body(markdown, Extras::default()).html
}

/// As [`safe_html`], with its headings, and what comes from outside put into it.
pub fn body(markdown: &str, extras: Extras) -> Body {
    with_tree(markdown, |root| body_of(root, extras))
}

#[derive(Default)]
struct State {
    extras: Extras,
    headings: Vec<Heading>,
    tables: usize,
}

/// The body of a prepared tree.
pub(super) fn body_of(root: Node<'_>, extras: Extras) -> Body {
    let mut html = String::new();
    let state = State { extras, ..State::default() };
    let options = options();
    let plugins = Plugins::default();
    // Writing into a `String` does not fail, and no function below makes an error of its own.
    let state =
        format_document_with_formatter(root, &options, &mut html, &plugins, node, state).unwrap_or_default();
    Body { html, headings: state.headings }
}

fn node(
    out: &mut Context<'_, '_, State>,
    node: Node<'_>,
    entering: bool,
) -> Result<ChildRendering, std::fmt::Error> {
    match &node.data().value {
        NodeValue::Heading(heading) => {
            if entering {
                out.cr()?;
                let text = words(node);
                let id = out.anchorizer.anchorize(&text);
                write!(out, "<h{}", heading.level)?;
                if !id.is_empty() {
                    out.write_str(" id=\"")?;
                    out.escape(&id)?;
                    out.write_str("\"")?;
                }
                out.write_str(">")?;
                out.user.headings.push(Heading { level: heading.level, id, text });
            } else {
                writeln!(out, "</h{}>", heading.level)?;
                let number = out.user.headings.len() - 1;
                if let Some(extra) = out.user.extras.after_heading.remove(&number) {
                    out.write_str(&extra)?;
                }
            }
            Ok(ChildRendering::HTML)
        }
        NodeValue::Table(_) => {
            if entering {
                out.cr()?;
                // A wide table scrolls in its own frame, by keyboard as well.
                let number = out.user.tables + 1;
                writeln!(
                    out,
                    "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Table {number}\">"
                )?;
                format_node_default(out, node, true)
            } else {
                format_node_default(out, node, false)?;
                out.write_str("</div>\n")?;
                let number = out.user.tables;
                out.user.tables += 1;
                if let Some(extra) = out.user.extras.after_table.remove(&number) {
                    out.write_str(&extra)?;
                }
                Ok(ChildRendering::HTML)
            }
        }
        NodeValue::TaskItem(item) => {
            if entering {
                let (state, checked) =
                    if item.symbol.is_some() { ("done", " checked=\"\"") } else { ("to do", "") };
                out.cr()?;
                write!(
                    out,
                    "<li class=\"task\"><input type=\"checkbox\" aria-label=\"{state}\"{checked} disabled=\"\" /> "
                )?;
            } else {
                out.write_str("</li>\n")?;
            }
            Ok(ChildRendering::HTML)
        }
        NodeValue::Image(image) => {
            if entering {
                let linked = node.ancestors().any(|a| matches!(a.data().value, NodeValue::Link(_)));
                picture(out, &image.url, &image.title, &words(node), linked)?;
            }
            Ok(if entering { ChildRendering::Skip } else { ChildRendering::HTML })
        }
        // Prepared trees hold none; should one ever, it stays out.
        NodeValue::HtmlBlock(_) | NodeValue::HtmlInline(_) | NodeValue::Raw(_) => Ok(ChildRendering::Skip),
        _ => format_node_default(out, node, entering),
    }
}

/// A picture that the page holds; for any other, its words and where it is: a page that loads nothing cannot show it.
fn picture(
    out: &mut Context<'_, '_, State>,
    url: &str,
    title: &str,
    alt: &str,
    linked: bool,
) -> Result<(), std::fmt::Error> {
    let held = out.user.extras.pictures.get(url).cloned();
    let held = held.or_else(|| Some(url.to_owned())).filter(|u| links::is_embedded_picture(u));
    if let Some(source) = held {
        write!(out, "<img src=\"{source}\" alt=\"")?;
        out.escape(alt)?;
        if !title.is_empty() {
            out.write_str("\" title=\"")?;
            out.escape(title)?;
        }
        return out.write_str("\" />");
    }
    let shown = if alt.trim().is_empty() { "picture" } else { alt };
    if !linked && matches!(links::target(url), Target::Web | Target::Relative) {
        out.write_str("<a href=\"")?;
        out.escape_href(url)?;
        out.write_str("\">")?;
        out.escape(shown)?;
        out.write_str("</a>")
    } else {
        out.escape(shown)
    }
}

/// Text for HTML, between tags or in a quoted attribute.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let _ = escape(&mut out, &super::tree::tame(text));
    out
}
