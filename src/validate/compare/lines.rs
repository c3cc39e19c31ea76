//! A comparison in lines for people. What a GPU engineer asks first comes first: does it match, how many do not, where,
//! and in what pattern.

use super::comparison::{Comparison, index_text, short};
use super::outcome::{Details, Special};
use super::policy::Rule;

/// Rows of a histogram.
const ROWS: i32 = 12;

/// The longest bar of a histogram.
const BAR: u64 = 32;

impl Comparison {
    /// All there is to say.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.headline()];
        if !self.reason.is_empty() && self.summary.mismatches == 0 {
            lines.push(self.reason.clone());
        }
        lines.push(self.held_to());
        lines.push(self.errors());
        lines.extend(self.special("NaN", &self.summary.nan));
        lines.extend(self.special("infinite", &self.summary.inf));
        lines.extend(self.clusters());
        if let Some(details) = &self.details {
            lines.extend(self.worst(details));
            lines.extend(histogram(details));
        }
        lines
    }

    fn headline(&self) -> String {
        let found = &self.summary;
        let types = if self.dtypes.0 == self.dtypes.1 {
            self.dtypes.0.name().to_owned()
        } else {
            format!("{} against {}", self.dtypes.1.name(), self.dtypes.0.name())
        };
        let shape = index_text(&self.shape);
        match (found.mismatches, found.elements) {
            (_, 0) => format!("nothing to compare: {types} {shape} has no elements"),
            (0, all) => format!("all {all} elements match ({types} {shape}, on {})", self.device),
            (wrong, all) => format!(
                "{wrong} of {all} elements do not match, {} % ({types} {shape}, on {})",
                short(wrong as f64 / all as f64 * 100.0),
                self.device
            ),
        }
    }

    fn held_to(&self) -> String {
        let nan = if self.tolerance.equal_nan { "; NaN matches NaN" } else { "" };
        let rule = match self.policy.rule {
            Rule::Allclose { .. } => {
                format!("held to |a−b| ≤ {} + {}·|b|", short(self.tolerance.atol), short(self.tolerance.rtol))
            }
            Rule::Bitwise => "held to the same bits".to_owned(),
            Rule::Baseline { slack } => {
                let own = self.baseline.map_or(0.0, |baseline| baseline.max_abs);
                format!(
                    "held to |a−b| ≤ {}: twice the baseline's own {}, and {} steps of {}",
                    short(self.tolerance.atol),
                    short(own),
                    short(slack),
                    self.dtypes.1.name()
                )
            }
        };
        format!("{rule}{nan}")
    }

    fn errors(&self) -> String {
        let found = &self.summary;
        let limit = self.norm_limit.map_or_else(String::new, |limit| format!(" (at most {})", short(limit)));
        let steps = match &self.details {
            Some(details) if self.dtypes.0 == self.dtypes.1 => format!(", at most {} ulp", details.max_ulp),
            _ => String::new(),
        };
        format!(
            "largest |a−b| {}, |a−b|/|b| {}; rmse {}; ‖a−b‖/‖b‖ {}{limit}{steps}",
            short(found.max_abs),
            short(found.max_rel),
            short(self.rmse),
            short(self.relative_norm)
        )
    }

    fn special(&self, what: &str, special: &Special) -> Option<String> {
        let first = special.first?;
        Some(format!(
            "{what}: {} in the reference, {} in the candidate, the first at {}",
            special.reference,
            special.candidate,
            index_text(&self.index(first))
        ))
    }

    /// A table of the worst elements.
    fn worst(&self, details: &Details) -> Vec<String> {
        let rows: Vec<[String; 4]> = details
            .worst
            .iter()
            .map(|worst| {
                [
                    index_text(&self.index(worst.position)),
                    short(worst.reference),
                    short(worst.candidate),
                    short(worst.abs),
                ]
            })
            .collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let head = ["worst at", "reference", "candidate", "|a−b|"].map(str::to_owned);
        let width = |column: usize| {
            rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths = [width(0), width(1), width(2), width(3)];
        let line = |row: &[String; 4]| {
            let [index, reference, candidate, abs] = row;
            let [a, b, c, d] = widths;
            format!("  {index:<a$}  {reference:>b$}  {candidate:>c$}  {abs:>d$}")
        };
        [&head].into_iter().chain(&rows).map(line).collect()
    }
}

/// Bars of the mismatches by the size of their error, on a scale of powers of two.
fn histogram(details: &Details) -> Vec<String> {
    let (Some((low, _)), Some((high, _))) = (details.histogram.first(), details.histogram.last()) else {
        return Vec::new();
    };
    // As many powers of two a row as make at most so many rows.
    let step = (high - low) / ROWS + 1;
    let mut rows = vec![0_u64; ((high - low) / step + 1) as usize];
    for (exponent, count) in &details.histogram {
        rows[((exponent - low) / step) as usize] += count;
    }
    let most = rows.iter().copied().max().unwrap_or(1).max(1);
    let label = |row: usize| {
        let from = low + row as i32 * step;
        format!("2^{from} ≤ |a−b| < 2^{}", from + step)
    };
    let width = (0..rows.len()).map(|row| label(row).chars().count()).max().unwrap_or_default();
    rows.iter()
        .enumerate()
        .map(|(row, count)| {
            // What is there shows, however little it is.
            let length = (u128::from(*count) * u128::from(BAR)).div_ceil(u128::from(most)) as usize;
            let bar = "#".repeat(length);
            format!("  {:<width$}  {bar:<32}  {count}", label(row)).trim_end().to_owned()
        })
        .collect()
}
