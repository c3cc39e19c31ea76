//! How well a document answers a query: BM25 over its words, and where in it the words stand.

use super::document::Document;
use super::query::{Phrase, Query};
use super::words::{Word, words};

/// Texts are taken to be this long on average: an average that is counted would change with every document.
const USUAL_LENGTH: f64 = 40.0;
/// How many characters of a text are shown.
const SNIPPET: usize = 160;

/// Where a query was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// How well it fits.
    pub score: f64,
    /// The field that fits best.
    pub field: String,
    /// A piece of it.
    pub snippet: String,
    /// The words that were looked for, in bytes of the snippet.
    pub marks: Vec<(usize, usize)>,
}

/// How much a field counts.
fn weight(field: &str) -> f64 {
    match field {
        "title" | "hypothesis" | "ticket" => 2.0,
        "conclusion" | "cause" | "symptom" => 1.5,
        "of" => 0.25,
        _ => 1.0,
    }
}

/// The positions at which a phrase stands.
fn positions(words: &[Word], phrase: &Phrase) -> Vec<usize> {
    let length = phrase.0.len();
    if length == 0 || length > words.len() {
        return Vec::new();
    }
    (0..=words.len() - length)
        .filter(|at| words[*at..*at + length].iter().map(|w| &w.term).eq(phrase.0.iter()))
        .collect()
}

/// Judges a document; `None` when it does not answer the query. `rarity` is the weight of a word.
pub fn judge(document: &Document, query: &Query, rarity: &dyn Fn(&str) -> f64) -> Option<Found> {
    score(document, query, rarity).map(|(score, field)| show(document, query, score, field))
}

/// How well a document answers a query, and the place of the field that fits best. `None` when it does not.
pub fn score(document: &Document, query: &Query, rarity: &dyn Fn(&str) -> f64) -> Option<(f64, usize)> {
    let fields: Vec<(&str, &str, Vec<Word>)> =
        document.fields.iter().map(|(name, text)| (name.as_str(), text.as_str(), words(text))).collect();
    let stands = |phrase: &Phrase| fields.iter().any(|(_, _, words)| !positions(words, phrase).is_empty());
    if query.without.iter().any(&stands) || !query.with.iter().all(&stands) {
        return None;
    }
    if !query.kernels.iter().all(|name| fields.iter().any(|(_, text, _)| names(text, name))) {
        return None;
    }
    let looked_for = looked_for(query);
    let mut total = 0.0;
    let mut best: Option<(f64, usize)> = None;
    for (n, (name, _, words)) in fields.iter().enumerate() {
        let length = words.len() as f64 / USUAL_LENGTH;
        let mut score = 0.0;
        for phrase in &looked_for {
            let times = positions(words, phrase).len() as f64;
            let rare: f64 = phrase.0.iter().map(|t| rarity(t)).sum();
            score += weight(name) * rare * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length));
        }
        total += score;
        let own = *name != "of";
        if own && score > 0.0 && best.is_none_or(|(former, _)| score > former) {
            best = Some((score, n));
        }
    }
    if looked_for.is_empty() {
        // Only filters: everything that passes them fits alike.
        return Some((0.0, fields.iter().position(|(name, _, _)| *name != "of")?));
    }
    // An attempt is not found by its incident's title alone: the incident itself is.
    best.map(|(_, field)| ((total * 1000.0).round() / 1000.0, field))
}

/// What is shown of a document that answers a query.
pub fn show(document: &Document, query: &Query, score: f64, field: usize) -> Found {
    let Some((name, text)) = document.fields.get(field) else { return found(score, "", "", &[], &[]) };
    found(score, name, text, &words(text), &looked_for(query))
}

/// Everything that a query looks for in texts.
fn looked_for(query: &Query) -> Vec<Phrase> {
    let kernels = query.kernels.iter().map(|k| Phrase(super::words::terms(k)));
    query.with.iter().cloned().chain(kernels).collect()
}

