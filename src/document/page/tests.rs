use proptest::prelude::*;

use super::*;

fn titles(page: &Page) -> Vec<(u8, String)> {
    page.sections.iter().map(|s| (s.level, s.title.clone())).collect()
}

#[test]
fn sections_nest_and_cover_the_text() {
    let text = "top\n\n# Post-mortem: row 17\n\nintro\n\n## Summary\n\nwords\n\n### More\n\ndeep\n\nFix\n---\n\nlast\n";
    let page = Page::parse(text);
    assert_eq!(
        titles(&page),
        [(0, ""), (1, "Post-mortem: row 17"), (2, "Summary"), (3, "More"), (2, "Fix")]
            .map(|(level, title)| (level, title.to_owned()))
    );
    assert_eq!(page.title(), Some("Post-mortem: row 17"));
    let summary = page.section("1. summary:").expect("there");
    assert_eq!(text[summary.own.clone()].trim(), "words");
    assert_eq!(text[summary.whole.clone()].trim(), "words\n\n### More\n\ndeep");
    assert_eq!(page.leaves_in(summary).len(), 2);
    assert_eq!(page.section_at(text.find("deep").expect("there")).title, "More");
    assert_eq!(&text[page.section("fix").expect("there").heading.clone()], "Fix\n---");
}

#[test]
fn bold_and_plain_leads_stand_for_headings_where_there_are_none() {
    for text in [
        "# T\n\n**Summary.** It broke.\n\n**Root cause:** the gate.\n\n**Fix**: removed.\n",
        "# T\n\n> **Summary.** It broke.\n>\n> **Root cause:** the gate.\n>\n> **Fix**: removed.\n",
        "# T\n\nSummary. It broke.\n\nRoot cause: the gate.\n\nFix. removed.\n",
        "# T\n\n**Summary**\n\nIt broke.\n\n**Root cause**\n\nthe gate.\n\n**Fix**\n\nremoved.\n",
    ] {
        let page = Page::parse(text);
        let names: Vec<_> = page.sections.iter().map(|s| s.title.as_str()).collect();
        assert_eq!(names, ["", "T", "Summary", "Root cause", "Fix"], "{text}");
        let cause = page.section("root cause").expect("there");
        let body = text[cause.own.clone()].replace('>', "");
        assert_eq!(body.trim(), "the gate.", "{text}");
    }
    let page = Page::parse("## Summary\n\n**Fix:** see below.\n\nFix. It.\n");
    assert_eq!(titles(&page).len(), 2, "a bold word below real headings is a bold word");
    let page = Page::parse("Fixes are in. Summary of it follows. **Fixed** it.\n\nFix-up commits\n");
    assert_eq!(titles(&page).len(), 1);
}

#[test]
fn leaves_know_what_they_are() {
    let text = "para\n\n- one\n- [x] two `code`\n  - inner\n\n1. loose\n\n   second\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nlet x;\n```\n";
    let page = Page::parse(text);
    let shown: Vec<(String, &str, usize, usize)> = page
        .leaves
        .iter()
        .map(|l| (l.prose.text.clone(), &text[l.range.clone()], l.lists, l.quotes))
        .collect();
    let expected = [
        ("para", "para", 0, 0),
        ("one", "one", 1, 0),
        ("two code", "two `code`", 1, 0),
        ("inner", "inner", 2, 0),
        ("loose", "loose", 1, 0),
        ("second", "second", 1, 0),
        ("quoted", "quoted", 0, 1),
        ("a | b", "| a | b |", 0, 0),
        ("1 | 2", "| 1 | 2 |", 0, 0),
        ("let x;\n", "```rust\nlet x;\n```", 0, 0),
    ];
    let expected: Vec<_> = expected.map(|(p, s, l, q)| (p.to_owned(), s, l, q)).into();
    assert_eq!(shown, expected);
    assert_eq!(page.leaves[2].kind, Kind::Item { task: Some(true) });
    assert_eq!(page.leaves[9].kind, Kind::Code("rust".to_owned()));
}

