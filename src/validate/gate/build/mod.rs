//! Kind `build`: what a compiler says of its kernels, held against limits.

use serde_json::{Value, json};

use super::{End, Judged, one};
use crate::model::status::Verdict;

pub mod report;

pub use report::{Function, Report};

/// How many lines are shown; the record has more.
const LINES: usize = 10;

/// How many functions a record describes.
const DESCRIBED: usize = 200;

/// What may not be exceeded, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// Names, with `*` and `?`, of the functions they are for; empty for all.
    pub kernels: Vec<String>,
    /// The architectures that have to be reported; empty for whatever is.
    pub arch: Vec<String>,
    /// Registers of a thread.
    pub registers: Option<u64>,
    /// Bytes that a thread spills.
    pub spills: Option<u64>,
    /// Bytes of a thread's stack.
    pub stack: Option<u64>,
    /// Bytes of a block's static shared memory.
    pub shared: Option<u64>,
    /// Bytes of a binary.
    pub binary: Option<u64>,
}

/// One thing that is too much.
struct Over {
    /// The kernel or the file.
    of: String,
    what: &'static str,
    value: u64,
    limit: u64,
}

impl Over {
    fn said(&self) -> String {
        format!("{}: {} {}, limit {}", self.of, self.value, self.what, self.limit)
    }
}

/// What the commands' ends decide before anything is read; `None` when the report is to be judged.
pub fn ended(ends: &[End]) -> Option<Judged> {
    ends.iter().map(one).find(|judged| judged.verdict != Verdict::Pass)
}

/// Judges a report (where a limit needs one) and the sizes of binaries (name and bytes).
pub fn judge(report: Option<&Report>, binaries: &[(String, u64)], limits: &Limits) -> Judged {
    let mut over = Vec::new();
    let mut unknown = Vec::new();
    let mut chosen: Vec<&Function> = Vec::new();
    if let Some(report) = report {
        chosen = choose(report, limits, &mut unknown);
        for function in &chosen {
            weigh(function, limits, &mut over, &mut unknown);
        }
    }
    if let Some(limit) = limits.binary {
        let large = binaries.iter().filter(|(_, bytes)| *bytes > limit);
        over.extend(large.map(|(name, bytes)| Over {
            of: name.clone(),
            what: "bytes of binary",
            value: *bytes,
            limit,
        }));
    }
    let (verdict, said) = if over.is_empty() {
        (if unknown.is_empty() { Verdict::Pass } else { Verdict::Inconclusive }, unknown)
    } else {
        (Verdict::Fail, over.iter().map(Over::said).collect())
    };
    let mut judged = Judged::new(verdict, said.first().cloned().unwrap_or_default());
    if said.len() > 1 {
        judged.reason.push_str(&format!(" (and {} more)", said.len() - 1));
        judged.lines = said.iter().take(LINES).cloned().collect();
        if said.len() > LINES {
            judged.lines.push(format!("and {} more", said.len() - LINES));
        }
    }
    judged.details = details(&chosen, &over, binaries);
    judged
}

/// The functions that the limits are for. What was asked for and not reported goes to `unknown`.
fn choose<'r>(report: &'r Report, limits: &Limits, unknown: &mut Vec<String>) -> Vec<&'r Function> {
    if !report.functions.iter().any(|function| function.entry) {
        unknown.push(
            "no kernel was reported: the compiler has to say what it made (ptxas -v, -Xptxas -v, \
                      -Rpass-analysis=kernel-resource-usage)"
                .into(),
        );
        return Vec::new();
    }
    if report.stray {
        unknown.push("the compiler's lines are interleaved; build with one job".into());
    }
    let named = |function: &Function, pattern: &String| matches(pattern, &function.name);
    let built = |function: &Function, arch: &String| {
        function.arch.as_ref().is_some_and(|a| a == arch || a.split(':').next() == Some(arch))
    };
    let entries = || report.functions.iter().filter(|function| function.entry);
    for pattern in &limits.kernels {
        if !report.functions.iter().any(|function| named(function, pattern)) {
            unknown.push(format!("no kernel named {pattern} was reported"));
        }
    }
    for arch in &limits.arch {
        if !entries().any(|function| built(function, arch)) {
            unknown.push(format!("no kernel was reported for {arch}"));
        }
    }
    let functions = report.functions.iter();
    functions
        .filter(|f| limits.kernels.is_empty() || limits.kernels.iter().any(|pattern| named(f, pattern)))
        .filter(|f| limits.arch.is_empty() || limits.arch.iter().any(|arch| built(f, arch)))
        .collect()
}

