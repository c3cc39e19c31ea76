//! What an incident's record proves: the four preconditions of a post-mortem, computed, never ticked.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::incident::{Incident, ReproRun};
use crate::model::status::{CauseState, Role};
use crate::model::{EventId, Oid, rate};

/// A commit of a fix link, as the repository has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixCommit {
    /// The commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
}

/// The repro in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReproSummary {
    /// Runs that measure the rate.
    pub runs: u32,
    /// In how many of them the bug was seen.
    pub failures: u32,
    /// Whether the bug shows dependably enough to judge a fix by it ([`rate::reliable`]).
    pub reliable: bool,
    /// Whether it showed in every run.
    pub deterministic: bool,
    /// How many passes in a row show that it is gone; [`rate::NEVER`] while it was never seen.
    pub needed: u32,
    /// Runs on the newest fix that resolves.
    pub fix_runs: u32,
    /// In how many of them the bug was seen.
    pub fix_failures: u32,
}

/// What the record proves, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// The repro in numbers.
    pub repro: ReproSummary,
    /// There is a command, and it shows the bug dependably.
    pub repro_ok: bool,
    /// A root cause is confirmed, and nobody rejected it at the same time.
    pub cause_ok: bool,
    /// A fix link resolves to a commit that nothing has reverted.
    pub fix_ok: bool,
    /// The repro passed often enough on that commit, and never failed there.
    pub validation_ok: bool,
    /// The fix that is judged: the newest fix link that resolves.
    pub fix: Option<FixCommit>,
    /// The series of runs that measure the rate.
    pub rate_series: Vec<EventId>,
    /// The series of runs on the fix that is judged.
    pub fix_series: Vec<EventId>,
    /// One line for each thing that is missing, with the command that mends it.
    pub missing: Vec<String>,
}

impl Standing {
    /// Whether all four preconditions hold.
    pub fn complete(&self) -> bool {
        self.repro_ok && self.cause_ok && self.fix_ok && self.validation_ok
    }
}

/// What a series of runs was run on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Tree(Oid),
    Commit(Oid),
    /// Nothing is known; each such series stands for itself.
    Unknown(EventId),
}

/// Reads the record; `fixes` are the commits of fix links that resolve, in any order.
///
/// Runs on the tree of a fix link that was not taken back are validation. All others measure the
/// rate, pooled over the states on which the bug was seen at least once: a state on which every run
/// passed may be a fix in the making, or a commit older than the bug, and would only dilute it.
pub fn standing(incident: &Incident, fixes: &[FixCommit]) -> Standing {
    let fix = newest_fix(incident, fixes);
    let trees = known_trees(incident, fixes);
    let state = |run: &ReproRun| state_of(run, &trees);
    let validated: BTreeSet<State> = incident
        .links_as(Role::Fix)
        .flat_map(|link| {
            let tree = trees.get(&link.commit).or(link.tree.as_ref());
            [Some(State::Commit(link.commit.clone())), tree.cloned().map(State::Tree)]
        })
        .flatten()
        .collect();

    let (on_fixes, others): (Vec<_>, Vec<_>) =
        incident.repro.runs.iter().partition(|run| validated.contains(&state(run)));
    let seen_on: BTreeSet<State> = others.iter().filter(|r| r.failures > 0).map(|r| state(r)).collect();
    let measured: Vec<_> =
        others.into_iter().filter(|run| seen_on.is_empty() || seen_on.contains(&state(run))).collect();
    let judged: Vec<_> = on_fixes
        .into_iter()
        .filter(|run| fix.as_ref().is_some_and(|f| state(run) == State::Tree(f.tree.clone())))
        .collect();

    let (runs, failures) = pooled(&measured);
    let (fix_runs, fix_failures) = pooled(&judged);
    let repro = ReproSummary {
        runs,
        failures,
        reliable: rate::reliable(failures, runs),
        deterministic: rate::deterministic(failures, runs),
        needed: rate::passes_needed(failures, runs),
        fix_runs,
        fix_failures,
    };
    let mut standing = Standing {
        repro_ok: !incident.repro.command.is_empty() && repro.reliable,
        cause_ok: incident
            .cause()
            .is_some_and(|c| c.state == CauseState::Confirmed && !c.rivals.contains(&CauseState::Rejected)),
        fix_ok: fix.is_some(),
        validation_ok: fix.is_some() && fix_failures == 0 && fix_runs >= repro.needed,
        repro,
        fix,
        rate_series: measured.iter().map(|r| r.stamp.event).collect(),
        fix_series: judged.iter().map(|r| r.stamp.event).collect(),
        missing: Vec::new(),
    };
    standing.missing = missing(incident, &standing);
    standing
}

