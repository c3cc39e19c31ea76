//! Measurements that stand in a table, as bars beside it.

use comrak::nodes::{Node, NodeValue};

use super::super::tree::words;
use super::{Drawing, WIDTH, fitted, short_number};

/// Rows of one picture; a longer table is better read than seen.
const MOST_ROWS: usize = 40;

/// Columns that are drawn.
const MOST_COLUMNS: usize = 4;

/// Words in a head that say that figures below are measured. Without one, and without a unit or a decimal point,
/// figures are names: issue numbers, priorities, years.
const MEASURES: &[&str] = &[
    "time",
    "latency",
    "duration",
    "rate",
    "ratio",
    "throughput",
    "bandwidth",
    "mean",
    "median",
    "average",
    "min",
    "max",
    "count",
    "runs",
    "failures",
    "failed",
    "passes",
    "passed",
    "errors",
    "requests",
    "memory",
    "size",
    "bytes",
    "speed",
    "speedup",
    "load",
    "usage",
    "cost",
    "seconds",
    "minutes",
    "hours",
    "p50",
    "p90",
    "p95",
    "p99",
    "before",
    "after",
    "baseline",
    "candidate",
    "reference",
    "measured",
    "value",
    "mismatches",
    "difference",
];

/// The bars of a table; nothing when it holds no measurements.
pub fn of_table(table: Node<'_>, number: usize) -> Option<String> {
    let rows: Vec<Vec<String>> = table
        .children()
        .filter(|r| matches!(r.data().value, NodeValue::TableRow(_)))
        .take(MOST_ROWS + 2)
        .map(|r| r.children().map(|c| words(c).trim().to_owned()).collect())
        .collect();
    let (head, body) = rows.split_first()?;
    if !(2..=MOST_ROWS).contains(&body.len()) || head.len() < 2 {
        return None;
    }
    let columns: Vec<Column> = (1..head.len())
        .filter_map(|at| column(&head[at], body.iter().map(|r| r.get(at).map_or("", String::as_str))))
        .take(MOST_COLUMNS)
        .collect();
    if columns.is_empty() {
        return None;
    }
    let labels: Vec<&str> = body.iter().map(|r| r.first().map_or("", String::as_str)).collect();
    Some(draw(&format!("gi:bars-{number}"), &columns, &labels, number))
}

struct Column {
    head: String,
    unit: String,
    values: Vec<Option<f64>>,
}

fn column<'c>(head: &str, cells: impl Iterator<Item = &'c str>) -> Option<Column> {
    let mut unit: Option<String> = None;
    let mut decimal = false;
    let mut values = Vec::new();
    for cell in cells {
        if matches!(cell, "" | "-" | "–" | "—" | "n/a" | "N/A") {
            values.push(None);
            continue;
        }
        let (value, own) = figure(cell)?;
        decimal |= cell.contains('.');
        if *unit.get_or_insert_with(|| own.clone()) != own {
            return None;
        }
        values.push(Some(value));
    }
    let unit = unit.unwrap_or_default();
    let lower = head.to_lowercase();
    let measured = lower.split(|c: char| !c.is_alphanumeric()).any(|w| MEASURES.contains(&w))
        || lower.contains('(') && lower.ends_with(')');
    let enough = values.iter().flatten().count() >= 2;
    (enough && (measured || decimal || !unit.is_empty())).then(|| Column {
        head: head.to_owned(),
        unit,
        values,
    })
}

/// A cell that is one figure and perhaps its unit: `3.43 ×`, `1,200 ms`, `-0.5`, `41 %`.
fn figure(cell: &str) -> Option<(f64, String)> {
    let cell = cell.trim().replace('−', "-");
    let end = cell
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || matches!(c, '.' | ',') || *at == 0 && matches!(c, '-' | '+')))
        .map_or(cell.len(), |(at, _)| at);
    let (digits, unit) = cell.split_at(end);
    let unit = unit.trim();
    // `1,200` is twelve hundred; `1,5` is not decided by us.
    let groups: Vec<&str> = digits.split('.').next().unwrap_or_default().split(',').collect();
    if groups.len() > 1 && groups[1..].iter().any(|g| g.len() != 3) {
        return None;
    }
    let value: f64 = digits.replace(',', "").parse().ok()?;
    let plain = unit.chars().count() <= 8
        && unit.chars().all(|c| c.is_alphabetic() || matches!(c, '%' | '/' | '×' | 'µ' | '°' | '²' | '³'));
    (value.is_finite() && plain).then(|| (value, unit.to_owned()))
}

