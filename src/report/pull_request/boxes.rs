//! The points of a description's lists, read back: boxes, and what they stand for.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// One point of a list, at any depth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Where it begins, in bytes.
    pub offset: usize,
    /// Whether its box is ticked; `None` without a box.
    pub ticked: Option<bool>,
    /// What stands before its first code.
    pub lead: String,
    /// Its first code.
    pub code: Option<String>,
    /// Everything it says, with the points below it that have no box of their own.
    pub text: String,
}

impl Item {
    /// The gate whose box this is.
    pub fn gate(&self) -> Option<&str> {
        let named = self.ticked.is_some() && self.lead.eq_ignore_ascii_case("gate");
        self.code.as_deref().filter(|_| named)
    }

    /// Whether it says a word.
    pub fn says(&self, word: &str) -> bool {
        let (text, word) = (self.text.to_ascii_lowercase(), word.to_ascii_lowercase());
        let part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        !word.is_empty()
            && text
                .match_indices(&word)
                .any(|(at, found)| !text[..at].ends_with(part) && !text[at + found.len()..].starts_with(part))
    }

    /// How many more it stands for, when it is the last point of a list that was cut.
    pub fn more(&self) -> Option<usize> {
        let words = self.text.trim().strip_prefix("…and ")?.strip_suffix(" more")?;
        words.parse().ok().filter(|_| self.ticked.is_none())
    }

    /// Whether it is the box of the repro.
    pub fn is_repro(&self) -> bool {
        self.ticked.is_some() && self.code.is_some() && self.lead.eq_ignore_ascii_case("repro")
    }

    /// The path of the post-mortem that it links to.
    pub fn postmortem(&self) -> Option<&str> {
        self.code.as_deref().filter(|_| self.lead.eq_ignore_ascii_case("post-mortem:"))
    }
}

/// A lead is a word or two; more of it is not kept.
const MOST_LEAD: usize = 100;

/// The most of a point's text that is kept, in bytes.
const MOST_TEXT: usize = 2000;

/// Adds what an event says to the innermost point that is open, and outward to the one with a box.
fn say(items: &mut [Item], open: &[usize], event: &Event<'_>) {
    let said = match event {
        Event::Text(text) | Event::Code(text) => text.as_ref(),
        _ => " ",
    };
    for at in open.iter().rev() {
        let Some(item) = items.get_mut(*at) else { return };
        if item.text.len() < MOST_TEXT {
            item.text.push_str(said);
        }
        if item.ticked.is_some() {
            return;
        }
    }
}

const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_TASKLISTS).union(Options::ENABLE_GFM);

/// What is to be seen of a description, without white space and marks of code. Total.
pub fn visible(body: &str) -> String {
    let mut all = String::new();
    for event in Parser::new_ext(body, OPTIONS) {
        if let Event::Text(text) | Event::Code(text) = event {
            all.push_str(&text);
        }
    }
    squeezed(&all)
}

/// A text without white space and marks of code.
pub fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '`').collect()
}

/// Whether the comment at an offset is one to a forge, too: in a block of code it is text. Total.
pub fn is_comment(body: &str, offset: usize) -> bool {
    Parser::new_ext(body, OPTIONS).into_offset_iter().any(|(event, range)| {
        matches!(event, Event::Html(_) | Event::InlineHtml(_)) && range.start <= offset && offset < range.end
    })
}

/// Reads every point. Total.
pub fn read(body: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    // Positions in `items` of the points that are open.
    let mut open: Vec<usize> = Vec::new();
    for (event, range) in Parser::new_ext(body, OPTIONS).into_offset_iter() {
        if let Event::Start(Tag::Item) = event {
            open.push(items.len());
            items.push(Item {
                offset: range.start,
                ticked: None,
                lead: String::new(),
                code: None,
                text: String::new(),
            });
            continue;
        }
        if let Event::End(TagEnd::Item) = event {
            if let Some(at) = open.pop() {
                let lead = items[at].lead.trim().len();
                let start = items[at].lead.len() - items[at].lead.trim_start().len();
                items[at].lead = items[at].lead.split_off(start);
                items[at].lead.truncate(lead);
            }
            continue;
        }
        say(&mut items, &open, &event);
        let Some(item) = open.last().and_then(|at| items.get_mut(*at)) else { continue };
        match event {
            Event::TaskListMarker(ticked) => item.ticked = Some(ticked),
            Event::Text(text) if item.code.is_none() && item.lead.len() < MOST_LEAD => {
                item.lead.push_str(&text);
            }
            Event::Code(text) if item.code.is_none() => item.code = Some(text.into_string()),
            _ => {}
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_read_however_they_are_written() {
        let body = "- [x] gate `unit`: pass\n* [X] Gate `gpu`\n  - [ ] gate `deep`: pending\n1. [ ] repro `sh x`: y\n\n\
                    - Post-mortem: [`docs/a.md`](https://example.org/a)\n- gate `no-box`\n- [x] tests were run\n\n\
                    ```\n- [x] gate `in code`\n```\n";
        let items = read(body);
        let gates: Vec<_> = items.iter().filter_map(|i| Some((i.gate()?, i.ticked?))).collect();
        assert_eq!(gates, [("unit", true), ("gpu", true), ("deep", false)]);
        assert_eq!(items.iter().filter(|i| i.is_repro()).count(), 1);
        assert_eq!(items.iter().find_map(Item::postmortem), Some("docs/a.md"));
        assert!(body[items[0].offset..].starts_with("- [x] gate `unit`"));
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "[-*1. \\[\\]x`gate\n>|#]{0,80}") {
            for item in read(&text) {
                proptest::prop_assert!(item.offset <= text.len());
            }
        }
    }
}
