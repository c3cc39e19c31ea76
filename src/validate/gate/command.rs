//! Kind `command`: one run, whose exit status decides. 0 passes.

use super::{End, Judged, one};
use crate::model::status::Verdict;

/// Judges the run.
pub fn judge(runs: &[End]) -> Judged {
    runs.last().map_or_else(|| Judged::new(Verdict::NotRun, "it did not run"), one)
}

#[cfg(test)]
mod tests {
    use super::super::Limit;
    use super::*;

    #[test]
    fn the_exit_status_decides() {
        for (end, verdict, word) in [
            (End::Exit(0), Verdict::Pass, ""),
            (End::Exit(1), Verdict::Fail, "exit status 1"),
            (End::Exit(124), Verdict::Fail, "exit status 124"),
            (End::Exit(125), Verdict::Inconclusive, "cannot decide"),
            (End::Exit(126), Verdict::NotRun, "cannot be executed"),
            (End::Exit(127), Verdict::NotRun, "not installed"),
            (End::Signal(11), Verdict::Fail, "signal 11"),
            (End::Signal(15), Verdict::Inconclusive, "from outside"),
            (End::Hang(Limit::Time), Verdict::Fail, "hang"),
            (End::Hang(Limit::Silence), Verdict::Fail, "hang"),
            (End::NotStarted("no shell".into()), Verdict::NotRun, "no shell"),
        ] {
            let judged = judge(std::slice::from_ref(&end));
            assert_eq!(judged.verdict, verdict, "{end:?}");
            assert!(judged.reason.contains(word), "{judged:?}");
        }
        assert_eq!(judge(&[]).verdict, Verdict::NotRun);
    }
}
