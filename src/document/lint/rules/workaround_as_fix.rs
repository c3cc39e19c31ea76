//! Work-arounds that are called a fix.

use std::sync::LazyLock;

use regex::Regex;

use crate::document::lint::blocks::Block;
use crate::document::lint::words::re;
use crate::document::lint::{Document, Facts, Findings, Rule, Severity, no_facts};
use crate::document::page::same_title;

/// The rule.
pub const RULE: Rule = Rule {
    name: "workaround-as-fix",
    severity: Severity::Warning,
    elsewhere: Some(Severity::Warning),
    about: "Fix describes a work-around and does not say so",
    docs: "A retry, a longer timeout, a restart, a sleep, a pinned version, a revert or a switched-off feature hides the \
           symptom and leaves the cause. That may be right, but the document then says that it is a work-around and what \
           the real fix is. Found only where Fix says nothing but such things. In other houses' documents only a section \
           called Fix or Solution is read: getting a service back is what Mitigation is for.",
    bad: "## Fix\n\nThe timeout of the barrier was raised to 10 minutes, and the launch is retried three times.\n",
    good: "## Fix\n\nA work-around: the timeout of the barrier was raised to 10 minutes. The real fix, ordering the two \
           streams, is tracked in GPU-77.\n",
    facts: no_facts,
    check,
};

static AROUND: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:retr(?:y|ies|ied|ying)|re-?try|restart(?:ed|s|ing)?|reboot(?:ed|s|ing)?|rolled back|roll(?:s|ing)? back|rollback|revert(?:ed|s|ing)?|downgrad(?:ed|es|ing)|pin(?:ned|s|ning)|disabl(?:ed|es|ing|e)|turn(?:ed|s|ing)? off|switch(?:ed|es|ing)? off|skip(?:ped|s|ping)? (?:the |this |that )?(?:failing |flaky )?(?:tests?|checks?)|scal(?:e|es|ed|ing) (?:\w+ ){0,4}up|mark(?:ed)? (?:as )?flaky|sleep(?:s|ing)?|(?:rais|increas|bump|extend|doubl|lengthen)\w*\s+(?:\w+\s+){0,4}(?:timeouts?|time-?outs?|limits?|deadlines?|retries|memory|replicas)|(?:timeouts?|time-?outs?|limits?|deadlines?)\s+(?:\w+\s+){0,5}(?:rais|increas|bump|extend|doubl|lengthen)\w*|longer timeouts?|swallow(?:ed|s)?|suppress(?:ed|es)?|catch(?:es)? (?:\w+ ){0,5}and ignore\w*|cron ?job|watchdog)\b",
    )
});

static CHANGE: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:add(?:s|ed)?|remov(?:es|ed)|replac(?:es|ed)|rewr(?:ites|ote|itten)|mov(?:es|ed)|correct(?:s|ed)?|initiali[sz](?:es|ed)|check(?:s|ed)?|guard(?:s|ed)?|lock(?:s|ed)?|synchroni[sz](?:es|ed)|order(?:s|ed)|mask(?:s|ed)?|validat(?:es|ed)|changes|changed|delet(?:es|ed)|dropp?(?:s|ed)|allocat(?:es|ed)|free[sd]|tak(?:es|en)|set[s]?|us(?:es|ed)|now|makes|made|shift(?:s|ed)|handl(?:es|ed)|wait(?:s|ed)|let[s]?|implement(?:s|ed)|introduc(?:es|ed)|fix(?:es|ed)|patch(?:es|ed)?|commit)\b",
    )
});

static SAID: LazyLock<Regex> = LazyLock::new(|| {
    re(
        r"\b(?:work-?\s?arounds?|mitigat\w+|temporar(?:y|ily)|stop-?gap|interim|for now|band-?aid|real fix|proper fix|permanent fix|actual fix|long-term|root fix|hides? the symptom|until)\b",
    )
});

fn check(document: &Document<'_>, _: &Facts<'_>, findings: &mut Findings) {
    if !document.house {
        let called = document.sections(Block::Fix).any(|s| {
            ["Fix", "The fix", "Fixes", "Solution", "The solution"].iter().any(|t| same_title(&s.title, t))
        });
        if !called {
            return;
        }
    }
    let mut first = None;
    for (leaf, mask) in document.prose(Block::Fix) {
        if SAID.is_match(mask) {
            return;
        }
        for range in leaf.prose.sentences() {
            let Some(sentence) = mask.get(range.clone()) else { continue };
            if let Some(found) = AROUND.find(sentence) {
                let at = range.start + found.start()..range.start + found.end();
                first.get_or_insert_with(|| (leaf.prose.source(&at), found.as_str().to_owned()));
                // "adds a retry": the change is the work-around. "removes the retry and orders the streams" is not.
                let undone = re_undone().is_match(sentence);
                let rest = AROUND.replace_all(sentence, " ");
                let verbs = CHANGE
                    .find_iter(&rest)
                    .filter(|m| {
                        !matches!(
                            m.as_str().to_lowercase().as_str(),
                            "added"
                                | "adds"
                                | "add"
                                | "set"
                                | "sets"
                                | "now"
                                | "implemented"
                                | "introduced"
                                | "made"
                                | "makes"
                                | "fixed"
                                | "fixes"
                                | "commit"
                                | "used"
                                | "uses"
                                | "changed"
                                | "changes"
                        )
                    })
                    .count();
                if undone || verbs > 0 {
                    return;
                }
            } else if CHANGE.is_match(sentence) {
                return;
            }
        }
    }
    if let Some((place, word)) = first {
        findings
            .add(place, format!("\"{word}\" is a work-around, and nothing here says so"))
            .help("call it one and say what the real fix is and where it is tracked, or say why this removes the cause");
    }
}

fn re_undone() -> &'static Regex {
    static UNDONE: LazyLock<Regex> = LazyLock::new(|| {
        re(r"\b(?:remov|replac|delet|drop|instead of|no longer|rather than|earlier|previous|former)\w*")
    });
    &UNDONE
}
