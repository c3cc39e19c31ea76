//! Kind `compare`: the command writes tensors below `$GATE_OUT`; each candidate has to match its reference, and no mutant
//! of a candidate may.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, json};

use super::{Kind, Site, Step, own_command};
use crate::config;
use crate::device::map::Mapped;
use crate::model::canonical::sha256_hex;
use crate::model::status::Verdict;
use crate::model::{Error, Kind as Class, Result};
use crate::session::compare::answer::figures;
use crate::session::compare::device::{self, Choice};
use crate::session::compare::{self as comparing, Loaded, Place, Request, Rules, each_pair};
use crate::validate::compare::{self as engine, Comparison, Device, Pair, judge_mutants};
use crate::validate::gate::compare::{Found, Item, MOST_ITEMS, Mutants, Plan, judge};
use crate::validate::gate::{self, End, Judged};
use crate::validate::tensor::{Declared, Tensor};

/// Tensors that a command wrote.
pub(super) struct Compare;

impl Kind for Compare {
    fn steps(&self, site: &Site<'_>) -> Result<Vec<Step>> {
        Ok(vec![own_command(site)])
    }

    fn judge(&self, site: &Site<'_>, ends: &[End], output: &[u8]) -> Result<Judged> {
        let ended = gate::command::judge(ends);
        if ended.verdict != Verdict::Pass {
            return Ok(with_words(ended, output));
        }
        let keys = &site.job.gate.compare;
        let cases = if keys.any_case() {
            match folders(site.out) {
                Ok(cases) if cases.is_empty() => {
                    return Ok(Judged::new(
                        Verdict::Fail,
                        "the command wrote no case: there is no folder in $GATE_OUT",
                    ));
                }
                Ok(cases) => cases,
                Err(error) => return Ok(Judged::new(Verdict::Fail, error.to_string())),
            }
        } else {
            keys.cases.clone()
        };
        let places = places(keys);
        let ranks = site.job.gate.gpus.filter(|_| places.values().any(|place| place.contains("{rank}")));
        let items = Plan { cases, stages: keys.stages.clone(), ranks }.items();
        if items.len() > MOST_ITEMS {
            let why = format!("{} comparisons are asked for; at most {MOST_ITEMS} are made", items.len());
            return Ok(Judged::new(Verdict::Fail, why));
        }
        let device = device::open(Choice::Auto)?;
        let work = Work { site, places, device: &*device };
        let (mut found, mut compared) = (Vec::new(), Vec::new());
        for item in &items {
            match work.compare(item) {
                Ok(pairs) => {
                    for (one, comparison) in pairs {
                        found.push(one);
                        compared.push(comparison);
                    }
                }
                Err(error) if error.kind() == Class::GateNotRun => {
                    return Ok(Judged::new(Verdict::Inconclusive, error.to_string()));
                }
                Err(error) => {
                    let lines = error.hints().iter().map(|hint| format!("hint: {hint}")).collect();
                    found.push(Found { lines, ..Found::broken(item.clone(), error.to_string()) });
                }
            }
        }
        if found.is_empty() || found.iter().any(|one| !one.passed) {
            return Ok(judge(&found, None));
        }
        Ok(match work.mutants(&items, &compared) {
            Ok(mutants) => judge(&found, Some(&mutants)),
            Err(error) => Judged::new(
                Verdict::Inconclusive,
                format!("the candidates' mutants could not be tried: {error}"),
            ),
        })
    }
}

/// How the Python helper begins what it says.
const HELPER: &str = "git-incident gate: ";

/// The most of the helper's lines that are kept, and the longest, in characters.
const MOST_WORDS: (usize, usize) = (20, 300);

/// A command that failed, with what the Python helper found wrong: its first words are the reason.
fn with_words(mut ended: Judged, output: &[u8]) -> Judged {
    let text = String::from_utf8_lossy(output);
    let words: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix(HELPER))
        .take(MOST_WORDS.0)
        .map(|line| line.chars().take(MOST_WORDS.1).collect())
        .collect();
    if let Some(first) = words.first() {
        ended.reason = format!("{first} ({})", ended.reason);
        ended.details = json!({"helper": words});
    }
    ended
}

