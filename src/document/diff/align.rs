//! Which section and which sentence of the old version is which of the new one.

use std::collections::HashMap;

use imara_diff::{Algorithm, Diff, InternedInput, TokenSource};

use super::units::Unit;
use super::words;
use crate::document::page::{Page, Section};

/// Two changed sentences make a pair from this similarity on: half of their words.
const SIMILAR: f64 = 0.5;

/// Two sections of different titles make a pair from this similarity on.
const SIMILAR_SECTION: f64 = 0.6;

/// The most comparisons of sentences within one hunk; about a tenth of a second.
const MOST_COMPARISONS: usize = 60_000;

/// The alignment of two sequences: pairs and lone ones, in the order of both.
#[derive(Debug, Default)]
pub(super) struct Alignment {
    /// Index of the old unit, index of the new one, whether they are equal.
    pub(super) pairs: Vec<(usize, usize, bool)>,
    pub(super) removed: Vec<usize>,
    pub(super) added: Vec<usize>,
    /// Hunks too large to be paired: how many units on each side, and the line of the new one (or the old one).
    pub(super) too_large: Vec<(usize, usize)>,
}

struct Keys<'a>(Vec<(&'a str, super::units::Form)>);

impl<'a> TokenSource for Keys<'a> {
    type Token = (&'a str, super::units::Form);
    type Tokenizer = std::vec::IntoIter<Self::Token>;

    fn tokenize(&self) -> Self::Tokenizer {
        self.0.clone().into_iter()
    }

    fn estimate_tokens(&self) -> u32 {
        self.0.len() as u32
    }
}

fn keys<'a>(units: &'a [Unit], at: &[usize]) -> Keys<'a> {
    Keys(at.iter().map(|i| (units[*i].key.as_str(), units[*i].form)).collect())
}

/// Aligns the units at `old` and `new`, indices into the two lists.
pub(super) fn units(olds: &[Unit], old: &[usize], news: &[Unit], new: &[usize]) -> Alignment {
    let input = InternedInput::new(keys(olds, old), keys(news, new));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let mut found = Alignment::default();
    let (mut a, mut b) = (0, 0);
    for hunk in diff.hunks() {
        let (from, to) = (hunk.before.start as usize, hunk.before.end as usize);
        while a < from {
            found.pairs.push((old[a], new[b], true));
            (a, b) = (a + 1, b + 1);
        }
        let until = hunk.after.end as usize;
        pair(olds, &old[a..to], news, &new[b..until], &mut found);
        (a, b) = (to, until);
    }
    while a < old.len() {
        found.pairs.push((old[a], new[b], true));
        (a, b) = (a + 1, b + 1);
    }
    found
}

/// Pairs the changed units of one hunk so that the sum of their similarities is greatest, in order.
fn pair(olds: &[Unit], old: &[usize], news: &[Unit], new: &[usize], found: &mut Alignment) {
    if old.is_empty() || new.is_empty() {
        found.removed.extend(old);
        found.added.extend(new);
        return;
    }
    if old.len().saturating_mul(new.len()) > MOST_COMPARISONS {
        found.too_large.push((old.len(), new.len()));
        found.removed.extend(old);
        found.added.extend(new);
        return;
    }
    let bags =
        |units: &[Unit], at: &[usize]| -> Vec<Vec<u64>> { at.iter().map(|i| bag(&units[*i].text)).collect() };
    let (old_bags, new_bags) = (bags(olds, old), bags(news, new));
    let width = new.len() + 1;
    let mut best = vec![0.0_f64; (old.len() + 1) * width];
    let mut alike = vec![0.0_f64; old.len() * new.len()];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let same_form = olds[old[i]].form == news[new[j]].form;
            let score = if same_form { dice(&old_bags[i], &new_bags[j]) } else { 0.0 };
            alike[i * new.len() + j] = score;
            let skip = best[(i + 1) * width + j].max(best[i * width + j + 1]);
            let take = if score >= SIMILAR { score + best[(i + 1) * width + j + 1] } else { 0.0 };
            best[i * width + j] = skip.max(take);
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        let score = alike[i * new.len() + j];
        let here = best[i * width + j];
        if score >= SIMILAR && here <= score + best[(i + 1) * width + j + 1] {
            found.pairs.push((old[i], new[j], false));
            (i, j) = (i + 1, j + 1);
        } else if here <= best[(i + 1) * width + j] {
            found.removed.push(old[i]);
            i += 1;
        } else {
            found.added.push(new[j]);
            j += 1;
        }
    }
    found.removed.extend(&old[i..]);
    found.added.extend(&new[j..]);
}

/// The words of a text, as sorted hashes.
pub(super) fn bag(text: &str) -> Vec<u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut bag: Vec<u64> = words::tokens(text)
        .into_iter()
        .map(|w| w.trim().to_lowercase())
        .filter(|w| w.contains(char::is_alphanumeric))
        .map(|w| {
            let mut hasher = DefaultHasher::new();
            w.hash(&mut hasher);
            hasher.finish()
        })
        .collect();
    bag.sort_unstable();
    bag
}

