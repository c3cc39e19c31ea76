//! The page that shows a description as GitHub would: the same dialect, line ends that break lines, and of raw HTML
//! only what folds and shapes text. Nothing is loaded from anywhere, and no script runs.

use comrak::nodes::NodeValue;
use comrak::{Arena, Options, format_html, parse_document};

/// Elements of raw HTML that are shown as such, without their attributes.
const KEPT: [&str; 14] =
    ["details", "summary", "br", "hr", "sub", "sup", "kbd", "b", "i", "em", "strong", "p", "div", "code"];

/// The head of the page, up to the title.
const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>";

/// Style and the start of the body.
const STYLE: &str = "</title>\n<style>\n\
:root{color-scheme:light dark}\n\
body{font:16px/1.5 system-ui,sans-serif;max-width:54rem;margin:2rem auto;padding:0 1rem}\n\
h1,h2{border-bottom:1px solid #8884;padding-bottom:.3em}\n\
h1 span{font-size:.5em;border:1px solid #888;border-radius:1em;padding:.2em .8em;vertical-align:middle}\n\
code,pre{font:.875em ui-monospace,monospace;background:#8882;border-radius:4px}\n\
code{padding:.1em .3em}pre{padding:1em;overflow:auto}pre code{padding:0;background:none}\n\
table{border-collapse:collapse;display:block;overflow:auto}th,td{border:1px solid #8884;padding:.3em .8em}\n\
blockquote{border-left:.25em solid #8884;margin:0;padding:0 1em}\n\
li:has(>input[type=checkbox]),li:has(>p>input[type=checkbox]){list-style:none}\n\
input[type=checkbox]{margin:0 .4em 0 -1.4em}\n\
</style>\n</head>\n<body>\n<h1>";

/// The whole page. Total; the same text gives the same bytes.
pub fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    let body = fragment(body);
    [HEAD, &title, STYLE, &title, " <span>Draft</span></h1>\n<main>\n", &body, "</main>\n</body>\n</html>\n"]
        .concat()
}

/// A description as HTML.
pub fn fragment(body: &str) -> String {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.alerts = true;
    options.render.hardbreaks = true;
    options.render.github_pre_lang = true;
    options.render.gfm_quirks = true;
    let arena = Arena::new();
    let root = parse_document(&arena, body, &options);
    for node in root.descendants() {
        let mut data = node.data_mut();
        let raw = match &data.value {
            NodeValue::HtmlBlock(block) => Some(kept_only(&block.literal)),
            NodeValue::HtmlInline(literal) => Some(kept_only(literal)),
            _ => None,
        };
        if let Some(raw) = raw {
            data.value = NodeValue::Raw(raw);
        }
    }
    let mut html = String::new();
    // Writing into a string does not fail; a page that is cut short would be the worst of it.
    let _ = format_html(root, &options, &mut html);
    html
}

/// Raw HTML with the kept elements bare, comments gone, and everything else as text.
fn kept_only(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        out.push_str(&escape(&rest[..at]));
        rest = &rest[at..];
        if rest.starts_with("<!--") {
            let end = rest[2..].find("-->").map_or(rest.len(), |end| end + 5);
            rest = &rest[end..];
            continue;
        }
        let inner = &rest[1..];
        let slash = if inner.starts_with('/') { "/" } else { "" };
        let length = inner[slash.len()..].bytes().take_while(u8::is_ascii_alphanumeric).count();
        let name = inner[slash.len()..slash.len() + length].to_ascii_lowercase();
        match inner.find('>') {
            Some(end) if KEPT.contains(&name.as_str()) => {
                out.push_str(&format!("<{slash}{name}>"));
                rest = &inner[end + 1..];
            }
            _ => {
                out.push_str("&lt;");
                rest = inner;
            }
        }
    }
    out.push_str(&escape(rest));
    out
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_boxes_and_details_look_as_they_do_there() {
        let html = fragment(
            "| a | b |\n|---|---|\n| `x\\|y` | 2 |\n\n- [x] done\n- [ ] not\n\n<details>\n<summary>more</summary>\n\n- inside\n\n</details>\n\none\ntwo\n",
        );
        for part in [
            "<td><code>x|y</code></td>",
            "type=\"checkbox\"",
            "checked",
            "<details>\n<summary>more</summary>",
            "<li>inside</li>",
            "</details>",
            "one<br />\ntwo",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
    }

    #[test]
    fn nothing_runs_and_nothing_is_loaded() {
        let html = page(
            "<script>alert(1)</script>",
            "<script>alert(2)</script>\n\n<details onclick=x><img src=x onerror=y>\n\n<!-- hidden -->\n\n[a](javascript:alert(3)) <b style=x>bold</b>\n",
        );
        assert!(!html.contains("<script") && !html.contains("onclick") && !html.contains("<img"), "{html}");
        assert!(!html.contains("href=\"javascript") && !html.contains("hidden"), "{html}");
        assert!(html.contains("<b>bold</b>") && html.contains("default-src 'none'"));
    }

    proptest::proptest! {
        #[test]
        fn only_kept_elements_come_through(html in "[<>/!a-c\"'= -]{0,60}|(<!--|-->|<details>|<p|script|</)*") {
            let out = kept_only(&html);
            for (at, _) in out.match_indices('<') {
                let name: String = out[at + 1..].trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
                proptest::prop_assert!(KEPT.contains(&name.as_str()), "{} from {}", out, html);
            }
        }
    }
}
