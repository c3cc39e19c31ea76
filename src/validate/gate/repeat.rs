//! Kind `repeat`: a bug that shows only now and then needs several runs, and every one has to pass.

use super::{End, Judged, one};
use crate::model::status::Verdict;

/// Judges the runs. The first that does not pass decides; too few runs decide nothing.
pub fn judge(runs: &[End], wanted: u32) -> Judged {
    for (index, run) in runs.iter().enumerate() {
        let judged = one(run);
        if judged.verdict != Verdict::Pass {
            return Judged::new(judged.verdict, format!("run {} of {wanted}: {}", index + 1, judged.reason));
        }
    }
    if runs.is_empty() {
        return Judged::new(Verdict::NotRun, "it did not run");
    }
    if runs.len() < wanted as usize {
        return Judged::new(Verdict::Inconclusive, format!("only {} of {wanted} runs were made", runs.len()));
    }
    Judged::new(Verdict::Pass, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_run_has_to_pass() {
        let pass = End::Exit(0);
        assert_eq!(judge(&[pass.clone(), pass.clone()], 2).verdict, Verdict::Pass);
        let judged = judge(&[pass.clone(), End::Exit(3)], 5);
        assert_eq!((judged.verdict, judged.reason.as_str()), (Verdict::Fail, "run 2 of 5: exit status 3"));
        assert_eq!(judge(&[pass], 2).verdict, Verdict::Inconclusive);
        assert_eq!(judge(&[], 0).verdict, Verdict::NotRun);
    }

    proptest! {
        #[test]
        fn passes_only_when_all_passed(statuses in prop::collection::vec(0..3_i32, 0..8), wanted in 0..8_u32) {
            let runs: Vec<End> = statuses.iter().map(|s| End::Exit(*s)).collect();
            let passed = judge(&runs, wanted).verdict == Verdict::Pass;
            let expected = !runs.is_empty() && runs.len() >= wanted as usize && statuses.iter().all(|s| *s == 0);
            prop_assert_eq!(passed, expected);
        }
    }
}
