//! Validation that claims more than was run.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::document::lint::blocks::Block;
use crate::document::lint::words::{before, number, re, re_case, sentence_at};
use crate::document::lint::{Document, Facts, Findings, Known, Ledger, Rule, Severity};

/// The rule.
pub const RULE: Rule = Rule {
    name: "wider-claim",
    severity: Severity::Error,
    elsewhere: Some(Severity::Error),
    about: "Validation claims devices, counts or coverage that no record supports",
    docs: "With a ledger, numbers of runs and GPUs, names of devices and hours of running in Validation are held against \
           the recorded runs of the repro and of the gates: what no record supports is an error. Without a ledger, only \
           a universal claim without a list (\"all configurations\", \"every model\") is found, as a warning. Sentences \
           that say what was not run claim nothing.",
    bad: "## Validation\n\nThe workload passed 100 runs on 8 GPUs (H100).\n",
    good: "## Validation\n\nThe workload passed 20 runs on 1 GPU (A100). Not run on 8 GPUs or H100.\n",
    facts: || {
        let ledger = Ledger {
            incident: "0123456789ab".to_owned(),
            fix_runs: 20,
            all_runs: 25,
            millis: 90_000,
            devices: vec!["NVIDIA A100-SXM4-80GB (driver 570.1)".to_owned()],
            gpus: 1,
            records: true,
            ..Ledger::default()
        };
        (Known::default(), Some(ledger))
    },
    check,
};

const COUNT: &str = r"(\d[\d,_’']*k?|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|(?:(?:a|one|two|three|four|five|six|seven|eight|nine|ten) )?(?:hundred|thousand))";

static GPUS: LazyLock<Regex> = LazyLock::new(|| {
    re(&format!(
        r"\b{COUNT}(?:\s*[×x]\s*|[- ])(?:(?:NVIDIA|AMD|Tesla|GeForce|RTX|[A-Z]{{1,3}}\d{{2,4}}[A-Z]*)[ -])*(?:GPUs?|devices|accelerators|cards)\b"
    ))
});

static TIMES_DEVICE: LazyLock<Regex> = LazyLock::new(|| re(&format!(r"\b{COUNT}\s*[×x]\s*({DEVICE})\b")));

const DEVICE: &str = r"(?:GB200|GB300|B100|B200|B300|GH200|H100|H200|H800|H20|A100|A800|A10G?|A30|A40|A6000|L40S?|L4|T4|V100|P100|P40|K80|MI50|MI100|MI210|MI250X?|MI300[AX]?|MI325X|MI350X|MI355X|RTX ?(?:\d{4}|A\d{4})(?: ?Ti)?|GTX ?\d{4}(?: ?Ti)?|TPU ?v\d\w?|Gaudi ?\d|Trainium ?\d?|Inferentia ?\d?)";

static DEVICES: LazyLock<Regex> = LazyLock::new(|| re_case(&format!(r"\b{DEVICE}\b")));

static RUNS: LazyLock<Regex> = LazyLock::new(|| {
    re(&format!(
        r"\b{COUNT}(?:\s+of\s+{COUNT}|\s*/\s*{COUNT})?[- ](?:(?:consecutive|successive|clean|green|passing|successful|full|further|more|repeated|identical|straight|back-to-back|test|stress|soak|repro|independent|\d+-(?:hour|minute|second))[ -]){{0,3}}(?:runs?|times|iterations?|repetitions?|passes|repeats|trials|executions?|reruns?)\b"
    ))
});

static RAN_TIMES: LazyLock<Regex> = LazyLock::new(|| {
    re(&format!(
        r"\b(?:ran|run|passed|repeated|executed|looped|tried)\b[^.;\d]{{0,40}}?\b{COUNT}\s*(?:times|×|x)(?:\b|\s|$)"
    ))
});

static HOURS: LazyLock<Regex> =
    LazyLock::new(|| re(&format!(r"\b{COUNT}[- ](hours?|days?|weeks?|minutes?)\b")));

