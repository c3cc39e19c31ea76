//! Whose a block is, and that nothing of anybody else's is touched.

use proptest::prelude::*;

use super::*;
use crate::model::incident::Stamp;
use crate::model::{EventId, Timestamp};

const PATH: &str = "docs/postmortems/X-1.md";

const FIRST: &str = "# T\n\n<!-- git-incident: incident=ff profile=bugfix -->\n\n## Summary\n\none\n\n## Fix\n\n- two\n\n### More\n\nwords\n\n## Action items\n\nthree\n";

fn drafted(place: &str, blocks: Vec<DraftedBlock>, text: &str) -> Drafted {
    Drafted {
        url: String::new(),
        stamp: Stamp { event: EventId::from_bytes([1; 32]), at: Timestamp::from_millis(0), by: None },
        place: place.to_owned(),
        sha256: canonical::sha256_hex(text.as_bytes()),
        blocks,
    }
}

fn all_of(text: &str) -> Vec<DraftedBlock> {
    blocks(text).iter().map(|b| b.drafted(text)).collect()
}

/// Drafts again after a first draft of [`FIRST`].
fn again(document: &str, fresh: &str) -> Redraft {
    redraft(document, fresh, &Known::of(&[drafted(PATH, all_of(FIRST), FIRST)], PATH, document))
}

fn titles(kept: &[Kept]) -> Vec<(&str, bool, bool)> {
    kept.iter().map(|k| (k.title.as_str(), k.missing, k.news)).collect()
}

#[test]
fn blocks_are_where_they_are() {
    let found: Vec<(String, &str)> =
        blocks(FIRST).into_iter().map(|b| (b.title.clone(), &FIRST[b.range])).collect();
    assert_eq!(found[0].1, "# T\n\n<!-- git-incident: incident=ff profile=bugfix -->");
    assert_eq!(found[2], ("Fix".to_owned(), "## Fix\n\n- two\n\n### More\n\nwords"));
    assert_eq!(found.len(), 4);
    assert_eq!(blocks("").len(), 1);
    // Headings in fences, quotes and lists are none; one that is indented is.
    assert_eq!(blocks("```\n## a\n```\n> ## b\n\n- ## c\n\n  ## d\n").len(), 1);
    assert_eq!(blocks("x\n\n  ## d ##\ny").last().map(|b| b.range.start), Some(3));
    assert_eq!(marker(FIRST), Some(Marker { incident: "ff".into(), profile: "bugfix".into() }));
    assert_eq!(marker("<!-- git-incident: allow blame -->"), None);
}

#[test]
fn drafting_again_changes_nothing_or_only_what_is_new() {
    assert_eq!(again(FIRST, FIRST).text, FIRST);
    let fresh = FIRST.replace("words", "new words").replace("three", "four");
    let made = again(FIRST, &fresh);
    assert_eq!(made.text, fresh);
    assert_eq!(made.updated, ["Fix", "Action items"]);
    assert_eq!((made.kept.len(), made.blocks), (0, all_of(&fresh)));
}

#[test]
fn what_people_wrote_stays_and_what_a_draft_would_change_is_told() {
    let document = FIRST.replace("- two", "- two, by hand") + "\n## Appendix\n\nmine\n\n\n";
    let fresh = FIRST.replace("words", "new words").replace("three", "four");
    let made = again(&document, &fresh);
    assert_eq!(made.text, document.replace("three", "four"));
    assert_eq!(made.updated, ["Action items"]);
    assert_eq!(titles(&made.kept), [("Fix", false, true)]);
    assert_eq!(
        made.kept[0].diff,
        "@@ -1,7 +1,7 @@\n ## Fix\n \n-- two, by hand\n+- two\n \n ### More\n \n-words\n+new words\n"
    );
    // The same text as before is no news, and still not what stands there.
    assert_eq!(titles(&again(&document, FIRST).kept), [("Fix", false, false)]);
}

#[test]
fn what_was_taken_out_stays_out_and_a_renamed_heading_is_an_edit() {
    let document = FIRST.replace("## Fix", "## The fix");
    let fresh = FIRST.replace("words", "new words");
    let made = again(&document, &fresh);
    assert_eq!(made.text, document);
    assert_eq!(titles(&made.kept), [("Fix", true, true)]);
    let document = FIRST.replace("## Summary\n\none\n\n", "");
    assert_eq!(again(&document, &fresh).text, document.replace("words", "new words"));
    // Another case is the same block, edited.
    let document = FIRST.replace("## Fix", "## FIX");
    assert_eq!(titles(&again(&document, &fresh).kept), [("Fix", false, true)]);
}

