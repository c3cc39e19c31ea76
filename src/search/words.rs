//! Words of a text, as the index and the scores see them: lower case, split at everything that is no letter or digit
//! and inside of `camelCase`, English endings cut off.

/// Longer words are cut: they are digests or base64.
const LONGEST: usize = 48;

/// A word where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What it is compared by.
    pub term: String,
}

/// The words of a text in their order.
pub fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut start = None;
    let mut former = ' ';
    let mut push = |start: usize, end: usize| {
        let term = term(&text[start..end]);
        if !term.is_empty() {
            found.push(Word { start, end, term });
        }
    };
    for (at, c) in text.char_indices() {
        if c.is_alphanumeric() {
            // `illegalAddress` is two words; `GPUs` and `FP16` are one.
            if let Some(begun) = start.filter(|_| former.is_lowercase() && c.is_uppercase()) {
                push(begun, at);
                start = Some(at);
            }
            start = start.or(Some(at));
        } else if let Some(begun) = start.take() {
            push(begun, at);
        }
        former = c;
    }
    if let Some(begun) = start {
        push(begun, text.len());
    }
    found
}

/// The terms of a text.
pub fn terms(text: &str) -> Vec<String> {
    words(text).into_iter().map(|w| w.term).collect()
}

/// What a word is compared by.
pub fn term(word: &str) -> String {
    let mut lower = String::with_capacity(word.len().min(LONGEST));
    if word.is_ascii() {
        let bytes = word.bytes().filter(u8::is_ascii_alphanumeric).take(LONGEST);
        lower.extend(bytes.map(|b| char::from(b.to_ascii_lowercase())));
    } else {
        for c in word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric()) {
            if lower.len() + c.len_utf8() > LONGEST {
                break;
            }
            lower.push(c);
        }
    }
    if lower.bytes().all(|b| b.is_ascii_lowercase()) {
        lower.truncate(stem(&lower).len());
        if lower.len() > 3 && lower.ends_with('y') {
            lower.pop();
            lower.push('i');
        }
    }
    lower
}

/// Cuts off English endings, a little as Porter's first steps do: `masked`, `masking` and `masks` are `mask`.
fn stem(word: &str) -> &str {
    let mut stem = word;
    if stem.len() > 3 && !stem.ends_with("ss") && !stem.ends_with("us") && !stem.ends_with("is") {
        stem = stem.strip_suffix('s').unwrap_or(stem);
    }
    for ending in ["ing", "ed", "ly"] {
        let Some(rest) = stem.strip_suffix(ending) else { continue };
        let has_vowel = rest.bytes().any(|b| b"aeiouy".contains(&b));
        if rest.len() >= 3 + usize::from(ending == "ly") && has_vowel {
            stem = rest;
            let bytes = stem.as_bytes();
            let last = bytes[bytes.len() - 1];
            // `stopped` is `stop`; `pass` and `fill` stay.
            if ending != "ly" && last == bytes[bytes.len() - 2] && !b"lsz".contains(&last) {
                stem = &stem[..stem.len() - 1];
            }
            break;
        }
    }
    if stem.len() > 3
        && let Some(rest) = stem.strip_suffix('e')
    {
        stem = rest;
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_and_folded() {
        let found = terms("The LAST tile isn't masked: cudaErrorIllegalAddress at smem_ptr[64], fp16 × 2");
        let expected = [
            "the", "last", "til", "isn", "t", "mask", "cuda", "error", "illegal", "address", "at", "smem",
            "ptr", "64", "fp16", "2",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn forms_of_a_word_are_one() {
        for group in [
            &["mask", "masks", "masked", "masking"][..],
            &["scale", "scales", "scaled", "scaling"],
            &["apply", "applies", "applied", "applying"],
            &["stop", "stops", "stopped", "stopping"],
            &["tile", "tiles", "tiling"],
        ] {
            for word in group {
                assert_eq!(term(word), term(group[0]), "{word}");
            }
        }
        assert_eq!(term("this"), "this");
        assert_eq!(term("bus"), "bus");
    }

    proptest! {
        #[test]
        fn words_lie_where_they_say(text in any::<String>()) {
            let mut end = 0;
            for word in words(&text) {
                prop_assert!(word.start >= end && word.end > word.start);
                prop_assert!(text.get(word.start..word.end).is_some());
                prop_assert!(!word.term.is_empty() && word.term.len() <= LONGEST);
                prop_assert!(word.term.chars().all(char::is_alphanumeric));
                end = word.end;
            }
        }
    }
}
