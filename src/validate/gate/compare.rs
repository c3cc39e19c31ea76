//! Kind `compare`: a command writes tensors, and every candidate has to match its reference.
//!
//! Which files belong together is planned here, and what the comparisons mean is judged here; reading and comparing is
//! done in between.

use serde_json::{Map, Value, json};

use super::Judged;
use crate::model::status::Verdict;

/// The most comparisons of one gate.
pub const MOST_ITEMS: usize = 4096;

/// The most of them that a record lists.
const MOST_LISTED: usize = 256;

/// The most lines about single comparisons.
const MOST_LINES: usize = 40;

/// What is compared in one gate: each case, in each stage, on each rank.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// What `{case}` stands for; empty where there are none.
    pub cases: Vec<String>,
    /// What `{stage}` stands for, in the order of the computation.
    pub stages: Vec<String>,
    /// How many ranks there are, where a place names one.
    pub ranks: Option<u32>,
}

/// One comparison of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Item {
    /// The case.
    pub case: Option<String>,
    /// The stage.
    pub stage: Option<String>,
    /// The rank.
    pub rank: Option<u32>,
}

impl Plan {
    /// All comparisons: by case, then by rank, then by stage, so that the first that fails is where a computation leaves
    /// the right way.
    pub fn items(&self) -> Vec<Item> {
        let some = |names: &[String]| -> Vec<Option<String>> {
            if names.is_empty() { vec![None] } else { names.iter().cloned().map(Some).collect() }
        };
        let ranks: Vec<Option<u32>> = self.ranks.map_or(vec![None], |count| (0..count).map(Some).collect());
        let mut items = Vec::new();
        for case in some(&self.cases) {
            for rank in &ranks {
                for stage in some(&self.stages) {
                    items.push(Item { case: case.clone(), stage, rank: *rank });
                }
            }
        }
        items
    }
}

impl Item {
    /// A place of the configuration with its placeholders filled in.
    pub fn fill(&self, place: &str) -> String {
        let mut filled = place.to_owned();
        for (word, value) in [
            ("{case}", self.case.clone()),
            ("{stage}", self.stage.clone()),
            ("{rank}", self.rank.map(|rank| rank.to_string())),
        ] {
            if let Some(value) = value {
                filled = filled.replace(word, &value);
            }
        }
        filled
    }

    /// What people call it: `case s512, rank 1, stage P`; empty where there is only one.
    pub fn label(&self) -> String {
        let mut parts = self.scope();
        parts.extend(self.stage.as_ref().map(|stage| format!("stage {stage}")));
        parts.join(", ")
    }

    fn scope(&self) -> Vec<String> {
        let case = self.case.as_ref().map(|case| format!("case {case}"));
        case.into_iter().chain(self.rank.map(|rank| format!("rank {rank}"))).collect()
    }
}

/// What came of one comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Which.
    pub item: Item,
    /// The tensor's name, where a file holds several.
    pub tensor: Option<String>,
    /// Whether it matches; an error of the files is no match.
    pub passed: bool,
    /// Why not, in one line.
    pub reason: String,
    /// One line of figures for people.
    pub figures: String,
    /// What was found, in lines for people.
    pub lines: Vec<String>,
    /// What was found, for the record.
    pub details: Map<String, Value>,
}

impl Found {
    /// A comparison that could not be made: what a gate's command wrote is not what it should be.
    pub fn broken(item: Item, why: impl Into<String>) -> Self {
        Self {
            item,
            tensor: None,
            passed: false,
            reason: why.into(),
            figures: String::new(),
            lines: Vec::new(),
            details: Map::new(),
        }
    }

    fn label(&self) -> String {
        match (&self.tensor, self.item.label()) {
            (None, label) => label,
            (Some(tensor), label) if label.is_empty() => format!("tensor {}", tensor.escape_debug()),
            (Some(tensor), label) => format!("{label}, tensor {}", tensor.escape_debug()),
        }
    }

