//! One answer over all tensors of two files.

use serde_json::{Map, Value, json};

use super::{Request, each_pair};
use crate::device::map::Mapped;
use crate::model::Result;
use crate::validate::compare::{Comparison, Device, short};

/// A comparison with its name.
#[derive(Debug, Clone)]
pub struct Named {
    /// The tensor's name, where tensors were compared by their names.
    pub name: Option<String>,
    /// What was found.
    pub comparison: Comparison,
}

/// Compares all pairs of a request.
///
/// # Errors
/// As [`each_pair`] says.
pub fn answer(request: &Request, device: &dyn Device) -> Result<Vec<Named>> {
    each_pair(request, &Mapped::open, |loaded| {
        Ok(Named { name: loaded.name.map(str::to_owned), comparison: loaded.compare(device)? })
    })
}

/// A comparison in one line of figures.
pub fn figures(comparison: &Comparison) -> String {
    let found = &comparison.summary;
    let differ = match found.mismatches {
        0 => "all match".to_owned(),
        count => format!("{count} do not match"),
    };
    let mut figures = format!(
        "{} elements, {differ}; largest |a−b| {}, ‖a−b‖/‖b‖ {}",
        found.elements,
        short(found.max_abs),
        short(comparison.relative_norm)
    );
    if let Some(limit) = comparison.norm_limit.filter(|limit| comparison.relative_norm > *limit) {
        figures += &format!(" (at most {})", short(limit));
    }
    let strange = found.nan.candidate + found.inf.candidate;
    if strange > 0 {
        figures += &format!("; {strange} NaN or infinite");
    }
    figures
}

/// Whether all of them pass.
pub fn passed(all: &[Named]) -> bool {
    !all.is_empty() && all.iter().all(|named| named.comparison.passed)
}

/// The `compare` view: of one tensor its own, of several what holds of all of them, and each under `tensors`.
pub fn view(all: &[Named], worst: usize) -> Value {
    if let [one] = all {
        let mut view = one.comparison.json();
        if let Some(name) = &one.name {
            view.insert("tensor".into(), json!(name));
        }
        return Value::Object(view);
    }
    let tensors: Vec<Map<String, Value>> = all
        .iter()
        .map(|named| {
            let mut view = named.comparison.json();
            view.insert("tensor".into(), json!(named.name));
            view
        })
        .collect();
    let summaries = || all.iter().map(|named| &named.comparison.summary);
    let largest = |key: &str| {
        let of = |named: &Named| match key {
            "max_abs" => named.comparison.summary.max_abs,
            _ => named.comparison.summary.max_rel,
        };
        let first = all.iter().enumerate().max_by(|(i, a), (j, b)| of(a).total_cmp(&of(b)).then(j.cmp(i)));
        first.map_or(json!(0.0), |(at, _)| tensors[at][key].clone())
    };
    let special = |key: &str| {
        let count = |side: &str| tensors.iter().filter_map(|t| t[key][side].as_u64()).sum::<u64>();
        let first = tensors.iter().find(|t| !t[key]["first"].is_null());
        json!({
            "reference": count("reference"),
            "candidate": count("candidate"),
            "first": first.map(|t| t[key]["first"].clone()),
            "tensor": first.map(|t| t["tensor"].clone()),
        })
    };
    let failing = all.iter().find(|named| !named.comparison.passed);
    json!({
        "verdict": if passed(all) { "pass" } else { "fail" },
        "reason": failing.map_or(String::new(), |named| {
            format!("{}: {}", named.name.as_deref().unwrap_or_default(), named.comparison.reason)
        }),
        "device": all.first().map(|named| named.comparison.device.clone()),
        "elements": summaries().map(|s| s.elements).sum::<u64>(),
        "mismatches": summaries().map(|s| s.mismatches).sum::<u64>(),
        "max_abs": largest("max_abs"),
        "max_rel": largest("max_rel"),
        "nan": special("nan"),
        "inf": special("inf"),
        "worst": worst_of(all, &tensors, worst),
        "tensors": tensors,
    })
}

/// The worst of all tensors: finite ones first, the largest first, as in each of them.
fn worst_of(all: &[Named], tensors: &[Map<String, Value>], most: usize) -> Vec<Value> {
    let mut worst: Vec<(f64, Value)> = Vec::new();
    for (named, view) in all.iter().zip(tensors) {
        let found = named.comparison.details.iter().flat_map(|details| &details.worst);
        for (found, shown) in found.zip(view["worst"].as_array().into_iter().flatten()) {
            let mut shown = shown.clone();
            shown["tensor"] = json!(named.name);
            worst.push((found.abs, shown));
        }
    }
    let rank = |abs: f64| if abs.is_nan() { f64::NEG_INFINITY } else { abs };
    worst.sort_by(|(a, _), (b, _)| rank(*b).total_cmp(&rank(*a)));
    worst.into_iter().take(most).map(|(_, view)| view).collect()
}
