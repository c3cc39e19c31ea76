//! The words of an aligned pair.

use imara_diff::{Algorithm, Diff, InternedInput, TokenSource};

/// What happened to a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// It is in both.
    Equal,
    /// It is in the old version alone.
    Delete,
    /// It is in the new version alone.
    Insert,
}

impl Op {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Delete => "delete",
            Self::Insert => "insert",
        }
    }
}

/// A piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What happened to it.
    pub op: Op,
    /// Its text.
    pub text: String,
}

struct Tokens<'a>(Vec<&'a str>);

impl<'a> TokenSource for Tokens<'a> {
    type Token = &'a str;
    type Tokenizer = std::vec::IntoIter<&'a str>;

    fn tokenize(&self) -> Self::Tokenizer {
        self.0.clone().into_iter()
    }

    fn estimate_tokens(&self) -> u32 {
        self.0.len() as u32
    }
}

/// Words with the blank behind them, and single other characters: `8`, `×`, `H100 `. Numbers keep their point.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let mut length = if word(first) {
            let inner = |(at, c): (usize, char)| {
                let between = matches!(c, '.' | ',' | '-' | '\'' | '’' | '/')
                    && rest[at + c.len_utf8()..].starts_with(word);
                (!word(c) && !between).then_some(at)
            };
            rest.char_indices().find_map(inner).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        if rest[length..].starts_with(' ') {
            length += 1;
        }
        found.push(&rest[..length]);
        rest = &rest[length..];
    }
    found
}

/// A longer text is shown as replaced: nobody reads the words of such a sentence one by one.
const MOST_WORDS: usize = 2_000;

/// Compares two texts word by word.
pub fn compare(old: &str, new: &str) -> Vec<Edit> {
    let (before, after) = (tokens(old), tokens(new));
    if before.len().max(after.len()) > MOST_WORDS {
        return vec![
            Edit { op: Op::Delete, text: old.to_owned() },
            Edit { op: Op::Insert, text: new.to_owned() },
        ];
    }
    let input = InternedInput::new(Tokens(before), Tokens(after));
    let diff = Diff::compute(Algorithm::Myers, &input);
    let mut edits = Vec::new();
    let mut at = 0;
    let text = |side: &[imara_diff::Token]| side.iter().map(|t| input.interner[*t]).collect::<String>();
    for hunk in diff.hunks() {
        push(&mut edits, Op::Equal, text(&input.before[at as usize..hunk.before.start as usize]));
        push(
            &mut edits,
            Op::Delete,
            text(&input.before[hunk.before.start as usize..hunk.before.end as usize]),
        );
        push(&mut edits, Op::Insert, text(&input.after[hunk.after.start as usize..hunk.after.end as usize]));
        at = hunk.before.end;
    }
    push(&mut edits, Op::Equal, text(&input.before[at as usize..]));
    edits
}

fn push(edits: &mut Vec<Edit>, op: Op, text: String) {
    if !text.is_empty() {
        edits.push(Edit { op, text });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_words_and_numbers_change() {
        let shown: Vec<(Op, String)> =
            compare("It took 3.5 hours on 8×H100.", "It took 13.5 hours on 8×H200.")
                .into_iter()
                .map(|e| (e.op, e.text))
                .collect();
        let expected = [
            (Op::Equal, "It took "),
            (Op::Delete, "3.5 "),
            (Op::Insert, "13.5 "),
            (Op::Equal, "hours on "),
            (Op::Delete, "8×H100"),
            (Op::Insert, "8×H200"),
            (Op::Equal, "."),
        ];
        // `×` is a letter to nobody: whether it parts the words is the alphabet's business.
        let expected: Vec<_> = expected.map(|(op, text)| (op, text.to_owned())).into();
        let joined = |edits: &[(Op, String)], skip: Op| {
            edits.iter().filter(|e| e.0 != skip).map(|e| e.1.as_str()).collect::<String>()
        };
        assert_eq!(joined(&shown, Op::Insert), joined(&expected, Op::Insert));
        assert_eq!(joined(&shown, Op::Delete), joined(&expected, Op::Delete));
        assert!(shown.contains(&(Op::Delete, "3.5 ".to_owned())), "{shown:?}");
    }

    proptest! {
        #[test]
        fn each_side_reads_back(old in ".{0,60}", new in ".{0,60}") {
            let edits = compare(&old, &new);
            let side = |skip: Op| edits.iter().filter(|e| e.op != skip).map(|e| e.text.as_str()).collect::<String>();
            prop_assert_eq!(side(Op::Insert), old);
            prop_assert_eq!(side(Op::Delete), new);
        }
    }
}