fn weigh(function: &Function, limits: &Limits, over: &mut Vec<Over>, unknown: &mut Vec<String>) {
    for (what, value, limit) in [
        ("registers", function.registers, limits.registers),
        ("bytes spilled", function.spills, limits.spills),
        ("bytes of stack", function.stack, limits.stack),
        ("bytes of shared memory", function.shared, limits.shared),
    ] {
        let Some(limit) = limit else {
            continue;
        };
        if let Some(value) = value {
            if value > limit {
                over.push(Over { of: shown(function), what, value, limit });
            }
        } else if function.entry {
            // Compilers count registers and shared memory for kernels alone.
            unknown.push(format!("{}: {what} were not reported", shown(function)));
        }
    }
}

fn shown(function: &Function) -> String {
    let name: String = function.name.chars().take(200).collect();
    match &function.arch {
        Some(arch) => format!("{name} ({arch})"),
        None => name,
    }
}

fn details(functions: &[&Function], over: &[Over], binaries: &[(String, u64)]) -> Value {
    let described: Vec<Value> = functions
        .iter()
        .take(DESCRIBED)
        .map(|f| {
            json!({
                "name": f.name, "arch": f.arch, "entry": f.entry, "registers": number(f.registers),
                "spilled_bytes": number(f.spills), "stack_bytes": number(f.stack), "shared_bytes": number(f.shared),
            })
        })
        .collect();
    let over: Vec<Value> = over
        .iter()
        .take(DESCRIBED)
        .map(|o| json!({"of": o.of, "what": o.what, "value": number(Some(o.value)), "limit": number(Some(o.limit))}))
        .collect();
    let binaries: Vec<Value> =
        binaries.iter().map(|(name, bytes)| json!({"name": name, "bytes": number(Some(*bytes))})).collect();
    json!({"functions": functions.len(), "kernels": described, "over": over, "binaries": binaries})
}

/// A record holds no integer of 2^53 or more; nothing true is that large.
fn number(value: Option<u64>) -> Option<u64> {
    value.map(|value| value.min(crate::model::canonical::MAX_INTEGER))
}

