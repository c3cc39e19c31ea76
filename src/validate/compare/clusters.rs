//! Where mismatches cluster, found in the counts along each axis: a tile that went missing, a column, every 64th row.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::outcome::Axis;

/// Indices that are named before a list ends in "…".
const NAMED: usize = 3;

/// In words, one line an axis that says anything; nothing where mismatches are everywhere.
pub(super) fn describe(shape: &[u64], axes: &[Axis], mismatches: u64) -> Vec<String> {
    if mismatches == 0 {
        return Vec::new();
    }
    axes.iter()
        .enumerate()
        .filter(|(axis, counts)| {
            shape.get(*axis).is_some_and(|&length| length as usize == counts.counts.len())
        })
        .filter_map(|(axis, counts)| one_axis(axis, shape.len(), &counts.counts))
        .collect()
}

/// What an axis is called: of a matrix, its rows and columns.
fn name(axis: usize, rank: usize, several: bool) -> String {
    match (rank, axis) {
        (2, 0) if several => "rows".into(),
        (2, 0) => "row".into(),
        (2, 1) if several => "columns".into(),
        (2, 1) => "column".into(),
        _ => format!("axis {axis}"),
    }
}

fn one_axis(axis: usize, rank: usize, counts: &[u64]) -> Option<String> {
    let length = counts.len();
    let hit: Vec<usize> = (0..length).filter(|&i| counts[i] > 0).collect();
    let (&first, &last) = (hit.first()?, hit.last()?);
    if length < 2 {
        return None;
    }
    let at = |several| {
        let name = name(axis, rank, several);
        if rank == 2 { name } else { format!("{name} at") }
    };
    if first == last {
        return Some(format!(
            "all mismatches are in {} {first} of {length}",
            at(false).replace(" at", " at index")
        ));
    }
    if let Some(step) = stride(&hit, length) {
        return Some(format!("mismatches fall on {} {} (every {})", at(true), list(&hit), ordinal(step)));
    }
    let run = last - first + 1;
    if run == hit.len() && run < length {
        let tile = tile_words(first, last, length);
        return Some(format!("all mismatches are in {} {first}–{last} of {length}{tile}", at(true)));
    }
    if let Some(line) = mostly(axis, rank, counts, &hit) {
        return Some(line);
    }
    if hit.len() * 4 <= length {
        return Some(format!(
            "mismatches fall on {} of {length} indices of {}",
            hit.len(),
            name(axis, rank, true)
        ));
    }
    // Everywhere, but not evenly: an index or a regular set that holds most of them.
    heavy(axis, rank, counts)
}

/// The distance between hits, where it is the same between all of them and there are none missing after the last.
fn stride(hit: &[usize], length: usize) -> Option<usize> {
    let [first, second, ..] = hit else {
        return None;
    };
    let step = second - first;
    let even = hit.windows(2).all(|pair| pair[1] - pair[0] == step);
    let complete = *first < step && hit.last()? + step >= length;
    // The first may be missing, as where only the start of each later tile is wrong.
    let from_second = *first == step && hit.last()? + step >= length;
    (step > 1 && hit.len() >= 3 && even && (complete || from_second)).then_some(step)
}

/// A pattern that holds nearly all mismatches, as one NaN beside a wrong tile must not hide the tile. The others are
/// counted. Indices with few mismatches are left out step by step, as long as the rest still holds nearly all.
fn mostly(axis: usize, rank: usize, counts: &[u64], hit: &[usize]) -> Option<String> {
    let total = weight(counts, hit.iter().copied());
    let nearly_all = |held: u128| held * 20 >= total * 19;
    let mut seen = 0;
    for bit in 0..u64::BITS {
        let strong: Vec<usize> = hit.iter().copied().filter(|&i| counts[i] >> bit > 0).collect();
        if !nearly_all(weight(counts, strong.iter().copied())) {
            return None;
        }
        if strong.len() == seen {
            continue;
        }
        seen = strong.len();
        let found = [one_index(counts), progression(counts, &strong), longest_run(counts, &strong)]
            .into_iter()
            .flatten()
            .find(|pattern| nearly_all(weight(counts, pattern.indices())));
        if let Some(pattern) = found {
            let held = weight(counts, pattern.indices());
            let words = pattern.words(axis, rank, counts.len());
            return Some(format!("{held} of {total} mismatches {words}, {} elsewhere", total - held));
        }
    }
    None
}

/// How many mismatches these indices have.
fn weight(counts: &[u64], indices: impl Iterator<Item = usize>) -> u128 {
    indices.filter_map(|i| counts.get(i)).map(|&count| u128::from(count)).sum()
}

/// Indices with one distance between them.
struct Pattern {
    first: usize,
    last: usize,
    step: usize,
}

impl Pattern {
    fn indices(&self) -> impl Iterator<Item = usize> + use<> {
        (self.first..=self.last).step_by(self.step)
    }