/// The newest fix link whose commit is there.
fn newest_fix(incident: &Incident, fixes: &[FixCommit]) -> Option<FixCommit> {
    incident
        .links_as(Role::Fix)
        .enumerate()
        .filter(|(_, link)| link.reverted_by.is_none())
        .filter_map(|(i, link)| {
            let fix = fixes.iter().find(|f| f.commit == link.commit)?;
            Some(((link.stamp.at, i), fix))
        })
        .max_by_key(|(age, _)| *age)
        .map(|(_, fix)| fix.clone())
}

/// Trees of commits, as the repository, the links and clean runs tell.
fn known_trees(incident: &Incident, fixes: &[FixCommit]) -> BTreeMap<Oid, Oid> {
    let runs = incident
        .repro
        .runs
        .iter()
        .filter(|r| !r.dirty)
        .filter_map(|r| Some((r.commit.clone()?, r.tree.clone()?)));
    let links = incident.links.iter().filter_map(|l| Some((l.commit.clone(), l.tree.clone()?)));
    let found = fixes.iter().map(|f| (f.commit.clone(), f.tree.clone()));
    // Later entries win: the repository knows best.
    runs.chain(links).chain(found).collect()
}

fn state_of(run: &ReproRun, trees: &BTreeMap<Oid, Oid>) -> State {
    if let Some(tree) = &run.tree {
        return State::Tree(tree.clone());
    }
    match &run.commit {
        Some(commit) if !run.dirty => {
            trees.get(commit).map_or_else(|| State::Commit(commit.clone()), |tree| State::Tree(tree.clone()))
        }
        _ => State::Unknown(run.stamp.event),
    }
}

fn pooled(runs: &[&ReproRun]) -> (u32, u32) {
    let sum = |pick: fn(&ReproRun) -> u32| runs.iter().fold(0_u32, |n, r| n.saturating_add(pick(r)));
    let total = sum(|r| r.runs);
    (total, sum(|r| r.failures).min(total))
}

fn missing(incident: &Incident, standing: &Standing) -> Vec<String> {
    let repro = &standing.repro;
    let mut missing = Vec::new();
    if incident.repro.command.is_empty() {
        missing.push("no repro command is set: git incident repro set -- COMMAND…".to_owned());
    } else if repro.runs == 0 {
        missing.push("the repro was never run without the fix: git incident repro run -n 10".to_owned());
    } else if repro.failures == 0 {
        missing.push(format!(
            "the repro never showed the bug in {} runs: git incident repro set -- COMMAND…, or run it longer: \
             git incident repro run -n {}",
            repro.runs,
            repro.runs.saturating_mul(2).clamp(10, 100)
        ));
    } else if !repro.reliable {
        missing.push(format!(
            "the repro is not reliable yet (seen in {} of {} runs, which leaves its rate too uncertain): \
             git incident repro run -n {}",
            repro.failures,
            repro.runs,
            more_runs(repro)
        ));
    }
    if !standing.cause_ok {
        missing.push(
            match incident.cause().map(|c| c.state) {
                Some(CauseState::Confirmed) => {
                    "the root cause was confirmed and rejected at the same time: git incident cause confirm"
                }
                Some(CauseState::Proposed) => {
                    "the root cause is proposed, not confirmed: git incident cause confirm"
                }
                _ => "no root cause is named: git incident cause propose, then git incident cause confirm",
            }
            .to_owned(),
        );
    }
    let Some(fix) = &standing.fix else {
        let reverted = incident.links_as(Role::Fix).filter_map(|l| Some((l, l.reverted_by.as_ref()?)));
        missing.push(if let Some((link, by)) = reverted.max_by_key(|(l, _)| l.stamp.at) {
            format!(
                "the fix {} was reverted by {} and counts as a failed attempt: \
                 git incident attempt start -H \"why the bug is back\"",
                link.commit.short(),
                by.short()
            )
        } else if incident.links_as(Role::Fix).next().is_some() {
            "the linked fix is no commit of this repository (rewritten, or not fetched): git incident relink"
                .to_owned()
        } else {
            "no commit is linked as the fix: git incident link COMMIT --as fix".to_owned()
        });
        return missing;
    };
    let short = fix.commit.short();
    if repro.fix_failures > 0 {
        missing.push(format!(
            "the bug was seen in {} of {} runs on the fix {short}: git incident link {short} --as failed",
            repro.fix_failures, repro.fix_runs
        ));
    } else if repro.needed == rate::NEVER {
        missing.push(format!(
            "how often the fix {short} must pass is unknown until the repro showed the bug without it: \
             git incident repro run -n 10 --at {short}^"
        ));
    } else if !standing.validation_ok {
        missing.push(format!(
            "the fix {short} passed {} of the {} runs that the rate asks for: git incident repro run -n {} --at {short}",
            repro.fix_runs,
            repro.needed,
            repro.needed - repro.fix_runs
        ));
    }
    missing
}

