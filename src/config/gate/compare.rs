//! What gates of the kinds that compare have beside the common keys: what is compared with what, and how closely.

use serde_json::{Map, Value, json};

use super::{Gate, GateKind};
use crate::config::decimal::Decimal;
use crate::config::section::Section;
use crate::config::values;
use crate::model::dtype::Dtype;

/// How closely: for every kind that compares.
pub(super) const TOLERANCES: &[&str] = &["policy", "atol", "rtol", "norm", "slack", "equal-nan", "worst"];

/// What with what: for gates whose command writes files.
pub(super) const FILES: &[&str] = &[
    "reference",
    "candidate",
    "baseline",
    "dtype",
    "shape",
    "scale",
    "reference-scale",
    "block",
    "cases",
    "stages",
];

/// The places that hold files, with what each is for.
const PLACES: [&str; 5] = ["reference", "candidate", "baseline", "scale", "reference-scale"];

/// The most axes of a shape.
const MOST_AXES: usize = 64;

/// The most cases and the most stages.
const MOST_NAMES: usize = 256;

/// How a comparison judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Within `atol` + `rtol` × |reference|.
    Allclose,
    /// As near to the reference as another implementation, twice over.
    Baseline,
    /// Every bit the same.
    Bitwise,
}

const POLICIES: [(&str, Policy); 3] =
    [("allclose", Policy::Allclose), ("baseline", Policy::Baseline), ("bitwise", Policy::Bitwise)];

/// What is compared, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compare {
    /// `policy`.
    pub policy: Option<Policy>,
    /// `reference`: `FILE` or `FILE:TENSOR` below `$GATE_OUT`.
    pub reference: Option<String>,
    /// `candidate`: the same.
    pub candidate: Option<String>,
    /// `baseline`: the same, of the implementation whose error is allowed twice.
    pub baseline: Option<String>,
    /// `atol`: absolute tolerance.
    pub atol: Option<Decimal>,
    /// `rtol`: relative tolerance.
    pub rtol: Option<Decimal>,
    /// `norm`: the most that ‖candidate − reference‖ / ‖reference‖ may be.
    pub norm: Option<Decimal>,
    /// `slack`: what the baseline policy allows beside twice the baseline's error.
    pub slack: Option<Decimal>,
    /// `equal-nan`: NaN matches NaN.
    pub equal_nan: Option<bool>,
    /// `dtype` of raw files, and of 16-bit and 8-bit floats that a format has no name for.
    pub dtype: Option<Dtype>,
    /// `shape` of raw files.
    pub shape: Option<Vec<u64>>,
    /// `scale`: the factors of the candidate.
    pub scale: Option<String>,
    /// `reference-scale`: the factors of the reference.
    pub reference_scale: Option<String>,
    /// `block`: how many elements along each of the last axes share a factor.
    pub block: Option<Vec<u64>>,
    /// `worst`: how many of the worst elements are shown.
    pub worst: Option<u32>,
    /// `cases`: what `{case}` stands for, one after the other; `*` for every folder that is found.
    pub cases: Vec<String>,
    /// `stages`: what `{stage}` stands for, in the order of the computation.
    pub stages: Vec<String>,
}

impl Compare {
    pub(super) fn read(section: &mut Section<'_, '_>, kind: Option<GateKind>) -> Self {
        let mut compare = Self {
            policy: section.choice("policy", &POLICIES),
            atol: section.decimal("atol"),
            rtol: section.decimal("rtol"),
            norm: section.decimal("norm"),
            slack: section.decimal("slack"),
            equal_nan: section.flag("equal-nan"),
            worst: section.integer("worst", 1, 1000),
            ..Self::default()
        };
        if kind == Some(GateKind::Kernel) {
            // Some of these words are keys of its own, of other types: nothing but their being known is said here.
            for key in FILES {
                section.value(key);
            }
            return compare;
        }
        compare.reference = read_place(section, "reference");
        compare.candidate = read_place(section, "candidate");
        compare.baseline = read_place(section, "baseline");
        compare.scale = read_place(section, "scale");
        compare.reference_scale = read_place(section, "reference-scale");
        compare.dtype = read_dtype(section);
        compare.shape = read_lengths(section, "shape", 0);
        compare.block = read_lengths(section, "block", 1);
        compare.cases = read_names(section, "cases");
        compare.stages = read_names(section, "stages");
        compare
    }

