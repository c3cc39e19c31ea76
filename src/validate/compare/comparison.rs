//! A comparison that was made and judged, as JSON for `--json`, as JSON for a record. `lines` has it for people.

use serde_json::{Map, Value, json};

use super::clusters;
use super::device::Pair;
use super::outcome::{Details, Special, Summary, Tolerance, Worst};
use super::policy::{Policy, Rule, relative_norm};
use crate::model::canonical::MAX_INTEGER;
use crate::validate::tensor::Dtype;

/// What a baseline's own error is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaselineError {
    /// Its largest |a − b|.
    pub max_abs: f64,
    /// Its ‖a − b‖ / ‖b‖.
    pub relative_norm: f64,
}

/// A comparison that was made and judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Which device compared.
    pub device: String,
    /// The shape of both tensors.
    pub shape: Vec<u64>,
    /// The types of the reference and of the candidate.
    pub dtypes: (Dtype, Dtype),
    /// The policy.
    pub policy: Policy,
    /// What every pair was held to: of the `baseline` policy, what came of it.
    pub tolerance: Tolerance,
    /// What ‖a − b‖ / ‖b‖ was held to.
    pub norm_limit: Option<f64>,
    /// Of the `baseline` policy, the baseline's own error.
    pub baseline: Option<BaselineError>,
    /// The first pass.
    pub summary: Summary,
    /// The details, where there are mismatches or they were asked for.
    pub details: Option<Details>,
    /// The root of the mean (a − b)² over pairs that are both finite.
    pub rmse: f64,
    /// ‖a − b‖ / ‖b‖ over pairs that are both finite.
    pub relative_norm: f64,
    /// Whether the candidate passes.
    pub passed: bool,
    /// Why it does not, in one line; empty if it does.
    pub reason: String,
}

impl Comparison {
    /// Judges what a device found.
    #[expect(clippy::too_many_arguments, reason = "the parts of one value, each made elsewhere")]
    pub(super) fn judge(
        device: String,
        policy: &Policy,
        pair: Pair<'_>,
        tolerance: Tolerance,
        norm_limit: Option<f64>,
        baseline: Option<BaselineError>,
        summary: Summary,
        details: Option<Details>,
    ) -> Self {
        let mean = summary.sum_squared_difference / summary.finite.max(1) as f64;
        let mut comparison = Self {
            device,
            shape: pair.reference.shape.clone(),
            dtypes: (pair.reference.dtype, pair.candidate.dtype),
            policy: *policy,
            tolerance,
            norm_limit,
            baseline,
            rmse: mean.sqrt(),
            relative_norm: relative_norm(&summary),
            summary,
            details,
            passed: false,
            reason: String::new(),
        };
        comparison.reason = comparison.complaint().unwrap_or_default();
        comparison.passed = comparison.reason.is_empty();
        comparison
    }

    /// Why it does not pass.
    fn complaint(&self) -> Option<String> {
        let found = &self.summary;
        if found.mismatches > 0 {
            let mut reason = format!("{} of {} elements do not match", found.mismatches, found.elements);
            if let Some(worst) = self.details.as_ref().and_then(|details| details.worst.first()) {
                reason.push_str(&format!(
                    "; the worst is {} instead of {} at {}",
                    short(worst.candidate),
                    short(worst.reference),
                    index_text(&self.index(worst.position))
                ));
            }
            return Some(reason);
        }
        // Not `>`: a NaN is no norm that may pass.
        let limit = self.norm_limit?;
        let within = self.relative_norm <= limit;
        (!within).then(|| {
            format!(
                "‖a−b‖/‖b‖ is {}, and {} is the most that passes",
                short(self.relative_norm),
                short(limit)
            )
        })
    }

    /// The index into the shape of an element counted in C order.
    pub fn index(&self, position: u64) -> Vec<u64> {
        let mut rest = position;
        let mut index: Vec<u64> = Vec::with_capacity(self.shape.len());
        for &length in self.shape.iter().rev() {
            index.push(rest % length.max(1));
            rest /= length.max(1);
        }
        index.reverse();
        index
    }

    /// The members of the `compare` view: numbers are JSON numbers, but for `"nan"`, `"inf"` and `"-inf"`.
    pub fn json(&self) -> Map<String, Value> {
        self.view(&number)
    }

    /// The same members for a record, where decimals are strings.
    pub fn record(&self) -> Map<String, Value> {
        self.view(&|x| Value::String(decimal(x)))
    }