fn found(score: f64, field: &str, text: &str, words: &[Word], phrases: &[Phrase]) -> Found {
    let mut spans: Vec<(usize, usize)> = phrases
        .iter()
        .flat_map(|p| {
            positions(words, p).into_iter().map(|at| (words[at].start, words[at + p.0.len() - 1].end))
        })
        .collect();
    spans.sort_unstable();
    spans.dedup_by(|next, former| {
        let overlaps = next.0 < former.1;
        if overlaps {
            former.1 = former.1.max(next.1);
        }
        overlaps
    });
    let (snippet, marks) = snippet(text, &spans);
    Found { score, field: field.to_owned(), snippet, marks }
}

/// A piece of a text around the first span, on one line, with the spans that lie in it.
pub fn snippet(text: &str, spans: &[(usize, usize)]) -> (String, Vec<(usize, usize)>) {
    let first = spans.first().map_or(0, |s| s.0);
    let mut start = first.saturating_sub(SNIPPET / 3);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    if start > 0 {
        // From the beginning of a word, where one begins near.
        start += text[start..first].find(char::is_whitespace).map_or(0, |n| n + 1);
        while !text.is_char_boundary(start) {
            start += 1;
        }
    }
    let mut end = (start + SNIPPET).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let mut out = String::new();
    if start > 0 {
        out.push('…');
    }
    let mut marks = Vec::new();
    let mut open: Option<usize> = None;
    let mut spans = spans.iter().filter(|s| s.0 >= start && s.1 <= end).peekable();
    for (at, c) in text[start..end].char_indices() {
        let at = at + start;
        if spans.peek().is_some_and(|s| s.1 <= at) {
            spans.next();
            marks.extend(open.take().map(|from| (from, out.len())));
        }
        if spans.peek().is_some_and(|s| s.0 == at) {
            open = Some(out.len());
        }
        if c.is_whitespace() {
            if !out.ends_with(' ') || open.is_some() {
                out.push(' ');
            }
        } else {
            out.push(c);
        }
    }
    marks.extend(open.map(|from| (from, out.len())));
    if end < text.len() {
        out.push('…');
    }
    (out, marks)
}

/// Whether a text holds a name as a whole: `flash_fwd` does not stand in `flash_fwd_kernel`.
fn names(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&name).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(part_of_name)
            && !text[at + name.len()..].chars().next().is_some_and(part_of_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;
    use crate::search::query::parse;
    use proptest::prelude::*;

    fn document(fields: &[(&str, &str)]) -> Document {
        Document {
            fields: fields.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect(),
            ..Document::default()
        }
    }

    fn asks(text: &str, document: &Document) -> Option<Found> {
        judge(document, &parse(text, Timestamp::from_millis(0)).unwrap(), &|_| 1.0)
    }

    #[test]
    fn all_words_phrases_and_none_of_the_others() {
        let d = document(&[("hypothesis", "the last tile is not masked"), ("of", "wrong rows in flash_fwd")]);
        assert_eq!(asks("tile masked", &d).unwrap().field, "hypothesis");
        assert!(asks("tile -masks", &d).is_none());
        assert!(asks("\"last tile\"", &d).is_some());
        assert!(asks("\"tile last\"", &d).is_none());
        assert!(asks("tile rows", &d).is_some());
        assert!(asks("rows", &d).is_none(), "its incident's title alone");
        assert!(asks("tile kernel:flash_fwd", &d).is_some());
        assert!(asks("tile kernel:flash", &d).is_none());
        let found = asks("mask", &d).unwrap();
        let (from, to) = found.marks[0];
        assert_eq!(&found.snippet[from..to], "masked");
    }

    proptest! {
        #[test]
        fn snippets_hold_their_marks(text in any::<String>(), word in "[a-c]{1,2}") {
            let phrase = Phrase(vec![word]);
            let all = words(&text);
            let spans: Vec<_> = positions(&all, &phrase).iter().map(|at| (all[*at].start, all[*at].end)).collect();
            let (snippet, marks) = snippet(&text, &spans);
            for (from, to) in marks {
                prop_assert!(snippet.get(from..to).is_some());
            }
        }
    }
}