    pub(super) fn canonical(&self, map: &mut Map<String, Value>) {
        let decimal = |decimal: &Option<Decimal>| decimal.as_ref().map(|decimal| json!(decimal.canonical()));
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
        let lengths = |lengths: &Option<Vec<u64>>| lengths.as_ref().map(|lengths| json!(lengths));
        let policy = self.policy.and_then(|set| POLICIES.iter().find(|(_, policy)| *policy == set));
        let cases: std::collections::BTreeSet<&String> = self.cases.iter().collect();
        for (key, value) in [
            ("policy", policy.map(|(word, _)| json!(word))),
            ("reference", text(&self.reference)),
            ("candidate", text(&self.candidate)),
            ("baseline", text(&self.baseline)),
            ("atol", decimal(&self.atol)),
            ("rtol", decimal(&self.rtol)),
            ("norm", decimal(&self.norm)),
            ("slack", decimal(&self.slack)),
            ("equal-nan", self.equal_nan.map(|set| json!(set))),
            ("dtype", self.dtype.map(|dtype| json!(dtype.name()))),
            ("shape", lengths(&self.shape)),
            ("scale", text(&self.scale)),
            ("reference-scale", text(&self.reference_scale)),
            ("block", lengths(&self.block)),
            ("worst", self.worst.map(|worst| json!(worst))),
            ("cases", (!cases.is_empty()).then(|| json!(cases))),
            // Their order is the computation's: another order is another gate.
            ("stages", (!self.stages.is_empty()).then(|| json!(self.stages))),
        ] {
            if let Some(value) = value {
                map.insert(key.into(), value);
            }
        }
    }

    pub(super) fn check(&self, gate: &Gate, section: &mut Section<'_, '_>) {
        if gate.kind == GateKind::Compare {
            self.check_places(gate, section);
        }
        let bitwise = self.policy == Some(Policy::Bitwise);
        let baseline = self.policy == Some(Policy::Baseline);
        for (key, useless, policy) in [
            ("atol", bitwise, "bitwise"),
            ("rtol", bitwise, "bitwise"),
            ("atol", baseline, "baseline"),
            ("rtol", baseline, "baseline"),
        ] {
            if useless && section.has(key) {
                section.problem_at_key(key, format!("\"{key}\" has no meaning with policy \"{policy}\""));
                if baseline {
                    section.hint("what the baseline's own error does not cover is \"slack\"");
                }
            }
        }
        for key in ["slack", "baseline"] {
            if section.has(key) && !baseline && gate.kind != GateKind::Perf {
                section.problem_at_key(key, format!("\"{key}\" has a meaning with policy \"baseline\" only"));
                section.hint("add policy = \"baseline\", or leave it out");
            }
        }
    }

    /// Files that are missing, and placeholders that stand for nothing.
    fn check_places(&self, gate: &Gate, section: &mut Section<'_, '_>) {
        let several = !self.cases.is_empty() || !self.stages.is_empty();
        let mut needed = vec!["reference", "candidate"];
        if self.policy == Some(Policy::Baseline) {
            needed.push("baseline");
        }
        for key in needed {
            if !section.has(key) && !several {
                section.problem(key, format!("a gate of kind \"compare\" needs \"{key}\""));
                section.hint("name the files that run writes below $GATE_OUT, or list its cases");
            }
        }
        let words = [
            ("case", !self.cases.is_empty(), "cases = […]"),
            ("stage", !self.stages.is_empty(), "stages = […]"),
            ("rank", gate.gpus.is_some(), "gpus = …"),
        ];
        for key in PLACES {
            let Some(place) = self.place(key) else {
                continue;
            };
            for word in placeholders(&place) {
                match words.iter().find(|(known, ..)| *known == word) {
                    Some((_, true, _)) => {}
                    Some((_, false, setter)) => {
                        section
                            .problem(key, format!("\"{key}\" has {{{word}}}, which stands for nothing here"));
                        section.hint(format!("add {setter}"));
                    }
                    None => {
                        section.problem(
                            key,
                            format!(
                                "\"{key}\" has the unknown placeholder {}",
                                values::shown(&format!("{{{word}}}"))
                            ),
                        );
                        section.hint("there are {case}, {stage} and {rank}");
                    }
                }
            }
        }
        let candidate = self.candidate.as_deref().unwrap_or("{case}/{stage}");
        for (word, set, _) in &words[..2] {
            if *set && !candidate.contains(&format!("{{{word}}}")) {
                section.problem("candidate", format!("\"candidate\" is the same for all {word}s"));
                section.hint(format!("let {{{word}}} stand in it"));
            }
        }
        if self.any_case() && self.cases.len() > 1 {
            section.problem("cases", "\"cases\" has \"*\" beside names");
            section.hint("\"*\" alone takes every folder; names alone take these and no other");
        } else if self.any_case() && !candidate.starts_with("{case}/") {
            section.problem("cases", "\"*\" in \"cases\" needs a candidate that begins with {case}/");
            section.hint("name the cases, or write each into a folder of its own");
        }
        if self.shape.is_some() && self.dtype.is_none() {
            section.problem_at_key("shape", "\"shape\" needs \"dtype\"");
            section.hint("a raw file says neither");
        }
        if self.block.is_some() && self.scale.is_none() && self.reference_scale.is_none() {
            section.problem_at_key("block", "\"block\" needs \"scale\" or \"reference-scale\"");
            section.hint("it says how many elements share a factor");
        }
    }