#[test]
fn order_line_ends_marks_and_a_missing_newline_stay() {
    let fresh = FIRST.replace("three", "four\nfive").replace("one", "1");
    let moved = "# T\n\n<!-- git-incident: incident=ff profile=bugfix -->\n\n## Action items\n\nthree\n\n\n\n## Summary\n\none";
    let expected = moved.replace("three", "four\nfive").replace("one", "1");
    assert_eq!(again(moved, &fresh).text, expected);
    let windows = format!("\u{feff}{}", moved.replace('\n', "\r\n"));
    assert_eq!(again(&windows, &fresh).text, format!("\u{feff}{}", expected.replace('\n', "\r\n")));
    assert_eq!(dressed_as("a\nb\n", &windows), "\u{feff}a\r\nb\r\n");
}

#[test]
fn a_moved_document_is_known_by_its_blocks() {
    let drafts = [drafted("elsewhere.md", all_of(FIRST), FIRST)];
    let document = FIRST.replace("one", "mine").replace("## Action items\n\nthree\n", "");
    let known = Known::of(&drafts, PATH, &document);
    assert!(known.is_draft(&document));
    let made = redraft(&document, &FIRST.replace("words", "new"), &known);
    assert_eq!(made.text, document.replace("words", "new"));
    assert!(
        !Known::of(&drafts, PATH, "# T\n\n## Summary\n\nby hand\n")
            .is_draft("# T\n\n## Summary\n\nby hand\n")
    );
}

#[test]
fn blocks_come_and_go_with_the_profile() {
    let fresh = FIRST.replace("## Fix", "## Impact\n\nall\n\n## Detection\n\nlate\n\n## Fix");
    let made = again(FIRST, &fresh);
    assert_eq!(made.text, fresh);
    assert_eq!(made.added, ["Impact", "Detection"]);
    let known = Known::of(&[drafted(PATH, all_of(&fresh), &fresh)], PATH, &fresh);
    let back = redraft(&fresh, FIRST, &known);
    assert_eq!(
        (back.text.as_str(), back.removed),
        (FIRST, vec!["Impact".to_owned(), "Detection".to_owned()])
    );
    let edited = fresh.replace("late", "late, says Ada");
    let known = Known::of(&[drafted(PATH, all_of(&fresh), &fresh)], PATH, &edited);
    assert_eq!(redraft(&edited, FIRST, &known).text, edited.replace("## Impact\n\nall\n\n", ""));
}

#[test]
fn a_draft_from_before_blocks_were_recorded_counts_whole_or_not_at_all() {
    let old = [drafted(PATH, vec![], FIRST)];
    let fresh = FIRST.replace("three", "four");
    assert_eq!(redraft(FIRST, &fresh, &Known::of(&old, PATH, FIRST)).text, fresh);
    let edited = FIRST.replace("one", "mine");
    let made = redraft(&edited, &fresh, &Known::of(&old, PATH, &edited));
    assert_eq!(made.text, edited);
    // What was spliced holds people's words: its digest as a whole claims nothing.
    let later = [old[0].clone(), drafted(PATH, all_of("## Fix\n\nx\n"), &edited)];
    assert_eq!(redraft(&edited, &fresh, &Known::of(&later, PATH, &edited)).text, edited);
}

#[test]
fn of_two_blocks_with_one_title_ours_is_ours() {
    let document = FIRST.replace("## Fix\n", "## Fix\n\nmine\n\n## Fix\n");
    let fresh = FIRST.replace("words", "new");
    assert_eq!(again(&document, &fresh).text, document.replace("words", "new"));
}

/// What people do to a block.
#[derive(Debug, Clone)]
enum Edit {
    None,
    Write(String),
    Remove,
    Rename,
    Before(String),
}

fn edit() -> impl Strategy<Value = Edit> {
    let words = "[a-z #>`*|.-]{0,12}(\n|\n\n)?[a-z é]{1,8}";
    prop_oneof![
        4 => Just(Edit::None),
        2 => words.prop_map(Edit::Write),
        1 => Just(Edit::Remove),
        1 => Just(Edit::Rename),
        1 => words.prop_map(Edit::Before),
    ]
}