/// Sørensen–Dice coefficient of two bags of words: twice the shared words by all words, 0 to 1.
pub(super) fn dice(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut shared) = (0, 0, 0_u32);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                shared += 1;
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    if a.is_empty() && b.is_empty() { 0.0 } else { 2.0 * f64::from(shared) / (a.len() + b.len()) as f64 }
}

/// What became of the sections.
#[derive(Debug, Default)]
pub(super) struct Sections {
    /// Old index, new index.
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) removed: Vec<usize>,
    pub(super) added: Vec<usize>,
    /// Pairs that stand elsewhere among their neighbours than before, by new index.
    pub(super) moved: Vec<usize>,
    /// Pairs with another title, by new index.
    pub(super) renamed: Vec<usize>,
}

/// Matches the sections of two pages: by title (and the title around it, and the how-manieth of that title), then by
/// equal text.
pub(super) fn sections(old: &Page, new: &Page) -> Sections {
    let (old_names, new_names) = (names(&old.sections), names(&new.sections));
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for (index, name) in new_names.iter().enumerate() {
        by_name.insert(name, index);
    }
    let mut found = Sections::default();
    let mut taken = vec![false; new.sections.len()];
    let mut open = Vec::new();
    for (index, name) in old_names.iter().enumerate() {
        match by_name.get(name.as_str()) {
            Some(at) => {
                taken[*at] = true;
                found.pairs.push((index, *at));
            }
            None => open.push(index),
        }
    }
    // A section with another title but the very same text was renamed.
    let text = |page: &Page, index: usize| page.text[page.sections[index].own.clone()].trim().to_owned();
    let mut by_text: HashMap<String, Vec<usize>> = HashMap::new();
    for at in (0..taken.len()).rev().filter(|at| !taken[*at]) {
        let body = text(new, at);
        if !body.is_empty() {
            by_text.entry(body).or_default().push(at);
        }
    }
    for index in open {
        let twin = by_text.get_mut(&text(old, index)).and_then(Vec::pop);
        match twin {
            Some(at) => {
                taken[at] = true;
                found.pairs.push((index, at));
                found.renamed.push(at);
            }
            None => found.removed.push(index),
        }
    }
    pair_similar(old, new, &mut found, &mut taken);
    found.added = (0..taken.len()).filter(|at| !taken[*at]).collect();
    found.pairs.sort_unstable();
    let order: Vec<usize> = found.pairs.iter().map(|p| p.1).collect();
    let stay = longest_increasing(&order);
    found.moved = order.iter().filter(|at| stay.binary_search(at).is_err()).copied().collect();
    found.moved.sort_unstable();
    found
}

/// A section whose title and text both changed is the same while most of its words are.
fn pair_similar(old: &Page, new: &Page, found: &mut Sections, taken: &mut [bool]) {
    let words = |page: &Page, at: usize| bag(&page.text[page.sections[at].own.clone()]);
    let open: Vec<(usize, Vec<u64>)> =
        (0..taken.len()).filter(|at| !taken[*at]).map(|at| (at, words(new, at))).collect();
    if open.is_empty() || found.removed.len() * open.len() > MOST_COMPARISONS {
        return;
    }
    let mut left = Vec::new();
    for index in std::mem::take(&mut found.removed) {
        let own = words(old, index);
        let best = open
            .iter()
            .filter(|(at, other)| !taken[*at] && own.len().min(other.len()) >= 4)
            .map(|(at, other)| (dice(&own, other), *at))
            .filter(|(score, _)| *score >= SIMILAR_SECTION)
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        match best {
            Some((_, at)) => {
                taken[at] = true;
                found.pairs.push((index, at));
                found.renamed.push(at);
            }
            None => left.push(index),
        }
    }
    found.removed = left;
}

/// A name for each section: its title below the title around it, counted where it repeats.
fn names(sections: &[Section]) -> Vec<String> {
    let mut path: Vec<(u8, String)> = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    sections
        .iter()
        .map(|section| {
            path.retain(|(level, _)| *level < section.level);
            // The document's own title may change without moving what is below it.
            let around = path.last().filter(|(level, _)| *level > 1).map_or("", |(_, title)| title.as_str());
            let title = section.title.to_lowercase();
            let name = format!("{}\u{1f}{around}\u{1f}{title}", section.level.min(2));
            path.push((section.level, title));
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            format!("{name}\u{1f}{count}")
        })
        .collect()
}

/// The values of a longest increasing subsequence, sorted.
fn longest_increasing(values: &[usize]) -> Vec<usize> {
    let mut tails: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; values.len()];
    for (index, value) in values.iter().enumerate() {
        let at = tails.partition_point(|t| values[*t] < *value);
        if at > 0 {
            before[index] = tails[at - 1];
        }
        if at == tails.len() {
            tails.push(index);
        } else {
            tails[at] = index;
        }
    }
    let mut found = Vec::new();
    let mut at = tails.last().copied().unwrap_or(usize::MAX);
    while let Some(value) = values.get(at) {
        found.push(*value);
        at = before[at];
    }
    found.reverse();
    found
}