    fn view(&self, number: &dyn Fn(f64) -> Value) -> Map<String, Value> {
        let found = &self.summary;
        let special = |special: &Special| {
            json!({
                "reference": special.reference,
                "candidate": special.candidate,
                "first": special.first.map(|position| self.index(position)),
            })
        };
        let worst = |worst: &Worst| {
            json!({
                "index": self.index(worst.position),
                "reference": number(worst.reference),
                "candidate": number(worst.candidate),
                "abs": number(worst.abs),
            })
        };
        let details = self.details.as_ref();
        let mut view = Map::new();
        let mut put = |key: &str, value: Value| view.insert(key.to_owned(), value);
        put("verdict", if self.passed { "pass" } else { "fail" }.into());
        put("reason", self.reason.clone().into());
        put("device", self.device.clone().into());
        put("shape", self.shape.clone().into());
        put("dtype", json!({"reference": self.dtypes.0.name(), "candidate": self.dtypes.1.name()}));
        put("policy", rule_word(self.policy.rule).into());
        put("equal_nan", self.tolerance.equal_nan.into());
        put("elements", found.elements.into());
        put("mismatches", found.mismatches.into());
        put("finite", found.finite.into());
        put("max_abs", number(found.max_abs));
        put("max_rel", number(found.max_rel));
        put("rmse", number(self.rmse));
        put("relative_norm", number(self.relative_norm));
        put("nan", special(&found.nan));
        put("inf", special(&found.inf));
        if !self.tolerance.bitwise {
            put("atol", number(self.tolerance.atol));
            put("rtol", number(self.tolerance.rtol));
        }
        put("norm_limit", self.norm_limit.map_or(Value::Null, number));
        if let Some(baseline) = self.baseline {
            let error = json!({
                "max_abs": number(baseline.max_abs),
                "relative_norm": number(baseline.relative_norm),
            });
            put("baseline", error);
        }
        put(
            "worst",
            details.map_or_else(Vec::new, |details| details.worst.iter().map(worst).collect()).into(),
        );
        if let Some(details) = details {
            put("max_ulp", self.steps(details));
            put("histogram", details.histogram.iter().map(|(e, n)| json!([e, n])).collect());
            put("clusters", self.clusters().into());
        }
        view
    }

    /// The most steps of the stored type; past what every JSON reader keeps exactly, in decimals in a string.
    fn steps(&self, details: &Details) -> Value {
        if self.dtypes.0 != self.dtypes.1 {
            Value::Null
        } else if details.max_ulp <= MAX_INTEGER {
            details.max_ulp.into()
        } else {
            details.max_ulp.to_string().into()
        }
    }

    /// Where mismatches cluster, in words.
    pub fn clusters(&self) -> Vec<String> {
        self.details.as_ref().map_or_else(Vec::new, |details| {
            clusters::describe(&self.shape, &details.axes, self.summary.mismatches)
        })
    }
}

/// The policy's word in the configuration.
const fn rule_word(rule: Rule) -> &'static str {
    match rule {
        Rule::Allclose { .. } => "allclose",
        Rule::Bitwise => "bitwise",
        Rule::Baseline { .. } => "baseline",
    }
}

/// A number for `--json`.
fn number(x: f64) -> Value {
    serde_json::Number::from_f64(x).map_or_else(|| Value::String(decimal(x)), Value::Number)
}

/// A number as a string: the shortest that reads back as the same f64; `nan`, `inf`, `-inf`.
pub(super) fn decimal(x: f64) -> String {
    if x.is_nan() {
        "nan".into()
    } else if x == 0.0 || (1e-5..1e16).contains(&x.abs()) || x.is_infinite() {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

/// A number for people: six digits that count.
pub fn short(x: f64) -> String {
    if !x.is_finite() || x == 0.0 {
        return decimal(x);
    }
    let exponent = x.abs().log10().floor() as i32;
    if (-4..7).contains(&exponent) {
        let text = format!("{x:.*}", (5 - exponent).max(0) as usize);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        let text = format!("{x:.5e}");
        match text.split_once('e') {
            Some((digits, exponent)) if digits.contains('.') => {
                format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
            }
            _ => text,
        }
    }
}

/// An index as people write it.
pub(super) fn index_text(index: &[u64]) -> String {
    let parts: Vec<String> = index.iter().map(u64::to_string).collect();
    format!("[{}]", parts.join(", "))
}
