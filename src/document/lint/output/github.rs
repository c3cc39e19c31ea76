//! Annotations of a GitHub workflow: `::error file=…,line=…::message`.

use super::{Checked, safe};
use crate::document::lint::Severity;
use crate::model::annotation::{data, property};

/// One line for each finding.
pub fn render(checked: &[Checked]) -> String {
    let mut out = String::new();
    for diagnostic in checked.iter().flat_map(|c| &c.diagnostics) {
        let word = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        out.push_str(&format!("::{word} file={},line={}", safe_property(&diagnostic.path), diagnostic.line));
        // GitHub takes columns only where the annotation stays on one line.
        if diagnostic.end_line == diagnostic.line {
            let end = diagnostic.end_column.max(diagnostic.column);
            out.push_str(&format!(",col={},endColumn={end}", diagnostic.column));
        } else {
            out.push_str(&format!(",endLine={}", diagnostic.end_line));
        }
        out.push_str(&format!(
            ",title={}::{}",
            safe_property(diagnostic.rule),
            data(&safe(&diagnostic.message))
        ));
        if let Some(help) = &diagnostic.help {
            out.push_str(&data(&format!("\nhelp: {}", safe(help))));
        }
        out.push('\n');
    }
    out
}

/// A property without characters that reorder or hide.
fn safe_property(text: &str) -> String {
    property(&safe(text))
}