/// Does a name match a pattern in which `*` stands for anything and `?` for one character?
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut position, mut star) = (0, 0, None);
    while position < name.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, position));
            at += 1;
        } else if pattern.get(at).is_some_and(|c| *c == '?' || *c == name[position]) {
            (at, position) = (at + 1, position + 1);
        } else if let Some((starred, from)) = star {
            (at, position) = (starred + 1, from + 1);
            star = Some((starred, from + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kernel(name: &str, registers: u64, spills: u64) -> Function {
        Function {
            name: name.into(),
            arch: Some("sm_90".into()),
            entry: true,
            registers: Some(registers),
            spills: Some(spills),
            stack: Some(0),
            shared: Some(0),
        }
    }

    fn judged(functions: Vec<Function>, limits: &Limits) -> Judged {
        judge(Some(&Report { functions, stray: false }), &[], limits)
    }

    #[test]
    fn the_kernel_the_value_and_the_limit_are_named() {
        let limits = Limits { registers: Some(64), spills: Some(0), ..Limits::default() };
        assert_eq!(judged(vec![kernel("k", 64, 0)], &limits).verdict, Verdict::Pass);
        let fails = judged(vec![kernel("k", 65, 0), kernel("l", 2, 4)], &limits);
        assert_eq!(fails.verdict, Verdict::Fail);
        assert_eq!(fails.reason, "k (sm_90): 65 registers, limit 64 (and 1 more)");
        assert_eq!(fails.lines[1], "l (sm_90): 4 bytes spilled, limit 0");
        assert_eq!(fails.details["over"][1]["value"], 4);
        let many: Vec<Function> = (0..30).map(|n| kernel(&format!("k{n}"), 99, 0)).collect();
        let many = judged(many, &limits);
        assert_eq!((many.lines.len(), many.lines[10].as_str()), (11, "and 20 more"));
    }

    #[test]
    fn what_was_not_reported_never_passes() {
        let limits = Limits { registers: Some(64), ..Limits::default() };
        let says = |functions: Vec<Function>, limits: &Limits, words: &str| {
            let judged = judged(functions, limits);
            assert_eq!(judged.verdict, Verdict::Inconclusive, "{judged:?}");
            assert!(judged.reason.contains(words), "{judged:?}");
        };
        says(vec![], &limits, "no kernel was reported");
        says(vec![Function { entry: false, ..kernel("f", 1, 0) }], &limits, "no kernel was reported");
        says(vec![Function { registers: None, ..kernel("k", 1, 0) }], &limits, "registers were not reported");
        let named = Limits { kernels: vec!["reduce*".into()], ..limits.clone() };
        says(vec![kernel("k", 1, 0)], &named, "no kernel named reduce*");
        let arch = Limits { arch: vec!["sm_100".into()], ..limits.clone() };
        says(vec![kernel("k", 1, 0)], &arch, "no kernel was reported for sm_100");
        let stray = judge(Some(&Report { functions: vec![kernel("k", 1, 0)], stray: true }), &[], &limits);
        assert_eq!(stray.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn limits_are_for_the_kernels_that_are_named() {
        let limits = Limits { kernels: vec!["*reduce*".into()], spills: Some(0), ..Limits::default() };
        let functions = vec![kernel("_Z6reducePf", 1, 0), kernel("other", 1, 400)];
        assert_eq!(judged(functions, &limits).verdict, Verdict::Pass);
        let amd = Function { arch: Some("gfx90a:sramecc+".into()), ..kernel("k", 1, 8) };
        let limits = Limits { arch: vec!["gfx90a".into()], spills: Some(0), ..Limits::default() };
        assert_eq!(judged(vec![amd], &limits).verdict, Verdict::Fail);
    }

    #[test]
    fn binaries_have_a_size() {
        let limits = Limits { binary: Some(100), ..Limits::default() };
        assert_eq!(judge(None, &[("k.cubin".into(), 100)], &limits).verdict, Verdict::Pass);
        let judged = judge(None, &[("k.cubin".into(), 101)], &limits);
        assert_eq!(judged.reason, "k.cubin: 101 bytes of binary, limit 100");
    }

    #[test]
    fn an_end_that_is_no_pass_decides() {
        assert_eq!(ended(&[End::Exit(0)]), None);
        assert_eq!(ended(&[End::Exit(0), End::Exit(1)]).unwrap().verdict, Verdict::Fail);
        assert_eq!(ended(&[End::Exit(127)]).unwrap().verdict, Verdict::NotRun);
    }

    proptest! {
        #[test]
        fn patterns_match_as_slow_ones_do(pattern in "[ab*?]{0,6}", name in "[ab]{0,8}") {
            fn slow(pattern: &[u8], name: &[u8]) -> bool {
                match (pattern.first(), name.first()) {
                    (None, None) => true,
                    (Some(b'*'), _) => {
                        slow(&pattern[1..], name) || !name.is_empty() && slow(pattern, &name[1..])
                    }
                    (Some(p), Some(n)) if *p == b'?' || p == n => slow(&pattern[1..], &name[1..]),
                    _ => false,
                }
            }
            prop_assert_eq!(matches(&pattern, &name), slow(pattern.as_bytes(), name.as_bytes()));
        }

        #[test]
        fn passes_only_within_every_limit(registers in 0..4_u64, spills in 0..4_u64, most in 0..4_u64, spilled in 0..4_u64) {
            let limits = Limits { registers: Some(most), spills: Some(spilled), ..Limits::default() };
            let passed = judged(vec![kernel("k", registers, spills)], &limits).verdict == Verdict::Pass;
            prop_assert_eq!(passed, registers <= most && spills <= spilled);
        }
    }
}
