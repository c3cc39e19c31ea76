//! How alike two hypotheses are, from 0 to 1.
//!
//! Both texts become sets of concepts with weights. What they share is held against what either says, and texts that
//! speak of rivals (forward and backward, K and V, other numbers) are told apart however much they share.

use std::collections::{BTreeMap, BTreeSet};

use super::concepts::{of_terms, rivals, weight};
use super::words;

/// Texts that are at least this alike are taken for the same hypothesis.
pub const MATCH: f64 = 0.4;

/// What is left of the likeness of texts that exclude each other, for each way in which they do.
const CONFLICT: f64 = 0.7;
/// What is left of that of texts that are built alike around different words.
const CONTRAST: f64 = 0.62;

/// A text, ready to be compared.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    concepts: BTreeMap<String, f64>,
    /// Numbers, and names with digits in them.
    numbers: BTreeSet<String>,
    /// Single letters that name a tensor: K, V, Q.
    letters: BTreeSet<String>,
    /// The terms as they stand, for texts that are equal but for spelling.
    plain: Vec<String>,
    /// The letter triples of each concept that may be spelled in other ways, in order.
    triples: BTreeMap<String, Vec<[char; 3]>>,
    same: i64,
}

impl Profile {
    /// Of a text.
    pub fn of(text: &str) -> Self {
        let mut profile = Self::default();
        let found = words::words(text);
        for word in &found {
            let as_written = &text[word.start..word.end];
            if as_written.len() == 1
                && as_written.bytes().all(|b| b.is_ascii_uppercase())
                && as_written != "I"
            {
                profile.letters.insert(as_written.to_owned());
            }
        }
        profile.plain = found.into_iter().map(|w| w.term).collect();
        for (concept, weight) in of_terms(&profile.plain) {
            if concept.bytes().any(|b| b.is_ascii_digit()) {
                profile.numbers.insert(concept.clone());
            } else if concept.len() >= 4 {
                profile.triples.entry(concept.clone()).or_insert_with(|| triples(&concept));
            }
            let slot = profile.concepts.entry(concept).or_insert(weight);
            *slot = slot.max(weight);
        }
        profile.same = profile.number();
        profile
    }

    /// The concepts, for whoever looks for candidates.
    pub fn concepts(&self) -> impl Iterator<Item = &str> {
        self.concepts.keys().map(String::as_str)
    }

    /// A number for everything it says; 0 when it says nothing. Equal hypotheses have the same.
    pub fn same(&self) -> i64 {
        self.same
    }

    /// Whether it says nothing that anything could be found by.
    pub fn is_empty(&self) -> bool {
        self.concepts.is_empty() && self.same == 0
    }

    fn number(&self) -> i64 {
        let said: Vec<&str> =
            self.plain.iter().map(String::as_str).filter(|t| weight(t) > 0.0 || t.len() == 1).collect();
        if said.is_empty() { 0 } else { super::hash(said.join(" ").as_bytes()) as i64 }
    }

    fn groups(&self) -> BTreeMap<usize, BTreeSet<&str>> {
        let mut groups: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
        for concept in self.concepts.keys() {
            for group in rivals(concept) {
                groups.entry(*group).or_default().insert(concept);
            }
        }
        groups
    }
}

/// How alike two texts are. `rarity` says how much a concept tells apart, from 0 to 1.
pub fn likeness(one: &Profile, other: &Profile, rarity: &dyn Fn(&str) -> f64) -> f64 {
    if one.concepts.is_empty() || other.concepts.is_empty() {
        return 0.0;
    }
    if one.same() == other.same() && one.letters == other.letters {
        return 1.0;
    }
    let value = |concept: &str, weight: f64| weight * rarity(concept).clamp(0.05, 1.0);
    let total = |p: &Profile| p.concepts.iter().map(|(c, w)| value(c, *w)).sum::<f64>();
    let (shared, apart_one) = held_against(one, other, &value);
    let (_, apart_other) = held_against(other, one, &value);
    let (a, b) = (shared / total(one).max(1e-9), shared / total(other).max(1e-9));
    // A short text inside of a long one is alike, but less so than two of one length.
    let (less, more) = (a.min(b).min(1.0), a.max(b).min(1.0));
    let mut score = 0.5 * less + 0.5 * more;
    for _ in 0..conflicts(one, other) {
        score *= CONFLICT;
    }
    // `the scale is transposed` and `the scale is too small`: who says the same again says it in other words, and who
    // uses the same words around another one means the other one.
    if apart_one.min(apart_other) >= 0.4 && longest_common(&one.plain, &other.plain) >= 3 {
        score *= CONTRAST;
    }
    score.clamp(0.0, 0.99)
}

/// How much of one text's concepts the other one shares, and how much it has nothing of.
fn held_against(one: &Profile, other: &Profile, value: &dyn Fn(&str, f64) -> f64) -> (f64, f64) {
    let (mut shared, mut apart) = (0.0, 0.0_f64);
    let left: Vec<&[[char; 3]]> = other
        .triples
        .iter()
        .filter(|(concept, _)| !one.concepts.contains_key(*concept))
        .map(|(_, triples)| triples.as_slice())
        .collect();
    for (concept, weight) in &one.concepts {
        if other.concepts.contains_key(concept) {
            shared += value(concept, *weight);
            continue;
        }
        // A word that is nearly the same counts for most of itself: typos, `unmasked` and `mask`.
        let near = one.triples.get(concept).map_or(0.0, |triples| {
            left.iter().map(|theirs| spelled_alike(triples, theirs)).fold(0.0, f64::max)
        });
        if near >= 0.6 {
            shared += 0.8 * near * value(concept, *weight);
        } else {
            apart = apart.max(value(concept, *weight));
        }
    }
    (shared, apart)
}