static RUNNING: LazyLock<Regex> =
    LazyLock::new(|| re(r"\b(?:soak(?:ed|ing)?|stress(?:ed)?|ran|run|runs|running|burn-in|looped)\b"));

static UNIVERSAL: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:all|every|each|any|whatever)(?: of)?(?: the| our| other| known| supported| possible| affected| relevant| existing| available)* (?:models?|model sizes?|configurations?|configs?|gpus?|devices?|platforms?|workloads?|architectures?|environments?|sizes?|shapes?|dtypes?|data types?|versions?|browsers?|clusters?|inputs?|cases|scenarios?|hardware|machines?|operating systems?|use cases?|combinations?|batch sizes?|drivers?)\b|\b(?:everywhere|on (?:all|any) hardware|in all circumstances|under all conditions|fully (?:tested|validated|verified))\b",
    )
});

static NEGATED: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:not|n['’]t|never|nor|no run|nobody|untested|unvalidated|retest(?:ed)? on other|without (?:retest|testing|a run)|anything else|except|still to|remains? to|will|to be (?:run|tested)|should be|planned)\b|n['’]t\b",
    )
});

/// About the state before the fix: the rate of the bug, not its absence.
static BEFORE_FIX: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:without the (?:fix|change|patch)|before(?: the (?:fix|change|patch))?|unfixed|unpatched|used to|previously|originally|hung|failed|crashed|bug was seen|was seen in|reproduced|asks? for|needed|required|needs)\b",
    )
});

/// Of these, no "0 of N" is about the fix.
static UNFIXED: LazyLock<Regex> = LazyLock::new(|| {
    re(r"\b(?:without the (?:fix|change|patch)|before the (?:fix|change|patch)|unfixed|unpatched)\b")
});

static WITH_FIX: LazyLock<Regex> = LazyLock::new(|| re(r"\b(?:with|on|after) the (?:fix|patch)\b"));

static UNDONE: LazyLock<Regex> = LazyLock::new(|| {
    re(r"^\s+(?:was |is )?(?:reverted|removed|disabled|undone|backed out|taken out|switched off)\b")
});

