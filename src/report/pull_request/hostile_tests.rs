//! Hostile text in every field, and any bytes as a template: one block, whole, and nothing of it ours to give away.

use proptest::prelude::*;

use super::template::{Template, Unusable};
use super::tests::{PLAIN, incident, outline, write, write_into};
use super::*;

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "\n",
            "\n\n",
            "# ",
            "## Testing\n",
            "---\n",
            "===\n",
            "- [x] ",
            "> ",
            "`",
            "```\n",
            "~~~\n",
            "<!-- ",
            "-->",
            "</details>",
            "<details>\n",
            "[a](javascript:x)",
            "![i](u)",
            "[x]: /u\n",
            "|---|\n",
            "\\",
            "    ",
            "@ada",
            "fixes #12",
            "word",
            "é",
            "**",
            "|",
            "<!-- git-incident:end -->\n",
            "\n<!-- git-incident:begin digest=1 -->\n",
            "closes:\n",
            "#12",
            "Signed-off-by: x <y@z>\n",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_field_breaks_out(texts in proptest::collection::vec(hostile(), 1..8)) {
        let count = std::cell::Cell::new(0);
        let pick = |_: &str| {
            count.set(count.get() + 1);
            texts[count.get() % texts.len()].clone()
        };
        let got = write(&incident(&pick), &pick);
        prop_assert!(!got.title.contains('\n') && got.title.chars().count() <= 72);
        let (headings, odd, ticks) = outline(&got.body);
        let known = [
            "Summary", "Root Cause", "Changes", "Before and After", "Performance Impact", "Testing",
            "Attempts Ruled Out",
            "Record", "Recommended CI Workflows", "Relevant Developers",
        ];
        let mut expected = known.to_vec();
        expected.retain(|h| headings.iter().any(|g| g == h));
        prop_assert_eq!(&headings, &expected, "{}", got.body);
        prop_assert!(headings.len() >= 6);
        let found = markers::find(&got.body);
        prop_assert!(found.is_ok_and(|f| !f.edited()), "{}", got.body);
        let ours = "<details> <summary>1 attempt</summary> </details> <details> <summary>1 stored file</summary> </details>";
        prop_assert_eq!(odd[1..odd.len() - 1].join(" "), ours, "{}", got.body);
        prop_assert_eq!(ticks, 2, "{}", got.body);
        prop_assert_eq!(calls(&got.body), "", "{}", got.body);
        let tail = got.body.trim_end().rsplit("\n\n").next().unwrap();
        prop_assert!(tail.lines().all(|l| ["Incident: ", "Co-authored-by: ", "Assisted-by: "].iter().any(|t| l.starts_with(t))), "{}", tail);
    }
    #[test]
    fn rows_keep_their_cells(texts in proptest::collection::vec(hostile(), 1..8)) {
        let count = std::cell::Cell::new(0);
        let pick = |_: &str| {
            count.set(count.get() + 1);
            texts[count.get() % texts.len()].clone()
        };
        let html = html::fragment(&write(&incident(&pick), &pick).body);
        let table = html.split("<table>").nth(1).and_then(|rest| rest.split("</table>").next());
        let rows: Vec<usize> = table.unwrap_or_default().split("</tr>").map(|row| row.matches("<td").count()).collect();
        // The heading, five rows, and what follows the last one.
        prop_assert_eq!(rows, vec![0, 4, 4, 4, 4, 4, 0], "{}", html);
        prop_assert!(html.matches("<details>").count() == 2 && html.matches("</details>").count() == 2, "{}", html);
    }

    #[test]
    fn any_template_is_kept_and_holds_one_block(pieces in proptest::collection::vec(template_piece(), 0..12), texts in proptest::collection::vec(hostile(), 1..4)) {
        let template: String = pieces.concat();
        let count = std::cell::Cell::new(0);
        let pick = |_: &str| {
            count.set(count.get() + 1);
            texts[count.get() % texts.len()].clone()
        };
        let incident = incident(&pick);
        let start = count.get();
        let got = write_into(&incident, &pick, Some(&template));
        count.set(start);
        prop_assert_eq!(&got, &write_into(&incident, &pick, Some(&template)), "the same again");
        prop_assert!(got.body.len() <= LONGEST_BODY);
        let found = markers::find(&got.body).expect("one block");
        prop_assert!(!found.edited(), "{}", got.body);
        prop_assert!(got.body.ends_with("Incident: ffffffffffff\n"));
        if Template::read(&template).is_ok() {
            prop_assert!(is_subsequence(&template, &got.body), "{} is not kept in {}", template, got.body);
        }
        // What the template opened does not swallow the block: as GitHub reads it, its headings are headings.
        let html = html::fragment(&got.body);
        prop_assert!(html.contains("<h2>Testing</h2>"), "{}", got.body);
    }

    #[test]
    fn any_bytes_are_read_as_a_template(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let template = String::from_utf8_lossy(&bytes).into_owned();
        let got = write_into(&incident(PLAIN), PLAIN, Some(&template));
        prop_assert!(markers::find(&got.body).is_ok_and(|f| !f.edited()));
    }
}