/// The most terms that stand side by side in both texts, in one order.
fn longest_common(one: &[String], other: &[String]) -> usize {
    // Hypotheses are sentences; nobody compares books word by word.
    let (one, other) = (&one[..one.len().min(200)], &other[..other.len().min(200)]);
    let mut best = 0;
    let mut row = vec![0_usize; other.len() + 1];
    for a in one {
        let mut diagonal = 0;
        for (n, b) in other.iter().enumerate() {
            let former = row[n + 1];
            row[n + 1] = if a == b { diagonal + 1 } else { 0 };
            best = best.max(row[n + 1]);
            diagonal = former;
        }
    }
    best
}

/// What stands on either side of each `to`: `device`, `host`.
fn directions(profile: &Profile) -> BTreeSet<(&str, &str)> {
    let says = |t: &&String| weight(t) > 0.0;
    let terms = &profile.plain;
    let mut found = BTreeSet::new();
    for (at, _) in terms.iter().enumerate().filter(|(_, t)| *t == "to") {
        let from = terms[..at].iter().rev().take(2).find(says);
        let to = terms[at + 1..].iter().take(2).find(says);
        found.extend(from.zip(to).map(|(a, b)| (a.as_str(), b.as_str())));
    }
    found
}

/// In how many ways two texts exclude each other.
fn conflicts(one: &Profile, other: &Profile) -> usize {
    let (a, b) = (one.groups(), other.groups());
    let rivals =
        a.iter().filter(|(group, mine)| b.get(group).is_some_and(|theirs| mine.is_disjoint(theirs))).count();
    let apart =
        |x: &BTreeSet<String>, y: &BTreeSet<String>| !x.is_empty() && !y.is_empty() && x.is_disjoint(y);
    // `device to host` and `host to device`.
    let (ways, theirs) = (directions(one), directions(other));
    let turned = ways.iter().any(|(from, to)| theirs.contains(&(*to, *from)));
    rivals
        + usize::from(apart(&one.numbers, &other.numbers))
        + 2 * usize::from(apart(&one.letters, &other.letters))
        + 3 * usize::from(turned)
}

/// The letter triples of a word, each once, in order.
fn triples(word: &str) -> Vec<[char; 3]> {
    let padded: Vec<char> = std::iter::once('^').chain(word.chars()).chain(['$']).collect();
    let mut found: Vec<[char; 3]> = padded.windows(3).map(|w| [w[0], w[1], w[2]]).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Dice's coefficient of the letter triples of two words.
fn spelled_alike(one: &[[char; 3]], other: &[[char; 3]]) -> f64 {
    let (mut a, mut b, mut both) = (0, 0, 0_usize);
    while let (Some(x), Some(y)) = (one.get(a), other.get(b)) {
        both += usize::from(x == y);
        a += usize::from(x <= y);
        b += usize::from(y <= x);
    }
    2.0 * both as f64 / (one.len() + other.len()).max(1) as f64
}

/// How much a concept tells apart that `with` of `all` texts hold.
pub fn rarity(with: u64, all: u64) -> f64 {
    if all < 2 {
        return 1.0;
    }
    let all = all as f64;
    let idf = (1.0 + (all - with as f64 + 0.5).max(0.0) / (with as f64 + 0.5)).ln() / (1.0 + all / 1.5).ln();
    (0.45 + 0.55 * idf).clamp(0.05, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn between(one: &str, other: &str) -> f64 {
        likeness(&Profile::of(one), &Profile::of(other), &|_| 1.0)
    }

    #[test]
    fn reworded_is_alike_and_rivals_are_not() {
        let a = "a __syncthreads is missing between the store to shared memory and the load";
        assert!(between(a, a) >= 1.0);
        assert!(between(a, "missing barrier after writing smem, before it is read") > MATCH);
        assert!(between(a, "the driver version on the node is outdated") < 0.2);
        let (k, v) =
            ("the K tile is loaded with the wrong stride", "the V tile is loaded with the wrong stride");
        assert!(between(k, v) < 1.0);
        assert!(between("fp16 accumulation overflows", "bf16 accumulation overflows") < 0.8);
        assert!(between("", a) <= 0.0);
    }

    #[test]
    fn words_are_spelled_alike_by_their_triples() {
        let alike = |a: &str, b: &str| spelled_alike(&triples(a), &triples(b));
        assert!((alike("syncthread", "syncthread") - 1.0).abs() < 1e-9);
        // ^ma mas ask sk$ against ^un unm nma mas ask sk$: three of four and six.
        assert!((alike("mask", "unmask") - 0.6).abs() < 1e-9, "{}", alike("mask", "unmask"));
        assert!(alike("barrier", "softmax") <= 0.0);
        // Each triple once: aaaa is ^aa, aaa, aa$.
        assert_eq!(triples("aaaa").len(), 3);
    }

    proptest! {
        #[test]
        fn likeness_is_bounded_and_knows_itself(a in any::<String>(), b in any::<String>()) {
            let score = between(&a, &b);
            prop_assert!((0.0..=1.0).contains(&score));
            let same = between(&a, &a);
            prop_assert!(same <= 0.0 || same >= 1.0);
        }
    }
}