/// The comparisons of one gate.
struct Work<'a> {
    site: &'a Site<'a>,
    places: BTreeMap<&'static str, String>,
    device: &'a dyn Device,
}

impl Work<'_> {
    fn request(&self, item: &Item) -> Result<Request> {
        let keys = &self.site.job.gate.compare;
        let place = |key: &str| self.places.get(key).map(|place| Place::configured(&item.fill(place)));
        let (Some(reference), Some(candidate)) = (place("reference"), place("candidate")) else {
            return Err(Error::bug("a compare gate without its files"));
        };
        Ok(Request {
            reference,
            candidate,
            baseline: place("baseline"),
            scale: place("scale"),
            reference_scale: place("reference-scale"),
            declared: Declared { dtype: keys.dtype, shape: keys.shape.clone() },
            block: keys.block.clone(),
            rules: rules(keys),
        })
    }

    fn open(&self, path: &Path) -> Result<Mapped> {
        let Some(path) = path.to_str() else {
            return Err(Error::bug("a configured path is not UTF-8"));
        };
        Mapped::open_below(self.site.out, path, self.site.since)
    }

    /// The pairs of one item, compared.
    fn compare(&self, item: &Item) -> Result<Vec<(Found, Comparison)>> {
        let request = self.request(item)?;
        let mut digests: Option<[String; 2]> = None;
        each_pair(&request, &|path| self.open(path), |loaded| {
            let comparison = loaded.compare(self.device)?;
            let digests = digests.get_or_insert_with(|| loaded.files.map(sha256_hex));
            let mut details: Map<_, _> = comparison.record();
            for ((key, place), digest) in
                [("reference", &request.reference), ("candidate", &request.candidate)]
                    .into_iter()
                    .zip(&*digests)
            {
                let mut file = json!({"path": place.file.to_string_lossy(), "sha256": digest});
                if let Some(tensor) = &place.tensor {
                    file["tensor"] = json!(tensor);
                }
                details.insert(format!("{key}_file"), file);
            }
            let found = Found {
                item: item.clone(),
                tensor: loaded.name.map(str::to_owned),
                passed: comparison.passed,
                reason: comparison.reason.clone(),
                figures: figures(&comparison),
                lines: comparison.lines(),
                details,
            };
            Ok((found, comparison))
        })
    }

    /// Every candidate's mutants. `compared` has the comparisons in the order in which they were made.
    fn mutants(&self, items: &[Item], compared: &[Comparison]) -> Result<Mutants> {
        let mut mutants = Mutants::default();
        let mut compared = compared.iter();
        for (at, item) in items.iter().enumerate() {
            let stale = self.neighbour(items, at);
            let request = self.request(item)?;
            each_pair(&request, &|path| self.open(path), |loaded| {
                let Some(comparison) = compared.next() else {
                    return Err(Error::refused("the files have changed while they were compared"));
                };
                if mutants.passed.is_some() {
                    return Ok(());
                }
                let tried = self.with_stale(stale.as_ref(), loaded, |other| {
                    judge_mutants(loaded.pair(), comparison, other).map_err(comparing::failed)
                })?;
                mutants.caught += tried.caught.len() as u64;
                mutants.skipped += tried.skipped.len() as u64;
                if let Some(mutant) = tried.passed {
                    let tensor = loaded.name.map(|name| format!("tensor {}", name.escape_debug()));
                    let label = [Some(item.label()).filter(|label| !label.is_empty()), tensor];
                    mutants.passed =
                        Some((mutant.to_owned(), label.into_iter().flatten().collect::<Vec<_>>().join(", ")));
                }
                Ok(())
            })?;
        }
        Ok(mutants)
    }

    /// Another case's output of the same stage: what a buffer would hold that nobody has written to.
    fn neighbour(&self, items: &[Item], at: usize) -> Option<Request> {
        let own = &items[at];
        let others = items.iter().filter(|other| other.case != own.case);
        let mut same = others.filter(|other| other.stage == own.stage && other.rank == own.rank);
        same.next_back().and_then(|other| self.request(other).ok())
    }

    /// Calls with the other case's candidate, where it is another result at all: not where both cases have to give the
    /// same, such as eager and captured runs of one input.
    fn with_stale<T>(
        &self,
        other: Option<&Request>,
        loaded: &Loaded<'_>,
        mut call: impl FnMut(Option<&Tensor<'_>>) -> Result<T>,
    ) -> Result<T> {
        let Some(request) = other else {
            return call(None);
        };
        let mut result = None;
        let visited = each_pair(request, &|path| self.open(path), |theirs| {
            let like = |a: &Tensor<'_>, b: &Tensor<'_>| a.dtype == b.dtype && a.shape == b.shape;
            let fits = result.is_none()
                && theirs.name == loaded.name
                && like(&theirs.candidate, &loaded.candidate)
                && like(&theirs.reference, &loaded.reference);
            if fits {
                let pair = Pair { reference: &loaded.reference, candidate: &theirs.reference };
                let expected_to_differ =
                    engine::compare(self.device, &loaded.policy, pair, loaded.baseline.as_ref())
                        .is_ok_and(|comparison| !comparison.passed);
                if expected_to_differ {
                    result = Some(call(Some(&theirs.candidate))?);
                }
            }
            Ok(())
        });
        match (visited, result) {
            (Err(error), _) => Err(error),
            (Ok(_), Some(result)) => Ok(result),
            (Ok(_), None) => call(None),
        }
    }
}