    fn words(&self, axis: usize, rank: usize, length: usize) -> String {
        let (first, last) = (self.first, self.last);
        let called = |several| {
            let name = name(axis, rank, several);
            if rank == 2 { name } else { format!("{name} at") }
        };
        if first == last {
            return format!("are in {} {first} of {length}", called(false).replace(" at", " at index"));
        }
        if self.step > 1 {
            let indices: Vec<usize> = self.indices().take(NAMED + 1).collect();
            return format!("fall on {} {} (every {})", called(true), list(&indices), ordinal(self.step));
        }
        let tile = tile_words(first, last, length);
        format!("are in {} {first}–{last} of {length}{tile}", called(true))
    }
}

/// The index with the most mismatches.
fn one_index(counts: &[u64]) -> Option<Pattern> {
    let most = counts.iter().max()?;
    let at = counts.iter().position(|count| count == most)?;
    Some(Pattern { first: at, last: at, step: 1 })
}

/// Every so-manieth index, of which none, but for the very first, is without a mismatch: the distance that is the most
/// frequent between neighbours, from the remainder that holds the most.
fn progression(counts: &[u64], strong: &[usize]) -> Option<Pattern> {
    let mut gaps = BTreeMap::new();
    for pair in strong.windows(2) {
        *gaps.entry(pair[1] - pair[0]).or_insert(0_usize) += 1;
    }
    let (&step, _) = gaps.iter().max_by_key(|(gap, often)| (**often, Reverse(**gap)))?;
    let mut remainders = vec![0_u128; step];
    for &i in strong {
        remainders[i % step] += u128::from(counts[i]);
    }
    let most = remainders.iter().max()?;
    let start = remainders.iter().position(|held| held == most)?;
    let first = if counts.get(start)? > &0 { start } else { start + step };
    let members: Vec<usize> = (first..counts.len()).step_by(step).collect();
    let complete = members.len() >= 3 && members.iter().all(|&i| counts[i] > 0);
    (step > 1 && complete).then(|| Pattern { first, last: members[members.len() - 1], step })
}

/// The neighbours that hold the most together, where they are not most of the axis.
fn longest_run(counts: &[u64], strong: &[usize]) -> Option<Pattern> {
    let runs = strong.chunk_by(|a, b| a + 1 == *b);
    let run = runs.max_by_key(|run| weight(counts, run.iter().copied()))?;
    let (&first, &last) = (run.first()?, run.last()?);
    (run.len() * 2 <= counts.len()).then_some(Pattern { first, last, step: 1 })
}

/// Whether a run is the last tile, or one tile, of a usual size.
fn tile_words(first: usize, last: usize, length: usize) -> String {
    let run = last - first + 1;
    if last + 1 == length
        && let Some(tile) = [256, 128, 64, 32, 16, 8]
            .into_iter()
            .find(|&tile| length > tile && first == (length - 1) / tile * tile && run <= tile)
    {
        return format!(" (the last tile of {tile})");
    }
    if [256, 128, 64, 32, 16, 8].contains(&run) && first.is_multiple_of(run) {
        return format!(" (one tile of {run})");
    }
    String::new()
}

/// Indices that hold most of the mismatches although others have some.
fn heavy(axis: usize, rank: usize, counts: &[u64]) -> Option<String> {
    let total: u128 = counts.iter().map(|&count| u128::from(count)).sum();
    let mean = total / counts.len() as u128;
    let hot: Vec<usize> = (0..counts.len()).filter(|&i| u128::from(counts[i]) > 4 * mean.max(1)).collect();
    let held: u128 = hot.iter().map(|&i| u128::from(counts[i])).sum();
    if hot.is_empty() || held * 2 < total {
        return None;
    }
    let percent = held * 100 / total;
    let several = hot.len() > 1;
    let name = name(axis, rank, several);
    let name = if rank == 2 { name } else { format!("{name} at") };
    let every =
        stride(&hot, counts.len()).map_or_else(String::new, |step| format!(" (every {})", ordinal(step)));
    Some(format!("{percent} % of the mismatches fall on {name} {}{every}", list(&hot)))
}

/// The first few indices.
fn list(indices: &[usize]) -> String {
    let named: Vec<String> = indices.iter().take(NAMED).map(usize::to_string).collect();
    let more = if indices.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", named.join(", "))
}

fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Lines about a shape whose element at an index is wrong if `wrong` says so.
    fn lines(shape: &[u64], wrong: impl Fn(&[u64]) -> bool) -> Vec<String> {
        let mut axes: Vec<Axis> =
            shape.iter().map(|&length| Axis { counts: vec![0; length as usize] }).collect();
        let mut mismatches = 0;
        for position in 0..shape.iter().product() {
            let mut rest: u64 = position;
            let mut index = vec![0; shape.len()];
            for (index, length) in index.iter_mut().zip(shape).rev() {
                *index = rest % length;
                rest /= length;
            }
            if wrong(&index) {
                mismatches += 1;
                for (axis, index) in axes.iter_mut().zip(index) {
                    axis.counts[index as usize] += 1;
                }
            }
        }
        describe(shape, &axes, mismatches)
    }

    #[test]
    fn every_pattern_has_its_words() {
        let matrix = [512, 256];
        assert_eq!(
            lines(&matrix, |i| i[0] >= 448),
            ["all mismatches are in rows 448–511 of 512 (the last tile of 64)"]
        );
        assert_eq!(
            lines(&[500, 8], |i| i[0] >= 448),
            ["all mismatches are in rows 448–499 of 500 (the last tile of 64)"]
        );
        assert_eq!(lines(&matrix, |i| i[1] == 7), ["all mismatches are in column 7 of 256"]);
        assert_eq!(
            lines(&matrix, |i| i[0].is_multiple_of(64)),
            ["mismatches fall on rows 0, 64, 128, … (every 64th)"]
        );
        assert_eq!(
            lines(&[2, 4, 512], |i| i[2].is_multiple_of(64) && i[2] > 0),
            ["mismatches fall on axis 2 at 64, 128, 192, … (every 64th)"]
        );
        assert_eq!(
            lines(&[3, 4, 128], |i| i[0] == 1 && i[2] >= 64),
            [
                "all mismatches are in axis 0 at index 1 of 3",
                "all mismatches are in axis 2 at 64–127 of 128 (the last tile of 64)"
            ]
        );
        assert_eq!(
            lines(&matrix, |i| (128..192).contains(&i[0])),
            ["all mismatches are in rows 128–191 of 512 (one tile of 64)"]
        );
        assert_eq!(
            lines(&matrix, |i| [3, 77, 401, 402].contains(&i[0])),
            ["mismatches fall on 4 of 512 indices of rows"]
        );
    }

    #[test]
    fn a_heavy_index_stands_out_of_noise() {
        let found = lines(&[100, 64], |i| i[1] == 9 || (i[0] * 64 + i[1]).is_multiple_of(97));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("of the mismatches fall on column 9"), "{found:?}");
        let found = lines(&[100, 64], |i| i[1] % 16 == 15 || (i[0] * 64 + i[1]).is_multiple_of(97));
        assert!(found[0].ends_with("fall on columns 15, 31, 47, … (every 16th)"), "{found:?}");
    }

    #[test]
    fn an_outlier_hides_no_pattern() {
        let matrix = [512, 256];
        let odd = |i: &[u64]| i == [3, 5];
        assert_eq!(
            lines(&matrix, |i| i[1].is_multiple_of(64) || odd(i)),
            ["2048 of 2049 mismatches fall on columns 0, 64, 128, … (every 64th), 1 elsewhere"]
        );
        assert_eq!(
            lines(&matrix, |i| i[0] >= 448 || odd(i)),
            ["16384 of 16385 mismatches are in rows 448–511 of 512 (the last tile of 64), 1 elsewhere"]
        );
        assert_eq!(
            lines(&matrix, |i| i[0] == 9 || odd(i)),
            ["256 of 257 mismatches are in row 9 of 512, 1 elsewhere"]
        );
        // All counts are 1 here: the distances tell, not the weights.
        assert_eq!(
            lines(&[4096], |i| i[0] % 64 == 63 || i[0] == 77),
            ["64 of 65 mismatches fall on axis 0 at 63, 127, 191, … (every 64th), 1 elsewhere"]
        );
        assert_eq!(
            lines(&[4096], |i| (i[0].is_multiple_of(64) && i[0] > 0) || i[0] == 77),
            ["63 of 64 mismatches fall on axis 0 at 64, 128, 192, … (every 64th), 1 elsewhere"]
        );
        assert_eq!(
            lines(&[2, 4096], |i| (1024..1152).contains(&i[1]) || (i[1] % 500 == 3 && i[0] == 0)),
            ["256 of 265 mismatches are in columns 1024–1151 of 4096 (one tile of 128), 9 elsewhere"]
        );
        // One in ten elsewhere is no outlier.
        let found = lines(&[4096], |i| i[0].is_multiple_of(64) || (i[0] % 500 == 3 && i[0] < 3500));
        assert_eq!(found, ["mismatches fall on 71 of 4096 indices of axis 0"]);
    }

    #[test]
    fn what_is_everywhere_has_no_pattern() {
        assert!(lines(&[50, 60], |_| true).is_empty());
        assert!(lines(&[50, 60], |_| false).is_empty());
        assert!(lines(&[50, 60], |i| (i[0] * 7 + i[1] * 13).is_multiple_of(3)).is_empty());
        assert!(lines(&[1], |_| true).is_empty());
        assert!(describe(&[], &[], 1).is_empty(), "a scalar");
        assert!(describe(&[1 << 30], &[Axis::default()], 5).is_empty(), "an axis that was not counted");
    }

    proptest! {
        #[test]
        fn any_counts_are_borne(counts in prop::collection::vec(any::<u64>(), 0..300), rank in 0_usize..4) {
            let shape = vec![counts.len() as u64; rank];
            let axes = vec![Axis { counts }; rank];
            prop_assert!(describe(&shape, &axes, 1).iter().all(|line| line.chars().count() < 120));
        }
    }
}
