use proptest::prelude::*;

use super::*;

const OLD: &str = "# Post-mortem: row 17

## Summary

The last tile was read without its mask. Fixed by `1a2b3c4d`, owner Alex.

## Root cause

The gate `numStreams == 1` likely skips the event between both streams.
It was added in March; see [the change](https://forge.test/c/9).

## Validation

The original workload completes (3 runs). Only tested on one A100.
Not retested on other models.

```
ok 1
ok 2
```

## Action items

- Add a matrix entry to nightly. (Alex, JIRA-12)
- Document the invariant. (Kim, PR #7)
- Audit the other fast paths. (Alex, JIRA-13)
";

fn kinds(review: &Review) -> Vec<(&'static str, String)> {
    review.changes.iter().map(|c| (c.kind.name(), c.message.clone())).collect()
}

fn change(from: &str, to: &str) -> Review {
    assert!(OLD.contains(from), "{from}");
    compare(OLD, &OLD.replacen(from, to, 1))
}

#[test]
fn equal_and_rewrapped_texts_have_no_changes() {
    assert_eq!(compare(OLD, OLD), Review::default());
    let wrapped =
        OLD.replace("runs). Only", "runs).\nOnly").replace("- Add", "* *Add*").replace("see\n", "see ");
    let wrapped = wrapped.replace("* *Add* a", "- **Add** a");
    let review = compare(OLD, &wrapped);
    assert!(review.differs);
    assert_eq!(kinds(&review), []);
}

#[test]
fn a_claim_that_says_more_comes_first() {
    for (from, to, why) in [
        ("(3 runs)", "(30 runs)", "3 runs → 30 runs"),
        ("likely skips", "skips", "\"likely\" is gone"),
        ("Only tested on one A100.", "Tested on A100 and H100.", "H100 is new"),
        ("Not retested on other models.\n", "", "a stated limit is gone"),
        ("(3 runs).", "(3 runs). All models pass.", "\"all\" is new"),
        ("one A100.", "8 × A100.", "is new"),
    ] {
        let review = change(from, to);
        let first = &review.changes[0];
        assert_eq!(first.kind, Kind::ClaimWidened, "{from}: {:?}", kinds(&review));
        assert!(first.message.contains(why), "{} in {}", why, first.message);
    }
}

#[test]
fn new_evidence_in_the_section_is_said() {
    let review = change("(3 runs).", "(30 runs, see [the log](https://ci.test/5)).");
    assert_eq!(review.changes[0].kind, Kind::ClaimSupported, "{:?}", kinds(&review));
    // Evidence elsewhere is none for this claim.
    let moved = OLD.replace("(3 runs)", "(30 runs)").replace("added in March", "added in March, `9f8e7d6c`");
    assert_eq!(compare(OLD, &moved).changes[0].kind, Kind::ClaimWidened);
}

#[test]
fn evidence_that_is_gone_is_named() {
    let review = change("; see [the change](https://forge.test/c/9)", "");
    let lost: Vec<_> = review.of(Kind::EvidenceRemoved).map(|c| c.message.clone()).collect();
    assert_eq!(lost, ["the link to https://forge.test/c/9 is not in the document any more"]);
    let review = change("```\nok 1\nok 2\n```\n", "");
    assert_eq!(review.of(Kind::EvidenceRemoved).count(), 1, "{:?}", kinds(&review));
    let review = change("ok 2", "ok 3");
    assert_eq!(review.of(Kind::EvidenceRemoved).count(), 0, "an edited output is still there");
    let review = change("Fixed by `1a2b3c4d`, owner", "Fixed, owner");
    assert_eq!(review.of(Kind::EvidenceRemoved).count(), 1);
}

#[test]
fn facts_that_changed_are_told() {
    for (from, to, why) in [
        ("`1a2b3c4d`", "`1a2b3c4e`", "`1a2b3c4d` → `1a2b3c4e`"),
        ("owner Alex", "owner Kim", "owner Alex → owner Kim"),
        (
            "(https://forge.test/c/9)",
            "(https://forge.test/c/8)",
            "link: https://forge.test/c/9 → https://forge.test/c/8",
        ),
    ] {
        let review = change(from, to);
        let facts: Vec<_> = review.of(Kind::FactChanged).map(|c| c.message.clone()).collect();
        assert_eq!(facts, [why], "{:?}", kinds(&review));
    }
}

#[test]
fn action_items_are_followed() {
    let cases = [
        ("- Audit the other fast paths. (Alex, JIRA-13)\n", "", "lost: it was open"),
        ("(Kim, PR #7)", "(Kim, merged in PR #7)", "closed"),
        ("(Kim, PR #7)", "(Kim)", "tracked by: PR #7 → nothing"),
        ("(Kim, PR #7)", "(Lee, PR #7)", "owner: Kim → Lee"),
        ("JIRA-13)\n", "JIRA-13)\n- Run the soak test every night. (Lee, JIRA-14)\n", "opened"),
    ];
    for (from, to, message) in cases {
        let review = change(from, to);
        let items: Vec<_> = review.of(Kind::ActionItem).map(|c| c.message.as_str()).collect();
        assert_eq!(items, [message], "{:?}", kinds(&review));
        let others = review.changes.iter().filter(|c| c.kind != Kind::ActionItem).count();
        assert_eq!(others, 0, "{message}: {:?}", kinds(&review));
    }
    let reordered = OLD
        .replace("- Add a matrix entry to nightly. (Alex, JIRA-12)\n", "")
        .replace("- Audit", "- Add a matrix entry to nightly. (Alex, JIRA-12)\n- Audit");
    let review = compare(OLD, &reordered);
    assert_eq!(review.of(Kind::ActionItem).count(), 0, "{:?}", kinds(&review));
}

#[test]
fn sections_come_go_and_move() {
    let review = change("## Action items", "## Timeline\n\nOn Monday it began.\n\n## Action items");
    let said: Vec<_> = review.of(Kind::Section).map(|c| (c.section.as_str(), c.message.as_str())).collect();
    assert_eq!(said, [("Timeline", "added")]);
    let cause = &OLD[OLD.find("## Root").expect("there")..OLD.find("## Validation").expect("there")];
    let moved = OLD.replace(cause, "") + "\n" + cause;
    let review = compare(OLD, &moved);
    let said: Vec<_> = review.of(Kind::Section).map(|c| (c.section.as_str(), c.message.as_str())).collect();
    assert_eq!(said, [("Root cause", "moved, unchanged: now after \"Action items\"")]);
    assert_eq!(review.changes.len(), 1, "{:?}", kinds(&review));
    let review = change("## Root cause", "## Cause");
    assert_eq!(kinds(&review), [("section", "renamed: \"Root cause\" → \"Cause\"".to_owned())]);
}

#[test]
fn a_sentence_that_moved_is_not_removed_and_added() {
    let sentence = "It was added in March; see [the change](https://forge.test/c/9).\n";
    let moved = OLD.replace(sentence, "").replace("owner Alex.\n", &format!("owner Alex. {sentence}"));
    let review = compare(OLD, &moved);
    assert_eq!(kinds(&review), [("prose", "moved here from \"Root cause\"".to_owned())]);
}

#[test]
fn words_are_compared_within_pairs() {
    let review = change("read without its mask", "read beyond its mask");
    assert_eq!(review.changes.len(), 1);
    let inserted: Vec<_> = review.changes[0].words.iter().filter(|w| w.op == Op::Insert).collect();
    assert_eq!(inserted[0].text, "beyond ");
    assert_eq!(review.changes[0].new.as_ref().expect("new").place.line, 5);
}

#[test]
fn a_check_that_is_switched_off_shows() {
    let review =
        change("## Validation\n", "## Validation\n\n<!-- git-incident: allow(hedging) it is true -->\n");
    assert_eq!(kinds(&review), [("fact-changed", "a check is switched off here".to_owned())]);
}

#[test]
fn counts_in_words_tables_and_devices_are_counts() {
    let validation = |text: &str| format!("# T\n\n## Validation\n\n{text}\n");
    for (from, to) in [
        ("Ran on 1 × A100.", "Ran on 8 × A100."),
        ("Passed twenty of twenty times.", "Passed thirty of thirty times."),
        ("| runs | result |\n|---|---|\n| 20 | pass |", "| runs | result |\n|---|---|\n| 200 | pass |"),
    ] {
        let review = compare(&validation(from), &validation(to));
        assert_eq!(review.changes[0].kind, Kind::ClaimWidened, "{from}: {:?}", kinds(&review));
    }
    let review = compare(&validation("It took 3.205860328008e-02 s."), &validation("It took a while."));
    assert_eq!(review.of(Kind::EvidenceRemoved).count(), 0, "a number is no commit: {:?}", kinds(&review));
}

#[test]
fn front_matter_and_raw_html_are_not_passed_over() {
    let review = compare("---\nstatus: open\n---\n\n# T\n", "---\nstatus: resolved\n---\n\n# T\n");
    assert_eq!(kinds(&review), [("fact-changed", "status: open → resolved".to_owned())]);
    let review = compare("# T\n", "# T\n\n<p>All GPUs pass.</p>\n");
    assert_eq!(review.unaligned.len(), 1, "a forge shows those words");
}

#[test]
fn what_cannot_be_aligned_is_said() {
    let text = |word: &str| {
        let sentences: Vec<String> = (0..400).map(|n| format!("{word}{n} is {word}{}.", n * 7)).collect();
        format!("# T\n\n## Summary\n\n{}\n", sentences.join("\n\n"))
    };
    let review = compare(&text("Alpha"), &text("Beta"));
    assert_eq!(review.unaligned.len(), 1);
    let document = Document::of("a.md", None, Some(b"a"), Some(b"\xff"));
    assert!(document.degraded.expect("said").contains("not UTF-8"));
}

#[test]
fn pages_and_comments_are_safe_and_below_the_limit() {
    let evil = "# T\n\n## Validation\n\n<script>alert(1)</script> @all fixes #1 `x` </del>\u{1b}[31m\n";
    let document =
        Document::of("a`b<.md", None, Some(b"# T\n\n## Validation\n\nNothing.\n"), Some(evil.as_bytes()));
    let html = to_html(std::slice::from_ref(&document), "<T>");
    assert!(!html.contains("<script") && !html.contains('\u{1b}') && html.contains("&lt;T&gt;"), "{html}");
    let comment = to_markdown(&[document]);
    assert!(!comment.contains("<script") && !comment.contains('\u{1b}'), "{comment}");
    let long: Vec<String> = (0..5_000).map(|n| format!("Sentence {n} says something of its own.")).collect();
    let long = long.join("\n\n");
    let document = Document::of("a.md", None, Some(b"# T\n"), Some(format!("# T\n\n{long}").as_bytes()));
    let comment = to_markdown(&[document]);
    assert!(comment.len() < 65_000 && comment.contains("…and "), "{}", comment.len());
}

#[test]
fn one_sentence_a_line_for_plain_diffs() {
    let text =
        canonical_text("# T\n\nOne sentence. Another\none [here](https://a.test).\n\n- [ ] an *item*\n");
    assert_eq!(text, "\n# T\n\nOne sentence.\nAnother one here. <https://a.test>\n- [ ] an item\n");
}

fn documents() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec![
            "# T\n\n",
            "## Summary\n\n",
            "## Validation\n\n",
            "## Action items\n\n",
            "### Deep\n\n",
            "It passed 3 runs. ",
            "It passed 30 runs. ",
            "All is well. ",
            "- [ ] do it (Alex, X-1)\n",
            "- [x] do it (Kim, X-1)\n",
            "\n\n",
            "```\nout 1\n```\n",
            "[a](https://b.test/c) ",
            "`1a2b3c4d` ",
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "**Fix.** done ",
            "> quoted ",
            "<!-- c -->",
            "not tested on H100. ",
            "\u{fc}\u{2028}",
        ]),
        0..30,
    )
    .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_two_documents_are_compared(old in documents(), new in documents()) {
        let review = compare(&old, &new);
        for change in &review.changes {
            prop_assert!(change.old.is_some() || change.new.is_some());
            for (side, text) in [(&change.old, &old), (&change.new, &new)] {
                if let Some(side) = side {
                    prop_assert!(side.place.line <= text.lines().count() + 1);
                }
            }
        }
        prop_assert_eq!(review.differs, old != new);
        if old == new { prop_assert!(review.changes.is_empty()); }
        let document = Document::of("a.md", None, Some(old.as_bytes()), Some(new.as_bytes()));
        prop_assert!(to_markdown(std::slice::from_ref(&document)).len() < 65_000);
        let _ = to_html(&[document], "t");
        let _ = canonical_text(&new);
    }

    #[test]
    fn any_bytes_are_compared(old in prop::collection::vec(any::<u8>(), 0..120), new in prop::collection::vec(any::<u8>(), 0..120)) {
        let document = Document::of("a.md", None, Some(&old), Some(&new));
        let _ = to_markdown(&[document]);
    }
}
