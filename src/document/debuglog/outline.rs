//! The headings of a file, and which of them are incidents.

use std::ops::Range;

use super::classify::{self, Field, Heading};
use super::lines;
use super::section;

/// A heading where it stands.
pub(super) struct Mark {
    /// Index of its line.
    pub(super) line: usize,
    /// Index of the first line below it.
    pub(super) body: usize,
    /// 1 to 6; 0 for the start of the file.
    pub(super) level: u8,
    pub(super) text: String,
    pub(super) kind: Heading,
}

/// A file, its lines classified.
pub(super) struct Outline<'a> {
    pub(super) lines: Vec<&'a str>,
    /// Lines inside a fence or comment.
    pub(super) covered: Vec<bool>,
    /// Lines that open a fence or comment that is never closed.
    pub(super) unclosed: Vec<usize>,
    /// The start of the file, then every heading.
    pub(super) marks: Vec<Mark>,
}

impl<'a> Outline<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let lines: Vec<&str> = text.split('\n').collect();
        let (covered, unclosed) = lines::covered(&lines);
        let mut outline = Self { lines, covered, unclosed, marks: Vec::new() };
        let start = Mark { line: 0, body: 0, level: 0, text: String::new(), kind: Heading::Other };
        outline.marks = std::iter::once(start).chain(outline.headings()).collect();
        outline
    }

    fn headings(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        let mut in_list = false;
        for (line, text) in self.lines.iter().enumerate() {
            if self.covered[line] || lines::is_blank(text) {
                continue;
            }
            let width = lines::indent(text).0;
            if width == 0 {
                in_list = lines::item(text).is_some();
            } else if in_list || lines::item(text).is_some() {
                in_list = true;
                continue;
            }
            if let Some((level, text)) = lines::atx(text) {
                let kind = classify::heading(&text);
                marks.push(Mark { line, body: line + 1, level, text, kind });
            } else if let Some(level) = self.underlined(line).filter(|_| !in_list) {
                let text = text.trim_matches([' ', '\t']).to_owned();
                let kind = classify::heading(&text);
                marks.push(Mark { line, body: line + 2, level, text, kind });
            }
        }
        marks
    }

    /// The level of a heading written as one line of text with `===` or `---` below it.
    fn underlined(&self, line: usize) -> Option<u8> {
        let below = *self.lines.get(line + 1)?;
        let mark = below.trim_matches([' ', '\t']).bytes().next().filter(|mark| b"=-".contains(mark))?;
        let solid = below.trim_matches([' ', '\t']).bytes().all(|byte| byte == mark);
        if !solid || !lines::is_rule(below) || self.covered[line + 1] {
            return None;
        }
        let (width, text) = lines::indent(self.lines[line]);
        let alone = line == 0 || lines::is_blank(self.lines[line - 1]);
        let labelled = classify::bold_label(text)
            .or_else(|| classify::plain_label(text))
            .is_some_and(|(label, _)| Field::of_head(label).or_else(|| Field::of_attempt(label)).is_some());
        let prose = text.len() > 120 || text.trim_end().ends_with('.') || text.starts_with(['|', '>']);
        let heading = width <= 3 && alone && !labelled && !prose && !lines::is_rule(text);
        heading.then_some(if mark == b'=' { 1 } else { 2 })
    }

    /// The lines between a heading and the next one.
    pub(super) fn own_body(&self, mark: usize) -> Range<usize> {
        let end = self.marks.get(mark + 1).map_or(self.lines.len(), |next| next.line);
        self.marks[mark].body.min(end)..end
    }

    /// The headings that are incidents, each with the headings below it, and the placeholders that
    /// would be.
    pub(super) fn incidents(&self) -> (Vec<Range<usize>>, Vec<usize>) {
        let evidence = self.evidence();
        let mut found = Vec::new();
        let mut skipped = Vec::new();
        let mut at = 0;
        while at < self.marks.len() {
            let end = self.end_of(at);
            match self.marks[at].kind {
                Heading::Placeholder => {
                    if evidence[at].own || evidence[at].attempts {
                        skipped.push(at);
                    }
                    at = end;
                }
                Heading::Other if evidence[at].attempts || evidence[at].own && !evidence[at].below => {
                    found.push(at..end);
                    at = end;
                }
                _ => at += 1,
            }
        }
        (found, skipped)
    }

    /// The first heading after this one that is not below it.
    fn end_of(&self, mark: usize) -> usize {
        let level = self.marks[mark].level;
        let ends = |below: &Mark| match level {
            0 => matches!(below.kind, Heading::Other | Heading::Placeholder),
            _ => below.level <= level,
        };
        self.marks.iter().skip(mark + 1).position(ends).map_or(self.marks.len(), |at| mark + 1 + at)
    }

    fn evidence(&self) -> Vec<Evidence> {
        let mut evidence: Vec<Evidence> = Vec::with_capacity(self.marks.len());
        // The titles above the current heading, outermost first: at most one per level.
        let mut above: Vec<usize> = Vec::new();
        for (at, mark) in self.marks.iter().enumerate() {
            evidence.push(Evidence::default());
            above.retain(|&title| self.marks[title].level < mark.level);
            match mark.kind {
                Heading::Attempt { .. } => {
                    if let Some((&title, outer)) = above.split_last() {
                        evidence[title].attempts = true;
                        for &title in outer {
                            evidence[title].below = true;
                        }
                    }
                }
                Heading::Head(Field::Symptom | Field::Status) => {
                    if let Some(&title) = above.last() {
                        evidence[title].own = true;
                    }
                }
                Heading::Other | Heading::Placeholder => {
                    evidence[at].own = section::has_head(self, self.own_body(at));
                    above.push(at);
                }
                _ => {}
            }
        }
        evidence
    }
}

/// Why a title may be an incident.
#[derive(Clone, Copy, Default)]
struct Evidence {
    /// Its own text or a section right below has a symptom or a status.
    own: bool,
    /// Attempts stand right below it.
    attempts: bool,
    /// Attempts stand below another title below it.
    below: bool,
}
