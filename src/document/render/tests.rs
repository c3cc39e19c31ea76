//! What strangers write, and what becomes of it.

pub(super) mod tokens;

use proptest::prelude::*;

use super::html::safe_html;
use tokens::only_safe;

/// Each of these tried to run, load or lead astray somewhere, once.
pub(super) const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "a <script>alert(1)</script> b",
    "<svg onload=alert(1)>\n<path d=\"x\"/></svg>",
    "a <svg/onload=alert(1)> b",
    "<img src=x onerror=alert(1)>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "<iframe src=\"https://evil.example\"></iframe>",
    "<style>body{background:url(https://evil.example)}</style>",
    "<base href=\"https://evil.example\">",
    "<meta http-equiv=refresh content=\"0;url=https://evil.example\">",
    "<form action=https://evil.example><input type=submit>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java&#x0A;script:alert(1))",
    "[x](java&Tab;script&colon;alert(1))",
    "[x](<java\tscript:alert(1)>)",
    "[x](\\x01javascript:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](\\\\\\\\evil.example\\\\share)",
    "<javascript:alert(1)>",
    "<vbscript:x>",
    "[x]\n\n[x]: javascript:alert(1) 'title'",
    "[x]: <data:text/html,<script>> \"t\"\n\n[x][x] [y][x]",
    "[x](https://example.org \"a\\\" onmouseover=\\\"alert(1)\")",
    "[x](https://example.org '\"><script>alert(1)</script>')",
    "![x](https://evil.example/track.png)",
    "![x](javascript:alert(1))",
    "![x\" onerror=\"alert(1)](a.png)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x](data:image/png;base64,AA\"onerror=\"alert(1))",
    "![](//evil.example/a.png)",
    "[![x](https://evil.example/a.png)](https://example.org)",
    "[^1]\n\n[^1]: <script>alert(1)</script> [x](javascript:alert(1))",
    "[^\"><script>]\n\n[^\"><script>]: a",
    "[^a' onclick='x]\n\n[^a' onclick='x]: a",
    "```\"><script>alert(1)</script>\nx\n```",
    "```x' onclick='alert(1)\n</code></pre><script>\n```",
    "`</code><script>alert(1)</script>`",
    "# <script>alert(1)</script> \"quoted\" 'id'",
    "# \" onclick=\"alert(1)",
    "| <script> | [x](javascript:alert(1)) |\n|---|---|\n| <svg onload=x> | `|` |",
    "> [!NOTE] <script>alert(1)</script>\n> <b onclick=x>x</b>",
    "- [ ] <script>alert(1)</script>\n- [x] [x](javascript:alert(1))",
    "https://example.org/\"onmouseover=\"alert(1)",
    "www.example.org/<script>",
    "xmpp:a@b.example/x ftp://example.org mailto:x@example.org",
    "<a@example.org\"onclick=x>",
    "---\ntitle: <script>alert(1)</script>\n---\n\n<b>x</b>",
    "<!-- --><script>alert(1)</script><!-- -->",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php echo 1 ?><script>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#x202e;evil &#27;[31m",
    "\u{202e}\u{0}\u{1b}[31m \u{9b}31m",
];

#[test]
fn nothing_hostile_gets_through() {
    for text in HOSTILE {
        let html = safe_html(text);
        only_safe(&html);
        let lower = html.to_lowercase();
        // Words may name a scheme; no attribute may hold it.
        for inside in ["\"javascript:", "\"vbscript:", "\"data:text", "\"file:", "<script", "<svg", "<iframe"]
        {
            assert!(!lower.contains(inside), "{inside} of {text:?} in\n{html}");
        }
        assert!(!html.chars().any(|c| c.is_control() && c != '\n'), "{text:?}\n{html:?}");
    }
}

