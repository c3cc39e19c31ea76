//! SARIF 2.1.0 (OASIS), as code scanning takes it. All rules are declared, not only those that found something.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Checked;
use crate::document::lint::rules::ALL;
use crate::document::lint::{Diagnostic, Severity};
use crate::document::page::Lines;
use crate::model::canonical::sha256_hex;

/// The log.
pub fn log(checked: &[Checked]) -> Value {
    let rules: Vec<Value> = ALL
        .iter()
        .map(|rule| {
            json!({
                "id": rule.name,
                "name": pascal(rule.name),
                "shortDescription": {"text": rule.about},
                "fullDescription": {"text": rule.docs},
                "help": {"text": rule.docs, "markdown": rule.docs},
                "defaultConfiguration": {"level": level(rule.severity)},
            })
        })
        .collect();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut results = Vec::new();
    for document in checked {
        let lines = document.lines();
        for diagnostic in &document.diagnostics {
            results.push(result(document, &lines, diagnostic, &mut seen));
        }
    }
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "git-incident",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "the top of the working tree"}}},
            "artifacts": checked.iter().map(|c| json!({"location": location(&c.path)})).collect::<Vec<_>>(),
            "results": results,
        }],
    })
}

fn result(
    document: &Checked,
    lines: &Lines,
    diagnostic: &Diagnostic,
    seen: &mut HashMap<String, usize>,
) -> Value {
    let own = diagnostic.path == document.path;
    // What a line says, not where it stands: a fingerprint outlives what is written above it.
    let line = if own { line_text(&document.text, lines, diagnostic.line) } else { String::new() };
    let key = format!("{}\n{}\n{line}\n{}", diagnostic.rule, diagnostic.path, diagnostic.message);
    let count = seen.entry(key.clone()).or_default();
    let print = format!("{}:{count}", &sha256_hex(key.as_bytes())[..32]);
    *count += 1;
    let mut message = diagnostic.message.clone();
    if let Some(help) = &diagnostic.help {
        message = format!("{message}\nhelp: {help}");
    }
    let mut shown = json!({
        "ruleId": diagnostic.rule,
        "ruleIndex": ALL.iter().position(|r| r.name == diagnostic.rule).unwrap_or_default(),
        "level": level(diagnostic.severity),
        "message": {"text": message},
        "locations": [{"physicalLocation": {
            "artifactLocation": location(&diagnostic.path),
            "region": region(diagnostic.line, diagnostic.column, diagnostic.end_line, diagnostic.end_column),
        }}],
        "partialFingerprints": {"gitIncidentLine/v1": print},
    });
    if let Some((what, edits)) = &diagnostic.fix
        && own
    {
        let replacements: Vec<Value> = edits
            .iter()
            .map(|e| {
                let from = lines.place(&document.text, e.range.start);
                let to = lines.place(&document.text, e.range.end);
                json!({
                    "deletedRegion": region(from.line, from.column, to.line, to.column),
                    "insertedContent": {"text": e.with},
                })
            })
            .collect();
        shown["fixes"] = json!([{
            "description": {"text": what},
            "artifactChanges": [{"artifactLocation": location(&diagnostic.path), "replacements": replacements}],
        }]);
    }
    shown
}

const fn level(severity: Severity) -> &'static str {
    severity.word()
}

fn region(line: usize, column: usize, end_line: usize, end_column: usize) -> Value {
    json!({
        "startLine": line.max(1),
        "startColumn": column.max(1),
        "endLine": end_line.max(1),
        "endColumn": end_column.max(1),
    })
}

fn location(path: &str) -> Value {
    json!({"uri": uri(path), "uriBaseId": "%SRCROOT%"})
}

/// A relative reference (RFC 3986): everything but unreserved characters and `/` is written in percent.
fn uri(path: &str) -> String {
    let path = path.trim_start_matches("./");
    let mut out = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn line_text(text: &str, lines: &Lines, line: usize) -> String {
    let start = lines.start(line);
    let rest = text.get(start..).unwrap_or_default();
    rest.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn pascal(name: &str) -> String {
    name.split('-')
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
        })
        .collect()
}