/// The places that are set or have a default.
fn places(keys: &config::Compare) -> BTreeMap<&'static str, String> {
    ["reference", "candidate", "baseline", "scale", "reference-scale"]
        .into_iter()
        .filter_map(|key| Some((key, keys.place(key)?)))
        .collect()
}

fn rules(keys: &config::Compare) -> Rules {
    let number = |decimal: &Option<config::Decimal>| decimal.as_ref().map(config::Decimal::to_f64);
    Rules {
        kind: match keys.policy.unwrap_or(config::Policy::Allclose) {
            config::Policy::Allclose => comparing::Kind::Allclose,
            config::Policy::Bitwise => comparing::Kind::Bitwise,
            config::Policy::Baseline => comparing::Kind::Baseline,
        },
        atol: number(&keys.atol),
        rtol: number(&keys.rtol),
        norm: number(&keys.norm),
        slack: number(&keys.slack),
        equal_nan: keys.equal_nan.unwrap_or(false),
        worst: keys.worst.map(|worst| worst as usize),
        details: false,
    }
}

/// The folders in `$GATE_OUT`, in order: the cases that the command has written.
fn folders(out: &Path) -> Result<Vec<String>> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(out)? {
        let entry = entry?;
        // A link is no folder here.
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let name = entry.file_name();
        match name.to_str().filter(|name| config::gate::compare::is_name(name)) {
            Some(name) => cases.push(name.to_owned()),
            None => {
                return Err(Error::refused(format!(
                    "the folder {:?} in $GATE_OUT cannot be a case",
                    name.display()
                ))
                .because("a case's name has letters, digits and ._+=,- and begins with one of the former"));
            }
        }
        if cases.len() > MOST_ITEMS {
            return Err(Error::refused(format!("there are more than {MOST_ITEMS} folders in $GATE_OUT")));
        }
    }
    cases.sort();
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_helpers_words_are_the_reason() {
        let output = b"hello\ngit-incident gate: case tail: 3 elements were never written\ngit-incident gate: 1 failed, none written\n";
        let failed = || Judged::new(Verdict::Fail, "exit status 1");
        let judged = with_words(failed(), output);
        assert_eq!(judged.verdict, Verdict::Fail);
        assert_eq!(judged.reason, "case tail: 3 elements were never written (exit status 1)");
        assert_eq!(judged.details["helper"].as_array().map(Vec::len), Some(2));
        assert_eq!(with_words(failed(), b"\xff no helper").reason, "exit status 1");
        let long = format!("{HELPER}{}\n", "x".repeat(9999)).repeat(99);
        let judged = with_words(failed(), long.as_bytes());
        assert!(judged.reason.len() < 400);
        assert_eq!(judged.details["helper"].as_array().map(Vec::len), Some(MOST_WORDS.0));
    }
}
