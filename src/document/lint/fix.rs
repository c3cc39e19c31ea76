//! Applying the repairs that findings carry: byte ranges replaced, everything else left as it is.

use super::rules::{block_order, conflict_marker};
use super::{Diagnostic, Document, Edit, Profile};

/// More rounds than this mean that two repairs undo each other.
const ROUNDS: usize = 8;

/// Why a document was left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// A merge was never finished in it.
    Merge,
    /// The repairs come to no end.
    Endless,
    /// Two repairs want the same bytes.
    Overlap,
    /// An edit lies outside of the text.
    Outside,
}

/// The text with all repairs in it; `None` when there is nothing to repair.
///
/// # Errors
/// Repairs that meet: then none is made.
pub fn apply(text: &str, diagnostics: &[Diagnostic]) -> Result<Option<String>, Refused> {
    let mut edits: Vec<&Edit> =
        diagnostics.iter().filter_map(|d| d.fix.as_ref()).flat_map(|(_, edits)| edits).collect();
    if edits.is_empty() {
        return Ok(None);
    }
    edits.sort_by_key(|e| (e.range.start, e.range.end));
    edits.dedup();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        if edit.range.start < at {
            return Err(Refused::Overlap);
        }
        out.push_str(text.get(at..edit.range.start).ok_or(Refused::Outside)?);
        text.get(edit.range.clone()).ok_or(Refused::Outside)?;
        out.push_str(&edit.with);
        at = edit.range.end;
    }
    out.push_str(&text[at..]);
    Ok((out != text).then_some(out))
}

/// Repairs a document until there is nothing left to repair: small repairs first, then those that move whole sections.
///
/// # Errors
/// An unfinished merge; repairs that meet or come to no end. The document is then to be left as it is.
pub fn all(
    path: &str,
    text: &str,
    profile: Profile,
    check: impl Fn(&Document<'_>) -> Vec<Diagnostic>,
) -> Result<Option<String>, Refused> {
    if conflict_marker::unfinished(text).is_some() {
        return Err(Refused::Merge);
    }
    let mut now = text.to_owned();
    for _ in 0..ROUNDS {
        let found = check(&Document::read(path, &now, profile));
        let (moves, small): (Vec<_>, Vec<_>) =
            found.into_iter().filter(|d| d.fix.is_some()).partition(|d| d.rule == block_order::RULE.name);
        match apply(&now, if small.is_empty() { &moves } else { &small })? {
            Some(next) => now = next,
            None => return Ok((now != text).then_some(now)),
        }
    }
    Err(Refused::Endless)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::lint::unreadable;

    fn repair(edits: Vec<Edit>) -> Diagnostic {
        let mut d = unreadable("x.md", 1, 1, "x".to_owned(), "x");
        d.fix = Some(("x".to_owned(), edits));
        d
    }

    #[test]
    fn edits_are_made_together_or_not_at_all() {
        let cut = |range: std::ops::Range<usize>, with: &str| Edit { range, with: with.to_owned() };
        let both = [repair(vec![cut(0..1, "")]), repair(vec![cut(3..4, "x"), cut(3..4, "x")])];
        assert_eq!(apply("abcd", &both), Ok(Some("bcx".to_owned())));
        let meeting = [repair(vec![cut(0..3, "")]), repair(vec![cut(2..4, "x")])];
        assert_eq!(apply("abcd", &meeting), Err(Refused::Overlap));
        assert_eq!(apply("abcd", &[repair(vec![cut(2..9, "")])]), Err(Refused::Outside));
        assert_eq!(apply("abcd", &[]), Ok(None));
    }
}