fn check(document: &Document<'_>, facts: &Facts<'_>, findings: &mut Findings) {
    for (leaf, mask) in document.prose(Block::Validation) {
        if document.is_quotation(leaf) {
            continue;
        }
        let sentence = |at: usize| sentence_at(&leaf.prose, at);
        let denied = |at: usize| {
            let range = sentence(at);
            mask.get(range).is_some_and(|s| NEGATED.is_match(s)) || under_not_run(document, leaf.range.start)
        };
        if let Some(found) = UNIVERSAL.find(mask).filter(|m| !denied(m.start())) {
            let listed = mask[found.end()..].trim_start().starts_with([':', '(', '—', '–', ','])
                || before(mask, found.start(), 60).contains('(');
            let finding = |findings: &mut Findings, with_ledger: bool| {
                let f = findings.add(
                    leaf.prose.source(&found.range()),
                    format!("\"{}\" is a claim that no list of runs can hold", found.as_str()),
                );
                f.help("name what was run, and say what was not");
                if !with_ledger {
                    f.at_most(Severity::Warning);
                }
            };
            match facts.ledger {
                Some(_) => finding(findings, true),
                None if !listed => finding(findings, false),
                None => {}
            }
        }
        let Some(ledger) = facts.ledger else { continue };
        let mut said: Vec<std::ops::Range<usize>> = Vec::new();
        let mut report = |findings: &mut Findings,
                          range: std::ops::Range<usize>,
                          claim: &str,
                          record: String| {
            if said.iter().any(|s| s.start < range.end && range.start < s.end) {
                return;
            }
            findings
                .add(leaf.prose.source(&range), format!("{claim} claimed, but {record}"))
                .help("say what was run, or run it: `git incident repro run -n N --at COMMIT`, `git incident validate`");
            said.push(range);
        };
        for caps in GPUS.captures_iter(mask).chain(TIMES_DEVICE.captures_iter(mask)) {
            let (Some(whole), Some(n)) = (caps.get(0), caps.get(1).and_then(|m| number(m.as_str()))) else {
                continue;
            };
            if n > ledger.gpus && !denied(whole.start()) {
                report(
                    findings,
                    whole.range(),
                    &format!("{:?}", whole.as_str()),
                    match ledger.gpus {
                        0 if !ledger.records => {
                            format!("incident {} has no record of a run", ledger.incident)
                        }
                        0 => "no record names a GPU".to_owned(),
                        1 => "no record names more than 1 GPU".to_owned(),
                        most => format!("no record names more than {most} GPUs"),
                    },
                );
            }
        }
        for found in DEVICES.find_iter(mask) {
            if !denied(found.start()) && !ledger.devices.iter().any(|d| names(d, found.as_str())) {
                let known = if ledger.devices.is_empty() {
                    format!("incident {} has no record of a run", ledger.incident)
                } else {
                    format!("the records name {}", ledger.devices.join("; "))
                };
                report(findings, found.range(), found.as_str(), known);
            }
        }
        for caps in RUNS.captures_iter(mask).chain(RAN_TIMES.captures_iter(mask)) {
            let Some(whole) = caps.get(0) else { continue };
            let most = (1..caps.len()).filter_map(|i| caps.get(i)).filter_map(|m| number(m.as_str())).max();
            let Some(n) = most else { continue };
            // Of none in N, N is what the fix is said to have stood.
            let none = caps.get(1).and_then(|m| number(m.as_str())) == Some(0) && caps.len() > 2;
            let earlier = before_fix(mask, &sentence(whole.start()), &whole.range(), none);
            let recorded = if earlier { ledger.all_runs.max(ledger.fix_runs) } else { ledger.fix_runs };
            if n > recorded && !denied(whole.start()) {
                let of = if earlier { "the record holds" } else { "the record holds, on the fix," };
                report(
                    findings,
                    whole.range(),
                    &format!("{:?}", whole.as_str()),
                    format!("{of} {recorded} {}", if recorded == 1 { "run" } else { "runs" }),
                );
            }
        }
        for caps in HOURS.captures_iter(mask) {
            let (Some(whole), Some(n), Some(unit)) =
                (caps.get(0), caps.get(1).and_then(|m| number(m.as_str())), caps.get(2))
            else {
                continue;
            };
            let range = sentence(whole.start());
            let running = mask.get(range.clone()).is_some_and(|s| RUNNING.is_match(s))
                && !before_fix(mask, &range, &whole.range(), false);
            let each: u64 = match unit.as_str().to_lowercase().trim_end_matches('s') {
                "minute" => 60_000,
                "hour" => 3_600_000,
                "day" => 86_400_000,
                _ => 604_800_000,
            };
            // Recorded times are rounded when people write them.
            if running
                && n.saturating_mul(each)
                    > ledger.millis.saturating_add(ledger.millis / 10).saturating_add(60_000)
                && !denied(whole.start())
            {
                report(
                    findings,
                    whole.range(),
                    &format!("{:?}", whole.as_str()),
                    format!("all recorded runs took {}", crate::model::time::human_duration(ledger.millis)),
                );
            }
        }
    }
}

