//! The view for programs.

use serde_json::{Value, json};

use super::{Checked, Counts};

/// `{documents, errors, warnings, notes, diagnostics[{path, line, column, end_line, end_column, rule, severity, message,
/// help?, fix?{what, edits[{start, end, with}]}}]}`. Lines and columns count from 1, columns in characters; edits are
/// ranges of bytes.
pub fn view(checked: &[Checked]) -> Value {
    let counts = Counts::of(checked);
    let diagnostics: Vec<Value> = checked
        .iter()
        .flat_map(|c| &c.diagnostics)
        .map(|d| {
            let mut shown = json!({
                "path": d.path,
                "line": d.line,
                "column": d.column,
                "end_line": d.end_line,
                "end_column": d.end_column,
                "rule": d.rule,
                "severity": d.severity.word(),
                "message": d.message,
            });
            if let Some(help) = &d.help {
                shown["help"] = json!(help);
            }
            if let Some((what, edits)) = &d.fix {
                let edits: Vec<Value> = edits
                    .iter()
                    .map(|e| json!({"start": e.range.start, "end": e.range.end, "with": e.with}))
                    .collect();
                shown["fix"] = json!({"what": what, "edits": edits});
            }
            shown
        })
        .collect();
    json!({
        "documents": checked.len(),
        "errors": counts.errors,
        "warnings": counts.warnings,
        "notes": counts.notes,
        "diagnostics": diagnostics,
    })
}
