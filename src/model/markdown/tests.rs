//! The promise, held against a parser that reads Markdown as a forge does.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::*;

const GFM: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_GFM);

/// Pieces that hostile text is made of.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "\n",
            "\n\n",
            "#",
            "# ",
            "## Summary",
            "---",
            "===",
            "- ",
            "* ",
            "+ ",
            "> ",
            "1. ",
            "1) ",
            "`",
            "``",
            "```",
            "~~~",
            "~",
            "<",
            ">",
            "<!--",
            "-->",
            "<details>",
            "</details>",
            "<script>",
            "[x]",
            "[ ] ",
            "](",
            ")",
            "![",
            "[^1]:",
            "[a]: /u",
            "|",
            "| a | b |",
            "|---|---|",
            "a | b",
            "--- | ---",
            ":-",
            "\\",
            "\\\\",
            "&lt;",
            "&#35;",
            "    ",
            "\t",
            " ",
            "  ",
            "\r\n",
            "word",
            "é",
            "@ada",
            "@org/team",
            "fixes #12",
            "Closes: a/b#3",
            "\u{1b}[31m",
            "\u{202e}",
            "***",
            "__",
            "_",
            "=",
            "-",
            "…",
            "http://x.org/`",
            "\"",
            "'",
            "$x$",
            "%",
            ":::",
            "+++",
            "{{ 7 }}",
            "{%",
            "\u{0}",
        ])
        .prop_map(str::to_owned),
        "[ -~\n]{0,12}",
        "\\PC{0,4}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|p| p.concat())
}

fn indented(text: &str, room: &str) -> String {
    text.lines().flat_map(|line| [room, line, "\n"]).collect()
}

/// What a document holds that only its author may put there.
fn forbidden(markdown: &str) -> Option<String> {
    Parser::new_ext(markdown, GFM).find_map(|event| match event {
        Event::Html(_)
        | Event::InlineHtml(_)
        | Event::Rule
        | Event::TaskListMarker(_)
        | Event::FootnoteReference(_)
        | Event::Start(
            Tag::Heading { .. }
            | Tag::Link { .. }
            | Tag::Image { .. }
            | Tag::Table(_)
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::MetadataBlock(_),
        ) => Some(format!("{event:?}")),
        _ => None,
    })
}

