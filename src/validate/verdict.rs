//! What several verdicts mean together.

use crate::model::Kind;
use crate::model::status::Verdict;

/// The verdict over several: the worst of them. Nothing to judge passes.
pub fn combine(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    verdicts.into_iter().max_by_key(|v| severity(*v)).unwrap_or(Verdict::Pass)
}

/// A failure is worse than not knowing.
const fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass => 0,
        Verdict::NotRun => 1,
        Verdict::Inconclusive => 2,
        Verdict::Fail => 3,
    }
}

/// The public exit status of a verdict: 0, 4 for a failure, 5 for not knowing.
pub const fn exit_code(verdict: Verdict) -> i32 {
    match verdict {
        Verdict::Pass => 0,
        Verdict::Fail => Kind::GateFailed.exit_code(),
        Verdict::Inconclusive | Verdict::NotRun => Kind::GateNotRun.exit_code(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passes_pass() {
        use Verdict::{Fail, Inconclusive, NotRun, Pass};
        for (verdicts, together, code) in [
            (vec![], Pass, 0),
            (vec![Pass, Pass], Pass, 0),
            (vec![Pass, NotRun], NotRun, 5),
            (vec![NotRun, Inconclusive, Pass], Inconclusive, 5),
            (vec![NotRun, Fail, Inconclusive], Fail, 4),
        ] {
            let found = combine(verdicts);
            assert_eq!((found, exit_code(found)), (together, code));
        }
    }
}
