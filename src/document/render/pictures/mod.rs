//! Pictures as accessible SVG: a title first, a description with the same facts, no script, no style of their own (the
//! page has it), and nothing told by colour alone. Each is made from what the page says in words as well.

pub mod attempts;
pub mod bars;
pub mod samples;
pub mod timeline;

use unicode_width::UnicodeWidthChar;

use super::html::escaped;

/// Width of every picture, in its own units.
pub(super) const WIDTH: f64 = 720.0;

/// A picture being drawn.
pub(super) struct Drawing {
    id: String,
    title: String,
    description: String,
    height: f64,
    shapes: String,
}

impl Drawing {
    /// `id` names it within its page.
    pub(super) fn new(id: &str, title: &str, description: &str, height: f64) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            description: description.to_owned(),
            height,
            shapes: String::new(),
        }
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.shapes.push_str(&format!(
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" />\n",
            from.0, from.1, to.0, to.1
        ));
    }

    pub(super) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        self.shapes.push_str(&format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" />\n",
            at.0, at.1, size.0, size.1
        ));
    }

    pub(super) fn circle(&mut self, class: &str, at: (f64, f64), radius: f64) {
        self.shapes.push_str(&format!(
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" />\n",
            at.0, at.1
        ));
    }

    /// `anchor`: `start`, `middle` or `end`.
    pub(super) fn text(&mut self, class: &str, at: (f64, f64), anchor: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.shapes.push_str(&format!(
            "<text{class} x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
            at.0,
            at.1,
            escaped(text)
        ));
    }

    /// The figure, with a caption.
    pub(super) fn figure(self, caption: &str, more: &str) -> String {
        let Self { id, title, description, height, shapes } = self;
        format!(
            "<figure>\n<div class=\"scroll\">\n<svg viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-desc\">\n<title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>\n\
             {shapes}</svg>\n</div>\n<figcaption>{}</figcaption>\n{more}</figure>\n",
            escaped(&title),
            escaped(&description),
            escaped(caption)
        )
    }
}

/// As much of a text as fits into so many columns of a terminal, which is a fair measure of a label too.
pub(super) fn fitted(text: &str, columns: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = String::new();
    let mut width = 0;
    for c in flat.chars() {
        let own = c.width().unwrap_or(0);
        if width + own > columns.saturating_sub(1) {
            out.truncate(out.trim_end().len());
            out.push('…');
            return out;
        }
        width += own;
        out.push(c);
    }
    out
}

/// Marks between two numbers at round steps, about `wanted` of them.
pub(super) fn round_marks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return vec![low];
    }
    let raw = span / wanted.max(1) as f64;
    let power = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|f| f * power).find(|s| *s >= raw).unwrap_or(raw);
    let first = (low / step).ceil();
    (0..=2 * wanted + 2).map(|n| (first + n as f64) * step).take_while(|v| *v <= high + step * 1e-9).collect()
}

/// A number for a label: at most four digits that matter.
pub(super) fn short_number(value: f64) -> String {
    let magnitude = value.abs();
    let text = if value == 0.0 {
        return "0".to_owned();
    } else if !(1e-3..1e6).contains(&magnitude) {
        return format!("{value:.2e}");
    } else if magnitude >= 1000.0 {
        format!("{value:.0}")
    } else if magnitude >= 100.0 {
        format!("{value:.1}")
    } else if magnitude >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_within() {
        assert_eq!(round_marks(0.0, 10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(round_marks(3.0, 3.0, 5), [3.0]);
        for (low, high) in [(-1.5, 2.5), (1e-9, 3e-9), (0.0, 1e300), (-1e308, 1e308)] {
            let marks = round_marks(low, high, 6);
            assert!(marks.len() <= 15 && marks.iter().all(|m| *m >= low - 1e-12), "{marks:?}");
        }
    }

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> =
            [0.0, 3.43, 100.0, 0.5, 12345.6, 1e9, 1e-7, -2.5].into_iter().map(short_number).collect();
        assert_eq!(shown, ["0", "3.43", "100", "0.5", "12346", "1.00e9", "1.00e-7", "-2.5"]);
    }
}