/// Whether the heading after some text is one, at the top level.
fn contained(markdown: &str) -> bool {
    let mut depth = 0;
    let mut seen = false;
    for event in Parser::new_ext(markdown, GFM) {
        match event {
            Event::Start(Tag::Heading { .. }) => seen |= depth == 0,
            Event::Start(_) => depth += 1,
            Event::End(TagEnd::Heading(_)) => {}
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_block_changes_nothing_around_it(text in hostile(), forge: bool, pad in 0_usize..6) {
        let place = if forge { Place::Forge } else { Place::Document };
        let safe = block(&text, 400, place);
        prop_assert_eq!(forbidden(&safe), None, "{}", safe);
        prop_assert!(contained(&format!("{safe}\n\n# End\n")), "{}", safe);
        let room = " ".repeat(pad);
        let inside = indented(&safe, &room);
        let listed = format!("- label:\n\n{inside}\n# End\n");
        prop_assert!(contained(&listed), "{}", listed);
    }

    #[test]
    fn a_block_in_a_list_item_changes_nothing_around_it(text in hostile()) {
        let safe = block(&text, 400, Place::Document);
        let inside = indented(&safe, "  ");
        let listed = format!("- label:\n\n{inside}\n");
        prop_assert_eq!(forbidden(&listed), None, "{}", listed);
    }

    #[test]
    fn a_line_starts_nothing(text in hostile(), before in proptest::sample::select(vec!["", "- ", "> ", "text ", "- **Label:** "])) {
        let safe = line(&text, 200, Place::Forge);
        prop_assert!(!safe.contains('\n'));
        let whole = format!("{before}{safe}\n\n# End\n");
        prop_assert_eq!(forbidden(&format!("{before}{safe} (tail)\n")), None, "{}", whole);
        prop_assert!(contained(&whole), "{}", whole);
    }

    #[test]
    fn a_code_span_is_one(text in hostile()) {
        let safe = code(&text, 100);
        let kinds: Vec<_> = Parser::new_ext(&safe, GFM).collect();
        prop_assert_eq!(kinds.len(), 3, "{:?}", kinds);
    }

    #[test]
    fn lengths_hold(text in hostile(), max in 1_usize..40) {
        prop_assert!(one_line(&text, max).chars().count() <= max);
        prop_assert!(block(&text, max, Place::Forge).len() <= 64 + 40 * max);
    }
}

#[test]
fn what_helps_reading_stays() {
    let text = "- `a < b`: **works**\n- `--flag`\n\n```cpp\n# not a heading\n<b>\n```\nrun 1. and #3";
    assert_eq!(block(text, 500, Place::Document), text);
    assert_eq!(line("`x` is **not** 1.5 — see a_b", 80, Place::Forge), "`x` is **not** 1.5 — see a_b");
}

#[test]
fn structure_is_taken_away() {
    let shown = |t: &str| block(t, 500, Place::Document);
    assert_eq!(shown("## Summary\nfoo\n---\nbar\n==="), "\\## Summary\nfoo\n\\---\nbar\n\\===");
    assert_eq!(shown("- # deep"), "- \\# deep");
    assert_eq!(shown("<!-- x --> a [l](u) ![i](u)"), "\\<!-- x --> a \\[l](u) !\\[i](u)");
    assert_eq!(shown("open ` tick"), "open \\` tick");
    assert_eq!(shown("```\nnever closed"), "```text\nnever closed\n```");
    assert_eq!(shown("| a |\n|---|\n| 1 |"), "```text\n| a |\n|---|\n| 1 |\n```");
    assert_eq!(
        shown("log:\n\n    at main.c\n    at lib.c"),
        "log:\n\n```text\n    at main.c\n    at lib.c\n```"
    );
}

#[test]
fn a_forge_is_not_set_in_motion() {
    let shown = |t: &str| line(t, 200, Place::Forge);
    assert_eq!(shown("ask @ada, a@b.org"), "ask `@ada`, a@b.org");
    assert_eq!(shown("This FIXES: org/a#12 and see #13"), "This FIXES: `org/a#12` and see #13");
    assert_eq!(shown("&commat;ada"), "\\&commat;ada");
    assert_eq!(line("fixes #12 @ada", 200, Place::Document), "fixes #12 @ada");
}

#[test]
fn cuts_are_seen() {
    assert_eq!(one_line("one two  three\nfour", 100), "one two three four");
    assert_eq!(one_line("one two three", 9), "one two…");
    assert_eq!(one_line("\u{1b}[1;31mred\u{1b}[0m\u{202e}x", 9), "redx");
    assert!(block(&"word ".repeat(100), 20, Place::Document).ends_with('…'));
}

#[test]
fn a_keyword_does_not_reach_over_a_line_end() {
    assert_eq!(block("it fixes:\n#12 at last", 100, Place::Forge), "it fixes:\n`#12` at last");
    assert_eq!(block("it is like\n#12", 100, Place::Forge), "it is like\n#12");
    assert_eq!(
        line("Closes\u{a0}#12 and resolves:  o/r#3", 100, Place::Forge),
        "Closes `#12` and resolves: `o/r#3`"
    );
}

#[test]
fn a_backslash_hides_nothing_from_a_forge() {
    assert_eq!(line(r"ask \@ada", 100, Place::Forge), r"ask \\`@ada`");
    assert_eq!(line(r"fixes \#12", 100, Place::Forge), r"fixes \\#12");
    assert_eq!(line("**fixes:** **#12**", 100, Place::Forge), "**fixes:** **`#12`**");
    assert_eq!(line(r"ask \@ada", 100, Place::Document), r"ask \@ada");
}

/// The plain text that a forge sees, in pieces: what is code, or in another element, begins anew.
fn pieces(markdown: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for event in Parser::new_ext(markdown, GFM) {
        match event {
            Event::Text(text) => all.last_mut().unwrap().push_str(&text),
            // Code parts what stands around it.
            Event::Code(_) => all.extend(["|".to_owned(), String::new()]),
            _ => all.push(String::new()),
        }
    }
    all
}

proptest! {
    #[test]
    fn emphasis_hides_no_call(text in proptest::collection::vec(
        proptest::sample::select(vec!["_", "*", "~", "__", "@bob", "fixes", ":", " ", "#4", "x", "-"]), 0..14,
    )) {
        let mention = regex::Regex::new("(?:^|[^A-Za-z0-9_])@[a-z]").unwrap();
        let closing = regex::Regex::new("(?:^|[^A-Za-z0-9_])fixes:?\\s+#[0-9]").unwrap();
        let written = line(&text.concat(), 500, Place::Forge);
        let pieces = pieces(&written);
        prop_assert!(!pieces.iter().any(|piece| mention.is_match(piece)), "{:?}", written);
        prop_assert!(!closing.is_match(&pieces.concat()), "{:?}", written);
    }
}

#[test]
fn underscores_before_a_call_are_no_word() {
    for text in ["_@torvalds_", "_x_@torvalds", "__fixes:__ #4", "_fixes_ #4", "*_~@torvalds~_*"] {
        let written = line(text, 500, Place::Forge);
        assert!(written.contains("`@torvalds") || written.contains("`#4`"), "{written}");
    }
}