#[test]
fn github_s_markdown_reads_as_on_github() {
    for (markdown, expected) in [
        ("a ~~b~~ ~c~", "<p>a <del>b</del> <del>c</del></p>\n"),
        ("see www.example.org.", "<p>see <a href=\"http://www.example.org\">www.example.org</a>.</p>\n"),
        ("mail a@example.org", "<p>mail <a href=\"mailto:a@example.org\">a@example.org</a></p>\n"),
        ("[a](b.md#c \"t\")", "<p><a href=\"b.md#c\" title=\"t\">a</a></p>\n"),
        ("```sh\na < b\n```", "<pre><code class=\"language-sh\">a &lt; b\n</code></pre>\n"),
        ("3. a\n4. b", "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n"),
        ("a  \nb", "<p>a<br />\nb</p>\n"),
        ("a<br>b", "<p>a<br />\nb</p>\n"),
        ("***a* b**", "<p><strong><em>a</em> b</strong></p>\n"),
        (
            "a | b\n--|:-:\n1 | `x \\| y`",
            concat!(
                "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Table 1\">\n<table>\n<thead>\n<tr>\n",
                "<th>a</th>\n<th align=\"center\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n",
                "<td align=\"center\"><code>x | y</code></td>\n</tr>\n</tbody>\n</table>\n</div>\n"
            ),
        ),
        (
            "- [x] a\n- [ ] b",
            concat!(
                "<ul>\n<li class=\"task\"><input type=\"checkbox\" aria-label=\"done\" checked=\"\" disabled=\"\" /> a</li>\n",
                "<li class=\"task\"><input type=\"checkbox\" aria-label=\"to do\" disabled=\"\" /> b</li>\n</ul>\n"
            ),
        ),
        (
            "> [!WARNING]\n> hot",
            concat!(
                "<div class=\"markdown-alert markdown-alert-warning\">\n<p class=\"markdown-alert-title\">Warning</p>\n",
                "<p>hot</p>\n</div>\n"
            ),
        ),
        (
            "# The `fix` & why?\n## Why\n## Why",
            concat!(
                "<h1 id=\"the-fix--why\">The <code>fix</code> &amp; why?</h1>\n",
                "<h2 id=\"why\">Why</h2>\n<h2 id=\"why-1\">Why</h2>\n"
            ),
        ),
        ("# Über 1.2 – ❤\n", "<h1 id=\"über-12--\">Über 1.2 – ❤</h1>\n"),
    ] {
        assert_eq!(safe_html(markdown), expected, "{markdown}");
    }
    let notes = safe_html("a[^n]\n\n[^n]: b");
    assert!(notes.contains("<sup class=\"footnote-ref\"><a href=\"#fn-n\" id=\"fnref-n\""), "{notes}");
    assert!(notes.contains("<li id=\"fn-n\">"), "{notes}");
}

#[test]
fn hostile_shapes_are_bounded() {
    let deep = format!("{}x", ">".repeat(10_000));
    let lists: String = (0..2_000).map(|n| " ".repeat(n * 2) + "- x\n").collect();
    let row = format!("|{}\n", "x|".repeat(100));
    let table = format!("{row}|{}\n{}", "-|".repeat(100), row.repeat(200));
    let short = format!("|{}\n|{}\n{}", "x|".repeat(3_000), "-|".repeat(3_000), "|x|\n".repeat(2_000));
    for text in [
        deep,
        lists,
        table,
        short,
        "[".repeat(100_000),
        "![[](".repeat(20_000),
        "*a **b ".repeat(30_000),
        "`a``b```".repeat(20_000),
        "<!-- ".repeat(20_000),
        "[^1]".repeat(20_000) + "\n\n[^1]: x",
        "a@b.".repeat(20_000),
        "&".repeat(100_000),
        "\n\n\u{a0}\n".repeat(20_000),
    ] {
        let html = safe_html(&text);
        only_safe(&html);
        // Rows with fewer cells than the head are filled up, 500,000 cells in all.
        assert!(html.len() < 200 * text.len() + 6_000_000, "{} bytes of {}", html.len(), text.len());
    }
}

#[test]
fn a_page_is_whole_and_safe() {
    use super::page::{Exhibit, Ledger, PageInput, page};
    for text in HOSTILE {
        let exhibit = |text: &str| Exhibit {
            oid: "<b>".into(),
            name: "\"><script>".into(),
            kind: "'onload='x".into(),
            remark: "<i>".into(),
            text: Some(text.to_owned()),
            ..Exhibit::default()
        };
        let html = page(&PageInput {
            markdown: &format!(
                "{text}\n\n# T\n\n## Timeline\n\n- 10:00 <b>\n- 11:00 {text}\n\n| a | ms |\n|-|-|\n| <b> | 1.5 |\n| \" | 2.5 |\n"
            ),
            path: "\"><script>.md",
            language: "en\"><script>",
            index: "index.html",
            ledger: Ledger {
                incident: None,
                exhibits: vec![exhibit(text), exhibit("1\n2\n3\n4\n5\n")],
                embed: true,
            },
            ..PageInput::default()
        });
        let body = html.find("<body>").expect("a body");
        let mut ids = std::collections::BTreeSet::new();
        for start in tokens::starts(&html[body..].replace("</html>", "")) {
            assert!(
                !start.attributes.iter().any(|(name, _)| name.starts_with("on") || name == "style"),
                "{html}"
            );
            assert!(!matches!(
                start.name.as_str(),
                "script" | "iframe" | "style" | "object" | "form" | "link" | "meta"
            ));
            if let Some(id) = start.get("id") {
                assert!(ids.insert(id.to_owned()), "{id} stands twice in\n{html}");
            }
        }
        assert_eq!(html.matches("<svg ").count(), html.matches("role=\"img\"").count(), "{html}");
        assert!(html.contains("gi:samples-title"), "{html}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_text_is_safe(text in any::<String>()) {
        only_safe(&safe_html(&text));
    }

    #[test]
    fn any_mix_of_tricks_is_safe(
        parts in prop::collection::vec((prop::sample::select(HOSTILE), "[\\[\\]()<>\"'`!*_#|&:;\\\\ \n>-]{0,6}"), 1..6),
    ) {
        let text: String = parts.into_iter().map(|(trick, glue)| trick.to_owned() + &glue).collect();
        only_safe(&safe_html(&text));
    }
}
