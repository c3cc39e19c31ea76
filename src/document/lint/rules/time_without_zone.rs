//! Times of day without a zone.

use std::sync::LazyLock;

use regex::Regex;

use super::times::{clocks, names_zone, reads_as_time};
use crate::document::lint::blocks::Block;
use crate::document::lint::words::{one_or_many, re};
use crate::document::lint::{Document, Facts, Findings, Rule, Severity, no_facts};
use crate::document::page::Kind;

/// The rule.
pub const RULE: Rule = Rule {
    name: "time-without-zone",
    severity: Severity::Warning,
    elsewhere: Some(Severity::Warning),
    about: "a time of day without a time zone",
    docs: "14:05 is a different minute in every office. A zone stands behind the time, in the heading (`Timeline (UTC)`), \
           in the head of the table, or once for the document (`All times in UTC`). One finding for each section; in \
           prose, a zone earlier in the section counts for what follows.",
    bad: "## Timeline\n\n- 14:05 the first job hung\n- 14:20 the queue was stopped\n",
    good: "## Timeline (UTC)\n\n- 14:05 the first job hung\n- 14:20 the queue was stopped\n",
    facts: no_facts,
    check,
};

static ALL_TIMES: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:all|the|these|following)?\s*(?:times?|timestamps?|dates and times)(?: \w+){0,4}? (?:are|is|in|listed|given|shown|stated|below|expressed|use)\b|\btime ?zone\b|\ball times\b|\btimes?:?\s*\(?(?:utc|gmt)",
    )
});

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    let page = &document.page;
    let declared = document
        .leaves()
        .any(|(leaf, _, _)| ALL_TIMES.is_match(&leaf.prose.text) && names_zone(&leaf.prose.text))
        || page.sections.iter().any(|s| ALL_TIMES.is_match(&s.title) && names_zone(&s.title));
    if declared {
        return;
    }
    // The sections around the one we are at, and it.
    let mut around: Vec<usize> = Vec::new();
    for (n, section) in page.sections.iter().enumerate() {
        while around.last().is_some_and(|at| page.sections[*at].level >= section.level) {
            around.pop();
        }
        around.push(n);
        let in_timeline = document.titled[n].is_some_and(|(b, _)| b == Block::Timeline);
        // The headings around this one may name it too.
        let titled = around.iter().any(|at| names_zone(&page.sections[*at].title));
        if titled {
            continue;
        }
        let mut seen_zone = false;
        let mut first = None;
        let mut count = 0;
        for leaf in page.leaves_within(&(section.heading.start..section.own.end)) {
            if matches!(leaf.kind, Kind::Code(_)) || document.is_quotation(leaf) {
                continue;
            }
            let text = leaf.prose.words_only();
            let zone_here = names_zone(&text);
            let found = clocks(&text);
            let listed = !matches!(leaf.kind, Kind::Paragraph);
            let timeline = in_timeline
                || document.belongs.get(index(document, leaf.range.start)) == Some(&Some(Block::Timeline));
            for clock in &found {
                let at_start = clock.range.start <= 64
                    && text[..clock.range.start].chars().filter(|c| c.is_alphabetic()).count() <= 12;
                let a_time = timeline && (listed || at_start) || reads_as_time(&text, clock);
                let excused = clock.zone.is_some() || zone_here || seen_zone;
                if a_time && !excused {
                    count += 1;
                    first.get_or_insert_with(|| leaf.prose.source(&clock.range));
                }
            }
            // A head of a table speaks for its rows, prose for the prose behind it.
            seen_zone |= zone_here
                && (leaf.kind == (Kind::Row { head: true }) || leaf.kind == Kind::Paragraph || !timeline);
        }
        if let Some(place) = first {
            let shown = &page.text[place.clone()];
            let more = if count > 1 {
                format!(", and {} more in this section", one_or_many(count - 1, "time", "times"))
            } else {
                String::new()
            };
            findings
                .add(place.clone(), format!("{shown} has no time zone{more}"))
                .help("write the zone behind the time, or once in the heading: Timeline (UTC)");
        }
        // A heading may be the time itself: `### 14:05`.
        if clocks(&section.title).iter().any(|c| c.zone.is_none()) && !page.text.is_empty() {
            let parent_zone =
                seen_zone || page.leaves_within(&section.own).iter().any(|l| names_zone(&l.prose.text));
            let above = around.iter().filter(|at| **at < n).any(|at| {
                // The first words of a section say what holds for it.
                let own = page.leaves_within(&page.sections[*at].own);
                own.iter().take(20).any(|l| names_zone(&l.prose.text))
            });
            let earlier = page.sections[..n]
                .iter()
                .rev()
                .take(1)
                .any(|s| clocks(&s.title).iter().any(|c| c.zone.is_none()));
            if !parent_zone && !above && !earlier {
                findings
                    .add(section.heading.clone(), "this time has no time zone")
                    .help("write the zone behind the time, or once in the heading above: Timeline (UTC)");
            }
        }
    }
}

fn index(document: &Document<'_>, start: usize) -> usize {
    document.page.leaves.partition_point(|l| l.range.start < start)
}
