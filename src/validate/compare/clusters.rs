//! Where mismatches cluster, found in the counts along each axis: a tile that went missing, a column, every 64th row.

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
            lines(&matrix, |i| i[0] % 64 == 0),
            ["mismatches fall on rows 0, 64, 128, … (every 64th)"]
        );
        assert_eq!(
            lines(&[2, 4, 512], |i| i[2] % 64 == 0 && i[2] > 0),
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
        let found = lines(&[100, 64], |i| i[1] == 9 || (i[0] * 64 + i[1]) % 97 == 0);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("of the mismatches fall on column 9"), "{found:?}");
        let found = lines(&[100, 64], |i| i[1] % 16 == 15 || (i[0] * 64 + i[1]) % 97 == 0);
        assert!(found[0].ends_with("fall on columns 15, 31, 47, … (every 16th)"), "{found:?}");
    }

    #[test]
    fn what_is_everywhere_has_no_pattern() {
        assert!(lines(&[50, 60], |_| true).is_empty());
        assert!(lines(&[50, 60], |_| false).is_empty());
        assert!(lines(&[50, 60], |i| (i[0] * 7 + i[1] * 13) % 3 == 0).is_empty());
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