fn draw(id: &str, columns: &[Column], labels: &[&str], number: usize) -> String {
    const ROW: f64 = 24.0;
    const LEFT: f64 = 210.0;
    const RIGHT: f64 = WIDTH - 95.0;
    let heads: Vec<&str> = columns.iter().map(|c| c.head.as_str()).collect();
    let title = format!("Bars of table {}: {}", number + 1, heads.join(", "));
    let mut description = String::new();
    for column in columns {
        let shown: Vec<String> = labels
            .iter()
            .zip(&column.values)
            .filter_map(|(label, value)| Some(format!("{label}: {}", with_unit((*value)?, &column.unit))))
            .collect();
        description.push_str(&format!("{}: {}. ", column.head, shown.join("; ")));
    }
    let height = columns.len() as f64 * (labels.len() as f64 * ROW + 40.0) + 4.0;
    let mut drawing = Drawing::new(id, &title, description.trim_end(), height);
    let mut y = 20.0;
    for column in columns {
        // Columns of one unit share one scale: before and after are there to be compared.
        let all = || columns.iter().filter(|c| c.unit == column.unit).flat_map(|c| c.values.iter().flatten());
        let low = all().fold(0.0_f64, |a, b| a.min(*b));
        let high = all().fold(0.0_f64, |a, b| a.max(*b));
        let span = (high - low).max(f64::MIN_POSITIVE);
        let x = |value: f64| LEFT + (value / span - low / span) * (RIGHT - LEFT);
        drawing.text("", (0.0, y), "start", &fitted(&column.head, 80));
        let top = y + 8.0;
        for (row, label) in labels.iter().enumerate() {
            let middle = top + (row as f64 + 0.5) * ROW;
            drawing.text("soft", (LEFT - 10.0, middle + 4.5), "end", &fitted(label, 28));
            if let Some(value) = column.values.get(row).copied().flatten() {
                let (from, to) = (x(value.min(0.0)), x(value.max(0.0)));
                drawing.rect("bar", (from, middle - 7.0), ((to - from).max(1.0), 14.0));
                drawing.text("", (to + 8.0, middle + 4.5), "start", &with_unit(value, &column.unit));
            } else {
                drawing.text("soft", (LEFT + 8.0, middle + 4.5), "start", "no figure");
            }
        }
        let bottom = top + labels.len() as f64 * ROW;
        drawing.line("axis", (x(0.0), top), (x(0.0), bottom));
        y = bottom + 32.0;
    }
    drawing.figure("Drawn from the table above; each bar starts at 0.", "")
}

fn with_unit(value: f64, unit: &str) -> String {
    let space = if unit.is_empty() { "" } else { " " };
    format!("{}{space}{unit}", short_number(value))
}

#[cfg(test)]
mod tests {
    use super::super::super::tree::with_tree;
    use super::*;

    fn picture(markdown: &str) -> Option<String> {
        with_tree(markdown, |root| {
            let table = root.children().find(|n| matches!(n.data().value, NodeValue::Table(_)))?;
            of_table(table, 0)
        })
    }

    #[test]
    fn measurements_are_drawn_and_names_are_not() {
        let drawn = picture(
            "| case | before | after |\n|-|-|-|\n| small | 3.43 × | 1.74 × |\n| large | 1,200 × | — |",
        );
        let drawn = drawn.unwrap();
        assert!(drawn.contains("small: 3.43 ×; large: 1200 ×."), "{drawn}");
        assert!(!drawn.contains("after: small"), "one figure is no series\n{drawn}");
        for names in [
            "| what | issue |\n|-|-|\n| a | 12 |\n| b | 13 |",
            "| when | what |\n|-|-|\n| 10:00 | 12 |\n| 11:00 | started |",
            "| what | time |\n|-|-|\n| a | 12 ms |\n| b | 13 s |",
            "| what | time |\n|-|-|\n| a | 12 ms |",
            "| what | version (x) |\n|-|-|\n| a | 1.2.3 |\n| b | 1.2.4 |",
        ] {
            assert!(picture(names).is_none(), "{names}");
        }
    }

    #[test]
    fn figures_are_read_with_care() {
        assert_eq!(figure("1,200.5 ms"), Some((1200.5, "ms".to_owned())));
        assert_eq!(figure("−3 %"), Some((-3.0, "%".to_owned())));
        for odd in ["1,5", "1.2.3", "12 of 13", "", "x", "1e5", "9".repeat(400).as_str()] {
            assert_eq!(figure(odd), None, "{odd}");
        }
    }
}
