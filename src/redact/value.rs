//! Cutting secrets out of structured data: the net below everything that is written into a ledger.

use serde_json::Value;

use super::{redact_str, scan};

/// Cuts the secrets out of every text of a JSON value. Says whether there were any.
///
/// Words of a list are looked at alone and behind the word before them: `["--token", "…"]` is a command line.
pub fn cut(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let (clean, found) = redact_str(text);
            if found.is_empty() {
                return false;
            }
            *text = clean.into_owned();
            true
        }
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let words: Vec<String> = items.iter().filter_map(|i| i.as_str().map(str::to_owned)).collect();
            let clean = cut_words(&words);
            let changed = clean != words;
            *items = clean.into_iter().map(Value::String).collect();
            changed
        }
        // Every item is looked at, whatever the one before it held.
        Value::Array(items) => items.iter_mut().filter_map(|item| cut(item).then_some(())).count() > 0,
        Value::Object(members) => members.values_mut().filter_map(|item| cut(item).then_some(())).count() > 0,
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Cuts the secrets out of the words of a command line, each alone and behind the word before it.
pub fn cut_words(words: &[String]) -> Vec<String> {
    let mut clean: Vec<String> = Vec::with_capacity(words.len());
    for (i, word) in words.iter().enumerate() {
        let alone = redact_str(word).0.into_owned();
        let behind = i.checked_sub(1).map(|before| format!("{} {word}", words[before]));
        let found = behind.as_ref().and_then(|text| {
            let start = text.len() - word.len();
            scan(text.as_bytes()).into_iter().find(|f| f.start >= start)
        });
        clean.push(match found {
            // What only its neighbour gives away is a secret as a whole.
            Some(found) if alone == *word => format!("[redacted:{}]", found.rule),
            _ => alone,
        });
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn token() -> String {
        ["gh", "p_", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY", "zZ1yX3wV5u"].concat()
    }

    #[test]
    fn every_text_is_looked_at() {
        let token = token();
        let mut value = json!({"a": [{"b": token}, 1, null], "c": format!("t: {token}"), "d": ["x", "y"]});
        assert!(cut(&mut value));
        assert!(!value.to_string().contains(&token));
        assert_eq!(value["d"], json!(["x", "y"]));
        assert!(!cut(&mut value), "once is enough");
    }

    #[test]
    fn a_word_is_given_away_by_the_one_before_it() {
        let secret = ["hunter2", "-Zq8", "vXw31"].concat();
        let words = ["tool", "--password", &secret, "--verbose", "x"].map(str::to_owned);
        let clean = cut_words(&words);
        assert_eq!(clean[2], "[redacted:command-line-secret]");
        assert_eq!((&clean[1], &clean[3], &clean[4]), (&words[1], &words[3], &words[4]));
        let words = ["-H".to_owned(), format!("Authorization: Bearer {secret}{secret}")];
        assert!(!cut_words(&words)[1].contains(&secret));
    }

    proptest! {
        #[test]
        fn harmless_words_stay(words in prop::collection::vec("[a-z]{1,8}", 0..6)) {
            prop_assert_eq!(&cut_words(&words), &words);
        }
    }
}