    /// Whether `cases` takes every folder that is found.
    pub fn any_case(&self) -> bool {
        self.cases.iter().any(|case| case == "*")
    }

    /// A place by its key, with the default that it has where there are cases or stages.
    pub fn place(&self, key: &str) -> Option<String> {
        let (set, default) = match key {
            "reference" => (&self.reference, true),
            "candidate" => (&self.candidate, true),
            "baseline" => (&self.baseline, self.policy == Some(Policy::Baseline)),
            "scale" => (&self.scale, false),
            "reference-scale" => (&self.reference_scale, false),
            _ => return None,
        };
        if let Some(set) = set {
            return Some(set.clone());
        }
        let file = match (!self.cases.is_empty(), !self.stages.is_empty()) {
            (true, true) => "{case}/{stage}",
            (true, false) => "{case}",
            (false, true) => "{stage}",
            (false, false) => return None,
        };
        default.then(|| format!("{file}.safetensors:{key}"))
    }
}

/// What stands in braces.
fn placeholders(place: &str) -> Vec<&str> {
    place.split('{').skip(1).map(|part| part.split_once('}').map_or(part, |(word, _)| word)).collect()
}

/// `FILE` or `FILE:TENSOR`.
fn read_place(section: &mut Section<'_, '_>, key: &'static str) -> Option<String> {
    let place = section.string(key)?;
    let (file, tensor) = place.rsplit_once(':').map_or((&*place, None), |(file, name)| (file, Some(name)));
    let wrong = match values::path(file) {
        Err(why) => Some(why),
        Ok(_) if tensor.is_some_and(|name| name.trim().is_empty()) => {
            Some("must name a tensor after its colon".into())
        }
        Ok(_) => None,
    };
    if let Some(why) = wrong {
        section.problem(key, format!("\"{key}\" in [[gate]] {why}"));
        section.hint("write a file below $GATE_OUT, or FILE:TENSOR");
        return None;
    }
    Some(place)
}

fn read_dtype(section: &mut Section<'_, '_>) -> Option<Dtype> {
    let text = section.string("dtype")?;
    let dtype = Dtype::parse(&text);
    if dtype.is_none() {
        section.problem(
            "dtype",
            format!("\"dtype\" in [[gate]] must be the type of a tensor, not {}", values::shown(&text)),
        );
        section.hint(match Dtype::closest(&text) {
            Some(name) => format!("did you mean \"{name}\"?"),
            None => format!("there are: {}", Dtype::all().map(Dtype::name).collect::<Vec<_>>().join(", ")),
        });
    }
    dtype
}

/// An array of whole numbers, none below `low`.
fn read_lengths(section: &mut Section<'_, '_>, key: &'static str, low: u64) -> Option<Vec<u64>> {
    let value = section.value(key)?;
    let lengths: Option<Vec<u64>> = value.get_ref().as_array().and_then(|array| {
        let number = |item: &toml::Spanned<toml::de::DeValue<'_>>| {
            let integer = item.get_ref().as_integer()?;
            u64::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|n| (low..1 << 48).contains(n))
        };
        array.iter().map(number).collect()
    });
    match lengths {
        Some(lengths) if lengths.len() <= MOST_AXES => return Some(lengths),
        Some(_) => section.problem(key, format!("\"{key}\" in [[gate]] has more than {MOST_AXES} axes")),
        None => {
            section.problem(
                key,
                format!("\"{key}\" in [[gate]] must be an array of whole numbers, none below {low}"),
            );
            section.hint(format!("write {key} = [2, 128]"));
        }
    }
    None
}

/// Names that become parts of paths.
fn read_names(section: &mut Section<'_, '_>, key: &'static str) -> Vec<String> {
    if !section.has(key) {
        return Vec::new();
    }
    let Some(names) = section.list(key, |name| name_of(name, key == "cases")) else {
        return Vec::new();
    };
    let mut seen = std::collections::BTreeSet::new();
    if names.is_empty() {
        section.problem(key, format!("\"{key}\" in [[gate]] is empty: nothing would be compared"));
        section.hint("name at least one, or leave it out");
    } else if names.len() > MOST_NAMES {
        section.problem(key, format!("\"{key}\" in [[gate]] has more than {MOST_NAMES} entries"));
    } else if let Some(double) = names.iter().find(|name| !seen.insert(*name)) {
        section.problem(key, format!("\"{key}\" in [[gate]] has {} twice", values::shown(double)));
    }
    names
}

fn name_of(name: &str, any: bool) -> Result<String, String> {
    if (any && name == "*") || is_name(name) {
        return Ok(name.to_owned());
    }
    Err(format!(
        "must be a name of letters, digits and ._+=,- that begins with one of the former, not {}",
        values::shown(name)
    ))
}

/// Whether this can be the name of a case or a stage: it becomes a part of a path.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._+=,-".contains(&byte);
    let starts = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    starts && name.len() <= 128 && name.bytes().all(fits)
}

#[cfg(test)]
mod tests;