#[test]
fn prose_knows_its_source() {
    let text = "The *fast* path\nskips `a.b()` &amp; [the docs](https://x.test/d).\n";
    let page = Page::parse(text);
    let prose = &page.leaves[0].prose;
    assert_eq!(prose.text, "The fast path skips a.b() & the docs.");
    let at = |words: &str| {
        let start = prose.text.find(words).expect("in the prose");
        &text[prose.source(&(start..start + words.len()))]
    };
    assert_eq!(at("fast"), "fast");
    assert_eq!(at("skips"), "skips");
    assert_eq!(at("a.b()"), "a.b()");
    assert_eq!(at("docs"), "docs");
    assert_eq!(prose.links[0].0, "https://x.test/d");
    assert_eq!(prose.words_only(), "The fast path skips _____ & the docs.");
}

#[test]
fn sentences_end_where_they_end() {
    let text = "It hung, e.g. at step 3.5 on 8 GPUs. J. Doe ran `x. Y. Z` twice! Did it help? \"No.\" We went on, see fig. 2 and etc.";
    let page = Page::parse(text);
    let prose = &page.leaves[0].prose;
    let sentences: Vec<&str> = prose.sentences().into_iter().map(|r| &prose.text[r]).collect();
    assert_eq!(
        sentences,
        [
            "It hung, e.g. at step 3.5 on 8 GPUs.",
            "J. Doe ran x. Y. Z twice!",
            "Did it help?",
            "\"No.\"",
            "We went on, see fig. 2 and etc."
        ]
    );
}

#[test]
fn comments_and_front_matter_are_found() {
    let text = "---\ntitle: x\n---\n\n<!-- a -->\nwords <!-- b --> words\n\n<!-- c\nd --><!-- e -->\n";
    let page = Page::parse(text);
    let comments: Vec<&str> = page.comments.iter().map(|c| page.comment(c)).collect();
    assert_eq!(comments, ["a", "b", "c\nd", "e"]);
    assert_eq!(page.front_matter.clone().map(|r| &text[r]).map(str::trim), Some("---\ntitle: x\n---"));
    assert_eq!(page.leaves.len(), 1);
}

proptest! {
    #[test]
    fn any_bytes_make_a_page(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        let page = Page::parse(&text);
        prop_assert_eq!(page.sections[0].level, 0);
    }

    #[test]
    fn any_text_makes_a_page_whose_ranges_are_its_own(
        text in r"(#{1,3} |\*\*Fix\*\*|Summary\.|Fix: |> |- |\| |\n|`|```|<!--|-->|&amp;|ü|\\|\[a\]\(b\)|---|[a-z .*_!]{0,6}){0,40}",
    ) {
        let page = Page::parse(&text);
        for leaf in &page.leaves {
            prop_assert!(text.get(leaf.range.clone()).is_some());
            for range in leaf.prose.sentences() {
                prop_assert!(text.get(leaf.prose.source(&range)).is_some(), "{:?}", leaf);
            }
            for span in &leaf.prose.spans {
                prop_assert!(text.get(span.source.clone()).is_some());
            }
        }
        let mut last = 0;
        for section in &page.sections {
            prop_assert!(section.heading.start >= last);
            last = section.heading.end;
            prop_assert!(text.get(section.own.clone()).is_some() && text.get(section.whole.clone()).is_some());
            prop_assert!(section.own.end <= section.whole.end);
        }
        for comment in &page.comments {
            let _ = page.comment(comment);
        }
    }
}

#[test]
fn a_byte_order_mark_hides_no_heading() {
    let text = "\u{feff}## Summary\n\nIt broke.\n";
    let page = Page::parse(text);
    let summary = page.section("Summary").expect("the first heading is read");
    assert_eq!(text[summary.heading.clone()].trim_end(), "## Summary");
    assert_eq!(&text[page.leaves[0].range.clone()], "It broke.");
    assert_eq!(page.text, text);
}
