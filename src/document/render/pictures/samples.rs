//! Measured samples kept as evidence: every one as a mark, the quartiles as a box, and the figures as a table.

use super::super::html::escaped;
use super::{Drawing, WIDTH, fitted, round_marks, short_number};

/// Fewer say nothing that a list does not.
const FEWEST: usize = 5;

/// More would only blacken the picture.
const MOST: usize = 5_000;

/// Samples of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// What they are called.
    pub name: String,
    /// Sorted.
    values: Vec<f64>,
}

impl Samples {
    /// Reads a text that is nothing but numbers: one a line (lines with `#` are remarks), or one JSON array.
    pub fn read(name: &str, text: &str) -> Option<Self> {
        let text = text.trim();
        let mut values: Vec<f64> = if text.starts_with('[') {
            serde_json::from_str(text).ok()?
        } else {
            let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
            lines.take(MOST + 1).map(|l| l.parse().ok()).collect::<Option<_>>()?
        };
        let fit = (FEWEST..=MOST).contains(&values.len()) && values.iter().all(|v| v.is_finite());
        values.sort_by(f64::total_cmp);
        fit.then(|| Self { name: name.to_owned(), values })
    }

    /// A quantile by linear interpolation between the two nearest samples (Hyndman and Fan 1996, type 7).
    fn quantile(&self, p: f64) -> f64 {
        let at = (self.values.len() - 1) as f64 * p;
        let (below, above) = (at.floor() as usize, at.ceil() as usize);
        // Halves first, so that two huge samples do not overflow.
        self.values[below] * (1.0 - at.fract()) + self.values[above] * at.fract()
    }

    fn five(&self) -> [f64; 5] {
        [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| self.quantile(p))
    }
}

/// One picture of all of them on one scale.
pub fn draw(all: &[Samples], id: &str) -> Option<String> {
    const ROW: f64 = 46.0;
    const LEFT: f64 = 190.0;
    const RIGHT: f64 = WIDTH - 30.0;
    let low = all.iter().filter_map(|s| s.values.first()).copied().reduce(f64::min)?;
    let high = all.iter().filter_map(|s| s.values.last()).copied().reduce(f64::max)?;
    let (low, high) = if low < high { (low, high) } else { (low - 0.5, high + 0.5) };
    let x = |value: f64| LEFT + ((value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)) * (RIGHT - LEFT);
    let mut description = String::new();
    let mut rows = String::new();
    for samples in all {
        let [min, q1, median, q3, max] = samples.five().map(short_number);
        let n = samples.values.len();
        description.push_str(&format!(
            "{}: {n} samples, least {min}, lower quartile {q1}, median {median}, upper quartile {q3}, greatest {max}. ",
            samples.name
        ));
        rows.push_str(&format!(
            "<tr><td>{}</td><td align=\"right\">{n}</td><td align=\"right\">{min}</td><td align=\"right\">{q1}</td>\
             <td align=\"right\">{median}</td><td align=\"right\">{q3}</td><td align=\"right\">{max}</td></tr>\n",
            escaped(&samples.name)
        ));
    }
    let bottom = 10.0 + all.len() as f64 * ROW;
    let mut drawing = Drawing::new(id, "Measured samples", description.trim_end(), bottom + 30.0);
    for mark in round_marks(low, high, 6) {
        drawing.line("axis", (x(mark), 6.0), (x(mark), bottom));
        drawing.text("soft", (x(mark), bottom + 18.0), "middle", &short_number(mark));
    }
    for (row, samples) in all.iter().enumerate() {
        let middle = 10.0 + (row as f64 + 0.5) * ROW;
        let [min, q1, median, q3, max] = samples.five();
        drawing.text("", (LEFT - 12.0, middle + 4.5), "end", &fitted(&samples.name, 25));
        drawing.line("stem", (x(min), middle), (x(max), middle));
        drawing.rect("box", (x(q1), middle - 11.0), ((x(q3) - x(q1)).max(1.0), 22.0));
        drawing.line("median", (x(median), middle - 13.0), (x(median), middle + 13.0));
        // Spread over the height in a fixed pattern, so that equal samples are seen to be several.
        let step = samples.values.len().div_ceil(400);
        for (n, value) in samples.values.iter().step_by(step).enumerate() {
            let offset = ((n * 7) % 5) as f64 * 3.0 - 6.0;
            drawing.circle("sample", (x(*value), middle + offset), 2.2);
        }
    }
    let table = format!(
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"The figures of the samples\">\n<table>\n<thead>\n\
         <tr><th>samples</th><th>n</th><th>least</th><th>lower quartile</th><th>median</th><th>upper quartile</th>\
         <th>greatest</th></tr>\n</thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    );
    Some(drawing.figure(
        "Each mark is a sample; the box holds the middle half, its thick line is the median.",
        &table,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_numbers_are_samples_and_logs_are_not() {
        assert_eq!(
            Samples::read("a", "# ms\n3\n1\n2\n5\n4\n").unwrap().five().map(short_number),
            ["1", "2", "3", "4", "5"]
        );
        assert_eq!(short_number(Samples::read("a", "[1.5, 2, 3, 4, 5]").unwrap().quantile(0.5)), "3");
        for other in ["", "1\n2\n3", "1\n2\n3\n4\nx", "[1,2,3,4,\"x\"]", "nan\n1\n2\n3\n4", "[[1]]"] {
            assert!(Samples::read("a", other).is_none(), "{other}");
        }
        let huge = Samples::read("<b>", "1e308\n-1e308\n1e308\n0\n1\n").unwrap();
        let flat = Samples::read("flat", "2\n2\n2\n2\n2\n").unwrap();
        for svg in [draw(&[huge], "x").unwrap(), draw(&[flat], "x").unwrap()] {
            assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("<b>"), "{svg}");
        }
    }
}