/// A block of a document, and which of ours it is, unedited.
type Piece = (String, Option<usize>);

const TITLES: [&str; 6] = ["Summary", "Symptom", "Root cause", "Fix", "Validation", "Action items"];

fn page(bodies: &[String]) -> String {
    let mut text = "# T\n\n<!-- git-incident: incident=ff profile=bugfix -->\n".to_owned();
    for (title, body) in TITLES.iter().zip(bodies) {
        text.push_str(&format!("\n## {title}\n\nx{body}\n"));
    }
    text
}

proptest! {
    #[test]
    fn edited_blocks_stay_byte_for_byte_and_the_rest_is_a_fresh_draft(
        old in prop::collection::vec("[a-z]{0,3}(\n\n- [a-z]{1,3}){0,2}", 6),
        new in prop::collection::vec(prop::option::of("[a-z]{0,3}(\n\n- [a-z]{1,3}){0,2}"), 6),
        edits in prop::collection::vec(edit(), 6),
        swap in any::<bool>(),
        crlf in any::<bool>(),
        cut in any::<bool>(),
    ) {
        let fresh_bodies: Vec<String> = old.iter().zip(&new).map(|(o, n)| n.clone().unwrap_or_else(|| o.clone())).collect();
        let (first, fresh) = (page(&old), page(&fresh_bodies));
        let mut pieces: Vec<Piece> = Vec::new();
        for (i, e) in edits.iter().enumerate() {
            let block = format!("## {}\n\nx{}\n", TITLES[i], old[i]);
            match e {
                Edit::None => pieces.push((block, Some(i))),
                Edit::Write(words) => pieces.push((format!("{block}y{}\n", words.replace('`', "'")), None)),
                Edit::Remove => {}
                Edit::Rename => pieces.push((block.replace("## ", "## My "), None)),
                Edit::Before(words) => {
                    pieces.push((format!("## Note {i}\n\ny{}\n", words.replace('`', "'")), None));
                    pieces.push((block, Some(i)));
                }
            }
        }
        if swap {
            pieces.reverse();
        }
        let top = "# T\n\n<!-- git-incident: incident=ff profile=bugfix -->\n";
        let whole = |pick: &dyn Fn(&Piece) -> String| {
            let text = pieces.iter().fold(top.to_owned(), |text, piece| format!("{text}\n{}", pick(piece)));
            let text = if cut { text.trim_end().to_owned() } else { text };
            if crlf { text.replace('\n', "\r\n") } else { text }
        };
        let document = whole(&|p| p.0.clone());
        let expected = whole(&|(text, ours)| match ours {
            Some(i) => format!("## {}\n\nx{}\n", TITLES[*i], fresh_bodies[*i]),
            None => text.clone(),
        });
        let drafts = vec![drafted(PATH, all_of(&first), &first)];
        let made = redraft(&document, &fresh, &Known::of(&drafts, PATH, &document));
        prop_assert_eq!(&made.text, &expected);
        let later = [drafts, vec![drafted(PATH, made.blocks.clone(), &made.text)]].concat();
        let more = redraft(&made.text, &fresh, &Known::of(&later, PATH, &made.text));
        prop_assert_eq!(&more.text, &made.text);
        prop_assert!(more.updated.is_empty());
    }

    #[test]
    fn any_document_is_drafted_into_once(
        text in r"(#{1,3} |Summary|Fix|\n|\r\n|> |- |```|<!--|-->|---|===|\u{feff}|[a-zé .*]{0,4}){0,30}",
        place in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        // Whatever people put anywhere into a draft of ours, or instead of it.
        let mut document = if whole { String::new() } else { FIRST.to_owned() };
        let at = place.index(document.len() + 1);
        document.insert_str(at, &text);
        let fresh = FIRST.replace("words", "new words").replace("## Fix", "## Impact\n\nall\n\n## Fix");
        let drafts = vec![drafted(PATH, all_of(FIRST), FIRST)];
        let made = redraft(&document, &fresh, &Known::of(&drafts, PATH, &document));
        prop_assert_eq!(redraft(&document, &document, &Known::of(&drafts, PATH, &document)).text, document);
        let later = [drafts, vec![drafted(PATH, made.blocks.clone(), &made.text)]].concat();
        let more = redraft(&made.text, &fresh, &Known::of(&later, PATH, &made.text));
        prop_assert_eq!(more.text, made.text);
    }
}