    fn record(&self) -> Value {
        let mut record = self.details.clone();
        record.insert("verdict".into(), json!(if self.passed { "pass" } else { "fail" }));
        for (key, value) in [
            ("case", self.item.case.as_ref().map(|case| json!(case))),
            ("stage", self.item.stage.as_ref().map(|stage| json!(stage))),
            ("rank", self.item.rank.map(|rank| json!(rank))),
            ("tensor", self.tensor.as_ref().map(|tensor| json!(tensor))),
            ("reason", (!self.reason.is_empty()).then(|| json!(self.reason))),
        ] {
            if let Some(value) = value {
                record.insert(key.into(), value);
            }
        }
        Value::Object(record)
    }
}

/// What came of the mutants of the candidates, tried where everything passed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mutants {
    /// The first that passed, and of which comparison: the gate is too loose.
    pub passed: Option<(String, String)>,
    /// How many were caught.
    pub caught: u64,
    /// How many were no different from the candidate.
    pub skipped: u64,
}

/// Judges all comparisons of a gate. `mutants` is there only where all of them passed.
pub fn judge(found: &[Found], mutants: Option<&Mutants>) -> Judged {
    let mut judged = verdict(found, mutants);
    judged.lines = lines(found);
    let mut details = Map::new();
    let listed: Vec<Value> = found.iter().take(MOST_LISTED).map(Found::record).collect();
    details.insert("comparisons".into(), json!(listed));
    details.insert("compared".into(), json!(found.len()));
    details.insert("failed".into(), json!(found.iter().filter(|found| !found.passed).count()));
    if let Some(first) = found.iter().find(|found| !found.passed) {
        details.insert("first".into(), json!(first.label()));
    }
    if let Some(mutants) = mutants {
        let mut view = Map::new();
        view.insert("caught".into(), json!(mutants.caught));
        view.insert("skipped".into(), json!(mutants.skipped));
        if let Some((mutant, of)) = &mutants.passed {
            view.insert("passed".into(), json!({"mutant": mutant, "of": of}));
        }
        details.insert("mutants".into(), Value::Object(view));
    }
    judged.details = Value::Object(details);
    judged
}

fn verdict(found: &[Found], mutants: Option<&Mutants>) -> Judged {
    if found.is_empty() {
        return Judged::new(Verdict::Fail, "nothing was compared: the command wrote no case");
    }
    let failed = found.iter().filter(|found| !found.passed).count();
    if let Some(first) = found.iter().find(|found| !found.passed) {
        let label = first.label();
        let mut reason = match (&first.item.stage, label.as_str()) {
            // Something was compared before it, or would have been: then it is the first that differs.
            (Some(stage), _) => {
                let mut scope = first.item.scope();
                scope.extend(first.tensor.as_ref().map(|tensor| format!("tensor {}", tensor.escape_debug())));
                let scope = if scope.is_empty() { String::new() } else { format!("{}: ", scope.join(", ")) };
                format!("{scope}{stage} is the first stage that diverges: {}", first.reason)
            }
            (None, "") => first.reason.clone(),
            (None, label) => format!("{label}: {}", first.reason),
        };
        if found.len() > 1 {
            reason += &format!(" ({failed} of {} comparisons fail)", found.len());
        }
        return Judged::new(Verdict::Fail, reason);
    }
    let Some(mutants) = mutants else {
        return Judged::new(Verdict::Inconclusive, "the candidates' mutants were not tried");
    };
    if let Some((mutant, of)) = &mutants.passed {
        let of = if of.is_empty() { "it" } else { of };
        return Judged::new(
            Verdict::Inconclusive,
            format!("too loose: {of} would pass with this mutant of its candidate, too: {mutant}"),
        );
    }
    if mutants.caught == 0 {
        return Judged::new(
            Verdict::Inconclusive,
            "too loose: no mutant differs from the candidate, so nothing shows that a wrong one would fail",
        );
    }
    Judged::new(Verdict::Pass, "")
}

