//! Our block in a pull request's description: found, told from a person's edit, replaced; everything else stays
//! byte for byte.
//!
//! ```text
//! <!-- git-incident:begin digest=SHA-256 of the block -->
//! the block
//! <!-- git-incident:end -->
//! ```
//!
//! Each marker is a whole line. The digest is taken with line ends as `\n` and without empty lines at both ends:
//! GitHub's editor turns every line end of a description into `\r\n` when a person saves anything in it.

use crate::model::canonical;

const BEGIN: &str = "<!-- git-incident:begin";
const END: &str = "<!-- git-incident:end";
const CLOSE: &str = "-->";

/// Why the one block of a description cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// There is no marker.
    Missing,
    /// There is a beginning and no end.
    NoEnd,
    /// There is an end and no beginning.
    NoBegin,
    /// There is more than one block.
    Doubled,
    /// A second beginning stands before the first one's end, or the end stands before the beginning.
    Nested,
}

impl Problem {
    /// What is wrong, for people.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Missing => "its description has no git-incident block",
            Self::NoEnd => "the line that ends its git-incident block is gone",
            Self::NoBegin => "the line that begins its git-incident block is gone",
            Self::Doubled => "its description has more than one git-incident block",
            Self::Nested => "the lines that begin and end its git-incident block are out of order",
        }
    }
}

/// The block of a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<'a> {
    /// What stands before the beginning's line.
    pub before: &'a str,
    /// The block, with `\n` line ends and no empty lines at its ends.
    pub block: String,
    /// The digest its beginning names; empty when it names none.
    pub named: &'a str,
    /// What stands after the end's line.
    pub after: &'a str,
}

impl Found<'_> {
    /// Whether somebody changed the block (or the digest) since it was generated.
    pub fn edited(&self) -> bool {
        self.named != digest(&self.block)
    }
}

/// The text a digest is taken of, and that a block is compared by.
pub fn normal(block: &str) -> String {
    block.replace('\r', "").trim_matches('\n').to_owned()
}

/// SHA-256 of a block, in hexadecimal.
pub fn digest(block: &str) -> String {
    canonical::sha256_hex(normal(block).as_bytes())
}

/// A block between its markers, without a line end after it. Lines of the block that would be markers are
/// defused, so that what was written can always be found again.
pub fn wrap(block: &str) -> String {
    let block = defuse(&normal(block));
    wrap_as(&block, &digest(&block))
}

fn wrap_as(block: &str, named: &str) -> String {
    let named = if named.bytes().all(|b| b.is_ascii_hexdigit()) { named } else { "" };
    format!("{BEGIN} digest={named} {CLOSE}\n{block}\n{END} {CLOSE}")
}

/// Finds the block.
///
/// # Errors
/// There is none, or more than one, or its markers are damaged.
pub fn find(body: &str) -> Result<Found<'_>, Problem> {
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        match marker(line) {
            Some(Marker::Begin(named)) => begins.push((at, at + line.len(), named)),
            Some(Marker::End) => ends.push((at, at + line.len())),
            None => {}
        }
        at += line.len();
    }
    match (begins.as_slice(), ends.as_slice()) {
        ([], []) => Err(Problem::Missing),
        ([_], []) => Err(Problem::NoEnd),
        ([], [_]) => Err(Problem::NoBegin),
        ([(begin, text, named)], [(end, after)]) if begin < end => Ok(Found {
            before: &body[..*begin],
            block: normal(&body[*text..*end]),
            named,
            after: &body[*after..],
        }),
        ([_], [_]) => Err(Problem::Nested),
        ([first, second, ..], [end, ..]) if first.0 < end.0 && second.0 < end.0 => Err(Problem::Nested),
        _ => Err(Problem::Doubled),
    }
}

/// The description with its block replaced; `None` when the block says that already, digest included.
///
/// # Errors
/// As [`find`].
pub fn replace(body: &str, block: &str) -> Result<Option<String>, Problem> {
    let fresh = defuse(&normal(block));
    replace_as(body, &fresh, &digest(&fresh))
}

/// As [`replace`], with the digest that the block is to name: of a block that somebody edited, that of what was
/// generated, so that the edit is seen the next time.
///
/// # Errors
/// As [`find`].
pub fn replace_as(body: &str, block: &str, named: &str) -> Result<Option<String>, Problem> {
    let found = find(body)?;
    let fresh = defuse(&normal(block));
    if found.block == fresh && found.named == named {
        return Ok(None);
    }
    // The end's line keeps its line end only where something follows it.
    let line_end = if found.after.is_empty() && !body.ends_with('\n') { "" } else { "\n" };
    Ok(Some(format!("{}{}{line_end}{}", found.before, wrap_as(&fresh, named), found.after)))
}

enum Marker<'a> {
    Begin(&'a str),
    End,
}