/// Whatever of a text would call somebody or close something: outside of code, as GitHub reads it.
fn calls(body: &str) -> String {
    let body = markers::find(body).map(|f| f.block).unwrap_or_default();
    let mut prose = String::new();
    let mut in_code = false;
    for event in pulldown_cmark::Parser::new_ext(&body, pulldown_cmark::Options::ENABLE_TABLES) {
        match event {
            pulldown_cmark::Event::Start(pulldown_cmark::Tag::CodeBlock(_)) => in_code = true,
            pulldown_cmark::Event::End(pulldown_cmark::TagEnd::CodeBlock) => in_code = false,
            pulldown_cmark::Event::Text(text) if !in_code => prose.push_str(&text),
            pulldown_cmark::Event::Code(_) => prose.push('`'),
            // A keyword reaches over a line end, not over the end of a block.
            pulldown_cmark::Event::End(
                pulldown_cmark::TagEnd::Paragraph
                | pulldown_cmark::TagEnd::Item
                | pulldown_cmark::TagEnd::TableCell
                | pulldown_cmark::TagEnd::Heading(_),
            ) => prose.push('.'),
            _ => prose.push(' '),
        }
    }
    let called =
        regex::Regex::new(r"(?i)(^|[^\w`])@[a-z0-9]|\b(fix|fixes|close|closes|closed):?\s+#[0-9]").unwrap();
    called.find(&prose).map(|m| m.as_str().to_owned()).unwrap_or_default()
}

fn is_subsequence(short: &str, long: &str) -> bool {
    let mut rest = long.bytes();
    short.bytes().all(|wanted| rest.any(|byte| byte == wanted))
}

fn template_piece() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "## Summary\n",
            "Summary:\n",
            "**Test plan**\n\n",
            "Root cause\n----------\n",
            "\n",
            "\r\n",
            "    ",
            "- item\n",
            "> quote\n",
            "<!-- comment\n",
            "-->\n",
            "<details>\n",
            "</details>\n",
            "<summary>x</summary>",
            "<div title=\"",
            "```\n",
            "```release-note\n\n```\n",
            "~~~~\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "**BEFORE SUBMITTING, PLEASE READ**\n",
            "<!-- git-incident -->\n",
            "<!-- git-incident:end -->\n",
            "<pre>\n",
            "</pre>\n",
            "<script>",
            "[x]: https://example.org\n",
            "[^1]: note\n",
            "text ",
            "---\n",
            "é\u{feff}",
            "1. [ ] one\n",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ]
}

#[test]
fn a_template_that_cannot_be_used_is_left_out() {
    for (template, why) in [
        (" \n", Unusable::Empty),
        ("<!-- git-incident:end -->\n", Unusable::HoldsMarkers),
        (&*"x".repeat(30_000), Unusable::TooLarge),
    ] {
        assert_eq!(Template::read(template).err(), Some(why));
        assert_eq!(write_into(&incident(PLAIN), PLAIN, Some(template)), write(&incident(PLAIN), PLAIN));
    }
}