/// How many more runs would make the repro reliable if the bug goes on showing as often as so far.
fn more_runs(repro: &ReproSummary) -> u32 {
    (1..=100)
        .find(|more| {
            let runs = repro.runs.saturating_add(*more);
            let share = u64::from(repro.failures) * u64::from(runs) / u64::from(repro.runs.max(1));
            rate::reliable(u32::try_from(share).unwrap_or(u32::MAX), runs)
        })
        .unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::{fold, id};
    use crate::event::{
        CauseConfirmed, CauseProposed, CauseRejected, CommitLinked, CommitUnlinked, Data, ReproRan, ReproSet,
    };

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn set() -> Data {
        ReproSet { command: vec!["./run.sh".into()], ..ReproSet::default() }.into()
    }

    fn ran(tree: char, runs: u32, failures: u32) -> Data {
        ReproRan { repro: id(0), runs, failures, tree: Some(oid(tree)), ..ReproRan::default() }.into()
    }

    fn clean(commit: char, runs: u32, failures: u32, dirty: bool) -> Data {
        ReproRan { repro: id(0), runs, failures, commit: Some(oid(commit)), dirty, ..ReproRan::default() }
            .into()
    }

    fn linked(commit: char, role: Role) -> Data {
        CommitLinked {
            commit: oid(commit),
            role,
            attempt: None,
            patch_id: String::new(),
            tree: Some(oid(if commit == '1' { 'a' } else { 'b' })),
            subject: String::new(),
            pr: String::new(),
            ..CommitLinked::default()
        }
        .into()
    }

    /// Commit 1 has tree a, commit 2 has tree b.
    fn fixes() -> Vec<FixCommit> {
        [('1', 'a'), ('2', 'b')].map(|(c, t)| FixCommit { commit: oid(c), tree: oid(t) }).to_vec()
    }

    fn numbers(s: &Standing) -> (u32, u32, u32, u32) {
        (s.repro.runs, s.repro.failures, s.repro.fix_runs, s.repro.fix_failures)
    }

    #[test]
    fn an_empty_record_lacks_everything() {
        let s = standing(&Incident::default(), &[]);
        assert_eq!(s.missing.len(), 3, "{:?}", s.missing);
        assert!(!s.repro_ok && !s.cause_ok && !s.fix_ok && !s.validation_ok && !s.complete());
        assert!(s.missing.iter().all(|line| line.contains("git incident ")));
    }

    #[test]
    fn a_whole_record_lacks_nothing() {
        let incident = fold(vec![
            set(),
            ran('c', 5, 5),
            CauseProposed { text: "overflow".into(), ..CauseProposed::default() }.into(),
            CauseConfirmed { cause: id(2), accounts: vec![], disproof: None, mechanism: String::new() }
                .into(),
            linked('1', Role::Fix),
            ran('a', 4, 0),
        ]);
        let s = standing(&incident, &fixes());
        assert_eq!(numbers(&s), (5, 5, 4, 0));
        assert!(s.complete() && s.missing.is_empty(), "{:?}", s.missing);
        assert_eq!((s.rate_series, s.fix_series), (vec![id(1)], vec![id(5)]));
    }

    #[test]
    fn states_that_only_passed_do_not_count() {
        let incident = fold(vec![set(), ran('c', 5, 2), ran('c', 5, 0), ran('d', 50, 0)]);
        assert_eq!(numbers(&standing(&incident, &[])), (10, 2, 0, 0));
        let incident = fold(vec![set(), ran('c', 5, 0), ran('d', 50, 0)]);
        let s = standing(&incident, &[]);
        assert_eq!(numbers(&s), (55, 0, 0, 0));
        assert_eq!(s.repro.needed, rate::NEVER);
    }

    #[test]
    fn a_clean_commit_stands_for_its_tree_and_a_dirty_one_does_not() {
        let incident = fold(vec![
            set(),
            ran('c', 5, 5),
            linked('1', Role::Fix),
            clean('1', 4, 0, false),
            clean('1', 9, 0, true),
        ]);
        assert_eq!(numbers(&standing(&incident, &fixes())), (5, 5, 4, 0));
    }

    #[test]
    fn the_newest_fix_that_resolves_is_judged() {
        let events = vec![
            set(),
            ran('c', 5, 5),
            linked('2', Role::Fix),
            linked('1', Role::Fix),
            ran('a', 4, 1),
            ran('b', 4, 0),
        ];
        let s = standing(&fold(events.clone()), &fixes());
        assert_eq!(numbers(&s), (5, 5, 4, 1), "runs on the older fix measure nothing");
        assert!(!s.validation_ok);
        assert!(s.missing.iter().any(|l| l.contains("link 111111111111 --as failed")));

        let s = standing(&fold(events.clone()), &fixes()[1..]);
        assert!(s.validation_ok, "commit 1 is not there");

        let taken_back = CommitUnlinked { commit: oid('1'), role: Some(Role::Fix) };
        let s = standing(&fold([events, vec![taken_back.into()]].concat()), &fixes());
        assert_eq!(numbers(&s), (9, 6, 4, 0), "what was taken back is one more state with the bug");
    }

    #[test]
    fn a_reverted_fix_is_none_until_it_is_applied_again() {
        let revert = |commit, of| -> Data {
            CommitLinked {
                commit: oid(commit),
                role: Role::Revert,
                reverts: vec![oid(of)],
                ..CommitLinked::default()
            }
            .into()
        };
        let events = vec![set(), ran('c', 5, 5), linked('1', Role::Fix), ran('a', 4, 0), revert('8', '1')];
        let s = standing(&fold(events.clone()), &fixes());
        assert!(!s.fix_ok && !s.validation_ok && s.fix.is_none());
        assert!(s.missing.iter().any(|l| l.contains("was reverted by 888888888888")), "{:?}", s.missing);
        let s = standing(&fold([events, vec![revert('9', '8')]].concat()), &fixes());
        assert!(s.fix_ok && s.validation_ok, "{:?}", s.missing);
    }

    #[test]
    fn too_few_passes_name_the_command() {
        let incident = fold(vec![set(), ran('c', 10, 2), linked('1', Role::Fix), ran('a', 5, 0)]);
        let s = standing(&incident, &fixes());
        let needed = rate::passes_needed(2, 10);
        let want = format!("git incident repro run -n {} --at 111111111111", needed - 5);
        assert!(
            s.fix_ok && !s.validation_ok && s.missing.iter().any(|l| l.ends_with(&want)),
            "{:?}",
            s.missing
        );
    }

    #[test]
    fn a_rare_bug_says_how_many_more_runs() {
        let s = standing(&fold(vec![set(), ran('c', 5, 1)]), &[]);
        assert!(!s.repro_ok);
        assert!(s.missing[0].ends_with("git incident repro run -n 5"), "{:?}", s.missing);
    }

    #[test]
    fn a_disputed_cause_is_not_confirmed() {
        let mut incident = fold(vec![
            CauseProposed { text: "x".into(), ..CauseProposed::default() }.into(),
            CauseRejected { cause: id(0), reason: "no".into() }.into(),
            CauseConfirmed { cause: id(0), accounts: vec![], disproof: None, mechanism: String::new() }
                .into(),
        ]);
        assert!(standing(&incident, &[]).cause_ok);
        incident.causes[0].rivals.add(id(1), CauseState::Rejected);
        assert!(!standing(&incident, &[]).cause_ok);
    }

    #[test]
    fn counts_do_not_overflow() {
        let incident = fold(vec![set(), ran('c', u32::MAX, u32::MAX), ran('c', u32::MAX, 1)]);
        let s = standing(&incident, &[]);
        assert_eq!(s.repro.runs, u32::MAX);
    }
}