fn marker(line: &str) -> Option<Marker<'_>> {
    let inner = line.trim().strip_suffix(CLOSE)?;
    if let Some(rest) = inner.strip_prefix(BEGIN)
        && (rest.is_empty() || rest.starts_with(char::is_whitespace))
    {
        let named = rest.split_whitespace().find_map(|word| word.strip_prefix("digest="));
        return Some(Marker::Begin(named.unwrap_or_default()));
    }
    inner.strip_prefix(END).filter(|rest| rest.trim().is_empty()).map(|_| Marker::End)
}

fn defuse(block: &str) -> String {
    if !block.contains(BEGIN) && !block.contains(END) {
        return block.to_owned();
    }
    let lines = block.split('\n').map(|line| match marker(line) {
        Some(_) => line.replacen("<!--", "<! --", 1),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_block_is_found_and_only_it_is_replaced() {
        let body = format!("Hello\r\n\r\n{}\n\nFixes nothing\n", wrap("one\ntwo"));
        let found = find(&body).unwrap();
        assert_eq!(
            (found.before, found.block.as_str(), found.after),
            ("Hello\r\n\r\n", "one\ntwo", "\nFixes nothing\n")
        );
        assert!(!found.edited());
        let changed = replace(&body, "three\n").unwrap().expect("a change");
        assert_eq!(changed, format!("Hello\r\n\r\n{}\n\nFixes nothing\n", wrap("three")));
        assert_eq!(replace(&changed, "three"), Ok(None), "the same again is no change");
    }

    #[test]
    fn an_editor_that_changes_line_ends_is_no_edit() {
        let body = wrap("one\n\ntwo").replace('\n', "\r\n");
        assert!(!find(&body).unwrap().edited());
        assert_eq!(replace(&body, "one\n\ntwo"), Ok(None));
    }

    #[test]
    fn an_edit_is_seen_in_the_block_and_in_the_digest() {
        let body = wrap("one");
        assert!(find(&body.replace("one", "won")).unwrap().edited());
        assert!(find(&body.replace("digest=", "digest=0")).unwrap().edited());
        let bare = "<!-- git-incident:begin -->\none\n<!-- git-incident:end -->";
        assert!(find(bare).unwrap().edited(), "without a digest nobody knows who wrote it");
        assert!(replace(bare, "one").unwrap().is_some());
    }

    #[test]
    fn damaged_markers_are_told_apart() {
        let (one, begin, end) =
            (wrap("x"), "<!-- git-incident:begin digest=0 -->", "<!-- git-incident:end -->");
        for (body, problem) in [
            ("nothing here".to_owned(), Problem::Missing),
            (format!("{begin}\nx"), Problem::NoEnd),
            (format!("x\n{end}\n"), Problem::NoBegin),
            (format!("{one}\n{one}"), Problem::Doubled),
            (format!("{one}\n{end}"), Problem::Doubled),
            (format!("{begin}\n{one}\n{end}"), Problem::Nested),
            (format!("{end}\n{begin}"), Problem::Nested),
        ] {
            assert_eq!(find(&body), Err(problem), "{body}");
            assert!(replace(&body, "y").is_err() && !problem.explain().is_empty());
        }
    }

    #[test]
    fn words_in_a_line_are_no_markers() {
        assert_eq!(find("see `<!-- git-incident:begin -->` there"), Err(Problem::Missing));
        assert_eq!(find("<!-- git-incident:beginning -->"), Err(Problem::Missing));
    }

    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            proptest::sample::select(vec![
                "<!-- git-incident:begin digest=aa -->",
                "<!-- git-incident:end -->",
                "<!-- git-incident:end-->",
                "\n",
                "\r\n",
                "\r",
                "  ",
                "word",
            ])
            .prop_map(str::to_owned),
            "\\PC{0,4}",
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|p| p.concat())
    }

    proptest! {
        #[test]
        fn what_is_wrapped_is_found_unedited(before in "[a-z\r\n]{0,9}\n", block in hostile(), after in "\n[a-z\r\n]{0,9}") {
            let body = format!("{before}{}{after}", wrap(&block));
            let found = find(&body).unwrap();
            prop_assert!(!found.edited());
            prop_assert_eq!(found.before, before.as_str());
            prop_assert_eq!(replace(&body, &block), Ok(None));
        }

        #[test]
        fn nothing_outside_changes(body in hostile(), block in hostile()) {
            if let Ok(found) = find(&body) {
                let changed = replace(&body, &block).unwrap().unwrap_or_else(|| body.clone());
                let again = find(&changed).unwrap();
                prop_assert_eq!(again.before, found.before);
                prop_assert_eq!(again.after, found.after);
                prop_assert!(!again.edited());
                prop_assert_eq!(replace(&changed, &block), Ok(None));
            }
        }
    }
}
