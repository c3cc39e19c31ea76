//! For people: as rustc shows errors.

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

use super::{Checked, Counts, safe, visible};
use crate::document::lint::{Diagnostic, Severity};
use crate::document::page::Lines;

/// The longest piece of a line that is shown, in characters.
const WIDEST: usize = 160;

/// All findings and a line that sums them up.
pub fn render(checked: &[Checked], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() }.term_width(WIDEST + 20);
    let mut out = String::new();
    for document in checked {
        let lines = if document.diagnostics.is_empty() { Lines::of("") } else { document.lines() };
        for diagnostic in &document.diagnostics {
            out.push_str(&one(&renderer, document, &lines, diagnostic));
            out.push_str("\n\n");
        }
    }
    out.push_str(&summary(checked.len(), Counts::of(checked)));
    out
}

fn one(renderer: &Renderer, document: &Checked, lines: &Lines, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(safe(&diagnostic.message)).id(diagnostic.rule);
    let path = safe(&diagnostic.path);
    let shown =
        (diagnostic.path == document.path).then(|| window(&document.text, lines, diagnostic)).flatten();
    let mut misplaced = None;
    let mut group = match shown {
        Some((source, span)) => {
            let column = source[..span.start].chars().count() + 1;
            misplaced = (column != diagnostic.column).then_some(column);
            title.element(
                Snippet::source(source)
                    .path(path.clone())
                    .line_start(diagnostic.line)
                    .fold(false)
                    .annotation(AnnotationKind::Primary.span(span)),
            )
        }
        None => {
            title.element(Origin::path(path.clone()).line(diagnostic.line).char_column(diagnostic.column))
        }
    };
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(safe(help)));
    }
    if let Some((what, _)) = &diagnostic.fix {
        group = group.element(Level::NOTE.message(format!("--fix can do this: {}", safe(what))));
    }
    let out = renderer.render(&[group]);
    match misplaced {
        // The renderer counts columns in the piece of the line that it was given.
        Some(column) => {
            let place = |column| format!("{path}:{}:{column}", diagnostic.line);
            out.replacen(&place(column), &place(diagnostic.column), 1)
        }
        None => out,
    }
}

/// The line of a finding, made safe and cut to size, with the place in it.
fn window(text: &str, lines: &Lines, diagnostic: &Diagnostic) -> Option<(String, std::ops::Range<usize>)> {
    if text.is_empty() {
        return None;
    }
    let start = lines.start(diagnostic.line);
    let line = text.get(start..)?;
    let line = &line[..line.find(['\n', '\r']).unwrap_or(line.len())];
    let from = diagnostic.span.start.checked_sub(start)?.min(line.len());
    let to = diagnostic.span.end.saturating_sub(start).clamp(from, line.len());
    // Some words before the place, so that it can be recognised.
    let skip = line[..from].char_indices().rev().nth(WIDEST / 2).map_or(0, |(at, _)| at);
    let mut source = String::new();
    let mut span = (0, 0);
    if skip > 0 {
        source.push('…');
    }
    for (n, (at, c)) in line[skip..].char_indices().map(|(at, c)| (at + skip, c)).enumerate() {
        if at <= from {
            span.0 = source.len();
        }
        if n >= WIDEST && at >= from {
            source.push('…');
            break;
        }
        source.push(if c == '\t' { ' ' } else { visible(c) });
        if at < to {
            span.1 = source.len();
        }
    }
    Some((source, span.0..span.1.max(span.0)))
}

/// `checked 3 documents: 2 errors, 1 warning`.
pub fn summary(documents: usize, counts: Counts) -> String {
    let several = |n: usize, word: &str| if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") };
    let mut found: Vec<String> =
        [(counts.errors, "error"), (counts.warnings, "warning"), (counts.notes, "note")]
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, word)| several(n, word))
            .collect();
    if found.is_empty() {
        found.push("no findings".to_owned());
    }
    let fixable = if counts.fixable > 0 {
        format!(" ({} can be repaired with --fix)", counts.fixable)
    } else {
        String::new()
    };
    format!("checked {}: {}{fixable}\n", several(documents, "document"), found.join(", "))
}