/// All comparisons in a line each, then the first that fails in full.
fn lines(found: &[Found]) -> Vec<String> {
    let mut lines = Vec::new();
    if found.len() > 1 {
        let width = found.iter().map(|found| found.label().chars().count()).max().unwrap_or(0);
        // What fails is shown first where not all can be.
        let mut shown: Vec<&Found> = found.iter().collect();
        if shown.len() > MOST_LINES {
            shown.sort_by_key(|found| found.passed);
        }
        for found in shown.iter().take(MOST_LINES) {
            let word = if found.passed { "pass" } else { "fail" };
            let rest = if found.figures.is_empty() { &found.reason } else { &found.figures };
            lines.push(format!("{word}  {:<width$}  {rest}", found.label()));
        }
        if found.len() > MOST_LINES {
            lines.push(format!("and {} more", found.len() - MOST_LINES));
        }
    }
    if let Some(first) =
        found.iter().find(|found| !found.passed).or_else(|| found.first().filter(|_| found.len() == 1))
    {
        lines.extend(first.lines.iter().cloned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn found(item: &Item, passed: bool) -> Found {
        Found {
            passed,
            ..Found::broken(item.clone(), if passed { "" } else { "3 of 8 elements do not match" })
        }
    }

    #[test]
    fn places_are_filled_for_every_case_rank_and_stage() {
        let plan = Plan { cases: names(&["a", "b"]), stages: names(&["S", "O"]), ranks: Some(2) };
        let items = plan.items();
        assert_eq!(items.len(), 8);
        assert_eq!(items[1].fill("{case}/{stage}-{rank}.npy:{stage}"), "a/O-0.npy:O");
        assert_eq!(items[2].label(), "case a, rank 1, stage S");
        let one = Plan::default().items();
        assert_eq!((one.len(), one[0].label(), one[0].fill("o.npy")), (1, String::new(), "o.npy".into()));
    }

    #[test]
    fn the_first_stage_that_diverges_is_named() {
        let items = Plan { cases: names(&["s512"]), stages: names(&["S", "P", "O"]), ranks: None }.items();
        let all: Vec<Found> =
            items.iter().zip([true, false, false]).map(|(item, passed)| found(item, passed)).collect();
        let judged = judge(&all, None);
        assert_eq!(judged.verdict, Verdict::Fail);
        assert_eq!(
            judged.reason,
            "case s512: P is the first stage that diverges: 3 of 8 elements do not match (2 of 3 comparisons fail)"
        );
        assert_eq!(judged.details["first"], "case s512, stage P");
        assert_eq!(judged.details["comparisons"][2]["verdict"], "fail");
        assert!(judged.lines[0].starts_with("pass  case s512, stage S"), "{:?}", judged.lines);
    }

    #[test]
    fn nothing_compared_and_nothing_caught_is_no_pass() {
        assert_eq!(judge(&[], None).verdict, Verdict::Fail);
        let one = [found(&Item::default(), true)];
        assert_eq!(judge(&one, None).verdict, Verdict::Inconclusive);
        assert_eq!(judge(&one, Some(&Mutants::default())).verdict, Verdict::Inconclusive);
        let good = Mutants { caught: 5, ..Mutants::default() };
        assert_eq!(judge(&one, Some(&good)).verdict, Verdict::Pass);
        let loose = Mutants { passed: Some(("zeros".into(), "case s512".into())), ..good };
        let judged = judge(&one, Some(&loose));
        assert_eq!(judged.verdict, Verdict::Inconclusive);
        assert_eq!(
            judged.reason,
            "too loose: case s512 would pass with this mutant of its candidate, too: zeros"
        );
        assert_eq!(judged.details["mutants"]["passed"]["mutant"], "zeros");
    }

    #[test]
    fn many_comparisons_stay_readable() {
        let plan = Plan { cases: (0..300).map(|n| format!("c{n}")).collect(), ..Plan::default() };
        let items = plan.items();
        let all: Vec<Found> = items.iter().enumerate().map(|(n, item)| found(item, n != 299)).collect();
        let judged = judge(&all, None);
        assert_eq!(judged.details["comparisons"].as_array().unwrap().len(), 256);
        assert_eq!(
            (judged.details["compared"].as_u64(), judged.details["failed"].as_u64()),
            (Some(300), Some(1))
        );
        assert!(judged.lines[0].contains("fail  case c299"), "{}", judged.lines[0]);
        assert_eq!(judged.lines.len(), 41);
    }
}