/// Whether a number speaks of the state before the fix: what stands between the numbers around it tells, no more, as
/// one sentence often holds both ("5 of 5 runs hung, with the fix 0 of 20").
fn before_fix(mask: &str, sentence: &Range<usize>, number: &Range<usize>, none: bool) -> bool {
    let (Some(front), Some(back)) =
        (mask.get(sentence.start..number.start), mask.get(number.end..sentence.end.max(number.end)))
    else {
        return false;
    };
    let front = front.rsplit(';').next().unwrap_or_default();
    let front = RUNS.find_iter(front).last().map_or(front, |m| &front[m.end()..]);
    let back = back.split([';', ',']).next().unwrap_or_default();
    let back = RUNS.find(back).map_or(back, |m| &back[..m.start()]);
    let fixed =
        [front, back].iter().any(|part| WITH_FIX.find_iter(part).any(|m| !UNDONE.is_match(&part[m.end()..])));
    let words = if none { &*UNFIXED } else { &*BEFORE_FIX };
    !fixed && (words.is_match(front) || words.is_match(back))
}

/// Whether a list item stands below a line such as "Not run:".
fn under_not_run(document: &Document<'_>, at: usize) -> bool {
    let leaves = &document.page.leaves;
    let here = leaves.partition_point(|l| l.range.start < at);
    let Some(leaf) = leaves.get(here) else { return false };
    if leaf.lists == 0 {
        return false;
    }
    leaves[..here].iter().rev().find(|l| l.lists < leaf.lists).is_some_and(|l| {
        let text = l.prose.text.trim_end();
        text.ends_with(':') && NEGATED.is_match(text)
    })
}

/// Whether a recorded device is the one a word means: `A100` is in `NVIDIA A100-SXM4-80GB`, `A10` is not.
fn names(device: &str, word: &str) -> bool {
    let flat = |s: &str| s.to_uppercase().replace(' ', "");
    let (device, word) = (flat(device), flat(word));
    device.match_indices(&word).any(|(at, _)| {
        let ends = |c: Option<char>| !c.is_some_and(|c| c.is_ascii_alphanumeric());
        // In front a vendor's name may have lost its space: `NVIDIAA100`.
        let tail = device[at + word.len()..].chars().next();
        ends(tail)
            || word.ends_with(|c: char| c.is_ascii_alphabetic())
            || tail.is_some_and(|c| {
                c.is_ascii_alphabetic()
                    && word.ends_with(|c: char| c.is_ascii_digit())
                    && c != 'S'
                    && c != 'X'
                    && c != 'G'
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_judged_by_the_words_around_it() {
        let earlier = |sentence: &str, n: &str, none: bool| {
            let at = sentence.find(n).expect("in the sentence");
            before_fix(sentence, &(0..sentence.len()), &(at..at + n.len()), none)
        };
        assert!(!earlier("0 of 12 runs hung.", "0 of 12 runs", true));
        assert!(!earlier("The bug was seen in 0 of 500 runs.", "0 of 500 runs", true));
        assert!(!earlier(
            "Before the fix 5 of 5 runs hung, with the fix 100 runs passed.",
            "100 runs",
            false
        ));
        assert!(!earlier("With the patch, 30 runs failed to hang.", "30 runs", false));
        assert!(earlier("Before the fix, 5 of 5 runs hung.", "5 of 5 runs", false));
        assert!(earlier("With the patch reverted 9 of 9 runs hung.", "9 of 9 runs", false));
        assert!(earlier("The gate asks for 100 runs.", "100 runs", false));
    }

    #[test]
    fn numbers_are_read_in_words() {
        for (text, n) in
            [("twenty", 20), ("a hundred", 100), ("two thousand", 2000), ("10k", 10_000), ("1,000", 1000)]
        {
            assert_eq!(number(text), Some(n), "{text}");
            assert!(RUNS.is_match(&format!("{text} runs")), "{text}");
        }
    }

    #[test]
    fn a_device_is_known_by_its_name() {
        assert!(names("NVIDIA A100-SXM4-80GB (driver 570.1)", "A100"));
        assert!(!names("NVIDIA A100-SXM4-80GB", "A10"));
        assert!(names("NVIDIA GeForce RTX 4090", "RTX4090"));
        assert!(!names("AMD EPYC", "H100"));
        assert!(!names("NVIDIA L40S", "L40"));
    }
}
