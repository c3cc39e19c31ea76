//! From anchors to findings.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::prefilter::{Anchor, each_anchor};
use super::rules::{KEY_BLOCK, Match, RULES};
use super::{Found, binary_patch, filters, key_block};

/// Cutting one secret can uncover the next (two tokens without anything between them). More rounds
/// than this only an attacker needs, and the bound keeps time linear.
const MAX_ROUNDS: usize = 16;

/// Secrets of these lengths, in bytes, are also searched for where no rule would see them.
const ECHO_LENGTHS: Range<usize> = 12..1025;
const MAX_ECHOES: usize = 200;

/// A secret by rule number and place.
#[derive(Debug, Clone)]
struct Span {
    rule: usize,
    range: Range<usize>,
}

/// Every secret in the bytes, in order and without overlaps.
///
/// A secret of 12 bytes or more that a rule found is reported wherever else it stands, too.
pub fn scan(bytes: &[u8]) -> Vec<Found> {
    let mut masked = Cow::Borrowed(bytes);
    let mut spans: Vec<Span> = Vec::new();
    let mut markers_masked = false;
    for _ in 0..MAX_ROUNDS {
        let mut round = Round::run(&masked);
        if round.saw_marker && !markers_masked {
            markers_masked = true;
            mask_markers(masked.to_mut());
            round = Round::run(&masked);
        }
        let mut new = merged(round.spans);
        if new.is_empty() {
            break;
        }
        mask(masked.to_mut(), &new);
        let echoes = echoes(bytes, &new, &masked);
        mask(masked.to_mut(), &echoes);
        spans.append(&mut new);
        spans.extend(echoes);
    }
    spans.sort_by_key(|span| span.range.start);
    located(bytes, &spans)
}

/// One look at the bytes by every rule whose anchor occurs.
struct Round<'a> {
    bytes: &'a [u8],
    spans: Vec<Span>,
    saw_marker: bool,
    /// The line of the anchor before this one.
    line: Range<usize>,
    /// Start of the last line that each rule has looked at.
    looked: [usize; RULES.len()],
    /// Anchors before this offset lie in what is dealt with.
    skip_until: usize,
}

impl<'a> Round<'a> {
    fn run(bytes: &'a [u8]) -> Self {
        let looked = [usize::MAX; RULES.len()];
        let mut round =
            Self { bytes, spans: Vec::new(), saw_marker: false, line: 0..0, looked, skip_until: 0 };
        each_anchor(bytes, |offset, anchor| round.anchor(offset, anchor));
        round
    }

    #[inline(never)]
    fn anchor(&mut self, offset: usize, anchor: Anchor) {
        if offset < self.skip_until {
            return;
        }
        match anchor {
            Anchor::Marker => self.saw_marker = true,
            Anchor::BinaryPatch => self.skip_until = binary_patch::end(self.bytes, offset).unwrap_or(offset),
            Anchor::Rule(KEY_BLOCK) => {
                if let Some(range) = key_block::at(self.bytes, offset) {
                    self.skip_until = range.end;
                    self.spans.push(Span { rule: KEY_BLOCK, range });
                }
            }
            Anchor::Rule(rule) => {
                self.move_to_line_of(offset);
                if self.looked[rule] != self.line.start {
                    self.looked[rule] = self.line.start;
                    self.look(rule);
                }
            }
        }
    }

    fn move_to_line_of(&mut self, offset: usize) {
        if self.line.contains(&offset) {
            return;
        }
        // Nothing before the end of the former line can be in this one: each byte is looked at once.
        let known = self.line.end.min(offset);
        let start = self.bytes[known..offset]
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(known, |at| known + at + 1);
        let length = self.bytes[offset..].iter().position(|&byte| byte == b'\n');
        self.line = start..length.map_or(self.bytes.len(), |length| offset + length + 1);
    }

    fn look(&mut self, rule: usize) {
        let line = &self.bytes[self.line.clone()];
        let line = &line[..super::content_length(line)];
        let before = &self.bytes[..self.line.start];
        let wanted = &RULES[rule];
        for captures in compiled(rule).captures_iter(line) {
            let mut groups = captures.iter().flatten();
            let Some(whole) = groups.next() else { continue };
            let secret = groups.next().unwrap_or(whole).range();
            let found = Match { before, line, from: whole.start(), secret: secret.clone() };
            if secret.is_empty()
                || wanted.min_entropy > 0.0 && filters::entropy(&line[secret.clone()]) < wanted.min_entropy
                || !(wanted.accepts)(&found)
            {
                continue;
            }
            let range = self.line.start + secret.start..self.line.start + secret.end;
            self.spans.push(Span { rule, range });
        }
    }
}

