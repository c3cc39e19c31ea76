//! How often a bug shows, and how often a fix must pass before "it is gone" means something.
//!
//! Everything here is computed from two integers (failures, runs) whenever it is shown. The ledger
//! stores the integers; no floating-point number is ever written.

/// The normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_964;

/// The chance of being fooled that a row of passes may leave: 5 %.
const FOOLED: f64 = 0.05;

/// The fewest passes asked for when the bug showed in every run.
const LEAST_WHEN_DETERMINISTIC: u32 = 2;

/// The fewest passes asked for when the bug showed in some runs only.
const LEAST_WHEN_FLAKY: u32 = 5;

/// The fewest runs after which a repro may be called reliable.
pub const RELIABLE_RUNS: u32 = 2;

/// The lowest rate (as the lower end of the interval) at which a repro that does not always fail
/// is called reliable.
///
/// At 0.05 a fix needs at most 59 passes in a row, which people still do. Two failures in ten runs
/// are enough; one in five is not (its lower end is 0.036): run it five more times.
pub const RELIABLE_LOWER: f64 = 0.05;

/// What [`passes_needed`] answers when no number of passes shows anything: the bug was never seen.
pub const NEVER: u32 = u32::MAX;

/// The 95 % Wilson score interval of `failures` in `runs`, as (lower, upper), both within 0..=1.
///
/// With p = k/n: (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n), Wilson 1927. `failures` above
/// `runs` count as `runs`; no runs at all say nothing: (0, 1).
pub fn wilson(failures: u32, runs: u32) -> (f64, f64) {
    if runs == 0 {
        return (0.0, 1.0);
    }
    let n = f64::from(runs);
    let p = f64::from(failures.min(runs)) / n;
    let z2 = Z * Z;
    let middle = p + z2 / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z2 / n;
    // The closed ends are exact by definition; rounding would leave 1e-17 there.
    let lower = if failures == 0 { 0.0 } else { ((middle - half) / scale).clamp(0.0, 1.0) };
    let upper = if failures >= runs { 1.0 } else { ((middle + half) / scale).clamp(0.0, 1.0) };
    (lower, upper)
}

/// Whether the bug showed in every run (and was run at all).
pub fn deterministic(failures: u32, runs: u32) -> bool {
    runs > 0 && failures >= runs
}

/// How many passes in a row show, with 95 % confidence, that a bug of this rate is gone.
///
/// max(2 when it was deterministic, else 5; ⌈ln 0.05 / ln(1 − lower)⌉), where `lower` is the lower
/// end of the [`wilson`] interval. The lower end, not the measured share, because few runs know the
/// rate badly: one failure in five runs may well be a bug of 4 % (82 passes). Once the same share
/// is well established the answer comes down to what the share itself gives: 16 passes after 200
/// in 1,000, 14 when it is certain to be one in five. So measuring the rate longer is what makes
/// a fix cheaper to prove. [`NEVER`] when the bug was never seen.
pub fn passes_needed(failures: u32, runs: u32) -> u32 {
    let (lower, _) = wilson(failures, runs);
    let least = if deterministic(failures, runs) { LEAST_WHEN_DETERMINISTIC } else { LEAST_WHEN_FLAKY };
    // `ln_1p` keeps the digits of tiny rates, where `ln(1 − lower)` would round to nothing.
    let passes = (FOOLED.ln() / (-lower).ln_1p()).ceil();
    if lower <= 0.0 || passes >= f64::from(NEVER) { NEVER } else { least.max(passes as u32) }
}

/// Whether the repro shows the bug dependably enough to judge a fix by it.
///
/// Run at least [`RELIABLE_RUNS`] times, and either it failed every time or the lower end of its
/// rate is at least [`RELIABLE_LOWER`].
pub fn reliable(failures: u32, runs: u32) -> bool {
    runs >= RELIABLE_RUNS && (deterministic(failures, runs) || wilson(failures, runs).0 >= RELIABLE_LOWER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 5e-5, "{got} is not {want}");
    }

    #[test]
    fn the_interval_of_known_counts() {
        // Computed by hand from the formula; 5 of 5 is n/(n + z²) = 5/8.84146.
        near(wilson(5, 5).0, 0.56552);
        near(wilson(2, 2).0, 0.34238);
        near(wilson(1, 5).0, 0.03622);
        near(wilson(1, 5).1, 0.62447);
        near(wilson(200, 1000).0, 0.17636);
        near(wilson(0, 10).1, 0.27753);
    }

    #[test]
    fn passes_follow_the_lower_end_of_the_rate() {
        assert_eq!(passes_needed(5, 5), 4);
        assert_eq!(passes_needed(2, 2), 8);
        assert_eq!(passes_needed(1, 1), 13);
        assert_eq!(passes_needed(30, 30), 2, "deterministic and well established");
        assert_eq!(passes_needed(29, 30), 5, "not deterministic: never fewer than five");
        assert_eq!(passes_needed(1, 5), 82, "five runs hardly know the rate");
    }

    #[test]
    fn an_established_one_in_five_needs_about_fourteen() {
        assert_eq!(passes_needed(200, 1_000), 16);
        assert_eq!(passes_needed(20_000, 100_000), 14);
        assert_eq!((0.05_f64.ln() / 0.8_f64.ln()).ceil() as u32, 14, "the limit of certain knowledge");
    }

    #[test]
    fn a_bug_never_seen_is_never_shown_to_be_gone() {
        for (failures, runs) in [(0, 0), (0, 1), (0, 1_000), (3, 0)] {
            assert_eq!(passes_needed(failures, runs), NEVER);
            assert!(!reliable(failures, runs));
        }
    }

    #[test]
    fn reliable_needs_two_runs_and_a_rate() {
        assert!(!reliable(1, 1));
        assert!(reliable(2, 2));
        assert!(!reliable(1, 5));
        assert!(reliable(2, 10));
        assert!(!reliable(1, 1_000));
        assert!(passes_needed(2, 10) <= 59);
    }

    proptest! {
        #[test]
        fn total_and_within_bounds(failures: u32, runs: u32) {
            let (lower, upper) = wilson(failures, runs);
            prop_assert!((0.0..=1.0).contains(&lower) && lower <= upper && upper <= 1.0);
            prop_assert!(passes_needed(failures, runs) >= 2);
            let _ = reliable(failures, runs);
        }

        #[test]
        fn more_failures_never_need_more_passes(runs in 1_u32..400, failures in 0_u32..400) {
            let failures = failures.min(runs - 1);
            prop_assert!(passes_needed(failures + 1, runs) <= passes_needed(failures, runs));
        }

        #[test]
        fn the_measured_share_lies_within(runs in 1_u32..5_000, failures in 0_u32..5_000) {
            let failures = failures.min(runs);
            let share = f64::from(failures) / f64::from(runs);
            let (lower, upper) = wilson(failures, runs);
            prop_assert!(lower <= share + 1e-12 && share <= upper + 1e-12);
        }
    }
}