/// The rule's expression, compiled when a line first needs it.
fn compiled(rule: usize) -> &'static Regex {
    static COMPILED: [OnceLock<Regex>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
    COMPILED[rule].get_or_init(|| {
        RegexBuilder::new(RULES[rule].pattern)
            .unicode(false)
            .build()
            .expect("every pattern of the table is compiled by a test")
    })
}

/// In order, overlapping ones joined under the name of the rule that stands first in the table.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.range.start, span.rule));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.range.start < last.range.end => {
                last.range.end = last.range.end.max(span.range.end);
                last.rule = last.rule.min(span.rule);
            }
            _ => merged.push(span),
        }
    }
    merged
}

/// Puts NUL where secrets are, which no rule matches; lines stay.
fn mask(bytes: &mut [u8], spans: &[Span]) {
    for span in spans {
        for byte in &mut bytes[span.range.clone()] {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = 0;
            }
        }
    }
}

/// Masks what earlier redactions left, so that their own words (`token`, `secret`) are not read.
fn mask_markers(bytes: &mut [u8]) {
    const OPENING: &[u8] = b"[redacted:";
    let mut at = 0;
    while let Some(bracket) = bytes[at..].iter().position(|&byte| byte == b'[') {
        at += bracket;
        let Some(name) = bytes[at..].strip_prefix(OPENING) else {
            at += 1;
            continue;
        };
        let is_name = |byte: &&u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-';
        let length = name.iter().take(64).take_while(is_name).count();
        let end = at + OPENING.len() + length;
        if bytes.get(end) == Some(&b']') {
            bytes[at..=end].fill(0);
        }
        at = end;
    }
}

/// Where else the secrets just found stand: in a debug print, behind a name that no rule knows.
fn echoes(bytes: &[u8], new: &[Span], masked: &[u8]) -> Vec<Span> {
    let mut secrets: Vec<(&[u8], usize)> = new
        .iter()
        .map(|span| (&bytes[span.range.clone()], span.rule))
        .filter(|(secret, _)| {
            ECHO_LENGTHS.contains(&secret.len()) && !secret.contains(&b'\n') && !secret.contains(&0)
        })
        .collect();
    // Longer ones first: of two that begin alike, the expression prefers the one written first.
    secrets.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.0.cmp(b.0)));
    secrets.dedup_by_key(|(secret, _)| *secret);
    secrets.truncate(MAX_ECHOES);
    if secrets.is_empty() {
        return Vec::new();
    }
    let mut pattern = String::new();
    for (secret, _) in &secrets {
        let opening = if pattern.is_empty() { "(?:" } else { ")|(?:" };
        pattern.push_str(opening);
        for byte in *secret {
            pattern.push_str(&format!("\\x{byte:02x}"));
        }
    }
    pattern.push(')');
    let Ok(expression) = RegexBuilder::new(&pattern).unicode(false).size_limit(64 << 20).build() else {
        return Vec::new();
    };
    let rule_of = |found: &[u8]| secrets.iter().find(|(secret, _)| *secret == found).map(|(_, rule)| *rule);
    expression
        .find_iter(masked)
        .filter_map(|found| Some(Span { rule: rule_of(found.as_bytes())?, range: found.range() }))
        .collect()
}

/// Lines and columns, in one walk.
fn located(bytes: &[u8], spans: &[Span]) -> Vec<Found> {
    let mut line = 1_u32;
    let mut line_start = 0;
    let mut seen = 0;
    let mut found = Vec::with_capacity(spans.len());
    for span in spans {
        for (at, &byte) in bytes[seen..span.range.start].iter().enumerate() {
            if byte == b'\n' {
                line = line.saturating_add(1);
                line_start = seen + at + 1;
            }
        }
        seen = span.range.start;
        let column = u32::try_from(seen - line_start + 1).unwrap_or(u32::MAX);
        found.push(Found { rule: RULES[span.rule].name, line, column, start: seen, end: span.range.end });
    }
    found
}
